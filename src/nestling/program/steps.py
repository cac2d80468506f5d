"""What the steps of a statement use and bind, and what a statement reads."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import TopologicalSorter
from typing import assert_never

from nestling.calculus.terms import Const, Term, Var
from nestling.calculus.traverse import walk
from nestling.program.statements import (
    Assign,
    Check,
    Combine,
    Each,
    Find,
    Measure,
    NewAndOld,
    Plan,
    Program,
    Propagate,
    Range,
    RowUpdate,
    Statement,
    Step,
    Total,
    Trigger,
    ViewPlan,
    Where,
    Write,
)


def uses(step: Step) -> tuple[Term, ...]:  # noqa: C901 - one arm per step
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
        case Where(_, args, _, _, measure, test):
            outside = (var for var in _vars(test) if var != measure.var)
            return (*args, *measure.args, *outside)
        case Total(_, _, statements):
            return tuple(dict.fromkeys(var for statement in statements for var in free_vars(statement)))
        case Combine(_, _, counts, minus):
            return (*counts, *minus)
        case Assign(_, term):
            return (term,)
        case NewAndOld(_, _, _, new, old):
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
        case Range(_, _, _, counts) | Where(_, _, counts):
            return counts
        case Total(var) | Measure(var) | Combine(var) | Assign(var):
            return (var,)
        case NewAndOld(var, sign):
            return (var, sign)
        case Check():
            return ()
        case _:
            assert_never(step)


def _vars(*terms: Term) -> Iterator[Var]:
    for term in terms:
        if isinstance(term, Var):
            yield term
        elif not isinstance(term, Const):
            yield from (node for node in walk(term) if isinstance(node, Var))


def free_vars(statement: Statement) -> list[Var]:
    """The variables that ``statement`` uses and does not bind."""
    bound: set[Var] = set()
    found: list[Var] = []
    for step in statement.steps:
        found += [var for var in _vars(*uses(step)) if var not in bound]
        bound |= {*binds(step)}
    return [*found, *(var for var in _vars(*statement.keys, *statement.amounts) if var not in bound)]


def every_step(statement: Statement) -> Iterator[Step]:
    """The steps of ``statement``, and those that they take in turn."""
    for step in statement.steps:
        yield step
        if isinstance(step, Where):
            yield step.measure
        elif isinstance(step, Total):
            for inner in step.statements:
                yield from every_step(inner)


def reads(statement: Statement) -> list[str]:
    """The maps and tables that ``statement`` looks into, once each."""
    looking = (step for step in every_step(statement) if isinstance(step, Find | Range | Where | Measure))
    return list(dict.fromkeys(step.source for step in looking))


def every_trigger(program: Program) -> Iterator[Trigger | RowUpdate]:
    """What is done when a row comes or goes, and when it changes."""
    yield from program.triggers.values()
    yield from program.updates.values()


def trigger_statements(trigger: Trigger | RowUpdate) -> Iterator[Statement]:
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
    for trigger in every_trigger(program):
        for statement in trigger_statements(trigger):
            sources.setdefault(statement.target, []).extend(reads(statement))
        # What passes its changes on need not be looked into.
        for passed in (action for action in trigger.actions if isinstance(action, Propagate)):
            for _, adds in passed.events:
                for add in adds:
                    sources.setdefault(add.statement.target, []).append(passed.map)
    found = dict.fromkeys(names)
    pending = list(found)
    while pending:
        new = dict.fromkeys(name for name in sources.get(pending.pop(), ()) if name not in found)
        found |= new
        pending += new
    return list(found)


def maps_of(program: Program, view: str) -> list[str]:
    """The maps that ``view`` is read from, and those that keep them up to date."""
    if view not in program.views:
        return []
    read = [source for plan in plans(program.views[view]) for s in plan.statements for source in reads(s)]
    return [source for source in needed(program, list(dict.fromkeys(read))) if source in program.maps]


def waiting(program: Program) -> list[Propagate]:
    """The changes that no trigger passes on, in the order in which they can be."""
    actions = [a for t in every_trigger(program) for a in t.actions if isinstance(a, Propagate)]
    found = {action.map: action for action in actions if action.map in program.deferred}
    sorter: TopologicalSorter[str] = TopologicalSorter({name: set[str]() for name in sorted(found)})
    for name, action in found.items():
        for add in (add for _, adds in action.events for add in adds):
            if add.later:
                sorter.add(add.statement.target, name)
    return [found[name] for name in sorter.static_order()]
