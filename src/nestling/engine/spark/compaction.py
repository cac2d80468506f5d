"""Which files of a relation are merged, and when.

Files that were written at once are a *run*. Runs of changes of about one size, a tier, are merged with one another when
there are several, so that a row is written once per tier. All of them are merged into the base when they are more than
a tenth of it. A relation is a sum, so any runs can be merged, in any order, and a merged file may hold a key twice.

Law: a row that comes is written at most 1 + tiers + ``BASE_SHARE + 1`` times, whatever the size of batches.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from nestling.engine.spark import limits
from nestling.storage.lake import DataFile, RelationFiles


@dataclass(frozen=True)
class Merge:
    """Files of one source that are to be one run; ``whole``: all it has, which are its base then."""

    source: str
    files: tuple[DataFile, ...]
    whole: bool

    @cached_property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    def __str__(self) -> str:
        return f"merge {len(self.files)} files of {self.source}"

    def replaced(self, files: RelationFiles, merged: tuple[DataFile, ...]) -> RelationFiles | None:
        """``files`` of the source with ``merged`` in the place of those that went into it, if these are there."""
        if not set(self.files) <= set(files.files):
            return None
        rest = tuple(file for file in files.changes if file not in self.files)
        return RelationFiles(merged, rest) if self.whole else RelationFiles(files.base, (*merged, *rest))


def chosen(source: str, files: RelationFiles) -> Merge | None:
    """What to merge next, if anything."""
    if files.change_rows > max(limits.MIN_COMPACTED_ROWS, files.base_rows // limits.BASE_SHARE):
        return Merge(source, files.files, True)
    tiers: dict[int, list[tuple[DataFile, ...]]] = {}
    for run in runs(files.changes):
        tiers.setdefault(tier(sum(file.bytes for file in run)), []).append(run)
    for _, some in sorted(tiers.items()):
        if len(some) >= limits.TIER_RUNS:
            return Merge(source, tuple(file for run in some for file in run), False)
    return None


def runs(files: Iterable[DataFile]) -> list[tuple[DataFile, ...]]:
    """Files by when they were written: Spark writes a folder at once."""
    found: dict[str, list[DataFile]] = {}
    for file in files:
        folder, _, name = file.name.rpartition("/")
        found.setdefault(file.name if name.startswith("changes-") else folder, []).append(file)
    return [tuple(run) for run in found.values()]


def tier(size: int) -> int:
    """The tier of a run of so many bytes.

    >>> [tier(size) for size in (0, 500_000, 600_000, 5_000_000)]
    [0, 0, 1, 2]
    """
    found = 0
    while size >= limits.TIER_BYTES * limits.TIER_RUNS ** (found + 1):
        found += 1
    return found
