"""Many batches in a row: what each costs, how much of that is merging of files, and what is written for what came."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from time import thread_time
from typing import Any

from benchmarks.parts.on_spark import Cost, Meter
from nestling.engine.spark.engine import SparkEngine
from nestling.storage.lake.beside import Beside


@dataclass(frozen=True)
class InARow:
    """What batches cost: CPU and wall seconds of each, CPU of merging in all, bytes that came and were written."""

    costs: tuple[Cost, ...]
    merging: float
    came: int
    written: int

    def at(self, share: float, what: Callable[[Cost], float]) -> float:
        """What is not exceeded by so great a ``share`` of the batches."""
        found = sorted(map(what, self.costs))
        return found[min(len(found) - 1, int(share * len(found)))]

    @property
    def share_of_merging(self) -> float:
        return self.merging / max(0.01, sum(cost.cpu for cost in self.costs))

    @property
    def amplification(self) -> float:
        """Bytes written to the lake, log included, for each byte that came as Parquet."""
        return self.written / max(1, self.came)


def in_a_row(meter: Meter, db: Any, lake: Path, batches: Sequence[Any]) -> InARow:
    """Apply ``batches`` of orders one after the other."""
    came = sum(Path(name.removeprefix("file://")).stat().st_size for b in batches for name in _files(b))
    sizes = _sizes(lake)
    before, costs = sum(sizes.values()), []
    with _merging() as spent:
        for batch in batches:
            costs.append(meter.of(db.apply, {"orders": batch}))
            # Files are written once and logs grow; what was merged meanwhile is removed later.
            for name, size in _sizes(lake).items():
                sizes[name] = max(size, sizes.get(name, 0))
    return InARow(tuple(costs), spent[0], came, sum(sizes.values()) - before)


def _files(frame: Any) -> list[str]:
    from urllib.parse import unquote

    return [unquote(name) for name in frame.inputFiles()]


def _sizes(folder: Path) -> dict[str, int]:
    found = {}
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                found[str(path)] = path.stat().st_size
        except OSError:  # removed since it was listed
            continue
    return found


@contextmanager
def _merging() -> Iterator[list[float]]:
    """The CPU seconds of the threads that flush and merge files, which grow while the block runs."""
    spent = [0.0]

    def timed(work: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(work)
        def run(*args: Any, **kwargs: Any) -> Any:
            began = thread_time()
            try:
                return work(*args, **kwargs)
            finally:
                spent[0] += thread_time() - began

        return run

    tidy, start = SparkEngine.tidy, Beside.start
    SparkEngine.tidy = timed(tidy)  # type: ignore[method-assign]
    Beside.start = lambda self, what, work, cancel: start(self, what, timed(work), cancel)  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        SparkEngine.tidy, Beside.start = tidy, start  # type: ignore[method-assign]
