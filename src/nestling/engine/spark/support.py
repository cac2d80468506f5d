"""Reject programs that Spark would not compute as Python does, before anything runs.

Writes every statement of a program as SQL once; a construct without SQL of the same meaning raises an error that
names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nestling.calculus.types import Scalar, Type
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.events import event_layout
from nestling.engine.spark.plans import plan_layout
from nestling.engine.spark.relations import nothing
from nestling.engine.spark.statements import PlanStart, StatementWriter
from nestling.engine.spark.types import PLACES
from nestling.errors import QueryError
from nestling.program.batches import GROUPS, change_of
from nestling.program.statements import Program, Propagate
from nestling.program.steps import plans, trigger_statements


@dataclass
class _Empty:
    """Sources without rows."""

    layouts: Mapping[str, Layout]

    def layout(self, name: str) -> Layout:
        return self.layouts[name]

    def raw(self, name: str) -> str:
        return nothing(self.layouts[name])

    def is_empty(self, name: str) -> bool:
        return False

    def is_once(self, name: str) -> bool:
        return False

    def is_summed(self, name: str) -> bool:
        return False

    def rows(self, name: str) -> int:
        return 0

    def near(self, name: str, column: int) -> str | None:
        return None


def check_program(program: Program, layouts: Mapping[str, Layout]) -> None:
    """Raise a ``QueryError`` unless all of ``program`` can be written as SQL."""
    answers = [plan_layout(plan) for view in program.views.values() for plan in plans(view)]
    for layout in (*layouts.values(), *answers):
        for _, type_ in layout.columns:
            check_places(type_)
    writer = StatementWriter(_Empty({**layouts, **change_layouts(program, layouts)}))
    for trigger in program.triggers.values():
        for statement in trigger_statements(trigger):
            writer.statement(statement, layouts[statement.target])
    for view in program.views.values():
        for plan in plans(view):
            given = PlanStart("params", plan.params) if plan.params else None
            for statement in plan.statements:
                writer.statement(statement, plan_layout(plan), given)


def check_places(type_: Type) -> None:
    """Reject decimals that would be rounded: those to which Spark's rules give more places than a column has."""
    if isinstance(type_, Scalar) and type_.name == "decimal" and type_.size and type_.size[1] > PLACES:
        raise QueryError(
            f"a decimal with {type_.size[1]} places after the point, where {PLACES} are kept on Spark",
            hint=f"CAST it to a DECIMAL of at most {PLACES} places, or to a DOUBLE",
        )


def change_layouts(program: Program, layouts: Mapping[str, Layout]) -> dict[str, Layout]:
    """The columns of all changes that statements may see."""
    found = {change_of(name): layouts[name] for name in program.tables}
    for name, decl in program.maps.items():
        aggregates = ("", GROUPS) if decl.order == "sums" else ("",)
        found |= {change_of(name, a): event_layout(layouts[name], a) for a in aggregates}
    passed = (a for trigger in program.triggers.values() for a in trigger.actions if isinstance(a, Propagate))
    return found | {
        change_of(action.map, event.aggregate): event_layout(layouts[action.map], event.aggregate)
        for action in passed
        for event, _ in action.events
    }
