"""Trigger programs for batches: the change of a source is a source of its own.

Where a batch of rows arrives at once, a statement does not start from one row but from the relation of all of them.
``ΔR`` holds the rows of the batch with how often each comes. ``ΔN`` of a map that is passed on holds the keys that
changed, each with its measures before and after; of an ordered map, ``ΔN·min`` holds the groups whose least value
changed, each with the value before and after. Of a map that is summed within bounds, ``ΔN·groups`` holds the groups in
which some key changed, once each.
"""

from __future__ import annotations

from nestling.program.statements import Program, Propagate
from nestling.program.steps import every_trigger

CHANGE = "Δ"
#: In the place of an aggregate: only which groups changed.
GROUPS = "groups"


def change_of(source: str, aggregate: str = "") -> str:
    """The name of what changes in ``source``.

    >>> change_of("M"), change_of("L1", "min")
    ('ΔM', 'ΔL1·min')
    """
    return f"{CHANGE}{source}·{aggregate}" if aggregate else f"{CHANGE}{source}"


def is_change(source: str) -> bool:
    """Whether ``source`` is what changes in another."""
    return source.startswith(CHANGE)


def changes(program: Program) -> dict[str, tuple[int, int]]:
    """Of every change that a program for batches may look into, how many keys and measures it has."""
    found = {change_of(name): (len(table.columns), 1) for name, table in program.tables.items()}
    for name, decl in program.maps.items():
        found[change_of(name)] = (len(decl.columns), 2 * decl.width)
        if decl.order == "sums":
            found[change_of(name, GROUPS)] = (len(decl.columns) - 1, 0)
    for trigger in every_trigger(program):
        for action in trigger.actions:
            if isinstance(action, Propagate):
                width = len(program.maps[action.map].columns) - 1 if action.map in program.maps else 0
                aggregates = {event.aggregate for event, _ in action.events} - {""}
                found |= {change_of(action.map, aggregate): (width, 2) for aggregate in aggregates}
    return found
