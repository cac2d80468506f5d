"""The engine's state in a lake: loading it, appending an epoch, flushing the log, and merging files.

Recent changes are in the log, and on the driver as one Arrow table per source, until there are many; then they are
flushed to Parquet files. Files of changes are merged with one another, and with their base, between changes and beside
them (``compaction``), sorted by key, so that a look-up reads few row groups.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from nestling.engine.spark import limits
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.compactor import Compactor
from nestling.engine.spark.jobs import WORK, described_jobs
from nestling.engine.spark.merging import group_rows, has_keys_once, in_order, summed_here
from nestling.engine.spark.session import python_errors
from nestling.engine.spark.state import LakeState, SourceRows, TempView, register_frame, unregistered
from nestling.engine.spark.types import arrow_schema
from nestling.engine.spark.written import by_rows, has_plain_names, written, written_and_checked
from nestling.errors import StoreError
from nestling.storage.lake import DataFile, Lake, RelationFiles
from nestling.storage.lake.files import footer

Definitions = tuple[tuple[str, str, str], ...]


_COPY = "restore it from a copy"


class EngineLake:
    """The lake behind an engine. ``keys`` maps each source to its relation in the lake."""

    def __init__(
        self, lake: Lake, session: Any, layouts: Mapping[str, Layout], keys: Mapping[str, str]
    ) -> None:
        self.lake, self.session, self.layouts, self.keys = lake, session, layouts, dict(keys)
        #: What was stored with the last change.
        self.note: Mapping[str, Any] = lake.manifest.note
        #: The relations of the lake that had rows when it was loaded, whoever they belong to.
        self.held: set[str] = set()
        #: Files by their names: their rows and bytes are known once.
        self.files: dict[str, DataFile] = {}
        self._compactor = Compactor(self)

    def load(self, but: Collection[str] = ()) -> dict[str, SourceRows]:
        """The stored sources, of those that the lake has; ``but`` those that are given other rows."""
        import pyarrow as pa

        recent: dict[str, list[Any]] = {}
        emptied: set[str] = set()
        for epoch in self.lake.replay():
            self.note = epoch.note
            for key in epoch.emptied:
                emptied.add(key)
                recent.pop(key, None)
            for key, table in epoch.changes.items():
                recent.setdefault(key, []).append(table)
        in_files = {key for key, relation in self.lake.manifest.relations.items() if relation.rows}
        self.held = (in_files - emptied).union(recent)
        found = {}
        for name, key in self.keys.items():
            relation = None if name in but else self.lake.manifest.relations.get(key)
            if relation is not None:
                relation = self._check(name, relation, recent.get(key, ()))
                tables = recent.get(key)
                files = () if key in emptied else self.parts(name, relation)
                found[name] = SourceRows(files, pa.concat_tables(tables) if tables else None)
        return found

    def _check(self, name: str, relation: RelationFiles, recent: Iterable[Any]) -> RelationFiles:
        """Reject files and epochs with other columns, and files with another number of rows than expected; the
        files, counted."""
        wanted = arrow_schema(self.layouts[name].sql)
        if any(table.schema != wanted for table in recent):
            raise StoreError(f"the log of {self.lake.name} has other columns for {name}", hint=_COPY)
        found = self.counted(relation)
        if (found.base_rows, found.change_rows) != (relation.base_rows, relation.change_rows):
            raise StoreError(f"the files of {name} in {self.lake.name} lack rows", hint=_COPY)
        for file in relation.names:
            if footer(self.lake.store, file).schema.to_arrow_schema().names != wanted.names:
                raise StoreError(f"{file} of {self.lake.name} has other columns", hint=_COPY)
        return found

    def counted(self, relation: RelationFiles) -> RelationFiles:
        """The files of a source with their own rows and bytes, which older manifests do not have."""
        base, changes = (
            tuple(self.file(f.name) for f in files) for files in (relation.base, relation.changes)
        )
        return RelationFiles(base, changes)

    def file(self, name: str) -> DataFile:
        """A file by its name; it is looked at once."""
        if name not in self.files:
            self.files[name] = self.lake.measured(name)
        return self.files[name]

    def parts(self, name: str, relation: RelationFiles) -> tuple[TempView, ...]:
        if not relation.files:
            return ()
        columns = ", ".join(f"{column} {type_}" for column, type_ in self.layouts[name].sql)
        names = relation.names
        # What was written at once has every key once; what was written later may have it again.
        is_summed = not relation.changes and len({name.rpartition("/")[0] for name in names}) == 1
        size = sum(file.bytes for file in relation.files)
        return (unregistered(lambda: self.read(names, columns), relation.rows, names, is_summed, size),)

    def append(self, note: Mapping[str, Any], moment: LakeState) -> None:
        """Append an epoch with what was added. When this returns, it is durable; who only reads keeps it here."""
        import pyarrow as pa

        if self.lake.is_readonly:
            return

        changes = {
            self.keys[n]: pa.concat_tables(tables) for n, tables in moment.added.items() if n in self.keys
        }
        WORK.bytes += self.lake.append(
            note, changes, (self.keys[n] for n in moment.emptied if n in self.keys)
        )
        self.note = note

    def passing(self, name: str) -> str:
        """A temporary folder for rows that are needed until the next commit."""
        return self.lake.fresh(f"passing {name}")

    def arrived(self, frame: Any, wrong: str) -> tuple[Any, int, int, int]:
        """A copy of a DataFrame of any session, in the engine's session, that lasts until the next commit; its rows,
        its bytes, and for how many of its rows a condition, ``wrong``, holds."""
        folder, is_plain = self.passing("arrived"), has_plain_names(frame.schema)
        with described_jobs(self.session, "nestling: copying rows that came"):
            files, rows, refused = written_and_checked(
                self.lake, frame, folder, wrong if is_plain else "false"
            )
        size, copy = sum(file.bytes for file in files), self.read([file.name for file in files], frame.schema)
        return copy, rows, size, refused if is_plain else copy.where(wrong).count()

    def read(self, files: Iterable[str], schema: Any) -> Any:
        paths = [self.lake.store.uri(file) for file in files]
        return (
            self.session.read.schema(schema).parquet(*paths)
            if paths
            else self.session.createDataFrame([], schema)
        )

    def write(
        self, name: str, text: str, rows: int = 0, is_placed: bool = False, is_summed: bool = False
    ) -> TempView:
        """Write the rows that a large change adds to ``name``, about so many ``rows``, to files, sorted by key.

        ``is_placed``: equal keys are in one partition already, and there are as many as there are to be files.
        """
        stays = name in self.keys
        folder = self.lake.fresh(self.keys[name]) if stays else self.passing(name)
        with python_errors(), described_jobs(self.session, f"nestling: writing {name}"):
            frame = self.session.sql(text)
            if name in self.layouts and self.layouts[name].keys:
                frame = by_rows(frame, self.layouts[name].sort_texts, rows, is_placed)
            files, number = written(self.lake, frame, folder)
        names = tuple(file.name for file in files)
        self.files |= dict(zip(names, files, strict=True))
        size = sum(file.bytes for file in files)
        return register_frame(self.read(names, frame.schema), number, names, is_summed, size)

    # -- tidying

    def is_due(self, moment: LakeState) -> bool:
        """Whether the log should be flushed to files."""
        return self.lake.logged >= limits.MAX_LOG_EPOCHS or any(
            s.recent_rows > limits.MAX_RECENT_ROWS for s in moment.stored.values()
        )

    def tidy(
        self, moment: LakeState, definitions: Definitions | None = None, note: Mapping[str, Any] | None = None
    ) -> LakeState:
        """Flush the log to files; who only reads has none."""
        if self.lake.is_readonly:
            return moment
        relations = {self.keys[name]: self.flushed(name, moment) for name in self.keys}
        kept = self.lake.manifest.definitions if definitions is None else definitions
        after = self.note if note is None else note
        self.lake.commit(relations, kept, after)
        self.files = {file.name: file for relation in relations.values() for file in relation.files}
        self.note = after
        stored = dict(moment.stored)
        for name, key in self.keys.items():
            before = moment.stored[name]
            if (
                before.recent_rows
                or tuple(p for part in before.files for p in part.paths) != relations[key].names
            ):
                stored[name] = SourceRows(self.parts(name, relations[key]))
        return moment.kept_as(stored)

    def flushed(self, name: str, moment: LakeState) -> RelationFiles:
        """The files of a source, including the flushed changes."""
        key, stored = self.keys[name], moment.stored[name]
        known = self.lake.manifest.relations.get(key, RelationFiles())
        held = [path for part in stored.files for path in part.paths]
        if not set(known.names) <= set(held):
            known = RelationFiles()  # its rows were replaced
        known = self.counted(known)
        new = tuple(self.file(path) for path in held if path not in known.names)
        base, changes = (known.base, (*known.changes, *new)) if known.files else (new, ())
        if stored.recent_rows:
            rows = in_order(summed_here(stored.recent, self.layouts[name]), self.layouts[name])
            if rows.num_rows:
                file = self.lake.write_changes(key, rows, group_rows(rows))
                if not (base or changes) and has_keys_once(rows, self.layouts[name]):
                    base = (file,)
                else:
                    changes = (*changes, file)
        return RelationFiles(base, changes)

    def compacted(self, moment: LakeState) -> LakeState | None:
        """The same state in fewer files, if some were merged; they are committed."""
        found = self._compactor.step(moment)
        if not found:
            return None
        stored = dict(moment.stored)
        for name, relation in found.items():
            stored[name] = SourceRows(self.parts(name, relation), moment.stored[name].recent)
        return moment.kept_as(stored)
