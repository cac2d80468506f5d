"""``stats`` and ``verify`` of views: how much is stored, and whether it is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nestling.calculus.traverse import relations
from nestling.database.recursion import reached, recursions_of
from nestling.database.rounding import TOLERANCE, equal_up_to_rounding
from nestling.database.row_state import RowState
from nestling.database.state import State, guard_of
from nestling.engine.protocol import Engine
from nestling.errors import NestlingError
from nestling.program.meaning import meaning
from nestling.program.statements import Program
from nestling.program.steps import maps_of, trigger_statements
from nestling.values.bag import ZBag


def stats(state: State, name: str) -> dict[str, Any]:
    """Sizes of a view and of the maps that serve it, and how many statements keep these.

    ``waiting`` counts the changes that a lazy view had not seen, ``postponed`` has the maps of a hybrid view whose
    changes are passed on when it is read; a lazy view without a value has no ``rows``.
    """
    view = state.views[name]
    waiting = view.engine.waiting if view.engine is not None else 0
    rows = state.total(name)
    engine = state.serving(name)
    maps = maps_of(engine.program, name)
    statements = {
        table: count
        for table, trigger in engine.program.triggers.items()
        if (count := sum(s.target in maps for s in trigger_statements(trigger)))
    }
    return {
        "rows": rows,
        "maps": {source: engine.entries(source) for source in maps},
        "bytes": engine.view_bytes(name),
        "statements": statements,
        "waiting": waiting,
        "postponed": [source for source in maps if source in engine.program.deferred],
        "evaluated_on_read": view.on_read.reason if view.on_read else "",
    }


def verify(state: State, names: Sequence[str], maps: bool) -> None:
    """Compute views anew from their tables and compare, with ``maps`` also all that is stored for them.

    Where the tables have more rows than come here, the engine computes their maps anew, of all views at once, and
    compares; a view that has none is then computed by each who reads it, and there is nothing to compare.
    """
    engines: dict[int, tuple[Engine, list[str]]] = {}
    _verify_recursions(state, names, maps)
    for name in names:
        is_here = state.engine.fits(_rows_behind(state, name))
        if is_here:
            stored, meant = state.read(name), state.evaluate(name)
            rounding = TOLERANCE if state.engine.is_remote else 0.0
            if stored != meant and not equal_up_to_rounding(stored, meant, rounding):
                raise wrong_answer(name, f": {meant - stored!r} is missing")
        if maps or not is_here:
            engine = state.engine_of(name)  # nothing waits then
            engines.setdefault(id(engine.program), (engine, []))[1].append(name)
    for engine, views in engines.values():
        wrong = wrong_maps(engine, [source for name in views for source in _serving(engine.program, name)])
        for name in views:
            if mine := [source for source in _serving(engine.program, name) if source in wrong]:
                raise wrong_answer(f"{', '.join(mine)} of {name}")


def _verify_recursions(state: State, names: Sequence[str], maps: bool) -> None:
    """Compute anew the recursions that views read, and with ``maps`` what is stored for them."""
    if not isinstance(state, RowState) or not state.recursions:
        return
    read = {table for name in names for table in relations(state.definitions[name].query)}
    for recursion in recursions_of(state.recursions, read):
        stored = state.rows(recursion.name)
        meant = reached(recursion.fixpoint, {name: state.rows(name) for name in recursion.fixpoint.reads})
        if stored != meant:
            raise wrong_answer(recursion.text, f": {meant - stored!r} is missing")
        engine = recursion.engine
        if maps and engine is not None and not recursion.is_torn:
            kept = [source for source, decl in engine.program.maps.items() if decl.role != "watch"]
            if wrong := wrong_maps(engine, kept):
                raise wrong_answer(f"{', '.join(wrong)} of {recursion.text}")


def wrong_answer(what: str, difference: str = "") -> NestlingError:
    return NestlingError(
        f"{what} is not what its query says{difference}",
        hint="this is a bug in Nestling: please report it with the view's text",
    )


def wrong_maps(engine: Engine, maps: Sequence[str]) -> list[str]:
    """Those of ``maps`` that are not what their queries say; none if all is well."""
    some = list(dict.fromkeys(maps))
    found = engine.differing(some)
    if found is not None:
        return found
    tables = {table: engine.table(table) for table in engine.program.tables} if some else {}
    return [
        source
        for source in some
        if not equal_up_to_rounding(
            ZBag.of(*engine.cells(source).items()),
            ZBag.of(*meaning(engine.program.maps[source].query, tables).items()),
            tolerance=0,
        )
    ]


def _serving(program: Program, view: str) -> list[str]:
    """The maps that serve a view, and the query that says where it has no value."""
    return [source for name in (view, guard_of(view)) for source in maps_of(program, name)]


def _rows_behind(state: State, name: str) -> int:
    """How many rows the tables have that a view is computed from."""
    tables = [state.tables[table] for table in relations(state.definitions[name].query)]
    return sum(state.engine.entries(flat) for table in tables for flat in table.declarations)
