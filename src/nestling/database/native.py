"""Engines of this process, native where a program has byte code, and in Python where it has not.

The choice is no part of what anything means. ``NESTLING_NATIVE=1`` asks for native engines, where the extension was
built; without it, or with ``0``, all are in Python.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from nestling.database import bulk
from nestling.engine.local.engine import LocalEngine
from nestling.engine.protocol import Engines, Row, RowEngine
from nestling.errors import UNDEFINED
from nestling.program.meaning import meaning
from nestling.program.statements import Program
from nestling.transform.viewlet import fill
from nestling.transform.viewlet.compile import CannotCompile

if TYPE_CHECKING:
    from nestling.engine.native.engine import NativeEngine

Tables = Mapping[str, Mapping[Row, int]]


def available() -> bool:
    """Whether the extension was built for this Python."""
    try:
        import nestling._native  # noqa: F401 - it is asked for, not used
    except ImportError:
        return False
    return True


def chosen() -> Engines:
    """How the engines of a database are made."""
    return NATIVE if os.environ.get("NESTLING_NATIVE") == "1" else bulk.EMBEDDED


def native_engine(program: Program) -> NativeEngine | str:
    """A native engine with nothing in it, or why there is none."""
    if not available():
        return "the extension was not built for this Python, which takes a C compiler"
    from nestling.engine.native.engine import NativeEngine
    from nestling.engine.native.values import Unsupported

    try:
        return NativeEngine(program, bulk.computed)
    except Unsupported as error:
        return str(error)


def native_of(engine: object) -> NativeEngine | None:
    """``engine``, if it is a native one whose program has not moved."""
    if not available():
        return None
    from nestling.engine.native.engine import NativeEngine

    return engine if isinstance(engine, NativeEngine) and engine.moved is None else None


def in_python(engine: RowEngine) -> RowEngine:
    """The engine that a program has moved to, if it has."""
    moved: RowEngine | None = getattr(engine, "moved", None)
    return engine if moved is None else moved


def notes(engine: RowEngine) -> list[str]:
    """Why a program that might have run natively does not."""
    why = getattr(engine, "why", "") or getattr(engine, "why_not_native", "")
    return [f"it runs in Python, not natively: {why}"] if why else []


def empty(program: Program) -> RowEngine:
    engine = native_engine(program)
    return _local(program, engine) if isinstance(engine, str) else engine


def _local(program: Program, why: str) -> LocalEngine:
    engine = LocalEngine(program)
    engine.why_not_native = why
    return engine


def computed(program: Program, tables: Tables) -> RowEngine:
    """``program`` over these rows. Loops that fill maps are run in Python."""
    made = bulk.computed(program, tables)
    engine = native_engine(program)
    if isinstance(engine, str) or made.is_torn:
        made.why_not_native = engine if isinstance(engine, str) else "a map has no value"
        return made
    for name, rows in tables.items():
        engine.load_table(name, rows)
    for name, decl in program.maps.items():
        if decl.role != "watch":
            engine.load_map(name, made.cells(name))
    return engine


def filled(program: Program, old: RowEngine) -> RowEngine:
    """``program`` over the tables of ``old``; maps that stay keep their contents."""
    common = program.tables.keys() & old.program.tables.keys()
    with suppress(*UNDEFINED):
        old.flush()
    if old.is_torn:
        return computed(program, {name: old.table(name) for name in common})
    source = in_python(old)
    made = native_engine(program) if source is old else "it was left before"
    if isinstance(made, str):
        if isinstance(source, LocalEngine):
            engine = bulk.filled(program, source)
            engine.why_not_native = made
            return engine
        return _refilled(program, _local(program, made), old)
    return _refilled(program, made, old)


def _refilled(program: Program, engine: RowEngine, old: RowEngine) -> RowEngine:
    for name in program.tables.keys() & old.program.tables.keys():
        engine.load_table(name, old.table(name))
    kept = {bulk.identity(decl): name for name, decl in old.program.maps.items() if decl.role != "watch"}
    missing = []
    for name, decl in program.maps.items():
        if decl.role == "watch":
            continue
        if (called := kept.get(bulk.identity(decl))) is not None:
            engine.load_map(name, old.cells(called))
        else:
            missing.append(name)
    fill_maps(engine, missing)
    return engine


def fill_maps(engine: RowEngine, names: Iterable[str]) -> None:
    """Compute some maps of ``engine`` from its tables and its other maps."""
    engine, missing = in_python(engine), list(names)
    if isinstance(engine, LocalEngine):
        bulk.fill_maps(engine, missing)
        return
    if not missing or not any(map(engine.entries, engine.program.tables)):
        return  # without rows, a map is what it starts with
    tables = {name: engine.table(name) for name in engine.program.tables}
    try:
        loader = _loader(engine, fill(engine.program, missing), missing, tables)
    except CannotCompile:
        for name in missing:
            engine.load_map(name, meaning(engine.program.maps[name].query, tables))
        return
    for name in missing:
        engine.load_map(name, loader.cells(name))


def _loader(engine: RowEngine, program: Program, missing: list[str], tables: Tables) -> LocalEngine:
    """An engine in Python that ran ``program``, which fills the maps that are missing."""
    loader = LocalEngine(program)
    for name in program.maps:
        is_known = name in engine.program.maps and name not in missing
        loader.load_map(name, engine.cells(name) if is_known else {})
    for name in program.tables.keys() & tables.keys():
        loader.load_table(name, tables[name])
    for name in program.tables:
        if name not in tables:
            loader.apply(name, (), 1)
    return loader


#: How native engines are made.
NATIVE = Engines(empty, computed, filled, fill_maps)
