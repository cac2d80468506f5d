"""One batch: the triggers of the tables it changes, stage by stage.

Tables change one after the other. First all statements on the changed rows run, over the old state. Then the rows
are written. Then the changes of nested maps are propagated, inner maps first: the old and the new measures of each
changed key, and the statements that depend on them. Statements on the rows of several tables share one query, as
long as none reads a map that an earlier one writes: the rows of tables are known in advance, the changes of maps
are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from typing import Any

from nestling.engine.spark.columns import Layout, deferred_name
from nestling.engine.spark.events import event_layout, event_sql
from nestling.engine.spark.linear import is_linear
from nestling.engine.spark.relations import pruned
from nestling.engine.spark.stage import Added, Sink, Stage, arrow
from nestling.engine.spark.state import LakeState, SourceChange, TempView, near
from nestling.program.batches import GROUPS, change_of
from nestling.program.statements import (
    Action,
    Add,
    Assign,
    Check,
    Combine,
    Find,
    NewAndOld,
    Propagate,
    Statement,
    Trigger,
    Write,
)
from nestling.program.steps import reads, trigger_statements

HINT = "/*+ BROADCAST(d) */ "

#: A trigger, and the rows of its table that come and go: an Arrow table, or rows in files.
Arrived = tuple[Trigger, Any]


def run_batch(moment: LakeState, changes: Sequence[Arrived], sink: Sink | None = None) -> None:
    """Add rows to the triggers' tables, in this order, and apply the consequences to every map.

    A ``sink`` means that the change is large: no result of it comes to the driver.
    """
    done = 0
    while done < len(changes):
        group = changes[done : done + (1 if sink else together([trigger for trigger, _ in changes[done:]]))]
        for trigger, rows in group:
            seen(moment, change_of(trigger.table), moment.layouts[trigger.table], rows)
        for (trigger, rows), added in zip(group, first_stage(moment, group, sink), strict=True):
            add_results(moment, trigger, rows, added, sink)
        done += len(group)


def together(triggers: Sequence[Trigger]) -> int:
    """How many of the first triggers can share one query: none of them reads a map that an earlier one writes."""
    written: set[str] = set()
    for number, trigger in enumerate(triggers):
        adds = [action.statement for action in trigger.actions if isinstance(action, Add)]
        if number and not written.isdisjoint(source for statement in adds for source in reads(statement)):
            return number
        written |= {statement.target for statement in trigger_statements(trigger)}
    return len(triggers)


def first_stage(moment: LakeState, group: Sequence[Arrived], sink: Sink | None) -> list[Added]:
    """What the statements on rows add; each table sees the earlier ones in their new state."""
    stage, before = Stage(moment, sink), moment.next()
    before.changes = dict(moment.changes)
    try:
        for number, (trigger, rows) in enumerate(group):
            adds = [action.statement for action in trigger.actions if isinstance(action, Add)]
            stage.run(adds, before if number else moment)
            if number + 1 < len(group):
                before.add(trigger.table, rows)
        return stage.found()
    finally:
        before.changes.clear()
        before.drop_views(moment)


def add_results(moment: LakeState, trigger: Trigger, rows: Any, added: Added, sink: Sink | None) -> None:
    """Add the results to a table and to maps, and propagate the changes of maps."""
    later = {a.statement.target for a in trigger.actions if isinstance(a, Add) and a.later}
    collected = {name: [table] for name, table in added.items() if name in later}
    for action in trigger.actions:
        if isinstance(action, Write):
            moment.add(action.table, rows)
    for name, table in added.items():
        if name not in later:
            moment.add(name, table)
    forget(moment, change_of(trigger.table))
    for action in trigger.actions:
        if isinstance(action, Propagate):
            if deferred_name(action.map) in moment.stored:
                for found in collected.pop(action.map, ()):
                    moment.add(deferred_name(action.map), found)
            else:
                propagate(moment, action, collected, sink)


def propagate(
    moment: LakeState, action: Propagate, collected: dict[str, list[Any]], sink: Sink | None
) -> None:
    """Propagate the change of a map."""
    changes = collected.pop(action.map, [])
    if not sum(map(size, changes)):
        return
    own = [SourceChange(moment.layouts[action.map], rows) for rows in changes]
    adds = [add for _, adds in action.events for add in adds]
    sources = []
    for source, layout, found in events(moment, action, own, sink):
        seen(moment, source, layout, found)
        sources.append(source)
    stage = Stage(moment, sink)
    stage.run([add.statement for add in adds])
    later = {add.statement.target for add in adds if add.later}
    for name, table in stage.found()[0].items():
        if name in later:
            collected.setdefault(name, []).append(table)
        else:
            moment.add(name, table)
    for added_rows in changes:
        moment.add(action.map, added_rows)
    for source in sources:
        forget(moment, source)
    for change in own:
        change.forget(moment.session)


def events(
    moment: LakeState, action: Propagate, changes: Sequence[SourceChange], sink: Sink | None
) -> Iterator[tuple[str, Layout, Any]]:
    """The changed keys of a map with their old and new measures, by aggregate: rows, or the query of them."""
    layout = moment.layouts[action.map]
    statements = [add.statement for _, adds in action.events for add in adds]
    aggregates = {event.aggregate for event, _ in action.events}
    if any(change_of(action.map, GROUPS) in reads(statement) for statement in statements):
        aggregates.add(GROUPS)
    here = moment.driver.events(moment, action.map, sorted(aggregates), changes) if sink is None else None
    if here is None:
        yield from queried(moment, action, changes, sorted(aggregates), statements, sink)
        return
    for aggregate, rows in here.items():
        yield change_of(action.map, aggregate), event_layout(layout, aggregate), rows


def queried(
    moment: LakeState,
    action: Propagate,
    changes: Sequence[SourceChange],
    aggregates: Sequence[str],
    statements: Sequence[Statement],
    sink: Sink | None,
) -> Iterator[tuple[str, Layout, Any]]:
    """The same by Spark."""
    layout = moment.layouts[action.map]
    # Several maps may have changed this one; an event sums what they did to a key.
    columns = ", ".join(layout.names)
    rows = " UNION ALL ".join(f"SELECT {columns} FROM {change.view(moment.session)}" for change in changes)
    stored = moment.raw(action.map)
    groups = range(len(layout.keys) - any(aggregates))
    if sink is None and len(changes) == 1 and groups:
        place = layout.in_order(groups)[0]
        stored = pruned(stored, f"k{place}", near(changes[0].table, layout, place))
    for aggregate in aggregates:
        text = event_sql(
            layout, aggregate, stored, f"({rows})", HINT if sink is None or sink.broadcast else ""
        )
        source = change_of(action.map, aggregate)
        found: Any
        if sink is not None:
            found = sink(source, text)
        elif is_read_once(source, statements):
            found = TempView(f"({text})", 1)
        else:
            found = arrow(moment, text)
        yield source, event_layout(layout, aggregate), found


def is_read_once(source: str, statements: Sequence[Statement]) -> bool:
    """Whether only one statement starts from ``source``, and reads it once."""
    readers = [statement for statement in statements if source in reads(statement)]
    if len(readers) != 1:
        return False
    finds = [step for step in readers[0].steps if isinstance(step, Find)]
    others = [step for step in readers[0].steps if not isinstance(step, Find)]
    return (
        [step.source for step in finds].count(source) == 1
        and all(is_linear(readers[0], step) for step in finds)
        and all(isinstance(step, Check | Assign | Combine | NewAndOld) for step in others)
    )


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
    return rows.rows if isinstance(rows, TempView) else int(rows.num_rows)


def seen(moment: LakeState, source: str, layout: Layout, rows: Any) -> None:
    """Let statements see a change."""
    moment.changes[source] = SourceChange(layout, rows)


def forget(moment: LakeState, source: str) -> None:
    """A change is over."""
    moment.changes.pop(source).forget(moment.session)
