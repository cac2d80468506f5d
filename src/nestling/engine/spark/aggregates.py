"""Aggregates read off measures, and count-wise operators, as SQL."""

from __future__ import annotations

from collections.abc import Sequence

from nestling.calculus.types import FLOAT, INT, Scalar, nullable
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.terms import Sql
from nestling.errors import QueryError
from nestling.program.flat import ORDERED


def read_cell(aggregate: str, cell: Sequence[Sql]) -> Sql:
    """An aggregate of a group whose measures are ``cell``; of an ordered map the cell is the value itself."""
    count, last = cell[0].text, cell[-1]
    match aggregate:
        case "count":
            return cell[0]
        case "sum":
            return last
        case "avg":
            _refuse(aggregate, last, ("int", "float"))
            return Sql(
                f"CASE WHEN {count} <> 0 THEN CAST({last.text} AS DOUBLE) / {count} END", nullable(FLOAT)
            )
        case "var" | "stdev":
            return _spread(aggregate, cell)
    return cell[0]


def _spread(aggregate: str, cell: Sequence[Sql]) -> Sql:
    """(n·Σx² − (Σx)²) / n², the difference exact."""
    _refuse(aggregate, cell[-1], ("int",))
    n, s, q = (f"CAST({part.text} AS DECIMAL(19,0))" for part in cell)
    spread = f"CAST({n} * {q} - {s} * {s} AS DOUBLE) / (CAST({n} AS DOUBLE) * CAST({n} AS DOUBLE))"
    value = f"sqrt({spread})" if aggregate == "stdev" else spread
    return Sql(f"CASE WHEN {cell[0].text} <> 0 THEN {value} END", nullable(FLOAT))


def _refuse(aggregate: str, value: Sql, allowed: Sequence[str]) -> None:
    name = value.type.name if isinstance(value.type, Scalar) else "label"
    if name not in allowed:
        raise QueryError(
            f"{aggregate} of {name} is not done on Spark as Python does it",
            hint=f"it takes {' or '.join(allowed)}: convert the value, or keep the view embedded",
        )


def in_order(layout: Layout) -> Scalar:
    """The type of the values that a map keeps in order."""
    type_ = layout.keys[-1]
    if not isinstance(type_, Scalar):
        raise QueryError(
            "sorted(…)[:k] is not on Spark yet", hint="keep the view embedded, or take min or max"
        )
    return type_


def ordered(aggregate: str, value: str, there: str, type_: Scalar) -> Sql:
    """An aggregate of the values of one group, over rows that are ``there`` or not."""
    if aggregate == "count_distinct":
        return Sql(f"count(CASE WHEN {there} THEN 1 END)", INT)
    if aggregate not in ORDERED:
        raise QueryError(
            "sorted(…)[:k] is not on Spark yet", hint="keep the view embedded, or take min or max"
        )
    return Sql(f"{aggregate}(CASE WHEN {there} THEN {value} END)", nullable(type_))


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
