"""The functions of the plain meaning."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import fsum, isfinite
from typing import Any

from nestling.database.xml.atoms import Untyped, arithmetic, atom_text, cast, number
from nestling.database.xml.constructing import ConstructInterpreter
from nestling.database.xml.found import FoundNode, Items
from nestling.frontend.xquery.syntax import CallExpr
from nestling.values.nan import NAN
from nestling.xml.entries import ELEMENT, written

Builtin = Callable[[ConstructInterpreter, CallExpr, list[Items]], Items]
_BOUNDS: dict[str, tuple[int, int | None, str]] = {
    "zero-or-one": (0, 1, "FORG0003"), "one-or-more": (1, None, "FORG0004"), "exactly-one": (1, 1, "FORG0005"),
}  # fmt: skip


def _bounded(run: ConstructInterpreter, call: CallExpr, arguments: list[Items]) -> Items:
    least, most, code = _BOUNDS[call.name]
    if len(arguments[0]) < least or (most is not None and len(arguments[0]) > most):
        raise run.refuse(call.at, f"{call.name} of {len(arguments[0])} items", code)
    return arguments[0]


def _text(run: ConstructInterpreter, call: CallExpr, items: Items) -> str:
    """One text; of nothing, the empty one."""
    if len(items) > 1:
        raise run.refuse(call.at, f"{call.name} of {len(items)} items", "XPTY0004")
    return atom_text(run.atom(items[0])) if items else ""


def _numbers(run: ConstructInterpreter, items: Items) -> list[Any]:
    return [number(atom) if isinstance(atom, Untyped) else atom for atom in run.atoms(items)]


def _sum(run: ConstructInterpreter, call: CallExpr, arguments: list[Items]) -> Items:
    numbers = _numbers(run, arguments[0])
    return [fsum(numbers) if any(isinstance(n, float) for n in numbers) else sum(numbers)]


def _average(run: ConstructInterpreter, call: CallExpr, arguments: list[Items]) -> Items:
    numbers = _numbers(run, arguments[0])
    if any(isinstance(n, float) for n in numbers):
        return [
            float(sum(map(Fraction, numbers)) / len(numbers))
            if all(map(isfinite, numbers))
            else fsum(numbers)
        ]
    return [arithmetic("div", sum(numbers), len(numbers))] if numbers else []


def _distinct(run: ConstructInterpreter, call: CallExpr, arguments: list[Items]) -> Items:
    return list(dict.fromkeys(run.atoms(arguments[0])))


def _name(run: ConstructInterpreter, call: CallExpr, arguments: list[Items]) -> Items:
    found = []
    for item in arguments[0]:
        entry = run.stores(item.document).get(item.key)
        name = written(entry[2]) if entry is not None and entry[1] == ELEMENT else ""
        found.append(name.rpartition(":")[2] if call.name == "local-name" else name)
    return found


def _document(run: ConstructInterpreter, call: CallExpr, arguments: list[Items]) -> Items:
    name = _text(run, call, arguments[0])
    run.stores(name)
    return [FoundNode(name, "")]


def _collection(run: ConstructInterpreter, call: CallExpr, arguments: list[Items]) -> Items:
    begin = _text(run, call, arguments[0]) + "/"
    found = sorted(name for name in run.documents if name.startswith(begin))
    if not found:
        raise run.refuse(call.at, f"there is no document in {begin[:-1]!r}", "FODC0004")
    return [FoundNode(name, "") for name in found]


def _substring(run: ConstructInterpreter, call: CallExpr, arguments: list[Items]) -> Items:
    text, start = _text(run, call, arguments[0]), int(arguments[1][0])
    end = start + int(arguments[2][0]) if len(arguments) > 2 else len(text) + 1
    return [text[max(0, start - 1) : max(0, end - 1)]]


def _number(run: ConstructInterpreter, call: CallExpr, arguments: list[Items]) -> Items:
    if len(arguments[0]) > 1:
        raise run.refuse(call.at, f"number of {len(arguments[0])} items", "XPTY0004")
    try:
        return [number(run.atom(arguments[0][0])) if arguments[0] else NAN]
    except ValueError:
        return [NAN]


def _joined(run: ConstructInterpreter, call: CallExpr, arguments: list[Items]) -> Items:
    separator = _text(run, call, arguments[1]) if len(arguments) > 1 else ""
    return [separator.join([atom_text(atom) for atom in run.atoms(arguments[0])])]


def _part_of_date(run: ConstructInterpreter, call: CallExpr, arguments: list[Items]) -> Items:
    part = call.name.partition("-")[0]
    return [getattr(cast("xs:date", atom), part) for atom in run.atoms(arguments[0])]


def _of_texts(function: Callable[..., Any]) -> Builtin:
    return lambda run, call, arguments: [function(*(_text(run, call, items) for items in arguments))]


BUILTINS: dict[str, Builtin] = {
    "zero-or-one": _bounded,
    "one-or-more": _bounded,
    "exactly-one": _bounded,
    "doc": _document,
    "collection": _collection,
    "count": lambda run, call, arguments: [len(arguments[0])],
    "sum": _sum,
    "avg": _average,
    "min": lambda run, call, arguments: [min(n)] if (n := _numbers(run, arguments[0])) else [],
    "max": lambda run, call, arguments: [max(n)] if (n := _numbers(run, arguments[0])) else [],
    "exists": lambda run, call, arguments: [bool(arguments[0])],
    "empty": lambda run, call, arguments: [not arguments[0]],
    "not": lambda run, call, arguments: [not run.true(arguments[0], call)],
    "boolean": lambda run, call, arguments: [run.true(arguments[0], call)],
    "true": lambda run, call, arguments: [True],
    "false": lambda run, call, arguments: [False],
    "data": lambda run, call, arguments: run.atoms(arguments[0]),
    "number": _number,
    "string-join": _joined,
    "year-from-date": _part_of_date,
    "month-from-date": _part_of_date,
    "day-from-date": _part_of_date,
    "string": _of_texts(str),
    "concat": _of_texts(lambda *texts: "".join(texts)),
    "contains": _of_texts(lambda text, part: part in text),
    "starts-with": _of_texts(str.startswith),
    "ends-with": _of_texts(str.endswith),
    "upper-case": _of_texts(str.upper),
    "lower-case": _of_texts(str.lower),
    "string-length": _of_texts(len),
    "substring": _substring,
    "distinct-values": _distinct,
    "name": _name,
    "local-name": _name,
}
