"""Queries in the shapes of TPC-DS, all columns nullable and no keys: what a reading takes is its answer's size alone.

Work is counted in lines of Python that run, so the machine does not matter.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

import nestling as nl
from tests.frontends.sql.star import QUERIES, TABLES
from tests.frontends.sql.test_views import nullable

#: What leads from one table to another has as many values as there are rows; anything else has five.
KEYS = ("_id", "_date", "_item", "_cust", "_store", "_ticket", "_order", "_addr")
SMALL, LARGE = 40, 160
#: Queries of which a reading takes more, by their place, and why. It may only shrink.
MORE = {20: "two ranks among all items are joined: each pair of rows is tried"}
#: How much more a row of the answer may take over four times the rows: groups are drawn, and some are larger.
SLACK = 1.5


def row(table: str, rng: Random, keys: int) -> tuple[Any, ...]:
    found: list[Any] = []
    for column in TABLES[table].split(", "):
        name, type_ = column.split(" ")
        if rng.random() < 0.1:
            found.append(None)
        elif type_ == "VARCHAR":
            found.append(rng.choice(["a", "b", "ab", ""]))
        else:
            found.append(rng.randrange(keys if name.endswith(KEYS) else 5))
    return tuple(found)


def reading(query: str, rows: int) -> tuple[int, int, bool]:
    """The lines that a reading runs, the rows that it finds, and whether the view is maintained."""
    db, rng = nl.Database(), Random(rows)
    names = [name for name in TABLES if name in query]
    for name in names:
        db.table(name, nullable(TABLES[name]))
    view = db.view("v", query, strict=False)
    for name in names:
        db.insert(name, [row(name, rng, rows // 4) for _ in range(rows)])
    db.insert(names[0], [row(names[0], rng, rows // 4)])
    list(view.rows())  # its code is made when it is first read
    with counted() as lines:
        found = list(view.rows())
    return lines(), len(found), not db._state.views.on_read


@contextmanager
def counted() -> Iterator[Callable[[], int]]:
    """How many lines run inside."""
    lines = 0

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lambda: lines
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_a_reading_takes_what_its_answer_is_large(number):
    few, answer, is_maintained = reading(QUERIES[number], SMALL)
    many, larger, _ = reading(QUERIES[number], LARGE)

    assert is_maintained
    assert (many / (larger + 1) <= SLACK * few / (answer + 1)) == (number not in MORE)


def test_the_count_tells_a_view_that_is_evaluated_on_read():
    inside = "SELECT max(y.ss_price) FROM store_sales y WHERE y.ss_qty < x.ss_qty"
    query = f"SELECT count(*) AS n FROM store_sales x WHERE x.ss_price = ({inside})"
    few, answer, is_maintained = reading(query, SMALL)
    many, larger, _ = reading(query, LARGE)

    assert not is_maintained
    assert many / (larger + 1) > 4 * few / (answer + 1)
