"""The same change and the same recomputation on more and more rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from rich.table import Table

from nestling.cli.demo.measure import timed
from nestling.cli.terminal import duration, progress, ratio
from nestling.database import Database

CHANGES = 50


@dataclass(frozen=True)
class Growth:
    """A table that takes ``rows`` up to each of ``sizes``; ``function`` is a view over ``tables``."""

    database: Database
    function: Callable[..., Any]
    tables: tuple[str, ...]
    table: str
    rows: Iterator[Any]
    sizes: tuple[int, ...]
    change: Callable[[], object]
    what: str


def growth_table(growths: Sequence[Growth]) -> Table:
    """For each size the median time of the change, and what Python takes for the whole view."""
    table = Table(title="The same on more rows", title_justify="left", title_style="bold")
    table.add_column("rows", justify="right")
    table.add_column("what changes")
    for column in ("change", "in Python", "ratio"):
        table.add_column(column, justify="right", no_wrap=True)
    for growth in growths:
        for size, change, python in _measured(growth):
            table.add_row(
                f"{size:,}", growth.what, duration(change), duration(python), ratio(python, change),
                end_section=size == growth.sizes[-1],
            )  # fmt: skip
    return table


def _measured(growth: Growth) -> Iterator[tuple[int, float, float]]:
    database = growth.database
    with progress(f"loading {growth.table}", growth.sizes[-1]) as advance:
        for size in growth.sizes:
            missing = size - len(database.table(growth.table))
            database.insert(growth.table, [next(growth.rows) for _ in range(missing)])
            advance(missing)
            change = median(timed(growth.change) for _ in range(CHANGES))
            inputs = [database.table(name).rows() for name in growth.tables]
            yield size, change, timed(partial(growth.function, *inputs))
