"""Filling maps from the existing rows in bulk.

Law (8): afterwards they are what the triggers would have made of the same rows, in whatever order these came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from nestling.engine.local.engine import LocalEngine
from nestling.engine.protocol import Engines, Row, RowEngine
from nestling.errors import UNDEFINED
from nestling.program.flat import Query
from nestling.program.meaning import meaning
from nestling.program.statements import MapDecl, Order, Program
from nestling.program.traverse import canonical
from nestling.progress import say
from nestling.transform.viewlet import fill
from nestling.transform.viewlet.compile import CannotCompile


def computed(program: Program, tables: Mapping[str, Mapping[Row, int]]) -> LocalEngine:
    """``program`` over these rows.

    A map without a value may have let rows in, because it waits until somebody reads. So it still does: these rows can
    be deleted, and the other maps are right.
    """
    engine = LocalEngine(program)
    for name, rows in tables.items():
        engine.load_table(name, rows)
    try:
        fill_maps(engine, [name for name, decl in program.maps.items() if decl.role != "watch"])
    except UNDEFINED:
        with suppress(*UNDEFINED):
            engine.recompute()
    return engine


def filled(program: Program, old: RowEngine) -> LocalEngine:
    """``program`` over the tables of ``old``, which is not used any more; maps that stay keep their contents."""
    assert isinstance(old, LocalEngine)
    common = program.tables.keys() & old.program.tables.keys()
    with suppress(*UNDEFINED):
        old.flush()
    if old.is_torn:
        return computed(program, {name: old.table(name) for name in common})
    engine, old.successor = old.successor, None  # once: what fails below leaves it with some of the rows
    if engine is None or engine.program is not program:
        engine = LocalEngine(program, before=old)
    for name in common:
        engine.take(name, old)
    kept = {identity(decl): name for name, decl in old.program.maps.items() if decl.role != "watch"}
    missing = []
    for name, decl in program.maps.items():
        if decl.role == "watch":
            continue
        if (called := kept.get(identity(decl))) is not None:
            engine.take(name, old, called)
        else:
            missing.append(name)
    fill_maps(engine, missing)
    return engine


def prepare(program: Program, old: RowEngine) -> None:
    """Write the functions of ``program``, which is to take the place of ``old``."""
    assert isinstance(old, LocalEngine)
    engine = LocalEngine(program, before=old)
    engine.prepare(old)
    old.successor = engine


def fill_maps(engine: RowEngine, names: Iterable[str]) -> None:
    """Compute some maps of ``engine`` from its tables and its other maps."""
    assert isinstance(engine, LocalEngine)
    missing = list(names)
    if not missing or not any(engine.stored[table] for table in engine.program.tables):
        return  # without rows, a map is what it starts with
    try:
        program = fill(engine.program, missing)
    except CannotCompile:
        # A map that triggers can follow need not have a loop that makes it from its tables: by its meaning, slowly.
        tables = {name: engine.table(name) for name in engine.program.tables}
        for name in missing:
            engine.load_map(name, meaning(engine.program.maps[name].query, tables))
        return
    loader = LocalEngine(program)
    for name in (*program.tables, *program.maps):
        if name in engine.stored and name not in missing:
            loader.take(name, engine)
        elif name in program.maps:
            loader.load_map(name, {})
    for number, name in enumerate(program.tables):
        say(f"filling {len(missing)} maps", number, len(program.tables))
        if name not in engine.stored:
            loader.apply(name, (), 1)
    for name in missing:
        engine.take(name, loader)


def identity(decl: MapDecl) -> tuple[Query, Order, bool]:
    """What tells a map from every other, however it is called."""
    return (canonical(decl.query), decl.order, decl.role in ("lift", "count"))


#: How the embedded engines are made.
EMBEDDED = Engines(LocalEngine, computed, filled, fill_maps, prepare)
