"""The sources of programs under lasting names, which all sessions of Spark know.

SQL over these names is written once, and answers as of the last ``follow``: Spark looks names up when a view that is
kept as text is read. A source has a name for its rows in files, and one for its recent rows; the newest ones of all
sources are under one name, so that a small change is sent to Spark at once, whatever it changes.

Law: what the names of a source stand for are the rows that it has in the moment that was last followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from nestling.engine.spark import limits
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.relations import UNCOUNTED, nothing, summed
from nestling.engine.spark.state import LakeState, SourceRows
from nestling.engine.spark.types import arrow_schema, ddl


class Leaves:
    """The sources that somebody reads by name; as ``Sources`` of statements they never look empty."""

    def __init__(self, session: Any, layouts: Mapping[str, Layout]) -> None:
        self.session, self.layouts = session, layouts
        self._place = session.conf.get("spark.sql.globalTempDatabase", "global_temp")
        self._prefix = f"nestling_{uuid4().hex}"
        self._numbers: dict[str, int] = {}
        #: What was followed last, and the recent rows that have a name of their own.
        self._known: dict[str, SourceRows] = {}
        self._settled: dict[str, Any] = {}

    def layout(self, name: str) -> Layout:
        return self.layouts[name]

    def raw(self, name: str) -> str:
        number = self._numbers.setdefault(name, len(self._numbers))
        columns = self.layouts[name].names
        plain = ", ".join(columns)
        newest = ", ".join(f"s{number}.{column} AS {column}" for column in columns)
        return (
            f"SELECT {plain} FROM {self._place}.{self._named(number, 'files')}"
            f" UNION ALL SELECT {plain} FROM {self._place}.{self._named(number, 'recent')}"
            f" UNION ALL SELECT {newest} FROM {self._place}.{self._prefix}_newest WHERE t = {number}"
        )

    def summed(self, name: str) -> str:
        return summed(self.raw(name), self.layouts[name])

    def is_summed(self, name: str) -> bool:
        return False

    def is_once(self, name: str) -> bool:
        return False

    def is_empty(self, name: str) -> bool:
        return False

    def rows(self, name: str) -> int:
        return UNCOUNTED

    def near(self, name: str, column: int) -> str | None:
        return None

    def _named(self, number: int, part: str) -> str:
        return f"{self._prefix}_{number}_{part}"

    def follow(self, moment: LakeState) -> None:
        """Let the names stand for the rows of ``moment``."""
        stored = {name: moment.stored[name] for name in self._numbers}
        if stored.keys() == self._known.keys() and all(stored[name] is self._known[name] for name in stored):
            return
        newest = []
        for name, rows in stored.items():
            known = self._known.get(name)
            if known is None or known.files != rows.files:
                self._files(name, rows).createOrReplaceGlobalTempView(
                    self._named(self._numbers[name], "files")
                )
            newest.append(self._newest(name, rows.recent))
        self._send(_side_by_side(newest, [self._schema(name) for name in stored]), f"{self._prefix}_newest")
        self._known = stored

    def _newest(self, name: str, recent: Any) -> Any:
        """The rows that have no name of their own; where they are many, they get one."""
        schema = self._schema(name)
        recent = schema.empty_table() if recent is None else recent
        settled = self._settled.get(name)
        if settled is not None and recent.slice(0, settled.num_rows).equals(settled):
            newest = recent.slice(settled.num_rows)
            if newest.num_rows <= limits.MAX_NEWEST_ROWS:
                return newest
        self._send(recent, self._named(self._numbers[name], "recent"))
        self._settled[name] = recent
        return schema.empty_table()

    def _schema(self, name: str) -> Any:
        return arrow_schema(self.layouts[name].sql)

    def _send(self, table: Any, name: str) -> None:
        self.session.createDataFrame(table, ddl(table.schema)).createOrReplaceGlobalTempView(name)

    def _files(self, name: str, stored: SourceRows) -> Any:
        layout = self.layouts[name]
        columns = ", ".join(layout.names)
        parts = [f"SELECT {columns} FROM {part.view}" for part in stored.files if part.rows]
        return self.session.sql(" UNION ALL ".join(parts) or nothing(layout))

    def forget(self) -> None:
        """Take the names back."""
        numbers = [self._numbers[name] for name in self._known]
        names = [self._named(number, part) for number in numbers for part in ("files", "recent")]
        for name in (*names, f"{self._prefix}_newest"):
            self.session.catalog.dropGlobalTempView(name)
        self._known, self._settled = {}, {}


def _side_by_side(tables: Sequence[Any], schemas: Sequence[Any]) -> Any:
    """Rows of several tables in one: ``t`` says of which a row is, and ``s0, s1, …`` are structs, one of them there."""
    import pyarrow as pa

    columns = [pa.field(f"s{number}", pa.struct(list(schema))) for number, schema in enumerate(schemas)]
    found = [pa.schema([pa.field("t", pa.int64()), *columns]).empty_table()]
    for number, table in enumerate(tables):
        if table.num_rows:
            arrays = [column.combine_chunks() for column in table.columns]
            rows = pa.StructArray.from_arrays(arrays, fields=list(table.schema))
            found.append(pa.table({"t": pa.array([number] * table.num_rows, pa.int64()), f"s{number}": rows}))
    return pa.concat_tables(found, promote_options="default")
