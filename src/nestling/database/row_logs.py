"""Logging the changes of views that have readers, of engines in this process.

The logs are maps of the program, one per level of the view. A view without a program has no logs: its answers before
and after a commit are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import cast

from nestling.database.lazy import LazyView
from nestling.database.logs import FlatRows
from nestling.database.planning import Planning
from nestling.database.policies import policy
from nestling.database.row_state import RowState
from nestling.database.state import Holder
from nestling.database.storing import Decision
from nestling.database.view_state import Lazy, OnRead
from nestling.database.watching import CurrentView, Logs, Taken, WatchedLevels
from nestling.engine.protocol import RowEngine
from nestling.errors import UNDEFINED, NestlingError
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.storing import BY_KEYS
from nestling.transform.viewlet.watch import watches

NOTHING = Taken({})


class RowLogging:
    """The logs of a state."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder
        #: Who hears that nothing can be logged of a watched view any more.
        self.before_unlogged: Callable[[str], None] = lambda name: None
        #: A plan that is being found for a view whose tables have moved.
        self.planning: Planning | None = None
        #: The rows of a commit after which views were left for the next ones to decide for.
        self.left_over = 0

    @property
    def state(self) -> RowState:
        return cast(RowState, self._holder._state)

    def levels(self, name: str) -> WatchedLevels:
        """The levels of a view that are logged, or would be; none where nothing can be."""
        state = self.state
        view = state.views[name]
        if view.levels is not None:
            return view.levels
        if view.flat is None:
            return WatchedLevels()
        found = WatchedLevels(watches(name, view.flat, state.declarations()))
        logs = {level.name: level.query for level in found}
        stored = view.decision.storing if view.decision is not None else None
        try:
            compile_views(state.declarations(), {name: view.flat}, logs, {name: stored or BY_KEYS})
        except CannotCompile:
            return WatchedLevels()
        return found

    def start(self, name: str) -> None:
        """Log a view from now on."""
        try:
            with self.state.whole():
                self.keep(name, self.levels(name))
                self.untaken(name)
        except UNDEFINED as error:
            raise NestlingError(f"{name} cannot be computed: {error}", hint="delete the row") from error

    def keep(self, name: str, levels: WatchedLevels) -> None:
        """Log these levels of a view."""
        state = self.state
        state.views = state.views.changed(name, levels=levels, is_told=True)
        if state.has_own_engine(name):
            state.later(name).watch({level.name: level.query for level in levels})
        else:
            state.reinstall()
            state.engine.check()

    def stop(self, name: str) -> None:
        """Log a view no more."""
        state = self.state
        with state.whole():
            levels = state.views[name].levels
            state.views = state.views.changed(name, levels=None, compared=None, is_told=False)
            if levels and state.has_own_engine(name):
                with suppress(*UNDEFINED):  # then it starts anew when it is read, and logs nothing
                    state.later(name).watch({})
            elif levels:
                state.reinstall()

    def store_otherwise(self, name: str, decision: Decision) -> None:
        """Store a view in another way from now on."""
        state = self.state
        with state.whole():
            levels = state.views[name].levels
            if levels is not None:
                self.before_unlogged(name)  # what somebody holds is read while it can be
            chosen = policy(state.definitions[name], decision)
            state.views = state.views.changed(name, policy=chosen, decision=decision)
            if levels is not None and isinstance(chosen, OnRead):
                state.views = state.views.changed(name, levels=WatchedLevels(), compared=state.evaluate(name))
            state.reinstall()
            if levels is not None and isinstance(chosen, Lazy):
                self.keep(name, levels)

    def taken(self, name: str) -> Taken:
        """What changed in a view since this was last asked; of one that has no value, nothing until it has one.

        The change is stored already: whatever a view makes of it, it must not fail here.
        """
        try:
            return self._taken(name)
        except (*UNDEFINED, NestlingError):
            return NOTHING

    def _taken(self, name: str) -> Taken:
        state = self.state
        view = state.views[name]
        if view.may_lack_value and state.absent(name):
            return NOTHING
        if levels := view.levels:
            engine = state.engine_of(name)
            logged = [
                level.name for level in levels if engine.has_logged(level.name)
            ]  # most reach few levels
            return (
                Taken({level: log for level in logged if (log := engine.drain(level))}) if logged else NOTHING
            )
        assert view.compared is not None
        now = state.read(name)
        state.views = state.views.changed(name, compared=now)
        return Taken({}, now - view.compared)

    def untaken(self, name: str) -> None:
        """What was taken last is undone, and the view as it was before."""
        state = self.state
        if not state.views[name].levels:
            state.views = state.views.changed(name, compared=state.read(name))

    def source(self, name: str) -> tuple[CurrentView, Logs]:
        """What answers for a view, and what it has logged since that was taken."""
        engine = self._engine(name)
        names = [level.name for level in self.state.views.watched[name]]
        return engine, {level: engine.logged(level) for level in names if engine.has_logged(level)}

    def flat_rows(self, name: str) -> FlatRows:
        """The flat rows of a view that has levels."""
        engine = self._engine(name)
        return engine.flat_rows(name), lambda label: engine.rows_under(name, label)

    def _engine(self, name: str) -> RowEngine:
        """The engine of a view; of one that is watched, as far as it has logged."""
        state, view = self.state, self.state.views[name]
        if view.levels is not None:
            return view.engine.engine if isinstance(view.engine, LazyView) else state.engine
        return state.engine_of(name)
