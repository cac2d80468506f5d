"""Nested rows that are read in one look: where the short way has a value, the long way has the same one."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import IntEnum
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from nestling.calculus.lists import list_type
from nestling.calculus.maps import map_type
from nestling.calculus.optional import optional
from nestling.calculus.types import INT, STR, Bag, Record, Scalar, Type, nullable, record
from nestling.errors import ChangeError
from nestling.frontend.schema import row_value, typed_row
from nestling.values.bag import ZBag


class Colour(IntEnum):
    RED = 1


class Text(str):
    pass


VALUES: list[Any] = [
    True, 0, 1, 2**31, 2**63, Colour.RED, 0.0, -0.0, 1.5, float("nan"), Decimal("1.5"), "tea", Text("tea"), b"x", None,
    date(2026, 1, 1), datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC), timedelta(1), ZBag(), {1, 2}, object(),
]  # fmt: skip
NAMES = ("bool", "int", "float", "str", "bytes", "date", "datetime", "timedelta", "decimal")


@st.composite
def scalars(draw: st.DrawFn) -> Scalar:
    name = draw(st.sampled_from(NAMES))
    type_ = Scalar(name, size=(32,) if name == "int" and draw(st.booleans()) else ())
    return nullable(type_) if draw(st.booleans()) else type_


def _more(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    records = st.lists(inner, min_size=1, max_size=3).map(a_record)
    bags = (records | scalars()).map(Bag)
    others = st.sampled_from(
        [list_type(STR), map_type(STR, INT), optional(Bag(INT)), optional(record(a=INT))]
    )
    return records | bags | others


def a_record(types: list[Any]) -> Record:
    return record(**{f"c{i}": type_ for i, type_ in enumerate(types)})


def values(type_: Type) -> st.SearchStrategy[Any]:
    """Values of ``type_`` as users write them, and some that are none."""
    ordinary = {"bool": True, "int": 7, "float": 1.5, "str": "tea", "bytes": b"x", "date": date(2026, 1, 1),
                "datetime": datetime(2026, 1, 1), "timedelta": timedelta(1), "decimal": Decimal(2)}  # fmt: skip
    match type_:
        case Scalar(name):
            return st.just(ordinary[name]) | st.just(ordinary[name]) | st.sampled_from(VALUES)
        case Record(fields):
            rows = st.tuples(*(values(t) for _, t in fields))
            names = [name for name, _ in fields]
            return (
                rows
                | rows.map(list)
                | rows.map(lambda row: dict(zip(names, row, strict=True)))
                | rows.map(lambda row: dict(zip(names[::-1], row[::-1], strict=True)))
                | rows.map(lambda row: row[1:])
            )
        case Bag(element):
            bags = st.lists(values(element), max_size=3)
            return bags | bags.map(tuple) | st.sampled_from(VALUES)
    raise AssertionError(type_)


ROWS = st.recursive(scalars(), _more, max_leaves=6).flatmap(
    lambda t: st.tuples(st.just(r := t if isinstance(t, Record) else a_record([t])), values(r))
)


@given(ROWS)
@example((record(a=Bag(record(b=INT))), ([(True,)],)))
@example((record(a=INT, b=Bag(INT)), (1, [1, 1], 3)))
@example((record(a=INT, b=Bag(INT)), {"a": 1, "c": []}))
def test_what_is_read_in_one_look_is_the_value(given_):
    type_, row = given_
    found = typed_row(type_)(row)
    if found is not None:
        try:
            expected = row_value(type_, row)
        except ChangeError as error:
            raise AssertionError(f"{row} is refused: {error}") from None
        assert found == expected and repr(found) == repr(expected)
        assert hash(found) == hash(expected)


def test_ordinary_nested_rows_are_read_in_one_look():
    """Otherwise it would be of no use."""
    line = record(product=STR, n=INT, price=Scalar("float"), notes=Bag(STR))
    type_ = record(id=INT, by=nullable(STR), at=record(x=INT, y=INT), lines=Bag(line))
    read = typed_row(type_)

    for row in (
        (1, None, (2, 3), [("tea", 1, 0.5, ["new", "new"]), ("cup", 2, 1, ())]),
        [1, "Ada", [2, 3], ()],
        {
            "id": 1,
            "by": "Ada",
            "at": {"y": 3, "x": 2},
            "lines": [{"product": "a", "n": 1, "price": 2.0, "notes": []}],
        },
    ):
        assert read(row) == row_value(type_, row)
    others: list[Any] = [
        (1, None, (2, 3), [("tea", True, 0.5, [])]),
        (1, None, (2, 3)),
        (1, None, (2,), []),
        7,
        None,
    ]
    for other in others:
        assert read(other) is None
    assert typed_row(record(a=INT, b=map_type(STR, INT)))((1, {})) is None
