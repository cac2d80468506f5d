"""Law 9: which maps are stored, and when a view is refreshed, changes no answer."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import nestling as nl
from nestling.calculus.evaluate import evaluate
from nestling.database.lazy import LazyView
from nestling.engine.local.engine import LocalEngine
from nestling.transform.lower.view import CannotLower, FlatView
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.storing import Rule, Storing
from tests.engines.worlds import WORLDS, Stored, contents, flat_view, steps
from tests.strategies import Draw, queries

STEPS = 5
RULES: list[Rule] = ["keys", "slices", "every", "none"]
every_world = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)


@every_world
@given(data=st.data())
def test_the_answer_does_not_depend_on_the_knob(world, data):
    """read under full = read under counts = read under auto = read under any mixture = [[query]]"""
    query = data.draw(queries("full", schema=world.schema))
    engines = []
    try:
        view = flat_view(query)
        for store in ("auto", "full", "counts", data.draw(mixtures(view))):
            engines.append(LocalEngine(compile_views(world.tables, {"v": view}, store={"v": store})))
    except (CannotLower, CannotCompile):
        assume(False)
    stored = Stored(world)
    for _ in range(STEPS):
        events = data.draw(steps(stored))
        stored.apply(events)
        for engine in engines:
            for event in events:
                engine.apply(*event)
    meant = evaluate(query, stored.nested())
    assert [engine.read("v") for engine in engines] == [meant] * 4


@st.composite
def mixtures(draw: Draw, view: FlatView) -> Storing:
    """Any rule, with or without the answer, and some of the inner bags, whole."""
    rule = draw(st.sampled_from(RULES))
    bags = draw(st.sets(st.sampled_from(sorted(view.definitions, key=repr)))) if view.definitions else set()
    return Storing(rule, draw(st.booleans()), frozenset(bags))


@pytest.mark.parametrize("hybrid", [False, True], ids=["lazy", "hybrid"])
@every_world
@given(data=st.data())
def test_a_view_refreshed_later_answers_as_an_eager_one(world, hybrid, data):
    """A view refreshed at random reads = [[query]] at each of them; what cancels in between is not run."""
    query = data.draw(queries("full", schema=world.schema))
    try:
        later = LazyView("v", flat_view(query), world.tables, "auto", hybrid=hybrid)
    except (CannotLower, CannotCompile):
        assume(False)
    stored = Stored(world)
    for _ in range(STEPS):
        events = data.draw(steps(stored))
        stored.apply(events)
        before = later.waiting
        later.note(events)
        if hybrid and not before and {e.table for e in events} & later.reads <= later.at_once:
            assert later.waiting == 0
        if data.draw(st.booleans()):
            # As from a file: the maps, and what they have not seen.
            again = LazyView("v", flat_view(query), world.tables, "auto", hybrid=hybrid)
            maps = {name: later.engine.cells(name) for name in later.engine.program.maps}
            again.restore(stored.tables, maps, later.pending)
            assert contents(again.engine) == contents(later.engine)
            later = again
        if data.draw(st.booleans()):
            assert later.fresh().read("v") == evaluate(query, stored.nested())
            assert later.waiting == 0
    assert later.fresh().read("v") == evaluate(query, stored.nested())


def shop() -> nl.Database:
    db = nl.Database()
    db.table("orders", {"id": int, "who": str, "items": list[int]}, key="id")
    return db


def test_what_comes_and_goes_between_two_reads_is_not_run():
    db = shop()
    view = db.view("v", lambda orders: [(o.who, sum(o.items)) for o in orders], refresh="lazy")
    assert view.rows() == []

    db.insert("orders", [(1, "ann", [2, 3])])
    db.delete("orders", key=1)

    assert db.state.lazy["v"].waiting == 0
    db.insert("orders", [(2, "bob", [4])])
    assert db.state.lazy["v"].waiting > 0
    assert view.rows() == [("bob", 4)]


@pytest.mark.parametrize("refresh", ["eager", "lazy", "hybrid"])
@pytest.mark.parametrize("store", ["full", "auto", "counts", "none"])
def test_every_setting_of_a_database(refresh: Any, store: Any):
    db = shop()
    view = db.view(
        "v",
        lambda orders: [
            (w, sum(i for o in orders if o.who == w for i in o.items), [o.id for o in orders if o.who == w])
            for w in {o.who for o in orders}
        ],
        refresh=refresh,
        store=store,
    )
    db.insert("orders", [(1, "ann", [2, 3]), (2, "bob", []), (3, "ann", [1])])
    assert sorted(view) == [("ann", 6, [1, 3]), ("bob", 0, [2])]
    db.table("orders").at(2).items.insert([9])
    db.delete("orders", key=1)
    assert sorted(view) == [("ann", 1, [3]), ("bob", 9, [2])]
    view.verify()


def test_a_setting_that_does_not_exist():
    with pytest.raises(nl.QueryError, match="store='most' is unknown"):
        shop().view("v", lambda orders: [o.id for o in orders], store="most")
