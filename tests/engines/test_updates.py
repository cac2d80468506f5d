"""Laws 8, 9 and 17 of updates: a row that changes under its key; and of kept references, beside none."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import nestling as nl
from nestling.calculus.build import call, const
from nestling.calculus.terms import Var
from nestling.calculus.types import INT, LABEL
from nestling.database.rows import Row, RowEvent
from nestling.engine.local.engine import LocalEngine
from nestling.engine.protocol import Batch
from nestling.engine.runs import Run, runs, summed_runs
from nestling.program import flat
from nestling.program.check import check_program
from nestling.program.flat import Atom, Lift, Monomial, Query
from nestling.program.kept import kept_columns, parents_first
from nestling.program.meaning import Cells, meaning
from nestling.program.solve import added
from nestling.program.statements import Program, Write
from nestling.transform.viewlet import compile_views
from nestling.values.label import Label
from tests.engines.batches import Interpreted, add_all
from tests.engines.shared import ROWS, For, compiled, empty, engine_of, program_of, shared_joins
from tests.engines.test_batches import batch
from tests.engines.test_program_laws import advance, answers, equals_its_query, running
from tests.engines.worlds import (
    CHANGING,
    KEYED,
    REFERRING,
    Stored,
    World,
    agrees_with_its_indexes,
    contents,
    embedded,
)
from tests.strategies import Draw, scalars

pytestmark = pytest.mark.xdist_group("views")  # they share what is compiled

STEPS = 4
WITH_KEYS = {"keyed": KEYED, "changing": CHANGING}
every_world = pytest.mark.parametrize("world", WITH_KEYS.values(), ids=WITH_KEYS)


# an update


@st.composite
def changed_rows(draw: Draw, stored: Stored, engine: LocalEngine) -> tuple[str, Row, Row]:
    """A row that is there, and what it becomes: some of the columns that may, and no reference to nobody."""
    names = [name for name in engine.program.updates if stored.tables[name]]
    assume(names)
    name = draw(st.sampled_from(names))
    table = engine.program.tables[name]
    old = draw(st.sampled_from(sorted(stored.tables[name], key=repr)))
    stay = kept_columns(table)
    moving = draw(st.sets(st.sampled_from(range(len(old)))))
    new = tuple(
        draw(scalars(column.type)) if i in moving - stay else old[i]  # type: ignore[arg-type]
        for i, column in enumerate(table.columns)
    )
    for places, parent in table.references:
        assume(stored.by_key(parent, tuple(new[i] for i in places)) is not None)
    return name, old, new


@every_world
@given(data=st.data())
def test_every_map_equals_its_query_after_an_update(world, data):
    """run(old, new) = run(old, -1); run(new, +1) on every map, which is its query; and back again"""
    _, engine, stored = running(data, world)
    check_program(engine.program)
    for _ in range(STEPS):
        advance(data, engine, stored)
    an_update_follows(data, engine, stored)


@every_world
@given(data=st.data())
def test_every_map_of_a_join_equals_its_query_after_an_update(world, data):
    """joins of a table with itself: the old and the new row meet each other"""
    query, engine, stored = joined(data, world)
    for _ in range(2 * STEPS):
        advance(data, engine, stored)
    an_update_follows(data, engine, stored, query)


def test_an_update_passes_on_no_change_of_which_it_collects_nothing():
    """a count of K, in a count: a row of K that changes leaves it as it is"""
    i, j, label, n = Var("i", INT), Var("j", INT), Var("l", LABEL), Var("n", INT)
    row = Atom("D", (i, label))
    inner = Query((), (Monomial((), (const(1),), (Atom("K", (j, i)), flat.Test(call("==", i, i)))),))
    middle = Query((), (Monomial((), (const(1),), (row, Lift(n, "count", inner, ()))),))
    query = Query((), (Monomial((), (const(1),), (row, row, Lift(n, "count", middle, ()))),))
    program = program_of(KEYED, query)
    assert program is not None
    check_program(program)
    assert program.updates["K"].actions == (Write("K"),)


def test_the_index_of_rows_that_a_key_determines_has_them_under_it():
    """D(i + 1, m) ⋈ D(i, l) ⋈ D(j, l): a map of one row for each row of D, looked up by what is computed of its key"""
    i, j = Var("i", INT), Var("j", INT)
    one, other = Var("l", LABEL), Var("m", LABEL)
    above = call("+", i, const(1))
    atoms = (Atom("D", (above, other)), *[Atom("D", (j, one))] * 2, Atom("D", (i, one)))
    query = Query((Var("c", INT),), (Monomial((above,), (const(1),), atoms),))
    program, stored = program_of(KEYED, query, "full"), empty(KEYED, query)
    assert program is not None
    engine = engine_of(program)
    assert any(store.key and store.patterns for store in engine.stores.values() if not store.is_table)
    for n in (0, 1):
        event = RowEvent("D", (n, Label("D.rows", (n,))), 1)
        engine.apply(*event)
        stored.apply([event])
        equals_its_query(engine, stored)
        agrees_with_its_indexes(engine)
        answers(engine, query, stored)


@every_world
@given(data=st.data())
def test_updates_that_wait_come_to_the_same(world, data):
    """whatever comes between an update and the reading that it waits for"""
    query, engine, stored = joined(data, world, For(patient=True))
    for _ in range(4 * STEPS):
        if any(stored.tables[name] for name in engine.program.updates) and data.draw(st.booleans()):
            name, old, new = data.draw(changed_rows(stored, engine))
            engine.updates[name](old, new)
            stored.apply([RowEvent(name, old, -1), RowEvent(name, new, 1)])
        else:
            advance(data, engine, stored)
    answers(engine, query, stored)
    equals_its_query(engine, stored)
    agrees_with_its_indexes(engine)


def joined(data: Any, world: World, use: For = ROWS) -> tuple[Any, LocalEngine, Stored]:
    query = data.draw(shared_joins(world))
    engine = engine_of(compiled(world, query, data.draw(st.sampled_from(["auto", "full"])), use))
    check_program(engine.program)
    return query, engine, empty(world, query)


def an_update_follows(data: Any, engine: LocalEngine, stored: Stored, query: Query | None = None) -> None:
    """A row changes and changes back, in the engine and in ``stored``; the view is ``query`` after either."""
    before = contents(engine)
    name, old, new = data.draw(changed_rows(stored, engine))
    engine.updates[name](old, new)
    stored.apply([RowEvent(name, old, -1), RowEvent(name, new, 1)])
    equals_its_query(engine, stored)
    agrees_with_its_indexes(engine)
    if query is not None:
        answers(engine, query, stored)
    again = data.draw(changed_rows(stored, engine))
    several = [(old, new), again[1:]] if again[0] == name and again[1] == new else [(old, new)]
    after = contents(engine)
    Run(name, several[1:], True).apply(engine)
    Run(name, several[1:], True).undo(engine)
    assert contents(engine) == after
    Run(name, several[:1], True).undo(engine)
    assert contents(engine) == before
    stored.apply([RowEvent(name, new, -1), RowEvent(name, old, 1)])
    equals_its_query(engine, stored)
    if query is not None:
        answers(engine, query, stored)


class Forbidden(dict[Any, Any]):
    """A map that nobody may look into."""

    def get(self, *_: Any) -> Any:
        raise AssertionError("a map was looked into")

    __getitem__ = __setitem__ = __delitem__ = __contains__ = setdefault = items = values = get


def shop(db: nl.Database | None = None) -> nl.Database:
    db = nl.Database() if db is None else db
    db.table("customers", {"id": int, "name": str, "city": str, "notes": str | None}, key="id")
    db.table(
        "orders", {"no": int, "customer": int, "amount": int}, key="no", references={"customer": "customers"}
    )
    db.insert("customers", [(1, "Ada", "Rome", None), (2, "Bob", "Oslo", "")])
    db.insert("orders", [(7, 1, 10), (8, 1, 5), (9, 2, 1)])
    return db


NAMES = "SELECT o.no, c.name FROM orders o JOIN customers c ON c.id = o.customer"
TOTALS = "SELECT c.city, sum(o.amount) AS total FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.city"


@pytest.mark.in_python
def test_an_attribute_that_no_view_reads_touches_no_map():
    db = shop()
    db.view("names", NAMES, store="full")
    db.view("totals", TOTALS)
    engine = embedded(db._state.engine)
    maps = [store for store in engine.stores.values() if not store.is_table]
    assert maps
    for store in maps:
        engine.names |= {name: Forbidden() for name in store.dictionaries}

    db.update("customers", key=1, set={"notes": "new"})
    assert engine.table("customers")[1, "Ada", "Rome", "new"] == 1
    with pytest.raises(AssertionError, match="looked into"):
        engine.updates["customers"]((1, "Ada", "Rome", "new"), (1, "Eve", "Rome", "new"))


@pytest.mark.parametrize("refresh", ["eager", "lazy", "hybrid"])
def test_an_update_of_a_parent_reaches_its_children(refresh):
    db = shop()
    views = [
        db.view("names", NAMES, store="full", refresh=refresh),
        db.view("totals", TOTALS, refresh=refresh),
    ]
    for view in views:
        view.rows()
    for value in ("Eve", "Fay", "Ada"):
        db.update("customers", key=1, set={"name": value, "city": value})
        for view in views:
            view.verify(maps=True)
    db.update("orders", key=7, set={"customer": 2, "amount": 3})
    with db.transaction() as t:
        t.delete("customers", key=2)
        assert t.rows("customers")
        t.delete("orders", where=lambda o: o.customer == 2)
        views[0].rows()
        t.update("customers", key=1, set={"name": "Gil"})
    for view in views:
        view.verify(maps=True)
    assert sorted(views[0].rows()) == [(8, "Gil")]


def hear(engine: LocalEngine, table: str, seen: list[Any]) -> None:
    """Have ``engine`` tell which rows of ``table`` take the place of which."""
    one, many = engine.updates[table], engine.update_batches[table]

    def update(old: Any, new: Any) -> None:
        seen.append((old, new))
        one(old, new)

    def updates(pairs: Any) -> None:
        seen.extend(pairs)
        many(pairs)

    engine.updates[table], engine.update_batches[table] = update, updates


@pytest.mark.in_python
def test_ten_updates_of_a_lazy_view_are_one():
    db = shop()
    view = db.view("names", NAMES, store="full", refresh="lazy")
    view.rows()
    own = db._state.later("names")
    seen: list[Any] = []
    hear(embedded(own.engine), "customers", seen)
    for i in range(10):
        db.update("customers", key=1, set={"name": f"Ada {i}"})
    assert sorted(view.rows())[0] == (7, "Ada 9")
    assert seen == [((1, "Ada", "Rome", None), (1, "Ada 9", "Rome", None))]


@pytest.mark.in_python
@pytest.mark.parametrize("column", ["name", "notes"])
def test_one_column_beside_the_key_is_all_that_is_stored(column):
    """{no: name}, if a name is never null; what stands under a key is not None"""
    db = shop()
    view = db.view("v", NAMES.replace("name", column), store="full")
    engine = embedded(db._state.engine)
    (rows,) = [name for name, decl in engine.program.maps.items() if decl.role == "rows"]
    stored = engine.stored[rows]
    assert stored == (
        {7: "Ada", 8: "Ada", 9: "Bob"} if column == "name" else {7: (None, 7), 8: (None, 8), 9: ("", 9)}
    )
    assert db.update("customers", key=1, set={column: "Eve"}).events
    db.delete("orders", key=8)
    assert view[7] == sorted(view.rows())[0] == (7, "Eve")
    other = engine_of(engine.program)
    other.load_map(rows, engine.cells(rows))
    assert other.stored[rows] == stored
    db.verify(maps=True)


class Counting(dict[Any, Any]):
    """A map that counts what is put into it."""

    puts = 0

    def __setitem__(self, key: Any, value: Any) -> None:
        self.puts += 1
        super().__setitem__(key, value)


@pytest.mark.in_python
@pytest.mark.parametrize(("refresh", "waiting"), [("eager", 20), ("hybrid", 0)])
def test_ten_updates_of_a_hybrid_view_are_one(refresh, waiting):
    """counted in what is put into the map of its rows: two orders refer to the customer"""
    db = shop()
    view = db.view("names", NAMES, store="full", refresh=refresh)
    engine = embedded(db._state.engine)
    (rows,) = [name for name, decl in engine.program.maps.items() if decl.role == "rows"]
    counting = engine.names[rows] = engine.stored[rows] = Counting(engine.stored[rows])
    for i in range(10):
        db.update("customers", key=1, set={"name": f"Ada {i}"})
    assert counting.puts == waiting
    assert db.tables["customers"].rows()[0].name == "Ada 9"
    assert sorted(view.rows())[0] == (7, "Ada 9")
    assert counting.puts == (waiting or 2)
    view.verify(maps=True)
    # There and back again is nothing.
    for name in ("Eve", "Ada 9"):
        db.update("customers", key=1, set={"name": name})
    view.rows()
    assert counting.puts == (waiting + 4 if waiting else 2)


@pytest.mark.in_python
def test_what_waits_is_run_before_what_it_meets():
    db = shop()
    views = {
        refresh: db.view(refresh, NAMES, store="full", refresh=refresh) for refresh in ("hybrid", "lazy")
    }
    engine = embedded(db._state.engine)
    assert engine.program.patient == {"customers"}
    changes = [
        lambda: db.insert("orders", [(20, 1, 3)]),
        lambda: db.update("orders", key=20, set={"customer": 2}),
        lambda: db.delete("orders", key=20),
        lambda: db.insert("customers", [(5, "Fay", "Bern", None)]),
        lambda: db.delete("customers", key=5),
        lambda: db.view("third", TOTALS),
    ]
    for i, change in enumerate(changes):
        db.update("customers", key=1, set={"name": f"Ada {i}"})
        change()
        db.update("customers", key=2, set={"name": f"Bo {i}"})
        assert sorted(views["hybrid"].rows()) == sorted(views["lazy"].rows())
        db.verify(maps=True)
    with pytest.raises(ZeroDivisionError), db.transaction() as t:
        t.update("customers", key=1, set={"name": "nobody"})
        1 / 0  # noqa: B018
    db.verify(maps=True)


def test_what_an_eager_view_needs_does_not_wait():
    db = shop()
    db.view("names", NAMES, store="full", refresh="hybrid")
    db.view("same", NAMES, store="full")
    assert not db._state.engine.program.patient


@pytest.mark.parametrize("refresh", ["hybrid", "lazy"])
def test_what_waits_is_in_the_file(tmp_path, refresh):
    with nl.Database(tmp_path / "shop.nest") as db:
        shop(db)
        db.view("names", NAMES, store="full", refresh=refresh)
        db.update("customers", key=1, set={"name": "Eve"})
    with nl.Database(tmp_path / "shop.nest") as db:
        db.update("customers", key=1, set={"name": "Fay"})
        db.drop(db.view("other", TOTALS).name)  # stores all there is
        db.update("customers", key=2, set={"name": "Gil"})
    with nl.Database(tmp_path / "shop.nest") as db:
        assert {name for _, name in db.views["names"].rows()} == {"Fay", "Gil"}
        db.verify(maps=True)


@pytest.mark.in_python
def test_images_before_and_after_are_an_update():
    """pairs of one key in apply and sync, in a file too; what somebody hears of is what changed"""
    db = shop()
    heard: list[Any] = []
    view = db.view("names", NAMES)
    view.subscribe(lambda change: heard.append((sorted(change.deleted), sorted(change.inserted))))
    calls: list[Any] = []
    hear(embedded(db._state.engine), "customers", calls)
    db.apply(
        {"customers": {(1, "Ada", "Rome", None): -1, (1, "Eve", "Rome", None): 1, (3, "Cy", "Bern", None): 1}}
    )
    assert calls == [((1, "Ada", "Rome", None), (1, "Eve", "Rome", None))]
    db.sync("customers", [(1, "Eve", "Rome", None), (2, "Bo", "Oslo", ""), (3, "Cy", "Bern", "x")])
    assert [new for _, new in calls[1:]] == [(2, "Bo", "Oslo", ""), (3, "Cy", "Bern", "x")]
    assert heard == [([(7, "Ada"), (8, "Ada")], [(7, "Eve"), (8, "Eve")]), ([(9, "Bob")], [(9, "Bo")])]
    view.verify(maps=True)


def test_an_update_leaves_inner_bags_alone():
    db = nl.Database()
    db.table("orders", {"no": int, "name": str, "items": [{"pid": int, "qty": int}]}, key="no")
    db.insert("orders", [(1, "a", [(1, 2), (2, 3)])])
    view = db.view("v", lambda orders: [(o.name, sum(i.qty for i in o.items)) for o in orders])
    assert db.update("orders", key=1, set={"name": "b"}).tables == {"orders": 2}
    refresh = db.update("orders", key=1, set={"items": [(2, 3), (4, 1)], "name": "b"})
    assert refresh.tables == {"orders.items": 2}
    assert view.rows() == [("b", 4)]
    view.verify(maps=True)
    assert db.update("orders", key=1, set={"items": [(4, 1), (2, 3)]}).events == 0


# kept references


REFERRED = {"changing": CHANGING, "referring": REFERRING}


@pytest.mark.parametrize("by_rows", [True, False], ids=["rows", "batches"])
@pytest.mark.parametrize("world", REFERRED.values(), ids=REFERRED)
@given(data=st.data())
def test_references_leave_out_only_what_adds_nothing(world, by_rows, data):
    """with and without the reference rules the same answers, whatever comes and goes in one batch"""
    query = data.draw(shared_joins(world))
    programs = [compiled(world, query, "full", For(not by_rows, alone=alone)) for alone in (False, True)]
    engines: list[LocalEngine | Interpreted] = [
        engine_of(program) if by_rows else Interpreted(program) for program in programs
    ]
    stored = empty(world, query)
    for _ in range(STEPS):
        changes: Batch = batch(data, stored, 5)
        for engine in engines:
            engine.apply_batch(changes)
            assert answer(engine) == meaning(query, stored.tables)
    for name, decl in engines[0].program.maps.items():
        assert engines[0].cells(name) == meaning(decl.query, stored.tables), decl.why


def answer(engine: LocalEngine | Interpreted) -> Cells:
    """The rows of the view, which are stored whole."""
    [statement] = engine.program.views["v"].rows.statements
    found: Cells = {}
    for key, amounts in added(statement, lambda name: source(engine, name)):
        add_all(found, {key: amounts})
    return found


def source(engine: LocalEngine | Interpreted, name: str) -> Cells:
    if name in engine.program.maps:
        return engine.cells(name)
    return {row: (times,) for row, times in engine.table(name).items()}


def program_over(fixed: tuple[int, ...]) -> Program:
    """Totals by city, where some columns of customers are fixed."""
    db = shop()
    db.view("totals", TOTALS, store="full")
    tables = db._state.declarations()
    tables["customers"] = replace(tables["customers"], fixed=fixed)
    return compile_views(tables, {"totals": db._state.views.maintained["totals"]}, store={"totals": "full"})


def test_what_is_fixed_takes_no_map_of_children():
    changing, fixed = program_over(()), program_over((1, 2, 3))
    assert len(changing.maps) > len(fixed.maps)
    assert len(changing.updates["customers"].actions) > len(fixed.updates["customers"].actions) == 1
    # Nothing is done for a customer that comes or goes, either way but for what is looked up of it.
    assert len(fixed.triggers["customers"].actions) <= len(changing.triggers["customers"].actions)


def test_a_parent_that_is_only_there_is_not_looked_up():
    db = shop()
    db.view("v", "SELECT o.no FROM orders o JOIN customers c ON c.id = o.customer", store="full")
    program = db._state.engine.program
    assert [len(program.triggers["customers"].actions), len(program.updates["customers"].actions)] == [1, 1]


def test_tables_come_after_what_they_refer_to():
    """also in the order of events that come in another; tables in a cycle have none"""
    db = shop()
    tables = dict(reversed(db._state.declarations().items()))
    assert parents_first(tables) == ["customers", "orders"]
    events = [("orders", (1, 5, 0), 1), ("customers", (5, "", "", None), 1)]
    assert [run.table for run in runs(events, tables)] == ["customers", "orders"]
    gone = [(name, row, -times) for name, row, times in reversed(events)]
    assert [run.table for run in runs(gone, tables)] == ["orders", "customers"]
    cycle = {
        name: replace(tables[name], references=(*tables[name].references, ((0,), other)))
        for name, other in (("customers", "orders"), ("orders", "orders"))
    }
    assert sorted(parents_first(cycle)) == ["customers", "orders"]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from([1, -1])), max_size=12))
def test_runs_come_to_what_their_events_do(moves):
    """the rows after the runs are those after the events; a key has one row at every moment"""
    tables = CHANGING.tables
    there: dict[int, Row] = {}
    events: list[Any] = []
    for key, value, times in moves:
        if key in there:
            events.append(("C", there.pop(key), -1))
        if times > 0:
            there[key] = (key, value)
            events.append(("C", there[key], 1))
    for way in (runs, summed_runs):
        rows: dict[int, Row] = {}
        for run in way(events, tables) if events else ():
            for _, row, times in run.events():
                if times > 0:
                    assert row[0] not in rows
                    rows[row[0]] = row
                else:
                    assert rows.pop(row[0]) == row
        assert rows == there
