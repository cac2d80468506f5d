"""A query is called efficiently incrementalizable only where the theorem says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.transform.classify import Verdict, classify
from nestling.transform.normalize import normalize
from nestling.transform.theory.degree import TOP, degree
from nestling.transform.theory.flags import infer_flags
from tests.draws import draws
from tests.laws.shredding import deep_paths, parts_of
from tests.strategies import SCHEMA, queries, schemas


def claims_no_more_than_holds(query) -> None:
    """``query`` is a normal form with flags."""
    if classify(query).verdict is Verdict.EFFICIENT:
        assert all(degree(body) < TOP for body in parts_of(query).bodies())


@pytest.mark.parametrize("fragment", ["nrc", "full"])
@given(data=st.data(), deep=deep_paths())
def test_efficient_means_polynomial(fragment, data, deep):
    """verdict(h) = efficiently incrementalizable  ⟹  every part of h has a finite degree"""
    query = normalize(data.draw(queries(fragment, SCHEMA.nested)))
    claims_no_more_than_holds(infer_flags(query, deep))


@given(st.data())
def test_under_all_flags(data):
    """as above where the flags are given and not inferred"""
    schema = data.draw(schemas())
    claims_no_more_than_holds(normalize(data.draw(queries("nrc", schema.nested, schema=schema))))


def test_the_law_is_not_about_nothing():
    drawn = [infer_flags(normalize(query)) for query in draws(queries("full"), 200)]

    verdicts = [classify(query).verdict for query in drawn]

    assert {*verdicts} == {*Verdict}
    assert verdicts.count(Verdict.EFFICIENT) >= 0.2 * len(drawn)
