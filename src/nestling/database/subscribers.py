"""Subscribers and histories, and how changes are delivered to them.

A commit takes the logs of views that have readers, and queues a change for each subscriber, while the state is locked,
so that the queue is in the order of the versions. One thread at a time delivers them, without a lock; changes
committed meanwhile, by a subscriber or another thread, are delivered after them. A view has a reader while it has a
subscription or a history; without one it is not logged.

Law: every subscriber receives, once and in the order of the versions, each change that was committed after it
subscribed and before it cancelled.
"""

from __future__ import annotations

from collections import deque
from contextlib import AbstractContextManager
from sys import maxsize
from typing import Any

from nestling.database.accept import known
from nestling.database.access import Access
from nestling.database.change import Change
from nestling.database.closed import Closed
from nestling.database.document.follow import Document, model_of
from nestling.database.history import History
from nestling.database.logs import Logging
from nestling.database.subscription import OnError, Subscription, Told
from nestling.database.trail import Trail
from nestling.database.turn import Turn
from nestling.errors import NestlingError, QueryError, shown

#: How many changes ``changes`` keeps, if it is not told.
KEPT = 1000


class Watched:
    """The readers of one view, and its trail."""

    __slots__ = ("followers", "history", "pulled", "subscriptions", "trail")

    def __init__(self, trail: Trail, version: int) -> None:
        self.trail = trail
        #: Replaced, never changed: who is told of a change is who was there when it was committed.
        self.subscriptions: tuple[Subscription, ...] = ()
        #: Changes as they were noted, one queue for each who takes them with the state locked.
        self.followers: tuple[deque[Change], ...] = ()
        #: How many changes whoever calls ``changes`` wants kept.
        self.pulled = 0
        self.history = History(trail.view, version)

    def resize(self) -> None:
        """Keep as many changes as any reader asked for."""
        most = max(self.pulled, *(s.history for s in self.subscriptions), 0)
        self.history.most = self.trail.history = most

    @property
    def has_readers(self) -> bool:
        return bool(self.subscriptions) or bool(self.followers) or self.pulled > 0


class Subscribers:
    """The readers of the changes of a database's views."""

    def __init__(self, access: Access, logging: Logging) -> None:
        self._access, self._logging = access, logging
        logging.before_unlogged = lambda view: self.evaluate_held(view, is_told_on=True)
        self._watched: dict[str, Watched] = {}
        self._queue: deque[tuple[Subscription, Change]] = deque()
        self._telling = Turn()
        #: Views whose last reader left inside a transaction, where the program stays as it is.
        self._left: set[str] = set()

    # -- what a commit calls

    def note(self, version: int) -> dict[str, Change]:
        """Take what the change that was just stored did to the views that have readers; the state is locked."""
        changes: dict[str, Change] = {}
        for name, watched in self._watched.items():
            change = watched.trail.note(version)
            if change is not None:
                changes[name] = change
                watched.history.add(change)
                self._queue.extend([(subscription, change) for subscription in watched.subscriptions])
                for noted in watched.followers:
                    noted.append(change)
        return changes

    @property
    def watched(self) -> tuple[str, ...]:
        """The views that have readers."""
        return tuple(self._watched)

    def withdraw(self, version: int) -> None:
        """Forget the changes after ``version``: they are undone, or noted once more; the state is locked."""
        while self._queue and self._queue[-1][1].version > version:
            self._queue.pop()  # nobody is telling it: it was not committed
        for watched in self._watched.values():
            watched.history.withdraw(version)
            watched.trail.withdraw(version)
            for noted in watched.followers:
                while noted and noted[-1].version > version:
                    noted.pop()

    def miss(self, version: int) -> None:
        """A change may be stored that was not noted: histories begin anew, and the next patch is the whole document."""
        for view, watched in self._watched.items():
            self.evaluate_held(view)
            watched.history = History(view, version)
            watched.resize()

    def deliver(self) -> None:
        """Tell what is queued; no lock is held. If it is being told already, whoever does so goes on with it."""
        # Who finds the turn taken leaves what it queued to the one who has it, who looks again after giving it back.
        while self._is_due() and self._telling.take():
            self._telling.run(self._tell)
        if self._left:
            self._drop_left()

    def _is_due(self) -> bool:
        """Whether the next change in the queue is committed: one is queued just before it is."""
        if not self._queue:
            return False
        try:
            return self._queue[0][1].version <= self._access.version
        except IndexError:
            return False  # another thread has told it

    def _tell(self) -> None:
        while self._is_due():
            subscription, change = self._queue.popleft()
            if subscription.active:
                subscription.tell(change)

    # -- what a reader calls

    def subscribe(
        self, view: str, function: Told, history: int = 0, on_error: OnError | None = None
    ) -> Subscription:
        """Tell ``function`` of every change of ``view`` that is committed from now on."""
        _check_callable("a subscriber", function)
        if on_error is not None:
            _check_callable("on_error", on_error)
        subscription = Subscription(self.cancel, view, function, _count("history", history), on_error)
        with self._access.defining("subscriptions"):
            watched = self._watch(view)
            watched.subscriptions = (*watched.subscriptions, subscription)
            watched.resize()
        return subscription

    def follow(self, view: str) -> deque[Change]:
        """The changes of ``view`` from now on, as they are noted: who takes them holds the state locked, and so has all
        that led to it, of this view and of others.
        """
        with self._access.defining("subscriptions"):
            watched = self._watch(view)
            noted: deque[Change] = deque()
            watched.followers = (*watched.followers, noted)
        return noted

    def leave(self, view: str, noted: deque[Change]) -> None:
        """Follow a view no more."""
        if isinstance(self._access.state, Closed):
            return
        with self._access.reading():
            watched = self._watched.get(view)
            if watched is not None:
                watched.followers = tuple(each for each in watched.followers if each is not noted)
                self._drop_if_unread(view)

    def cancel(self, subscription: Subscription) -> None:
        """Tell a subscriber no more."""
        subscription.active = False
        if isinstance(self._access.state, Closed):
            return
        with self._access.reading():
            watched = self._watched.get(subscription.view)
            if watched is not None and subscription in watched.subscriptions:
                watched.subscriptions = tuple(s for s in watched.subscriptions if s is not subscription)
                watched.resize()
                self._drop_if_unread(subscription.view)

    def changes_since(self, view: str, since: int | None, history: int | None) -> list[Change]:
        """The changes of ``view`` after ``since``; as many as ``history`` are kept from now on, none if it is 0."""
        if since is not None:
            _count("since", since)
        wanted = None if history is None else _count("history", history)
        with self._watching(view):
            if since is not None and since > self._access.version:
                raise NestlingError(
                    f"the database is at version {self._access.version}, not yet at {since}",
                    hint="was it opened from another file? Read the view anew",
                )
            if wanted == 0 and view not in self._watched:
                self._check_view(view)
                return []
            watched = self._watch(view)
            if wanted or not watched.pulled:
                watched.pulled = max(watched.pulled, KEPT) if wanted is None else wanted
                watched.resize()
            try:
                return watched.history.after(since)
            finally:
                if wanted == 0:
                    watched.pulled = 0
                    watched.resize()
                    self._drop_if_unread(view)

    def document(self, view: str) -> Document:
        """A view as JSON has it, in the order that patches address."""
        with self._access.reading():
            self._check_view(view)
            self._check_committed()
            watched, state = self._watched.get(view), self._access.state
            with state.computing(view):
                found = watched.trail.document() if watched is not None else None
                if found is None:
                    found = model_of(self._logging, view).document()
            return Document(found, self._access.version)

    def evaluate_held(self, view: str, is_told_on: bool = False) -> None:
        """Evaluate the changes of a view that somebody holds: it is not logged any more, or in another way."""
        if view in self._watched:
            self._watched[view].trail.end(is_told_on)

    def forget(self, view: str) -> None:
        """A view was dropped, and with it all that is kept for its readers."""
        self._watched.pop(view, None)
        self._left.discard(view)

    # -- which views are logged

    def _watch(self, view: str) -> Watched:
        watched = self._watched.get(view)
        if watched is None:
            self._check_view(view)
            self._drop_left()
            self._logging.start(view)
            version = self._access.version
            watched = self._watched[view] = Watched(
                Trail(self._access, self._logging, view, version), version
            )
        return watched

    def _check_view(self, view: str) -> None:
        if view not in self._access.state.views:
            raise QueryError(f"there is no view {view!r}", hint=known(self._access.state.views))

    def _drop_if_unread(self, view: str) -> None:
        if not self._watched[view].has_readers:
            self.evaluate_held(view)
            del self._watched[view]
            self._left.add(view)
            self._drop_left()

    def _drop_left(self) -> None:
        """Stop logging the views that nobody reads any more, unless a transaction is open."""
        with self._access.reading():
            while self._left and not self._in_transaction():
                self._logging.stop(self._left.pop())

    def _watching(self, view: str) -> AbstractContextManager[None]:
        """A block in which a view may get its first reader, who then hears of whole commits only."""
        return self._access.reading() if view in self._watched else self._access.defining("subscriptions")

    def _in_transaction(self) -> bool:
        return self._access.open is not None

    def _check_committed(self) -> None:
        """A document is of a version: of what is committed."""
        if self._access.own is not None:
            raise QueryError("a document is read outside transactions", hint="before this one, or after it")


def _check_callable(what: str, function: Any) -> None:
    if not callable(function):
        raise QueryError(
            f"{what} is a function, not {shown(function)}",
            hint="view.subscribe(lambda change: print(change.inserted))",
        )


def _count(what: str, number: Any) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= maxsize:
        raise QueryError(f"{what} is a number from 0 on, not {shown(number)}", hint=f"{what}=1000")
    return number
