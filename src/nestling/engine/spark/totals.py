"""Sums of few rows, computed on the driver: a shuffle would take longer than the rest of a batch.

A statement whose steps find at most one entry each yields no more rows than the change has. The driver sums these.
Where a step may find many entries, Spark sums first, and the driver receives one row per changed key.

Law: the sums are those of Spark, up to the last digit of floats; a sum beyond 64 bits raises an error in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nestling.calculus.terms import Var
from nestling.calculus.types import FLOAT, INT, Record, nullable
from nestling.engine.spark import limits
from nestling.engine.spark.columns import Layout
from nestling.errors import NoValue
from nestling.program.batches import is_change
from nestling.program.statements import Assign, Check, Combine, Find, Measure, NewAndOld, Statement

#: Sums of absolute values below this are exact in 64 bits, however they are added up.
SAFE = 2.0**62


def is_small(statement: Statement, layouts: Mapping[str, Layout]) -> bool:
    """Whether ``statement`` adds no more rows than a few for every row of the change it starts from."""
    if not sums_here(layouts[statement.target]):
        return False
    for number, step in enumerate(statement.steps):
        match step:
            case Find(source) if is_change(source):
                if number:
                    return False  # pairs of changed rows
            case Find():
                if not finds_one(step, layouts[step.source]):
                    return False
            case Check() | Assign() | Measure() | Combine() | NewAndOld():
                pass
            case _:
                return False
    return True


def adds_apart(statement: Statement, layouts: Mapping[str, Layout]) -> bool:
    """Whether summing makes no fewer rows of what ``statement`` adds for one row of a change.

    What it goes through has a key, and that key is part of what is added.
    """
    added = {key for key in statement.keys if isinstance(key, Var)}
    for step in statement.steps:
        match step:
            case Find(source, args, known):
                layout = layouts[source] if not is_change(source) else None
                if layout is None or finds_one(step, layout):
                    continue
                key = layout.key or range(len(layout.keys))
                if not all(i in known or args[i] in added for i in key):
                    return False
            case Check() | Assign() | Measure() | Combine() | NewAndOld():
                pass
            case _:
                return False
    return True


def finds_one(step: Find, layout: Layout) -> bool:
    """Whether a step finds at most one entry."""
    return set(layout.key or range(len(layout.keys))) <= set(step.known)


def sums_here(layout: Layout) -> bool:
    """Whether Arrow groups and adds as Spark does: floats have two zeros, decimals more digits, records no order."""
    keys = all(not isinstance(t, Record) and t not in (FLOAT, nullable(FLOAT)) for t in layout.keys)
    return keys and all(measure in (INT, FLOAT) for measure in layout.measures)


def totals(rows: Any, layout: Layout) -> Any:
    """``rows`` summed by key, those that change something."""
    import pyarrow.compute as pc

    if not rows.num_rows:
        return rows
    measures = layout.names[len(layout.keys) :]
    if any(m == INT and _is_large(rows.column(n)) for n, m in zip(measures, layout.measures, strict=True)):
        return _exactly(rows, layout)
    grouped = rows.group_by(layout.key_names, use_threads=False).aggregate(
        [(name, "sum") for name in measures]
    )
    grouped = grouped.select([*layout.key_names, *(f"{name}_sum" for name in measures)])
    some = None
    for name in measures:
        changed = pc.not_equal(grouped.column(f"{name}_sum"), 0)
        some = changed if some is None else pc.or_(some, changed)
    return grouped.rename_columns(layout.names).filter(some)


def _is_large(column: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    return bool(pc.sum(pc.abs(column.cast(pa.float64(), safe=False))).as_py() >= SAFE)


def _exactly(rows: Any, layout: Layout) -> Any:
    """The same by Python's unbounded ints."""
    import pyarrow as pa

    width = len(layout.keys)
    found: dict[tuple[Any, ...], list[Any]] = {}
    for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        cell = found.setdefault(row[:width], [0] * len(layout.measures))
        for i, amount in enumerate(row[width:]):
            cell[i] += amount
    if any(
        isinstance(v, int) and not limits.MIN_INT64 <= v <= limits.MAX_INT64
        for cell in found.values()
        for v in cell
    ):
        raise NoValue("a sum has more than 64 bits")
    kept = [(*key, *cell) for key, cell in found.items() if any(cell)]
    columns = list(zip(*kept, strict=True)) or [()] * len(rows.schema)
    arrays = [pa.array(c, field.type) for c, field in zip(columns, rows.schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=rows.schema)
