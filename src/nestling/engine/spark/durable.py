"""Moments in a lake: loading them, adding an epoch, and moving what has gathered into files.

Changes gather in the log, and on the driver as one Arrow table per source, until there are many; then they become
Parquet files. Where the files of changes outgrow a tenth of their base, both are summed into a new base, sorted by
key, so that a look-up reads few row groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from nestling.engine.spark.columns import Layout
from nestling.engine.spark.relations import summed
from nestling.engine.spark.session import python_errors
from nestling.engine.spark.state import Moment, Part, Stored, register_frame
from nestling.storage.lake import Lake, Relation

Definitions = tuple[tuple[str, str, str], ...]

#: When changes leave the log: this many epochs, or this many rows of one source.
EPOCHS, ROWS = 64, 20_000
#: When the files of changes become part of the base.
FILES, LEAST = 16, 100_000
#: Bytes of a group of rows: what a look-up by key reads at least.
GROUP = 2_000_000


class Durable:
    """The lake behind an engine. ``keys`` says under which name the lake has each source."""

    def __init__(
        self, lake: Lake, session: Any, layouts: Mapping[str, Layout], keys: Mapping[str, str]
    ) -> None:
        self.lake, self.session, self.layouts, self.keys = lake, session, layouts, keys
        #: What was stored with the last change.
        self.note: Mapping[str, Any] = lake.manifest.note

    def load(self) -> dict[str, Stored]:
        """What is stored, of the sources that the lake has."""
        import pyarrow as pa

        recent: dict[str, list[Any]] = {}
        for note, changes in self.lake.replay():
            self.note = note
            for key, table in changes.items():
                recent.setdefault(key, []).append(table)
        found = {}
        for name, key in self.keys.items():
            relation = self.lake.manifest.relations.get(key)
            if relation is not None:
                tables = recent.get(key)
                found[name] = Stored(self.parts(name, relation), pa.concat_tables(tables) if tables else None)
        return found

    def parts(self, name: str, relation: Relation) -> tuple[Part, ...]:
        if not relation.files:
            return ()
        paths = [str(self.lake.path / file) for file in relation.files]
        return (self.part(name, paths, relation.rows, relation.files),)

    def part(self, name: str, paths: list[str], rows: int, files: tuple[str, ...]) -> Part:
        columns = ", ".join(f"{column} {type_}" for column, type_ in self.layouts[name].sql)
        return register_frame(self.session.read.schema(columns).parquet(*paths), rows, files)

    def append(self, note: Mapping[str, Any], moment: Moment) -> None:
        """Store what was added; it lasts once this returns."""
        import pyarrow as pa

        changes = {
            self.keys[n]: pa.concat_tables(tables) for n, tables in moment.added.items() if n in self.keys
        }
        self.lake.append(note, changes)
        self.note = note

    def passing(self, name: str) -> str:
        """A folder for rows that are needed until the next commit."""
        return str(self.lake.folder(f"passing {name}") / _fresh())

    def write(self, name: str, text: str) -> Part:
        """The rows of a query as files, sorted by key: what a big change adds to ``name``."""
        stays = name in self.keys
        folder = self.lake.folder(self.keys[name]) / _fresh() if stays else Path(self.passing(name))
        with python_errors():
            frame = self.session.sql(text)
            if name in self.layouts and self.layouts[name].keys:
                frame = frame.sort(*self.layouts[name].key_names)
            frame.write.mode("overwrite").option("parquet.block.size", GROUP).parquet(str(folder))
        files = self.lake.adopt(folder)
        paths = [str(self.lake.path / file) for file in files]
        rows = sum(map(_rows, paths))
        return register_frame(self.session.read.schema(frame.schema).parquet(*paths), rows, files)

    # -- tidying

    def is_due(self, moment: Moment) -> bool:
        """Whether changes should leave the log."""
        return self.lake.logged >= EPOCHS or any(s.recent_rows > ROWS for s in moment.stored.values())

    def tidy(self, moment: Moment, definitions: Definitions | None = None) -> Moment:
        """Move all changes into files, and sum those that have gathered."""
        relations = {self.keys[name]: self.flushed(name, moment) for name in self.keys}
        kept = self.lake.manifest.definitions if definitions is None else definitions
        self.lake.commit(relations, kept, self.note)
        stored = dict(moment.stored)
        for name, key in self.keys.items():
            before = moment.stored[name]
            if (
                before.recent_rows
                or tuple(p for part in before.files for p in part.paths) != relations[key].files
            ):
                stored[name] = Stored(self.parts(name, relations[key]))
        return moment.kept_as(stored)

    def flushed(self, name: str, moment: Moment) -> Relation:
        """The files of a source, with what was added since."""
        key, stored = self.keys[name], moment.stored[name]
        known = self.lake.manifest.relations.get(key, Relation())
        held = [path for part in stored.files for path in part.paths]
        if not set(known.files) <= set(held):
            known = Relation()  # its rows were replaced
        fresh = tuple(path for path in held if path not in known.files)
        base, rows = known.base, known.base_rows
        changes = (*known.changes, *fresh) if known.files else known.changes
        if fresh and not known.files:
            base, rows = fresh, sum(_rows(str(self.lake.path / file)) for file in fresh)
        if stored.recent_rows:
            changes = (*changes, self.lake.write_changes(key, stored.recent))
        change_rows = sum(_rows(str(self.lake.path / file)) for file in changes)
        relation = Relation(base, changes, rows, change_rows)
        if len(changes) > FILES or change_rows > max(LEAST, rows // 10):
            return self.merged(name, moment)
        return relation

    def merged(self, name: str, moment: Moment) -> Relation:
        """One base for all there is, sorted by key."""
        part = self.write(name, summed(moment.raw(name), self.layouts[name]))
        self.session.catalog.dropTempView(part.view)  # a moment names all files of a source at once
        return Relation(part.paths, (), part.rows, 0)


def _fresh() -> str:
    """A name that no folder had: epochs and engines come and go, and files that are read stay as they are."""
    return f"rows-{uuid4().hex}"


def _rows(path: str) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)
