"""The compiler's laws have teeth: each of these broken rules is caught by a class of random queries about it.

As in ``tests/laws/test_mutations.py``: a rule is broken, and a law is tried until it fails; it holds with the rule
mended. The law is that every map and the answer follow every change (``follows``). What is broken here are lowering,
the viewlet transform, the order of steps and the code that the embedded engine writes.

Not in the list: that ``viewlet/defer`` keeps what may fail from waiting. Embedded views are made total first, so there
is nothing that may fail in them; it matters on Spark alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from nestling.calculus.logic import inward
from nestling.engine.local import codegen, loops, writes
from nestling.engine.python.terms import Scope
from nestling.errors import NestlingError
from nestling.program import batches
from nestling.program.statements import Measure
from nestling.transform import plan
from nestling.transform.lower import conditions, nulls, unify, view
from nestling.transform.viewlet import deltas, references, schedule, specialise
from tests.frontends.sql.classes import follows

#: Queries tried before a law is said to hold.
MOST = 60


def one_atom_at_a_time(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(deltas, "subsets", lambda items: [(item,) for item in items])


def any_row_will_do(patch: pytest.MonkeyPatch) -> None:
    whole = specialise.left
    patch.setattr(specialise, "left", lambda step, changes: () if is_change(step) else whole(step, changes))


def is_change(step: Any) -> bool:
    return batches.is_change(getattr(step, "source", ""))


def disjuncts_added_up(patch: pytest.MonkeyPatch) -> None:
    whole = conditions._expand

    def expand(test):
        found = whole(test)
        return [(sign, tests) for sign, tests in found if sign > 0]

    patch.setattr(view, "summands", lambda test: expand(inward(test)))


def writers_first(patch: pytest.MonkeyPatch) -> None:
    whole = schedule._readers_first
    patch.setattr(schedule, "_readers_first", lambda statements: whole(statements)[::-1])


def parents_may_change(patch: pytest.MonkeyPatch) -> None:
    whole = references.refers

    def refers(child, parent, tables):
        still = replace(tables[parent.name], append_only=True)
        return whole(child, parent, {**tables, parent.name: still})

    patch.setattr(references, "refers", refers)


def bounded_counts_implied(patch: pytest.MonkeyPatch) -> None:
    whole, whole_match = nulls._is_implied, nulls._matched

    def is_implied(factor, counts, factors):
        return whole(factor, {name: replace(lift, bounds=()) for name, lift in counts.items()}, factors)

    patch.setattr(nulls, "_is_implied", is_implied)
    # Where it is taken for implied, only the group of a bounded count is compared.
    patch.setattr(
        nulls, "_matched", lambda patterns, terms, names: whole_match(patterns[: len(terms)], terms, names)
    )


def gone_by_the_first_measure(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(writes, "_is_gone", lambda store: "not cell[0]")


def aggregates_not_compared(patch: pytest.MonkeyPatch) -> None:
    whole = plan._resolved

    def resolved(step, bound):
        return whole(step, bound) if not hasattr(step, "aggregate") or isinstance(step, Measure) else (step,)

    patch.setattr(plan, "_resolved", resolved)


def nulls_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(unify, "_nulls_apart", lambda *args: [])


def collected_in_plain_names(patch: pytest.MonkeyPatch) -> None:
    def scope(self):
        return Scope([*codegen.RESERVED, *(store.python for store in self.stores.values())], self.constants)

    patch.setattr(codegen._Writer, "scope", scope)


def one_measure_is_a_sum(patch: pytest.MonkeyPatch) -> None:
    whole = loops.read_group

    def read_group(store, aggregate, key, measures=(0,)):
        if store.width == 1 and not store.is_ordered and not store.is_cell:
            return f"{store.python}.get({key}, 0)"
        return whole(store, aggregate, key, measures)

    patch.setattr(loops, "read_group", read_group)


@dataclass(frozen=True)
class Mutation:
    """What is broken, and the classes of queries that should notice."""

    broken: str
    patch: Callable[[pytest.MonkeyPatch], None]
    kinds: Sequence[str]


MUTATIONS = [
    Mutation("one atom at a time", one_atom_at_a_time, ["impossible_joins"]),
    Mutation("a change of one entry is what is asked for", any_row_will_do, ["sums_correlated_by_order"]),
    Mutation("a ∨ b without −[a][b]", disjuncts_added_up, ["floats_joined_twice"]),
    Mutation("writers before readers", writers_first, ["equations_with_nulls"]),
    Mutation("a parent that is referred to never changes", parents_may_change, ["changing_parents"]),
    Mutation("[n ≠ 0] implied for bounded counts", bounded_counts_implied, ["sums_correlated_by_order"]),
    Mutation("an entry is gone with its first measure", gone_by_the_first_measure, ["floats_joined_twice"]),
    Mutation("an aggregate binds what is bound", aggregates_not_compared, ["aggregates_beside_equal_keys"]),
    Mutation("x = y forgets its nulls", nulls_forgotten, ["equations_with_nulls"]),
    Mutation("collected changes under plain names", collected_in_plain_names, ["collected_while_looped"]),
    Mutation("one measure is a sum", one_measure_is_a_sum, ["impossible_joins"]),
]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.broken)
def test_mutation_is_caught(mutation: Mutation) -> None:
    for seed in range(MOST):
        for kind in mutation.kinds:
            with pytest.MonkeyPatch.context() as patch:
                mutation.patch(patch)
                caught = fails(kind, seed)
            if caught:
                follows(kind, seed)
                return
    pytest.fail("the law holds for the broken rule")


def fails(kind: str, seed: int) -> Any:
    try:
        follows(kind, seed)
    except (AssertionError, NestlingError, ValueError, TypeError, ArithmeticError, LookupError):
        return True
    return False
