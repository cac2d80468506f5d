"""A plan for a view whose tables have moved, found out beside the changes that go on.

What a plan is found from never changes: terms, declarations, and rows as they were counted. So it is compiled in a
thread of its own, with the program of all views and the functions of its triggers. Only to take it up, which fills the
maps that are new, does a commit take longer; and only one that finds all as it was when the plan was begun.

Law: what is found does not depend on what happens meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from nestling.database.compilations import Compilations
from nestling.database.definitions import ViewDef
from nestling.database.policies import policy
from nestling.database.row_state import RowState
from nestling.database.storing import Decision, as_they_are, chosen_from, memory_for
from nestling.database.view_state import Views
from nestling.depth import room
from nestling.engine.protocol import RowEngine
from nestling.program.statements import Program, TableDecl
from nestling.transform.cost.statistics import Statistics
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.choose import cost_of
from nestling.transform.viewlet.drafts import drafts_over
from nestling.transform.viewlet.storing import Storing

#: By what factor the rows of a table change before what was planned for them is planned again.
MOVED = 8
UNPAID = "another way is cheaper now, but it would not make up yet for what it takes to change over"


@dataclass(frozen=True)
class Question:
    """How to store a view that is stored as ``old`` says: over these ``tables``, of which so much is known.

    ``came``: how many rows have come or gone since it was decided. ``left``: the bytes there are for it.
    """

    view: ViewDef
    old: Decision
    tables: Mapping[str, TableDecl]
    statistics: Statistics
    rows: int
    came: int
    left: int | None

    @room()
    def answer(self) -> tuple[Decision, bool]:
        """What is decided, and whether it comes to another program than there is."""
        drafts, old = drafts_over(self.tables), self.old
        memory = memory_for(self.statistics, self.left)
        found = chosen_from(old.view, drafts, self.statistics, old.knob, memory)
        new = replace(found, program=None)
        if old.storing is None:
            return new, new.storing is not None
        if new.storing is None:
            return new, True
        why = "" if self._pays(new) else UNPAID
        if why or self._is_same(new, new.storing, old.storing):
            return replace(new, storing=old.storing, why=why or new.why), False
        return new, True

    def _is_same(self, found: Decision, new: Storing, old: Storing) -> bool:
        """Whether both come to one program, compiled only where nothing else tells."""
        if new == old and new.rule != "slices":
            return True  # slices of few rows alone depend on what was counted
        before, after = self.old.maps, found.maps
        if before is not None and after is not None and before != after:
            return False
        return self._program(new) == self._program(old)

    def _program(self, storing: Storing) -> Program:
        """The view by itself, stored so; names are given out anew, so that the same way has the same program."""
        return compile_views(self.tables, {"v": self.old.view}, None, {"v": storing})

    def _pays(self, new: Decision) -> bool:
        """Whether storing a view otherwise is paid for: by the rows that came and went, or if as many do again."""
        if MOVED * self.came >= self.rows:
            return True
        assert self.old.storing is not None
        assert new.storing is not None
        before, after = (
            cost_of(self.old.view, self.tables, new.statistics, way)
            for way in (self.old.storing, new.storing)
        )
        gain = before.change + before.read - after.change - after.read
        return gain * self.came >= after.change * self.rows


@dataclass(frozen=True)
class Answer:
    """What was decided; and where that comes to another program, what was compiled for it."""

    decision: Decision
    is_otherwise: bool
    compiled: Compilations | None = None


class Planning:
    """A question that is being answered, for the ``views`` and the ``engine`` that a state has now."""

    def __init__(self, state: RowState, question: Question) -> None:
        now = as_they_are(state.engine, question.statistics)
        self.question, self.views, self.engine = replace(question, statistics=now), state.views, state.engine
        self._process, self._prepare = os.getpid(), state.engines.prepare
        self._answer = in_background(self._run)

    @property
    def is_under_way(self) -> bool:
        return not self._answer.done() and self._process == os.getpid()  # a fork takes no threads along

    def answer_for(self, state: RowState) -> Answer | None:
        """What was found out, if ``state`` is as it was."""
        is_same = state.views is self.views and state.engine is self.engine
        return self._answer.result() if is_same and self._answer.done() else None

    def _run(self) -> Answer:
        decision, is_otherwise = self.question.answer()
        if not is_otherwise:
            return Answer(decision, False)
        with room():
            return Answer(decision, True, self._compiled(decision))

    def _compiled(self, decision: Decision) -> Compilations:
        """The program of all views, one of them stored otherwise."""
        name, compiled = self.question.view.name, Compilations()
        views: Views = self.views.changed(
            name, policy=policy(self.question.view, decision), decision=decision
        )
        program = compiled.of(self.question.tables, views)
        engine: RowEngine = self.engine
        self._prepare(program, engine)
        return compiled


def in_background(function: Callable[[], Answer]) -> Future[Answer]:
    """What ``function`` gives, in a thread that ends with it."""
    executor = ThreadPoolExecutor(1, "nestling-plan")
    answer = executor.submit(function)
    executor.shutdown(wait=False)
    return answer
