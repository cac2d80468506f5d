"""Laws of the way from a shredded view to flat queries: each step keeps the meaning."""

from collections.abc import Iterator
from itertools import permutations
from math import nan
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from nestling.calculus.build import call, const
from nestling.calculus.evaluate import evaluate, evaluate_term
from nestling.calculus.partial import is_total
from nestling.calculus.terms import Const, Term, Var
from nestling.calculus.types import FLOAT, INT, LABEL, nullable
from nestling.errors import NoValue
from nestling.program.flat import Atom, Factor, Lift, Monomial, Pointwise, Query
from nestling.program.flat import Test as Condition
from nestling.program.meaning import UnsafeQuery, meaning
from nestling.program.traverse import (
    canonical,
    factor_vars,
    inputs,
    is_ready,
    is_safe,
    substitute,
    term_vars,
)
from nestling.transform.lower import lower
from nestling.transform.lower.conditions import summands
from nestling.transform.lower.unify import unify
from nestling.transform.lower.view import CannotLower, Definition
from nestling.transform.pipeline import EMBEDDED, run
from nestling.transform.shred import dictionaries, shred
from nestling.values.bag import ZBag
from nestling.values.label import Label
from tests.draws import draws
from tests.engines.flat import VARS, keyed, monomials, scalar_tables
from tests.engines.terms import conditions, environments
from tests.engines.worlds import KEYED, KEYLESS, WORLDS, Stored, flat_view, steps
from tests.laws.shredding import defined
from tests.strategies import queries, scalars

every_world = pytest.mark.parametrize("world", (KEYLESS, KEYED), ids=("keyless", "keyed"))


# queries


@every_world
@given(data=st.data())
def test_rows_and_definitions_mean_their_parts(world, data):
    """[[lower(h).rows]] = [[h^F]], and [[lower(h).definition]] at an environment = h^Γ at its label"""
    shredded = shred(run(data.draw(queries("full", schema=world.schema)), EMBEDDED.passes))
    try:
        view = lower(shredded)
    except CannotLower:
        assume(False)
    assume(is_safe(view.rows))
    # What is not safe has no program: the view is evaluated by the reference.
    assume(all(is_safe(d.query, {param.name for param in d.params}) for d in view.definitions.values()))
    stored = Stored(world)
    for _ in range(4):
        stored.apply(data.draw(steps(stored)))
    state = stored.shredded()
    flat = evaluate(shredded.flat, state)

    assert meaning(view.rows, stored.tables) == as_cells(flat)
    for label in query_labels(flat):
        definition = view.definitions[shape(label)]
        for _, dictionary in dictionaries(shredded.context):
            body = defined(dictionary, label, state)
            if body:
                found = meaning(at(definition, columns(label.environment)), stored.tables)
                assert found == as_cells(body)


def as_cells(rows: ZBag) -> dict[tuple[Any, ...], tuple[int]]:
    return {tuple(flattened(row)): (times,) for row, times in rows.items()}


def flattened(value: Any) -> Iterator[Any]:
    """The columns of a record; a label stays whole."""
    if type(value) is tuple:
        for part in value:
            yield from flattened(part)
    else:
        yield value


def query_labels(rows: ZBag) -> list[Label]:
    values = [value for row in rows for value in flattened(row)]
    return [value for value in values if isinstance(value, Label) and isinstance(value.site, int)]


def shape(label: Label) -> Any:
    inner = [value for value in flattened(label.environment) if isinstance(value, Label)]
    return int(label.site), tuple(shape(value) if isinstance(value.site, int) else None for value in inner)


def columns(value: Any) -> list[Any]:
    """The columns of an environment; a label that a query made is spelled out."""
    if isinstance(value, Label):
        return columns(value.environment) if isinstance(value.site, int) else [value]
    if type(value) is tuple:
        return [column for part in value for column in columns(part)]
    return [value]


def at(definition: Definition, values: list[Any]) -> Query:
    """The query of a definition at one environment."""
    by: dict[str, Term] = {
        param.name: Const(value, param.type if param.type != LABEL else INT)  # type: ignore[arg-type]
        for param, value in zip(definition.params, values, strict=True)
    }
    width = len(definition.params)
    monomials = [substitute(monomial, by) for monomial in definition.query.monomials]
    bare = tuple(Monomial(m.keys[width:], m.weights, m.factors) for m in monomials)
    return Query(definition.query.keys[width:], bare)


# conditions

X, Y, M = Var("x", INT), Var("y", INT), Var("m", nullable(INT))
F, G = Var("f", FLOAT), Var("g", FLOAT)
ZERO, FIVE = const(0), const(5)


@given(
    conditions((X, Y, M, F, G)),
    st.builds(
        lambda one, two: one | two,
        environments((X, Y, M)),
        st.fixed_dictionaries({name: st.sampled_from([0.5, 1.0, nan]) for name in "fg"}),
    ),
)
@example(call("or", call("==", X, ZERO), call("==", call("//", FIVE, X), FIVE)), {"x": 0, "y": 0, "m": None})
@example(call("not", call("and", call("=", X, M), call("==", X, Y))), {"x": 0, "y": 0, "m": None})
@example(call("not", call("<", F, G)), {"f": nan, "g": 0.5})
def test_summands_add_up_to_the_condition(test, env):
    """Σ sign·[conjunction] = [test], nulls included; where test has a value no conjunction lacks one"""
    try:
        expected = evaluate_term(test, env) is True
    except NoValue:
        assume(False)
    for apart in (False, True):
        # In order, as a trigger asks them: a test may rely on those before it.
        found = summands(test, apart=apart)
        held = [sign for sign, tests in found if all(evaluate_term(t, env) is True for t in tests)]

        assert sum(held) == expected
        if apart and is_total(test):
            assert all(sign == 1 for sign, _ in found)


@given(conditions((X, Y, M)), environments((X, Y, M)))
def test_a_total_condition_has_a_value(test, env):
    assume(is_total(test))
    evaluate_term(test, env)


def test_disjunctions_are_taken_apart():
    """[a ∨ b] = [a] + [b] − [a][b] where each has something to look rows up by, and not where one has none"""
    a, b, c = call("==", X, Y), call("==", X, ZERO), call("<", X, ZERO)
    d = call("<", X, Y)

    assert summands(call("or", a, b)) == [(1, (a,)), (1, (b,)), (-1, (a, b))]
    assert summands(call("or", a, d)) == [(1, (a,)), (1, (d,)), (-1, (a, d))]
    assert summands(call("or", a, c)) == [(1, (call("or", a, c),))]
    assert summands(call("or", a, b), apart=True) == [(1, (a,)), (1, (b, call("not", a)))]
    assert summands(call("not", call("or", a, c))) == [(1, (call("!=", X, Y), call(">=", X, ZERO)))]


def test_a_long_disjunction_is_left_whole():
    test = call("==", X, const(0))
    for i in range(1, 6):
        test = call("or", test, call("==", X, const(i)))

    assert summands(test) == [(1, (test,))]


# monomials

TABLES = scalar_tables(KEYLESS.tables)


def tables() -> st.SearchStrategy[dict[str, dict[Any, int]]]:
    """A few rows per table."""
    rows = {name: st.tuples(*(scalars(column.type) for column in TABLES[name].columns)) for name in TABLES}
    counts = st.integers(1, 2)
    return st.fixed_dictionaries(
        {n: st.dictionaries(r, counts, min_size=1, max_size=4) for n, r in rows.items()}
    )


@given(monomials(TABLES), tables())
def test_unify_keeps_the_meaning(monomial, stored):
    """[[unify(m)]] = [[m]]; where it finds that nothing can hold, nothing does"""
    query = keyed(monomial)
    solved = unify(monomial)

    expected = meaning(query, stored)
    assert (meaning(Query(query.keys, (solved,)), stored) if solved is not None else {}) == expected


def test_a_test_that_may_be_null_and_is_true_is_no_reason_to_give_up():
    """``x == 1 or x = null`` holds of 1 whatever its type says"""
    x = Var("x", INT)
    test = call("or", call("==", x, const(1)), call("=", Const(None, nullable(INT)), const(1)))
    atom = Atom("T", (x,))
    monomial = Monomial((x,), (const(1),), (atom, Condition(call("==", x, const(1))), Condition(test)))
    solved = unify(monomial)
    assert solved is not None and solved.factors == (Atom("T", (const(1),)),)


@pytest.mark.parametrize("name", ["!=", "<", ">", "<=", "=="])
def test_what_a_number_is_to_itself(name):
    """``f != f`` and ``f < f`` hold of nothing, of NaN neither; ``f <= f`` is no constant, for of NaN it does not"""
    monomial = Monomial((F,), (const(1),), (Atom("W", (F,)), Condition(call(name, F, F))))
    solved, rows = unify(monomial), {"W": {(nan,): 1, (0.5,): 1}}

    assert (solved is None) == (name in ("!=", "<", ">"))
    found = meaning(Query((F,), (solved,)), rows) if solved is not None else {}
    assert found == meaning(Query((F,), (monomial,)), rows)


@given(monomials(TABLES, safe=False))
def test_unify_keeps_what_is_fixed(monomial):
    """a fixed variable is given from outside, and is not replaced by another"""
    fixed = frozenset({"i0", "m0"})
    solved = unify(monomial, fixed)
    if solved is not None:
        before = [term_vars(key) & fixed for key in monomial.keys]
        assert all(names <= term_vars(key) for names, key in zip(before, solved.keys, strict=True))


def test_an_equation_with_what_is_computed_from_it_stays_a_test():
    """x == n where n := sum(…)[x]: neither may take the place of the other"""
    n = Var("n", INT)
    inner = Query((X,), (Monomial((X,), (const(1), Y), (Atom("T", (X, Y)),)),), 2)
    monomial = Monomial(
        (X,), (const(1),), (Atom("S", (X,)), Lift(n, "sum", inner, (X,)), Condition(call("==", X, n)))
    )

    assert unify(monomial) == monomial


@given(monomials(TABLES), st.randoms(use_true_random=False))
def test_canonical_does_not_depend_on_names(monomial, random):
    """canonical(q renamed) = canonical(q)"""
    query = keyed(monomial)
    others = [f"z{i}" for i in range(len(VARS))]
    random.shuffle(others)
    by: dict[str, Term] = {var.name: Var(new, var.type) for var, new in zip(VARS, others, strict=True)}
    renamed = Query(
        tuple(Var(f"c{i}", k.type) for i, k in enumerate(query.keys)), (substitute(monomial, by),)
    )

    assert canonical(renamed) == canonical(query)


@given(monomials(TABLES), tables())
def test_canonical_keeps_the_meaning(monomial, stored):
    """[[canonical(q)]] = [[q]]"""
    query = keyed(monomial)

    assert meaning(canonical(query), stored) == meaning(query, stored)


@given(monomials(TABLES, depth=0, safe=False))
def test_safe_is_that_some_order_binds_all(monomial):
    """is_safe(q) = there is an order of the factors in which each is ready, and that binds the keys"""
    assume(len(monomial.factors) <= 5)
    query = keyed(monomial)

    assert is_safe(query) == any(binds_all(order, monomial) for order in permutations(monomial.factors))


def binds_all(order: tuple[Factor, ...], monomial: Monomial) -> bool:
    bound: set[str] = set()
    for factor in order:
        if not is_ready(factor, bound):
            return False
        bound |= factor_vars(factor)
    return term_vars(*monomial.keys, *monomial.weights) <= bound


def test_what_is_given_makes_a_query_safe():
    query = Query((X,), (Monomial((X,), (const(1),), (Condition(call("<", X, Y)),)),))

    assert not is_safe(query)
    assert not is_safe(query, {"x"})
    assert is_safe(query, {"x", "y"})
    with pytest.raises(UnsafeQuery, match="no order binds"):
        meaning(query, {})


def test_a_subquery_is_given_nothing():
    """what a lift reads is closed: it is stored as it stands, for all its groups"""
    inner = Query((X,), (Monomial((X,), (const(1),), (Atom("T", (Y, Y)), Condition(call("<", Y, X)))),))
    query = Query((), (Monomial((), (const(1),), (Atom("S", (X,)), Pointwise("exists", inner, (X,)))),))

    assert not is_safe(query)


# what the laws are about


def test_the_random_monomials_say_something():
    drawn = draws(st.tuples(monomials(TABLES), tables()), 200)

    assert all(is_safe(keyed(m)) for m, _ in drawn)
    assert sum(bool(meaning(keyed(m), stored)) for m, stored in drawn) >= 0.2 * len(drawn)
    assert sum(unify(m) not in (m, None) for m, _ in drawn) >= 0.3 * len(drawn)


def test_most_views_read_all_they_mention():
    """the tables that lowered queries read are among those of their relations"""
    for world in WORLDS.values():
        for query in draws(queries("nrc", schema=world.schema), 30):
            view = flat_view(query)
            assert inputs(view.rows) <= set(world.tables)
