"""The laws have teeth: each of these broken rules is caught by the law that is about it.

A law is run on the same draws every time until it fails; what failed holds again with the rule mended.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import pytest
from hypothesis import strategies as st

from nestling.calculus import evaluate as evaluation
from nestling.calculus.build import countwise, for_, let, negate, product, union
from nestling.calculus.terms import DictEmpty, For, Sing, Tuple, Union, Var
from nestling.calculus.traverse import Names, relations
from nestling.calculus.typing import dictionary_element, element_type
from nestling.errors import NestlingError
from nestling.transform import simplify
from nestling.transform.normalize import normalize
from nestling.transform.shred import terms as shredding
from nestling.transform.theory import delta as deltas
from nestling.transform.theory import flags
from nestling.transform.theory.cost import estimate
from nestling.transform.theory.cost.cardinality import plus
from nestling.values import payload
from nestling.values.bag import ZBag, add_all
from nestling.values.update import Update
from tests.draws import stream
from tests.laws.shredding import deep_paths, shredded_queries
from tests.laws.test_cost import incremental, is_cheaper
from tests.laws.test_degree import drops_to_zero
from tests.laws.test_delta import holds_on_the_new_state, holds_on_the_old_state
from tests.laws.test_figure3 import ONE_ROW, agrees_with_figure_3
from tests.laws.test_payload import lifts_addition
from tests.laws.test_rewrites import expands_to_its_meaning, has_normal_form, keeps_meaning
from tests.laws.test_shred import has_polynomial_parts, means_the_same, parts_change_by_their_deltas
from tests.strategies import PAIR, SCHEMA, databases, instances, queries

Patch: TypeAlias = Callable[[pytest.MonkeyPatch], None]
Case: TypeAlias = tuple[Any, ...]
Cases: TypeAlias = Callable[[], Iterator[Case]]

#: Cases tried before a law is said to hold; most rules are caught within fifty.
MOST = 1000


@dataclass(frozen=True)
class Mutation:
    """What is broken, the law that should notice, and what the law is tried on."""

    broken: str
    patch: Patch
    law: Callable[..., None]
    cases: Cases


# what the laws are tried on


def changed(**options: Any) -> Cases:
    """Queries with updates."""
    return lambda: ((instance,) for instance in stream(instances("full", **options)))


def polynomials() -> Iterator[Case]:
    drawn = (normalize(query) for query in stream(queries("inc")))
    return ((query,) for query in drawn if relations(query))


def costed() -> Iterator[Case]:
    return ((query, known) for (query,), known in zip(polynomials(), stream(incremental()), strict=False))


def flagged() -> Iterator[Case]:
    return stream(st.tuples(queries("nrc", SCHEMA.nested), deep_paths()))


def nested() -> Iterator[Case]:
    drawn = stream(st.tuples(queries("nrc", SCHEMA.nested).map(normalize), databases()))
    return ((query, query, database) for query, database in drawn)


def shredded() -> Iterator[Case]:
    return stream(shredded_queries())


def groups() -> Iterator[Case]:
    return stream(st.tuples(queries("full", outermost="group"), databases(signed=True)))


def unions() -> Iterator[Case]:
    drawn = stream(st.tuples(queries("full", outermost="union"), databases()))
    return ((simplify.simplify, query, database) for query, database in drawn)


def plain() -> Iterator[Case]:
    return ((query,) for query in stream(queries("full")))


def one_row() -> Iterator[Case]:
    return (("∸", s, t) for s in ONE_ROW for t in ONE_ROW)


def numbers() -> Iterator[Case]:
    return ((payload.Moments(2), x, y, 1, 1) for x in range(3) for y in range(3))


# what is broken


def first_order_only(patch: pytest.MonkeyPatch) -> None:
    def of_for(self, expr, changed):
        var, e, b = expr.var, expr.source, expr.body
        de, db = self.of(e, changed), self.of(b, changed)
        return union(element_type(expr), for_(var, de, b), for_(var, e, db))

    patch.setattr(deltas._Delta, "of_for", of_for)


def one_factor_at_a_time(patch: pytest.MonkeyPatch) -> None:
    def of_product(self, expr, changed):
        summands = [
            product(
                [(name, self.of(e, changed) if i == j else e) for j, (name, e) in enumerate(expr.factors)]
            )
            for i in range(len(expr.factors))
        ]
        return union(element_type(expr), *summands)

    patch.setattr(deltas._Delta, "of_product", of_product)


def counts_without_the_old(patch: pytest.MonkeyPatch) -> None:
    def of_countwise(self, expr, changed):
        changes = [self.of(e, changed) for e in expr.args]
        new = [union(element_type(e), e, de) for e, de in zip(expr.args, changes, strict=True)]
        return countwise("restrict", *changes, countwise(expr.operator, *new))

    patch.setattr(deltas._Delta, "of_countwise", of_countwise)


def lets_without_their_change(patch: pytest.MonkeyPatch) -> None:
    def of_let(self, expr, changed):
        return let(expr.var, expr.bound, self.of(expr.body, changed))

    patch.setattr(deltas._Delta, "of_let", of_let)


def folds_by_multiplicity(patch: pytest.MonkeyPatch) -> None:
    def nonempty(expr, names):
        var = Var(names.fresh("s"), element_type(expr))
        return countwise("exists", for_(var, expr, Sing(Tuple(()))))

    patch.setattr(deltas, "nonempty", nonempty)


def dictionaries_never_change(patch: pytest.MonkeyPatch) -> None:
    def of_dictionary(self, dictionary):
        return DictEmpty(dictionary_element(dictionary))

    patch.setattr(deltas._Delta, "of_dictionary", of_dictionary)


def changes_not_negated(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Update, "__neg__", lambda self: self)


def empty_loops_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(deltas, "for_", For)


def unions_cost_their_sum(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(estimate._Estimate, "more", lambda self, left, right: plus(left, right))


def environment_too_small(patch: pytest.MonkeyPatch) -> None:
    whole = shredding.environment

    patch.setattr(shredding, "environment", lambda body: whole(body)[1:])


def flags_do_not_spread(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(flags._Flags, "solve", lambda self: None)


def groups_exist_by_support(patch: pytest.MonkeyPatch) -> None:
    def group(node, db, env):
        rows: dict[Any, list] = {}
        for value, times in evaluation.evaluate(node.source, db, env).items():
            key = evaluation.evaluate_term(node.key, {**env, node.var.name: value})
            rows.setdefault(key, []).append((value, times))
        bound = [{node.key_var.name: key, node.rows.name: ZBag(some)} for key, some in rows.items()]
        return add_all(evaluation.evaluate(node.body, db, {**env, **names}) for names in bound)

    patch.setattr(evaluation, "_group", group)


def equals_cancel(patch: pytest.MonkeyPatch) -> None:
    def cancel_equals(node):
        match node:
            case Union((first, second, *rest)) if first == second or first == negate(second):
                return union(element_type(node), *rest)
        return None

    patch.setattr(simplify, "SIMPLIFICATIONS", (cancel_equals,))


def names_not_apart(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Names, "fresh", lambda self, like: like)


def moments_without_binomials(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(payload, "comb", lambda j, i: 1)


PRODUCTS = changed(wanted=(PAIR,), outermost="product")
LETS, FOLDS = changed(outermost="let"), changed(outermost="fold")

MUTATIONS = [
    Mutation("δ(for) to first order only", first_order_only, holds_on_the_old_state, changed()),
    Mutation("δ(×) one factor at a time", one_factor_at_a_time, holds_on_the_old_state, PRODUCTS),
    Mutation("δ(count-wise) without the old", counts_without_the_old, agrees_with_figure_3, one_row),
    Mutation("δ(let) without ΔX", lets_without_their_change, holds_on_the_old_state, LETS),
    Mutation("δ(fold) by multiplicity", folds_by_multiplicity, holds_on_the_old_state, FOLDS),
    Mutation("δ(R.items) = []", dictionaries_never_change, parts_change_by_their_deltas, shredded),
    Mutation("⊖ΔR = ΔR", changes_not_negated, holds_on_the_new_state, changed()),
    Mutation("for over ∅ is kept", empty_loops_kept, drops_to_zero, polynomials),
    Mutation("⊎ costs +", unions_cost_their_sum, is_cheaper, costed),
    Mutation("a label without its first projection", environment_too_small, means_the_same, nested),
    Mutation("flags do not spread", flags_do_not_spread, has_polynomial_parts, flagged),
    Mutation("groups exist by support", groups_exist_by_support, expands_to_its_meaning, groups),
    Mutation("e ⊎ e = ∅", equals_cancel, keeps_meaning, unions),
    Mutation("binders are not renamed apart", names_not_apart, has_normal_form, plain),
    Mutation("moments multiply like polynomials", moments_without_binomials, lifts_addition, numbers),
]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.broken)
def test_mutation_is_caught(mutation: Mutation) -> None:
    for case in islice(mutation.cases(), MOST):
        with pytest.MonkeyPatch.context() as patch:
            mutation.patch(patch)
            caught = fails(mutation.law, case)
        if caught:
            mutation.law(*case)
            return
    pytest.fail("the law holds for the broken rule")


def fails(law: Callable[..., None], case: Case) -> bool:
    try:
        law(*case)
    except (AssertionError, NestlingError):
        return True
    return False
