"""Printing and parsing are inverse."""

from hypothesis import given

from nestling.calculus.parse import parse, parse_dictionary, parse_type
from nestling.calculus.show import show
from nestling.calculus.types import show_type
from nestling.transform.normalize import normalize
from nestling.transform.shred import unshred
from nestling.transform.theory.delta import delta
from nestling.transform.theory.flags import infer_flags
from tests.laws.shredding import catalog_of, changed_dictionary, deep_paths, parts_of, shredded_catalog
from tests.strategies import CATALOG, instances, queries, types

WIDTHS = (20, 88)
ALL = frozenset(CATALOG)


def comes_back(expr, catalog):
    for width in WIDTHS:
        assert parse(show(expr, width), catalog) == expr


@given(instances("full"))
def test_queries_and_their_deltas(instance):
    """parse(show(e, width)) = e"""
    comes_back(instance.query, CATALOG)
    comes_back(delta(instance.query, instance.changed), CATALOG)


@given(queries("inc"))
def test_changes_of_higher_order(query):
    """parse(show(δ²e, width)) = δ²e"""
    comes_back(delta(delta(query, ALL), ALL, 2), CATALOG)


@given(queries("full"), deep_paths())
def test_shredded_parts(query, deep):
    """parse(show(p, width)) = p for flat parts, dictionaries, their deltas and the way back"""
    query = infer_flags(normalize(query), deep)
    comes_back(query, catalog_of(query))
    catalog = shredded_catalog(catalog_of(query))
    parts = parts_of(query)
    for expr in (parts.flat, delta(parts.flat, ALL), unshred(parts.shredded)):
        comes_back(expr, catalog)
    for dictionary in parts.dictionaries:
        for definition in (dictionary, changed_dictionary(dictionary, ALL)):
            for width in WIDTHS:
                assert parse_dictionary(show(definition, width), catalog) == definition


@given(types())
def test_types(type_):
    """parse_type(show_type(A)) = A"""
    assert parse_type(show_type(type_)) == type_
