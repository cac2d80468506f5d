"""Laws 1, 8 and 9 of programs for batches: several rows of several tables at once."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from benchmarks.workloads import orderbook
from nestling.calculus.build import call, const
from nestling.calculus.terms import Var
from nestling.calculus.types import INT, Record
from nestling.database.rows import RowEvent
from nestling.engine.reference import ReferenceEngine
from nestling.program.batches import GROUPS, change_of, is_change
from nestling.program.check import check_program
from nestling.program.flat import Atom, Monomial, Query
from nestling.program.flat import Test as Condition
from nestling.program.meaning import Cells, meaning
from nestling.program.solve import added
from nestling.program.statements import Add, Find, Program, Propagate, Range, TableDecl, Trigger
from nestling.program.steps import trigger_statements
from nestling.transform.lower import FlatView
from nestling.transform.viewlet import compile_batches, compile_views
from nestling.transform.viewlet.specialise import specialise
from nestling.transform.viewlet.storing import Store
from nestling.values.bag import ZBag
from tests.engines.batches import Change, Interpreted, add_all
from tests.engines.shared import For, compiled, empty, engine_of, shared_joins, shared_queries
from tests.engines.test_inequalities import VIEWS as BOOK
from tests.engines.worlds import WORLDS, Stored, World, flat_view, steps

pytestmark = pytest.mark.xdist_group("views")  # they share what is compiled

BATCHES = 4
every_world = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)


def batch(data: Any, stored: Stored, most: int = 4) -> dict[str, list[tuple[Any, int]]]:
    """What several steps come to, by table."""
    changes: dict[str, list[tuple[Any, int]]] = {}
    for _ in range(data.draw(st.integers(1, most))):
        events: list[RowEvent] = data.draw(steps(stored))
        stored.apply(events)
        for table, row, times in events:
            changes.setdefault(table, []).append((row, times))
    return changes


def drawn(
    data: Any, world: World, queries: Any, stores: Sequence[Store] = ("auto",)
) -> tuple[Program, Stored]:
    """A program for batches that maintains one of ``queries``, and its tables."""
    query = data.draw(queries(world))
    store = data.draw(st.sampled_from(stores))
    return compiled(world, query, store, For(batches=True)), empty(world, query)


def equals_its_query(engine: Any, program: Program, stored: Stored) -> None:
    assert {name: engine.table(name) for name in stored.tables} == stored.tables
    for name, decl in program.maps.items():
        assert engine.cells(name) == meaning(decl.query, stored.tables), decl.why


@every_world
@given(data=st.data())
def test_every_map_equals_its_query_after_a_batch(world, data):
    """M = [[def(M)]] after every batch, whatever came and went together"""
    program, stored = drawn(data, world, shared_queries)
    engine = Interpreted(program)
    for _ in range(BATCHES):
        engine.apply_batch(batch(data, stored))
        equals_its_query(engine, program, stored)


@every_world
@given(data=st.data())
def test_every_map_of_a_join_equals_its_query_after_a_batch(world, data):
    """joins of a table with itself: pairs of different rows of one batch, and of a row with itself"""
    program, stored = drawn(data, world, shared_joins)
    engine = Interpreted(program)
    for _ in range(BATCHES):
        engine.apply_batch(batch(data, stored))
        equals_its_query(engine, program, stored)


# one row


@every_world
@given(data=st.data())
def test_a_row_is_a_batch_of_one(world, data):
    """specialise(p)(row) = p({row}), statement by statement, on any state; a changed key is a change of one, too"""
    row_is_a_batch_of_one(data, *drawn(data, world, shared_queries, ("auto", "full")))


@every_world
@given(data=st.data())
def test_a_row_of_a_join_is_a_batch_of_one(world, data):
    """joins of a table with itself: two rows of one batch are one row, then"""
    row_is_a_batch_of_one(data, *drawn(data, world, shared_joins, ("auto", "full")))


def row_is_a_batch_of_one(data: Any, program: Program, stored: Stored) -> None:
    check_program(program)
    starts_from_what_changed(program)
    by_rows, engine = specialise(program), Interpreted(program)
    check_program(by_rows)
    engine.apply_batch(batch(data, stored))
    for table, row, times in data.draw(steps(stored)):
        one: Change = {change_of(table): {row: (times,)}}
        trigger = by_rows.triggers[table]
        env = dict(zip((v.name for v in (*trigger.columns, trigger.times)), (*row, times), strict=True))
        assert totals(adds_of(trigger), engine, env) == totals(
            adds_of(program.triggers[table]), engine, {}, one
        )
        for ours, whole in zip(passed_on(trigger), passed_on(program.triggers[table]), strict=True):
            key_is_a_batch_of_one(data, ours, whole, engine)


def starts_from_what_changed(program: Program) -> None:
    """Nothing is looked up where nothing changed; and a row's tests come before what is read for it."""
    for trigger in program.triggers.values():
        for statement in trigger_statements(trigger):
            finds = [isinstance(s, Find) and is_change(s.source) for s in statement.steps]
            assert finds[0] or not any(finds), statement


def key_is_a_batch_of_one(data: Any, ours: Propagate, whole: Propagate, engine: Interpreted) -> None:
    cells, decl = engine.cells(ours.map), engine.program.maps[ours.map]
    for (event, adds), (_, all_adds) in zip(ours.events, whole.events, strict=True):
        for key in sorted(cells, key=repr)[:2]:
            old = cells[key][:1] if event.aggregate else cells[key]
            new = tuple(n + data.draw(st.integers(-2, 2)) for n in old)
            if event.aggregate.startswith(("first", "last")):
                old, new = ((ZBag([((key[-1],), cell[0])]),) for cell in (old, new))
            keys = key[:-1] if event.aggregate else key
            one: Change = {change_of(ours.map, event.aggregate): {keys: (*old, *new)}}
            if decl.order == "sums":
                one[change_of(ours.map, GROUPS)] = {key[:-1]: ()}
            names = [var.name for var in (*event.keys, *event.old, *event.new)]
            env = dict(zip(names, (*keys, *old, *new), strict=True))
            assert totals(adds, engine, env) == totals(all_adds, engine, {}, one)


def adds_of(trigger: Trigger) -> list[Add]:
    return [action for action in trigger.actions if isinstance(action, Add)]


def passed_on(trigger: Trigger) -> list[Propagate]:
    return [action for action in trigger.actions if isinstance(action, Propagate)]


def totals(adds: Sequence[Add], engine: Interpreted, env: Any, changes: Change | None = None) -> Any:
    """What statements add up to, by target and by when, key by key."""
    sources, found = {**engine.state, **(changes or {})}, dict[Any, Cells]()
    for add in adds:
        for key, amounts in added(add.statement, sources.__getitem__, env):
            add_all(found.setdefault((add.statement.target, add.later), {}), {key: amounts})
    return {where: cells for where, cells in found.items() if cells}


def test_what_a_row_cannot_be_is_left_out():
    """two rows of a batch may differ where a row does not differ from itself"""
    a, b, c = (Var(name, INT) for name in "abc")
    atoms = Atom("T", (a, b)), Atom("T", (a, c)), Condition(call("<", b, c))
    query = Query((a,), (Monomial((a,), (const(1),), atoms),))
    tables = {"T": TableDecl("T", (Var("T.a", INT), Var("T.b", INT)))}
    view = FlatView(query, {}, Record((("a", INT),)))

    programs = (
        compile_(tables, {"v": view}, store={"v": "full"}) for compile_ in (compile_batches, compile_views)
    )
    many, one = ([add.statement.target for add in adds_of(program.triggers["T"])] for program in programs)
    assert (many.count("R0"), one.count("R0")) == (3, 2)


@every_world
@given(data=st.data())
def test_the_reference_engine_answers_what_the_embedded_one_does(world, data):
    """law 17 for the two engines that need nothing else"""
    query = data.draw(shared_queries(world))
    program, stored = compiled(world, query), empty(world, query)
    local, reference = engine_of(program), ReferenceEngine(program)
    for _ in range(2):
        changes = batch(data, stored, 2)
        reference.apply_batch(changes)
    for name, rows in stored.tables.items():
        local.load_table(name, rows)
    for name in program.maps:
        local.load_map(name, reference.cells(name))

    assert reference.read("v") == local.read("v")
    if program.views["v"].lookup is not None:
        assert all(reference.find("v", first) == local.find("v", first) for first in (0, 1, 2))


def book_batch(rng: Random, tables: dict[str, dict[Any, int]]) -> dict[str, list[tuple[Any, int]]]:
    """Orders that come and go on both sides at once."""
    changes: dict[str, list[tuple[Any, int]]] = {}
    for table, rows in tables.items():
        gone = [row for row in rows if rng.random() < 0.3]
        taken = {row[1] for row in rows}
        new = [
            (rng.randint(0, 6), i, *(rng.randint(0, 5) for _ in range(3)))
            for i in range(20)
            if i not in taken
        ]
        come = rng.sample(new, rng.randint(0, 4))
        changes[table] = [*((row, -1) for row in gone), *((row, 1) for row in come)]
        tables[table] = dict.fromkeys((*(row for row in rows if row not in gone), *come), 1)
    return changes


def summed_changes(program: Program) -> int:
    """How often a statement sums what changed within bounds."""
    statements = [s for trigger in program.triggers.values() for s in trigger_statements(trigger)]
    return sum(isinstance(step, Range) and is_change(step.source) for s in statements for step in s.steps)


@pytest.mark.parametrize("store", ["auto", "full"])
def test_every_map_of_the_book_equals_its_query_after_a_batch(store):
    """sums within bounds, conditions on them, the first of each side: many keys of one range change at once"""
    db, found = nl.Database(), 0
    for table, schema in orderbook.SCHEMA.items():
        db.table(table, schema, key="id")
    for name, definition in BOOK.items():
        db.view("v", definition, strict=False)
        view = flat_view(db._state.definitions["v"].query)
        db.drop("v")
        program = compile_batches(db._state.declarations(), {"v": view}, store={"v": store})
        check_program(program)
        found += summed_changes(program)
        engine = Interpreted(program)
        tables: dict[str, dict[Any, int]] = {table: {} for table in program.tables}
        rng = Random(name)
        for _ in range(BATCHES):
            engine.apply_batch(book_batch(rng, tables))
            for map_, decl in program.maps.items():
                assert engine.cells(map_) == meaning(decl.query, tables), (name, decl.why)
    assert (found > 0) == (store == "full")


HISTOGRAMS = {
    "of counts": "SELECT n, count(*) FROM (SELECT g, count(*) AS n FROM r GROUP BY g) GROUP BY n",
    "of sums": "SELECT n, count(*), sum(g) FROM (SELECT g, sum(v) AS n FROM r GROUP BY g) GROUP BY n",
    "with those who have none": """
        SELECT n, count(*) FROM (SELECT s.g, count(r.v) AS n FROM s LEFT JOIN r ON s.g = r.g GROUP BY s.g)
        GROUP BY n""",
}


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_groups_by_an_aggregate_move_when_it_does(name):
    """A key that is computed: the old one loses what the new one gains, row by row and in batches."""
    db, rng = nl.Database(), Random(name)
    db.table("r", {"g": int, "v": int})
    db.table("s", {"g": int})
    view = db.view("v", HISTOGRAMS[name], strict=False)
    assert not db._state.views.on_read
    program = compile_batches(db._state.declarations(), {"v": db._state.views.maintained["v"]})
    engine, tables = Interpreted(program), dict[str, Counter[Any]](r=Counter(), s=Counter())
    for _ in range(15):
        changes: dict[str, Counter[Any]] = {"r": Counter(), "s": Counter()}
        for _ in range(rng.randint(1, 5)):
            table = rng.choice("rrs")
            gone = [row for row, n in (tables[table] + changes[table]).items() if n > 0]
            if gone and rng.random() < 0.4:
                changes[table][rng.choice(gone)] -= 1
            else:
                changes[table][(rng.randint(0, 3), rng.randint(-1, 2))[: 2 if table == "r" else 1]] += 1
        for table, rows in changes.items():
            tables[table].update(rows)
        db.apply({table: {row: n for row, n in rows.items() if n} for table, rows in changes.items()})
        engine.apply_batch({table: list(rows.items()) for table, rows in changes.items()})
        view.verify(maps=True)
        state = {table: {row: n for row, n in rows.items() if n} for table, rows in tables.items()}
        for each, decl in program.maps.items():
            assert engine.cells(each) == meaning(decl.query, state), decl.why
