"""Tables and views as DataFrames of the user's session, and DataFrames over them as views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nestling.calculus.terms import Expr
from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.database.accept import known
from nestling.database.in_order import sorted_frame
from nestling.database.languages import sql
from nestling.database.state import computing
from nestling.engine.spark.types import SQL
from nestling.errors import NestlingError, QueryError
from nestling.frontend.dataframe import in_session, marked, recognised, to_sql
from nestling.quoting import sql_name

if TYPE_CHECKING:
    from nestling.database.spark.state import SparkState


class Frames:
    """Converts tables and views to DataFrames, and DataFrames to queries.

    A DataFrame reads the files of the version at which it was made: after a change, ask again. Published names are
    replaced after every change.
    """

    def __init__(self, state: SparkState, spark: Any, path: str | Path) -> None:
        self.state, self.spark, self.place = state, spark, str(Path(path).resolve())
        self.published: dict[str, None] = {}

    def frame(self, name: str) -> Any:
        """A table or a view, its inner bags as arrays."""
        if name in self.state.tables:
            rows = self.state.running.table_frame(name, self.state.tables[name].record)
        elif name in self.state.views:
            with computing(name), self.state.reading(name) as found:
                rows = found.frame(name)
        else:
            raise QueryError(
                f"there is no table or view {name!r}", hint=known([*self.state.tables, *self.state.views])
            )
        return marked(in_session(_declared(rows, self._element(name)), self.spark), self.place, name)

    def in_order(self, view: str) -> Any:
        """A view, in the order that it has."""
        definition = self.state.definitions[view]
        return sorted_frame(self.frame(view), definition.element, definition.order)

    def _element(self, name: str) -> Type:
        tables = self.state.tables
        return tables[name].record if name in tables else self.state.definitions[name].element

    def publish(self, names: Iterable[str]) -> None:
        """Let the session know tables and views by their names."""
        for name in names:
            if "${" in name:
                raise QueryError(
                    f"{name!r} cannot be published: a session reads ${{…}} as the name of a setting",
                    hint="db.view_df(name).createOrReplaceTempView(…) under another name",
                )
            self.frame(name).createOrReplaceTempView(sql_name(name))
            self.published[name] = None

    def refresh(self) -> None:
        """Publish anew what was, as it is now; what was dropped is forgotten."""
        there = [name for name in self.published if name in self.state.tables or name in self.state.views]
        for name in self.published.keys() - set(there):
            self.spark.catalog.dropTempView(name)
        self.published = dict.fromkeys(there)
        for name in there:
            try:
                self.publish([name])
            except NestlingError:  # a lazy view that has no value now is not there, and not as it was
                self.spark.catalog.dropTempView(name)

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


_WORDS = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}


def _declared(frame: Any, element: Type) -> Any:
    """``frame`` with numbers of the size that was declared: what Spark computes from them depends on it."""
    types = zip(element.names, element.types, strict=True) if isinstance(element, Record) else ()
    casts = {name: type_sql(type_) for name, type_ in types if _has_sizes(type_)}
    return frame.withColumns({name: frame[sql_name(name)].cast(type_) for name, type_ in casts.items()})


def _has_sizes(type_: Type) -> bool:
    match type_:
        case Scalar():
            return bool(type_.size)
        case Record():
            return any(map(_has_sizes, type_.types))
        case Bag(element):
            return _has_sizes(element)
    return False


def type_sql(type_: Type) -> str:
    """A type as Spark declares it.

    >>> from nestling.frontend.schema import record_type
    >>> type_sql(record_type("id INT, items ARRAY<STRUCT<qty: SMALLINT, price: DECIMAL(10, 2)>>"))
    'STRUCT<`id`: INT, `items`: ARRAY<STRUCT<`qty`: SMALLINT, `price`: DECIMAL(10,2)>>>'
    """
    match type_:
        case Scalar("int", _, size) if size:
            return _WORDS[size[0]]
        case Scalar("decimal", _, size) if size:
            return f"DECIMAL({size[0]},{size[1]})"
        case Scalar("timedelta"):
            return "INTERVAL DAY TO SECOND"
        case Scalar(name):
            return SQL[name]
        case Record(fields):
            return f"STRUCT<{', '.join(f'{sql_name(name)}: {type_sql(field)}' for name, field in fields)}>"
        case Bag(element):
            return f"ARRAY<{type_sql(element)}>"
    raise TypeError(type_)
