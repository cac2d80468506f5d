"""Engines of this process, native where a program has byte code, and in Python where it has not.

The choice is no part of what anything means. Where the extension was built, engines are native; ``NESTLING_NATIVE=0``
has all of them in Python. ``1`` asks for native engines wherever it is, and ``explain`` says why there are none.
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
from nestling.progress import say
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
    asked = os.environ.get("NESTLING_NATIVE")
    return NATIVE if asked == "1" or (asked != "0" and available()) else bulk.EMBEDDED


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
    except RecursionError:
        return "a program that is too deep to be lowered"


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
    """``program`` over these rows."""
    engine = native_engine(program)
    if isinstance(engine, str):
        return _computed_in_python(program, tables, engine)
    for name, rows in tables.items():
        engine.load_table(name, rows)
    try:
        fill_maps(engine, _followed(program))
    except UNDEFINED:
        return _computed_in_python(program, tables, "a map has no value")
    return engine


def _computed_in_python(program: Program, tables: Tables, why: str) -> LocalEngine:
    made = bulk.computed(program, tables)
    made.why_not_native = why
    return made


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
        _take_table(engine, name, old)
    kept = {bulk.identity(old.program.maps[name]): name for name in _followed(old.program)}
    missing = []
    for name in _followed(program):
        if (called := kept.get(bulk.identity(program.maps[name]))) is not None:
            _take_map(engine, name, old, called)
        else:
            missing.append(name)
    fill_maps(engine, missing)
    return engine


def _followed(program: Program) -> list[str]:
    """The maps of ``program`` that follow its tables, not those that log."""
    return [name for name, decl in program.maps.items() if decl.role != "watch"]


def _take_table(engine: RowEngine, name: str, source: RowEngine) -> None:
    """Put the rows of ``source`` into a table of ``engine``: as they are, between two native engines."""
    to, of = native_of(engine), native_of(source)
    if to is None or of is None or not to.take(name, of, name):
        engine.load_table(name, source.table(name))


def _take_map(engine: RowEngine, name: str, source: RowEngine, called: str) -> None:
    to, of = native_of(engine), native_of(source)
    if to is None or of is None or not to.take(name, of, called):
        engine.load_map(name, source.cells(called))


def fill_maps(engine: RowEngine, names: Iterable[str]) -> None:
    """Compute some maps of ``engine`` from its tables and its other maps."""
    engine, missing = in_python(engine), list(names)
    if isinstance(engine, LocalEngine):
        bulk.fill_maps(engine, missing)
        return
    if not missing or not any(map(engine.entries, engine.program.tables)):
        return  # without rows, a map is what it starts with
    try:
        loader = _loader(engine, fill(engine.program, missing), missing)
    except CannotCompile:
        tables = {name: engine.table(name) for name in engine.program.tables}
        for name in missing:
            engine.load_map(name, meaning(engine.program.maps[name].query, tables))
        return
    for name in missing:
        _take_map(engine, name, loader, name)


def _loader(engine: RowEngine, program: Program, missing: list[str]) -> RowEngine:
    """An engine that ran ``program``, which fills the maps that are missing: natively, where there is byte code."""
    made = native_engine(program)
    loader = LocalEngine(program) if isinstance(made, str) else made
    for name in program.maps:
        if name in engine.program.maps and name not in missing:
            _take_map(loader, name, engine, name)
        else:
            loader.load_map(name, {})
    for name in program.tables.keys() & engine.program.tables.keys():
        _take_table(loader, name, engine)
    for number, name in enumerate(program.tables):
        say(f"filling {len(missing)} maps", number, len(program.tables))
        if name not in engine.program.tables:
            loader.apply(name, (), 1)
    return loader


#: How native engines are made.
NATIVE = Engines(empty, computed, filled, fill_maps)
