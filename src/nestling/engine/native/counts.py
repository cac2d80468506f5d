"""The rows of a table as a mapping, looked up where they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nestling.engine.protocol import Row, RowEngine


class Counts(Mapping[Row, int]):
    """The rows of a table, looked up where they are."""

    def __init__(self, engine: RowEngine, table: str) -> None:
        self._engine, self._table = engine, table

    def __getitem__(self, row: Row) -> int:
        if times := self._engine.count(self._table, row):
            return times
        raise KeyError(row)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._engine.table(self._table))

    def __len__(self) -> int:
        return self._engine.entries(self._table)
