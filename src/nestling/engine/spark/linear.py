"""Which rows a statement may read without summing them first."""

from __future__ import annotations

from collections.abc import Iterator

from nestling.calculus.terms import Call, Const, Term, Var
from nestling.engine.spark.terms import Sql, is_partial, sql
from nestling.program.batches import is_change
from nestling.program.statements import Find, Range, Statement
from nestling.program.steps import uses
from nestling.program.traverse import term_vars


def is_linear(statement: Statement, step: Find | Range) -> bool:
    """Whether rows may stay unsummed: their measures are factors of the amounts, and nothing else."""
    if is_change(step.source) and isinstance(step, Find):
        return True
    counts = {count.name for count in step.counts}
    others = [term for other in statement.steps if other is not step for term in uses(other)]
    if is_partial(*statement.keys, *statement.amounts, *others, *uses(step)):
        return False
    if counts & term_vars(*others, *statement.keys):
        return False
    return all(_is_factor(counts, amount) for amount in statement.amounts) if counts else True


def product(left: Sql, right: Sql) -> Sql:
    """An amount times a multiplicity."""
    scope = {"a": left, "b": right}
    types = [v.type for v in (left, right)]
    return sql(Call("*", (Var("a", types[0]), Var("b", types[1]))), scope)


def _is_factor(counts: set[str], amount: Term) -> bool:
    """Whether exactly one factor of ``amount`` is one of ``counts``, and no other uses them."""
    factors = list(_factors(amount))
    if any(isinstance(f, Const) and f.value == 0 for f in factors):
        return True
    own = [f for f in factors if term_vars(f) & counts]
    return len(own) == 1 and isinstance(own[0], Var)


def is_product_of(counts: set[str], amount: Term) -> bool:
    """Whether ``amount`` is a product of ``counts`` and of constants that are not below zero."""
    return all(
        (isinstance(f, Var) and f.name in counts) or (isinstance(f, Const) and f.value >= 0)
        for f in _factors(amount)
    )


def _factors(term: Term) -> Iterator[Term]:
    match term:
        case Call("*", (left, right)):
            yield from _factors(left)
            yield from _factors(right)
        case _:
            yield term
