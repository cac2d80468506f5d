"""A database in a file: definitions, a snapshot of tables and maps, and a log of the changes since.

Law (7, durable): what a database answers after it is reopened is what it answered when its last change was
acknowledged. Views are not computed anew: their maps come from the snapshot, and the changes since are run through
their triggers; views that are refreshed later come back with what they have not seen yet. Definitions are stored as
types and as text of the calculus, which is parsed and never executed.

A new definition is stored together with a snapshot, so that every change in the log was made under the definitions
that are read before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

from nestling.calculus.parse import parse
from nestling.calculus.show import show
from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.database.bulk import identity
from nestling.database.definitions import TableDef, ViewDef
from nestling.database.lazy import LazyView
from nestling.database.rows import Event
from nestling.database.state import State
from nestling.database.storing import as_data
from nestling.engine.local.engine import LocalEngine
from nestling.errors import NestlingError, StoreError
from nestling.storage.codec import decode, encode
from nestling.storage.file import FileStore
from nestling.values.label import Label

#: How often the size of the log is looked at.
EVERY = 256
WIDTH = 1_000_000

#: What a snapshot has, by the name of what it is of.
Contents = dict[str, dict[Any, Any]]


class Durable:
    """The file behind a database."""

    def __init__(self, path: str | Path) -> None:
        self.store = FileStore.open(path)
        self.constraints: set[str] = set()
        self.version = 0

    def load(self, state: State) -> None:
        """Bring ``state`` to where the file is."""
        for kind, name, text in self.store.definitions():
            if kind == "table":
                state.tables[name] = read_table(name, text)
            else:
                state.define(*read_view(name, text, state))
                self.constraints |= {name} if kind == "constraint" else set()
        state.install()
        at, rows = self.store.read_snapshot()
        self._load_snapshot(state, rows)
        self.version = at
        for number, text in self.store.read_log(at):
            events = [Event(*event) for event in decode(text)]
            for event in events:
                state.engine.apply(*event)
            state.committed(events)
            self.version = number

    def _load_snapshot(self, state: State, rows: Iterator[tuple[str, str, str]]) -> None:
        contents: Contents = {}
        for name, key, payload in rows:
            contents.setdefault(name, {})[decode(key)] = decode(payload)
        for name in state.engine.program.tables:
            state.engine.load_table(name, contents.get(f"table {name}", {}))
        maps = {name: map_name(decl) for name, decl in state.engine.program.maps.items()}
        if not contents:
            return
        if all(f"made {stored}" in contents for stored in maps.values()):
            for name, stored in maps.items():
                state.engine.load_map(name, contents.get(stored, {}))
        else:
            # Another version of Nestling keeps other maps for the same views.
            state.rebuild()
        for name in list(state.views):
            if f"waiting {name}" in contents:
                _restore_later(name, state, contents)

    def define(self, kind: str, definition: TableDef | ViewDef, state: State) -> None:
        """Store a definition, and all there is under it."""
        text = table_text(definition) if isinstance(definition, TableDef) else view_text(definition, state)

        def define() -> None:
            self.store.put_definition(kind, definition.name, text)
            self._snapshot(state)

        self.store.atomically(define)

    def drop(self, kind: str, name: str, state: State) -> None:
        """Forget a definition."""

        def drop() -> None:
            self.store.drop_definition(kind, name)
            self._snapshot(state)

        self.store.atomically(drop)

    def append(self, events: Iterable[Event]) -> int:
        """Store a change; it survives whatever happens next once this returns."""
        self.version = self.store.append(encode(tuple(tuple(event) for event in events)))
        return self.version

    def stored_version(self) -> int:
        """The version that is in the file now: after an interrupt it says whether the change was committed."""
        self.version = self.store.stored_version()
        return self.version

    @property
    def edits(self) -> int:
        """How often definitions in the file have changed."""
        return self.store.edits

    def tidy(self, state: State) -> None:
        """Write a snapshot where the log has become longer than it is worth."""
        if self.version % EVERY == 0 and self.store.stats().snapshot_due:
            self._snapshot(state)

    def _snapshot(self, state: State) -> None:
        self.store.write_snapshot(self.version, _contents(state))

    def close(self) -> None:
        self.store.close()


def _contents(state: State) -> Iterator[tuple[str, Iterator[tuple[str, str]]]]:
    for name in state.engine.program.tables:
        rows = state.engine.table(name).items()
        yield f"table {name}", ((encode(row), encode(times)) for row, times in rows)
    for name, decl in state.engine.program.maps.items():
        if decl.role == "watch":
            continue
        stored = map_name(decl)
        # Said of every map, so that an empty one is told from one that was not kept.
        yield f"made {stored}", iter([(encode(0), encode(0))])
        yield stored, _cells(state.engine, name)
    for name, view in state.lazy.items():
        yield from _later(name, view)


def _later(name: str, view: LazyView) -> Iterator[tuple[str, Iterator[tuple[str, str]]]]:
    """A view that is refreshed later: its maps, and what they have not seen. The first entry says which maps."""
    maps = {own: map_name(d) for own, d in view.engine.program.maps.items() if d.role != "watch"}
    changes = ((encode(change), encode(times)) for change, times in view.pending.items())
    yield f"waiting {name}", iter([(encode(()), encode(tuple(maps.values()))), *changes])
    for own, stored in maps.items():
        yield f"later {name} {stored}", _cells(view.engine, own)


def _restore_later(name: str, state: State, contents: Contents) -> None:
    """Bring such a view to where it was; if it kept other maps, it starts from the tables when it is read."""
    waiting = contents[f"waiting {name}"]
    kept = waiting.pop(())
    maps = {own: map_name(d) for own, d in state.started_later(name).engine.program.maps.items()}
    if set(maps.values()) <= set(kept):
        found = {own: contents.get(f"later {name} {stored}", {}) for own, stored in maps.items()}
        state.restore_later(name, found, waiting)


def _cells(engine: LocalEngine, name: str) -> Iterator[tuple[str, str]]:
    return ((encode(key), encode(cell)) for key, cell in engine.cells(name).items())


def map_name(decl: Any) -> str:
    """A name that depends on what the map holds, and not on how it is called."""
    return "map " + blake2b(repr(identity(decl)).encode(), digest_size=16).hexdigest()


def largest_number(state: State) -> int:
    """The largest number that a label without a key has; new labels come after it."""
    labels = (
        str(value.environment[0])
        for name in state.engine.program.tables
        for row in state.engine.table(name)
        for value in row
        if isinstance(value, Label)
    )
    # A key may look like a number that was given to a label; then some numbers are left out.
    return max((int(label[1:]) for label in labels if re.fullmatch(r"#[0-9]+", label)), default=-1)


def table_text(table: TableDef) -> str:
    return json.dumps({
        "record": _type_json(table.record), "key": table.key,
        "references": table.references, "append_only": table.append_only,
    })  # fmt: skip


def view_text(view: ViewDef, state: State) -> str:
    text = show(view.query, width=WIDTH)
    decision = state.decisions.get(view.name)
    stored = as_data(decision) if decision else None
    return json.dumps({"query": text, "refresh": view.refresh, "store": view.store, "stored": stored})


def read_table(name: str, text: str) -> TableDef:
    stored = _loaded(text, name)
    record = _json_type(stored["record"])
    if not isinstance(record, Record):
        raise StoreError(f"the definition of table {name!r} is damaged")
    references = tuple((tuple(names), table) for names, table in stored["references"])
    return TableDef(name, record, tuple(stored["key"]), references, stored["append_only"])


def read_view(name: str, text: str, state: State) -> tuple[ViewDef, dict[str, Any] | None]:
    stored = _loaded(text, name)
    catalog = {table.name: Bag(table.record) for table in state.tables.values()}
    try:
        query = parse(stored["query"], catalog)
    except NestlingError as error:
        raise StoreError(f"the definition of view {name!r} cannot be read: {error}") from error
    # A file from before views were stored by cost does not say how this one was.
    return ViewDef(name, query, stored["refresh"], stored["store"]), stored.get("stored")


def _loaded(text: str, name: str) -> dict[str, Any]:
    try:
        stored: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise StoreError(f"the definition of {name!r} is damaged: {error}") from error
    return stored


def _type_json(type_: Type) -> Any:
    match type_:
        case Scalar(name, null, size):
            sized = f"{name}({','.join(map(str, size))})" if size else name
            return f"{sized}?" if null else sized
        case Record(fields):
            return {"record": [[name, _type_json(field)] for name, field in fields]}
        case Bag(element):
            return {"bag": _type_json(element)}
    raise StoreError(f"a table has no column of type {type_}")


def _json_type(stored: Any) -> Type:
    match stored:
        case str():
            name, _, size = stored.rstrip("?)").partition("(")
            return Scalar(name, stored.endswith("?"), tuple(map(int, size.split(","))) if size else ())
        case {"record": fields}:
            return Record(tuple((name, _json_type(field)) for name, field in fields))
        case {"bag": element}:
            return Bag(_json_type(element))
    raise StoreError(f"no type is written {stored!r}")
