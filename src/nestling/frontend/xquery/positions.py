"""Predicates that count: which places they take, where that is seen from the query."""

from __future__ import annotations

from typing import NamedTuple

from nestling.frontend.xquery.syntax import CallExpr, ComparisonExpr, LiteralExpr, Syntax


class Count(NamedTuple):
    """A predicate that counts: the items ``low`` to ``high``, from the front or, where ``from_end``, from the end."""

    low: int
    high: int | None
    from_end: bool = False


def counted(predicate: Syntax) -> Count | None:
    """What a predicate counts, if that is seen: ``[2]``, ``[last()]``, ``[position() <= 3]``."""
    match predicate:
        case LiteralExpr(int(number)):
            return Count(number, number) if number > 0 else Count(1, 0)
        case CallExpr("last", ()):
            return Count(1, 1, True)
        case ComparisonExpr(sign, _, CallExpr("position", ()), CallExpr("last", ())):
            return {"=": Count(1, 1, True), "<": Count(2, None, True), "!=": Count(2, None, True)}.get(sign)
        case ComparisonExpr(sign, _, CallExpr("position", ()), LiteralExpr(int(number))) if number > 0:
            return {
                "=": Count(number, number), "<=": Count(1, number), "<": Count(1, number - 1),
                ">": Count(number + 1, None), ">=": Count(number, None),
            }.get(sign)  # fmt: skip
    return None
