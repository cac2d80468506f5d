"""A product that several amounts of one trigger share, computed once.

``times · a · b``, ``times · c · b`` and ``times · b`` have ``times · b`` in common. Only of integers: other numbers are
rounded where they are multiplied, and another order would give another number.

Law: amounts in which the product stands under its name are equal to what they were.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import NamedTuple

from nestling.calculus.build import call
from nestling.calculus.terms import Call, Term, Var
from nestling.calculus.types import INT
from nestling.calculus.typing import term_type
from nestling.program.statements import Action, Add, Trigger


class Shared(NamedTuple):
    """A product with a name, and the actions in which it stands."""

    var: Var
    product: Term
    actions: tuple[Action, ...]


def shared_product(trigger: Trigger) -> Shared | None:
    """What the amounts of ``trigger`` share: how often the row comes, times one of its columns."""
    adds = [action for action in trigger.actions if isinstance(action, Add)]
    amounts = [_factors(amount) for add in adds for amount in add.statement.amounts if _is_int(amount)]
    found = Counter(
        column
        for column in trigger.columns
        if column.type == INT
        for factors in amounts
        if column in factors and trigger.times in factors
    )
    if not found or found.most_common(1)[0][1] < 2:
        return None
    column = found.most_common(1)[0][0]
    var, product = Var(f"·times_{column.name}", INT), call("*", trigger.times, column)
    return Shared(
        var, product, tuple(_named(action, (trigger.times, column), var) for action in trigger.actions)
    )


def _named(action: Action, parts: tuple[Var, Var], var: Var) -> Action:
    if not isinstance(action, Add):
        return action
    amounts = tuple(_with(amount, parts, var) for amount in action.statement.amounts)
    return replace(action, statement=replace(action.statement, amounts=amounts))


def _with(amount: Term, parts: tuple[Var, Var], var: Var) -> Term:
    factors = _factors(amount)
    if not _is_int(amount) or not all(part in factors for part in parts):
        return amount
    for part in parts:
        factors.remove(part)
    product: Term = var
    for factor in factors:
        product = call("*", product, factor)
    return product


def _is_int(amount: Term) -> bool:
    return term_type(amount) == INT


def _factors(term: Term) -> list[Term]:
    """What a product is made of."""
    if isinstance(term, Call) and term.function == "*":
        return [factor for arg in term.args for factor in _factors(arg)]
    return [term]
