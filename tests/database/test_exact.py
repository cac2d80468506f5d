"""Sums are those of the rows that are left: of floats to the last bit, of decimals to the last digit."""

import decimal
import math
import threading
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from nestling.values.exact import is_same

HARD = [
    math.inf,
    -math.inf,
    math.nan,
    1.7976931348623157e308,
    -1.7976931348623157e308,
    5e-324,
    1e16,
    1.0,
    0.1,
    -0.0,
]
FLOATS = st.sampled_from(HARD) | st.floats()
LONG = [Decimal("9" * 36 + ".99"), Decimal("-0.01"), Decimal("1e28"), Decimal("0.1"), Decimal("1.10")]
DECIMALS = st.sampled_from(LONG) | st.decimals(-(10**30), 10**30, places=2)


def exact_sum(values: list[float]) -> float:
    """What ``math.fsum`` says, and infinite where it raises."""
    if any(map(math.isnan, values)) or {math.inf, -math.inf} <= {*values}:
        return math.nan
    if infinite := [value for value in values if math.isinf(value)]:
        return infinite[0]
    total = sum(map(Fraction, values))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def exact_mean(values: list[float]) -> float:
    total = exact_sum(values)
    if math.isfinite(total) or all(map(math.isfinite, values)):
        return float(sum(map(Fraction, values)) / len(values))
    return total


def exact_variance(values: list[float]) -> float:
    if not all(map(math.isfinite, values)):
        return math.nan
    mean = sum(map(Fraction, values)) / len(values)
    try:
        return float(sum((Fraction(value) - mean) ** 2 for value in values) / len(values))
    except OverflowError:
        return math.inf


def by_key(rows: list[tuple[int, Any]], of: Callable[[list[Any]], Any]) -> dict[int, Any]:
    keys = {key for key, _ in rows}
    return {key: of([value for other, value in rows if other == key]) for key in keys}


VIEWS = {
    "by_k": "SELECT k, sum(x) s, avg(x) a, count(*) n, sum(x * x) p, var_pop(x) v FROM t GROUP BY k",
    "joined": "SELECT u.k, sum(t.x) s FROM t JOIN u ON t.k = u.k GROUP BY u.k",
    "above": "SELECT t.k, sum(t.x) s FROM t WHERE (SELECT sum(v.x) FROM t v) > 0.5 GROUP BY t.k",
}


@cache
def emptied(store: str, refresh: str) -> nl.Database:
    """One for all examples, each of which leaves it empty: what came has gone."""
    return database(None, store, refresh)


def database(path: Any, store: str, refresh: str) -> nl.Database:
    db = nl.Database(path) if path else nl.Database()
    db.sql("CREATE TABLE t (k INT, x DOUBLE)")
    db.sql("CREATE TABLE u (k INT)")
    for name, text in VIEWS.items():
        db.view(name, text, store=store, refresh=refresh)
    return db


def check(db: nl.Database, rows: list[tuple[int, float]], others: list[int]) -> None:
    read = {name: {row[0]: row[1:] for row in db.views[name]} for name in VIEWS}
    wanted = by_key(
        rows,
        lambda xs: (
            exact_sum(xs),
            exact_mean(xs),
            len(xs),
            exact_sum([x * x for x in xs]),
            exact_variance(xs),
        ),
    )
    assert read["by_k"].keys() == wanted.keys()
    for key, row in read["by_k"].items():
        assert all(map(is_same, row, wanted[key])), (key, row, wanted[key])
    pairs = [(key, x) for key, x in rows for other in others if key == other]
    sums = by_key(pairs, exact_sum)
    assert read["joined"].keys() == sums.keys()
    assert all(is_same(read["joined"][key][0], sums[key]) for key in sums)
    shown = by_key(rows, exact_sum) if rows and exact_sum([x for _, x in rows]) > 0.5 else {}
    assert read["above"].keys() == shown.keys()
    assert all(is_same(read["above"][key][0], shown[key]) for key in shown)


CHANGES = st.lists(st.tuples(st.integers(0, 2), FLOATS, st.integers(0, 3)), max_size=8)


@pytest.mark.parametrize(
    ("store", "refresh"), [("auto", "eager"), ("full", "eager"), ("counts", "hybrid"), ("auto", "lazy")]
)
@given(changes=CHANGES, others=st.lists(st.integers(0, 2), max_size=4))
def test_floats_that_came_and_went(store, refresh, changes, others):
    """sum, avg, products and variances of floats = those of exact numbers, rounded once; after every change"""
    db = emptied(store, refresh)
    db.insert("u", [(key,) for key in others])
    rows: list[tuple[int, float]] = []
    try:
        for key, value, deleted in changes:
            db.insert("t", [(key, value)])
            rows.append((key, value))
            if deleted < len(rows):
                db.delete("t", [rows.pop(deleted)])
            check(db, rows, others)
        db.verify(maps=True)
    finally:
        db.delete("t", rows)
        db.delete("u", [(key,) for key in others])
    check(db, [], [])


@pytest.mark.parametrize(
    "values", [HARD, HARD[3:], [1e16, 1.0, math.nan, 0.1], [math.inf, 1.0]], ids=range(4)
)
def test_they_survive_a_file(tmp_path, values):
    path = tmp_path / "db.nestling"
    rows = [(number % 2, value) for number, value in enumerate(values)]
    with database(path, "auto", "eager") as db:
        db.insert("t", rows)
    with nl.Database(path) as db:
        check(db, rows, [])
        for row in rows:
            db.delete("t", [row])
        check(db, [], [])


@cache
def nested() -> nl.Database:
    """A comprehension: a sum of floats beside a bag of products."""

    def sums(T):
        return [(x.k, sum(y.x for y in T if y.k == x.k), [z.x * z.x for z in T if z.k == x.k]) for x in T]

    db = nl.Database()
    db.table("T", {"k": int, "x": float})
    db.view("nested", sums)
    return db


@given(changes=CHANGES)
def test_nested_sums(changes):
    db, rows = nested(), list[tuple[int, float]]()
    for key, value, deleted in changes:
        db.insert("T", [(key, value)])
        rows.append((key, value))
        if deleted < len(rows):
            db.delete("T", [rows.pop(deleted)])
        sums = by_key(rows, exact_sum)
        read = [(row[0], row[1]) for row in db.views["nested"]]
        assert len(read) == len(rows)
        assert all(is_same(total, sums[key]) for key, total in read)
    db.verify(maps=True)
    db.delete("T", rows)


@cache
def of_decimals() -> nl.Database:
    db = nl.Database()
    db.table("D", {"k": int, "x": Decimal})
    db.view("v", "SELECT k, sum(x) s, sum(x * x) p, avg(x) a FROM D GROUP BY k")
    return db


@given(changes=st.lists(st.tuples(st.integers(0, 2), DECIMALS, st.integers(0, 3)), max_size=8))
def test_decimals_have_all_their_digits(changes):
    """sum of decimals = that of exact numbers, whatever the thread's context"""
    db, rows = of_decimals(), list[tuple[int, Decimal]]()
    hard = decimal.Context(prec=3, rounding=decimal.ROUND_UP, Emax=40, Emin=-2, traps=[])
    with decimal.localcontext(hard):
        for key, value, deleted in changes:
            db.insert("D", [(key, value)])
            rows.append((key, value))
            if deleted < len(rows):
                db.delete("D", [rows.pop(deleted)])
            totals = by_key(rows, lambda xs: (sum(map(Fraction, xs)), sum(Fraction(x) ** 2 for x in xs)))
            read = {row.k: (Fraction(row.s), Fraction(row.p)) for row in db.views["v"]}
            assert read == totals
        db.verify(maps=True)
        db.delete("D", rows)
        assert decimal.getcontext().prec == 3


def test_of_the_report():
    db = nl.Database()
    db.table("D", {"x": Decimal})
    db.view("s", "SELECT sum(x) s FROM D")
    db.insert("D", [(Decimal("1e28"),), (Decimal("0.01"),)])
    db.delete("D", [(Decimal("1e28"),)])
    assert [row.s for row in db.views["s"]] == [Decimal("0.01")]

    def in_another_thread() -> None:
        decimal.getcontext().prec = 6
        db.insert("D", [(Decimal("1234567.89"),)])

    thread = threading.Thread(target=in_another_thread)
    thread.start()
    thread.join()
    assert [row.s for row in db.views["s"]] == [Decimal("1234567.90")]


@pytest.mark.parametrize(
    "value", [Decimal("NaN"), Decimal("Infinity"), Decimal("1e6000"), Decimal("1e-6000")]
)
def test_a_decimal_is_a_number_that_can_be_summed(value):
    db = nl.Database()
    db.table("D", {"x": Decimal})
    with pytest.raises(nl.ChangeError, match="column 'x' takes decimal"):
        db.insert("D", [(value,)])


LARGE = 10**400


def thirds(T):
    return [x.n / 3 for x in T]


def weighted(T):
    return [x.n * 0.5 for x in T]


def chosen(T):
    return [x.k for x in T if x.n + 0.5 > 0]


def converted(T):
    return [float(x.n) for x in T]


@pytest.mark.parametrize("view", [thirds, weighted, chosen, converted])
@pytest.mark.parametrize("store", ["auto", "full", "counts"])
@pytest.mark.parametrize("refresh", ["eager", "hybrid"])
def test_what_is_too_large_is_refused_at_the_change(view, store, refresh):
    db = nl.Database()
    db.table("T", {"k": int, "n": int})
    db.view("v", view, store=store, refresh=refresh)
    db.insert("T", [(1, 5)])
    before = list(db.views["v"])
    with pytest.raises(nl.ChangeError, match=r"computed: .* has no value"):
        db.insert("T", [(2, LARGE)])
    assert list(db.views["v"]) == before
    db.insert("T", [(2, 7)])
    db.verify(maps=True)


@pytest.mark.parametrize("aggregate", ["avg", "var_pop", "stddev_pop"])
@pytest.mark.parametrize("refresh", ["eager", "hybrid"])
def test_a_mean_too_large_is_refused_at_the_change(aggregate, refresh):
    db = nl.Database()
    db.table("T", {"k": int, "n": int})
    db.view("v", f"SELECT k, {aggregate}(n) a FROM T GROUP BY k", refresh=refresh)
    db.insert("T", [(1, 5)])
    with pytest.raises(nl.ChangeError):
        db.insert("T", [(1, LARGE)])
    assert len(list(db.views["v"])) == 1
    db.insert("T", [(1, 7)])
    db.verify(maps=True)


def differences(T):
    return [(x.k, x.x - x.y) for x in T]


@pytest.mark.parametrize("store", ["auto", "full"])
def test_a_computed_nan_goes_as_it_came(store):
    """inf − inf is a new object each time; as part of a row it must be found again."""
    db = nl.Database()
    db.table("T", {"k": int, "x": float, "y": float})
    db.view("v", differences, store=store)
    db.insert("T", [(1, math.inf, math.inf), (1, -math.inf, -math.inf)])
    assert [row[0] for row in db.views["v"]] == [1, 1]
    db.verify(maps=True)
    db.delete("T", [(1, math.inf, math.inf)])
    db.delete("T", [(1, -math.inf, -math.inf)])
    assert not list(db.views["v"])
    db.verify(maps=True)


SAME = {
    "group": ("SELECT x, count(*) AS n FROM t GROUP BY x", "sql", 2),
    "join": ("SELECT a.k, b.k AS j FROM t a JOIN t b ON a.x = b.x", "sql", 5),
    "itself": ("SELECT k FROM t WHERE x = x", "sql", 3),
    "another": ("SELECT k FROM t WHERE x <> x", "sql", 0),
    "in": ("SELECT k FROM t WHERE x IN (SELECT x FROM t WHERE k < 3)", "sql", 2),
    "python": ("[(r.k, s.k) for r in t for s in t if r.x == s.x]", "python", 5),
    "not": ("[r.k for r in t if not r.x == r.x or r.x != r.x]", "python", 0),
    "sets": ("[(x, len([1 for r in t if r.x == x])) for x in {r.x for r in t}]", "python", 2),
}


@pytest.mark.parametrize("store", ["auto", "full", "counts", "none"])
@pytest.mark.parametrize("name", SAME)
def test_nan_equals_itself(name, store):
    """In a group, a join, a bag and a comparison alike, as in Spark's SQL; Python alone has it otherwise."""
    query, language, rows = SAME[name]
    db = nl.Database()
    db.table("t", {"k": int, "x": float})
    view = db.view("v", query, language=language, store=store)
    db.insert("t", [(1, math.nan), (2, float("nan")), (3, 1.0)])
    assert len(view) == rows
    db.verify(maps=True)
    db.delete("t", [(2, math.nan)])
    db.verify(maps=True)


@pytest.mark.parametrize("store", ["auto", "none"])
def test_a_lazy_view_without_a_value_that_somebody_listens_to_stops_nobody(tmp_path, store):
    """The change is in the file before they are told: nothing may fail then."""
    with nl.Database(tmp_path / "x.nest") as db:
        db.table("t", {"n": int})
        view = db.view("v", "[sum([r.n for r in t]) * 1.5]", language="python", refresh="lazy", store=store)
        view.subscribe(lambda change: change.inserted)
        db.insert("t", [(1,), (10**400,)])
        with pytest.raises(nl.NestlingError, match="v cannot be computed"):
            view.rows()
        db.delete("t", [(10**400,)])
        assert view.rows() == [1.5]
    with nl.Database(tmp_path / "x.nest") as db:
        assert db.views["v"].rows() == [1.5]
