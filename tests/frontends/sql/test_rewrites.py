"""Rewriting what SQL was translated to changes the form and never the meaning."""

import pytest
from hypothesis import given

from nestling.calculus.evaluate import evaluate
from nestling.calculus.parse import parse
from nestling.calculus.types import INT, Bag, record
from nestling.calculus.typing import check, element_type
from nestling.frontend.sql.apart import apart
from nestling.frontend.sql.early import early
from nestling.transform.normalize import normalize
from nestling.values.bag import ZBag
from tests.strategies import instances


@pytest.mark.parametrize("rewriting", [early, apart, lambda expr: apart(early(expr))])
@given(instance=instances("full"))
def test_meaning_and_type_stay(rewriting, instance):
    """evaluate(f(e)) = evaluate(e) and f(e) : type_of(e)"""
    query = normalize(instance.query)
    rewritten = rewriting(query)
    check(rewritten)

    assert element_type(rewritten) == element_type(query)
    assert evaluate(rewritten, instance.database) == evaluate(query, instance.database)


CATALOG = {name: Bag(record(a=INT, b=INT)) for name in "RST"}
STATE = {
    "R": ZBag.of((1, 1), (1, 2), (2, 2)),
    "S": ZBag.of((1, 1), (1, 1), (1, 3), (2, 1)),
    "T": ZBag.of((2, 0)),
}
COUNTS = [
    "for r in R union fold n := count(for s in S where s.a == r.a union for _ in [s.b != r.b] union sng(s)) in"
    " for _ in [n > 0] union sng⟨r: r, n: n⟩",
    "for r in R union for _ in exists(for s in S where s.a != r.a union for _ in [s.b != r.b] union sng⟨⟩)"
    " union sng(r)",
    "for r in R union fold n := sum(for t in (for s in S where s.a != r.a union sng(s.b)) union sng(t)) in sng⟨n: n⟩",
    "for r in R union fold n := count(for _ in [r.b > 1] union S) in sng⟨r: r, n: n⟩",
    "for r in R union fold n := count(for _ in [r.b + 1 > 2] union S) in sng⟨r: r, n: n⟩",
]


@pytest.mark.parametrize("text", COUNTS)
def test_counts_of_what_differs(text):
    query = parse(text, CATALOG)
    rewritten = apart(early(query))
    check(rewritten)

    assert rewritten != query
    assert evaluate(rewritten, STATE) == evaluate(query, STATE)
