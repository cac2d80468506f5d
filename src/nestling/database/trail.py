"""The trail of a view: what each commit logged of it.

A commit only takes the logs; a change is evaluated on first access, from the current view minus what was logged later.
So a change needs the steps after its own, and refers to them: each step points to the next, and none to the one
before, so that Python frees the steps that no change needs.

A change that is held for long would hold all later steps. When there are too many, it is evaluated and releases them.

Law: a change has the same value whenever it is evaluated.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from weakref import ref

from nestling.database.access import Access
from nestling.database.change import Change, InnerChange, Stayed
from nestling.database.document.follow import Patches
from nestling.database.document.model import Operation
from nestling.database.logs import Logging
from nestling.database.rows import Row
from nestling.database.step import Step
from nestling.database.watching import Logs, Reader, Taken, added, is_change
from nestling.values.bag import ZBag

#: Of how many steps, and of how many logged rows, changes may be waiting to be read.
STEPS, LOGGED = 1000, 100_000


class Trail:
    """The steps of one view that is logged."""

    __slots__ = (
        "_access", "_changes", "_is_anew", "_last", "_logged", "_logging", "_patches", "_previous",
        "element", "history", "view",
    )  # fmt: skip

    def __init__(self, access: Access, logging: Logging, view: str, version: int) -> None:
        self._access, self._logging, self.view = access, logging, view
        self._last = self._previous = Step(version, Taken({}))
        self._changes: list[ref[Change]] = []
        self._logged, self._is_anew = 0, False
        self.element = logging.state.definitions[view].element
        self._patches = Patches(self.element)
        #: How many changes a history keeps: these can be read as long as they are there.
        self.history = 0

    # -- what a commit does

    def note(self, version: int) -> Change | None:
        """Take what the last commit did to the view, if it did anything; the state is locked."""
        taken = self._logging.taken(self.view)
        if not taken.logs and not taken.rows:
            return None
        step = Step(version, taken)
        step.is_anew, self._is_anew = self._is_anew, False
        self._previous = self._last
        self._last.next = self._last = step
        rows = taken.rows if not taken.logs else None
        change = Change(self.view, version, self.element, rows, Noted(self, step))
        if rows is None and not self._is_change(taken, change):
            self._is_anew = (
                True  # rows went and came back: nobody is told, and a document may have another order
            )
            return None
        self._changes.append(ref(change))
        self._logged += sum([len(log) for log in taken.logs.values()])
        if len(self._changes) > 2 * max(STEPS, self.history) or self._logged > LOGGED:
            self._let_go(STEPS if self._logged <= LOGGED else 1)
        return change

    def withdraw(self, version: int) -> None:
        """Forget the step after ``version``, if there is one: it was undone, and the view is as it was before."""
        if self._last.version > version:
            self._last = self._previous
            self._last.next = None
            self._patches.withdraw()
        self._logging.untaken(self.view)

    def _is_change(self, taken: Taken, change: Change) -> bool:
        found = is_change(self._logging.state.views.watched[self.view], taken.logs)
        if found is None:
            change.read_locked()
            return bool(change)
        return found

    def _let_go(self, steps: int) -> None:
        """Read the changes that somebody holds from long ago, so that what came after them can be forgotten."""
        steps = max(steps, self.history)
        self._patches.catch_up()
        for old in self._changes[:-steps]:
            if (change := old()) is not None:
                change.evaluate()
        self._changes, self._logged = self._changes[-steps:], 0

    def end(self, is_told_on: bool = False) -> None:
        """The view will not be logged any more: read what somebody holds.

        ``is_told_on``: it is logged in another way from now on. Then patches of what is held are made too. That costs
        what the view holds, as its new plan does.
        """
        self._patches.catch_up()
        for held in self._changes:
            if (change := held()) is not None:
                change.evaluate(whole=True, patched=is_told_on)
        self._changes, self._patches = [], Patches(self.element)
        self._is_anew = True  # if it is read on, it is logged in another way

    # -- what a change asks

    def document(self) -> list[Any] | None:
        """The document after the last step, if patches are taken of it."""
        return self._patches.document()

    def reader(self, step: Step) -> Reader:
        """What reads a step; the state is locked."""
        levels, source = self._logging.state.views.watched[self.view], step.taken.source
        if source is not None:
            return Reader(source, self.view, levels, step.taken.logs)
        source, logging = self._logging.source(self.view)
        later: list[Logs] = [each.taken.logs for each in step.later()]
        if logging:
            later.append(logging)
        return Reader(source, self.view, levels, step.taken.logs, added(later) if later else None)

    def patch(self, step: Step) -> list[Operation]:
        """The JSON Patch of a step; the state is locked."""
        return self._patches.patch(self._logging, self.view, step, self._last)

    def reading(self) -> AbstractContextManager[None]:
        """A block in which the state stays as it is."""
        return self._access.reading()


class Noted:
    """One step of a trail, as its change asks for it."""

    __slots__ = ("_step", "_trail")

    def __init__(self, trail: Trail, step: Step) -> None:
        self._trail, self._step = trail, step

    def read(self, change: Change) -> tuple[ZBag, tuple[InnerChange, ...]]:
        with self._trail.reading():
            return self.read_locked(change)

    def read_locked(self, change: Change) -> tuple[ZBag, tuple[InnerChange, ...]]:
        reader = self._trail.reader(self._step)
        return reader.rows(), tuple(reader.inner(change))

    def stayed(self) -> Stayed:
        with self._trail.reading():
            return self.stayed_locked()

    def stayed_locked(self) -> Stayed:
        return self._trail.reader(self._step).stayed_rows()

    def row(self, flat: Row, after: bool) -> Any:
        with self._trail.reading():
            return self._trail.reader(self._step).row(flat, after)

    def patch(self) -> list[Operation]:
        with self._trail.reading():
            return self.patch_locked()

    def patch_locked(self) -> list[Operation]:
        return self._trail.patch(self._step)

    @property
    def known_patch(self) -> list[Operation] | None:
        return self._step.patch
