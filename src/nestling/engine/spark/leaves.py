"""The sources of programs under lasting names, which all sessions of Spark know.

SQL over these names is written once, and answers as of the last ``follow``: Spark looks names up when a view that is
kept as text is read. Rows in files and recent rows have a name each, so that a small change registers its rows alone.

Law: what a name stands for are the rows that the source has in the moment that was last followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from nestling.engine.spark.columns import Layout
from nestling.engine.spark.relations import nothing
from nestling.engine.spark.state import LakeState, SourceRows
from nestling.engine.spark.types import arrow_schema, ddl


class Leaves:
    """The sources that somebody reads by name; as ``Sources`` of statements they never look empty."""

    def __init__(self, session: Any, layouts: Mapping[str, Layout]) -> None:
        self.session, self.layouts = session, layouts
        database = session.conf.get("spark.sql.globalTempDatabase", "global_temp")
        self._prefix, self._place = f"nestling_{uuid4().hex}", database
        self._names: dict[str, str] = {}
        #: What the names stand for.
        self._known: dict[str, SourceRows] = {}

    def layout(self, name: str) -> Layout:
        return self.layouts[name]

    def raw(self, name: str) -> str:
        own = self._names.setdefault(name, f"{self._prefix}_{len(self._names)}")
        columns = ", ".join(self.layouts[name].names)
        parts = (f"SELECT {columns} FROM {self._place}.{own}_{part}" for part in ("files", "recent"))
        return " UNION ALL ".join(parts)

    def is_empty(self, name: str) -> bool:
        return False

    def near(self, name: str, column: int) -> str | None:
        return None

    def follow(self, moment: LakeState) -> None:
        """Let the names stand for the rows of ``moment``."""
        for name, own in self._names.items():
            stored, known = moment.stored[name], self._known.get(name)
            if known is None or known.files != stored.files:
                self._files(name, stored).createOrReplaceGlobalTempView(f"{own}_files")
            if known is None or known.recent is not stored.recent:
                self._recent(name, stored.recent).createOrReplaceGlobalTempView(f"{own}_recent")
            self._known[name] = stored

    def _files(self, name: str, stored: SourceRows) -> Any:
        layout = self.layouts[name]
        columns = ", ".join(layout.names)
        parts = [f"SELECT {columns} FROM {part.view}" for part in stored.files if part.rows]
        return self.session.sql(" UNION ALL ".join(parts) or nothing(layout))

    def _recent(self, name: str, recent: Any) -> Any:
        schema = arrow_schema(self.layouts[name].sql)
        return self.session.createDataFrame(schema.empty_table() if recent is None else recent, ddl(schema))

    def forget(self) -> None:
        """Take the names back."""
        for name in self._known:
            for part in ("files", "recent"):
                self.session.catalog.dropGlobalTempView(f"{self._names[name]}_{part}")
        self._known.clear()
