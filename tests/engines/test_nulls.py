"""Sums that are null where there is nothing to add up keep their meaning when they are taken apart."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from nestling.calculus.build import call, const
from nestling.calculus.terms import Const, Term, Var
from nestling.calculus.types import INT, nullable
from nestling.program.flat import Atom, Bound, Factor, Lift, Monomial, Query
from nestling.program.flat import Test as Condition
from nestling.program.meaning import meaning
from nestling.transform.lower.nulls import without_nulls, without_unused
from tests.draws import draws
from tests.strategies import Draw

X, Y, N, S = (Var(name, INT) for name in "xyns")
A, B, K, L = (Var(name, INT) for name in "abkl")
NULL = Const(None, nullable(INT))
#: What is null where n counts nothing.
MAYBE = call("if", call("==", N, const(0)), NULL, call("nullable", S))
ROWS = st.dictionaries(st.tuples(st.integers(0, 2), st.integers(-1, 2)), st.integers(1, 2), max_size=4)
BAGS = st.fixed_dictionaries({"R": ROWS, "T": ROWS})
#: Comparisons with the sum, and with a default of it.
TESTS: list[Term] = [
    *(call(name, MAYBE, other) for name in ("<", ">", "==", "=", "!=") for other in (Y, const(0), const(-5))),
    *(call(name, call("coalesce", MAYBE, const(0)), Y) for name in ("<", ">=", "==", "!=")),
    call("or", call(">", MAYBE, Y), call("==", X, Y)),
]


@st.composite
def inner(draw: Draw) -> tuple[str, bool]:
    """Rows that are counted or summed: of which table, and whether those of one value of b only."""
    return draw(st.sampled_from("RT")), draw(st.booleans())


def query(rows: tuple[str, bool], is_sum: bool, is_bounded: bool) -> Query:
    table, is_tested = rows
    tests = [Condition(call(">", B, const(0)))] if is_tested else []
    weights = (const(1), call("*", const(1), B)) if is_sum else (const(1),)
    keys, named = ((A, B), (K, L)) if is_bounded else ((A,), (K,))
    return Query(named, (Monomial(keys, weights, (Atom(table, (A, B)), *tests)),), len(weights))


@st.composite
def sums(draw: Draw) -> Monomial:
    """``[test of if(n == 0, null, s)]`` over rows of R, mostly with n the count of what s sums."""
    counted = draw(inner())
    summed = counted if draw(st.integers(0, 3)) else draw(inner())
    is_bounded = draw(st.booleans())
    bounds = (Bound(draw(st.sampled_from(["<", ">="])), draw(st.sampled_from([X, Y]))),) if is_bounded else ()
    factors: tuple[Factor, ...] = (
        Atom("R", (X, Y)),
        Lift(N, "count", query(counted, False, is_bounded), (X,), bounds),
        Lift(S, "sum", query(summed, True, is_bounded), (X,), bounds),
        Condition(draw(st.sampled_from(TESTS))),
    )
    return Monomial((X,), (const(1),), factors)


def monomial(test: Term, table: str, *bounds: Bound) -> Monomial:
    lifts = (
        Lift(v, a, query((table, False), v == S, bool(bounds)), (X,), bounds)
        for v, a in ((N, "count"), (S, "sum"))
    )
    return Monomial((X,), (const(1),), (Atom("R", (X, Y)), *lifts, Condition(test)))


#: Its own row is not below itself: the count is zero, and the sum null, for the first of every group.
BELOW: Any = (
    monomial(call(">", MAYBE, const(-5)), "R", Bound("<", Y)),
    {"R": {(0, 1): 1, (0, 2): 1}, "T": {}},
)

#: One that sums other rows than are counted: where none is counted, the default is not the sum.
OTHER: Any = (
    Monomial(
        (X,),
        (const(1),),
        (
            Atom("R", (X, Y)),
            Lift(N, "count", query(("T", False), False, False), (X,)),
            Lift(S, "sum", query(("R", False), True, False), (X,)),
            Condition(call(">=", call("coalesce", MAYBE, const(0)), Y)),
        ),
    ),
    {"R": {(0, 1): 1}, "T": {}},
)


@given(sums(), BAGS)
@example(*BELOW)
@example(*OTHER)
def test_taken_apart_they_mean_the_same(monomial, stored):
    """[[without_nulls(m)]] = [[m]] while tables are bags; and so it is without what nothing uses then"""
    wanted = meaning(Query((K,), (monomial,)), stored)

    apart = without_nulls(monomial)
    assert meaning(Query((K,), (apart,)), stored) == wanted
    assert meaning(Query((K,), (without_unused(apart),)), stored) == wanted


def test_what_another_aggregate_uses_stays():
    """n is nothing's but the group's of another count"""
    groups = Query((K,), (Monomial((B,), (const(1),), (Atom("T", (A, B)),)),))
    outer = Lift(S, "count", groups, (N,))
    whole = Monomial(
        (X,), (S,), (Atom("R", (X, Y)), Lift(N, "count", query(("R", False), False, False), (X,)), outer)
    )

    assert without_unused(whole) == whole


def test_most_are_taken_apart():
    drawn = draws(sums(), 100)

    assert sum(without_nulls(monomial) != monomial for monomial in drawn) > 50
