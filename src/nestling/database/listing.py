"""The rows of a nested view as Python reads them, made straight from the flat rows of its engine.

A view is read by a function that is written for its type: a loop over flat rows, in which each column is taken from
where it stands and each inner bag is made a list. No bag is built on the way, and nothing asks for a type again.

Law: ``listed`` has the rows that ``python_values`` makes of the bag, in an order of its own; the same lists inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import count
from operator import itemgetter
from typing import Any, TypeAlias

from nestling.calculus.lists import is_list
from nestling.calculus.maps import is_map
from nestling.calculus.optional import is_optional
from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.database.row_state import RowState
from nestling.engine.nesting import is_flat
from nestling.engine.protocol import Row, RowEngine
from nestling.engine.python.terms import run_source
from nestling.frontend.schema import python_value, row_class
from nestling.frontend.schema.counts import MOST_COPIES
from nestling.frontend.schema.read import order_key

Pairs: TypeAlias = Iterable[tuple[Row, int]]
#: Of the flat rows of a view, and of what finds those of a label, its rows; none where they are not a list.
Reader: TypeAlias = Callable[[RowEngine, str], list[Any] | None]

#: Columns of these types are in the order of their values; others have places for null and NaN.
_IN_ORDER = frozenset(("bool", "int", "str", "date", "datetime", "time", "timedelta", "bytes"))


def listed(state: RowState, name: str) -> list[Any] | None:
    """The rows of a view; ``None`` where the bag that it is has to be made, by whoever reads tables for it."""
    read = None if state.reads_tables(name) else reader(state.definitions[name].element)
    if read is None:
        return None
    with state.computing(name):
        return read(state.engine_of(name), name)


@lru_cache(maxsize=1024)
def reader(element: Type) -> Reader | None:
    """The function that reads views of this type; none for flat rows, which are what they are, and for odd ones."""
    if not isinstance(element, Record) or is_flat(element) or not _is_plain(element):
        return None
    names: dict[str, Any] = {"new": tuple.__new__}
    places = count()
    row = _written(element, places, names)
    columns = "".join(f"c{place}, " for place in range(next(places)))
    source = f"def read(rows, view, engine):\n    under = engine.rows_under\n    return [{row} for {columns}in rows]\n"
    run_source(source, "rows of a nested view", names)
    return partial(_read, names["read"])


def _read(
    made: Callable[[Iterable[Row], str, RowEngine], list[Any]], engine: RowEngine, view: str
) -> list[Any] | None:
    pairs = list(engine.flat_rows(view))
    times = [n for _, n in pairs]
    rows = [row for row, _ in pairs]
    if times.count(1) != len(times):
        if min(times) < 0 or sum(times) > MOST_COPIES:
            return None
        rows = [row for row, n in pairs for _ in range(n)]
    return made(rows, view, engine)


def _is_plain(element: Record) -> bool:
    """Whether each field is a column, or is made of such."""
    return not is_optional(element) and all(
        isinstance(field, Scalar | Bag) or (isinstance(field, Record) and _is_plain(field))
        for field in element.types
    )


def _written(type_: Type, places: Iterator[int], names: dict[str, Any]) -> str:
    """The value of a field in Python; ``names`` has what it is made by, by the place of its first column."""
    if isinstance(type_, Record):
        fields = "".join(f"{_written(field, places, names)}, " for field in type_.types)
        made = f"Row{len(names)}"
        names[made] = row_class(type_.names)
        return f"new({made}, ({fields}))"
    place = next(places)
    if isinstance(type_, Scalar):
        return f"c{place}"
    assert isinstance(type_, Bag)
    if _holds_rows(type_):
        names[f"list{place}"] = _flat(type_)
        return f"list{place}(engine, view, c{place}, under)"
    names[f"value{place}"] = partial(_nested, type_)
    return f"value{place}(engine, view, c{place})"


def _holds_rows(type_: Bag) -> bool:
    """Whether Python reads the flat rows under a label as they are, and not as entries or as what may be null."""
    element = type_.element
    if type_.opaque or is_map(type_) or is_optional(element):
        return False
    return isinstance(element, Scalar) or is_flat(element)


def _nested(type_: Type, engine: RowEngine, view: str, column: Any) -> Any:
    """What stands in one column, by way of its bag."""
    return python_value(type_, engine.nested(view, (column,), type_))


Under: TypeAlias = Callable[[str, Any], Pairs]


def _flat(type_: Bag) -> Callable[[RowEngine, str, Any, Under], Any]:
    """What makes a list of an inner bag that holds no other, in the order of its values or in its own."""
    element, order = type_.element, _order(type_.element)
    if is_list(type_):

        def items(engine: RowEngine, view: str, label: Any, under: Under) -> Any:
            others: list[int] = []
            found = [row for row, n in under(view, label) if n == 1 or others.append(n)]  # type: ignore[func-returns-value]
            if others:
                return _nested(type_, engine, view, label)
            found.sort(key=itemgetter(0))
            return [item for _, item in found]

        return items

    if isinstance(element, Record):
        make = row_class(element.names)._make

        def rows(engine: RowEngine, view: str, label: Any, under: Under) -> Any:
            others: list[int] = []
            found = [row for row, n in under(view, label) if n == 1 or others.append(n)]  # type: ignore[func-returns-value]
            if others:
                return _nested(type_, engine, view, label)
            found.sort(key=order)
            return list(map(make, found))

        return rows

    def values(engine: RowEngine, view: str, label: Any, under: Under) -> Any:
        others: list[int] = []
        found = [row[0] for row, n in under(view, label) if n == 1 or others.append(n)]  # type: ignore[func-returns-value]
        if others:
            return _nested(type_, engine, view, label)
        found.sort(key=order)
        return found

    return values


def _order(element: Type) -> Callable[[Any], Any] | None:
    """By what values are in order, if not by themselves."""
    types = element.types if isinstance(element, Record) else (element,)
    if all(isinstance(each, Scalar) and not each.nullable and each.name in _IN_ORDER for each in types):
        return None
    return partial(order_key, element)
