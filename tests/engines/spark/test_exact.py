"""Sums on Spark: what is not finite comes and goes exactly, the rest to the last places; decimals have all digits."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pytest

import nestling as nl

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("generated_code")]

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


MOMENTS = "sum(x) s, avg(x) a, var_pop(x) v, stddev_pop(x) d"


def wild(rng: Random) -> float:
    """A float of any size that has digits, or one near others."""
    match rng.randrange(4):
        case 0:
            return math.ldexp(rng.uniform(-1, 1), rng.randint(-100, 126))
        case 1:
            return 1e9 + rng.randint(0, 3)
        case 2:
            return rng.choice([1e20, -1e20, 1e15, 1.0, 0.1, -0.1, 5e-324, 1e-30])
    return rng.uniform(-1, 1)


def close(found: float, exact: Fraction, more: Fraction) -> bool:
    return abs(Fraction(found) - exact) <= abs(exact) / 2**45 + more


def check_moments(row: Any, values: list[float], changes: int) -> None:
    n, exact = len(values), [Fraction(value) for value in values]
    total, squares = sum(exact, Fraction(0)), sum((x * x for x in exact), Fraction(0))
    mean, lost = total / n, Fraction(changes, 2**116)
    variance = squares / n - mean * mean
    # Of what digits leave, as much as came and went; in a variance, beside the mean.
    around = lost * (abs(mean) + 1)
    assert close(row.s, total, lost)
    assert close(row.a, mean, lost)
    assert close(row.v, variance, around)
    assert abs(Fraction(row.d) ** 2 - variance) <= variance / 2**45 + around


@pytest.mark.parametrize("driver", [True, False], ids=["driver", "queries"])
def test_moments_of_floats_forget_what_has_gone(opened, request, driver):
    """sums, means and variances of wild floats: those of the rows that are left, whatever has come and gone"""
    if not driver:
        request.getfixturevalue("by_queries")
    rng, db = Random("wild"), opened()
    db.sql("CREATE TABLE t (k INT, x DOUBLE)")
    view = db.view("v", f"SELECT k, {MOMENTS} FROM t GROUP BY k")
    rows: list[tuple[int, float]] = []
    changes = 0
    for _ in range(5):
        gone = [rows.pop(rng.randrange(len(rows))) for _ in range(len(rows) * 3 // 4)]
        came = [(rng.randint(1, 3), wild(rng)) for _ in range(rng.choice([3, 12]))]
        with db.transaction() as change:
            change.delete("t", gone)
            change.insert("t", came)
        rows += came
        changes += len(came) + len(gone)
        groups: dict[int, list[float]] = {}
        for k, x in rows:
            groups.setdefault(k, []).append(x)
        found = {row.k: row for row in view.rows()}
        assert found.keys() == groups.keys()
        for k, values in groups.items():
            check_moments(found[k], values, changes)
    db.verify()


def test_moments_that_cancel(opened):
    db = opened()
    db.sql("CREATE TABLE t (x DOUBLE)")
    view = db.view("v", f"SELECT {MOMENTS}, count(*) n FROM t")
    big = [(1e20,), (1.7e308,), (1.7e308,), (1e200,)]
    db.insert("t", [(1e9,), (1e9 + 1,), (1e9 + 2,), *big])
    assert next(iter(view)).s == math.inf
    db.delete("t", big)

    assert tuple(next(iter(view))) == (3e9 + 3, 1e9 + 1, 2 / 3, math.sqrt(2 / 3), 3)
    db.insert("t", [(math.nan,)])
    assert all(map(math.isnan, tuple(next(iter(view)))[:4]))
    db.delete("t", [(math.nan,)])
    assert next(iter(view)).v == 2 / 3
    db.insert("t", [(1e300,)])
    db.delete("t", [(1e9,), (1e9 + 1,), (1e9 + 2,)])
    assert tuple(next(iter(view)))[:2] == (1e300, 1e300)
