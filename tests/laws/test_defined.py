"""Law 19: whether a query has a value is a query."""

import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.calculus.build import call, const
from nestling.calculus.evaluate import evaluate, evaluate_term
from nestling.calculus.functions import FUNCTIONS
from nestling.calculus.parse import parse
from nestling.calculus.partial import is_total, undefined_where
from nestling.calculus.terms import Call, Empty, Var
from nestling.calculus.traverse import children, is_term, relations, walk
from nestling.calculus.types import INT, Scalar
from nestling.calculus.typing import check, element_type
from nestling.errors import NoValue
from nestling.transform.defined import total, undefined
from nestling.transform.normalize import normalize
from nestling.values.bag import ZBag
from nestling.values.exact import is_same
from tests.engines.terms import SAMPLES as FEW
from tests.partial import meant, partial_queries
from tests.strategies import CATALOG, SCHEMA, databases


@given(data=st.data())
def test_a_query_has_a_value_iff_no_term_lacks_one(data):
    """[[h]] is defined ⟺ [[undefined(h)]] = ∅, and then [[total(h)]] = [[h]]"""
    query = data.draw(partial_queries(SCHEMA))
    database = data.draw(databases(CATALOG, relations(query)))
    made, absent = total(query), undefined(query)
    check(made)
    check(absent)

    texts, answer, value = evaluate(absent, database), evaluate(made, database), meant(query, database)

    assert element_type(made) == element_type(query)
    assert (value is None) == bool(texts)
    assert value is None or answer == value
    # Rewriting, which may move or drop what lacks a value, does neither to what says so.
    assert evaluate(normalize(absent), database) == texts


@given(query=partial_queries(SCHEMA))
def test_what_is_made_total_is_total(query):
    for made in (total(query), undefined(query)):
        whole = [child for node in walk(made) if not is_term(node) for child in children(node)]
        assert all(is_total(term) for term in whole if is_term(term))


#: Of each type also what is hardest to compute with.
SAMPLES = FEW | {
    "int": [*FEW["int"], 10**400, -(10**5000)],
    "float": [*FEW["float"], -math.inf, math.nan, 1.7976931348623157e308, 5e-324],
    "decimal": [*FEW["decimal"], Decimal("9" * 38), Decimal("1E+4000"), Decimal("1E-4000")],
    "date": [*FEW["date"], date.min, date.max],
    "datetime": [*FEW["datetime"], datetime.min, datetime.max],
    "timedelta": [*FEW["timedelta"], timedelta.min, timedelta.max],
}

PARTIAL = [function for function in FUNCTIONS.values() if function.partial]


@pytest.mark.parametrize("function", PARTIAL, ids=lambda function: function.name)
@pytest.mark.parametrize("null", [False, True], ids=["", "null"])
def test_where_a_call_has_no_value(function, null):
    """undefined_where(t) ⟺ t raises, for every partial function and all it takes; total(t) never does"""
    kinds = [Scalar(name, null) for name in SAMPLES]
    taken = [types for types in product(kinds, repeat=function.arity) if function.result(types)]
    assert taken
    for types in taken:
        args = [Var(f"x{i}", type_) for i, type_ in enumerate(types)]
        term = call(function.name, *args)
        absent, made = undefined_where(term), total(term)
        for values in product(*([*SAMPLES[type_.name], *([None] if null else [])] for type_ in types)):
            env = {arg.name: value for arg, value in zip(args, values, strict=True)}
            try:
                found, defined = evaluate_term(term, env), True
            except NoValue:
                found, defined = None, False
            assert (absent is None or evaluate_term(absent, env) is False) == defined, env
            again = evaluate_term(made, env)
            assert not defined or _is_one(again, found)


def _is_one(left, right):
    digits = str(left) == str(right) if isinstance(left, Decimal) else True
    return type(left) is type(right) and is_same(left, right) and digits


def test_a_constant_divisor_is_known():
    x = Var("x", INT)
    assert undefined_where(call("//", x, const(2))) is None
    assert undefined_where(call("//", x, const(0))) is not None
    assert is_total(call("%", x, const(2)))
    assert not is_total(call("%", x, x))


@pytest.mark.parametrize(
    "guarded",
    [
        "for x in T where x.b != 0 union sng(x.a // x.b)",
        "for x in T where x.b > 0 and x.a > 1 union sng(x.a // x.b)",
        "for x in T where 1 < x.b union sng(x.a // x.b)",
        "for x in T where 0 > x.b union sng(x.a // x.b)",
        "for x in T where x.b >= 1 union for y in S union sng(y // x.b)",
        "for x in T union sng(if(x.b == 0, x.a, x.a // x.b))",
        "for x in T union sng(if(x.b != 0, x.a // x.b, 0))",
        "for x in T where x.b != 0 and x.a // x.b > 1 union sng(x.a)",
        "for x in T where x.b == 0 or x.a // x.b > 1 union sng(x.a)",
        "for x in T union fold n := count(S) in for _ in [n > 0] union sng(x.a // n)",
        "for x in T union sng(x.a // 2)",
    ],
)
def test_what_is_guarded_costs_nothing(guarded):
    assert isinstance(undefined(parse(guarded, CATALOG)), Empty)


@pytest.mark.parametrize(
    "loose",
    [
        "for x in T where x.a != 0 union sng(x.a // x.b)",
        "for x in T where x.b < 2 union sng(x.a // x.b)",
        "for x in T where x.b >= 0 union sng(x.a // x.b)",
        "for x in T union sng(if(x.b == 0, x.a // x.b, x.a))",
    ],
)
def test_what_another_guard_says_is_not_believed(loose):
    query = parse(loose, CATALOG)
    assert any(isinstance(node, Call) for node in walk(undefined(query)))
    assert meant(query, {"T": ZBag.of((1, 0), (1, 2))}) is None


HUGE = 10**400
ROWS = [[(1, 2)], [(HUGE, 1)], [(1, HUGE)], [(HUGE, HUGE)], [(HUGE, 1), (-HUGE, 2)], [(1, 0)], []]


@pytest.mark.parametrize("rows", ROWS, ids=range(len(ROWS)))
@pytest.mark.parametrize(
    "text",
    [
        "for x in T union sng(x.a / x.b)",
        "for x in T union sng(x.a / 2)",
        "for x in T union sng(to_float(x.a) + x.b)",
        "for x in T where 0.5 * x.a > 0.0 union sng(x.b)",
        "fold m := avg(for x in T union sng(x.a)) in sng(m)",
        "fold m := var(for x in T union sng(x.a)) in sng(m)",
        "fold m := stdev(for x in T union sng(x.a)) in sng(m)",
    ],
)
def test_an_int_too_large_for_a_float_is_foreseen(text, rows):
    query, database = parse(text, CATALOG), {"T": ZBag.of(*rows)}
    value, made = meant(query, database), evaluate(total(query), database)
    assert (value is None) == bool(evaluate(undefined(query), database))
    assert value is None or made == value
