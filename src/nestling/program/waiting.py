"""Updates that wait until a view is read: what else has to be run after them.

A row of a *patient* table that changes is put in its place at once, and what its change adds to maps waits: by key the
row that the maps have seen last and the one that is there now. However often it changes, it is one update then. What it
adds is computed from tables and maps that must be as they were: an event that changes one of them, or reads what the
update changes, comes after what waits was run.

Law: where ``first(p, t)`` are run before an event, the maps have after a reading what they would have had at once.
"""

from __future__ import annotations

from nestling.program.statements import Program, RowUpdate, Trigger
from nestling.program.steps import reads, trigger_statements


def first(program: Program, trigger: Trigger | RowUpdate) -> list[str]:
    """The patient tables whose waiting updates are run before ``trigger``."""
    is_update = isinstance(trigger, RowUpdate)
    others = [name for name in sorted(program.patient) if not (is_update and name == trigger.table)]
    return [name for name in others if not _are_apart(program.updates[name], trigger)]


def reads_of(trigger: Trigger | RowUpdate) -> set[str]:
    """What the statements of a trigger look into."""
    return {source for statement in trigger_statements(trigger) for source in reads(statement)}


def changes_of(trigger: Trigger | RowUpdate) -> set[str]:
    """The table of a trigger, and the maps that it adds to."""
    return {trigger.table, *(statement.target for statement in trigger_statements(trigger))}


def _are_apart(waiting: RowUpdate, trigger: Trigger | RowUpdate) -> bool:
    changed, other = changes_of(waiting), changes_of(trigger)
    return (
        changed.isdisjoint(other)
        and reads_of(waiting).isdisjoint(other)
        and changed.isdisjoint(reads_of(trigger))
    )
