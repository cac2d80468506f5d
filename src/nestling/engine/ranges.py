"""When an aggregate changes, only entries for which a condition on it changes its truth value are affected.

A statement that runs twice, once for the new value of an aggregate and once for the old one, and continues only if a
condition on it holds, adds nothing if the condition holds for both values or for neither.

A statement that scans a slice twice, for the new and for the old value, and keeps the entries below a bound computed
from it, differs only on the entries between the two bounds. If the slice's keys are ordered, bisection finds these. A
sum below the bound differs by the sum between the two bounds. A whole table is scanned through an ordered index of the
bounded column.

Law (9): a trigger adds the same with and without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nestling.calculus.terms import Call, Term, Var
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type
from nestling.program.statements import (
    Action,
    Add,
    Check,
    Find,
    NewAndOld,
    Program,
    Propagate,
    Range,
    Statement,
    Total,
)
from nestling.program.steps import trigger_statements
from nestling.program.traverse import term_vars

#: What holds of a column and a bound, and the same seen from the bound.
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class ShiftStep:
    """The old and the new bound, and the sign with which entries between the two change sides."""

    both: NewAndOld
    bound: Term
    operator: str


@dataclass(frozen=True, slots=True)
class FlipStep:
    """Whether ``test`` holds now and did not before, or the other way round: with what sign to go on."""

    both: NewAndOld
    test: Term


@dataclass(frozen=True, slots=True)
class BetweenStep:
    """For every entry of the slice whose one free column lies between the bounds: bind it and its measures."""

    find: Find
    position: int
    upper_included: bool


@dataclass(frozen=True, slots=True)
class PassedStep:
    """Bind the measures of a range to their sum between the bounds; go on where that is not zero."""

    range: Range
    upper_included: bool


@dataclass(frozen=True, slots=True)
class SpanStep:
    """For every value between the bounds that some row of the table ``source`` has at ``position``: bind ``column``."""

    source: str
    position: int
    column: Var
    upper_included: bool


def local_steps(statement: Statement) -> tuple[Any, ...]:
    """The steps of a statement of a program that was ``ranged``: some are this engine's own."""
    return statement.steps


def every_local_step(statement: Statement) -> Iterator[Any]:
    """These, and those that they take in turn."""
    for step in local_steps(statement):
        yield step
        if isinstance(step, Total):
            for inner in step.statements:
                yield from every_local_step(inner)


def ranged(program: Program) -> Program:
    """``program`` with bisection where it serves; its steps are then for this engine alone."""
    triggers = {
        name: replace(trigger, actions=_in_actions(trigger.actions, program))
        for name, trigger in program.triggers.items()
    }
    updates = {
        name: replace(update, actions=_in_actions(update.actions, program))
        for name, update in program.updates.items()
    }
    return replace(program, triggers=triggers, updates=updates)


def _in_actions(every: tuple[Action, ...], program: Program) -> tuple[Action, ...]:
    if not any(isinstance(action, Propagate) for action in every):
        return every
    actions: list[Action] = []
    for action in every:
        # What waits is passed on for many rows at once: then a slice is gone through rather than kept in order.
        if isinstance(action, Propagate) and action.map not in program.deferred:
            events = tuple(
                (event, tuple(Add(_in_statement(a.statement, program), a.later) for a in adds))
                for event, adds in action.events
            )
            action = Propagate(action.map, events)
        actions.append(action)
    return tuple(actions)


def _in_statement(statement: Statement, program: Program) -> Statement:
    """``statement`` with what each of its aggregates decides taken together; one at most moves a bound."""
    is_moved = False
    for both in [step for step in statement.steps if isinstance(step, NewAndOld)]:
        i = statement.steps.index(both)
        steps = None if is_moved else _rewritten(statement, i, both, program) or _slid(statement, i, both)
        is_moved = is_moved or steps is not None
        steps = steps or _flipped(statement, i, both)
        statement = statement if steps is None else replace(statement, steps=steps)
    return statement


def _flipped(statement: Statement, i: int, both: NewAndOld) -> tuple[Any, ...] | None:
    """The steps with ``both`` and the condition behind it taken together, if nothing else asks for the aggregate."""
    steps: tuple[Any, ...] = statement.steps
    match steps[i + 1 : i + 2]:
        case (Check(test),) if not _used_elsewhere(both.var, statement, (i, i + 1)):
            return (*steps[:i], FlipStep(both, test), *steps[i + 2 :])
    return None


def _slid(statement: Statement, i: int, both: NewAndOld) -> tuple[Any, ...] | None:
    """The steps with ``both`` and a range whose bound it moves taken together: sums are linear in what they sum."""
    steps: tuple[Any, ...] = statement.steps
    for j in range(i + 1, len(steps)):
        match steps[j]:
            case Range(_, args, (bound,), _) if both.var.name in term_vars(bound.term):
                if both.var.name in term_vars(*args) or not _plain(bound.term):
                    return None
                if _used_elsewhere(both.var, statement, (i, j)):
                    return None
                shift = ShiftStep(both, bound.term, bound.operator)
                passed = PassedStep(steps[j], bound.operator in ("<=", ">"))
                return (*steps[:i], *steps[i + 1 : j], shift, passed, *steps[j + 1 :])
    return None


def _rewritten(statement: Statement, i: int, both: NewAndOld, program: Program) -> tuple[Any, ...] | None:
    for j, find in enumerate(statement.steps):
        if j <= i or not isinstance(find, Find):
            continue
        for position in _free(find, program):
            steps = _between(statement, i, j, both, find, position)
            if steps is not None:
                return steps
    return None


def _between(
    statement: Statement, i: int, j: int, both: NewAndOld, find: Find, position: int
) -> tuple[Any, ...] | None:
    """The steps with ``both`` and the slice ``find`` taken together, if some later test is a moved bound."""
    steps, column = statement.steps, find.args[position]
    known = term_vars(*(term for step in steps[: j + 1] for term in _terms(step))) - term_vars(column)
    for k in range(j + 1, len(steps)):
        moved = _moved(steps[k], column, both)
        if moved is None or _used_elsewhere(both.var, statement, (i, k)):
            continue
        operator, bound = moved
        if term_vars(bound) - {both.var.name} <= known:
            found = _found(find, position, operator in ("<=", ">"))
            first = (*steps[:i], *steps[i + 1 : j], ShiftStep(both, bound, operator), *found)
            return (*first, *steps[j + 1 : k], *steps[k + 1 :])
    return None


def _found(find: Find, position: int, upper_included: bool) -> tuple[Any, ...]:
    """The steps that find the entries of ``find`` between the bounds."""
    column = find.args[position]
    if find.known:
        return (BetweenStep(find, position, upper_included),)
    assert isinstance(column, Var)
    return SpanStep(find.source, position, column, upper_included), replace(find, known=(position,))


def _free(find: Find, program: Program) -> list[int]:
    """The positions by which entries can be found in order: the only free one of a slice, any of a whole table."""
    free = [i for i in range(len(find.args)) if i not in find.known]
    if find.source in program.maps:
        if program.maps[find.source].ordered or len(free) != 1 or not find.known:
            return []
    elif find.known or len(free) < 2:
        return []
    return [i for i in free if isinstance(find.args[i], Var) and (find.known or _is_exact(find.args[i]))]


def _is_exact(term: Term) -> bool:
    """Whether all values of ``term`` have a place in an order: a float may be no number."""
    type_ = term_type(term)
    return isinstance(type_, Scalar) and type_.name != "float"


def _moved(step: Any, column: Term, both: NewAndOld) -> tuple[str, Term] | None:
    """``column operator bound``, where the bound depends on what ``both`` binds and neither may be null."""
    match step:
        case Check(Call(name, (left, right))) if name in _MIRRORED:
            for operator, one, other in ((name, left, right), (_MIRRORED[name], right, left)):
                depends = both.var.name in term_vars(other) and column not in (other,)
                if one == column and depends and _plain(one) and _plain(other):
                    return operator, other
    return None


def _plain(term: Term) -> bool:
    type_ = term_type(term)
    return isinstance(type_, Scalar) and not type_.nullable


def _used_elsewhere(var: Var, statement: Statement, here: Sequence[int]) -> bool:
    others = [t for n, s in enumerate(statement.steps) if n not in here for t in _terms(s)]
    return var.name in term_vars(*others, *statement.keys, *statement.amounts)


def _terms(step: Any) -> tuple[Term, ...]:
    """The terms of a step."""
    match step:
        case ShiftStep(both, term, _) | FlipStep(both, term):
            return *_terms(both), term
        case BetweenStep(find):
            return _terms(find)
        case PassedStep(range_):
            return _terms(range_)
        case SpanStep(_, _, column):
            return (column,)
    found: list[Any] = [bound.term for bound in getattr(step, "bounds", ())]
    for name in (
        "args",
        "counts",
        "test",
        "bag",
        "pattern",
        "count",
        "var",
        "sign",
        "term",
        "new",
        "old",
        "minus",
    ):
        value = getattr(step, name, ())
        found += value if isinstance(value, tuple) else [value]
    return tuple(found)


def found_between(program: Program) -> dict[int, list[Find]]:
    """By statement of a trigger of ``program``, not ``ranged`` yet, the slices of which only a range is visited."""
    found: dict[int, list[Find]] = {}
    for name, trigger in ranged(program).triggers.items():
        written, run = trigger_statements(program.triggers[name]), trigger_statements(trigger)
        for statement, other in zip(written, run, strict=True):
            found[id(statement)] = [s.find for s in local_steps(other) if isinstance(s, BetweenStep)]
    return found
