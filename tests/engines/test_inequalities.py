"""Views of an order book: inequality joins, sums beyond a price, the first of each side, kept row by row.

Every view is compared with the reference after random changes, whatever is stored; and that no change walks through the
book is read off the program, not off a clock.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from benchmarks.workloads import orderbook
from nestling.engine.python.where import summed_where
from nestling.program.statements import Find
from nestling.program.steps import every_step, plans, trigger_statements
from nestling.storage.ordered import OrderedMap

LIMIT = 3

VIEWS: dict[str, Any] = {
    **orderbook.VIEWS,
    **orderbook.LATER,
    "rank": lambda bids: [(b.id, len([c for c in bids if c.price > b.price])) for b in bids],
    "band": lambda bids, asks: [
        (b.id, sum(a.volume for a in asks if a.price > b.price - 2 and a.price <= b.price + 2)) for b in bids
    ],
    "crossed": lambda bids, asks: [sum(1 for b in bids for a in asks if a.price < b.price)],
    "crossing": lambda bids, asks: [(b.id, a.id) for b in bids for a in asks if a.price < b.price],
    "best": lambda bids: [(b.price, b.id) for b in sorted(bids, key=lambda b: (-b.price, b.t, b.id))[:LIMIT]],
    "best_of_each": lambda bids: [
        (broker, sorted([b.price for b in bids if b.broker_id == broker], reverse=True)[:2])
        for broker in {b.broker_id for b in bids}
    ],
    "worth_of_the_best": lambda asks: [sum(a.price * a.volume for a in sorted(asks, key=lambda a: a.price)[:2])],
    "of_a_broker": lambda bids: [
        (b.broker_id, b.id)
        for b in bids
        if 2 * sum(c.volume for c in bids if c.broker_id == b.broker_id and c.price >= b.price)
        <= sum(c.volume for c in bids if c.broker_id == b.broker_id)
    ],
}  # fmt: skip

orders = st.tuples(
    st.integers(0, 6), st.integers(0, 2), st.integers(0, 6), st.integers(-1, 8) | st.integers(1, 8)
)
steps = st.lists(st.tuples(st.sampled_from(("bids", "asks")), orders, st.integers(0, 9)), max_size=12)


@cache
def opened(name: str, store: str) -> nl.Database:
    """A book with one view; to compile it takes longer than all that happens to it."""
    db = nl.Database()
    for table, schema in orderbook.SCHEMA.items():
        db.table(table, schema, key="id")
    db.view(name, VIEWS[name], store=store, strict=False)
    return db


@contextmanager
def empty_book(name: str, store: str) -> Iterator[nl.Database]:
    """The same for every script; one that fails spoils it for no other."""
    db = opened(name, store)
    try:
        yield db
        for table in orderbook.SCHEMA:
            db.delete(table, list(db.table(table)))
        db.views[name].verify()
    except BaseException:
        opened.cache_clear()
        raise


@pytest.mark.parametrize("name", VIEWS)
@given(store=st.sampled_from(("auto", "full", "counts")), script=steps)
def test_every_view_of_the_book_is_the_reference(name, store, script):
    with empty_book(name, store) as db:
        run_script(db, script)
        db.views[name].verify()


def run_script(db: nl.Database, script: list[tuple[str, tuple[int, int, int, int], int]]) -> None:
    live: list[tuple[str, int]] = []
    for number, (table, (t, broker, price, volume), place) in enumerate(script):
        if place < len(live):
            gone, key = live.pop(place)
            db.delete(gone, key=key)
        else:
            db.insert(table, [(t, number, broker, price, volume)])
            live.append((table, number))


@pytest.mark.parametrize("views", (VIEWS, orderbook.SQL), ids=("comprehension", "sql"))
@pytest.mark.parametrize("name", ("bsv", "bsp", "axf", "psp", "mst", "vwap"))
def test_no_change_walks_through_the_book(name, views):
    """The trading queries take look-ups and sums over ranges only: nothing is looped over on an event."""
    db = nl.Database()
    for table, schema in orderbook.SCHEMA.items():
        db.table(table, schema, key="id")
    db.view(name, views[name], strict=False)
    program = db._state.engine.program
    found = [
        step
        for trigger in program.triggers.values()
        for statement in trigger_statements(trigger)
        for step in every_step(statement)
    ]
    read = [step for plan in plans(program.views[name]) for s in plan.statements for step in every_step(s)]

    assert name not in db._state.views.on_read
    loops = [step for step in (*found, *read) if isinstance(step, Find) and len(step.known) < len(step.args)]
    # There is a handful of brokers; nothing else is gone through.
    assert {program.maps[step.source].columns[0].name.split("_", 1)[-1] for step in loops} <= {
        "broker_id",
        "w",
        "k0",
    }
    assert {len(step.args) for step in loops} <= {1}


entries = st.lists(st.tuples(st.integers(0, 9), st.integers(-1, 3)), max_size=12)


@given(
    entries,
    entries,
    st.sampled_from(("<", "<=", ">", ">=")),
    st.integers(-2, 12),
    st.booleans(),
    st.integers(1, 3),
)
def test_sums_where_a_test_of_other_sums_holds(outside, inside, operator, threshold, rising, factor):
    outer: OrderedMap[int] = OrderedMap(sums=1)
    inner: OrderedMap[int] = OrderedMap()
    for key, value in outside:
        outer.add(key, 1, value)
    for key, value in inside:
        inner.add(key, value)

    def holds(amount: int) -> bool:
        return (factor * amount > threshold) is rising

    def beyond(key: int) -> int:
        compare = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}[operator]
        return sum(value for other, value in inside if compare(other, key))

    passing = [(1, value) for key, value in outside if holds(beyond(key))]
    expected = tuple(map(sum, zip(*passing, strict=True))) or (0, 0)

    assert summed_where(outer, inner or None, operator, 0, holds) == expected


#: Rows below a sum of others: those that the sum passes are found by the order of their values, and no others.
BELOW_A_SUM = {
    "of each group": """
        SELECT g, sum(v), count(*) FROM r WHERE v < (SELECT sum(w) FROM s) GROUP BY g""",
    "of positives": """
        SELECT g, sum(v) FROM r WHERE v >= (SELECT sum(w) FROM s WHERE w > 0) GROUP BY g""",
    "of both": """
        SELECT sum(r.v - s.w) FROM r, s
        WHERE r.v > (SELECT sum(v) FROM r) AND s.w <= (SELECT 2 * sum(w) FROM s)""",
    "with a default": """
        SELECT g, sum(v) FROM r WHERE v > coalesce((SELECT sum(w) FROM s WHERE s.w > r.v), 0) GROUP BY g""",
}


@pytest.mark.parametrize("name", BELOW_A_SUM)
def test_rows_below_a_sum_that_moves(name):
    db, rng = nl.Database(), Random(name)
    db.table("r", {"id": int, "g": int, "v": int}, key="id")
    db.table("s", {"id": int, "g": int, "w": int}, key="id")
    view = db.view("v", BELOW_A_SUM[name], strict=False)
    live: list[tuple[str, int]] = []
    for number in range(80):
        if rng.random() < len(live) / 16:
            gone, key = live.pop(rng.randrange(len(live)))
            db.delete(gone, key=key)
        else:
            table = rng.choice("rs")
            db.insert(table, [(number, rng.randint(0, 2), rng.randint(-3, 4))])
            live.append((table, number))
        if number % 4 == 0:
            view.verify(maps=True)


INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("weights", [(1.0, INF, -INF, 1.0), (-2.0, NAN, 3.0), (-INF, 1.0, INF), (NAN, INF)])
def test_a_sum_that_is_no_number_bounds_nothing(weights):
    """What is compared with it is neither below nor above, though it was."""
    db = nl.Database()
    db.table("r", {"id": int, "v": float}, key="id")
    db.table("s", {"id": int, "w": float}, key="id")
    low = db.view("low", lambda r, s: [sum(1 for x in r if x.v <= sum(y.w for y in s))])
    high = db.view("high", lambda r, s: [sum(1 for x in r if x.v >= sum(y.w for y in s))])
    db.insert("r", enumerate((0.0, 1.0, INF, -INF)))
    for number, weight in enumerate(weights):
        db.insert("s", [(number, weight)])
        low.verify()
        high.verify()
