"""Law 13: an update and then its negation leave everything as it was."""

from hypothesis import given
from hypothesis import strategies as st

from nestling.calculus.evaluate import evaluate
from nestling.calculus.terms import Expr
from nestling.calculus.traverse import relations
from nestling.transform.theory.delta import delta
from nestling.values.bag import EMPTY
from nestling.values.update import Update
from tests.laws.shredding import changed_dictionary, defined, live_labels, parts_of, shredded_queries
from tests.strategies import Instance, ShreddedInstance, instances, updates


def undone(update: Update) -> dict:
    return (-update).as_changes()


def comes_back(instance: Instance) -> None:
    change = delta(instance.query, instance.changed)
    there = evaluate(change, instance.with_changes)
    back = evaluate(change, {**instance.after, **undone(instance.update)})
    old = evaluate(instance.query, instance.database)

    assert old + there + back == old


@given(instances("full"))
def test_a_result_comes_back(instance):
    """h ⊎ δh[R, ΔR] ⊎ δh[R', ⊖ΔR] = h"""
    comes_back(instance)


@given(instances("full"), st.data())
def test_updates_are_a_group(instance, data):
    """apply(apply(db, u), ⊖u) = db  and  apply(apply(db, u), w) = apply(db, u ⊎ w)"""
    one, database = instance.update, instance.database
    two = data.draw(updates(database))

    assert (-one).apply(one.apply(database)) == database
    assert two.apply(one.apply(database)) == (one + two).apply(database)


def parts_come_back(query: Expr, instance: ShreddedInstance) -> None:
    parts, changed = parts_of(query), relations(query)
    there, back = instance.with_changes, {**instance.after, **undone(instance.update)}

    change = delta(parts.flat, changed)
    assert evaluate(change, there) + evaluate(change, back) == EMPTY

    for dictionary in parts.dictionaries:
        of_dictionary = changed_dictionary(dictionary, changed)
        for label in live_labels(parts, instance.database) | live_labels(parts, instance.after):
            assert defined(of_dictionary, label, there) + defined(of_dictionary, label, back) == EMPTY


@given(shredded_queries())
def test_shredded_parts_come_back(drawn):
    """h^F and every h^Γ(l): their two changes add up to nothing"""
    parts_come_back(*drawn)
