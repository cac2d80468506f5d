"""Which files of a relation are merged, and when.

Files that were written at once are a *run*. Runs of changes of about one size, a tier, are merged with one another when
there are several, so that a row is written once per tier, the next being several times as large. All of them are merged
into the base when they are more than a sixth of it. A relation is a sum, so any runs can be merged, in any order, and a
merged file may hold a key twice.

Law: a row that comes is written ten times at most, whatever the size of batches and of the base.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    found = runs(files.changes)
    sizes = [max(limits.MIN_RUN_BYTES, sum(file.bytes for file in run)) for run in found]
    tier = first_tier(sizes)
    return Merge(source, tuple(file for i in tier for file in found[i]), False) if tier else None


def first_tier(sizes: Sequence[int]) -> list[int]:
    """Which runs are to be merged, the smallest first: several, none larger than those before it together.

    >>> first_tier([9, 1, 1, 1, 1, 1, 1, 1, 1]), first_tier([8, 1, 1, 1, 1, 1, 1, 1])
    ([1, 2, 3, 4, 5, 6, 7, 8], [])
    """
    places = sorted(range(len(sizes)), key=sizes.__getitem__)
    for start in range(len(places) - limits.TIER_RUNS + 1):
        tier, total = [places[start]], sizes[places[start]]
        for place in places[start + 1 :]:
            if sizes[place] > total:
                break
            tier.append(place)
            total += sizes[place]
        if len(tier) >= limits.TIER_RUNS:
            return tier
    return []


def runs(files: Iterable[DataFile]) -> list[tuple[DataFile, ...]]:
    """Files by when they were written: Spark writes a folder at once."""
    found: dict[str, list[DataFile]] = {}
    for file in files:
        folder, _, name = file.name.rpartition("/")
        found.setdefault(file.name if name.startswith("changes-") else folder, []).append(file)
    return [tuple(run) for run in found.values()]
