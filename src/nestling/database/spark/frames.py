"""Tables and views as DataFrames of the user's session, and DataFrames over them as views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nestling.calculus.terms import Expr, Relation
from nestling.calculus.traverse import walk
from nestling.calculus.types import Type
from nestling.database.accept import known
from nestling.database.languages import sql
from nestling.database.spark.declared import declared
from nestling.database.spark.published import Published
from nestling.database.spark.sorted_frames import sorted_frame
from nestling.database.state import computing
from nestling.engine.spark.remote import LentViews, is_connect
from nestling.errors import QueryError
from nestling.frontend.dataframe import in_session, marked, recognised, remote_query, to_sql
from nestling.frontend.view_query import Orders, ViewQuery
from nestling.storage.lake.folder import scheme_of

if TYPE_CHECKING:
    from nestling.database.spark.state import SparkState


class Frames:
    """Converts tables and views to DataFrames, and DataFrames to queries.

    A DataFrame reads the files of the version at which it was made: after a change, ask again. Published names answer
    as of the last change.
    """

    def __init__(self, state: SparkState, spark: Any, place: str) -> None:
        self.state, self.spark = state, spark
        self.place = place if scheme_of(place) else str(Path(place).resolve())
        self.lent = LentViews(spark) if is_connect(spark) else None
        self.published = Published(state, spark, self.place, self.frame)

    def frame(self, name: str, orders: Orders = ()) -> Any:
        """A table or a view, its inner bags as arrays, in these orders."""
        if name in self.state.tables:
            rows = self.state.running.table_frame(name, self.state.tables[name].record)
        elif name in self.state.views:
            with computing(name), self.state.reading(name) as found:
                rows = found.frame(name)
        else:
            raise QueryError(
                f"there is no table or view {name!r}", hint=known([*self.state.tables, *self.state.views])
            )
        element = self.state.element(name)
        rows = sorted_frame(declared(rows, element), element, orders)  # in our session, which reads any name
        return marked(self.theirs(rows), self.place, name)

    def theirs(self, rows: Any) -> Any:
        """Rows of the engine's session as a DataFrame of the user's."""
        return in_session(rows, self.spark) if self.lent is None else self.lent.lend(rows)

    def close(self) -> None:
        """Take back what the user's session knows by name only because we lent it."""
        if self.lent is not None and not self.spark.is_stopped:
            self.lent.forget()

    def in_order(self, view: str) -> Any:
        """A view, in the order that it has."""
        return self.frame(view, self.state.definitions[view].orders)

    def translated(self, frame: Any, catalog: Mapping[str, Type]) -> ViewQuery:
        """The query of a DataFrame, by way of SQL."""
        marks = recognised(self.place, catalog)
        if self.lent is None:
            text = to_sql(frame, marks)
        else:
            found = remote_query(frame, marks)
            text = found.text
            for part in found.texts:
                self._check_names(part, catalog, frame.sparkSession)
        try:
            query: ViewQuery = sql().view_query(text, catalog)
        except QueryError as error:
            if error.at is not None:
                error.at = replace(error.at, file="the DataFrame in SQL")
            raise
        return query

    def _check_names(self, text: str, catalog: Mapping[str, Type], session: Any) -> None:
        """Refuse SQL whose names mean something else in the session of a DataFrame than they do here."""
        query: ViewQuery = sql().view_query(text, catalog)
        for name in sorted(_tables(query.expr)):
            if not self.published.is_ours(name, session):
                raise QueryError(
                    f"{name} is not this database's in the session that made the DataFrame",
                    hint=f'db.publish({name!r}) first, or write the view as SQL: db.view(name, "SELECT …")',
                )


def _tables(query: Expr) -> set[str]:
    """The tables and views that a query reads."""
    return {part.name for part in walk(query) if isinstance(part, Relation)}
