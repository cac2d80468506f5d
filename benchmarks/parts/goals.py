"""Goals, and what was measured beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.workloads.harness import show


@dataclass(frozen=True)
class Goal:
    """One line of the closing table: ``measured`` is to be at most, or at least, ``bound``."""

    what: str
    measured: float
    bound: float
    at_least: bool = False
    unit: str = ""
    remark: str = ""

    @property
    def met(self) -> bool:
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound

    def row(self) -> list[str]:
        sign = "≥" if self.at_least else "≤"
        return [
            self.what,
            f"{sign} {_number(self.bound)}{self.unit}",
            f"{_number(self.measured)}{self.unit}",
            "yes" if self.met else "no",
            self.remark,
        ]


def show_goals(goals: Sequence[Goal]) -> None:
    """All of them in one table."""
    met = sum(goal.met for goal in goals)
    header = ["what", "goal", "measured", "met", "remark"]
    show(f"Goals: {met} of {len(goals)} met in this run", header, [goal.row() for goal in goals])


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
