"""A small shop: tables flat and nested, with nulls, and random contents for them."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from typing import Any

from hypothesis import strategies as st

from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.frontend.catalog import Catalog
from nestling.frontend.schema import python_value, record_type
from nestling.values.bag import ZBag

ITEM = {"pid": int, "qty": int, "price": float}
TABLES: dict[str, dict[str, Any]] = {
    "M": {"name": str, "gen": str, "dir": str},
    "customers": {"id": int, "name": str, "vip": bool, "note": str | None},
    "orders": {
        "id": int,
        "cust": int,
        "day": date,
        "total": float,
        "items": list[ITEM],  # type: ignore[valid-type]
        "tags": list[str],
        "ship": {"city": str, "fee": int | None},
    },
    "numbers": {"a": int, "b": int, "m": int | None},
    "lists": {"k": int, "rows": list[list[int]]},
    "visits": {"who": int, "at": datetime},
}
KEYS = {"customers": ("id",)}

CATALOG = Catalog()
for _name, _schema in TABLES.items():
    CATALOG.add(_name, record_type(_schema), KEYS.get(_name, ()))

_SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int": st.integers(0, 3),
    "float": st.sampled_from([0.0, 0.5, 1.25, -2.0]),
    "str": st.sampled_from(["", "a", "b", "Ab "]),
    "date": st.sampled_from([date(2023, 12, 31), date(2024, 1, 5), date(2024, 2, 29)]),
    "datetime": st.sampled_from([datetime(2024, 1, 5, 12, 30), datetime(2023, 7, 1)]),
}


def values(type_: Type) -> st.SearchStrategy[Any]:
    """Few values of a type, so that joins meet and bags repeat."""
    match type_:
        case Scalar(name, null):
            return st.none() | _SCALARS[name] if null else _SCALARS[name]
        case Record(parts):
            return st.tuples(*(values(part) for _, part in parts))
        case Bag(element):
            return bags(element, 2)
    raise TypeError(type_)


def bags(element: Type, most: int = 3) -> st.SearchStrategy[ZBag]:
    """Bags of a few elements, some of them twice."""
    return st.lists(st.tuples(values(element), st.sampled_from([1, 1, 2])), max_size=most).map(ZBag)


@st.composite
def databases(draw: Any, names: tuple[str, ...]) -> dict[str, ZBag]:
    """Contents for the tables ``names``; a table with a key has no two rows that agree on it."""
    return {name: _keyed(draw(bags(CATALOG[name])), name in KEYS) for name in names}


def _keyed(bag: ZBag, unique: bool) -> ZBag:
    return ZBag.of(*{row[0]: row for row in bag}.values()) if unique else bag


def as_python(name: str, bag: ZBag) -> list[Any]:
    """A table as Python sees it: a list of named tuples."""
    listed: list[Any] = python_value(Bag(CATALOG[name]), bag)
    return listed


def as_bag(element: Type, result: Any) -> ZBag:
    """What a Python function returned, as a bag of ``element``."""
    rows = result.items() if isinstance(result, dict) else result
    return ZBag((_as_value(element, row), 1) for row in rows)


def rounded(value: Any) -> Any:
    """``value`` with floats cut to what does not depend on the order of a sum."""
    match value:
        case float():
            return round(value, 6)
        case tuple():
            return tuple(map(rounded, value))
        case ZBag():
            return value.map(rounded)
    return value


def _as_value(type_: Type, value: Any) -> Any:
    match type_:
        case Record(parts):
            items = zip(parts, _fields(value, type_.names), strict=True)
            return tuple(_as_value(part, item) for (_, part), item in items)
        case Bag(element):
            return as_bag(element, value)
    return value


def _fields(value: Any, names: tuple[str, ...]) -> list[Any]:
    if isinstance(value, Mapping):
        assert tuple(value) == names
        return list(value.values())
    if is_dataclass(value):
        return [getattr(value, field.name) for field in fields(value)]
    return list(value)
