"""The order of a trigger's actions.

Statements on a row read the old state, so a map is read before it is updated: readers first, the table itself last.
Then the changes collected for nested maps are propagated, inner maps before those that read them; their statements
read the current state of all other maps. Together this telescopes: each input of a product changes once, those before
it already new, those after it still old.

Law (8): the sum of all that is added is the difference of the map's meanings.
"""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import TopologicalSorter

from nestling.calculus.terms import Var
from nestling.calculus.types import INT
from nestling.program.kept import kept_columns
from nestling.program.statements import (
    Action,
    Add,
    MapEvent,
    Propagate,
    RowUpdate,
    Statement,
    TableDecl,
    Trigger,
    Write,
)
from nestling.program.steps import reads

#: How often a row comes; a name that no query can have.
TIMES = Var("·times", INT)

Rows = Mapping[str, list[Statement]]
Events = Mapping[str, list[tuple[MapEvent, Statement]]]


def triggers(tables: Mapping[str, TableDecl], rows: Rows, events: Events) -> dict[str, Trigger]:
    """One trigger per table."""
    return {
        name: Trigger(name, table.columns, TIMES, tuple(_actions(name, rows, events)))
        for name, table in tables.items()
    }


def updates(tables: Mapping[str, TableDecl], rows: Rows, events: Events) -> dict[str, RowUpdate]:
    """One update per table whose rows change under their key."""
    return {
        name: RowUpdate(name, _before(table), table.columns, tuple(_actions(name, rows, events)))
        for name, table in tables.items()
        if table.key and not table.append_only
    }


def _before(table: TableDecl) -> tuple[Var, ...]:
    """The columns of a row before it changes."""
    stay = kept_columns(table)
    return tuple(
        column if i in stay else Var(f"·old_{column.name}", column.type)
        for i, column in enumerate(table.columns)
    )


def _actions(table: str, rows: Rows, events: Events) -> list[Action]:
    statements = rows.get(table, [])
    if not statements:
        return [Write(table)]
    later = [s for s in statements if s.target in events]
    now = [s for s in statements if s.target not in events]
    collected = [Add(statement, later=True) for statement in later]
    return [
        *collected,
        *(Add(statement) for statement in _readers_first(now)),
        Write(table),
        *_propagations({s.target for s in later}, events),
    ]


def _readers_first(statements: list[Statement]) -> list[Statement]:
    """Every statement before those that add to what it reads."""
    sorter: TopologicalSorter[int] = TopologicalSorter()
    read = [frozenset(reads(statement)) for statement in statements]
    for i, writer in enumerate(statements):
        readers = (j for j, sources in enumerate(read) if j != i and writer.target in sources)
        sorter.add(i, *readers)
    return [statements[i] for i in sorter.static_order()]


def _propagations(first: set[str], events: Events) -> list[Propagate]:
    reached, pending = set(first), list(first)
    while pending:
        for _, statement in events[pending.pop()]:
            if statement.target in events and statement.target not in reached:
                reached.add(statement.target)
                pending.append(statement.target)
    sorter: TopologicalSorter[str] = TopologicalSorter({name: set[str]() for name in sorted(reached)})
    for name in sorted(reached):
        for _, statement in events[name]:
            if statement.target in reached:
                sorter.add(statement.target, name)
    return [_propagate(name, events) for name in sorter.static_order()]


def _propagate(name: str, events: Events) -> Propagate:
    by_event: dict[MapEvent, list[Add]] = {}
    for event, statement in events[name]:
        by_event.setdefault(event, []).append(Add(statement, later=statement.target in events))
    return Propagate(name, tuple((event, tuple(adds)) for event, adds in by_event.items()))
