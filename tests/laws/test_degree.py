"""Law 3: every delta of a polynomial query is of lower degree, until the input is no longer read."""

from hypothesis import assume, event, given
from hypothesis import strategies as st

from nestling.calculus.build import empty
from nestling.calculus.parse import parse
from nestling.calculus.terms import CountWise, Expr, First, Fold, For, SingBag, Union, Var
from nestling.calculus.traverse import is_input_dependent, relations, walk
from nestling.calculus.types import INT, Bag
from nestling.transform.normalize import normalize
from nestling.transform.theory.degree import TOP, degree
from nestling.transform.theory.delta import delta
from tests.draws import draws
from tests.strategies import CATALOG, queries

ALL = frozenset(CATALOG)
FLAT = {"R": Bag(INT), "S": Bag(INT)}


def drops_to_zero(query: Expr) -> None:
    """``query`` is an IncNRC⁺ query whose ∅ are propagated."""
    top = degree(query)
    for order in range(1, int(top) + 1):
        query = delta(query, ALL, order)
        assert degree(query) == top - order
    assert not relations(query)


@given(queries("inc", fuel=5))
def test_degree_drops_to_zero(query):
    """deg(δᵏ(h)) = deg(h) − k, and δ^deg(h) reads no input"""
    query = normalize(query)
    event(f"degree {degree(query)}")
    drops_to_zero(query)


@given(queries("inc", fuel=5), st.data())
def test_degree_in_one_relation_of_several(query, data):
    """deg(δ_R(h)) ≤ deg(h) − 1"""
    query = normalize(query)
    assume(relations(query))
    relation = data.draw(st.sampled_from(sorted(relations(query))))

    assert degree(delta(query, frozenset({relation}))) <= degree(query) - 1


def test_degree_in_one_relation_may_drop_by_more():
    query = parse("R ⊎ (for x in S union S)", FLAT)

    assert degree(query) == 2
    assert degree(delta(query, frozenset("R"))) == 0
    assert degree(delta(query, frozenset("RS"))) == 1


def test_degree_needs_emptiness_propagated():
    """for x in ∅ union e  has the degree of e, which is why ∅ must absorb the loop."""
    constant, squared = parse("sng(1)", FLAT), parse("for y in S union S", FLAT)
    x = Var("x", INT)
    query = For(x, constant, squared)
    unpropagated = Union((For(x, empty(INT), squared), For(x, constant, delta(squared, frozenset("S")))))

    assert degree(query) == 2
    assert degree(unpropagated) == 2
    assert degree(delta(query, frozenset("S"))) == 1


@given(queries("full"))
def test_top_is_the_degree_of_what_is_not_polynomial(query):
    """deg(h) = ⊤  ⟺  h has a count-wise operator, a fold or an inner bag over the input"""
    query = normalize(query)

    assert (degree(query) == TOP) == any(map(is_obstacle, walk(query)))


def is_obstacle(node) -> bool:
    match node:
        case SingBag(_, body):
            return is_input_dependent(body)
        case CountWise(_, args):
            return any(map(is_input_dependent, args))
        case First(_, source):
            return is_input_dependent(source)
        case Fold(_, _, source, _):
            return is_input_dependent(source)
    return False


def test_the_law_is_not_about_nothing():
    drawn = [degree(normalize(query)) for query in draws(queries("inc", fuel=5), 200)]

    assert TOP not in drawn
    assert sum(one >= 1 for one in drawn) >= 0.4 * len(drawn)
    assert sum(one >= 2 for one in drawn) >= 0.1 * len(drawn)
