"""Rows that are stored as they come: tests written for the columns of one table.

Nearly every row of a program is a tuple of ints and texts, and nothing needs to be done to it. One row is tested by one
expression; many are tested column by column, at the speed of C. The tests have no text of a user in them: only names of
classes, positions and bounds.

Law: where ``plain(record)`` holds for a row, ``row_value(record, row)`` is that row; and ``plain_columns(record)`` hold
for the columns of some rows where it holds for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from operator import attrgetter, eq
from typing import Any

from nestling.calculus.types import Record, Scalar, Type
from nestling.engine.python.terms import run_source
from nestling.frontend.schema import FARTHEST

#: The types of which an instance of the very class may be a value as it is. Bags have elements to look at.
CLASSES: dict[str, type] = {
    "bool": bool, "int": int, "float": float, "decimal": Decimal, "str": str, "bytes": bytes,
    "date": date, "datetime": datetime, "time": time, "timedelta": timedelta,
}  # fmt: skip

#: Whether all values of a column are stored as they come.
ColumnTest = Callable[[Sequence[Any]], bool]


def plain(record: Record) -> Callable[[Any], bool]:
    """The test of ``record``'s columns; where one of them always needs a look, no row passes.

    >>> from nestling.calculus.types import INT, STR, record
    >>> test = plain(record(id=INT, name=STR))
    >>> test((7, "tea")), test((7, None)), test((True, "tea")), test({"id": 7, "name": "tea"})
    (True, False, False, False)
    """
    text = plain_text(record)
    if text is None:
        return lambda row: False
    names = plain_names(record)
    run_source(f"test = lambda row: {text}\n", "plain rows", names)
    test: Callable[[Any], bool] = names["test"]
    return test


def plain_text(record: Record) -> str | None:
    """The test in Python; none where no row passes."""
    tests = [_test(type_, place) for place, type_ in enumerate(record.types)]
    if None in tests:
        return None
    size = f"type(row) is tuple and len(row) == {len(tests)}"
    return " and ".join([size, *(test for test in tests if test is not None)])


def plain_names(record: Record) -> dict[str, Any]:
    """What the names in it stand for."""
    sized = [t.size for t in record.types if isinstance(t, Scalar) and t.name == "decimal" and t.size]
    units = {f"unit_{places}": Decimal(1).scaleb(-places) for _, places in sized}
    return {"type": type, "len": len, "tuple": tuple, **CLASSES, **units}


def _test(type_: Type, place: int) -> str | None:
    """What holds of the value in one column, if that can be said."""
    if not isinstance(type_, Scalar) or type_.name not in CLASSES:
        return None
    text = f"type(v := row[{place}]) is {type_.name}"
    match type_:
        case Scalar("int", _, (bits,)):
            bound = 1 << bits - 1
            text += f" and {-bound} <= v < {bound}"
        case Scalar("decimal", _, (digits, places)):
            bound = 10 ** (digits - places)
            text += f" and v.same_quantum(unit_{places}) and {-bound} < v < {bound}"
        case Scalar("decimal"):
            text += f" and v.is_finite() and v.adjusted() <= {FARTHEST} and v.as_tuple()[2] >= {-FARTHEST}"
        case Scalar("float"):
            text += " and v == v"  # there is one NaN for all
        case Scalar("datetime" | "time"):
            text += " and v.tzinfo is None"
    return f"({text} or v is None)" if type_.nullable else text


def plain_columns(record: Record) -> list[ColumnTest] | None:
    """One test for each column of some rows; none where no row passes."""
    if plain_text(record) is None:
        return None
    return [column_test(type_) for type_ in record.types if isinstance(type_, Scalar)]


def column_test(type_: Scalar) -> ColumnTest:
    """Whether the values of a column are stored as they come."""
    allowed = frozenset((CLASSES[type_.name], *([type(None)] if type_.nullable else [])))
    more = _more(type_)

    def test(column: Sequence[Any]) -> bool:
        if not allowed.issuperset(map(type, column)):
            return False
        if more is None:
            return True
        values = [value for value in column if value is not None] if type_.nullable else column
        return not values or more(values)

    return test


def _more(type_: Scalar) -> ColumnTest | None:
    """What types do not tell of some values."""
    match type_:
        case Scalar("int", _, (bits,)):
            bound = 1 << bits - 1
            return lambda values: -bound <= min(values) and max(values) < bound
        case Scalar("decimal", _, (digits, places)):
            unit, limit = Decimal(1).scaleb(-places), 10 ** (digits - places)
            # Of one quantum, so none is infinite or no number.
            return lambda values: (
                all(map(unit.same_quantum, values)) and -limit < min(values) and max(values) < limit
            )
        case Scalar("decimal"):
            return lambda values: all(
                v.is_finite() and v.adjusted() <= FARTHEST and v.as_tuple()[2] >= -FARTHEST for v in values
            )
        case Scalar("float"):
            return lambda values: all(map(eq, values, values))
        case Scalar("datetime" | "time"):
            return lambda values: {*map(type, map(_ZONE, values))} == {type(None)}
    return None


_ZONE = attrgetter("tzinfo")
