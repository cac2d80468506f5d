"""Checks that stored values have their columns' types: in tables as an insert stores them, in maps as sums may be.

A column of many rows is checked at once, at the speed of C: the types of its values are among those allowed. Only what
types do not tell (bits, digits, time zones) is looked at value by value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from operator import attrgetter, itemgetter
from typing import Any

from nestling.calculus.types import LABEL, Bag, Record, Scalar, Type
from nestling.calculus.typing import term_type
from nestling.errors import ChangeError
from nestling.frontend.schema import element_value
from nestling.program.flat import Query
from nestling.values.bag import ZBag
from nestling.values.label import Label

#: Whether all values of a column are as they should be.
Check = Callable[[Sequence[Any]], bool]

NONE = type(None)
CLASSES: dict[str, type] = {
    "bool": bool, "int": int, "float": float, "decimal": Decimal, "str": str, "bytes": bytes,
    "date": date, "datetime": datetime, "time": time, "timedelta": timedelta,
}  # fmt: skip
#: What a measure of a map may be, by the type of what it sums; a sum starts with the int 0.
MEASURES: dict[str, frozenset[type]] = {
    "float": frozenset((int, float)),
    "decimal": frozenset((int, Decimal)),
}
_NUMBERS = frozenset((bool, int, float, Decimal))


def row_checks(types: Sequence[Type]) -> list[Check]:
    """One check per column of a table; of labels, only that they are some."""
    return [_stored(t) if isinstance(t, Scalar) else only(Label) for t in types]


def only(*classes: type) -> Check:
    """All values are of exactly these classes."""
    allowed = frozenset(classes)
    return lambda column: allowed.issuperset(map(type, column))


def _stored(type_: Scalar) -> Check:
    typed = only(CLASSES[type_.name], *([NONE] if type_.nullable else []))
    fits = _fits(type_)
    if fits is None:
        return typed
    return lambda column: typed(column) and fits([value for value in column if value is not None])


def _fits(type_: Scalar) -> Check | None:
    """What types do not tell."""
    match type_:
        case Scalar("int", _, (bits,)):
            bound = 1 << bits - 1
            return lambda column: not column or (-bound <= min(column) and max(column) < bound)
        case Scalar("decimal", _, (digits, places)):
            unit, bound_ = Decimal(1).scaleb(-places), Decimal(1).scaleb(digits - places)
            # Of one quantum, so none is infinite or no number.
            return lambda column: (
                all(map(unit.same_quantum, column))
                and (not column or max(map(Decimal.copy_abs, column)) < bound_)
            )
        case Scalar("datetime" | "time"):
            zone = attrgetter("tzinfo")
            return lambda column: not any(map(zone, column)) or all(_unchanged(type_, v) for v in column)
    return None


def _unchanged(type_: Type, value: Any) -> bool:
    """Whether an insertion takes ``value`` as it is."""
    try:
        return bool(element_value(type_, value) == value)
    except ChangeError:
        return False


def key_checks(types: Sequence[Type]) -> list[Check]:
    """One check per key of a map. A key may be None or a wider number than its type says, since both sides of an
    equation have it as their key, and only one may be wide."""
    return [_computed(type_) for type_ in types]


def _computed(type_: Type) -> Check:
    match type_:
        case Scalar(name):
            own = CLASSES[name]
            return only(NONE, *(_NUMBERS if own in _NUMBERS else (own,)))
        case Record(fields):
            tuples, checks = only(tuple), [_computed(field) for _, field in fields]
            return lambda column: tuples(column) and _fit(column, checks)
        case Bag(element):
            bags, check = only(ZBag), _computed(element)
            return lambda column: bags(column) and check([value for bag in column for value in bag])
    assert type_ == LABEL, type_
    return only(Label)


def measure_checks(query: Query) -> list[Check]:
    """One check per measure of a map: all are numbers, of one kind beside int."""
    weights = [[term_type(m.weights[i]) for m in query.monomials] for i in range(query.width)]
    return [_measures({type_.name for type_ in types if isinstance(type_, Scalar)}) for types in weights]


def _measures(summed: Collection[str]) -> Check:
    allowed = next((MEASURES[name] for name in ("float", "decimal") if name in summed), _NUMBERS)

    def check(column: Sequence[Any]) -> bool:
        kinds = set(map(type, column))
        return kinds <= allowed and len(kinds - {int, bool}) <= 1

    return check


def misfit(rows: Sequence[Any], checks: Sequence[Check]) -> tuple[Any] | None:
    """The first row that is not a tuple of as many columns as there are checks, each as its check wants it."""
    if _fit(rows, checks):
        return None
    return next((row,) for row in rows if not _fit((row,), checks))


def _fit(rows: Sequence[Any], checks: Sequence[Check]) -> bool:
    if set(map(type, rows)) - {tuple} or set(map(len, rows)) - {len(checks)}:
        return False
    return all(check(list(map(itemgetter(place), rows))) for place, check in enumerate(checks))
