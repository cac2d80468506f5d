"""Rows that are stored as they come: where the short test holds, the long way would come to the same."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import IntEnum
from itertools import count
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

import nestling as nl
from nestling.calculus.optional import optional
from nestling.calculus.types import Bag, Record, Scalar, nullable, record
from nestling.database.definitions import TableDef
from nestling.database.plain import CLASSES, plain, plain_columns
from nestling.database.rows import RowEvent, Shredder
from nestling.frontend.schema import element_value, row_value
from nestling.values.bag import ZBag
from nestling.values.label import Label


class Colour(IntEnum):
    RED = 1


class Text(str):
    pass


VALUES: list[Any] = [
    True, 0, 1, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63, 10**40, Colour.RED,
    0.0, -0.0, 1.5, float("inf"), float("nan"), "", "tea", Text("tea"), b"", b"x", None,
    *map(Decimal, ("1.5", "1.50", "-0.00", "0.999", "1000.00", "7", "1e3", "NaN", "inf", "1e6000", "1e-6000")),
    date(2026, 1, 1), datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC), timedelta(1), [], (), {},
]  # fmt: skip


@st.composite
def scalars(draw: st.DrawFn) -> Scalar:
    name = draw(st.sampled_from(sorted(CLASSES)))
    sizes: dict[str, list[tuple[int, ...]]] = {
        "int": [(), (8,), (32,), (64,)],
        "decimal": [(), (5, 2), (3, 3), (38, 0)],
    }
    type_ = Scalar(name, size=draw(st.sampled_from(sizes.get(name, [()]))))
    return nullable(type_) if draw(st.booleans()) else type_


def a_record(types: list[Any]) -> Record:
    return record(**{f"c{i}": type_ for i, type_ in enumerate(types)})


@given(st.lists(st.tuples(scalars(), st.sampled_from(VALUES)), min_size=1, max_size=4))
@example([(Scalar("int"), True)])
@example([(Scalar("float"), float("nan"))])
@example([(Scalar("int", size=(32,)), 2**31)])
def test_a_plain_row_is_its_own_value(columns):
    row = tuple(value for _, value in columns)
    types = a_record([type_ for type_, _ in columns])
    if plain(types)(row):
        found = row_value(types, row)
        assert found == row
        assert all(
            mine is yours or (repr(mine) == repr(yours) and isinstance(mine, Decimal))
            for mine, yours in zip(found, row, strict=True)
        )


@given(st.lists(scalars(), min_size=1, max_size=3), st.data())
def test_a_plain_element_is_that_of_the_long_way(types, data):
    """db.table(…).at(7).items.insert([element]) adds the events that an element which is looked at would"""
    values = tuple(data.draw(st.sampled_from(VALUES)) for _ in types)
    table = TableDef("t", record(id=Scalar("int"), items=Bag(a_record(types))), ("id",))
    assert set(table.plain_elements) == {("items",)}
    if table.plain_elements["items",](values):
        found = ZBag([(element_value(a_record(types), values), 1)])
        label = Label("t.items", (7,))
        (event,) = Shredder(table, count()).elements(("items",), label, found)
        assert event == RowEvent("t.items", (label, *values), 1)


@given(scalars(), st.sampled_from(VALUES))
@example(Scalar("int"), True)
@example(Scalar("bool"), True)
def test_a_plain_key_is_its_own_value(type_, key):
    table = TableDef("t", record(id=type_, n=Scalar("int")), ("id",))
    if table.is_plain_key((key,)):
        found = element_value(type_, key)
        assert found is key or (repr(found) == repr(key) and isinstance(key, Decimal))


def test_an_element_comes_as_often_as_it_is_said():
    """in a bag that is changed as a whole, where the short test holds of it and where it does not"""
    db = nl.Database()
    db.table("t", {"id": int, "items": [{"a": int}]}, key="id")
    db.insert("t", [(7, [])])
    with db.transaction() as change:
        table, level, label = change._bag_of(
            change._table("t"), change._row_of(change._table("t"), 7), ("items",)
        )
        change._insert_elements(table, level, label, [((1,), 3)])
        change._insert_elements(table, level, label, [({"a": 2}, 2)])
    assert sorted(db.table("t").rows()[0].items) == [(1,), (1,), (1,), (2,), (2,)]


def test_keys_of_several_columns_and_elements_with_flags_are_looked_at():
    """a tuple may be a row; of an element that may be null, a flag is stored"""
    pair = TableDef("t", record(a=Scalar("int"), b=Scalar("int")), ("a", "b"))
    assert not pair.is_plain_key((1,))
    assert not pair.is_plain_key(((1, 2),))
    may_be_null = TableDef(
        "t", record(id=Scalar("int"), items=Bag(optional(record(a=Scalar("int"))))), ("id",)
    )
    assert not may_be_null.plain_elements


@given(st.lists(scalars(), min_size=1, max_size=3), st.data())
def test_columns_are_plain_where_each_row_is(types, data):
    rows = data.draw(st.lists(st.tuples(*[st.sampled_from(VALUES) for _ in types]), min_size=1, max_size=3))
    test, tests = plain(a_record(types)), plain_columns(a_record(types))
    assert tests is not None
    columns = list(zip(*rows, strict=True))
    assert all(map(test, rows)) == all(t(c) for t, c in zip(tests, columns, strict=True))


@given(st.lists(scalars(), min_size=1, max_size=4), st.data())
def test_ordinary_rows_are_plain(types, data):
    """Otherwise the test would be of no use."""
    ordinary = {"bool": True, "int": 7, "float": 1.5, "str": "tea", "bytes": b"x", "date": date(2026, 1, 1),
                "datetime": datetime(2026, 1, 1), "timedelta": timedelta(1), "time": time(12),
                "decimal": Decimal(0)}  # fmt: skip
    row = tuple(
        None if type_.nullable and data.draw(st.booleans()) else ordinary.get(type_.name) for type_ in types
    )
    row = tuple(
        value.quantize(Decimal(1).scaleb(-type_.size[1]))
        if isinstance(value, Decimal) and type_.size
        else value
        for type_, value in zip(types, row, strict=True)
    )
    assert plain(a_record(types))(row)
    assert not plain(a_record(types))(list(row))
    assert not plain(a_record(types))((*row, 1))


def test_what_has_elements_to_look_at_is_never_plain():
    for type_ in (Bag(Scalar("int")), record(a=Scalar("int"))):
        assert not plain(a_record([type_]))((1,))
