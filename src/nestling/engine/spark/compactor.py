"""Merges the files of a lake's relations: small ones after a change, large ones in a thread beside the changes to come.

What was merged beside them is taken up between two changes, if all files that went into it are still there. So nothing
waits for a large merge, but where one source has very many files; and what is cut short has changed nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol
from uuid import uuid4

from nestling.engine.spark import limits
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.compaction import Merge, chosen, runs
from nestling.engine.spark.jobs import cancel_jobs, named_jobs
from nestling.engine.spark.merging import group_rows, is_summed_here, merged_here
from nestling.engine.spark.relations import difference, summed
from nestling.engine.spark.session import first_line
from nestling.engine.spark.state import LakeState, register_frame
from nestling.engine.spark.written import written
from nestling.storage.lake import DataFile, Lake, RelationFiles


class CompactedState(Protocol):
    """The state whose files are merged."""

    lake: Lake
    session: Any
    layouts: Mapping[str, Layout]
    keys: dict[str, str]
    files: dict[str, DataFile]

    def counted(self, relation: RelationFiles) -> RelationFiles: ...
    def read(self, files: Iterable[str], schema: Any) -> Any: ...


class Compactor:
    """What is to be merged, and who does it."""

    def __init__(self, state: CompactedState) -> None:
        self._state = state
        #: The manifest in which nothing is left to be merged.
        self._tidy: object = None
        #: Merges that failed: they are tried again with other files beside them.
        self._failed: set[tuple[DataFile, ...]] = set()

    def step(self, moment: LakeState) -> dict[str, RelationFiles]:
        """Take up what was merged, and merge some more; the sources that have other files now, which are committed."""
        lake = self._state.lake
        if not lake.manifest.id or (self._tidy is lake.manifest and not lake.beside.is_busy):
            return {}  # a manifest of format 1 is none that could be exchanged
        files = {name: self._state.counted(lake.manifest.relations[key]) for name, key in self._there(moment)}
        found = self._finished(files, wait=False)
        left, is_all = limits.MAX_MERGED_ROWS, True
        for name, relation in files.items():
            relation = found.get(name, relation)
            while (merge := self._next(name, relation)) is not None:
                if merge.rows > left or not self._is_here(merge, name):
                    is_all = False
                    if not lake.beside.is_busy:
                        self._begin(merge, name)
                    elif len(runs(relation.changes)) > limits.MAX_RUNS:
                        found |= self._finished(files | found, wait=True)
                    break
                left -= merge.rows
                relation = found[name] = self._replaced(relation, merge, self._here(merge, name, False)())
        if found:
            lake.exchange({self._state.keys[name]: relation for name, relation in found.items()})
        self._tidy = lake.manifest if is_all else None
        return found

    def _there(self, moment: LakeState) -> list[tuple[str, str]]:
        """The sources whose rows are in the files that the manifest names: in the log some may have been emptied."""
        relations = self._state.lake.manifest.relations
        held = {
            n: {path for part in stored.files for path in part.paths} for n, stored in moment.stored.items()
        }
        return [
            (name, key)
            for name, key in self._state.keys.items()
            if key in relations and held[name] == set(relations[key].names)
        ]

    def _next(self, name: str, relation: RelationFiles) -> Merge | None:
        merge = chosen(name, relation)
        return None if merge is None or merge.files in self._failed else merge

    def _replaced(self, relation: RelationFiles, merge: Merge, new: tuple[DataFile, ...]) -> RelationFiles:
        self._state.files |= {file.name: file for file in new}
        after = merge.replaced(relation, new)
        assert after is not None
        return after

    # -- who merges

    def _is_here(self, merge: Merge, name: str) -> bool:
        """Whether Arrow merges it; a base is summed."""
        is_summed = not merge.whole or is_summed_here(self._state.layouts[name])
        return merge.rows <= limits.MAX_ARROW_ROWS and is_summed

    def _here(self, merge: Merge, name: str, reserved: bool) -> Callable[[], tuple[DataFile, ...]]:
        """The merging by Arrow, in this process."""
        lake, layout = self._state.lake, self._state.layouts[name]
        folder = lake.fresh(self._state.keys[name], reserved)

        def work() -> tuple[DataFile, ...]:
            rows = merged_here(lake, merge.files, layout, merge.whole)
            return lake.write_run(folder, rows, group_rows(rows)) if rows.num_rows else ()

        return work

    def _by_spark(self, merge: Merge, name: str, group: str) -> Callable[[], tuple[DataFile, ...]]:
        """The merging by a job."""
        state, layout = self._state, self._state.layouts[name]
        folder = state.lake.fresh(state.keys[name], True)

        def work() -> tuple[DataFile, ...]:
            named_jobs(state.session, group, str(merge))
            columns = ", ".join(f"{column} {type_}" for column, type_ in layout.sql)
            part = register_frame(state.read([file.name for file in merge.files], columns), merge.rows)
            try:
                rows = f"SELECT {', '.join(layout.names)} FROM {part.view}"
                text = summed(rows, layout) if merge.whole else difference(rows, layout)
                frame = state.session.sql(text)
                frame = frame.sort(*layout.sorted_names) if layout.keys else frame
                return written(state.lake, frame, folder)[0]
            finally:
                state.session.catalog.dropTempView(part.view)

        return work

    # -- beside the changes

    def _begin(self, merge: Merge, name: str) -> None:
        session, group = self._state.session, f"nestling_{uuid4().hex}"
        here = self._is_here(merge, name)
        work = self._here(merge, name, True) if here else self._by_spark(merge, name, group)
        self._state.lake.beside.start(
            merge, work, (lambda: None) if here else lambda: cancel_jobs(session, group)
        )

    def _finished(self, files: Mapping[str, RelationFiles], wait: bool) -> dict[str, RelationFiles]:
        """The files of the source that was merged beside the changes, if that has ended."""
        done = self._state.lake.beside.take(wait)
        if done is None:
            return {}
        self._state.lake.reserved.clear()
        merge: Merge = done.what
        if done.error is not None:
            self._failed.add(merge.files)
            warnings.warn(
                f"files of {merge.source} were not merged: {first_line(str(done.error))}; they are read as they are",
                RuntimeWarning, stacklevel=2,
            )  # fmt: skip
            return {}
        if merge.source not in files or merge.replaced(files[merge.source], done.result) is None:
            return {}  # its rows were replaced meanwhile
        return {merge.source: self._replaced(files[merge.source], merge, done.result)}
