"""A derivation is its passes in order: what they promise holds for its parts."""

from hypothesis import given
from hypothesis import strategies as st

from nestling.calculus.evaluate import evaluate
from nestling.calculus.traverse import relations
from nestling.calculus.typing import check
from nestling.transform.shred import Surrogates, unshred
from nestling.transform.theory.derive import derive
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
