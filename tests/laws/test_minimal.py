"""Law 10: a change is as small as it can be."""

from hypothesis import given

from nestling.calculus.countwise import apply_countwise
from nestling.calculus.evaluate import evaluate
from nestling.transform.theory.delta import delta
from nestling.values.bag import EMPTY
from tests.draws import draws
from tests.strategies import Instance, instances


def is_strongly_minimal(instance: Instance) -> None:
    """The query has no ⊖ and its relations stay non-negative."""
    old = evaluate(instance.query, instance.database)
    change = evaluate(delta(instance.query, instance.changed), instance.with_changes)

    assert apply_countwise("min", [change.negative(), change.positive()]) == EMPTY
    assert apply_countwise("monus", [change.negative(), old]) == EMPTY


@given(instances("full", good=True, negation=False))
def test_a_consolidated_delta_is_strongly_minimal(instance):
    """∇h min △h = ∅  and  ∇h ∸ h = ∅"""
    is_strongly_minimal(instance)


def test_the_law_is_not_about_nothing():
    drawn = draws(instances("full", good=True, negation=False), 200)

    changes = [evaluate(delta(one.query, one.changed), one.with_changes) for one in drawn]

    assert sum(bool(change.negative()) for change in changes) >= 0.1 * len(drawn)
    assert sum(bool(change.positive()) for change in changes) >= 0.1 * len(drawn)
