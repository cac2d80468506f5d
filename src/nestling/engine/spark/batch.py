"""One batch of one table: its trigger, stage by stage.

First all statements on the rows, which read everything as it was, in one query. Then the rows are written. Then every
nested map that changes, inner ones first: what its keys were and are, and in one query all that follows from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nestling.engine.spark.columns import Layout
from nestling.engine.spark.events import event_layout, event_sql
from nestling.engine.spark.relations import sums
from nestling.engine.spark.session import python_errors
from nestling.engine.spark.state import Moment, register
from nestling.engine.spark.statements import Writer
from nestling.program.batches import change_of
from nestling.program.statements import Add, Propagate, Statement, Trigger, Write

HINT = "/*+ BROADCAST(d) */ "


def run_batch(moment: Moment, trigger: Trigger, rows: Any) -> None:
    """Add ``rows`` to the trigger's table, and to every map what follows."""
    layout = moment.layouts[trigger.table]
    source = change_of(trigger.table)
    moment.changes[source] = (layout, register(moment.session, rows))
    adds = [action for action in trigger.actions if isinstance(action, Add)]
    added = stage(moment, [add.statement for add in adds])
    later = {add.statement.target for add in adds if add.later}
    collected = {name: [table] for name, table in added.items() if name in later}
    for action in trigger.actions:
        if isinstance(action, Write):
            moment.add(action.table, rows)
    for name, table in added.items():
        if name not in later:
            moment.add(name, table)
    forget(moment, source)
    for action in trigger.actions:
        if isinstance(action, Propagate):
            propagate(moment, action, collected)


def propagate(moment: Moment, action: Propagate, collected: dict[str, list[Any]]) -> None:
    """Pass the change of a map on."""
    import pyarrow as pa

    tables = collected.pop(action.map, [])
    if not sum(table.num_rows for table in tables):
        return
    layout = moment.layouts[action.map]
    change = pa.concat_tables(tables)
    part = register(moment.session, change)
    sources = []
    for aggregate in {event.aggregate for event, _ in action.events}:
        text = event_sql(layout, aggregate, moment.raw(action.map), part.view, HINT)
        found = arrow(moment, text)
        source = change_of(action.map, aggregate)
        moment.changes[source] = (event_layout(layout, aggregate), register(moment.session, found))
        sources.append(source)
    adds = [add for _, adds in action.events for add in adds]
    added = stage(moment, [add.statement for add in adds])
    later = {add.statement.target for add in adds if add.later}
    for name, table in added.items():
        if name in later:
            collected.setdefault(name, []).append(table)
        else:
            moment.add(name, table)
    moment.add(action.map, change)
    for source in sources:
        forget(moment, source)
    moment.session.catalog.dropTempView(part.view)


def forget(moment: Moment, source: str) -> None:
    moment.session.catalog.dropTempView(moment.changes.pop(source)[1].view)


def arrow(moment: Moment, text: str) -> Any:
    with python_errors():
        return moment.session.sql(text).toArrow()


def stage(moment: Moment, statements: Sequence[Statement]) -> dict[str, Any]:
    """What ``statements`` add, by target, summed by key: one query."""
    writer = Writer(moment)
    texts: dict[str, list[str]] = {}
    for statement in statements:
        if not writer.finds_nothing(statement):
            target = moment.layouts[statement.target]
            texts.setdefault(statement.target, []).append(writer.statement(statement, target))
    if not texts:
        return {}
    targets = list(texts)
    some = [moment.layouts[name] for name in targets]
    parts = [
        _tagged(i, some, _nonzero(" UNION ALL ".join(texts[name]), some[i])) for i, name in enumerate(targets)
    ]
    table = arrow(moment, writer.text(" UNION ALL ".join(parts)))
    return {name: _untagged(table, i) for i, name in enumerate(targets)}


def _nonzero(rows: str, layout: Layout) -> str:
    some = " OR ".join(f"m{i} <> 0" for i in range(len(layout.measures)))
    return f"SELECT * FROM ({sums(rows, layout)}) WHERE {some}"


def _tagged(tag: int, layouts: Sequence[Layout], rows: str) -> str:
    """Rows of one target beside those of others: a struct per target, and which it is."""
    columns = []
    for i, layout in enumerate(layouts):
        if i == tag:
            fields = ", ".join(f"'{name}', {name}" for name in layout.names)
            columns.append(f"named_struct({fields}) AS s{i}")
        else:
            fields = ", ".join(f"{name}: {type_}" for name, type_ in layout.sql)
            columns.append(f"CAST(NULL AS STRUCT<{fields}>) AS s{i}")
    return f"SELECT {tag} AS t, {', '.join(columns)} FROM ({rows})"


def _untagged(table: Any, tag: int) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    mine = table.filter(pc.equal(table["t"], tag)).column(f"s{tag}").combine_chunks()
    if isinstance(mine, pa.ChunkedArray):
        mine = pa.concat_arrays(mine.chunks) if mine.num_chunks else pa.array([], mine.type)
    return pa.Table.from_arrays(mine.flatten(), names=[field.name for field in mine.type])
