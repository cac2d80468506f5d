"""``stats`` and ``verify`` of a view: how much is stored, and whether it is right."""

from __future__ import annotations

from typing import Any

from nestling.database.rounding import equal_up_to_rounding
from nestling.database.state import State, guard_of
from nestling.errors import NestlingError
from nestling.program.meaning import meaning
from nestling.program.steps import maps_of, trigger_statements
from nestling.values.bag import ZBag


def stats(state: State, name: str) -> dict[str, Any]:
    """Sizes of a view and of the maps that serve it, and how many statements keep these.

    ``waiting`` counts the changes that a lazy view had not seen, ``postponed`` has the maps of a hybrid view whose
    changes are passed on when it is read; a view without a value has no ``rows``.
    """
    view = state.views[name]
    waiting = view.engine.waiting if view.engine is not None else 0
    engine = state.engine_of(name)
    maps = maps_of(engine.program, name)
    statements = {
        table: count
        for table, trigger in engine.program.triggers.items()
        if (count := sum(s.target in maps for s in trigger_statements(trigger)))
    }
    return {
        "rows": None if state.absent(name) else state.read(name).total,
        "maps": {source: engine.entries(source) for source in maps},
        "bytes": engine.view_bytes(name),
        "statements": statements,
        "waiting": waiting,
        "postponed": [source for source in maps if source in engine.program.deferred],
        "evaluated_on_read": view.on_read.reason if view.on_read else "",
    }


def verify(state: State, name: str, maps: bool) -> None:
    """Compute a view anew from its tables and compare, with ``maps`` also all that is stored for it."""
    stored, meant = state.read(name), state.evaluate(name)
    if stored != meant and not equal_up_to_rounding(stored, meant, tolerance=0):
        raise wrong_answer(name, f": {meant - stored!r} is missing")
    if maps and (wrong := wrong_maps(state, name)):
        raise wrong_answer(f"{', '.join(wrong)} of {name}")


def wrong_answer(what: str, difference: str = "") -> NestlingError:
    return NestlingError(
        f"{what} is not what its query says{difference}",
        hint="this is a bug in Nestling: please report it with the view's text",
    )


def wrong_maps(state: State, name: str) -> list[str]:
    """The maps that serve a view and are not what their queries say; none if all is well."""
    engine = state.engine_of(name)
    tables = {table: engine.table(table) for table in engine.program.tables}
    served = (source for view in (name, guard_of(name)) for source in maps_of(engine.program, view))
    return [
        source
        for source in dict.fromkeys(served)
        if not equal_up_to_rounding(
            ZBag.of(*engine.cells(source).items()),
            ZBag.of(*meaning(engine.program.maps[source].query, tables).items()),
            tolerance=0,
        )
    ]
