"""The order in which the steps of a statement are taken.

Law (9): every order that binds what it uses means the same. ``plan`` takes, at each point, the step that promises
the fewest entries: a test, the rows of a change, a look-up by whole key, by a table's declared key, by part of a key,
a scan. A sum or a count of a group whose entry was found before is read off that entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import assert_never

from nestling.calculus.build import call, leaves
from nestling.calculus.terms import Term, Tuple, Var
from nestling.calculus.traverse import walk
from nestling.calculus.typing import term_type
from nestling.program.batches import is_change
from nestling.program.phrases import Phrases
from nestling.program.statements import (
    Assign,
    Check,
    Combine,
    Each,
    Find,
    Measure,
    NewAndOld,
    Range,
    Step,
    Total,
    Where,
)
from nestling.program.steps import binds, uses
from nestling.program.traverse import is_known, term_vars

#: The declared key of a table, by name: positions that determine a row.
Keys = Mapping[str, tuple[int, ...]]


class Unplannable(Exception):
    """No order binds every variable before it is used."""


def plan(steps: Iterable[Step], given: Set[str], keys: Keys) -> tuple[Step, ...]:
    """``steps`` in an order that binds what it uses, from the variables ``given``."""
    pending, bound = list(steps), set(given)
    ordered: list[Step] = []
    while pending:
        ready = [step for step in pending if is_ready(step, bound)]
        if not ready:
            raise Unplannable(_waiting(pending, bound))
        best = min(ready, key=lambda step: _rank(step, bound, keys))
        pending = [step for step in pending if step is not best]
        ordered += _resolved(best, bound, ordered)
        bound |= term_vars(*uses(best), *binds(best))
    return tuple(ordered)


def _waiting(pending: list[Step], bound: Set[str]) -> str:
    """What each step that is left waits for."""
    say = Phrases.of([term for step in pending for term in (*uses(step), *binds(step), *_args(step))])
    texts = [say.step(step, frozenset()) for step in pending]
    names = {node.name: node for step in pending for node in _free(step) if node.name not in bound}
    return f"nothing binds {say.list(names.values())} before {', and '.join(texts)}"


def _args(step: Step) -> tuple[Term, ...]:
    return step.args if isinstance(step, Find) else ()


def _free(step: Step) -> Iterator[Var]:
    """The variables that ``step`` waits for."""
    waiting = [arg for arg in _args(step) if not isinstance(arg, Var)]
    return (node for term in (*uses(step), *waiting) for node in walk(term) if isinstance(node, Var))


def is_ready(step: Step, bound: Set[str]) -> bool:
    """Whether all that ``step`` uses is bound."""
    match step:
        case Find(_, args, _, _):
            return all(isinstance(arg, Var) or term_vars(arg) <= bound for arg in args)
        case Check(test):
            return is_known(test, bound)
        case Each(bag, pattern, _):
            computed = (leaf for leaf in leaves(pattern) if not isinstance(leaf, Var))
            return term_vars(bag, *computed) <= bound
        case Range() | Where() | Measure() | Total():
            return term_vars(*uses(step)) <= bound
        case Combine(_, _, counts, minus):
            return term_vars(*counts, *minus) <= bound
        case Assign(_, term):
            return is_known(term, bound)
        case NewAndOld(_, _, _, new, old):
            return term_vars(*new, *old) <= bound
        case _:
            assert_never(step)


def known_positions(args: tuple[Term, ...], bound: Set[str]) -> tuple[int, ...]:
    """The positions of ``args`` whose value is known once ``bound`` are."""
    return tuple(i for i, arg in enumerate(args) if is_known(arg, bound))


def _rank(step: Step, bound: Set[str], keys: Keys) -> float:
    match step:
        case Find(source, args, _, _):
            if is_change(source):
                return 1.5 if bound else -1  # the small side; nothing is done where nothing changed
            known = known_positions(args, bound)
            if len(known) == len(args):
                return 2
            if keys.get(source) and set(keys[source]) <= set(known):
                return 3
            return 5 + (len(args) - len(known)) / 100 if known else 9
        case Each():
            return 4
        case Range() | Where() | Measure() | NewAndOld():
            return 1
        case Total():
            return 4.5
        case Check() | Combine() | Assign():
            return 0
        case _:
            assert_never(step)


def _resolved(step: Step, bound: Set[str], before: Sequence[Step]) -> tuple[Step, ...]:
    if isinstance(step, Measure) and (there := _at_hand(step, before)) is not None:
        is_given = step.var.name in bound
        return (Check(call("==", there, step.var)) if is_given else Assign(step.var, there),)
    match step:
        case Find():
            return (replace(step, known=known_positions(step.args, bound)),)
        case Measure(var) | Total(var) | NewAndOld(var) if var.name in bound:
            # A row has bound it already: what is measured is compared with it.
            measured = Var(f"{var.name}'", var.type)
            return replace(step, var=measured), Check(call("==", measured, var))
        case Each(_, pattern, count):
            checks: list[Step] = []
            matched = _matched(pattern, bound, f"{count.name}'", checks)
            return replace(step, pattern=matched), *checks
    return (step,)


def _at_hand(step: Measure, before: Sequence[Step]) -> Var | None:
    """What ``step`` measures, where a step before has found the entry: a group that is there is its entry."""
    if step.bounds or step.aggregate not in ("count", "sum"):
        return None
    measure = step.measures[0 if step.aggregate == "count" else -1]
    for find in before:
        if isinstance(find, Find) and (find.source, find.args) == (step.source, step.args):
            return find.counts[measure] if find.counts[measure].type == step.var.type else None
    return None


def _matched(pattern: Term, bound: Set[str], name: str, checks: list[Step]) -> Term:
    """``pattern`` in variables of its own where it has known values, which are then compared."""
    if isinstance(pattern, Tuple):
        parts = ((n, _matched(item, bound, f"{name}{n}", checks)) for n, item in pattern.fields)
        return Tuple(tuple(parts))
    if isinstance(pattern, Var) and pattern.name not in bound:
        return pattern
    own = Var(name, term_type(pattern))
    checks.append(Check(call("==", own, pattern)))
    return own
