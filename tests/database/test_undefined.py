"""A change is refused exactly if an eager view has no value on the state after it: whatever happens on the way there,
whichever maps are kept, and whoever listens."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nestling as nl
from nestling.calculus.types import INT, UNIT, Bag, record
from nestling.transform.normalize import normalize
from nestling.values.bag import EMPTY, ZBag
from tests.engines.worlds import contents
from tests.partial import meant, partial_queries
from tests.strategies import FLAG, MAYBE, Draw, Schema

ROW = record(a=INT, items=Bag(INT))
CATALOG = {"T": Bag(record(a=INT, b=INT)), "U": Bag(record(a=INT, m=MAYBE)), "R": Bag(ROW)}
SCHEMA = Schema(CATALOG, (INT, record(a=INT, b=INT), UNIT, MAYBE, FLAG, ROW, Bag(INT)))

numbers = st.integers(0, 2)
ROWS: dict[str, st.SearchStrategy[Any]] = {
    "T": st.tuples(numbers, numbers),
    "U": st.tuples(numbers, st.none() | numbers),
    "R": st.tuples(numbers, st.lists(numbers, max_size=2).map(lambda items: ZBag.of(*items))),
}
SETTINGS = [
    (refresh, store) for refresh in ("eager", "hybrid") for store in ("auto", "full", "counts", "none")
]
State = dict[str, ZBag]


@st.composite
def transactions(draw: Draw, model: State) -> tuple[list[tuple[str, Any, int]], State]:
    """Rows that come and go in any order, and the state they lead to; some only pass through."""
    steps = []
    for table in draw(st.lists(st.sampled_from(sorted(ROWS)), min_size=1, max_size=4)):
        present = sorted(model[table], key=repr)
        if present and draw(st.booleans()):
            row, times = draw(st.sampled_from(present)), -1
        else:
            row, times = draw(ROWS[table]), 1
        steps.append((table, row, times))
        model = model | {table: model[table] + ZBag([(row, times)])}
        if times > 0 and draw(st.booleans()):
            steps.append((table, row, -1))
            model = model | {table: model[table] - ZBag.of(row)}
    return steps, model


def database(query: Any, refresh: str, store: str, heard: bool) -> tuple[nl.Database, list[Any]]:
    db = nl.Database()
    told: list[Any] = []
    for name, type_ in CATALOG.items():
        db.table(name, type_.element)
    db.view("v", query, refresh=refresh, store=store, strict=False)
    if heard:
        db.views["v"].subscribe(told.append)
    return db, told


def run(db: nl.Database, steps: list[tuple[str, Any, int]]) -> bool:
    """Whether the transaction is accepted."""
    try:
        with db.transaction() as change:
            for table, row, times in steps:
                (change.insert if times > 0 else change.delete)(table, [row])
    except nl.ChangeError as error:
        assert "could not be computed" in str(error)
        return False
    return True


@settings(max_examples=60)
@given(data=st.data())
def test_the_outcome_depends_on_the_state_after_the_transaction_alone(data):
    query = normalize(data.draw(partial_queries(SCHEMA)))  # as a database keeps it
    empty: State = dict.fromkeys(CATALOG, EMPTY)
    if meant(query, empty) is None:
        with pytest.raises(nl.QueryError, match="cannot be computed from the rows in its tables"):
            database(query, "eager", "auto", False)
        return
    refresh, store = data.draw(st.sampled_from(SETTINGS))
    other_refresh, other_store = data.draw(st.sampled_from(SETTINGS))
    databases = [
        database(query, refresh, store, data.draw(st.booleans())),
        database(query, other_refresh, other_store, data.draw(st.booleans())),
    ]
    model = empty
    for _ in range(3):
        steps, after = data.draw(transactions(model))
        shuffled = _in_another_order(steps, data.draw)
        expected = meant(query, after)
        for (db, told), order in zip(databases, (steps, shuffled), strict=True):
            before, version = contents(db._state.engine), db.version
            told.clear()
            assert run(db, order) == (expected is not None), order
            if expected is None:
                assert (contents(db._state.engine), db.version, told) == (before, version, [])
            else:
                assert db._read("v") == expected
        model = model if expected is None else after


def _in_another_order(steps: list[tuple[str, Any, int]], draw: Draw) -> list[tuple[str, Any, int]]:
    """The same rows, those that come first: every order of these leads to the same state."""
    return [*draw(st.permutations([s for s in steps if s[2] > 0])), *[s for s in steps if s[2] < 0]]


@settings(max_examples=60)
@given(data=st.data())
def test_a_lazy_view_has_a_value_when_its_query_has_one(data):
    """It refuses nothing, says that it has no value when it is read, and recovers."""
    query = normalize(data.draw(partial_queries(SCHEMA)))  # as a database keeps it
    db, _ = database(query, "lazy", data.draw(st.sampled_from(["auto", "full", "counts", "none"])), False)
    if meant(query, dict.fromkeys(CATALOG, EMPTY)) is not None and data.draw(st.booleans()):
        db.views["v"].subscribe(lambda change: None)
    model: State = dict.fromkeys(CATALOG, EMPTY)
    for _ in range(4):
        steps, model = data.draw(transactions(model))
        assert run(db, steps)
        if data.draw(st.booleans()):
            expected = meant(query, model)
            if expected is None:
                with pytest.raises(nl.NestlingError, match="v cannot be computed"):
                    db._read("v")
            else:
                assert db._read("v") == expected
