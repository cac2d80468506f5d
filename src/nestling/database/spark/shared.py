"""A lake that one process writes and any number read: who may change it, who follows, and which versions are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nestling.database.backing import Backing
from nestling.database.database import Database
from nestling.database.spark.beginning import check_writable
from nestling.database.spark.frames import Frames
from nestling.database.spark.state import SparkState
from nestling.database.spark.store import LakeStore
from nestling.errors import QueryError


class SharedDatabase(Database):
    """What of a database on Spark is for those who read while others write."""

    _state: SparkState  # type: ignore[assignment]  # another than the embedded one
    _frames: Frames
    _store: LakeStore
    #: Where it is kept: a path, or an address.
    folder: Path | str

    def _redefine(self, action: Callable[[], None], store: Callable[[Backing], None]) -> None:
        self._check_writable()
        super()._redefine(action, store)

    def _check_writable(self) -> None:
        check_writable(self._state)

    def follow(self) -> int:
        """Take up what the writer has committed since, where this is open for reading only; the version there is.

        DataFrames that were made before read the files of their version, as long as these are kept: see ``vacuum``.
        """
        lake = self._state.lake
        if lake.is_readonly and lake.has_moved():
            lake.is_ahead = True  # so it is read again
            with self._access.reading():
                self._frames.published.refresh()
        return self.version

    def as_of(self, version: int) -> Any:
        """The database as it was at a version, open for reading only; ``vacuum`` says which versions are kept."""
        opened: Any = type(self)
        return opened(str(self.folder), spark=self._frames.spark, readonly=True, _version=version)

    def vacuum(self, keep: int | None = None) -> None:
        """Remove what no kept version needs. ``keep``: from now on at least so many versions before the last one stay
        readable, by ``as_of`` and by readers that have not followed yet; 0 at first."""
        if keep is not None and (type(keep) is not int or keep < 0):
            raise QueryError(f"keep is a number of versions, not {keep!r}", hint="db.vacuum(keep=100)")
        self._check_writable()
        with self._access.defining("what is kept"), self._store.doubting():
            self._state.lake.keep = self._state.lake.keep if keep is None else keep
            self._state.running.flush()
            self._state.running.tidied()
            self._state.lake.sweep()
