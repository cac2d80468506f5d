"""Random programs on Spark: many views at once, rows that come and go together, all maps and answers."""

from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import strategies as st

import nestling as nl
from benchmarks.workloads import orderbook
from nestling.calculus.traverse import relations
from nestling.engine.protocol import Batch
from nestling.engine.reference import ReferenceEngine
from nestling.engine.spark.columns import layouts
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.support import check_program
from nestling.transform.lower.view import CannotLower, FlatView
from nestling.transform.viewlet import compile_batches
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.defer import deferred
from tests.draws import draws
from tests.engines.test_batches import book_batch
from tests.engines.test_inequalities import VIEWS as BOOK
from tests.engines.worlds import WORLDS, Stored, World, flat_view, steps
from tests.strategies import Draw, queries

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("generated_code")]

VIEWS = 5


def compiled(world: World, queries_drawn: list[Any]) -> tuple[dict[str, FlatView], frozenset[str]]:
    """The first views with a program that has maps, and the relations they read."""
    views: dict[str, FlatView] = {}
    read: frozenset[str] = frozenset()
    for query in queries_drawn:
        try:
            view = flat_view(query, exact=False)
            program = compile_batches(world.tables, {"v": view})
            check_program(program, layouts(program))
        except (CannotLower, CannotCompile):
            continue
        if program.maps and len(views) < VIEWS:
            views[f"v{len(views)}"] = view
            read |= relations(query)
    return views, world.with_parents(read)


@cache
def some_views(world: World) -> tuple[dict[str, FlatView], frozenset[str]]:
    """The views of a world that are run in every way."""
    views, among = compiled(world, draws(queries("full", schema=world.schema), 40))
    assert len(views) == VIEWS
    return views, among


@st.composite
def batches(draw: Draw, world: World, among: frozenset[str], number: int) -> list[Batch]:
    stored = Stored(world, among)
    found: list[Batch] = []
    for _ in range(number):
        changes: dict[str, list[tuple[Any, int]]] = {}
        for _ in range(6):
            events = draw(steps(stored))
            stored.apply(events)
            for table, row, times in events:
                changes.setdefault(table, []).append((row, times))
        found.append(changes)
    return found


def test_nothing_is_refused():
    """what compiles for batches has an SQL text"""
    world = WORLDS["keyed"]
    written = 0
    for query in draws(queries("full", schema=world.schema), 100):
        try:
            program = compile_batches(world.tables, {"v": flat_view(query, exact=False)})
        except (CannotLower, CannotCompile):
            continue
        check_program(program, layouts(program))
        written += 1

    assert written > 50


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_random_programs(spark, world, by_queries):
    """every map equals its query, and every answer is that of the reference"""
    runs_as_the_reference_does(spark, world, 1)


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_random_programs_by_the_driver(spark, world):
    """the same where the driver takes what is little; it does not take all"""
    runs_as_the_reference_does(spark, world, 8)


def runs_as_the_reference_does(spark: Any, world: World, times: int) -> None:
    views, among = some_views(world)
    program = compile_batches(world.tables, views)
    engine, reference = SparkEngine(program, spark), ReferenceEngine(program)
    for changes in draws(batches(world, among, 2 * times), 1)[0]:
        engine.apply_batch(changes)
        reference.apply_batch(changes)
    for name, decl in program.maps.items():
        assert engine.cells(name) == reference.cells(name), decl.why
    for name in views:
        assert engine.read(name) == reference.read(name)


@pytest.mark.soak
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
@pytest.mark.parametrize("wave", range(3))
@pytest.mark.parametrize("way", ["by_queries", "by_the_driver"])
def test_random_programs_whose_changes_wait(spark, world, wave, way, request):
    """changes of nested maps are passed on after several batches: every map equals its query then"""
    if way == "by_queries":
        request.getfixturevalue(way)
    drawn = draws(queries("full", schema=world.schema), 400)[wave::3]
    views, among = compiled(world, [query for query in drawn if waits(world, query)])
    program = compile_batches(world.tables, views)
    late = replace(program, deferred=deferred(program, views))
    assert late.deferred
    engine, reference = SparkEngine(late, spark), ReferenceEngine(program)
    for changes in draws(batches(world, among, 2), wave + 1)[wave]:
        engine.apply_batch(changes)
        reference.apply_batch(changes)
    engine.flush()
    for name, decl in program.maps.items():
        assert engine.cells(name) == reference.cells(name), decl.why
    for name in views:
        assert engine.read(name) == reference.read(name)


def waits(world: World, query: Any) -> bool:
    """Whether some nested map of a view can wait."""
    try:
        program = compile_batches(world.tables, {"v": flat_view(query, exact=False)})
    except (CannotLower, CannotCompile):
        return False
    return bool(deferred(program, {"v"}))


@pytest.mark.parametrize(
    "names",
    [("band", "best_of_each"), pytest.param(("mst", "vwap", "of_a_broker"), marks=pytest.mark.soak)],
    ids="-".join,
)
def test_the_order_book(spark, names):
    """sums within bounds that maps depend on, the first of each side: all stored, so that every change is passed on"""
    db = nl.Database()
    for table, schema in orderbook.SCHEMA.items():
        db.table(table, schema, key="id")
    for name in names:
        db.view(name, BOOK[name])
    views = {name: flat_view(view.query, exact=False) for name, view in db._state.definitions.items()}
    program = compile_batches(db._state.declarations(), views, store=dict.fromkeys(views, "full"))
    engine, reference = SparkEngine(program, spark), ReferenceEngine(program)
    rng, tables = Random("book"), {name: dict[Any, int]() for name in program.tables}
    for _ in range(2):
        changes = book_batch(rng, tables)
        engine.apply_batch(changes)
        reference.apply_batch(changes)
    for name, decl in program.maps.items():
        assert engine.cells(name) == reference.cells(name), decl.why
    for name in views:
        assert engine.read(name) == reference.read(name)
