"""A database in a file: definitions, a snapshot of tables and maps, and a log of the changes since.

Law (7, durable): a reopened database gives the answers that it gave when its last change was acknowledged. Views are
not recomputed: their maps are read from the snapshot, and the triggers run on the changes since; lazy views get their
pending changes back. Definitions are stored as types and as text of the calculus, which is parsed and never executed.

A new definition is stored together with a snapshot, so that every change in the log was made under the definitions
that are read before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain, count
from pathlib import Path
from typing import Any

from nestling.calculus.fixpoint import Fixpoint
from nestling.database.backing import Definition
from nestling.database.dangling import without_dangling
from nestling.database.definitions import TableDef
from nestling.database.journal import Journal
from nestling.database.lazy import LazyView
from nestling.database.maps import LATER, MADE, NEXT, TABLE, WAITING, map_name
from nestling.database.recursion_texts import fixpoint_text, read_recursion
from nestling.database.reopen import Reopening
from nestling.database.row_state import RowState
from nestling.database.state import State
from nestling.database.texts import check_storable, read_table, read_view, table_text, view_text
from nestling.database.xml.definition import XQueryDef, check_kept, read_xquery, xquery_text
from nestling.engine.protocol import Engine
from nestling.errors import StoreError
from nestling.storage.codec import encode
from nestling.storage.file import FileStore
from nestling.storage.format import damaged

KINDS = ("table", "recursion", "view", "constraint", "xquery")
#: How often the size of the log is looked at.
EVERY = 256

#: The parts of a snapshot: the texts of keys and payloads.
Parts = Iterator[tuple[str, Iterator[tuple[str, str]]]]


class DatabaseFile:
    """The file behind a database."""

    def __init__(self, path: str | Path, opened: Callable[[Path], Any] = FileStore.open) -> None:
        self.store: FileStore = opened(Path(path))
        #: Names of the bags that no key names.
        self.numbers = count()
        self.version = 0

    def load(self, state: RowState) -> None:
        """Bring ``state`` to where the file is."""
        for kind, name, text in self.store.definitions():
            with self._blaming(f"the definition of {kind} {name!r:.60}"):
                self._define(state, kind, name, text)
        with self._blaming("the definitions"):
            state.install()
        reopening = Reopening(state)
        self.version, chunks = self.store.read_chunks()
        with self._blaming("the snapshot"):
            reopening.snapshot(chunks)
        for number, text in self.store.read_log(self.version):
            with self._blaming(f"change {number}"):
                reopening.replay(text)
            self.version = number
        self.numbers = count(reopening.next_number)
        without_dangling(state, self.store.path)

    def _define(self, state: RowState, kind: str, name: str, text: str) -> None:
        if kind not in KINDS:
            raise StoreError(f"there is no {kind!r:.40} in a database", hint="upgrade nestling")
        if name in state.tables or name in state.views or name in state.xqueries:
            raise StoreError("the name is taken")
        if kind == "xquery":
            found = read_xquery(name, text)
            check_kept(found, state.tables, state.views)
            state.xqueries[name] = found
        elif kind == "table":
            state.tables[name] = read_table(name, text, state.tables)
        elif kind == "recursion":
            made = read_recursion(name, text, state)
            state.tables[name], state.recursions[name] = made.table, made
        else:
            state.define(*read_view(name, text, state), constraint=kind == "constraint")

    @contextmanager
    def _blaming(self, part: str) -> Iterator[None]:
        """Say of an error inside what in which file it is about."""
        try:
            yield
        except StoreError as error:
            if str(self.store.path) in error.what:
                raise
            raise damaged(self.store.path, f"{part} makes no sense: {error.what}") from error
        except RecursionError as error:
            raise damaged(self.store.path, f"{part} nests too deeply") from error

    def define(self, kind: str, definition: Definition, state: State) -> None:
        """Store a definition, and all there is under it."""
        self.redefine([(kind, definition)], [], state)

    def redefine(
        self, new: Iterable[tuple[str, Definition]], gone: Iterable[tuple[str, str]], state: State
    ) -> None:
        """Store definitions and forget others, all at once, and store all there is under them."""
        texts = [(kind, definition.name, self._text(definition, state)) for kind, definition in new]

        def redefine() -> None:
            for kind, name in gone:
                self.store.drop_definition(kind, name)
            for kind, name, text in texts:
                self.store.put_definition(kind, name, text)
            self._snapshot(state)

        self.store.atomically(redefine)

    def _text(self, definition: Definition, state: State) -> str:
        if isinstance(definition, XQueryDef):
            return xquery_text(definition)
        if isinstance(definition, Fixpoint):
            return fixpoint_text(definition)
        text = table_text(definition) if isinstance(definition, TableDef) else view_text(definition, state)
        check_storable(definition, text, state)
        return text

    def define_again(self, names: Iterable[str], state: State) -> None:
        """Store how some views are stored from now on, and what there is under that."""
        texts = {name: view_text(state.definitions[name], state) for name in names}

        def define() -> None:
            for name, text in texts.items():
                kind = "constraint" if state.views[name].is_constraint else "view"
                self.store.put_definition(kind, name, text)
            self._snapshot(state)

        self.store.atomically(define)

    def save(self, state: State) -> None:
        """Store all definitions and all there is, in a file with nothing in it."""
        kinds = {name: "constraint" if view.is_constraint else "view" for name, view in state.views.items()}
        recursions = state.recursions if isinstance(state, RowState) else {}
        tables = [table for name, table in state.tables.items() if name not in recursions]
        new: list[tuple[str, Definition]] = [("table", table) for table in tables]
        new += [("recursion", each.fixpoint) for each in recursions.values()]
        new += [(kinds[name], view) for name, view in state.definitions.items()]
        self.redefine([*new, *(("xquery", query) for query in state.xqueries.values())], [], state)

    def take_up(self) -> None:
        """It is read once."""

    def doubting(self) -> AbstractContextManager[None]:
        """What is cut off is undone here, and in the file."""
        return nullcontext()

    def append(self, journal: Journal) -> None:
        """Store a change; it survives whatever happens next once this returns."""
        self.version = self.store.append(
            encode(tuple(tuple(event) for event in (*journal.events, *journal.derived)))
        )

    def has_stored(self, version: int) -> bool:
        """Whether the file has a change after ``version``: after an interrupt, whether it was committed."""
        self.version = self.store.stored_version()
        return self.version > version

    @property
    def edits(self) -> int:
        """How often definitions in the file have changed."""
        return self.store.edits

    def tidy(self, state: State) -> None:
        """Write a snapshot where the log has become longer than it is worth."""
        if self.version % EVERY == 0 and self.store.stats().snapshot_due:
            self._snapshot(state)

    def _snapshot(self, state: State) -> None:
        self.store.write_snapshot(self.version, chain(self._next_number(), _contents(state)))

    def _next_number(self) -> Parts:
        """The number that the next label without a key may have; the one drawn here stays unused."""
        yield NEXT, iter([(encode(0), encode(next(self.numbers)))])

    def close(self) -> None:
        self.store.close()


def _contents(state: State) -> Parts:
    for name in state.engine.program.tables:
        rows = state.engine.table(name).items()
        yield TABLE + name, ((encode(row), encode(times)) for row, times in rows)
    for name, decl in state.engine.program.maps.items():
        if decl.role == "watch":
            continue
        stored = map_name(decl)
        # Said of every map, so that an empty one is told from one that was not kept.
        yield MADE + stored, iter([(encode(0), encode(0))])
        yield stored, _cells(state.engine, name)
    for name, policy in state.views.lazy.items():
        if isinstance(policy.engine, LazyView):
            yield from _later(name, policy.engine)


def _later(name: str, view: LazyView) -> Parts:
    """A view that is refreshed later: its maps, and what they have not seen. The first entry says which maps."""
    maps = {own: map_name(d) for own, d in view.engine.program.maps.items() if d.role != "watch"}
    changes = ((encode(change), encode(times)) for change, times in view.pending.items())
    yield WAITING + name, iter([(encode(()), encode(tuple(maps.values()))), *changes])
    for own, stored in maps.items():
        yield f"{LATER}{name} {stored}", _cells(view.engine, own)


def _cells(engine: Engine, name: str) -> Iterator[tuple[str, str]]:
    return ((encode(key), encode(cell)) for key, cell in engine.cells(name).items())
