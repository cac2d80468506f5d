"""Python values to values of the calculus: what a row may look like, and what is refused.

A row is a dict (or any mapping), a tuple or list in the order of the columns, a dataclass, a model of pydantic, a named
tuple or a pyspark ``Row``. A column that may be null may be left out of a row with names. Inside it, records are rows
again, and a bag is a list, tuple, set, array or ``ZBag``. What becomes of scalars is told in ``scalars``.

Where a reference stands, an instance of the class or a row of the table is taken too: its key is. ``Links`` says where
that is, by field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from difflib import get_close_matches
from typing import Any, TypeAlias

from nestling.calculus.lists import is_list, item_type
from nestling.calculus.maps import is_map
from nestling.calculus.optional import flagged, held, is_optional, null_value
from nestling.calculus.types import Bag, Record, Scalar, Type, show_type
from nestling.errors import ChangeError, shown
from nestling.frontend.schema.classes import instance_columns
from nestling.frontend.schema.counts import multiplicity
from nestling.frontend.schema.objects import Extent
from nestling.frontend.schema.scalars import scalar_value
from nestling.values.bag import ZBag

#: A reference, or by field where references are; elements of bags are passed through.
Links: TypeAlias = "Extent | Mapping[str, Links] | None"


def row_value(record: Record, row: object, links: Links = None) -> tuple[Any, ...]:
    """The value of ``row`` as one of ``record``; ``ChangeError`` names the column and what is wrong with it.

    >>> from nestling.calculus.types import FLOAT, INT, record
    >>> row_value(record(id=INT, prices=Bag(FLOAT)), {"id": 7, "prices": [1, 0.5, 1]})
    (7, {1.0: 2, 0.5: 1})
    """
    return _record(record, row, "", links)


def named_row(record: Record, row: object) -> Mapping[Any, Any]:
    """The columns of ``row`` by name; of one that has no names, those of ``record`` in their order."""
    found = _named(record, row)
    return dict(zip(record.names, _positional(record, row, ""), strict=True)) if found is None else found


def element_value(type_: Type, value: object, links: Links = None) -> Any:
    """The value of ``value`` as one of ``type_``: a row, or an element of an inner bag."""
    return _value(type_, value, "", links)


def field_value(name: str, type_: Type, value: object, links: Links = None) -> Any:
    """The value of ``value`` in the column ``name`` of a row."""
    return _value(type_, value, name, links)


def _value(type_: Type, value: object, where: str, links: Links = None) -> Any:
    if links is not None and isinstance(links, Extent) and (key := links.key_of(value)) is not None:
        value = key
    match type_:
        case Scalar():
            return scalar_value(type_, value, where)
        case Record() if is_optional(type_):
            if value is None:
                return null_value(type_)
            return flagged(type_, _value(held(type_), value, where, links))
        case Record():
            return _record(type_, value, where, links)
        case Bag(element) if is_map(type_):
            return _map(element, value, where, links)
        case Bag() if is_list(type_):
            return _ordered(item_type(type_), value, where, links)
        case Bag(element):
            return _bag(element, value, where, links)
    raise TypeError(f"a row has no {type_}")


def _record(record: Record, row: object, where: str, links: Links) -> tuple[Any, ...]:
    named = _named(record, row)
    values = _positional(record, row, where) if named is None else _by_name(record, named, where)
    columns = zip(record.fields, values, strict=True)
    if links is not None and isinstance(links, Mapping):
        return tuple([_value(t, value, _join(where, name), links.get(name)) for (name, t), value in columns])
    return tuple([_value(type_, value, _join(where, name)) for (name, type_), value in columns])


def _named(record: Record, row: object) -> Mapping[Any, Any] | None:
    """The fields of ``row`` by name, if it has names."""
    if type(row) is tuple:
        return None
    if isinstance(row, Mapping):
        return row
    if (columns := instance_columns(row)) is not None:
        return columns
    names = getattr(row, "_fields", None) or getattr(row, "__fields__", None)
    if isinstance(row, tuple) and names and set(names) == set(record.names):
        return dict(zip(names, row, strict=True))
    return None


def _by_name(record: Record, row: Mapping[Any, Any], where: str) -> list[Any]:
    names = record.names
    for name in row:
        if name not in names:
            close = get_close_matches(str(name), names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"the columns are {', '.join(names)}"
            raise ChangeError(f"there is no column {_join(where, name)!r}", hint=hint)
    return [
        row[name] if name in row else _left_out(type_, _join(where, name)) for name, type_ in record.fields
    ]


def _left_out(type_: Type, where: str) -> Any:
    if not is_optional(type_) and not (isinstance(type_, Scalar) and type_.nullable):
        hint = "an empty list says that there is none" if isinstance(type_, Bag) else "give it a value"
        raise ChangeError(f"column {where!r} is missing", hint=hint)
    return None


def _positional(record: Record, row: object, where: str) -> list[Any]:
    place = f"column {where!r}" if where else "a row"
    if not isinstance(row, tuple | list):
        raise ChangeError(
            f"{place} is a record, not {shown(row)}", hint=f"pass a dict or a tuple of {show_type(record)}"
        )
    if len(row) != len(record.fields):
        raise ChangeError(
            f"{place} has {len(record.fields)} values, not {len(row)}: {shown(row)}",
            hint=f"the columns are {', '.join(record.names)}",
        )
    return list(row)


def _bag(element: Type, value: object, where: str, links: Links) -> ZBag:
    if isinstance(value, ZBag):
        counted = [
            (_value(element, inner, where, links), multiplicity(times)) for inner, times in value.items()
        ]
        if not value.is_nonnegative():
            raise ChangeError(f"column {where!r} holds a negative count: {value!r}")
        return ZBag(counted)
    values = value if isinstance(value, list | tuple | Set) else _list(value, where)
    return ZBag([(_value(element, inner, where, links), 1) for inner in values])


def _ordered(item: Type, value: object, where: str, links: Links) -> ZBag:
    """The elements of a list with their positions."""
    if isinstance(value, ZBag) and (entries := _entries(value)) is not None:
        value = entries
    if isinstance(value, ZBag | Set):
        raise ChangeError(
            f"column {where!r} is in order, and {shown(value)} is not", hint="pass a list; it may be empty"
        )
    values = value if isinstance(value, list | tuple) else _list(value, where)
    return ZBag([((at, _value(item, inner, where, links)), 1) for at, inner in enumerate(values)])


def _entries(value: ZBag) -> list[Any] | None:
    """The elements of a bag of entries, as a query yields it, by their positions."""
    pairs = [
        pair for pair, times in value.items() if times == 1 and isinstance(pair, tuple) and len(pair) == 2
    ]
    found = dict(pairs)
    return [found[at] for at in range(len(value))] if found.keys() == set(range(len(value))) else None


def _map(entry: Type, value: object, where: str, links: Links) -> ZBag:
    """A dict, or a list of pairs with different keys, as Arrow has it."""
    if isinstance(value, Mapping):
        value = list(value.items())
    elif not isinstance(value, list | ZBag):
        raise ChangeError(
            f"column {where!r} is a map, not {shown(value)}", hint="pass a dict; it may be empty"
        )
    found = _bag(entry, value, where, links)
    if len({key for key, _ in found}) < sum(times for _, times in found.items()):
        raise ChangeError(f"column {where!r} has a key twice: {shown(value)}", hint="give each key one value")
    return found


def _list(value: Any, where: str) -> list[Any]:
    """The elements of an array or another iterable."""
    if hasattr(value, "to_pylist"):  # Arrow's
        value = value.to_pylist()
    elif hasattr(value, "tolist") and getattr(getattr(value, "dtype", None), "kind", "") not in "Mm":
        value = value.tolist()  # NumPy's, whose moments would become ints
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ChangeError(
            f"column {where or 'value'!r} is a bag, not {shown(value)}", hint="pass a list; it may be empty"
        )
    return list(value)


def _join(where: str, name: object) -> str:
    return f"{where}.{str(name).lstrip('·')}" if where else str(name)
