"""Aggregates read off measures, and count-wise operators, as SQL."""

from __future__ import annotations

from collections.abc import Sequence

from nestling.calculus.types import BOOL, FLOAT, INT, Bag, Scalar, Type, nullable
from nestling.calculus.valued import VALUED
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.decimals import fitted, over_int
from nestling.engine.spark.floats import float_spread, float_sum
from nestling.engine.spark.terms import Sql
from nestling.engine.spark.types import sql_type
from nestling.program.flat import first_of

DECIMAL = Scalar("decimal")


def read_cell(aggregate: str, cell: Sequence[Sql]) -> Sql:
    """An aggregate of a group whose measures are ``cell``; of an ordered map the cell is the value itself."""
    if aggregate in ("no_avg", "no_var", "no_stdev"):
        return Sql("false", BOOL)  # of ints of 64 bits there is always one
    aggregate = aggregate.removeprefix("some_")
    count, last = cell[0].text, cell[-1]
    match aggregate:
        case "parts_sum":
            return Sql(float_sum([part.text for part in cell]), FLOAT)
        case "parts_avg":
            return _mean(count, Sql(float_sum([part.text for part in cell]), FLOAT))
        case "parts_var" | "parts_stdev":
            spread = float_spread([part.text for part in cell])
            return Sql(f"sqrt({spread})" if aggregate == "parts_stdev" else spread, nullable(FLOAT))
        case "count":
            return cell[0]
        case "sum":
            return last
        case "avg":
            return _mean(count, last)
        case "var" | "stdev":
            return _spread(aggregate, cell)
    return cell[0]


def _mean(count: str, total: Sql) -> Sql:
    if total.type == DECIMAL:
        return Sql(f"CASE WHEN {count} <> 0 THEN {over_int(total.text, count)} END", nullable(DECIMAL))
    return Sql(f"CASE WHEN {count} <> 0 THEN CAST({total.text} AS DOUBLE) / {count} END", nullable(FLOAT))


def _spread(aggregate: str, cell: Sequence[Sql]) -> Sql:
    """(n·Σx² − (Σx)²) / n², the difference exact."""
    n, s, q = (part.text for part in cell)
    if any(part.type == DECIMAL for part in cell):
        n, s, q = fitted(n, "DECIMAL(10,0)"), fitted(s, "DECIMAL(18,6)"), fitted(q, "DECIMAL(26,12)")
        difference = f"CAST({n} * {q} - {s} * {s} AS DOUBLE)"
    else:
        n, s, q = (f"CAST({text} AS DECIMAL(19,0))" for text in (n, s, q))
        difference = f"CAST({n} * {q} - {s} * {s} AS DOUBLE)"
    # Below zero it can be by rounding, and where counts are negative; zero has a root.
    spread = f"greatest(0D, {difference}) / (CAST({n} AS DOUBLE) * CAST({n} AS DOUBLE))"
    value = f"sqrt({spread})" if aggregate == "stdev" else spread
    return Sql(f"CASE WHEN {cell[0].text} <> 0 THEN {value} END", nullable(FLOAT))


def ordered_type(aggregate: str, layout: Layout) -> Type:
    """The type of an aggregate of the values that a map keeps in order."""
    value = layout.keys[-1]
    if first_of(aggregate) is not None:
        return Bag(value, True)
    if aggregate == "count_distinct":
        return INT
    if aggregate in VALUED:
        return VALUED[aggregate][1](value) or value
    return nullable(value) if isinstance(value, Scalar) else value


def none_of(aggregate: str, value: str, type_: Type) -> str:
    """``value``, or the aggregate of the empty bag where there is no group."""
    if first_of(aggregate) is not None:
        return f"coalesce({value}, CAST(array() AS {sql_type(type_)}))"
    return f"coalesce({value}, 0L)" if aggregate == "count_distinct" else value


#: All values of a group in order, each as often as it is there.
_ALL = (
    "flatten(transform(sort_array(collect_list(CASE WHEN {n} > 0 THEN named_struct('v', {v}, 'n', {n}) END)),"
    " e -> array_repeat(e.v, CAST(e.n AS INT))))"
)
_AT = "((size(a) - 1) * a[0].f1)"
_LOW, _HIGH = f"CAST(floor({_AT}) AS INT)", f"CAST(ceil({_AT}) AS INT)"
_BETWEEN = f"({_HIGH} - {_AT}) * a[{_LOW}].f0 + ({_AT} - {_LOW}) * a[{_HIGH}].f0"
_PLACE = "greatest(0, CAST(ceil(size(a) * a[0].f1) AS INT) - 1)"


def _of_all(text: str) -> str:
    """``text`` of the array ``a`` of all values; null where there are none."""
    return f"element_at(transform(array({_ALL}), a -> CASE WHEN size(a) > 0 THEN {text} END), 1)"


#: Aggregates of the values ``{v}`` that are there ``{n}`` times.
_VALUED = {
    "percentile": _of_all(f"CASE WHEN {_LOW} = {_HIGH} THEN a[{_LOW}].f0 ELSE {_BETWEEN} END"),
    "percentile_disc": _of_all(f"a[{_PLACE}].f0"),
    "mode": "get(sort_array(collect_list(CASE WHEN {n} > 0 THEN named_struct('n', -{n}, 'v', {v}) END)), 0).v",
    "bit_and": "bit_and(CASE WHEN {n} > 0 THEN {v} END)",
    "bit_or": "bit_or(CASE WHEN {n} > 0 THEN {v} END)",
    "bit_xor": "bit_xor(CASE WHEN {n} > 0 AND {n} % 2 = 1 THEN {v} WHEN {n} > 0 THEN 0L END)",
    "string_agg": _of_all("array_join(transform(a, e -> e.f2), a[0].f3)"),
}


def ordered(aggregate: str, value: str, count: str) -> str:
    """An aggregate of the ``taken`` values of one group, each counted ``count`` times."""
    if aggregate == "count_distinct":
        return f"count(CASE WHEN {count} > 0 THEN 1 END)"
    if aggregate in _VALUED:
        return _VALUED[aggregate].replace("{v}", value).replace("{n}", count)
    if first_of(aggregate) is None:
        return f"{aggregate}(CASE WHEN {count} > 0 THEN {value} END)"
    return (
        f"sort_array(collect_list(CASE WHEN {count} > 0 THEN named_struct('v', {value}, 'n', {count}) END))"
    )


def taken(aggregate: str, rows: str, layout: Layout, counts: Sequence[str]) -> str:
    """``rows`` with no more of each group than the first that ``aggregate`` takes, by each of ``counts``."""
    limit = first_of(aggregate)
    if limit is None:
        return rows
    *group, value = layout.key_names
    by = f"PARTITION BY {', '.join(group)} " if group else ""
    order = f"ORDER BY {value}{' DESC' if limit[1] else ''} ROWS UNBOUNDED PRECEDING"
    before = [f"sum(greatest({count}, 0L)) OVER ({by}{order}) AS s_{count}" for count in counts]
    ranked = f"SELECT {', '.join([*layout.key_names, *counts, *before])} FROM ({rows})"
    # What a row finds free: the limit, less what stands before it.
    free = [f"least({count}, {limit[0]}L - s_{count} + greatest({count}, 0L)) AS {count}" for count in counts]
    some = " OR ".join(f"s_{count} - greatest({count}, 0L) < {limit[0]}L" for count in counts)
    return f"SELECT {', '.join([*layout.key_names, *free])} FROM ({ranked}) WHERE {some}"


def combined(operator: str, counts: Sequence[str]) -> str:
    """A count-wise operator of counts."""
    a, b = counts[0], counts[-1]
    return {
        "distinct": f"CASE WHEN {a} > 0 THEN 1L ELSE 0L END",
        "exists": f"CASE WHEN {a} <> 0 THEN 1L ELSE 0L END",
        "clip": f"greatest({a}, 0L)",
        "monus": f"greatest({a} - {b}, 0L)",
        "min": f"least({a}, {b})",
        "max": f"greatest({a}, {b})",
        "differ": f"CASE WHEN {a} <> {b} THEN 1L ELSE 0L END",
        "exceed": f"CASE WHEN {a} > {b} THEN 1L ELSE 0L END",
        "restrict": (
            f"CASE WHEN {' OR '.join(f'{c} <> 0' for c in counts[:-1]) or 'false'} THEN {b} ELSE 0L END"
        ),
    }[operator]
