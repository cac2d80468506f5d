"""The generated functions that serve one view."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from nestling.database.explain.report import FunctionReport
from nestling.engine.local.codegen import bag_function
from nestling.engine.local.engine import LocalEngine
from nestling.program.statements import Propagate
from nestling.quoting import identifier


def functions(engine: LocalEngine, view: str, tables: Iterable[str]) -> list[FunctionReport]:
    """The triggers of ``tables``, which serve other views as well, and the readers of ``view``."""
    wanted = [f"on_{identifier(table)}{entry}" for table in tables for entry in _entries(engine, table)]
    wanted += ["settle"]
    wanted += [f"{kind}_{identifier(view)}" for kind in ("rows_of", "rows_with")]
    wanted += [bag_function(view, shape) for shape in engine.program.views[view].definitions]
    found = {
        node.name: ast.get_source_segment(engine.source, node) or ""
        for node in ast.parse(engine.source).body
        if isinstance(node, ast.FunctionDef)
    }
    return [FunctionReport(name, found[name]) for name in wanted if name in found]


def _entries(engine: LocalEngine, table: str) -> tuple[str, ...]:
    """The entry points of a table's trigger; where nothing is passed on, a batch is a loop and not worth showing.

    Nor is an update that only puts the row in its place.
    """
    program, waits = engine.program, engine.program.deferred
    passes_on = any(isinstance(a, Propagate) and a.map not in waits for a in program.triggers[table].actions)
    changes = table in program.updates and len(program.updates[table].actions) > 1
    return ("", *["_batch"] * passes_on, *["_update"] * changes)
