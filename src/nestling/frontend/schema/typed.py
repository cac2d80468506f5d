"""Nested rows as programs mostly have them, read with one look at the classes of all columns of a record.

They are tuples, lists or dicts with all columns, and their bags lists or tuples. What has a class that says it all, as
ints and texts, stays as it is.

Law: where ``typed_row(record)`` gives a value for a row, ``row_value(record, row)`` is that value; where it gives None,
``row_value`` says what the row is.

>>> from nestling.calculus.types import INT, STR, record
>>> read = typed_row(record(id=INT, lines=Bag(record(product=STR, n=INT))))
>>> read((7, [("tea", 2), ("tea", 2)])), read({"id": 7, "lines": []}), read((7, [("tea", 2.0)]))
((7, {('tea', 2): 2}), (7, {}), None)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from itertools import product
from operator import itemgetter
from typing import Any

from nestling.calculus.lists import is_list
from nestling.calculus.maps import is_map
from nestling.calculus.optional import is_optional
from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.errors import ChangeError
from nestling.frontend.schema.scalars import scalar_value
from nestling.values.bag import ZBag

#: What a value is where it has to be looked at more closely.
UNREAD = object()
Reader = Callable[[Any], Any]
#: The classes that the plain columns of a record may have.
Classes = frozenset[tuple[type, ...]]

#: The types whose instances, if of no subclass, are values as they are.
_CLASSES: dict[str, type] = {
    "bool": bool, "int": int, "str": str, "bytes": bytes, "date": date, "timedelta": timedelta,
}  # fmt: skip
#: A record with more nullable columns is looked at column by column.
_MOST_NULLABLE = 6


def typed_row(record: Record) -> Callable[[object], tuple[Any, ...] | None]:
    """The reader of ``record``'s rows; one that reads none, where a column needs a closer look whatever it holds."""
    read = _reader(record)
    if read is None:
        return lambda row: None

    def read_row(row: object) -> tuple[Any, ...] | None:
        value = read(row)
        return None if value is UNREAD else value

    return read_row


def _reader(type_: Type) -> Reader | None:
    match type_:
        case Scalar():
            return _scalar(type_)
        case Record() if not is_optional(type_) and type_.fields:
            return _record(type_)
        case Bag(element) if not (is_map(type_) or is_list(type_)):
            return _bag(element)
    return None


def _scalar(type_: Scalar) -> Reader:
    if (classes := _classes(type_)) is not None:
        return lambda value: value if type(value) in classes else UNREAD

    def closer(value: Any) -> Any:
        try:
            return scalar_value(type_, value, "")
        except ChangeError:
            return UNREAD  # whoever reads it then knows the name of its column

    return closer


def _classes(type_: Type) -> tuple[type, ...] | None:
    """The classes whose instances are values of ``type_`` as they are."""
    if not isinstance(type_, Scalar) or type_.size or type_.name not in _CLASSES:
        return None
    return (_CLASSES[type_.name], type(None)) if type_.nullable else (_CLASSES[type_.name],)


def _record(record: Record) -> Reader | None:
    classes = [_classes(type_) for type_ in record.types]
    plain = [i for i, found in enumerate(classes) if found is not None]
    inner = {i: _reader(type_) for i, type_ in enumerate(record.types) if classes[i] is None}
    readers = [(i, read) for i, read in inner.items() if read is not None]
    if len(readers) < len(inner) or sum(len(c) for c in classes if c) > len(classes) + _MOST_NULLABLE:
        return None
    allowed = frozenset(product(*(found for found in classes if found is not None)))
    if not readers:
        return _flat(_columns(record), allowed)
    return _nested(_columns(record), _classes_at(plain), allowed, readers, len(classes))


def _columns(record: Record) -> Reader:
    """The values of a row that is no tuple, in their order."""
    names, size = record.names, len(record.fields)

    def columns(row: Any) -> Any:
        if type(row) is dict and len(row) == size:
            try:
                return tuple([row[name] for name in names])
            except KeyError:
                return UNREAD
        return tuple(row) if type(row) is list else UNREAD

    return columns


def _classes_at(places: list[int]) -> Callable[[tuple[Any, ...]], tuple[type, ...]]:
    """The classes of the values at ``places`` of a row."""
    if len(places) > 1:
        picked = itemgetter(*places)
        return lambda row: tuple(map(type, picked(row)))
    if places:
        (place,) = places
        return lambda row: (type(row[place]),)
    return lambda row: ()


def _flat(columns: Reader, allowed: Classes) -> Reader:
    def read(row: Any) -> Any:
        if type(row) is not tuple and (row := columns(row)) is UNREAD:
            return UNREAD
        return row if tuple(map(type, row)) in allowed else UNREAD

    return read


def _nested(
    columns: Reader, classes: Reader, allowed: Classes, readers: list[tuple[int, Reader]], size: int
) -> Reader:
    def read(row: Any) -> Any:
        if type(row) is not tuple and (row := columns(row)) is UNREAD:
            return UNREAD
        if len(row) != size or classes(row) not in allowed:
            return UNREAD
        values = list(row)
        for i, inside in readers:
            value = values[i] = inside(values[i])
            if value is UNREAD:
                return UNREAD
        return tuple(values)

    return read


def _bag(element: Type) -> Reader | None:
    inside = _reader(element)
    if inside is None:
        return None

    def read(values: Any) -> Any:
        if type(values) is not list and type(values) is not tuple:
            return UNREAD
        found = []
        for each in values:
            if (value := inside(each)) is UNREAD:
                return UNREAD
            found.append(value)
        counts = dict.fromkeys(found, 1)
        return ZBag.counted(counts if len(counts) == len(found) else dict(Counter(found)))

    return read
