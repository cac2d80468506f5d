"""Merges of DataFrames: Spark finds the last row of each key, and what it differs in from the stored one.

Law: a large merge leaves what the rows of the DataFrame leave that are merged one by one; see ``merging``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from nestling.calculus.types import Record, Scalar
from nestling.database.by_key import row_by_key
from nestling.database.definitions import TableDef
from nestling.database.fed import ONCE, merged_table
from nestling.database.merging import check_memory, place_of, sequence_argument, twice
from nestling.database.refused import keyless
from nestling.database.spark.frame_changes import as_frame, check_batch
from nestling.database.spark.frame_values import canonical, value_of
from nestling.database.spark.large import Large
from nestling.database.spark.shredding import leaves
from nestling.database.state import State
from nestling.engine.spark.conditions import condition, read_by
from nestling.errors import ChangeError, shown
from nestling.frontend.schema import record_type, row_value
from nestling.quoting import sql_name

#: The column that says whether a row deletes.
DELETES = "_nestling_deletes"


class FrameMerge:
    """A DataFrame that is to be merged: its rows, the columns of its sequence, and ``DELETES``."""

    def __init__(self, table: TableDef, frame: Any, delete_when: Any, sequence_by: Any) -> None:
        check_batch(frame)
        if not table.key:
            raise keyless(table)
        self.table, self.sequence = table, sequence_argument(sequence_by)
        self.key = Record(tuple(zip(table.key, table.key_types, strict=True)))
        for name in (*table.key, *self.sequence):
            if name not in frame.columns:
                raise ChangeError(
                    f"a row for {table.name} has no column {name!r}",
                    hint="every row has its key, and its place in the sequence",
                )
        holds = condition(delete_when)
        if holds is None:
            raise ChangeError(
                f"delete_when of a DataFrame is a condition of Spark, not {shown(delete_when)}",
                hint="""delete_when="op = 'D'", or a column: col("op") == lit("D")""",
            )
        own = (*table.record.names, *self.sequence)
        known = {*own, *read_by(frame, holds)}
        for name in frame.columns:
            if name not in known:
                raise ChangeError(
                    f"{table.name} has no column {name!r}, and neither delete_when nor sequence_by reads it",
                    hint=f"it has {', '.join(table.record.names)}",
                )
        kept = [sql_name(name) for name in frame.columns if name in own]
        self.frame = frame.withColumn(DELETES, holds).select(*kept, DELETES)

    @staticmethod
    def deletes(row: Any) -> bool:
        """The same of a row that came here; where the condition is null, it does not hold."""
        return bool(row[DELETES])

    @cached_property
    def places(self) -> tuple[Scalar, ...]:
        """The types of the sequence, as those of values are: without sizes, but for columns of the table."""
        own = dict(self.table.record.fields)
        given = dict(record_type(self.frame.select(*map(sql_name, self.sequence)).schema).fields)
        found = []
        for name in self.sequence:
            type_ = own.get(name, given[name])
            if not isinstance(type_, Scalar):
                raise ChangeError(f"{name} has no order", hint="a sequence is of numbers, texts or dates")
            found.append(Scalar(type_.name, size=type_.size if name in own else ()))
        return tuple(found)

    @property
    def memory(self) -> TableDef | None:
        """The table that remembers the sequence."""
        return merged_table(self.table, self.places) if self.sequence else None


def merge_frame(large: Large, given: FrameMerge) -> None:
    """Merge the rows of a DataFrame into the tables of ``large``."""
    table, memory = given.table, given.memory
    if memory is not None:
        check_memory(table, large.state.tables[memory.name], memory)
    last = _last(large, given)
    if memory is not None:
        last = _later(large, memory, last)
    columns = ", ".join(f"{at} AS g{i}" for i, (at, _) in enumerate(leaves(given.key, "k")))
    keys = f"SELECT {columns} FROM {last}"
    wanted = large.query(f"SELECT v, 1L AS n FROM {last} WHERE NOT d")
    large.change(table, large.replacing(table, wanted, keys))
    if memory is not None:
        large.change(
            memory, large.replacing(memory, large.query(f"SELECT s AS v, 1L AS n FROM {last}"), keys)
        )


def _last(large: Large, given: FrameMerge) -> str:
    """Of each key ``k`` the last row: its value ``v``, whether it deletes, ``d``, and what is remembered, ``s``."""
    table, rows = given.table, large.arrived(given.frame)
    own = [sql_name(name) for name in table.record.names if name in rows.columns]
    come, gone = rows.where(f"NOT coalesce({DELETES}, false)"), rows.where(DELETES)
    large.check(table.record, come.select(*own), lambda row: row_value(table.record, row))
    large.check(
        given.key, gone.select(*map(sql_name, given.key.names)), lambda row: row_value(given.key, row)
    )
    places = Record(tuple(zip(given.sequence, given.places, strict=True)) if given.sequence else ())
    if given.sequence:
        _check_places(large, rows, places)
    value = canonical(table.record, "", come.select(*own).schema)
    key, place = canonical(given.key, ""), canonical(places, "") if given.sequence else "0"
    remembered = canonical(Record((*given.key.fields, *places.fields)), "")
    named = large.written(
        f"SELECT {key} AS k, coalesce({DELETES}, false) AS d, {remembered} AS s, {place} AS p,"
        f" CASE WHEN coalesce({DELETES}, false) THEN NULL ELSE {value} END AS v FROM {large.view(rows)}"
    )
    # How many different rows the last place of a key has; without a sequence, how many rows at all.
    ranked = f"SELECT *, rank() OVER (PARTITION BY k ORDER BY p DESC) AS place FROM {named}"
    count = "count(DISTINCT struct(d, v))" if given.sequence else "count(*)"
    for row in large.rows(f"SELECT k FROM ({ranked}) WHERE place = 1 GROUP BY k HAVING {count} > 1 LIMIT 1"):
        raise twice(table, value_of(given.key, row["k"]), given.sequence)
    numbered = f"SELECT *, row_number() OVER (PARTITION BY k ORDER BY p DESC) AS place FROM {named}"
    return large.written(f"SELECT k, d, s, v FROM ({numbered}) WHERE place = 1")


def _later(large: Large, memory: TableDef, last: str) -> str:
    """Those of the ``last`` rows whose place is beyond the one that is remembered of their key."""
    there = large.stored(memory.name, memory.record)
    width, total = len(memory.key), len(memory.record.fields)
    same = " AND ".join(f"a.s.c{i} <=> b.v.c{i}" for i in range(width))
    new, old = (", ".join(f"{at}.c{i}" for i in range(width, total)) for at in ("a.s", "b.v"))
    later = f"b.v IS NULL OR struct({new}) > struct({old})"
    return large.written(f"SELECT a.* FROM {last} a LEFT JOIN {there} b ON {same} WHERE {later}")


def is_later(state: State, once: tuple[str, int]) -> bool:
    """Whether a batch of a job comes after the last one that is stored."""
    last = row_by_key(state, ONCE, once[0])
    return last is None or last[1] < once[1]


def note_batch(large: Large, once: tuple[str, int]) -> None:
    """Store with a large change which batch of which job it is."""
    last = row_by_key(large.state, ONCE, once[0])
    rows = [(once, 1)] if last is None else [(once, 1), (last, -1)]
    large.apply(ONCE, as_frame(large.session, ONCE.record, rows), 1)


def _check_places(large: Large, rows: Any, places: Record) -> None:
    """Refuse rows that have no place in the sequence: a null, or a NaN."""

    def check(row: Any) -> None:
        for name, type_ in places.fields:
            assert isinstance(type_, Scalar)
            place_of(name, type_, row[name])

    found = rows.select(*map(sql_name, places.names))
    large.check(places, found, check)
    for name, type_ in places.fields:
        if type_ == Scalar("float"):
            for row in found.where(f"isnan({sql_name(name)})").limit(1).toArrow().to_pylist():
                check(row)
