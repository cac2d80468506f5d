"""Law 11: the delta of a count-wise operator is Griffin and Libkin's, rule by rule."""

from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.calculus.build import call, const, where
from nestling.calculus.evaluate import evaluate
from nestling.calculus.terms import CountWise, Expr, Field, For, Product, Relation, Sing, Union, Var
from nestling.calculus.types import INT, Bag, record
from nestling.transform.theory.delta import delta
from nestling.values.bag import ZBag
from tests.laws.figure3 import RULES

ROW = record(a=INT, b=INT)
S, T, X = Relation("S", Bag(ROW)), Relation("T", Bag(ROW)), Var("x", ROW)
CHANGED = frozenset("ST")

QUERIES: dict[str, Expr] = {
    "σ": For(X, S, where(call("==", Field(X, "a"), const(0)), Sing(X))),
    "Π": For(X, S, Sing(Field(X, "b"))),
    "ε": CountWise("distinct", (S,)),
    "⊎": Union((S, T)),
    "∸": CountWise("monus", (S, T)),
    "min": CountWise("min", (S, T)),
    "max": CountWise("max", (S, T)),
    "×": Product((("s", S), ("t", T))),
}


@st.composite
def changed(draw) -> tuple[ZBag, ZBag]:
    """A bag and a strongly minimal change of it."""
    rows = [(a, b) for a in range(2) for b in range(2)]
    old = ZBag((row, draw(st.integers(0, 3))) for row in rows)
    return old, ZBag((row, draw(st.integers(-old[row], 3))) for row in rows)


ONE_ROW = [(ZBag({(0, 0): n}), ZBag({(0, 0): m})) for n in range(4) for m in range(-n, 4)]


def agrees_with_figure_3(name: str, s: tuple[ZBag, ZBag], t: tuple[ZBag, ZBag]) -> None:
    database: Mapping[str, ZBag] = {"S": s[0], "ΔS": s[1], "T": t[0], "ΔT": t[1]}
    rule = RULES[name]
    arguments = [part for old, new in (s, t)[: rule.arity] for part in (old, new.negative(), new.positive())]
    change = evaluate(delta(QUERIES[name], CHANGED), database)

    assert evaluate(QUERIES[name], database) == rule.operator(*(s[0], t[0])[: rule.arity])
    assert change.negative() == rule.deleted(*arguments)
    assert change.positive() == rule.inserted(*arguments)


@pytest.mark.parametrize("name", RULES)
@given(s=changed(), t=changed())
def test_rule(name, s, t):
    """∇(S op T) and △(S op T) of Figure 3 = the negative and positive part of δ(S op T)"""
    agrees_with_figure_3(name, s, t)


@pytest.mark.parametrize("name", RULES)
def test_rule_on_one_element_exhaustively(name):
    for s, t in product(ONE_ROW, ONE_ROW):
        agrees_with_figure_3(name, s, t)


def test_figure_3_needs_strongly_minimal_changes():
    """S = {v}, ∇S = {v}, △S = {v} is a change of nothing, but Figure 3 inserts nothing and deletes v."""
    v = ZBag.of((0, 0))

    assert RULES["ε"].deleted(v, v, v) == v
    assert RULES["ε"].inserted(v, v, v) == ZBag()
