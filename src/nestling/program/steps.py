"""What the steps of a statement use and bind, and what a statement reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from nestling.calculus.terms import Term, Var
from nestling.calculus.traverse import walk
from nestling.program.statements import (
    Assign,
    Both,
    Check,
    Combine,
    Each,
    Find,
    Measure,
    Plan,
    Program,
    Propagate,
    Range,
    Statement,
    Step,
    Trigger,
    ViewPlan,
    Write,
)


def uses(step: Step) -> tuple[Term, ...]:
    """The terms whose variables are bound before ``step``."""
    match step:
        case Find(_, args, known, _):
            return tuple(args[i] for i in known)
        case Check(test):
            return (test,)
        case Each(bag, _, _):
            return (bag,)
        case Range(_, args, bounds, _):
            return (*args, *(bound.term for bound in bounds))
        case Measure(_, _, _, args, _, bounds):
            return (*args, *(bound.term for bound in bounds))
        case Combine(_, _, counts, minus):
            return (*counts, *minus)
        case Assign(_, term):
            return (term,)
        case Both(_, _, _, new, old):
            return (*new, *old)
        case _:
            assert_never(step)


def binds(step: Step) -> tuple[Var, ...]:
    """The variables that are bound from ``step`` on, once each."""
    match step:
        case Find(_, args, known, counts):
            free = [arg for i, arg in enumerate(args) if i not in known]
            return (*dict.fromkeys(_vars(*free)), *counts)
        case Each(_, pattern, count):
            return (*dict.fromkeys(_vars(pattern)), count)
        case Range(_, _, _, counts):
            return counts
        case Measure(var) | Combine(var) | Assign(var):
            return (var,)
        case Both(var, sign):
            return (var, sign)
        case Check():
            return ()
        case _:
            assert_never(step)


def _vars(*terms: Term) -> Iterator[Var]:
    return (node for term in terms for node in walk(term) if isinstance(node, Var))


def reads(statement: Statement) -> list[str]:
    """The maps and tables that ``statement`` looks into, once each."""
    return list(
        dict.fromkeys(step.source for step in statement.steps if isinstance(step, Find | Range | Measure))
    )


def trigger_statements(trigger: Trigger) -> Iterator[Statement]:
    """The statements of ``trigger``, those on changes of maps included."""
    for action in trigger.actions:
        if isinstance(action, Propagate):
            yield from (add.statement for _, adds in action.events for add in adds)
        elif not isinstance(action, Write):
            yield action.statement


def plans(view: ViewPlan) -> list[Plan]:
    """All ways to read ``view``."""
    found = (view.rows, view.lookup, *view.definitions.values())
    return [plan for plan in found if plan is not None]


def needed(program: Program, names: list[str]) -> list[str]:
    """``names``, and all maps and tables that keeping these maps up to date reads."""
    sources: dict[str, list[str]] = {}
    for trigger in program.triggers.values():
        for statement in trigger_statements(trigger):
            sources.setdefault(statement.target, []).extend(reads(statement))
    found = dict.fromkeys(names)
    pending = list(found)
    while pending:
        new = dict.fromkeys(name for name in sources.get(pending.pop(), ()) if name not in found)
        found |= new
        pending += new
    return list(found)
