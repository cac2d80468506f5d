"""Variables of a query are not caught by those of a row, an event or a count, whatever they are called."""

import pytest

import nestling as nl


def chain(R):
    """The row's own columns come back in the partner's place: a.y is b.x."""
    return [a.x for a in R for b in R if a.y == b.x]


def extreme(R):
    """What an aggregate computes is compared with, after its change as well."""
    return [sum(a.y for a in R if max(b.y for b in R if b.x == a.x) == a.y)]


def two_aggregates(R, S):
    """Two aggregates compared with each other; one is called as the compiler calls counts."""
    return [sum(a.y for a in R if sum(b.y for b in S if b.x == a.x) == len([b for b in S if b.x == a.x]))]


@pytest.mark.parametrize("view", [chain, extreme, two_aggregates])
def test_it_answers_what_its_query_says(view):
    db = nl.Database()
    for name in ("R", "S"):
        db.table(name, {"x": int, "y": int})
    kept = db.view(view)
    for row in ((1, 2), (2, 3), (2, 2), (3, 2), (1, 1)):
        for name in ("R", "S"):
            db.insert(name, [row])
            kept.verify()
    db.delete("R", [(2, 2)])
    kept.verify()
