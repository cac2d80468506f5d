"""Laws 7, 8, 9, 12 and 13 of trigger programs: random queries, random events, deletions and deep changes among them."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nestling.calculus.build import call, const
from nestling.calculus.evaluate import evaluate
from nestling.calculus.terms import Expr, Var
from nestling.calculus.types import INT, LABEL, Record
from nestling.database.definitions import TableDef, ViewDef
from nestling.database.row_state import RowState
from nestling.database.rows import Row, RowEvent
from nestling.engine import nesting
from nestling.engine.local.engine import LocalEngine
from nestling.engine.protocol import batch_of
from nestling.engine.runs import runs
from nestling.program.check import check_program
from nestling.program.flat import Atom, Lift, Monomial, Pointwise, Query, Shape
from nestling.program.flat import Test as Condition
from nestling.program.meaning import meaning
from nestling.program.statements import Find, Plan, TableDecl
from nestling.transform.lower import FlatView
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.storing import Store
from nestling.values.label import Label
from tests.draws import draws
from tests.engines.shared import compiled, empty, engine_of, program_of, shared_joins, shared_queries
from tests.engines.worlds import (
    KEYED,
    REFERRING,
    WORLDS,
    Stored,
    World,
    agrees_with_its_indexes,
    contents,
    run_all,
    shuffled,
    steps,
)
from tests.strategies import queries

pytestmark = pytest.mark.xdist_group("views")  # they share what is compiled

STEPS = 5
every_world = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)


def running(data: Any, world: World, store: Store | None = None) -> tuple[Expr, LocalEngine, Stored]:
    """A query that compiles, its program over empty tables, and the tables as they should be."""
    query = data.draw(shared_queries(world))
    program = compiled(world, query, store or data.draw(st.sampled_from(["auto", "full"])))
    return query, engine_of(program), empty(world, query)


def advance(data: Any, engine: LocalEngine, stored: Stored) -> list[RowEvent]:
    """One step, taken by both."""
    events: list[RowEvent] = data.draw(steps(stored))
    stored.apply(events)
    run_all(engine, events)
    return events


def fill(data: Any, engine: LocalEngine, stored: Stored, most: int = STEPS) -> list[RowEvent]:
    return [event for _ in range(data.draw(st.integers(0, most))) for event in advance(data, engine, stored)]


# every map is its query


@every_world
@given(data=st.data())
def test_every_map_equals_its_query(world, data):
    """M = [[def(M)]] after every event, also while a row is half there: without its inner rows, or they without it

    Every index, put together again, is the dictionary it indexes.
    """
    _, engine, stored = running(data, world)
    for _ in range(STEPS):
        for run in runs(data.draw(steps(stored)), engine.program.tables):
            stored.apply([RowEvent(*event) for event in run.events()])
            run.apply(engine)
            equals_its_query(engine, stored)
        agrees_with_its_indexes(engine)


@every_world
@given(data=st.data())
def test_every_map_of_a_join_equals_its_query(world, data):
    """M = [[def(M)]] for joins of up to four tables, of a table with itself, and with aggregates of joins"""
    query = data.draw(shared_joins(world))
    engine, stored = engine_of(compiled(world, query)), empty(world, query)
    for _ in range(8):
        advance(data, engine, stored)
        equals_its_query(engine, stored)
        answers(engine, query, stored)


def test_a_parent_that_is_looked_for_by_a_value_is_not_implied():
    """C(a, …) ⋈ K(b, a) ⋈ C(…, b): what a row of C meets is a parent with its own key in it, not any parent"""
    a, b, c, d = (Var(name, INT) for name in "abcd")
    one, two = (Atom("C", (*pair, Var(f"l{pair[0].name}", LABEL))) for pair in ((a, c), (d, b)))
    query = Query((), (Monomial((), (const(1),), (one, two, Atom("K", (b, a)))),))
    engine = LocalEngine(compile_views(REFERRING.tables, {"v": FlatView(query, {}, Record(()))}))
    stored = Stored(REFERRING)
    items = [Label("C.items", (n,)) for n in range(3)]
    rows = [("K", (0, 2)), ("C", (0, 0, items[0])), ("C", (2, 0, items[1])), ("C", (1, 0, items[2]))]
    events = [RowEvent(table, row, 1) for table, row in rows]
    for event in [*events, *(RowEvent(table, row, -1) for table, row, _ in events[1:])]:
        stored.apply([event])
        engine.apply(*event)
        equals_its_query(engine, stored)
        answers(engine, query, stored)


def test_a_row_that_comes_meets_the_row_of_its_table_that_it_refers_to():
    """B(a, b) ⋈ B(b, c), which only grows: a child has its parent when it comes, and a parent no child yet"""
    a, b, c = (Var(name, INT) for name in "abc")
    query = Query((a, c), (Monomial((a, c), (const(1),), (Atom("B", (a, b)), Atom("B", (b, c)))),))
    program, stored = program_of(REFERRING, query, "full"), empty(REFERRING, query)
    assert program is not None
    engine = engine_of(program)
    for row in [(0, 0), (1, 0), (2, 1)]:
        event = RowEvent("B", row, 1)
        stored.apply([event])
        engine.apply(*event)
        equals_its_query(engine, stored)
        answers(engine, query, stored)


def answers(engine: LocalEngine, query: Query, stored: Stored) -> None:
    """The view is the query it was made of; its maps may be of less, where a declaration says so."""
    assert {row: (times,) for row, times in engine.read("v").items()} == meaning(query, stored.tables)


def equals_its_query(engine: LocalEngine, stored: Stored) -> None:
    assert {name: engine.table(name) for name in stored.tables} == stored.tables
    for name, decl in engine.program.maps.items():
        assert engine.cells(name) == meaning(decl.query, stored.tables), decl.why


@every_world
@given(data=st.data())
def test_the_answer_is_that_of_the_nested_query(world, data):
    """what is read of the maps = h on the updated nested input; every label in it is defined"""
    query, engine, stored = running(data, world)
    assert engine.read("v") == evaluate(query, stored.nested())
    for _ in range(STEPS):
        advance(data, engine, stored)
        assert engine.read("v") == evaluate(query, stored.nested())
    every_label_is_defined(engine, stored)


def every_label_is_defined(engine: LocalEngine, stored: Stored) -> None:
    """Every label of the answer and below can be looked up, and one of an input is that of a row."""
    used, seen = set(stored.used_labels()), set()
    pending = labels_in(engine.functions.define("rows_of_v", engine.names)())
    while pending:
        label = pending.pop()
        if label not in seen:
            seen.add(label)
            assert isinstance(label.site, int) or label in used
            pending += labels_in(engine.rows_under("v", label))


def labels_in(rows: Any) -> list[Label]:
    return [value for row, _ in rows for value in row if isinstance(value, Label)]


@every_world
@given(data=st.data())
def test_labels_defined_are_those_in_use(world, data):
    """Stored whole, the bags of a shape have elements under labels in use only; and all in use are counted as such."""
    query, engine, stored = running(data, world, store="full")
    for _ in range(STEPS):
        advance(data, engine, stored)
        used = used_by_shape(engine)
        for shape, plan in engine.program.views["v"].definitions.items():
            held, counted = defined_by(engine, plan)
            assert held <= used.get(shape, set())
            assert counted is None or counted == used.get(shape, set())
    assert engine.read("v") == evaluate(query, stored.nested())


def used_by_shape(engine: LocalEngine) -> dict[Shape, set[Row]]:
    """The environments of the labels of the answer and below, by their shape."""
    found: dict[Shape, set[Row]] = {}
    pending = labels_in(consolidated_rows(engine.functions.define("rows_of_v", engine.names)()))
    while pending:
        label = pending.pop()
        if isinstance(label.site, int):
            environments = found.setdefault(nesting.shape(label), set())
            environment = tuple(nesting.leaves(label.environment))
            if environment not in environments:
                environments.add(environment)
                pending += labels_in(consolidated_rows(engine.rows_under("v", label)))
    return found


def consolidated_rows(rows: Any) -> list[tuple[Row, int]]:
    total: Counter[Row] = Counter()
    for row, times in rows:
        total[row] += times
    return [(row, times) for row, times in total.items() if times]


def defined_by(engine: LocalEngine, plan: Plan) -> tuple[set[Row], set[Row] | None]:
    """The environments under which a bag is stored, and those that are counted as in use."""
    [statement] = plan.statements
    [find] = statement.steps
    assert isinstance(find, Find)
    decl = engine.program.maps[find.source]
    assert decl.role == "bags"
    places = [find.args.index(param) for param in plan.params]
    held = {tuple(key[i] for i in places) for key in engine.cells(decl.name)}
    if not decl.query.monomials:
        return held, None
    in_use = decl.query.monomials[0].factors[0]
    assert isinstance(in_use, Pointwise)
    return held, set(meaning(in_use.query, {name: engine.table(name) for name in engine.program.tables}))


@every_world
@given(data=st.data())
def test_rows_by_their_first_column(world, data):
    """find(v, c) = the rows of v with c in their first column, for every c there is and some there is not"""
    query, engine, stored = running(data, world)
    assume(engine.program.views["v"].lookup is not None)
    fill(data, engine, stored)
    answer = evaluate(query, stored.nested())
    for first in {first_column(row) for row in answer} | {0, 1, 2}:
        found = {row: times for row, times in answer.items() if first_column(row) == first}
        assert dict(engine.find("v", first).items()) == found


def first_column(value: Any) -> Any:
    return first_column(value[0]) if isinstance(value, tuple) and value else value


# undoing


@every_world
@given(data=st.data())
def test_opposite_events_restore_everything(world, data):
    """events, then their negations in reverse: every dictionary and index is as before, to the empty program"""
    _, engine, stored = running(data, world)
    first = fill(data, engine, stored)
    before = contents(engine)
    second = fill(data, engine, stored)
    undo(engine, second)
    assert contents(engine) == before
    undo(engine, first)
    assert contents(engine) == contents(engine_of(engine.program))


def undo(engine: LocalEngine, events: list[RowEvent]) -> None:
    for run in reversed(list(runs(events, engine.program.tables))):
        run.undo(engine)


# batches


@every_world
@given(data=st.data())
def test_a_batch_in_any_order(world, data):
    """one batch, as it is or one row at a time, in any order: the same maps"""
    _, engine, stored = running(data, world)
    start = fill(data, engine, stored, 3)
    batch = consolidated(fill(data, engine, stored, 3))
    other = engine_of(engine.program)
    run_all(other, start)
    ones = [RowEvent(table, row, abs(n) // n) for table, row, n in batch for _ in range(abs(n))]
    other.apply_batch(batch_of(shuffled(data.draw, ones)))

    assert contents(other) == contents(engine)


def consolidated(events: list[RowEvent]) -> list[RowEvent]:
    total: dict[tuple[str, Any], int] = {}
    for table, row, times in events:
        total[table, row] = total.get((table, row), 0) + times
    return [RowEvent(table, row, times) for (table, row), times in total.items() if times]


# what the laws are about


def test_at_least_half_of_the_queries_compile():
    for world in WORLDS.values():
        drawn = draws(queries("full", schema=world.schema), 150)
        programs = [program_of(world, query) for query in drawn]
        maps = [len(program.maps) for program in programs if program is not None]

        assert len(maps) >= 0.5 * len(drawn)
        assert sum(map(bool, maps)) >= 0.2 * len(drawn)


def test_a_query_without_a_program_says_so():
    """a view is in the program, or the reason why not is kept; it is right either way"""
    reported = 0
    for query in draws(queries("full", schema=KEYED.schema), 100):
        state = RowState()
        for name, definition in KEYED.definitions.items():
            state.add_table(TableDef(name, definition.record, definition.key))
        state.add_view(ViewDef("v", query))

        assert ("v" in state.engine.program.views) != ("v" in state.views.on_read)
        assert all(policy.reason for policy in state.views.on_read.values())
        assert state.read("v") == state.evaluate("v")
        reported += "v" in state.views.on_read

    assert 0 < reported <= 50


def test_queries_of_nothing_with_other_keys_are_other_maps():
    """Two aggregates of nothing, one by a column and one of all, in one product: each has its own map"""
    a, b, n, m = (Var(name, INT) for name in "abnm")
    nothing, by_column = Query((), ()), Query((Var("k", INT),), ())
    lifts = Lift(n, "count", nothing, ()), Lift(m, "count", by_column, (a,))
    test = Condition(call("<", call("+", n, m), b))
    watched = Query((a,), (Monomial((a,), (const(1),), (Atom("T", (a, b)), *lifts, test)),))

    program = compile_views({"T": TableDecl("T", (a, b))}, {}, {"log": watched})

    check_program(program)
    assert {len(decl.columns) for name, decl in program.maps.items() if name != "log"} == {0, 1}
