"""Tables and views as DataFrames of the user's session, and DataFrames over them as views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nestling.calculus.terms import Expr
from nestling.calculus.types import Type
from nestling.database.accept import known
from nestling.database.languages import sql
from nestling.errors import QueryError
from nestling.frontend.dataframe import in_session, marked, recognised, to_sql

if TYPE_CHECKING:
    from nestling.database.spark.state import SparkState


class Frames:
    """What a database on Spark hands out and takes as DataFrames.

    A DataFrame reads the files as they are when it is made: after a change, ask again. Names that are published are
    replaced after every change.
    """

    def __init__(self, state: SparkState, spark: Any, path: str | Path) -> None:
        self.state, self.spark, self.place = state, spark, str(Path(path).resolve())
        self.published: dict[str, None] = {}

    def frame(self, name: str) -> Any:
        """A table or a view, its inner bags as arrays."""
        running = self.state.running
        if name in self.state.tables:
            rows = running.table_frame(name, self.state.tables[name].record)
        elif name in self.state.views:
            rows = running.frame(name)
        else:
            raise QueryError(
                f"there is no table or view {name!r}", hint=known([*self.state.tables, *self.state.views])
            )
        return marked(in_session(rows, self.spark), self.place, name)

    def publish(self, names: Iterable[str]) -> None:
        """Let the session know tables and views by their names."""
        for name in names:
            self.frame(name).createOrReplaceTempView(name)
            self.published[name] = None

    def refresh(self) -> None:
        """Publish anew what was, as it is now; what was dropped is forgotten."""
        there = [name for name in self.published if name in self.state.tables or name in self.state.views]
        for name in self.published.keys() - set(there):
            self.spark.catalog.dropTempView(name)
        self.published = {}
        self.publish(there)

    def translated(self, frame: Any, catalog: Mapping[str, Type]) -> Expr:
        """The query of a DataFrame, by way of SQL."""
        text = to_sql(frame, recognised(self.place, catalog))
        try:
            query: Expr = sql().translate(text, catalog)
        except QueryError as error:
            if error.at is not None:
                error.at = replace(error.at, file="the DataFrame in SQL")
            raise
        return query
