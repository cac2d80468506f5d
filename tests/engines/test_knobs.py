"""Law 9: which maps are stored, and when a view is refreshed, changes no answer."""

from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import nestling as nl
from nestling.calculus.evaluate import evaluate
from nestling.database.bulk import EMBEDDED
from nestling.database.lazy import LazyView
from nestling.database.rows import RowEvent
from nestling.program.check import check_program
from nestling.program.meaning import meaning
from nestling.transform.lower.view import CannotLower, FlatView
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.storing import Rule, Storing
from tests.engines.shared import compiled, engine_of, shared_queries
from tests.engines.worlds import WORLDS, Stored, contents, flat_view, run_all, steps
from tests.strategies import Draw

pytestmark = pytest.mark.xdist_group("views")  # they share what is compiled

STEPS = 5
RULES: list[Rule] = ["keys", "slices", "every", "none"]
every_world = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)


@every_world
@given(data=st.data())
def test_the_answer_does_not_depend_on_the_knob(world, data):
    """read under full = read under counts = read under auto = read under any mixture = [[query]]"""
    query = data.draw(shared_queries(world))
    compiled(world, query)
    mixture = data.draw(mixtures(flat_view(query)))
    engines = [engine_of(compiled(world, query, store)) for store in ("auto", "full", "counts", mixture)]
    stored = Stored(world)
    for _ in range(STEPS):
        events = data.draw(steps(stored))
        stored.apply(events)
        for engine in engines:
            run_all(engine, events)
    meant = evaluate(query, stored.nested())
    assert [engine.read("v") for engine in engines] == [meant] * 4


@st.composite
def mixtures(draw: Draw, view: FlatView) -> Storing:
    """Any rule, with or without the answer, and some of the inner bags, whole."""
    rule = draw(st.sampled_from(RULES))
    bags = draw(st.sets(st.sampled_from(sorted(view.definitions, key=repr)))) if view.definitions else set()
    return Storing(rule, draw(st.booleans()), frozenset(bags))


@every_world
@given(data=st.data())
def test_a_lazy_view_answers_as_an_eager_one(world, data):
    """A view refreshed at random reads = [[query]] at each of them; what cancels in between is not run."""
    query = data.draw(shared_queries(world))
    try:
        later = LazyView(EMBEDDED, "v", flat_view(query), world.tables, "auto")
    except (CannotLower, CannotCompile):
        assume(False)
    stored = Stored(world)
    for _ in range(STEPS):
        events = data.draw(steps(stored))
        stored.apply(events)
        later.note(events)
        if data.draw(st.booleans()):
            # As from a file: the maps, and what they have not seen.
            again = LazyView(EMBEDDED, "v", flat_view(query), world.tables, "auto")
            maps = {name: later.engine.cells(name) for name in later.engine.program.maps}
            again.restore(stored.tables, maps, later.pending)
            assert contents(again.engine) == contents(later.engine)
            later = again
        if data.draw(st.booleans()):
            assert later.fresh().read("v") == evaluate(query, stored.nested())
            assert later.waiting == 0
    assert later.fresh().read("v") == evaluate(query, stored.nested())


#: Views that look at an aggregate in a condition, and add up what satisfies it.
CONDITIONS: dict[str, Any] = {
    "sum": lambda T: [sum(t.x for t in T if 2 * t.x < sum(u.x for u in T if u.k == t.k))],
    "group": lambda T, U: [
        (k, sum(u.x for u in U if u.k == k and sum(t.x for t in T if t.k == u.k) > 3))
        for k in {t.k for t in T}
    ],
    "extreme": lambda T: [sum(t.x for t in T if t.x < max(u.x for u in T if u.k == t.k))],
    "distinct": lambda T, U: [sum(u.x for u in U if u.k in {t.k for t in T})],
    "twice": lambda T, U: [
        sum(u.x for u in U if u.x <= sum(t.x for t in T if t.x <= sum(v.x for v in U if v.k == t.k)))
    ],
}


@cache
def waiting(name: str) -> nl.Database:
    """A database with a view whose nested maps wait."""
    db = nl.Database()
    for table in ("T", "U"):
        db.table(table, {"k": int, "x": int})
    db.view("v", CONDITIONS[name], refresh="hybrid")
    check_program(db._state.engine.program)
    assert db._state.engine.program.deferred
    return db


@pytest.mark.parametrize("name", CONDITIONS)
@given(data=st.data())
def test_what_waits_is_passed_on_before_it_is_read(name, data):
    """A view whose nested maps wait, read at random = [[query]]; every map is its query then"""
    db = waiting(name)
    view = db.views["v"]
    engine = db._state.engine = engine_of(db._state.engine.program)
    for _ in range(2 * STEPS):
        table = data.draw(st.sampled_from("TU"))
        rows = list(engine.table(table))
        if rows and data.draw(st.booleans()):
            db.delete(table, [data.draw(st.sampled_from(rows))])
        else:
            db.insert(
                table, data.draw(st.lists(st.tuples(st.integers(1, 2), st.integers(-1, 4)), max_size=3))
            )
        if data.draw(st.booleans()):
            view.verify()
    view.verify()
    for map_, decl in engine.program.maps.items():
        assert engine.cells(map_) == meaning(decl.query, {n: engine.table(n) for n in "TU"})


@every_world
@given(data=st.data())
def test_a_batch_is_the_sum_of_its_events(world, data):
    """Events in transactions, however they are split = the same events one by one (law 12)"""
    query = data.draw(shared_queries(world))
    program = compiled(world, query)
    engine, stored = engine_of(program), Stored(world)
    events: list[RowEvent] = []
    for _ in range(2 * STEPS):
        step = data.draw(steps(stored))
        stored.apply(step)
        if events and data.draw(st.booleans()):
            run_all(engine, events)
            events = []
        events += step
    if events:
        run_all(engine, events)
    assert engine.read("v") == evaluate(query, stored.nested())
    for name, decl in program.maps.items():
        assert engine.cells(name) == meaning(decl.query, stored.tables)


def test_what_has_no_value_when_it_is_passed_on_is_computed_anew():
    """A sum too large for a float: passing it on fails, and so does every reading until it is gone."""
    db = nl.Database()
    db.table("T", {"k": int, "x": int})
    view = db.view(
        "v",
        lambda T: [sum(t.x for t in T if t.x < 0.5 * sum(u.x for u in T if u.k == t.k))],
        refresh="hybrid",
    )
    db.insert("T", [(1, 5), (1, 7)])
    assert view.rows() == [5]
    db.insert("T", [(1, 10**400)])
    for _ in range(2):
        with pytest.raises(nl.NestlingError, match="v cannot be computed"):
            view.rows()
    db.delete("T", [(1, 10**400)])
    assert view.rows() == [5]
    view.verify()


def test_the_rest_goes_on_while_something_has_no_value():
    """Whoever reads what waits is told; rows come and go, and whoever listens to another view hears of it."""
    db = nl.Database()
    db.table("T", {"k": int, "x": int})
    late = db.view(
        "late",
        lambda T: [sum(t.x for t in T if t.x < 0.5 * sum(u.x for u in T if u.k == t.k))],
        refresh="hybrid",
    )
    counts = db.view("counts", lambda T: [(t.x, sum(1 for u in T if u.x == t.x)) for t in T])
    heard: list[Any] = []
    counts.subscribe(heard.append)
    db.insert("T", [(1, 5), (1, 7), (1, 10**400)])
    for _ in range(2):
        with pytest.raises(nl.NestlingError, match="late cannot be computed"):
            late.rows()
    heard.clear()
    db.insert("T", [(2, 5)])
    assert (heard[0].deleted, heard[0].inserted) == ([(5, 1)], [(5, 2)] * 2)
    db.delete("T", [(1, 10**400)])
    assert late.rows() == [5]
    assert sorted(counts.rows()) == [(5, 2), (5, 2), (7, 1)]
    late.verify()
    counts.verify()


@pytest.mark.parametrize("refresh", ["lazy", "hybrid"])
def test_definitions_while_something_has_no_value(refresh):
    """Nobody can listen to it; it can be dropped, and tables come and go."""
    db = nl.Database()
    db.table("T", {"k": int, "x": int})
    late = db.view(
        "late",
        lambda T: [sum(t.x for t in T if t.x < 0.5 * sum(u.x for u in T if u.k == t.k))],
        refresh=refresh,
    )
    db.insert("T", [(1, 5), (1, 10**400)])
    for act in (late.rows, lambda: late.subscribe(print), late.rows):
        with pytest.raises(nl.NestlingError, match="late cannot be computed"):
            act()
    db.table("U", {"a": int})
    db.insert("U", [(1,)])
    db.drop("U")
    db.drop("late")
    db.view("keys", lambda T: [t.k for t in T])
    assert db.views["keys"].rows() == [1, 1]
    db.verify(maps=True)


def test_a_hybrid_view_that_is_watched_does_not_wait():
    db = nl.Database()
    db.table("T", {"k": int, "x": int})
    view = db.view("v", CONDITIONS["sum"], refresh="hybrid")
    db.insert("T", [(1, 2), (1, 1)])
    assert db._state.engine.program.deferred
    heard: list[Any] = []
    view.subscribe(heard.append)
    assert not db._state.engine.program.deferred
    db.insert("T", [(1, 9)])
    assert (heard[0].deleted, heard[0].inserted) == ([1], [3])
    view.verify()


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

    assert db._state.later("v").waiting == 0
    db.insert("orders", [(2, "bob", [4])])
    assert db._state.later("v").waiting > 0
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
