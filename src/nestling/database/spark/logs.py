"""Logging the changes of views on Spark: the logs of a batch come to the driver when it is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from nestling.database.logs import FlatRows
from nestling.database.spark.remembered import levels_of
from nestling.database.spark.state import SparkState
from nestling.database.spark.watching import Logged, flat_rows
from nestling.database.state import Holder
from nestling.database.view_state import Feed
from nestling.database.watching import CurrentView, Logs, Taken, WatchedLevels
from nestling.errors import NestlingError, QueryError
from nestling.transform.viewlet.compile import CannotCompile
from nestling.values.bag import EMPTY


class SparkLogging:
    """The logs of a state on Spark. A change holds what it needs of the view, as the batch left it."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder
        self.before_unlogged: Callable[[str], None] = lambda name: None

    @property
    def state(self) -> SparkState:
        return cast(SparkState, self._holder._state)

    def levels(self, name: str) -> WatchedLevels:
        return levels_of(self.state, name)

    def start(self, name: str) -> None:
        """Tell the changes of a view from now on."""
        state = self.state
        if state.views[name].on_read:
            state.total(name)  # from now on it has a value, or a change is refused
            state.views = state.views.changed(name, levels=WatchedLevels())
        else:
            self.log(name)
        state.views = state.views.changed(name, is_told=True)

    def stop(self, name: str) -> None:
        """Tell the changes of a view no more; its feed goes on."""
        state = self.state
        view = state.views[name]
        levels = view.levels if view.feed is not None else None
        state.views = state.views.changed(name, is_told=False, levels=levels)
        if view.levels and levels is None:
            state.reinstall()

    def log(self, name: str) -> None:
        """Log a view, for those who are told or for its feed."""
        state = self.state
        if state.views[name].levels is not None:
            return
        state.refresh(name)  # what is told starts from what is there
        state.views = state.views.changed(name, levels=self.levels(name))
        try:
            state.reinstall()
            state.refresh(name)
        except BaseException as reason:
            state.views = state.views.changed(name, levels=None)
            if isinstance(reason, (CannotCompile, QueryError)):
                raise NestlingError(
                    f"the changes of {name} cannot be logged: {reason}", hint="read the view after a change"
                ) from reason
            raise

    def keep_feed(self, name: str, feed: Feed) -> None:
        """Keep what changes in a view, in files."""
        state = self.state
        if state.views[name].on_read:
            raise NestlingError(
                f'{name} has store="none", and so no change feed',
                hint="subscribe to it, or define it without store",
            )
        self.log(name)
        state.views = state.views.changed(name, feed=feed)
        state.reinstall()

    def taken(self, name: str) -> Taken:
        state = self.state
        if state.views[name].on_read:
            return Taken({}, state.differing.get(name, EMPTY))
        running = state.running.beside(state.program_of(name))
        logged = Logged(running, name, state.views.watched[name], state.logged)
        return Taken({level: log for level, log in logged.logs.items() if log}, None, logged)

    def untaken(self, name: str) -> None:
        """What was refused is in no log: logs are taken from what is stored."""

    def source(self, name: str) -> tuple[CurrentView, Logs]:
        """What is logged is taken with every batch, so that nothing waits."""
        return Logged(self.state.reader(name), name, WatchedLevels(), {}), {}

    def flat_rows(self, name: str) -> FlatRows:
        with self.state.reading(name) as found:
            return flat_rows(found, name)
