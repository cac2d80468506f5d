"""Logging what changes in a view, where somebody reads it.

The logs are maps of the program, one per level of the view. Of a view that no program maintains nothing can be logged:
its answers are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from nestling.database.rows import Row
from nestling.database.watching import Levels, Logs, Source, Taken
from nestling.engine.local.engine import LocalEngine
from nestling.errors import UNDEFINED, NestlingError
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.storing import BY_KEYS
from nestling.transform.viewlet.watch import watches
from nestling.values.label import Label

if TYPE_CHECKING:
    from nestling.database.state import State

#: The flat rows of a view, and what finds those of its inner bags.
FlatRows = tuple[Iterable[tuple[Row, int]], Callable[[Label], Iterable[tuple[Row, int]]]]

NOTHING = Taken({})


class Logging:
    """The logs of a state."""

    def __init__(self, state: State) -> None:
        self._state = state

    def levels(self, name: str) -> Levels:
        """The levels of a view that are logged, or would be; none where nothing can be."""
        state = self._state
        if name in state.watched:
            return state.watched[name]
        if name not in state.flat:
            return Levels()
        found = Levels(watches(name, state.flat[name], state.declarations()))
        logs = {level.name: level.query for level in found}
        stored = state.decisions[name].storing or BY_KEYS
        try:
            compile_views(state.declarations(), {name: state.flat[name]}, logs, {name: stored})
        except CannotCompile:
            return Levels()
        return found

    def start(self, name: str) -> None:
        """Log a view from now on."""
        try:
            with self._state.whole():
                self.keep(name, self.levels(name))
                if not self._state.watched[name]:
                    self._state.compared[name] = self._state.read(name)
        except UNDEFINED as error:
            raise NestlingError(f"{name} cannot be computed: {error}", hint="delete the row") from error

    def keep(self, name: str, levels: Levels) -> None:
        """Log these levels of a view."""
        state = self._state
        state.watched[name] = levels
        if state.is_apart(name):
            state.later(name).watch({level.name: level.query for level in levels})
        else:
            state._install()
            state.engine.check()

    def stop(self, name: str) -> None:
        """Log a view no more."""
        state = self._state
        with state.whole():
            state.compared.pop(name, None)
            levels = state.watched.pop(name)
            if levels and state.is_apart(name):
                with suppress(*UNDEFINED):  # then it starts anew when it is read, and logs nothing
                    state.later(name).watch({})
            elif levels:
                state._install()

    def taken(self, name: str) -> Taken:
        """What changed in a view since this was last asked; of one that has no value, nothing until it has one.

        The change is stored already: whatever a view makes of it, it must not fail here.
        """
        try:
            return self._taken(name)
        except (*UNDEFINED, NestlingError):
            return NOTHING

    def _taken(self, name: str) -> Taken:
        state = self._state
        if state.views[name].refresh == "lazy" and state.absent(name):
            return NOTHING
        levels = state.watched[name]
        if levels:
            engine = state.engine_of(name)
            stored, drain = engine.stored, engine.drain
            logged = [level.name for level in levels if stored[level.name]]  # most commits reach few levels
            return Taken({level: log for level in logged if (log := drain(level))}) if logged else NOTHING
        before = state.compared[name]
        now = state.compared[name] = state.read(name)
        return Taken({}, now - before)

    def untaken(self, name: str) -> None:
        """What was taken last is undone, and the view as it was before."""
        if not self._state.watched[name]:
            self._state.compared[name] = self._state.read(name)

    def source(self, name: str) -> tuple[Source, Logs]:
        """What answers for a view, and what it has logged since that was taken."""
        engine = self._engine(name)
        stored, levels = engine.stored, self._state.watched[name]
        return engine, {level.name: engine.logged(level.name) for level in levels if stored[level.name]}

    def flat_rows(self, name: str) -> FlatRows:
        """The flat rows of a view that has levels."""
        engine = self._engine(name)
        return engine.flat_rows(name), lambda label: engine.rows_under(name, label)

    def _engine(self, name: str) -> LocalEngine:
        """The engine of a view; of one that is watched, as far as it has logged."""
        state = self._state
        if name in state.watched:
            return state.lazy[name].engine if state.is_apart(name) else state.engine
        return state.engine_of(name)
