"""Is the view defined? A guard query is maintained beside it, and is empty exactly while every term has a value.

Law (19): a change is rejected exactly if an eager or hybrid view is undefined after it.
"""

from __future__ import annotations

from collections.abc import Mapping

from nestling.database.definitions import ViewDef
from nestling.database.state import guard_of
from nestling.engine.spark.columns import layouts
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.support import check_program
from nestling.errors import QueryError
from nestling.program.statements import Program, TableDecl
from nestling.program.steps import plans, reads
from nestling.transform.lower import FlatView
from nestling.transform.viewlet import compile_batches


def plan_guard(view: ViewDef, tables: Mapping[str, TableDecl], guard: FlatView) -> Program | None:
    """The program of the query that says where ``view`` has no value; ``None`` where Spark has none for it."""
    if view.refresh == "lazy":
        return None
    program = compile_batches(tables, {view.name: guard}, store={view.name: "full"})
    try:
        check_program(program, layouts(program))
    except QueryError:
        return None
    return program


def absent(engine: SparkEngine, view: str) -> str:
    """A term of ``view`` that has no value now, or nothing."""
    plan = engine.program.views.get(guard_of(view))
    if plan is None:
        return ""
    sources = {s for each in plans(plan) for statement in each.statements for s in reads(statement)}
    if not any(engine.now.stored[source].rows for source in sources):
        return ""
    texts = [row[0] for row, _ in engine.rows(plan.rows)]
    return f"{min(texts)} has no value" if texts else ""
