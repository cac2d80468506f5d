"""Logging the changes of views on Spark: the logs of a batch come to the driver when it is stored."""

from __future__ import annotations

from collections.abc import Callable

from nestling.database.logs import FlatRows, Logging
from nestling.database.spark.inspect import stats
from nestling.database.spark.state import SparkState
from nestling.database.spark.watching import Logged, flat_rows
from nestling.database.state import State
from nestling.database.view_state import Feed
from nestling.database.watching import CurrentView, Logs, Taken, WatchedLevels
from nestling.errors import NestlingError, QueryError
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.watch import watches
from nestling.values.bag import EMPTY


class Loaded:
    """The state that is in memory, also while it is being read anew."""

    def __init__(self, state: Callable[[], State], version: Callable[[], int]) -> None:
        self._state_now, self._version_now = state, version

    @property
    def _state(self) -> State:
        return self._state_now()

    @property
    def version(self) -> int:
        return self._version_now()


class SparkLogging(Logging):
    """The logs of a state on Spark. A change holds what it needs of the view, as the batch left it."""

    @property
    def state(self) -> SparkState:
        state = super().state
        assert isinstance(state, SparkState)
        return state

    def levels(self, name: str) -> WatchedLevels:
        state = self.state
        flat = state.views[name].flat
        if flat is None:
            return WatchedLevels()
        return state.views.watched.get(name) or WatchedLevels(watches(name, flat, state.declarations()))

    def start(self, name: str) -> None:
        """Tell the changes of a view from now on."""
        state = self.state
        with state.lock:
            if state.views[name].on_read:
                stats(state, name)  # from now on it has a value, or a change is refused
                state.views = state.views.changed(name, levels=WatchedLevels())
            else:
                self.log(name)
            state.views = state.views.changed(name, is_told=True)

    def resume(self, name: str) -> None:
        """Go on telling the changes of a view after its state was read anew, whether it has a value now or not."""
        if self.state.views[name].on_read:
            self.start(name)
            return
        with self.state.lock:
            self.log(name, self._settle)

    def stop(self, name: str) -> None:
        """Tell the changes of a view no more; its feed goes on."""
        state = self.state
        with state.lock:
            view = state.views[name]
            levels = view.levels if view.feed is not None else None
            state.views = state.views.changed(name, is_told=False, levels=levels)
            if view.levels and levels is None:
                state.reinstall()

    def _read(self, name: str) -> None:
        with self.state.computing(name):
            self.state.reader(name)

    def _settle(self, name: str) -> None:
        """Bring a view up to date, unless it has no value: it is told of when it has one."""
        try:
            self._read(name)
        except NestlingError as error:
            if not self.state.is_without_value(name, error):
                raise

    def log(self, name: str, read: Callable[[str], None] | None = None) -> None:
        """Log a view, for those who are told or for its feed; ``read`` brings it up to date."""
        state, read = self.state, read or self._read
        if state.views[name].levels is not None:
            return
        read(name)  # what is told starts from what is there
        state.views = state.views.changed(name, levels=self.levels(name))
        try:
            state.reinstall()
            read(name)
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
        with state.lock:
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
