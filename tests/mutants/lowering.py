"""Mutants of the way from shredded views to flat queries, and of the exact numbers that sums are made of."""

from functools import partial

from tests.engines import test_bounds, test_lowering, test_nulls
from tests.engines.worlds import KEYED
from tests.frontends.sql.classes import follows
from tests.laws import test_exact
from tests.mutants.mutant import Check, Mutant, any_of, example, law

#: Queries of a class that are tried.
TRIES = 60


def queries(kind: str) -> Check:
    """Every map and the answer follow every change, of random queries of a class."""
    return any_of(f"classes::follows[{kind}]", partial(follows, kind), TRIES)


SUMMANDS = law(test_lowering.test_summands_add_up_to_the_condition)
NULLS = law(test_nulls.test_taken_apart_they_mean_the_same)
LOWERED = law(test_lowering.test_rows_and_definitions_mean_their_parts, world=KEYED)
BOUNDS = law(test_bounds.test_a_bound_is_the_comparison)
EXPANDED = law(test_bounds.test_expanded_weights_add_up)
SUMS = law(test_exact.test_a_sum_is_the_nearest_float)

MUTANTS = [
    Mutant(
        "a ∨ b has no −[a][b]",
        "transform/lower/conditions", "_expand",
        "return [*a, *b, *((-sign, tests) for sign, tests in _times(a, b))]", "return [*a, *b]",
        SUMMANDS, quick=True,
    ),
    Mutant(
        "a ∨ b without a minus has [b] whole",
        "transform/lower/conditions", "_expand",
        "(sign, (*tests, fails)) for sign, tests in b", "(sign, tests) for sign, tests in b",
        SUMMANDS, quick=True,
    ),
    Mutant(
        "¬(a ∧ b) is ¬a ∧ ¬b",
        "calculus/logic", "inward",
        'other = "or" if name == "and" else "and"', "other = name",
        SUMMANDS, quick=True,
    ),
    Mutant(
        "¬(x < NaN) is x ≥ NaN",
        "calculus/logic", "_is_one_or_other",
        "not any(map(_is_float, test.args))", "True",
        SUMMANDS, quick=True,
    ),
    Mutant(
        "a disjunct that may have no value stands alone",
        "transform/lower/conditions", "_expand",
        "and _finds(right) and is_total(right)", "and _finds(right)",
        SUMMANDS, quick=True,
    ),
    Mutant(
        "x = y forgets its nulls",
        "transform/lower/unify", "_nulls_apart",
        'return [] if is_said else [Test(call("not", call("is_null", term)))]', "return []",
        queries("equations_with_nulls"),
    ),
    Mutant(
        "what is fixed is solved for",
        "transform/lower/unify", "_equation",
        "or var.name in fixed:", "or False:",
        law(test_lowering.test_unify_keeps_what_is_fixed), quick=True,
    ),
    Mutant(
        "an equation takes what a lift computes",
        "transform/lower/unify", "_equation",
        "computed.isdisjoint(term_vars(var, term)) and ", "",
        example(test_lowering.test_an_equation_with_what_is_computed_from_it_stays_a_test), quick=True,
    ),
    Mutant(
        "x ≤ x holds of everything, of NaN too",
        "transform/lower/unify", "_is_reflexive",
        'case Call("==", (left, right)):', 'case Call("==" | "<=", (left, right)):',
        example(test_lowering.test_what_a_number_is_to_itself, name="<="), quick=True,
    ),
    Mutant(
        "[n ≠ 0] is implied for bounded counts",
        "transform/lower/nulls", "_is_implied",
        "return not lift.bounds and any(", "return any(",
        NULLS, quick=True,
    ),
    Mutant(
        "a sum with a default is any sum over the same group",
        "transform/lower/nulls", "_Nulls.adds_up",
        "return canonical(_rows(total.query)) == canonical(_rows(count.query))", "return True",
        NULLS, quick=True,
    ),
    Mutant(
        "an aggregate that another uses is unused",
        "transform/lower/nulls", "without_unused",
        "*(factor_vars(f) - {f.var.name} for f in monomial.factors if isinstance(f, Lift))", "*()",
        example(test_nulls.test_what_another_aggregate_uses_stays), quick=True,
    ),
    Mutant(
        "a bound seen from the other side is not mirrored",
        "transform/lower/bounds", "_bound",
        "(MIRRORED[name], right, left)", "(name, right, left)",
        BOUNDS, quick=True,
    ),
    Mutant(
        "−x < y is x < −y",
        "transform/lower/bounds", "_isolated",
        "name = MIRRORED[name]", "pass",
        BOUNDS, quick=True,
    ),
    Mutant(
        "two bounds on one side are a range",
        "transform/lower/bounds", "one_range",
        "if len(sides) == len(found) else None", "if found else None",
        law(test_bounds.test_a_range_has_one_bound_a_side), quick=True,
    ),
    Mutant(
        "a null is within bounds",
        "transform/lower/keyed", "within",
        "if isinstance(type_, Scalar) and type_.nullable:", "if False:",
        example(test_bounds.test_a_null_is_within_no_bounds), quick=True,
    ),
    Mutant(
        "Σ (x − y) is Σ x + Σ y",
        "transform/lower/polynomial", "_summands",
        'negated = [call("*", const(-1), term) for term in _summands(right, atoms)]',
        "negated = _summands(right, atoms)",
        EXPANDED, quick=True,
    ),
    Mutant(
        "a product of sums is the sum of products in pairs",
        "transform/lower/polynomial", "_summands",
        "for x in a for y in b]", "for x, y in zip(a, b, strict=False)]",
        EXPANDED, quick=True,
    ),
    Mutant(
        "+∞ and −∞ add up to one of them",
        "values/exact", "_beyond",
        "if neither or (above and below):", "if neither:",
        SUMS, quick=True,
    ),
    Mutant(
        "a float has one unit less",
        "values/exact", "float_units",
        "PLACES + 1 - denominator.bit_length()", "PLACES - denominator.bit_length()",
        SUMS, quick=True,
    ),
]  # fmt: skip
