"""Plans for reading as SQL."""

from __future__ import annotations

from nestling.calculus.typing import term_type
from nestling.engine.spark.columns import Layout, joined_type
from nestling.engine.spark.relations import Sources, sums
from nestling.engine.spark.statements import PlanStart, StatementWriter
from nestling.program.statements import Plan


def plan_layout(plan: Plan) -> Layout:
    """The columns of what a plan finds."""
    keys = [statement.keys for statement in plan.statements]
    return Layout(
        tuple(joined_type([term_type(term) for term in column]) for column in zip(*keys, strict=True))
    )


def plan_sql(plan: Plan, layout: Layout, sources: Sources, given: PlanStart | None) -> str | None:
    """The rows of a plan; ``None`` where there are none."""
    writer = StatementWriter(sources, broadcast=given is not None)
    some = [s for s in plan.statements if not writer.finds_nothing(s)]
    if not some:
        return None
    texts = [writer.statement(statement, layout, given) for statement in some]
    return writer.text(f"SELECT * FROM ({sums(' UNION ALL '.join(texts), layout)}) WHERE m0 <> 0")
