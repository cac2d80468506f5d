"""One batch of one table: its trigger, stage by stage.

First all statements on the rows, which read everything as it was, in one query. Then the rows are written. Then every
nested map that changes, inner ones first: what its keys were and are, and in one query all that follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import replace
from typing import Any

from nestling.engine.spark.columns import Layout
from nestling.engine.spark.events import event_layout, event_sql
from nestling.engine.spark.relations import pruned, sums
from nestling.engine.spark.session import python_errors
from nestling.engine.spark.state import Moment, Part, few_values, register
from nestling.engine.spark.statements import Writer
from nestling.engine.spark.totals import is_small, totals
from nestling.program.batches import change_of
from nestling.program.statements import Action, Add, Propagate, Statement, Trigger, Write

HINT = "/*+ BROADCAST(d) */ "

#: Takes the name of a target and the query of what is added to it: an Arrow table, or rows that are in files then.
Sink = Callable[[str, str], Any]


def run_batch(moment: Moment, trigger: Trigger, rows: Any, sink: Sink | None = None) -> None:
    """Add ``rows`` to the trigger's table, and to every map what follows.

    With a ``sink`` the change is not small: nothing of it is sent to all executors, and nothing comes here.
    """
    layout = moment.layouts[trigger.table]
    source = change_of(trigger.table)
    seen(moment, source, layout, rows)
    adds = [action for action in trigger.actions if isinstance(action, Add)]
    added = stage(moment, [add.statement for add in adds], sink)
    later = {add.statement.target for add in adds if add.later}
    collected = {name: [table] for name, table in added.items() if name in later}
    for action in trigger.actions:
        if isinstance(action, Write):
            moment.add(action.table, rows)
    for name, table in added.items():
        if name not in later:
            moment.add(name, table)
    forget(moment, source, rows)
    for action in trigger.actions:
        if isinstance(action, Propagate):
            propagate(moment, action, collected, sink)


def propagate(moment: Moment, action: Propagate, collected: dict[str, list[Any]], sink: Sink | None) -> None:
    """Pass the change of a map on."""
    changes = collected.pop(action.map, [])
    if not sum(map(size, changes)):
        return
    layout = moment.layouts[action.map]
    parts = [view_of(moment, change) for change in changes]
    # Several maps may have changed this one; an event sums what they did to a key.
    rows = " UNION ALL ".join(f"SELECT {', '.join(layout.names)} FROM {part.view}" for part in parts)
    change = f"({rows})"
    stored = moment.raw(action.map)
    if sink is None and len(changes) == 1 and len(layout.keys) > (action.events[0][0].aggregate != ""):
        stored = pruned(stored, "k0", few_values(changes[0], layout, 0))
    sources = []
    for aggregate in sorted({event.aggregate for event, _ in action.events}):
        text = event_sql(layout, aggregate, stored, change, "" if sink else HINT)
        source = change_of(action.map, aggregate)
        found = sink(source, text) if sink else arrow(moment, text)
        seen(moment, source, event_layout(layout, aggregate), found)
        sources.append((source, found))
    adds = [add for _, adds in action.events for add in adds]
    added = stage(moment, [add.statement for add in adds], sink)
    later = {add.statement.target for add in adds if add.later}
    for name, table in added.items():
        if name in later:
            collected.setdefault(name, []).append(table)
        else:
            moment.add(name, table)
    for added_rows in changes:
        moment.add(action.map, added_rows)
    for source, found in sources:
        forget(moment, source, found)
    for part, rows_of in zip(parts, changes, strict=True):
        if part is not rows_of:
            moment.session.catalog.dropTempView(part.view)


def restricted(trigger: Trigger, maps: Set[str]) -> Trigger:
    """``trigger`` as far as it concerns ``maps``."""

    def kept(adds: Iterable[Add]) -> tuple[Add, ...]:
        return tuple(add for add in adds if add.statement.target in maps)

    actions: list[Action] = []
    for action in trigger.actions:
        match action:
            case Add(statement) if statement.target in maps:
                actions.append(action)
            case Write():
                actions.append(action)
            case Propagate(name, events) if name in maps:
                actions.append(Propagate(name, tuple((event, kept(adds)) for event, adds in events)))
    return replace(trigger, actions=tuple(actions))


def size(rows: Any) -> int:
    return rows.rows if isinstance(rows, Part) else int(rows.num_rows)


def view_of(moment: Moment, rows: Any) -> Part:
    """Rows as Spark can name them."""
    return rows if isinstance(rows, Part) else register(moment.session, rows)


def seen(moment: Moment, source: str, layout: Layout, rows: Any) -> None:
    """Let statements see a change."""
    moment.changes[source] = (layout, view_of(moment, rows))
    if not isinstance(rows, Part):
        moment.tables[source] = rows


def forget(moment: Moment, source: str, rows: Any) -> None:
    """A change is over; what is in files stays for the table it was added to."""
    _, part = moment.changes.pop(source)
    moment.tables.pop(source, None)
    if part is not rows:
        moment.session.catalog.dropTempView(part.view)


def arrow(moment: Moment, text: str) -> Any:
    with python_errors():
        return moment.session.sql(text).toArrow()


def stage(moment: Moment, statements: Sequence[Statement], sink: Sink | None = None) -> dict[str, Any]:
    """What ``statements`` add, by target, summed by key: one query, or one per target with a ``sink``."""
    writer = Writer(moment, broadcast=sink is None)
    texts: dict[str, list[str]] = {}
    for statement in statements:
        if not writer.finds_nothing(statement):
            target = moment.layouts[statement.target]
            texts.setdefault(statement.target, []).append(writer.statement(statement, target))
    if not texts:
        return {}
    if sink is not None:
        return {
            name: sink(name, writer.text(difference(" UNION ALL ".join(rows), moment.layouts[name])))
            for name, rows in texts.items()
        }
    targets = list(texts)
    some = [moment.layouts[name] for name in targets]
    large = {statement.target for statement in statements if not is_small(statement, moment.layouts)}
    parts = []
    for i, name in enumerate(targets):
        rows = " UNION ALL ".join(texts[name])
        parts.append(_tagged(i, some, difference(rows, some[i]) if name in large else rows))
    table = arrow(moment, writer.text(" UNION ALL ".join(parts)))
    found = {name: _untagged(table, i) for i, name in enumerate(targets)}
    return {
        name: rows if name in large else totals(rows, moment.layouts[name]) for name, rows in found.items()
    }


def difference(rows: str, layout: Layout) -> str:
    """``rows`` summed by key, those that change something."""
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
