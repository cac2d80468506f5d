"""Laws of what comparisons and weights are turned into: bounds of a column, sums over different rows."""

from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from nestling.calculus.build import call, const
from nestling.calculus.evaluate import evaluate_term
from nestling.calculus.terms import Call, Term, Var
from nestling.calculus.types import INT, nullable
from nestling.program.flat import Atom, Bound, Monomial, Query
from nestling.program.flat import Test as Condition
from nestling.program.meaning import meaning
from nestling.program.traverse import term_vars
from nestling.transform.lower.bounds import bound_of, one_range
from nestling.transform.lower.keyed import within
from nestling.transform.lower.polynomial import expanded
from tests.draws import draws
from tests.engines.flat import INTS, keyed, monomials, pool_of, scalar_tables
from tests.engines.worlds import KEYLESS
from tests.strategies import Draw, scalars

X, Y, Z, M = Var("x", INT), Var("y", INT), Var("z", INT), Var("m", nullable(INT))
OPERATORS = ("<", "<=", ">", ">=")
INSIDE = frozenset({"x", "m"})


@st.composite
def sums(draw: Draw, depth: int = 2) -> Term:
    """Variables and constants, added, taken away and negated."""
    if not depth or draw(st.booleans()):
        return draw(st.sampled_from([X, X, Y, Z, M, const(0), const(2)]))
    if not draw(st.integers(0, 3)):
        return call("neg", draw(sums(depth - 1)))
    return call(draw(st.sampled_from("+-")), draw(sums(depth - 1)), draw(sums(depth - 1)))


comparisons = st.builds(call, st.sampled_from(OPERATORS), sums(), sums())
values = st.fixed_dictionaries({
    **{name: st.integers(-2, 2) for name in "xyz"}, "m": st.none() | st.integers(-2, 2),
})  # fmt: skip


@given(comparisons, values)
@example(call("<", call("-", Y, X), const(0)), {"x": 1, "y": 0, "z": 0, "m": None})
@example(call("<", Y, X), {"x": 0, "y": 1, "z": 0, "m": None})
def test_a_bound_is_the_comparison(test, env):
    """``column operator term`` is true where the test is, and only there; nothing inside is in the bound"""
    found = bound_of(test, INSIDE)
    assume(found is not None)
    assert found is not None
    column, bound = found

    assert term_vars(column) <= INSIDE and INSIDE.isdisjoint(term_vars(bound.term))
    assert is_true(call(bound.operator, column, bound.term), env) == is_true(test, env)


def is_true(test: Term, env: dict[str, Any]) -> bool:
    return evaluate_term(test, env) is True


def test_most_comparisons_of_both_sides_are_bounds():
    """the law is not about nothing: of those that mention both sides, two in five are"""
    both = [t for t in draws(comparisons, 300) if term_vars(t) & INSIDE and term_vars(t) - INSIDE]

    assert sum(bound_of(t, INSIDE) is not None for t in both) > 0.4 * len(both)
    assert any(isinstance(t, Call) and bound_of(t, INSIDE) and t.args[1] != X for t in both)


@given(st.lists(st.builds(Bound, st.sampled_from(OPERATORS), st.sampled_from([Y, const(0)])), max_size=4))
def test_a_range_has_one_bound_a_side(bounds):
    found, given_ = one_range(bounds), set(bounds)
    below = [bound for bound in given_ if bound.operator[0] == "<"]

    if max(len(below), len(given_) - len(below)) > 1:
        assert found is None
    else:
        assert found is not None and set(found) == given_ and len(found) == len(given_)


TABLES = scalar_tables(KEYLESS.tables)


def tables() -> st.SearchStrategy[dict[str, dict[Any, int]]]:
    rows = {name: st.tuples(*(scalars(column.type) for column in TABLES[name].columns)) for name in TABLES}
    return st.fixed_dictionaries({
        name: st.dictionaries(row, st.integers(1, 2), min_size=1, max_size=4) for name, row in rows.items()
    })  # fmt: skip


@st.composite
def weighed(draw: Draw) -> Monomial:
    """A join whose weight is a polynomial in columns of its rows."""
    monomial = draw(monomials(TABLES, depth=0))
    ints = [var for var in pool_of(monomial) if var in INTS]
    weight = draw(polynomials([*ints, const(3)]))
    return Monomial(monomial.keys, (weight, const(1)), monomial.factors)


@st.composite
def polynomials(draw: Draw, terms: list[Any], depth: int = 2) -> Term:
    if not depth or not draw(st.integers(0, 3)):
        return draw(st.sampled_from(terms))
    name = draw(st.sampled_from(["+", "-", "*", "*"]))
    return call(name, draw(polynomials(terms, depth - 1)), draw(polynomials(terms, depth - 1)))


A, B, C, _ = INTS
PRODUCT = Monomial(
    (), (call("*", call("-", A, C), call("-", B, C)), const(1)), (Atom("T", (A, B)), Atom("S", (C,)))
)


@given(weighed(), tables())
@example(PRODUCT, {"T": {(1, 2): 1, (0, 1): 2}, "S": {(2,): 1, (1,): 1}, "U": {(0, None): 1}})
def test_expanded_weights_add_up(monomial, stored):
    """Σ [[expanded(m)]] = [[m]], of every weight"""
    query = keyed(monomial)
    apart = Query(query.keys, tuple(expanded(monomial)), 2)

    assert meaning(apart, stored) == meaning(Query(query.keys, (monomial,), 2), stored)


def test_some_weights_are_taken_apart():
    assert sum(len(expanded(monomial)) > 1 for monomial in draws(weighed(), 100)) > 10


def test_a_null_is_within_no_bounds():
    """``m < y`` holds of no null, so none is kept for it"""
    inside = Monomial((), (const(1),), (Atom("T", (X, M)), Condition(call("<", M, Y))))
    found = within(inside, frozenset({"y"}))
    assert found is not None
    monomial, bounds = found

    assert bounds == (Bound("<", Y),)
    rows = meaning(Query((M,), (monomial,)), {"T": {(1, None): 1, (1, 2): 1}})
    assert rows == {(2,): (1,)}
