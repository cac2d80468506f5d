"""Loops that statements of one trigger share, and nested maps that a row changes at one key only.

Law (9): a trigger means the same whether its statements are run one after the other or share their steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nestling.calculus.build import call, const
from nestling.calculus.terms import Call, Const, Term
from nestling.calculus.types import INT
from nestling.engine.local.storage import Store
from nestling.engine.ranges import BetweenStep, PassedStep, SpanStep, local_steps
from nestling.program.statements import (
    Action,
    Add,
    Each,
    Find,
    NewAndOld,
    Propagate,
    Statement,
    Trigger,
)
from nestling.program.steps import reads


def together(actions: Sequence[Action]) -> list[list[Action]]:
    """Actions in order, in groups whose statements may share steps: none adds to what another reads."""
    groups: list[list[Action]] = []
    # What the last group adds to and reads, so that each statement is looked at once.
    written: set[str] = set()
    read: set[str] = set()
    for action in actions:
        if not isinstance(action, Add):
            groups.append([action])
            continue
        target = set() if action.later else {action.statement.target}
        source = sources(action.statement)
        joins = groups and isinstance(groups[-1][0], Add)
        if joins and (written | target).isdisjoint(read | source):
            groups[-1].append(action)
            written |= target
            read |= source
        else:
            groups.append([action])
            written, read = target, source
    return groups


def summed(adds: Sequence[Add]) -> list[Add]:
    """Statements that add to the same key by the same steps, as one: a self-join is changed from both sides."""
    found: list[Add] = []
    for add in adds:
        for i, other in enumerate(found):
            if _same_key(other, add):
                amounts = tuple(map(_sum, other.statement.amounts, add.statement.amounts))
                found[i] = replace(other, statement=replace(other.statement, amounts=amounts))
                break
        else:
            found.append(add)
    return [add for add in found if any(amount != const(0) for amount in add.statement.amounts)]


def _same_key(one: Add, other: Add) -> bool:
    left, right = one.statement, other.statement
    return (one.later, left.target, left.keys, left.steps) == (
        other.later, right.target, right.keys, right.steps,
    )  # fmt: skip


def _sum(a: Term, b: Term) -> Term:
    """``a + b``, as one would write it."""
    match a, b:
        case Const(x, x_type), Const(y, y_type) if x_type == y_type == INT:
            return const(x + y)
        case Call("*", (Const(-1, sign), x)), _ if sign == INT:
            return call("-", b, x)
        case _, Call("*", (Const(-1, sign), y)) if sign == INT:
            return call("-", a, y)
    return call("*", const(2), a) if a == b else call("+", a, b)


def sources(statement: Statement) -> set[str]:
    """The maps and tables that a statement looks into."""
    own = local_steps(statement)
    between = {step.find.source for step in own if isinstance(step, BetweenStep)}
    passed = {step.range.source for step in own if isinstance(step, PassedStep)}
    return {*reads(statement), *between, *passed}


def single_changes(trigger: Trigger, stores: dict[str, Store]) -> frozenset[str]:
    """The maps that one row changes at one key at most: one statement collects for them, and does not loop."""
    own = [a.statement for a in trigger.actions if isinstance(a, Add) and a.later]
    passed = [
        add.statement
        for action in trigger.actions
        if isinstance(action, Propagate)
        for _, adds in action.events
        for add in adds
        if add.later
    ]
    targets = [statement.target for statement in (*own, *passed)]
    return frozenset(
        s.target
        for s in own
        if targets.count(s.target) == 1 and not stores[s.target].is_ordered and not _loops(s, stores)
    )


def _loops(statement: Statement, stores: dict[str, Store]) -> bool:
    for step in local_steps(statement):
        if isinstance(step, Each | NewAndOld | BetweenStep | SpanStep):
            return True
        if isinstance(step, Find):
            store = stores[step.source]
            by_key = store.key and set(store.key) <= set(step.known)
            if len(step.known) < store.arity and not by_key:
                return True
    return False
