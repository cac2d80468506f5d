"""Sums within bounds: for every probe, a group and its bounds, the measures of the entries that lie within.

There is no index. A few probes are broadcast to all entries, and each entry is added to the probes whose bounds it
satisfies. Many probes are sorted among the entries of their group and take the running sum at their place; between
two bounds, the difference of two such sums (which would not be exact for floats).

Law: a probe has the sum of the measures of the entries whose last key is true of its bounds; of none, zeros or no row.
"""

from __future__ import annotations

from dataclasses import dataclass

from nestling.calculus.terms import Call, Var
from nestling.calculus.types import FLOAT, Scalar
from nestling.engine.spark.columns import Layout, joined_type
from nestling.engine.spark.relations import total, zero
from nestling.engine.spark.terms import Sql, joins, sql
from nestling.engine.spark.types import sql_type


@dataclass(frozen=True)
class Probes:
    """A relation of distinct groups ``g0, g1, …`` with bounds ``b0, b1, …``, and how each bounds the last key."""

    relation: str
    groups: tuple[Sql, ...]
    bounds: tuple[tuple[str, Sql], ...]

    @property
    def names(self) -> list[str]:
        return [f"g{i}" for i in range(len(self.groups))] + [f"b{i}" for i in range(len(self.bounds))]


def sums_within(probes: Probes, rows: str, layout: Layout, few: bool, hint: str) -> str:
    """The columns of the probes, and ``m0, m1, …``."""
    if few or (len(probes.bounds) > 1 and FLOAT in layout.measures):
        return _met(probes, rows, layout, hint)
    if len(probes.bounds) == 1:
        return _running(probes, 0, probes.bounds[0][0], rows, layout)
    return _between(probes, rows, layout)


def _met(probes: Probes, rows: str, layout: Layout, hint: str) -> str:
    own = ", ".join(f"d.{name}" for name in probes.names)
    measures = [f"m{i}" for i in range(len(layout.measures))]
    last = Sql(f"a.k{len(layout.keys) - 1}", layout.keys[-1])
    conditions = [
        joins(Sql(f"a.k{i}", layout.keys[i]), Sql(f"d.g{i}", group.type))
        for i, group in enumerate(probes.groups)
    ]
    conditions += [
        holds(operator, last, Sql(f"d.b{i}", bound.type)) for i, (operator, bound) in enumerate(probes.bounds)
    ]
    found = f"SELECT {hint}{own}, {', '.join(f'a.{m}' for m in measures)} FROM ({rows}) a"
    found += f" JOIN {probes.relation} d ON {' AND '.join(conditions)}"
    sums = ", ".join(f"{total(f'm{i}', t)} AS m{i}" for i, t in enumerate(layout.measures))
    by = ", ".join(probes.names)
    return f"SELECT {by}, {sums} FROM ({found}) GROUP BY {by}"


def holds(operator: str, last: Sql, limit: Sql) -> str:
    """Whether a last key is within a bound."""
    test = Call(operator, (Var("last", last.type), Var("limit", limit.type)))
    return sql(test, {"last": last, "limit": limit}).text


def _running(probes: Probes, place: int, operator: str, rows: str, layout: Layout) -> str:
    """What lies on one side of bound ``place``: all that is sorted before it."""
    bound, last = probes.bounds[place][1], layout.keys[-1]
    common = sql_type(joined_type([bound.type, last]))
    groups = [f"g{i}" for i in range(len(probes.groups))]
    # An entry at the bound itself stands before the probe if it counts.
    entry_first = operator.endswith("=")
    zeros = [f"{zero(t)} AS m{i}" for i, t in enumerate(layout.measures)]
    measures = [f"m{i}" for i in range(len(layout.measures))]
    asked = [f"CAST(b{place} AS {common}) AS at", f"{int(entry_first)} AS tag", "true AS asks"]
    stored = [
        f"CAST({layout.key_names[-1]} AS {common}) AS at",
        f"{int(not entry_first)} AS tag",
        "false AS asks",
    ]
    own = [f"k{i} AS g{i}" for i in range(len(groups))]
    nulls = [f"CAST(NULL AS {sql_type(bound.type)}) AS b{i}" for i, (_, bound) in enumerate(probes.bounds)]
    there = f"{layout.key_names[-1]} IS NOT NULL"
    if isinstance(last, Scalar) and last.name == "float":
        there += f" AND NOT isnan({layout.key_names[-1]})"
    both = f"SELECT {', '.join([*probes.names, *asked, *zeros])} FROM {probes.relation} UNION ALL "
    both += f"SELECT {', '.join([*own, *nulls, *stored, *measures])} FROM ({rows}) WHERE {there}"
    by = f"PARTITION BY {', '.join(groups)} " if groups else ""
    order = f"ORDER BY at {'ASC' if operator.startswith('<') else 'DESC'} NULLS FIRST, tag"
    sums = [
        f"CAST(SUM(m{i}) OVER ({by}{order} ROWS UNBOUNDED PRECEDING) AS {sql_type(t)}) AS m{i}"
        for i, t in enumerate(layout.measures)
    ]
    found = f"SELECT {', '.join([*probes.names, 'asks', *sums])} FROM ({both})"
    kept = measures
    if isinstance(bound.type, Scalar) and bound.type.name == "float":
        kept = [
            f"CASE WHEN isnan(b{place}) THEN {zero(t)} ELSE m{i} END AS m{i}"
            for i, t in enumerate(layout.measures)
        ]
    return f"SELECT {', '.join([*probes.names, *kept])} FROM ({found}) WHERE asks"


#: What lies outside of a bound.
_OUTSIDE = {">": "<=", ">=": "<"}


def _between(probes: Probes, rows: str, layout: Layout) -> str:
    """What lies below the upper bound, less what lies below the lower one."""
    lower = next(i for i, (operator, _) in enumerate(probes.bounds) if operator.startswith(">"))
    upper = 1 - lower
    operators = [operator for operator, _ in probes.bounds]
    inside = _running(probes, upper, operators[upper], rows, layout)
    below = _running(probes, lower, _OUTSIDE[operators[lower]], rows, layout)
    types = [*(group.type for group in probes.groups), *(bound.type for _, bound in probes.bounds)]
    on = " AND ".join(
        joins(Sql(f"u.{name}", type_), Sql(f"l.{name}", type_))
        for name, type_ in zip(probes.names, types, strict=True)
    )
    meet = "<=" if operators[upper] == "<=" and operators[lower] == ">=" else "<"
    some = holds(meet, *(Sql(f"u.b{i}", probes.bounds[i][1].type) for i in (lower, upper)))
    sums = ", ".join(
        f"CASE WHEN {some} THEN CAST(u.m{i} - l.m{i} AS {sql_type(t)}) ELSE {zero(t)} END AS m{i}"
        for i, t in enumerate(layout.measures)
    )
    own = ", ".join(f"u.{name}" for name in probes.names)
    return f"SELECT {own}, {sums} FROM ({inside}) u JOIN ({below}) l ON {on}"
