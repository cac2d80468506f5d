"""What waits until a hybrid view is read: changes of nested maps (``defer``), and updates of objects.

An update of an object goes through the rows that refer to it. Where only views that wait read what it changes, it may
wait, so that ten updates of one row between two readings cost one (``program/waiting``). One that looks up few entries
does not wait: to remember it costs as much. Nor does one that may fail, for a bad row is rejected at once, nor one that
reads its own table, whose rows are put in their place at once.

Law (9): a reading gives the same answer whether updates were run at once or waited.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from nestling.calculus.partial import is_total
from nestling.program.statements import Add, Find, Program, Propagate, RowUpdate, Statement
from nestling.program.steps import uses
from nestling.program.waiting import changes_of, reads_of
from nestling.transform.viewlet.defer import deferred, needed_at_once


def patient(program: Program, views: Collection[str]) -> Program:
    """``program``, in which all that only these ``views`` need waits for their readings."""
    program = replace(program, deferred=deferred(program, views))
    needed = needed_at_once(program, views)
    tables = (name for name, update in program.updates.items() if _waits(update, program, needed))
    return replace(program, patient=frozenset(tables))


def _waits(update: RowUpdate, program: Program, needed: Collection[str]) -> bool:
    adds = [action for action in update.actions if isinstance(action, Add)]
    passed = [action for action in update.actions if isinstance(action, Propagate)]
    return (
        any(_goes_through(add.statement, program) for add in adds)
        and all(action.map in program.deferred for action in passed)
        and all(add.statement.target not in needed for add in adds)
        and update.table not in reads_of(update)
        and all(_is_total(add.statement) for add in adds)
        and not changes_of(update) & reads_of(update)
    )


def _goes_through(statement: Statement, program: Program) -> bool:
    """Whether a statement visits more than a few entries."""
    for step in statement.steps:
        if isinstance(step, Find):
            table = program.tables.get(step.source)
            is_found = table is not None and bool(table.key) and {*table.key} <= {*step.known}
            if len(step.known) < len(step.args) and not is_found:
                return True
    return False


def _is_total(statement: Statement) -> bool:
    terms = [*statement.keys, *statement.amounts, *(term for step in statement.steps for term in uses(step))]
    return all(map(is_total, terms))
