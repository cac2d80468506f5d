"""What a database answers is what the reference says: parts that depend on no row are evaluated once."""

from hypothesis import given

from nestling.calculus.evaluate import evaluate
from nestling.calculus.parse import parse
from nestling.calculus.types import INT, Bag
from nestling.database.answer import _shared, answer
from nestling.transform.normalize import normalize
from tests.strategies import instances


@given(instance=instances("full"))
def test_an_answer_is_the_meaning(instance):
    """answer(e) = evaluate(e)"""
    query = normalize(instance.query)  # ``hoist`` asks for binders that are unique

    assert answer(query, instance.database) == evaluate(query, instance.database)


def test_what_depends_on_no_row_is_a_part_and_what_does_is_not():
    types = {name: Bag(INT) for name in ("R", "S")}
    query = parse(
        "for x in R union for y in (for z in S where z > 1 union sng(z)) where y == x union sng(y)", types
    )

    _, parts = _shared(query)

    assert len(parts) == 1
