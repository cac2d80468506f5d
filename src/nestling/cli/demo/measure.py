"""One step of the demonstration: a change, and beside it what recomputing the view takes, in the same run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import process_time
from typing import Any

from nestling.database import Database
from nestling.database.change import Change
from nestling.database.view import View
from nestling.errors import NestlingError


@dataclass(frozen=True)
class MeasuredChange:
    """What changed, and the CPU seconds of the change, of the reference and of plain Python."""

    view: str
    what: str
    change: float
    reference: float
    python: float


@dataclass
class MeasuredView:
    """A view under observation: ``function`` is its text, run by Python on the rows of ``tables``."""

    database: Database
    view: View
    function: Callable[..., Any]
    tables: tuple[str, ...]
    steps: list[MeasuredChange] = field(default_factory=list)
    heard: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.view.subscribe(self.heard.append)

    def step(self, what: str, action: Callable[[], object]) -> Change:
        """Time ``action`` until the subscriber has its change, then both recomputations; all must agree."""
        took = timed(action)
        meant: list[Any] = []
        reference = timed(lambda: meant.append(self.database._state.evaluate(self.view.name)))
        if meant[0] != self.view.bag():
            raise NestlingError(f"{self.view.name} is not what its query says after: {what}")
        rows = [self.database.table(name).rows() for name in self.tables]
        python = timed(lambda: self.function(*rows))
        self.steps.append(MeasuredChange(self.view.name, what, took, reference, python))
        return self.heard[-1]


def timed(action: Callable[[], object]) -> float:
    """The CPU seconds ``action`` takes: what else runs on the machine does not count."""
    started = process_time()
    action()
    return process_time() - started
