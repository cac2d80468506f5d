"""Who is told of the changes of XQuery views, and with what patch.

A commit says which rows of the hidden views of a watched view came and went: only these are written anew.
"""

from __future__ import annotations

from collections import deque

from nestling.database.change import Change
from nestling.database.subscription import OnError, Subscription, Told
from nestling.database.turn import Turn
from nestling.database.xml.definition import XQueryDef
from nestling.database.xml.host import DocumentHost
from nestling.database.xml.reading import XmlReader
from nestling.database.xml.watched import WatchedModel
from nestling.errors import NestlingError
from nestling.values.bag import EMPTY, ZBag
from nestling.xml.patch import PatchOperation
from nestling.xml.patch_updates import updates_of


class XmlChange:
    """The change of one XQuery view: the operations that lead from the text before to the one after.

    ``is_rooted`` says that the query makes one element, ``<r>…</r>``, which selectors begin with. The items of another
    query are changed as if they stood inside an element.
    """

    __slots__ = ("is_rooted", "operations", "version", "view")

    def __init__(
        self, view: str, version: int, operations: tuple[PatchOperation, ...], is_rooted: bool
    ) -> None:
        self.view, self.version, self.operations, self.is_rooted = view, version, operations, is_rooted

    def to_xml_patch(self) -> str:
        """The change as a patch of RFC 5261."""
        return f"<diff>{''.join(map(str, self.operations))}</diff>"

    def to_updates(self) -> str:
        """The change as one XQuery Update: all its targets are found on the text before."""
        return updates_of(self.operations)

    def __repr__(self) -> str:
        return f"XmlChange({self.view}, version {self.version}, {len(self.operations)} operations)"


class XmlWatch:
    """The readers of the changes of one view."""

    def __init__(self, database: DocumentHost, definition: XQueryDef) -> None:
        self.database, self.definition = database, definition
        self.subscriptions: tuple[Subscription, ...] = ()
        self.kept: deque[XmlChange] = deque(maxlen=0)
        self.since = database.version
        #: What was noted of each hidden view, and is not told yet.
        self._noted = [database._subscribers.follow(view.name) for view in definition.views]
        self._is_behind = False
        self._model = self._filled()

    def _filled(self) -> WatchedModel:
        """The view as it is; what was committed before is in it already."""
        database, definition = self.database, self.definition
        model = WatchedModel(definition.translated.template)
        with database._access.reading():
            bags = [database._state.read(view.name) for view in definition.views]
            model.fill(dict(enumerate(bags)), self._reader())
            self._at = database.version
        return model

    def _reader(self) -> XmlReader:
        documents, access = self.database._documents, self.database._access
        return XmlReader([], lambda name: documents.store(name, access.own))

    @property
    def is_due(self) -> bool:
        return self._is_behind or any(map(self._is_committed, self._noted))

    def _is_committed(self, noted: deque[Change]) -> bool:
        """Whether there is a change that is committed: one is noted just before it is."""
        try:
            return noted[0].version <= self.database.version
        except IndexError:
            return False

    def miss(self) -> None:
        """A change may be stored that nobody was told of: the next patch is found by comparing all there is."""
        self._is_behind = True

    def deliver(self) -> None:
        """Tell what has changed; one thread at a time comes here."""
        operations = self._caught_up() if self._is_behind else self._followed()
        if not operations:
            return
        change = XmlChange(self.definition.name, self._at, tuple(operations), self._model.is_rooted)
        self.kept.append(change)
        for subscription in self.subscriptions:
            if subscription.active:
                subscription.tell(change)  # type: ignore[arg-type]

    def _followed(self) -> list[PatchOperation]:
        """What the rows that came and went change: all of them that led to the state as it is, which is locked.

        So the documents that rows are copied from are those of the rows.
        """
        rows: dict[int, ZBag] = {}
        with self.database._access.reading():
            before, self._at = self._at, self.database.version
            for number, noted in enumerate(self._noted):
                while self._is_committed(noted):
                    change = noted.popleft()
                    if change.version > before:
                        rows[number] = rows.get(number, EMPTY) + change.whole()
            return self._model.change(rows, self._reader()) if rows else []

    def _caught_up(self) -> list[PatchOperation]:
        """What has changed since it was last told."""
        before, self._is_behind = self._model, False
        self._model = self._filled()
        with self.database._access.reading():
            return self._model.difference(before, self._reader())

    def resize(self, kept: int) -> None:
        """Keep as many changes as any reader asks for."""
        most = max(kept, self.kept.maxlen or 0, *(each.history for each in self.subscriptions), 0)
        if most != self.kept.maxlen:
            self.kept = deque(self.kept, maxlen=most)

    def end(self) -> None:
        for view, noted in zip(self.definition.views, self._noted, strict=True):
            self.database._subscribers.leave(view.name, noted)


class XmlWatches:
    """The subscribers of XQuery views."""

    def __init__(self, database: DocumentHost) -> None:
        self._database = database
        self._watched: dict[str, XmlWatch] = {}
        self._telling = Turn()

    def deliver(self) -> None:
        """Tell what has changed since it was last told; if that is being told already, whoever does so goes on."""
        while self._watched and self._due() and self._telling.take():
            self._telling.run(self._tell)

    def _tell(self) -> None:
        for watch in self._due():
            watch.deliver()

    def _due(self) -> list[XmlWatch]:
        return [watch for watch in tuple(self._watched.values()) if watch.is_due]

    def miss(self) -> None:
        """A change may be stored that was not noted."""
        for watch in self._watched.values():
            watch.miss()

    def subscribe(
        self, definition: XQueryDef, function: Told, history: int = 0, on_error: OnError | None = None
    ) -> Subscription:
        """Tell ``function`` of every change from now on."""
        watch = self._watch(definition)
        subscription = Subscription(self._cancel, definition.name, function, history, on_error)
        watch.subscriptions = (*watch.subscriptions, subscription)
        watch.resize(0)
        return subscription

    def changes(self, definition: XQueryDef, since: int | None, history: int) -> list[XmlChange]:
        """The changes after ``since`` that are kept."""
        watch = self._watch(definition)
        watch.resize(history)
        found = list(watch.kept)
        if since is not None and since < watch.since:
            raise NestlingError(
                f"the changes of {definition.name} are kept since version {watch.since}",
                hint="read the view anew",
            )
        return found if since is None else [change for change in found if change.version > since]

    def forget(self, view: str) -> None:
        """A view was dropped."""
        self._watched.pop(view, None)

    def _watch(self, definition: XQueryDef) -> XmlWatch:
        found = self._watched.get(definition.name)
        if found is None:
            found = self._watched[definition.name] = XmlWatch(self._database, definition)
        return found

    def _cancel(self, subscription: Subscription) -> None:
        subscription.active = False
        watch = self._watched.get(subscription.view)
        if watch is None:
            return
        watch.subscriptions = tuple(each for each in watch.subscriptions if each is not subscription)
        if not watch.subscriptions and not watch.kept.maxlen:
            watch.end()
            del self._watched[subscription.view]
