"""Compiling a view for Spark, and whether it is defined.

A guard query is maintained beside a view, and is empty exactly while every term has a value.

Law (19): a change is rejected exactly if an eager or hybrid view is undefined after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from nestling.calculus.types import Record
from nestling.database.definitions import ViewDef
from nestling.database.spark.on_read import program_on_read
from nestling.database.spark.patient import updates_wait
from nestling.database.spark.programs import knob
from nestling.database.state import NOTHING_KEPT, computing, guard_of
from nestling.database.view_state import OnRead, ViewState, maintained_by
from nestling.database.violation import violation
from nestling.database.xml.definition import view_of
from nestling.engine.spark import limits
from nestling.engine.spark.columns import layouts
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.plans import plan_layout
from nestling.engine.spark.support import check_program
from nestling.errors import QueryError
from nestling.frontend.schema import element_value
from nestling.program.statements import Program, TableDecl, ViewPlan
from nestling.program.steps import plans, reads
from nestling.transform.lower import FlatView
from nestling.transform.pipeline import SPARK, compile_view
from nestling.transform.viewlet import compile_batches
from nestling.transform.viewlet.choose import KNOB
from nestling.values.bag import EMPTY, ZBag


def compiled(view: ViewDef, tables: Mapping[str, TableDecl], constraint: bool) -> ViewState:
    """``view`` with what maintains it, or with ``store="none"`` what every reading runs."""
    if view.store == "none":
        return ViewState(view, OnRead(NOTHING_KEPT, KNOB, program_on_read(view, tables)), constraint)
    found = compile_view(view.query, SPARK, partial(_plan, view, tables), partial(plan_guard, view, tables))
    if found.program is None or found.flat is None:
        raise QueryError(
            f"{view_of(view.name)} cannot be maintained: {found.reason}",
            hint="on Spark no view is evaluated on read",
        )
    waits = view.refresh == "hybrid" and not constraint and updates_wait(view.name, found)
    policy = maintained_by("lazy" if waits else view.refresh, found.flat)
    return ViewState(view, policy, constraint, guard=found.guard)


def _plan(view: ViewDef, tables: Mapping[str, TableDecl], flat: FlatView) -> Program:
    program = compile_batches(tables, {view.name: flat}, store={view.name: knob(view)})
    check_program(program, layouts(program))
    return program


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
    if not any(engine.now.stored[source].rows for source in sources_of(plan)):
        return ""
    texts = [row[0] for row, _ in engine.rows(plan.rows)]
    return f"{min(texts)} has no value" if texts else ""


def sources_of(plan: ViewPlan) -> set[str]:
    """The tables and maps that a view is read from."""
    return {s for each in plans(plan) for statement in each.statements for s in reads(statement)}


def some_rows(engine: SparkEngine, constraint: ViewDef) -> ZBag:
    """Some rows of a query that must be empty; where the driver sees that it is, no job is run."""
    plan = engine.program.views[constraint.name].rows
    with computing(constraint.name):
        if engine.driver.answer(plan, plan_layout(plan), engine.now, None) == []:
            return EMPTY
        found = engine.some(constraint.name, limits.MAX_OFFENDING_ROWS)
    rows = found if isinstance(constraint.element, Record) else [row["value"] for row in found]
    return ZBag((element_value(constraint.element, row), 1) for row in rows)


def check_empty(constraint: ViewDef, engine: SparkEngine) -> None:
    """Refuse what breaks a constraint."""
    if rows := some_rows(engine, constraint):
        raise violation(constraint, rows)
