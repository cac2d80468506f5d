"""Whether a view has a value: the rows of a query that is kept beside it, and has none as long as it has one.

Law (19): a change is refused exactly if an eager or hybrid view has no value after it.
"""

from __future__ import annotations

from collections.abc import Mapping

from nestling.calculus.terms import Empty
from nestling.database.definitions import ViewDef
from nestling.database.state import guard_of
from nestling.engine.spark.columns import layouts
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.refuse import check_program
from nestling.errors import QueryError
from nestling.program.statements import TableDecl
from nestling.program.steps import plans, reads
from nestling.transform.defined import undefined
from nestling.transform.lower import lower
from nestling.transform.lower.view import CannotLower, FlatView
from nestling.transform.normalize import normalize
from nestling.transform.shred import shred
from nestling.transform.simplify import simplify
from nestling.transform.viewlet import compile_batches
from nestling.transform.viewlet.compile import CannotCompile


def guard(view: ViewDef, tables: Mapping[str, TableDecl]) -> FlatView | None:
    """The query that says where ``view`` has no value; ``None`` where it always has one, or nothing can say so."""
    absent = undefined(view.query)
    if view.refresh == "lazy" or isinstance(absent, Empty):
        return None
    try:
        found = lower(shred(normalize(simplify(normalize(absent)))), exact=False)
        program = compile_batches(tables, {view.name: found}, store={view.name: "full"})
        check_program(program, layouts(program))
    except (CannotLower, CannotCompile, QueryError):
        return None
    return found


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
