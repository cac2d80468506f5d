"""A derivation is its passes in order: what they promise holds for its parts."""

import sys

from hypothesis import given
from hypothesis import strategies as st

from nestling.calculus.evaluate import evaluate
from nestling.calculus.parse import parse
from nestling.calculus.traverse import relations
from nestling.calculus.types import INT, Bag
from nestling.calculus.typing import check
from nestling.transform.shred import Surrogates, unshred
from nestling.transform.theory.cost.cardinality import Symbolic, greater
from nestling.transform.theory.derive import derive, show_change, show_cost_of_change
from tests.laws.shredding import catalog_of, deep_paths, shredded_database
from tests.strategies import CATALOG, databases, queries


@given(queries("full"), deep_paths(), st.data())
def test_a_derivation_means_its_query(query, deep, data):
    """unshred(derive(h)) = h"""
    derivation = derive("h", query, deep)
    nested = data.draw(databases(CATALOG, relations(query)))
    state = shredded_database(nested, catalog_of(derivation.normal), Surrogates())

    assert evaluate(unshred(derivation.shredded), state) == evaluate(query, nested)


@given(queries("full"), deep_paths())
def test_parts_are_well_typed(query, deep):
    """every part and its change pass check, over the parameters of the part"""
    for part in derive("h", query, deep).parts:
        params = part.definition.params if part.definition else ()
        scope = {param.name: param for param in params}
        check(part.query, scope)
        check(part.change, scope)


def test_a_delta_that_is_too_long_is_not_shown(monkeypatch):
    query = parse("for x in R union sng(x)", {"R": Bag(INT)})
    (whole,) = derive("h", query).parts
    monkeypatch.setattr(sys.modules["nestling.transform.theory.derive"], "MOST", 0)

    (part,) = derive("h", query).parts

    assert whole.change is not None and part.change is None
    assert "not shown" in show_change(part) and show_cost_of_change(part) == "not computed"


def test_too_many_formulas_are_bounded_by_one(monkeypatch):
    """sup(a, b) ≤ the bound that stands for it"""
    r, s = (Symbolic.size_of(name) for name in "RS")
    monkeypatch.setattr(sys.modules["nestling.transform.theory.cost.cardinality"], "MOST", 1)
    bound = greater(r, s)

    assert isinstance(bound, Symbolic) and len(bound.choices) == 1
    assert bound.at({"R": 7, "S": 2}) >= 7
