"""Law 8, all at once: maps filled from the tables are what triggers make of the rows one by one."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import nestling as nl
from nestling.database.bulk import fill_maps, filled
from nestling.engine.local.engine import LocalEngine
from nestling.program.flat import Atom, Monomial
from nestling.program.meaning import meaning
from nestling.program.statements import Find, Program
from nestling.program.steps import trigger_statements
from nestling.transform.viewlet import compile_views, fill
from nestling.transform.viewlet.compile import CannotCompile
from tests.engines.flat import keyed, monomials
from tests.engines.shared import compiled, engine_of, shared_queries
from tests.engines.worlds import WORLDS, Stored, agrees_with_its_indexes, contents, run_all, steps

pytestmark = pytest.mark.xdist_group("views")  # they share what is compiled

every_world = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)


def drawn(world: Any, draw: Any) -> Program:
    """A program with a view of any kind under any knob."""
    return compiled(world, draw(shared_queries(world)), draw(st.sampled_from(["auto", "full", "counts"])))


def some_rows(world: Any, draw: Any, count: int = 4) -> Stored:
    stored = Stored(world)
    for _ in range(count):
        stored.apply(draw(steps(stored)))
    return stored


def loaded(program: Program, stored: Stored) -> LocalEngine:
    """An engine with the rows, and nothing in its maps."""
    engine = engine_of(program)
    for name in program.tables:
        engine.load_table(name, stored.tables[name])
    return engine


@every_world
@given(data=st.data())
def test_filled_maps_equal_their_definitions(world, data):
    program = drawn(world, data.draw)
    stored = some_rows(world, data.draw)
    engine = loaded(program, stored)
    fill_maps(engine, program.maps)

    for name, decl in program.maps.items():
        assert engine.cells(name) == meaning(decl.query, stored.tables), name
    agrees_with_its_indexes(engine)


@every_world
@given(data=st.data())
def test_a_filled_engine_goes_on_as_one_that_saw_every_row(world, data):
    program, stored = drawn(world, data.draw), Stored(world)
    replayed = engine_of(program)
    for _ in range(3):
        events = data.draw(steps(stored))
        stored.apply(events)
        run_all(replayed, events)
    # What is kept and what is filled is chosen at random.
    engine = loaded(program, stored)
    kept = [name for name in program.maps if data.draw(st.booleans())]
    for name in kept:
        engine.load_map(name, replayed.cells(name))
    fill_maps(engine, [name for name in program.maps if name not in kept])
    events = data.draw(steps(stored))
    run_all(engine, events)
    run_all(replayed, events)

    assert contents(engine) == contents(replayed)


@every_world
@given(data=st.data())
def test_a_new_program_keeps_what_stays(world, data):
    """A view is added, or dropped, or both."""
    old, new = drawn(world, data.draw), drawn(world, data.draw)
    stored = some_rows(world, data.draw, 3)
    before = loaded(old, stored)
    fill_maps(before, old.maps)
    engine = filled(new, before)

    for name, decl in new.maps.items():
        assert engine.cells(name) == meaning(decl.query, stored.tables), name


@every_world
@given(data=st.data())
def test_no_table_is_gone_through_inside_another(world, data):
    """Only the first step of a statement may be a pass over a whole table, where tables are joined by equality."""
    found = data.draw(monomials(world.tables, depth=0))
    joined = tuple(factor for factor in found.factors if isinstance(factor, Atom))
    query = keyed(Monomial(found.keys, found.weights, joined))
    try:
        program = compile_views(world.tables, {}, {"watch": query})
    except CannotCompile:
        assume(False)
    made = fill(program, [name for name, decl in program.maps.items() if decl.role != "watch"])
    for trigger in made.triggers.values():
        for statement in trigger_statements(trigger):
            scans = [
                i for i, s in enumerate(statement.steps) if isinstance(s, Find) and not s.known and s.args
            ]
            assert scans in ([], [0])


def test_a_view_of_rows_that_are_there():
    """Everything a database keeps, defined after its rows came, and changed afterwards."""
    first, last = nl.Database(), nl.Database()
    views: dict[str, Any] = {
        "joined": lambda orders, parts: [
            (o.id, i.qty * p.price) for o in orders for i in o.items for p in parts if p.pid == i.pid
        ],
        "least": lambda orders: [(o.id, min([i.qty for i in o.items], default=0)) for o in orders],
        "cities": lambda orders: {o.city for o in orders},
        "nested": lambda orders: [
            (c, [o.id for o in orders if o.city == c]) for c in {o.city for o in orders}
        ],
        "rich": lambda orders: [len([1 for o in orders if sum(i.qty for i in o.items) > 3])],
    }
    for db in (first, last):
        db.table("orders", "id INT, city STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>", key="id")
        db.table("parts", {"pid": int, "price": int})
        for name, view in views.items() if db is first else ():
            db.view(name, view, strict=False)
        db.insert("orders", [(i, "abc"[i % 3], [(j, i + j) for j in range(i % 4)]) for i in range(12)])
        db.insert("parts", [(j % 3, 10 * j) for j in range(5)])
    for name, view in views.items():
        last.view(name, view, strict=False)

    assert contents(last._state.engine) == contents(first._state.engine)
    for db in (first, last):
        db.delete("orders", key=7)
        db.table("orders").at(5).items.insert([(2, 9)])
        db.verify()
