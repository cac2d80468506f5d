"""Indexes that a plan can do without.

If one statement of a plan iterates over the rows with a given director, another that needs those with a given director
and genre can iterate over the same rows and test the genre: the plan takes at most twice as long, and no change of the
table has to update the second index. Inclusion and exclusion always leads to such pairs.

Law (9): a plan answers the same with and without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nestling.calculus.build import call
from nestling.calculus.terms import Var
from nestling.calculus.typing import term_type
from nestling.program.statements import Check, Find, Statement, Step


def share_slices(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """``statements``, each through the slices of the others where it can."""
    finds = [step for s in statements for step in s.steps if isinstance(step, Find) and step.known]
    return tuple(
        replace(s, steps=tuple(new for step in s.steps for new in _coarser(step, finds))) for s in statements
    )


def _coarser(step: Step, finds: Sequence[Find]) -> list[Step]:
    if not isinstance(step, Find) or len(step.known) == len(step.args):
        return [step]
    shared = [find for find in finds if _covers(find, step)]
    return _filtered(step, shared[-1].known) if shared else [step]


def _covers(find: Find, step: Find) -> bool:
    """Whether ``find`` reads the same rows by fewer known columns."""
    return (
        find.source == step.source
        and set(find.known) < set(step.known)
        and all(find.args[i] == step.args[i] for i in find.known)
    )


def _filtered(step: Find, known: tuple[int, ...]) -> list[Step]:
    args, checks = list(step.args), []
    for i in step.known:
        if i not in known:
            var = Var(f"{step.source}.{i}", term_type(step.args[i]))
            checks.append(Check(call("==", var, step.args[i])))
            args[i] = var
    return [replace(step, args=tuple(args), known=known), *checks]
