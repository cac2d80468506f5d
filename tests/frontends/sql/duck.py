"""DuckDB beside Nestling: one instance, in which everybody has tables of their own."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import count
from typing import Any

import duckdb

_NUMBERS = count()


@cache
def _instance(settings: tuple[str, ...]) -> duckdb.DuckDBPyConnection:
    # An instance takes longer to make than what a test asks of it, and threads longer to wake.
    made = duckdb.connect(config={"threads": 1})
    for setting in settings:
        made.execute(f"SET {setting}")
    return made


def connection(*settings: str) -> duckdb.DuckDBPyConnection:
    """A connection to an instance with these settings, and without tables."""
    own, schema = _instance(settings).cursor(), f"schema_{next(_NUMBERS)}"
    for setting in settings:
        own.execute(f"SET {setting}")
    own.execute(f"CREATE SCHEMA {schema}")
    own.execute(f"USE {schema}")
    return own


def refill(duck: duckdb.DuckDBPyConnection, table: str, rows: Iterable[Sequence[Any]]) -> None:
    """Have ``table`` hold ``rows`` and nothing else."""
    duck.execute(f"DELETE FROM {table}")
    if rows := list(rows):
        places = f"({', '.join('?' * len(rows[0]))})"
        duck.execute(
            f"INSERT INTO {table} VALUES {', '.join([places] * len(rows))}",
            [value for row in rows for value in row],
        )
