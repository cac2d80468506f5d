"""Rows as they are written and as they read back."""

import pickle
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.calculus.types import Bag, Record, Scalar, Type, nullable, record
from nestling.errors import ChangeError, NestlingError
from nestling.frontend.schema import element_value, python_value, record_type, row_value
from nestling.values.bag import ZBag

ORDER = record_type("id INT, price DOUBLE, note STRING NULL, items ARRAY<STRUCT<pid: INT, qty: INT NULL>>")
VALUE = (1, 2.5, None, ZBag([((7, 3), 2), ((8, None), 1)]))


@dataclass
class Item:
    pid: int
    qty: int | None


@dataclass
class Order:
    items: list[Item]
    id: int
    price: float
    note: str | None = None


class Row(tuple[Any, ...]):
    """As pyspark's: a tuple that knows its fields."""

    __fields__ = ("note", "id", "price", "items")


class Frozen(Mapping[str, Any]):
    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def __iter__(self) -> Any:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)


Swapped = namedtuple("Swapped", ["note", "id", "items", "price"])
Other = namedtuple("Other", ["a", "b", "c", "d"])
ITEMS = [(7, 3), {"pid": 7, "qty": 3}, Item(8, None)]
ROWS = [
    {"id": 1, "price": 2.5, "note": None, "items": ITEMS},
    {"items": ITEMS, "price": 2.5, "id": 1},
    (1, 2.5, None, ITEMS),
    [1, 2.5, None, tuple(ITEMS)],
    Order([Item(7, 3), Item(7, 3), Item(8, None)], 1, 2.5),
    Swapped(None, 1, ITEMS, 2.5),
    Other(1, 2.5, None, ITEMS),
    Row((None, 1, 2.5, ITEMS)),
    Frozen(id=1, price=2.5, items=[{"pid": 8}, *ITEMS[:2]]),
    (1, 2.5, None, ZBag([((7, 3), 2), ((8, None), 1)])),
    (1, 2.5, None, (item for item in ITEMS)),
]


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_a_row_in_any_form_is_one_value(row):
    assert row_value(ORDER, row) == VALUE


class Level(IntEnum):
    HIGH = 2


class Text(str):
    def __str__(self) -> str:
        return "something else"


class Moment(datetime):
    pass


CONVERTED: list[tuple[str, Any, Any]] = [
    ("float", 3, 3.0),
    ("decimal", 3, Decimal(3)),
    ("int", Level.HIGH, 2),
    ("str", Text("x"), "x"),
    ("datetime", Moment(2024, 1, 1), datetime(2024, 1, 1)),
    ("bytes", b"x", b"x"),
    ("bool", True, True),
    ("date", date(2024, 1, 1), date(2024, 1, 1)),
    ("timedelta", timedelta(1), timedelta(1)),
]


@pytest.mark.parametrize(("name", "given_", "stored"), CONVERTED)
def test_scalars_become_plain(name, given_, stored):
    value = element_value(Scalar(name), given_)

    assert value == stored
    assert type(value) is type(stored)


def test_all_nans_are_one():
    rows = [element_value(Scalar("float"), float("nan")) for _ in range(2)]

    assert ZBag.of(*rows) == ZBag([(rows[0], 2)])


@pytest.mark.parametrize("text", ["NaN", "-NaN", "sNaN"])
def test_a_decimal_is_a_number(text: str):
    with pytest.raises(ChangeError, match="takes decimal, not") as raised:
        element_value(Scalar("decimal"), Decimal(text))
    assert raised.value.hint.startswith("a decimal is a number")


REFUSED: list[tuple[Any, str, str]] = [
    ({"id": 1, "prise": 2.5}, "there is no column 'prise'", "did you mean 'price'?"),
    ({"id": 1, "price": 2.5}, "column 'items' is missing", "an empty list says that there is none"),
    ({"price": 2.5, "items": []}, "column 'id' is missing", "give it a value"),
    (("x", 2.5, None, []), "column 'id' takes int, not 'x' (str)", "pass a value of type int"),
    ((True, 2.5, None, []), "column 'id' takes int, not True (bool)", "a bool is no int: pass int(value)"),
    (
        (1.0, 2.5, None, []),
        "column 'id' takes int, not 1.0 (float)",
        "pass an int, or declare the column as float",
    ),
    (
        (None, 2.5, None, []),
        "column 'id' is never None",
        "declare it as int | None, or in a DDL string with NULL behind its type",
    ),
    (
        (1, 2.5, None),
        "a row has 4 values, not 3: (1, 2.5, None) (tuple)",
        "the columns are id, price, note, items",
    ),
    (
        7,
        "a row is a record, not 7 (int)",
        "pass a dict or a tuple of ⟨id: int, price: float, note: str?, items: Bag(⟨pid: int, qty: int?⟩)⟩",
    ),
    ((1, 2.5, None, None), "column 'items' is a bag, not None (NoneType)", "pass a list; it may be empty"),
    ((1, 2.5, None, "ab"), "column 'items' is a bag, not 'ab' (str)", "pass a list; it may be empty"),
    (
        (1, 2.5, None, {"pid": 1}),
        "column 'items' is a bag, not {'pid': 1} (dict)",
        "pass a list; it may be empty",
    ),
    ((1, 2.5, None, [(1, "x")]), "column 'items.qty' takes int?, not 'x' (str)", "pass a value of type int"),
    (
        (1, 2.5, None, [3]),
        "column 'items' is a record, not 3 (int)",
        "pass a dict or a tuple of ⟨pid: int, qty: int?⟩",
    ),
    ((1, 2.5, None, ZBag([((1, 1), -1)])), "column 'items' holds a negative count: {(1, 1): -1}", ""),
]


@pytest.mark.parametrize(("row", "what", "hint"), REFUSED, ids=range(len(REFUSED)))
def test_a_bad_row_names_column_and_value(row, what, hint):
    with pytest.raises(ChangeError) as caught:
        row_value(ORDER, row)

    assert (caught.value.what, caught.value.hint) == (what, hint)


def test_dates_and_decimals_are_not_guessed():
    for name, value, hint in [
        ("date", datetime(2024, 1, 1), "pass value.date()"),
        ("datetime", date(2024, 1, 1), "pass a datetime"),
        ("decimal", 0.5, "a float is not exact: pass Decimal(str(value))"),
    ]:
        with pytest.raises(ChangeError) as caught:
            element_value(Scalar(name), value)
        assert caught.value.hint == hint


def test_a_row_reads_as_a_named_tuple():
    row = python_value(ORDER, VALUE)

    assert (row.id, row.price, row.note) == (1, 2.5, None)
    assert row.items == [(7, 3), (7, 3), (8, None)]
    assert row.items[0].qty == 3
    assert row == (1, 2.5, None, [(7, 3), (7, 3), (8, None)])
    assert type(row) is type(python_value(ORDER, VALUE))
    assert pickle.loads(pickle.dumps(row)) == row
    assert repr(row.items[0]) == "Row(pid=7, qty=3)"


def test_names_that_python_lacks_are_places():
    row = python_value(record_type("`unit price` INT, class INT, `_x` INT, ok INT"), (1, 2, 3, 4))

    assert row._fields == ("_0", "_1", "_2", "ok")


def test_a_list_has_a_fixed_order():
    element = record(m=nullable(Scalar("float")), tags=Bag(Scalar("str")))
    values = [(None, ZBag()), (1.5, ZBag.of("b")), (1.5, ZBag.of("a", "b")), (float("nan"), ZBag())]

    read = [python_value(Bag(element), ZBag.of(*order)) for order in (values, values[::-1])]

    assert repr(read[0]) == repr(read[1])
    assert [row.m for row in read[0]][:3] == [None, 1.5, 1.5]


def test_a_negative_count_is_no_list():
    with pytest.raises(NestlingError, match="negative counts"):
        python_value(Bag(Scalar("int")), ZBag([(1, -1)]))


def values(type_: Type) -> st.SearchStrategy[Any]:
    match type_:
        case Scalar("int", null):
            return st.none() | st.integers(-3, 3) if null else st.integers(-3, 3)
        case Scalar("str"):
            return st.text(max_size=2)
        case Record(fields):
            return st.tuples(*(values(field) for _, field in fields))
        case Bag(element):
            return st.lists(values(element), max_size=3).map(lambda rows: ZBag.of(*rows))
    return st.floats(allow_nan=False, width=16)


@given(values(ORDER))
def test_writing_undoes_reading(value):
    assert row_value(ORDER, python_value(ORDER, value)) == value
