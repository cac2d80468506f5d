"""Tables and views as DataFrames of the user's session, and DataFrames over them as views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nestling.calculus.types import Type
from nestling.database.accept import known
from nestling.database.languages import sql
from nestling.database.spark.declared import declared
from nestling.database.spark.published import Published
from nestling.database.spark.sorted_frames import sorted_frame
from nestling.database.state import computing
from nestling.errors import QueryError
from nestling.frontend.dataframe import in_session, marked, recognised, to_sql
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
        return marked(in_session(rows, self.spark), self.place, name)

    def in_order(self, view: str) -> Any:
        """A view, in the order that it has."""
        return self.frame(view, self.state.definitions[view].orders)

    def translated(self, frame: Any, catalog: Mapping[str, Type]) -> ViewQuery:
        """The query of a DataFrame, by way of SQL."""
        text = to_sql(frame, recognised(self.place, catalog))
        try:
            query: ViewQuery = sql().view_query(text, catalog)
        except QueryError as error:
            if error.at is not None:
                error.at = replace(error.at, file="the DataFrame in SQL")
            raise
        return query
