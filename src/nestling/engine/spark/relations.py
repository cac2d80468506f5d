"""Stored relations as SQL: summed by key where a statement needs counts, restricted to the keys that it touches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from nestling.calculus.types import Scalar, Type
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.terms import Sql, joins
from nestling.engine.spark.types import sql_type
from nestling.quoting import sql_text

#: The rows of a query that nobody has run: too many for the driver to look into.
UNCOUNTED = 1 << 50


class Sources(Protocol):
    """The relations that statements read."""

    def layout(self, name: str) -> Layout:
        """The columns of a table, a map, or of what changes in one."""

    def raw(self, name: str) -> str:
        """Its unsummed rows: a key may have several, which may cancel."""

    def is_empty(self, name: str) -> bool:
        """Whether it is known to have no rows."""

    def is_summed(self, name: str) -> bool:
        """Whether its rows are known to be: each key once, so that none has a count below zero."""

    def is_once(self, name: str) -> bool:
        """Whether its rows are known to be there once each."""

    def rows(self, name: str) -> int:
        """How many rows it has, about; beyond all bounds if nobody knows, or if they are too wide to be sent around."""

    def near(self, name: str, column: int) -> str | None:
        """A condition that every value of a column of a small change satisfies, for pruning."""


def nothing(layout: Layout) -> str:
    """A relation without rows."""
    columns = ", ".join(f"CAST(NULL AS {type_}) AS {name}" for name, type_ in layout.sql)
    return f"SELECT {columns} WHERE false"


def total(measure: str, type_: Type) -> str:
    """The sum of a measure, of the measure's own type: Spark widens decimals."""
    summed = f"SUM({measure})"
    return f"CAST({summed} AS {sql_type(type_)})" if type_ == Scalar("decimal") else summed


def summed(rows: str, layout: Layout) -> str:
    """``rows`` summed by key, without keys whose sum is zero."""
    return f"SELECT * FROM ({sums(rows, layout)}) WHERE {layout.there}"


def sums(rows: str, layout: Layout) -> str:
    """``rows`` summed by key."""
    measures = [f"{total(f'm{i}', t)} AS m{i}" for i, t in enumerate(layout.measures)]
    selected = ", ".join([*layout.key_names, *measures])
    by = f"GROUP BY {', '.join(layout.key_names)}" if layout.keys else "HAVING count(*) > 0"
    return f"SELECT {selected} FROM ({rows}) {by}"


def difference(rows: str, layout: Layout) -> str:
    """``rows`` summed by key, without keys whose measures are all zero."""
    some = " OR ".join(f"m{i} <> 0" for i in range(len(layout.measures)))
    return f"SELECT * FROM ({sums(rows, layout)}) WHERE {some}"


#: What a query says that finds more than it may.
TOO_MANY = "more rows than may come to the driver"


def at_most(most: int | None, rows: str) -> str:
    """``rows``; the task that finds more than ``most`` of them stops the query."""
    if most is None:
        return rows
    number = f"monotonically_increasing_id() & {2**33 - 1}L"  # of a row within its task
    return (
        f"SELECT * FROM ({rows}) WHERE CASE WHEN ({number}) < {most}L THEN true"
        f" ELSE CAST(raise_error({sql_text(TOO_MANY)}) AS BOOLEAN) END"
    )


def touched(rows: str, groups: str, on: Sequence[tuple[Sql, Sql]], hint: str) -> str:
    """The rows that agree with some of ``groups``; the first of each pair is a column ``a.k…``, the second ``d.g…``."""
    condition = " AND ".join(joins(left, right) for left, right in on)
    return f"SELECT {hint}a.* FROM ({rows}) a LEFT SEMI JOIN {groups} d ON {condition}"


def touched_by(rows: str, layout: Layout, places: Sequence[int], keys: str, hint: str = "") -> str:
    """The rows that have one of ``keys``, ``g0, g1, …``, at ``places``."""
    on = [(Sql(f"a.k{p}", layout.keys[p]), Sql(f"d.g{i}", layout.keys[p])) for i, p in enumerate(places)]
    return touched(rows, f"({keys})", on, hint)


def joins_text(left: str, right: str, type_: Type) -> str:
    """Two columns of one type are the same."""
    return joins(Sql(left, type_), Sql(right, type_))


def pruned(rows: str, key: str, near: str | None) -> str:
    """``rows`` whose ``key`` satisfies ``near``: other row groups of files sorted by it are not read."""
    return rows if near is None else f"SELECT * FROM ({rows}) WHERE {key} {near}"


def placed(rows: str, layout: Layout, files: int, is_once: bool) -> str:
    """``rows`` in as many parts as there are to be ``files``, equal ones in one of them and, unless each is there once,
    added up there: what puts them in order need not be done a second time to add them up."""
    by = f"COALESCE({files})" if files == 1 else f"REPARTITION_BY_RANGE({files}, {layout.sorted_names[0]})"
    parts = f"SELECT /*+ {by} */ * FROM ({rows})" if layout.keys else rows
    return parts if is_once else difference(parts, layout)


def zero(type_: Type) -> str:
    """Nothing, as a measure."""
    return f"CAST(0 AS {sql_type(type_)})"


def cleaned(layout: Layout) -> list[str]:
    """The measures, all zero for a deleted entry: a sum of floats may leave a rounding error."""
    if not layout.positive:
        return [f"m{i}" for i in range(len(layout.measures))]
    rest = [f"CASE WHEN m0 = 0 THEN {zero(t)} ELSE m{i} END" for i, t in enumerate(layout.measures) if i]
    return ["m0", *rest]
