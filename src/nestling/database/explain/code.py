"""The generated functions that serve one view."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from nestling.database.explain.report import Function
from nestling.engine.local.codegen import bag_function
from nestling.engine.local.engine import LocalEngine
from nestling.engine.local.storage import identifier


def functions(engine: LocalEngine, view: str, tables: Iterable[str]) -> list[Function]:
    """The triggers of ``tables``, which serve other views as well, and the readers of ``view``."""
    wanted = [f"on_{identifier(table)}{entry}" for table in tables for entry in ("", "_batch")]
    wanted += ["settle"]
    wanted += [f"{kind}_{identifier(view)}" for kind in ("rows_of", "rows_with")]
    wanted += [bag_function(view, shape) for shape in engine.program.views[view].definitions]
    found = {
        node.name: ast.get_source_segment(engine.source, node) or ""
        for node in ast.parse(engine.source).body
        if isinstance(node, ast.FunctionDef)
    }
    return [Function(name, found[name]) for name in wanted if name in found]
