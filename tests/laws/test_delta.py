"""Laws 1 and 2: a delta is the change of its query, on the old state and on the new one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.calculus.evaluate import evaluate
from nestling.calculus.terms import Empty
from nestling.calculus.traverse import relations
from nestling.calculus.typing import check, element_type
from nestling.transform.theory.delta import delta
from nestling.values.update import Update
from tests.draws import draws
from tests.strategies import CATALOG, Instance, bags, databases, instances, queries

FRAGMENTS = ("inc", "nrc", "full")
ALL = frozenset(CATALOG)


def holds_on_the_old_state(instance: Instance) -> None:
    change = evaluate(delta(instance.query, instance.changed), instance.with_changes)

    assert evaluate(instance.query, instance.after) == evaluate(instance.query, instance.database) + change


def holds_on_the_new_state(instance: Instance) -> None:
    negated = {**instance.after, **(-instance.update).as_changes()}
    change = -evaluate(delta(instance.query, instance.changed), negated)

    assert evaluate(instance.query, instance.after) - evaluate(instance.query, instance.database) == change


@pytest.mark.parametrize("fragment", FRAGMENTS)
@given(data=st.data())
def test_change_of_a_query(fragment, data):
    """h[R ⊎ ΔR for R in U] = h ⊎ δ_U(h)"""
    holds_on_the_old_state(data.draw(instances(fragment)))


@pytest.mark.parametrize("construct", ["for", "flatten", "let", "countwise", "fold", "group"])
@given(data=st.data())
def test_change_of_a_construct(construct, data):
    """as above, with each construct outermost"""
    holds_on_the_old_state(data.draw(instances("full", outermost=construct)))


@pytest.mark.parametrize("fragment", FRAGMENTS)
@given(data=st.data())
def test_post_state_rule(fragment, data):
    """h[R'] ⊖ h[R] = ⊖ δ_U(h)[R', ⊖ΔR]"""
    holds_on_the_new_state(data.draw(instances(fragment)))


@given(instances("full"))
def test_a_delta_is_a_query_of_the_same_type(instance):
    """h : Bag(A)  ⟹  δ(h) : Bag(A)"""
    change = delta(instance.query, instance.changed)

    check(change)
    assert element_type(change) == element_type(instance.query)


@given(queries("full"))
def test_what_does_not_change_has_no_change(query):
    """δ_U(h) = ∅ where h reads no relation of U"""
    assert isinstance(delta(query, ALL - relations(query)), Empty)


@given(queries("inc"), databases(), st.data())
def test_delta_of_a_delta(query, database, data):
    """δᵏ(h)[R ⊎ Δ⁽ᵏ⁺¹⁾R] = δᵏ(h) ⊎ δᵏ⁺¹(h), the changes of each order drawn apart"""
    state = dict(database)
    for order in (1, 2, 3):
        changes = data.draw(any_changes(relations(query)))
        state |= changes.as_changes(order)
        next_query = delta(query, ALL, order)
        check(next_query)

        assert evaluate(query, changes.apply(state)) == evaluate(query, state) + evaluate(next_query, state)
        query = next_query


@given(instances("full", fuel=3), st.data())
def test_delta_of_a_delta_that_is_not_polynomial(instance, data):
    """δ(h)[R ⊎ Δ²R] = δ(h) ⊎ δ²(h), also with count-wise operators, folds and inner bags"""
    first = delta(instance.query, instance.changed)
    second = delta(first, instance.changed, 2)
    check(second)
    changes = data.draw(any_changes(instance.changed))
    state = {**instance.with_changes, **changes.as_changes(2)}

    assert evaluate(first, changes.apply(state)) == evaluate(first, state) + evaluate(second, state)


def any_changes(names: frozenset[str]) -> st.SearchStrategy[Update]:
    changes = {name: bags(CATALOG[name].element, signed=True) for name in sorted(names)}
    return st.fixed_dictionaries(changes).map(Update)


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_the_law_is_not_about_nothing(fragment):
    drawn = draws(instances(fragment), 200)

    changes = [evaluate(delta(one.query, one.changed), one.with_changes) for one in drawn]

    assert sum(map(bool, changes)) >= 0.2 * len(drawn)
