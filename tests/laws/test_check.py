"""What ``check`` accepts has a meaning, of the type it says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.calculus.evaluate import evaluate
from nestling.calculus.traverse import relations
from nestling.calculus.typing import check, type_of
from tests.strategies import CATALOG, databases, queries, types, values
from tests.typed import has_type


@pytest.mark.parametrize("fragment", ["inc", "nrc", "full"])
@given(data=st.data())
def test_a_checked_query_yields_its_type(fragment, data):
    """check(e)  ⟹  evaluate(e, db) : type_of(e)"""
    query = data.draw(queries(fragment))
    check(query)

    assert has_type(evaluate(query, data.draw(databases(CATALOG, relations(query)))), type_of(query))


@given(types(), st.data())
def test_random_values_have_their_type(type_, data):
    """v drawn for A  ⟹  v : A"""
    assert has_type(data.draw(values(type_)), type_)


@given(queries("full", negation=False), databases())
def test_without_negation_results_are_bags_of_old(query, database):
    """e without ⊖, db ≥ 0  ⟹  evaluate(e, db) ≥ 0"""
    assert evaluate(query, database).is_nonnegative()
