"""Hybrid views on Spark in which updates of objects wait for a reading, as ``transform/viewlet/patient`` says.

Such a view has a program of its own, as a lazy one has: its rows pending, summed, run as one batch. Whatever else than
an update changes is run as soon as it is stored, with what was pending before it; so ten updates of one attribute
between two readings are one, and a row that comes or goes is seen at once.

A view waits where an update goes through rows that refer to the object, where nothing else waits in it, and where it
has a value whatever the rows are: one that may have none refuses a change at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from nestling.calculus.terms import Empty
from nestling.engine.runs import Event, Tables, summed_runs
from nestling.program.batches import is_change
from nestling.program.statements import Find, Program, Statement
from nestling.program.steps import trigger_statements
from nestling.transform.pipeline import Compiled
from nestling.transform.viewlet.defer import deferred


def updates_wait(name: str, compiled: Compiled) -> bool:
    """Whether updates wait in a hybrid view."""
    program = compiled.program
    return (
        program is not None
        and isinstance(compiled.undefined, Empty)
        and not deferred(program, {name})
        and any(_goes_through_referrers(program, table) for table in program.tables)
    )


def _goes_through_referrers(program: Program, table: str) -> bool:
    decl = program.tables[table]
    may_change = decl.key and not decl.append_only and len(decl.fixed) < len(decl.columns)
    trigger = program.triggers.get(table) if may_change else None
    return trigger is not None and any(_finds_many(s, program) for s in trigger_statements(trigger))


def _finds_many(statement: Statement, program: Program) -> bool:
    """Whether it looks for rows beside those that change, by less than their key."""
    finds = [step for step in statement.steps if isinstance(step, Find) and not is_change(step.source)]
    return any(not _is_by_key(find, program) for find in finds)


def _is_by_key(find: Find, program: Program) -> bool:
    table = program.tables.get(find.source)
    return len(find.known) == len(find.args) or bool(table and table.key and {*table.key} <= {*find.known})


def are_updates(events: Iterable[Event], tables: Tables) -> bool:
    """Whether events come to rows that take the place of others, and to nothing else."""
    return all(run.updates for run in summed_runs(events, tables))
