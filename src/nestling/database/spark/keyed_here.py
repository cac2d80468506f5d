"""The flat rows of a large change that are few enough to come here: Arrow compares them with what is stored.

They come anyway, to be applied; and to compare so many in this process costs less than to have a query compiled for it.

Law: nothing is wrong here only if the queries of ``FlatRows`` find nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nestling.calculus.types import Bag, Record, dictionary_name
from nestling.database.definitions import TableDef
from nestling.database.spark.keyed import FlatRows
from nestling.engine.spark import limits
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.relations import at_most
from nestling.engine.spark.session import TooManyError
from nestling.engine.spark.state import LakeState
from nestling.engine.spark.totals import sums_here, totals
from nestling.engine.spark.types import arrow_schema

#: Rows as they were shredded, by flat table: what comes and goes is not summed.
Here = Mapping[str, Any]


def fetched(engine: SparkEngine, rows: FlatRows) -> Here | None:
    """The rows, here; ``None`` where they are too many, or not to be compared by Arrow."""
    layouts = engine.layouts
    if len(rows.places) != 1 or any(isinstance(t, Record | Bag) for n in rows.rows for t in layouts[n].keys):
        return None
    found = {}
    try:
        for name, view in rows.rows.items():
            text = f"SELECT {', '.join(layouts[name].names)} FROM {view}"
            table = engine.arrow(at_most(limits.MAX_ROWS_PER_TASK, text))
            found[name] = table.cast(arrow_schema(layouts[name].sql))
    except TooManyError:
        return None
    return found if sum(table.num_rows for table in found.values()) <= limits.MAX_COLLECTED_ROWS else None


def is_right(engine: SparkEngine, moment: LakeState, table: TableDef, here: Here) -> bool | None:
    """Whether all that goes is there and every key stays the key of one row; ``None`` where that is for Spark."""
    name, (place, *more) = table.name, table.declarations[table.name].key
    if more:
        return None
    main, key = here[name], f"k{place}"
    gone = main.filter(_less(main))
    asked = [(name, key, gone.select([key]))]
    for path, label in table.labels.items():
        asked.append((dictionary_name(name, path), "k0", gone.select([f"k{label}"]).rename_columns(["k0"])))
    for source, _, wanted in asked:
        there = _at(engine, moment, source, wanted)
        if there is None:
            return None
        part = here[source]
        if totals(_together([there, part.filter(_less(part))]), engine.layouts[source]).num_rows:
            return False
    taken = _at(engine, moment, name, main.filter(_more(main)).select([key]))
    return None if taken is None else _is_single(key, [main, taken])


def unlike(engine: SparkEngine, moment: LakeState, table: TableDef, here: Here) -> dict[str, Any] | None:
    """What must come and go so that flat tables hold exactly the rows of ``here``; ``None`` where a query has to say:
    Arrow does not compare these, or a key is that of two rows."""
    name, layouts = table.name, engine.layouts
    key = [f"k{place}" for place in table.declarations[name].key]
    if not all(sums_here(layouts[flat]) for flat in here):
        return None
    main = here[name]
    if main.group_by(key).aggregate([]).num_rows < main.num_rows:
        return None
    found = {}
    for flat, rows in here.items():
        stored = engine.driver.all_rows(moment, flat)
        if stored is None:
            return None
        found[flat] = totals(_together([rows, _negated(stored)]), layouts[flat])
    return found


def _negated(rows: Any) -> Any:
    import pyarrow.compute as pc

    place = rows.schema.get_field_index("m0")
    return rows.set_column(place, "m0", pc.negate(rows.column("m0")))


def _at(engine: SparkEngine, moment: LakeState, source: str, wanted: Any) -> Any:
    import pyarrow.compute as pc

    column = wanted.column_names[0]
    if not wanted.num_rows or not moment.stored[source].rows:
        return arrow_schema(engine.layouts[source].sql).empty_table()
    asked = wanted.group_by(column).aggregate([]) if wanted.num_rows > 1 else wanted
    if pc.sum(pc.is_null(asked.column(column))).as_py():
        return None
    return engine.driver.rows_at(moment, source, asked, limits.MAX_COLLECTED_ROWS)


def _is_single(key: str, tables: Iterable[Any]) -> bool:
    """Whether no key has more than one row."""
    import pyarrow.compute as pc

    counted = (
        _together([table.select([key, "m0"]) for table in tables]).group_by(key).aggregate([("m0", "sum")])
    )
    return not counted.num_rows or bool(pc.max(counted.column("m0_sum")).as_py() <= 1)


def _together(tables: list[Any]) -> Any:
    import pyarrow as pa

    return pa.concat_tables(tables)


def _less(table: Any) -> Any:
    import pyarrow.compute as pc

    return pc.less(table.column("m0"), 0)


def _more(table: Any) -> Any:
    import pyarrow.compute as pc

    return pc.greater(table.column("m0"), 0)
