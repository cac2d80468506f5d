"""Sums on Spark: what is not finite comes and goes exactly, the rest to the last places; decimals have all digits."""

import decimal
import math
from decimal import Decimal

import pytest

import nestling as nl

pytestmark = pytest.mark.xdist_group("spark")

INF, NAN = math.inf, math.nan
#: What comes, what goes, and the sum and mean that are left.
CHANGES = [
    ([(1, 1.5), (1, 2.0)], [], 3.5, 1.75),
    ([(1, INF)], [], INF, INF),
    ([(1, -INF)], [], NAN, NAN),
    ([], [(1, INF)], -INF, -INF),
    ([(1, NAN)], [(1, -INF)], NAN, NAN),
    ([], [(1, NAN)], 3.5, 1.75),
]


@pytest.mark.parametrize("driver", [True, False], ids=["driver", "queries"])
def test_what_is_not_finite_goes_as_it_came(opened, request, driver):
    if not driver:
        request.getfixturevalue("by_queries")
    db = opened()
    db.sql("CREATE TABLE t (k INT, x DOUBLE)")
    db.view("v", "SELECT k, sum(x) s, avg(x) a FROM t GROUP BY k")
    for came, went, total, mean in CHANGES:
        db.apply({"t": dict.fromkeys(came, 1) | dict.fromkeys(went, -1)})
        ((_, s, a),) = (tuple(row) for row in db.views["v"])
        assert [repr(float(s)), repr(float(a))] == [repr(total), repr(mean)]
        db.verify()


def test_decimals_follow_no_context(opened):
    db = opened()
    db.sql("CREATE TABLE t (k INT, x DECIMAL(38, 2))")
    db.view("v", "SELECT k, sum(x) s FROM t GROUP BY k")
    mine = nl.Database()
    mine.sql("CREATE TABLE t (k INT, x DECIMAL(38, 2))")
    mine.view("v", "SELECT k, sum(x) s FROM t GROUP BY k")
    rows = [(1, Decimal("1234567890123456.78")), (1, Decimal("0.01")), (1, Decimal("98765432109876543.21"))]
    with decimal.localcontext(decimal.Context(prec=5)):
        for each in (db, mine):
            each.insert("t", rows)
            each.delete("t", rows[:1])
            each.verify()
        assert [tuple(row) for row in db.views["v"]] == [tuple(row) for row in mine.views["v"]]
    assert [row.s for row in mine.views["v"]] == [Decimal("98765432109876543.22")]
