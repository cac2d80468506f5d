"""Bags with fewer columns: what a copy of a bag need not hold, since nobody reads it there.

A query with n aggregates names the rows of a group once, with the arguments of all, and goes through them n times. Each
time is a copy of the term; with all columns in each it would take the square of the text.

Law: ``for x in e union b`` is ``for x in with_columns(e, columns_read(x, b)) union b``. What may have no value stays,
read or not.
"""

from __future__ import annotations

from typing import Any

from nestling.calculus.partial import is_total
from nestling.calculus.terms import Expr, Field, For, Sing, Term, Tuple, Union, Var
from nestling.calculus.traverse import children, map_children
from nestling.calculus.types import Record
from nestling.calculus.typing import term_type


def columns_read(var: Var, body: Expr) -> frozenset[str] | None:
    """The fields of ``var`` that ``body`` reads, ``None`` if it reads ``var`` itself; nothing shadows it there.

    >>> from nestling.calculus.parse import parse, parse_type
    >>> loop = parse(
    ...     "for x in R where x.a > 0 union sng(x.b)", {"R": parse_type("Bag(⟨a: int, b: int, c: int⟩)")}
    ... )
    >>> sorted(columns_read(loop.var, loop.body))
    ['a', 'b']
    """
    if not isinstance(var.type, Record):
        return None
    found: set[str] = set()
    stack: list[Any] = [body]
    while stack:
        match stack.pop():
            case Field(Var(name), column) if name == var.name:
                found.add(column)
            case Var(name):
                if name == var.name:
                    return None
            case other:
                stack.extend(children(other))
    return frozenset(found)


def with_columns(bag: Expr, names: frozenset[str]) -> Expr | None:
    """``bag`` with the columns ``names`` alone, and those that may have no value; ``None`` if it has no others.

    >>> from nestling.calculus.parse import parse, parse_type
    >>> from nestling.calculus.show import show
    >>> bag = parse("for x in R union sng⟨a: x, b: x + 1, c: 1 // x⟩", {"R": parse_type("Bag(int)")})
    >>> print(show(with_columns(bag, frozenset({"a"}))))
    for x in R union sng⟨a: x, c: 1 // x⟩
    """
    needed = _needed(bag)
    if needed is None:
        return None
    written, partial = needed
    kept = tuple(name for name in written if name in names or name in partial)
    return None if kept == written else _cut(bag, kept)


def _needed(bag: Expr) -> tuple[tuple[str, ...], frozenset[str]] | None:
    """The columns of ``bag``, and which of them may have no value; ``None`` where its rows are not written out."""
    match bag:
        case For(_, _, body):
            return _needed(body)
        case Union(terms):
            parts = [_needed(term) for term in terms]
            found = [part for part in parts if part is not None]
            if len(found) < len(parts) or not found:
                return None
            return found[0][0], frozenset[str]().union(*(partial for _, partial in found))
        case Sing(element) if isinstance(type_ := term_type(element), Record):
            names = tuple(name for name, _ in type_.fields)
            return names, frozenset(name for name in names if not is_total(_column(element, name)))
    return None


def _cut(bag: Any, names: tuple[str, ...]) -> Any:
    match bag:
        case For(var, source, body):
            return For(var, source, _cut(body, names))
        case Sing(element):
            return Sing(Tuple(tuple((name, _column(element, name)) for name in names)))
    return map_children(bag, lambda part: _cut(part, names))


def _column(row: Term, name: str) -> Term:
    return dict(row.fields)[name] if isinstance(row, Tuple) else Field(row, name)
