"""Law 18: rewriting changes the form and never the meaning."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.calculus.build import ungroup
from nestling.calculus.evaluate import evaluate
from nestling.calculus.parse import parse
from nestling.calculus.terms import Expr, Group, Let, SingBag
from nestling.calculus.traverse import Names, binders, map_children, relations, rewrite, walk
from nestling.calculus.types import INT, Bag, nullable, record
from nestling.calculus.typing import check, element_type
from nestling.transform.complement import complement
from nestling.transform.hoist import hoist
from nestling.transform.normalize import normalize
from nestling.transform.pipeline import EMBEDDED, SPARK, run
from nestling.transform.shred import unshred
from nestling.transform.simplify import SIMPLIFICATIONS, simplify
from nestling.transform.theory.degree import degree
from nestling.transform.theory.delta import delta
from nestling.values.bag import ZBag
from tests.laws.shredding import parts_of, shredded_queries
from tests.partial import meant, partial_queries
from tests.strategies import CATALOG, SCHEMA, databases, instances, queries

Rewriting = Callable[[Expr], Expr]
ALL = frozenset(CATALOG)


def hoisted(expr: Expr) -> Expr:
    """What is moved past a binder may not be captured by it: binders are unique in a normal form."""
    return hoist(normalize(expr))


def complemented(expr: Expr) -> Expr:
    return complement(normalize(expr))


def keeps_meaning(rewriting: Rewriting, expr: Expr, state: dict[str, Any]) -> None:
    rewritten = rewriting(expr)
    check(rewritten)

    assert element_type(rewritten) == element_type(expr)
    assert evaluate(rewritten, state) == evaluate(expr, state)


@pytest.mark.parametrize("rewriting", [simplify, normalize, hoisted, complemented])
@given(instance=instances("full"))
def test_meaning_and_type_stay(rewriting, instance):
    """evaluate(f(e)) = evaluate(e) and f(e) : type_of(e), for queries and their deltas"""
    keeps_meaning(rewriting, instance.query, instance.database)
    keeps_meaning(rewriting, delta(instance.query, instance.changed), instance.with_changes)


@pytest.mark.parametrize("rewriting", [simplify, normalize])
@given(drawn=shredded_queries())
def test_meaning_and_type_of_parts_stay(rewriting, drawn):
    """as above for flat parts, their deltas, and the way back"""
    query, instance = drawn
    parts = parts_of(query)
    for expr in (parts.flat, delta(parts.flat, relations(query)), unshred(parts.shredded)):
        keeps_meaning(rewriting, expr, instance.with_changes)


@pytest.mark.parametrize("rewriting", [simplify, normalize, hoist, complemented])
@given(query=queries("full"))
def test_twice_is_once(rewriting, query):
    """f(f(e)) = f(e), for queries and their deltas"""
    for expr in (query, delta(query, ALL)):
        once = rewriting(expr)
        assert rewriting(once) == once


@pytest.mark.parametrize("target", [EMBEDDED, SPARK], ids=["embedded", "spark"])
@given(data=st.data())
def test_a_value_stays(target, data):
    """wherever a query has a value, it has the same after all passes, though conditions have moved"""
    query = data.draw(partial_queries(SCHEMA))
    database = data.draw(databases(CATALOG, relations(query)))
    value = meant(query, database)
    if value is not None:
        assert evaluate(run(query, target.passes), database) == value


PAIRS = {name: Bag(record(a=INT, b=INT)) for name in "RST"} | {"U": Bag(record(a=INT, b=nullable(INT)))}
STATE = {
    "R": ZBag.of((1, 1), (1, 2), (2, 2)),
    "S": ZBag.of((1, 1), (1, 1), (1, 3), (2, 1)),
    "T": ZBag.of((2, 0)),
    "U": ZBag.of((1, 1), (1, None), (2, 2), (2, None), (1, 3)),
}
COUNTS = [
    "for r in R union fold n := count(for s in S where s.a == r.a union for _ in [s.b != r.b] union sng(s)) in"
    " for _ in [n > 0] union sng⟨r: r, n: n⟩",
    "for r in R union fold n := count(for s in S where s.a == r.a and s.b != r.b union sng(s)) in sng⟨r: r, n: n⟩",
    "for r in R union fold n := count(for s in S where not (s.a != r.a or s.b == r.b) union sng(s)) in sng⟨r: r, n: n⟩",
    "for r in R union for _ in exists(for s in S where s.a != r.a union for _ in [s.b != r.b] union sng⟨⟩)"
    " union sng(r)",
    "for r in R union fold n := sum(for t in (for s in S where s.a != r.a union sng(s.b)) union sng(t)) in sng⟨n: n⟩",
    "for r in U union fold n := count(for s in U where s.a == r.a and not (s.b = r.b) union sng(s)) in sng⟨r: r, n: n⟩",
    "for r in U union fold n := count(for s in U where s.b != r.b union sng(s)) in sng⟨r: r, n: n⟩",
    "for r in R union fold n := count(for _ in [r.b > 1] union S) in sng⟨r: r, n: n⟩",
    "for r in R union fold n := count(for _ in [r.b + 1 > 2] union S) in sng⟨r: r, n: n⟩",
]


@pytest.mark.parametrize("text", COUNTS)
def test_counts_of_what_differs(text):
    query = parse(text, PAIRS)
    rewritten = complement(hoist(query))
    check(rewritten)

    assert rewritten != query
    assert evaluate(rewritten, STATE) == evaluate(query, STATE)


@given(queries("full"))
def test_simplify_never_raises_the_degree(query):
    """deg(simplify(e)) ≤ deg(e)"""
    assert degree(simplify(query)) <= degree(query)


def has_normal_form(query: Expr) -> None:
    nodes = list(walk(normalize(query)))
    bound = [var.name for node in nodes for var in binders(node) if var.name != "_"]
    sites = [node.site for node in nodes if isinstance(node, SingBag)]

    assert len(bound) == len(set(bound))
    assert not any(isinstance(node, Let | Group) for node in nodes)
    assert sites == list(range(1, 1 + len(sites)))


@given(queries("full"))
def test_normal_form(query):
    """after normalize, binders are unique, lets and groups are gone, and sites are 1, 2, …"""
    has_normal_form(query)


@pytest.mark.parametrize("rule", SIMPLIFICATIONS, ids=lambda rule: rule.__name__)
@given(instance=instances("full"))
def test_rule(rule, instance):
    """each rule alone, wherever it fires"""
    keeps_meaning(lambda expr: rewrite(expr, (rule,)), instance.query, instance.database)


@given(queries("full", outermost="group"), st.data())
def test_group_is_an_abbreviation(query, data):
    """group x in e by k := t as X union b  =  its expansion"""
    expands_to_its_meaning(query, data.draw(databases(CATALOG, relations(query), signed=True)))


def expands_to_its_meaning(query: Expr, state: dict[str, Any]) -> None:
    assert evaluate(expanded(query), state) == evaluate(query, state)


def expanded(node: Any) -> Any:
    node = map_children(node, expanded)
    return ungroup(node, Names.of(node)) if isinstance(node, Group) else node


RELATIONS = {"R": Bag(INT), "S": Bag(INT), "U": Bag(nullable(INT))}

#: Rule, a term where it fires, and what it makes of it. The first line of a rule's docstring says why.
FIRES = [
    ("by_construction", "R ⊎ ∅[int]", "R"),
    ("by_construction", "⊖⊖R", "R"),
    ("for_over_singleton", "for x in sng(1) union sng(x + x)", "sng(1 + 1)"),
    ("for_collecting", "for x in R union sng(x)", "R"),
    ("for_under_negation", "for x in ⊖R union S", "⊖(for x in R union S)"),
    ("for_under_negation", "for x in R union ⊖S", "⊖(for x in R union S)"),
    ("for_over_for", "for x in (for y in R union R) union S", "for y in R union for x in R union S"),
    ("negate_union", "⊖(R ⊎ S)", "⊖R ⊎ ⊖S"),
    ("cancel_opposites", "R ⊎ S ⊎ ⊖R", "S"),
    ("flatten_singleton", "flatten(sng_1(R))", "R"),
    ("flatten_union", "flatten(sng_1(R) ⊎ sng_2(S))", "flatten(sng_1(R)) ⊎ flatten(sng_2(S))"),
    ("flatten_union", "flatten(⊖sng_1(R))", "⊖flatten(sng_1(R))"),
    ("distinct_twice", "distinct(distinct(R))", "distinct(R)"),
    ("guard_constant", "[true]", "sng⟨⟩"),
    ("guard_constant", "[false]", "∅[⟨⟩]"),
    ("field_of_tuple", "for x in R union sng(⟨a: x, b: 1⟩.a)", "for x in R union sng(x)"),
    ("connective_unit", "for x in R where x < 1 and true union S", "for x in R where x < 1 union S"),
    ("connective_unit", "for x in R where x < 1 or true union S", "for x in R where true union S"),
    ("connective_unit", "sng(null[bool] and false)", "sng(false[bool?])"),
    ("null_of_strict", "for x in U union sng(is_null(x + 1))", "for x in U union sng(is_null(x))"),
    (
        "null_of_strict",
        "for x in U union for y in U union sng(is_null(x + y))",
        "for x in U union for y in U union sng(is_null(x) or is_null(y))",
    ),
    ("of_nullable", "for x in R union sng(is_null(nullable(x)))", "for x in R union sng(false)"),
    ("of_nullable", "for x in R union sng(coalesce(nullable(x), 0))", "for x in R union sng(x)"),
    ("multiplied_constant", "for x in R union sng(1 * x)", "for x in R union sng(x)"),
    ("multiplied_constant", "for x in R union sng(x * 0)", "for x in R union sng(0)"),
    ("constant_call", "sng(1 + 1)", "sng(2)"),
    (
        "call_of_choice",
        "for x in R union sng(1 < if(x < 3, 1, 2))",
        "for x in R union sng(if(x < 3, false, true))",
    ),
    ("guard_choice", "for x in R where if(x < 3, true, false) union S", "for x in R where x < 3 union S"),
]

#: Rule, and a term that looks alike but must stay.
STAYS = [
    ("for_over_for", "for x in (for y in R union S) union for y in R union sng(x + y)"),
    ("for_over_for", "for x in (for y in R union S) union group y in R by k := y as Y union sng(x + k)"),
    ("for_collecting", "for x in R union for y in S union sng(x)"),
    ("cancel_opposites", "R ⊎ R ⊎ ⊖S"),
    ("distinct_twice", "distinct(exists(R))"),
    ("distinct_twice", "exists(distinct(R))"),
    ("guard_constant", "for x in R union [x == 1]"),
    ("connective_unit", "for x in R where x < 1 and x > 0 union S"),
    ("connective_unit", "for x in R union sng(x < 1 and true[bool?])"),
    ("multiplied_constant", "for x in U union sng(x * 0)"),
    ("constant_call", "sng(1 // 0)"),
    ("call_of_choice", "for x in R union sng(1 // if(x < 3, 0, 1))"),
    ("call_of_choice", "for x in R union sng(x + if(x < 3, 0, 1))"),
    ("guard_choice", "for x in R where if(x < 3, false, true) union S"),
]


@pytest.mark.parametrize(("name", "before", "after"), FIRES, ids=[f"{case[0]}: {case[1]}" for case in FIRES])
def test_rule_fires(name, before, after):
    rule, expr = named(name), parse(before, RELATIONS)

    assert rewrite(expr, (rule,)) == parse(after, RELATIONS)


@pytest.mark.parametrize(("name", "term"), STAYS, ids=[f"{case[0]}: {case[1]}" for case in STAYS])
def test_rule_does_not_fire(name, term):
    expr = parse(term, RELATIONS)

    assert rewrite(expr, (named(name),)) == expr


def test_every_rule_fires():
    assert {name for name, _, _ in FIRES} == {rule.__name__ for rule in SIMPLIFICATIONS}


def named(name: str):
    return next(rule for rule in SIMPLIFICATIONS if rule.__name__ == name)


@given(st.data())
def test_what_fires_keeps_its_meaning(data):
    """each targeted term, before and after, on random bags"""
    _, before, after = data.draw(st.sampled_from(FIRES))
    state = data.draw(databases(RELATIONS))

    assert evaluate(parse(before, RELATIONS), state) == evaluate(parse(after, RELATIONS), state)
