"""Which changes of nested maps a hybrid view defers to the next reading.

Between a trigger's statements on a row and the propagation of changes of nested maps, every map equals its definition
over the old nested maps. So the second half can be deferred, for many rows, and then runs once for each changed key. A
map that a watched view needs is not deferred, nor one whose statements may be undefined: a bad row is rejected at
once.

Law (9): a reading gives the same answer whether changes were propagated at once or deferred.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from nestling.calculus.partial import is_total
from nestling.calculus.terms import Term
from nestling.program.statements import Add, Program, Propagate, Statement, Write
from nestling.program.steps import every_trigger, plans, reads, uses


def deferred(program: Program, patient: Collection[str]) -> frozenset[str]:
    """The nested maps that only ``patient`` views need, and whose propagation cannot fail."""
    found = _passed_on(program) - needed_at_once(program, patient) - _partial(program)
    # What is passed on late is passed on to maps that wait themselves.
    while early := {name for name, target in _collected(program) if name in found and target not in found}:
        found -= early
    return frozenset(found)


def needed_at_once(program: Program, patient: Collection[str]) -> set[str]:
    """What views that are not ``patient`` read, and somebody who listens; and all that keeps it."""
    impatient = [
        *(name for name, decl in program.maps.items() if decl.role == "watch"),
        *(s for total in program.totals.values() for statement in total.statements for s in reads(statement)),
        *(
            source
            for name, view in program.views.items()
            if name not in patient
            for plan in plans(view)
            for statement in plan.statements
            for source in reads(statement)
        ),
    ]
    return _needed(program, impatient)


def _passed_on(program: Program) -> set[str]:
    return {name for name, _ in _events(program) if name}


def _events(program: Program) -> Iterator[tuple[str, Add]]:
    """Every addition with the nested map whose change triggers it; no name where a row does."""
    for trigger in every_trigger(program):
        for action in trigger.actions:
            match action:
                case Add():
                    yield "", action
                case Propagate(name, events):
                    yield from ((name, add) for _, adds in events for add in adds)
                case Write():
                    pass


def _collected(program: Program) -> set[tuple[str, str]]:
    return {(name, add.statement.target) for name, add in _events(program) if name and add.later}


def _needed(program: Program, names: list[str]) -> set[str]:
    """``names``, and all maps that their maintenance reads or depends on."""
    sources: dict[str, set[str]] = {}
    for name, add in _events(program):
        sources.setdefault(add.statement.target, set()).update(reads(add.statement), {name} - {""})
    found, pending = set(names), list(names)
    while pending:
        new = sources.get(pending.pop(), set()) - found
        found |= new
        pending += new
    return found


def _partial(program: Program) -> set[str]:
    """The nested maps whose statements may be undefined."""
    return {
        source
        for name, add in _events(program)
        if not all(map(is_total, _terms(add.statement)))
        for source in (name, *reads(add.statement))
    }


def _terms(statement: Statement) -> Iterator[Term]:
    yield from (*statement.keys, *statement.amounts)
    for step in statement.steps:
        yield from uses(step)
