"""Laws 5 and 6, and the first half of 7: shredding loses nothing, and what it makes has cheap deltas."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.calculus.evaluate import evaluate
from nestling.calculus.terms import Expr, SingBag
from nestling.calculus.traverse import relations, walk
from nestling.calculus.types import INT, Bag, Dict, Record, Type, bag_levels, dictionary_name, record
from nestling.calculus.typing import check, element_type
from nestling.transform.normalize import normalize
from nestling.transform.shred import Keys, LabelPolicy, Surrogates, flat_type, shred, shred_value, unshred
from nestling.transform.theory.degree import TOP, degree
from nestling.transform.theory.delta import delta
from nestling.transform.theory.flags import infer_flags
from nestling.values.bag import ZBag
from tests.draws import draws
from tests.laws.shredding import (
    catalog_of,
    changed_dictionary,
    deep_paths,
    defined,
    live_labels,
    nested_database,
    nested_input,
    parts_of,
    shredded_database,
    shredded_queries,
)
from tests.strategies import (
    CATALOG,
    SCHEMA,
    ShreddedInstance,
    bags,
    databases,
    queries,
    schemas,
    types,
)
from tests.typed import has_type

# values


@given(types(), st.data())
def test_value_with_surrogate_labels(element, data):
    """unshred(shred(v)) = v, flags at random"""
    restores(data.draw(bags(element)), element, Surrogates())


@given(st.tuples(st.booleans(), st.booleans(), st.booleans()), st.data())
def test_value_with_keyed_labels(flags, data):
    """unshred(shred(v)) = v, flags at random, where some levels have keys"""
    element = customer(*flags)
    keyed = data.draw(st.frozensets(st.sampled_from(["V", "V.orders", "V.orders.items"])))

    restores(data.draw(customers()), element, Keys(dict.fromkeys(keyed, (0,))))


def customer(orders: bool, items: bool, tags: bool) -> Record:
    item = record(part=INT, tags=Bag(INT, tags))
    order = record(day=INT, items=Bag(item, items))
    return record(name=INT, orders=Bag(order, orders))


def customers() -> st.SearchStrategy[ZBag]:
    """Three levels, the first field a key of each."""
    return with_key(with_key(with_key(bags(INT, most=2))))


def with_key(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[ZBag]:
    rows = st.lists(st.tuples(st.integers(0, 2), inner), max_size=2, unique_by=lambda row: row[0])
    return st.builds(lambda some, times: ZBag((row, times) for row in some), rows, st.integers(1, 2))


def restores(value: ZBag, element: Type, policy: LabelPolicy) -> None:
    shredded = shred_value("V", value, element, policy)
    rows = {
        dictionary_name("V", path): Dict(flat_type(level.element))
        for path, level in bag_levels(element)
        if not level.opaque
    }

    assert evaluate(nested_input("V", Bag(element)), shredded.as_database("V")) == value
    assert has_type(shredded.flat, Bag(flat_type(element)))
    assert shredded.dictionaries.keys() == rows.keys()
    assert all(has_type(shredded.dictionaries[name], type_) for name, type_ in rows.items())


def test_equal_inner_bags_have_labels_of_their_own():
    """Labels belong to occurrences: a deep update changes one inner bag and not its equal."""
    element = record(a=INT, items=Bag(INT))
    value = ZBag.of((1, ZBag.of(7)), (2, ZBag.of(7)))

    shredded = shred_value("V", value, element, Surrogates())

    assert len({label for _, label in shredded.flat}) == 2


# queries


@pytest.mark.parametrize("fragment", ["nrc", "full"])
@given(data=st.data())
def test_query_under_all_flags(fragment, data):
    """unshred(h^F, h^Γ) = h, the flags of inputs and of inner bags at random"""
    schema = data.draw(schemas())
    query = normalize(data.draw(queries(fragment, schema=schema)))

    means_the_same(query, query, data.draw(databases(CATALOG, relations(query))))


@pytest.mark.parametrize("fragment", ["nrc", "full"])
@given(data=st.data(), deep=deep_paths())
def test_query_with_inferred_flags(fragment, data, deep):
    """unshred(h^F, h^Γ) = h, shredded as deep as needed"""
    query = data.draw(queries(fragment))
    flagged = infer_flags(normalize(query), deep)
    check(flagged)

    means_the_same(query, flagged, data.draw(databases(CATALOG, relations(query))))


def means_the_same(query: Expr, flagged: Expr, nested: dict[str, ZBag]) -> None:
    parts = parts_of(flagged)
    back = unshred(parts.shredded)
    check(parts.flat)
    check(back)
    state = shredded_database(nested, catalog_of(flagged), Surrogates())

    assert has_type(evaluate(parts.flat, state), Bag(flat_type(element_type(flagged))))
    assert evaluate(back, state) == evaluate(query, nested)


@given(queries("nrc", SCHEMA.nested), st.data())
def test_query_shredded_at_every_level(query, data):
    """as the paper has it: h^F and h^Γ are flat queries of finite degree, and unshred(h^F, h^Γ) = h"""
    query = normalize(query)
    bodies = list(parts_of(query).bodies())

    assert not any(isinstance(node, SingBag) for body in bodies for node in walk(body))
    assert all(degree(body) < TOP for body in bodies)
    means_the_same(query, query, data.draw(databases(CATALOG, relations(query))))


@given(queries("full", SCHEMA.nested), deep_paths())
def test_no_part_builds_a_shredded_bag(query, deep):
    """every sng_ι of a part is opaque: shredded ones have become labels and definitions"""
    parts = parts_of(infer_flags(normalize(query), deep))

    assert all(node.opaque for body in parts.bodies() for node in walk(body) if isinstance(node, SingBag))


def has_polynomial_parts(query: Expr, deep: frozenset) -> None:
    """``query`` is an NRC⁺ query."""
    for body in parts_of(infer_flags(normalize(query), deep)).bodies():
        before, change = degree(body), degree(delta(body, relations(body)))
        assert before < TOP
        assert change == max(0, before - 1)


@given(queries("nrc", SCHEMA.nested), deep_paths())
def test_parts_of_a_positive_query_are_polynomial(query, deep):
    """h in NRC⁺  ⟹  every part p of h has a finite degree, and deg(δp) = deg(p) − 1"""
    has_polynomial_parts(query, deep)


# changes


def parts_change_by_their_deltas(query: Expr, instance: ShreddedInstance) -> None:
    parts, changed = parts_of(query), relations(query)
    before, after = instance.database, instance.after

    change = evaluate(delta(parts.flat, changed), instance.with_changes)
    assert evaluate(parts.flat, after) == evaluate(parts.flat, before) + change

    for label in live_labels(parts, before) | live_labels(parts, after):
        for dictionary in parts.dictionaries:
            change = defined(changed_dictionary(dictionary, changed), label, instance.with_changes)
            assert defined(dictionary, label, after) == defined(dictionary, label, before) + change


@given(shredded_queries())
def test_parts_change_by_their_deltas(drawn):
    """h^F[R'] = h^F ⊎ δ(h^F)  and  h^Γ[R'](l) = h^Γ(l) ⊎ δ(h^Γ)(l), deep updates included"""
    parts_change_by_their_deltas(*drawn)


@given(shredded_queries())
def test_parts_stand_for_the_nested_result(drawn):
    """unshred(h^F, h^Γ) on the updated shredded input = h on the updated nested input"""
    query, instance = drawn
    catalog = catalog_of(query)
    for state in (instance.database, instance.after):
        assert evaluate(unshred(shred(query)), state) == evaluate(query, nested_database(state, catalog))


def test_the_law_is_not_about_nothing():
    drawn = [(parts_of(query), one, relations(query)) for query, one in draws(shredded_queries(), 200)]

    flat = [evaluate(delta(parts.flat, changed), one.with_changes) for parts, one, changed in drawn]
    inner = [
        any(
            defined(changed_dictionary(dictionary, changed), label, one.with_changes)
            for label in live_labels(parts, one.database) & live_labels(parts, one.after)
            for dictionary in parts.dictionaries
        )
        for parts, one, changed in drawn
    ]

    assert sum(map(bool, flat)) >= 0.2 * len(drawn)
    assert sum(inner) >= 0.05 * len(drawn)
