"""What the driver does by itself: it finds what is stored, counts what it may read, and leaves the rest to Spark."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

import nestling as nl
from nestling.calculus.terms import Call, Var
from nestling.calculus.types import FLOAT, INT, STR, Scalar, nullable
from nestling.engine.spark import limits
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.driver.exact import is_exact
from nestling.engine.spark.driver.files import Files
from nestling.engine.spark.driver.lookup import Budget, TooMuchError, entries, merged
from nestling.engine.spark.state import SourceRows, TempView
from nestling.engine.spark.types import arrow_table, ddl
from nestling.program.statements import Assign, Find, Statement
from nestling.storage.lake.local import LocalStore
from tests.engines.spark.test_cost import Counters

DECIMAL = Scalar("decimal")
PAIRS = Layout((INT, nullable(STR)), (INT, INT), positive=False)
SALES = (
    "[(r, sum(s.qty for s in sales for c in customers if c.cid == s.cust and c.region == r))"
    " for r in {c.region for c in customers}]"
)


def stored(folder: Path, rows: list[tuple[Any, ...]]) -> SourceRows:
    """Two files sorted by key, one that is not, and what was added since."""
    parts = [
        sorted(rows[0::4], key=lambda row: row[0]),
        sorted(rows[1::4], key=lambda row: row[0]),
        rows[2::4],
    ]
    for number, part in enumerate(parts):
        pq.write_table(arrow_table(PAIRS.columns, part), folder / f"{number}.parquet")
    files = TempView("", sum(map(len, parts)), tuple(f"{number}.parquet" for number in range(3)))
    return SourceRows((files,), arrow_table(PAIRS.columns, rows[3::4]))


@pytest.mark.parametrize("positions", [(), (0,), (1,), (0, 1)])
@pytest.mark.parametrize("many", [1, 400])
def test_entries_are_found_wherever_they_are(tmp_path, positions, many):
    random = Random(repr((positions, many)))
    rows = [
        (random.randrange(2000), random.choice([None, "a", "b"]), random.choice([-1, 1]), random.randrange(3))
        for _ in range(8000)
    ]
    wanted = {
        tuple([random.randrange(2100), random.choice([None, "a", "c"])][p] for p in positions)
        for _ in range(many)
    }
    found = entries(
        Files(LocalStore(tmp_path)), stored(tmp_path, rows), PAIRS, positions, wanted, Budget(10**6, 10**6)
    )

    whole = merged(rows, PAIRS)
    expected: dict[Any, list[Any]] = {}
    for row in whole:
        expected.setdefault(tuple(row[p] for p in positions), []).append(row)
    assert found.keys() == wanted & expected.keys()
    for key, group in found.items():
        assert sorted(group, key=repr) == sorted(expected[key], key=repr)


@pytest.mark.parametrize("budget", [Budget(10**6, 50), Budget(50, 10**6)], ids=["found", "read"])
def test_more_than_may_be_gone_through(tmp_path, budget):
    with pytest.raises(TooMuchError):
        entries(
            Files(LocalStore(tmp_path)),
            stored(tmp_path, [(n, "a", 1, 1) for n in range(100)]),
            PAIRS,
            (),
            {()},
            budget,
        )


def test_what_is_kept_has_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_CACHED_BYTES", 100_000)
    files = Files(LocalStore(tmp_path))
    for number in range(5):
        table = arrow_table(PAIRS.columns, [(n, "a", 1, 1) for n in range(1500)])
        pq.write_table(table, tmp_path / f"{number}.parquet")
        (group,) = files.groups(f"{number}.parquet")
        with files.reading(PAIRS) as read:
            assert read(group).table.num_rows == group.rows == 1500
    assert 0 < sum(rows.table.nbytes for rows in files._kept.values()) <= 100_000


def test_a_group_is_read_where_it_may_hold_a_key(tmp_path):
    """what lies between no two ends costs nothing"""
    table = arrow_table(PAIRS.columns, [(n, "a", 1, 1) for n in range(1000)])
    pq.write_table(table, tmp_path / "0", row_group_size=100)
    where, files = SourceRows((TempView("", 1000, ("0",)),)), Files(LocalStore(tmp_path))
    for keys, values in (({250, 260}, 100 * 4), ({5000, -1}, 0), ({99, 100}, 200 * 4), ({99, 100}, 0)):
        budget = Budget(10**6, 10**6)
        found = entries(files, where, PAIRS, (0,), {(key,) for key in keys}, budget)
        assert {key for (key,) in found} == {key for key in keys if 0 <= key < 1000}
        assert 10**6 - budget.values == values


def test_what_was_found_in_files_is_not_read_again(tmp_path):
    """a key that was not found neither; what was added since is seen, and no row is counted twice"""
    pairs = [(x, y, 1, 1) for x in range(3) for y in "ab"]
    pq.write_table(arrow_table(PAIRS.columns, pairs), tmp_path / "0")
    files, parts = Files(LocalStore(tmp_path)), (TempView("", 6, ("0",)),)
    asked = [{(0, "a"), (7, "a")}, {(0, "a"), (1, "a"), (0, "b"), (7, "a")}]
    first = entries(files, SourceRows(parts), PAIRS, (0, 1), asked[0], Budget())
    assert first == {(0, "a"): [(0, "a", 1, 1)]}
    more = SourceRows(parts, arrow_table(PAIRS.columns, [(0, "a", 2, 5), (7, "a", 1, 1)]))
    for _ in range(2):
        found = entries(files, more, PAIRS, (0, 1), asked[1], Budget())
        assert found == {
            (0, "a"): [(0, "a", 3, 6)],
            (0, "b"): [(0, "b", 1, 1)],
            (1, "a"): [(1, "a", 1, 1)],
            (7, "a"): [(7, "a", 1, 1)],
        }
    files._kept.clear()
    assert entries(files, more, PAIRS, (0, 1), asked[1], Budget()) == found
    assert files.reads == 1


def test_what_is_remembered_has_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_REMEMBERED_ROWS", 10)
    pq.write_table(arrow_table(PAIRS.columns, [(n, "a", 1, 1) for n in range(100)]), tmp_path / "0")
    files, where = Files(LocalStore(tmp_path)), SourceRows((TempView("", 100, ("0",)),))
    for n in range(100):
        assert entries(files, where, PAIRS, (0,), {(n,)}, Budget()) == {(n,): [(n, "a", 1, 1)]}
        assert sum(len(found) for found in files._found.values()) <= 10


# -- statements: what they mean is tested in ``tests/engines/test_writers.py``

a, b, n, m, v = Var("a", INT), Var("b", nullable(STR)), Var("n", INT), Var("m", INT), Var("v", INT)


@pytest.mark.parametrize(
    "term",
    [
        Call("/", (a, a)),
        Call("upper", (b,)),
        Call("*", (Var("d", DECIMAL), Var("d", DECIMAL))),
        Call(">", (Var("f", FLOAT), a)),
    ],
    ids=["quotient", "text", "decimals", "mixed"],
)
def test_what_is_sparks_alone(term):
    """what the driver might compute otherwise than Spark did when the entry was added"""
    layouts = {"ΔR": Layout((INT, nullable(STR), DECIMAL, FLOAT))}
    find = Find("ΔR", (a, b, Var("d", DECIMAL), Var("f", FLOAT)), (), (n,))
    assert is_exact(Statement("T", (a,), (n,), (find,)), layouts, Layout((INT,)))
    assert not is_exact(Statement("T", (a,), (n,), (find, Assign(v, term))), layouts, Layout((INT,)))


# -- with Spark


@pytest.fixture
def shop(spark: Any, tmp_path: Path) -> Any:
    db = nl.Database(spark=spark, path=tmp_path / "lake")
    db.table("customers", {"cid": int, "region": str}, key="cid")
    db.table("sales", {"id": int, "cust": int, "qty": int}, key="id")
    db.view("by_region", SALES, language="python")
    db.insert("customers", [(i, f"r{i % 3}") for i in range(20)])
    db.insert("sales", [(i, i % 20, i % 7) for i in range(200)])
    yield db
    db.close()


@pytest.mark.xdist_group("spark")
def test_a_small_change_is_no_job(spark, shop):
    """checked, applied, stored, read"""
    counters = Counters(spark)
    shop.insert("sales", [(1000, 3, 5)])
    shop.delete("sales", key=7)
    assert len(shop.views["by_region"].rows()) == 3

    assert counters.since() == (0, 0)
    shop.verify()


#: One for every kind of step that a trigger or a reading takes.
LITTLE = {
    "the first of each": "[(c.region, sorted([(s.qty, s.id) for s in sales for d in customers"
    " if d.cid == s.cust and d.region == c.region])[:2]) for c in customers]",
    "how many sold less": "[(s.id, len([1 for t in sales if t.cust == s.cust and t.qty < s.qty])) for s in sales]",
    "who sold less than half": "[s.id for s in sales if 2 * sum(t.qty for t in sales if t.qty < s.qty) < 300]",
    "how much the best sold": "SELECT sum(s.qty) AS n FROM sales s"
    " WHERE 4 * (SELECT sum(t.qty) FROM sales t WHERE t.qty > s.qty) < (SELECT sum(u.qty) FROM sales u)",
    "sold on most days": "[c.cid for c in customers if len([1 for s in sales if s.cust == c.cid]) > 9]",
}


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("name", LITTLE)
@pytest.mark.parametrize("store", ["auto", "full"])
def test_every_step_is_the_drivers(spark, shop, name, store):
    """what the embedded engine does by itself is no job here either"""
    language = "sql" if LITTLE[name].startswith("SELECT") else "python"
    view = shop.view("v", LITTLE[name], language=language, store=store)
    counters = Counters(spark)
    shop.insert("sales", [(1000, 3, 5), (1001, 3, 6)])
    shop.delete("sales", key=7)
    shop.insert("sales", [(1002, 4, 0)])
    view.rows()

    assert counters.since() == (0, 0)
    shop.verify(maps=True)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("limit", ["MAX_DRIVER_VALUES", "MAX_DRIVER_ROWS", "MAX_LOOKUP_ENTRIES"])
def test_what_is_not_little_is_sparks(spark, shop, monkeypatch, limit):
    before = shop.views["by_region"].explain()
    monkeypatch.setattr(limits, limit, 3)
    counters = Counters(spark)
    shop.insert("sales", [(1000 + i, i, 5) for i in range(9)])

    assert counters.since()[0] > 0
    shop.verify()
    assert "by the driver, without a job: 0 values are gone through" in before


OF_EVERY_TYPE = {
    "id": int, "g": str, "p": Decimal, "f": float, "t": datetime, "d": date, "b": bytes, "w": timedelta,
    "items": [{"a": int, "c": str}],
}  # fmt: skip
VIEWS = {
    "top": "[(g, sorted([(r.p, r.id) for r in R if r.g == g])[:2]) for g in {r.g for r in R}]",
    "sums": "[(g, sum(r.p for r in R if r.g == g), sum(r.f for r in R if r.g == g)) for g in {r.g for r in R}]",
    "ends": "[(g, max([r.t for r in R if r.g == g]), min([r.b for r in R if r.g == g])) for g in {r.g for r in R}]",
    "flat": "[(r.id, i.c, r.d, r.w) for r in R for i in r.items if i.a > 1]",
    "rank": "[(r.id, len([1 for s in R if s.g == r.g and s.p < r.p])) for r in R]",
}


def of_every_type(random: Random, key: int) -> dict[str, Any]:
    return {
        "id": key, "g": f"g{random.randrange(3)}", "p": Decimal(random.randrange(1000)) / 100,
        "f": random.randrange(8) / 4, "t": datetime(2020, 1, 1 + random.randrange(20), 3),
        "d": date(1500, 1, 1 + random.randrange(20)), "b": b"x" * random.randrange(3),
        "w": timedelta(seconds=random.randrange(5)),
        "items": [{"a": random.randrange(4), "c": "z"} for _ in range(random.randrange(3))],
    }  # fmt: skip


def row_of_every_type(random: Random, key: int) -> tuple[Any, ...]:
    return (
        *(v for name, v in of_every_type(random, key).items() if name != "items"),
        None,
        random.choice([-1, 1]),
    )


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("position", range(9))
def test_what_spark_wrote_is_found(spark, tmp_path, position):
    """by a column of every type but floats"""
    types = ("int", "str", "decimal", "float", "datetime", "date", "bytes", "timedelta")
    layout = Layout((*map(Scalar, types), nullable(INT)))
    random = Random(position)
    rows = [row_of_every_type(random, key) for key in range(200)]
    table = arrow_table(layout.columns, rows)
    frame = spark.createDataFrame(table, schema=ddl(table.schema)).sort("k0")
    frame.write.option("parquet.block.size", 2000).parquet(str(tmp_path / "rows"))
    paths = tuple(f"rows/{path.name}" for path in (tmp_path / "rows").glob("*.parquet"))
    wanted = {(row[position],) for row in rows[:3]}
    there = SourceRows((TempView("", len(rows), paths),))
    found = entries(Files(LocalStore(tmp_path)), there, layout, (position,), wanted, Budget(10**6, 10**6))

    expected = [row for row in merged(rows, layout) if (row[position],) in wanted]
    assert sorted(map(repr, (row for group in found.values() for row in group))) == sorted(
        map(repr, expected)
    )


@pytest.mark.xdist_group("spark")
@pytest.mark.soak
def test_values_of_every_type_are_found_in_files(spark, tmp_path, monkeypatch):
    """changes leave the log and are summed all the time; the driver reads what Spark wrote, and Spark what it wrote"""
    for name, value in (("MAX_LOG_EPOCHS", 4), ("MIN_COMPACTED_ROWS", 0)):
        monkeypatch.setattr(limits, name, value)
    random, there = Random(1), list[int]()
    both: list[Any] = [nl.Database(spark=spark, path=tmp_path / "lake"), nl.Database()]
    for db in both:
        db.table("R", OF_EVERY_TYPE, key="id")
        for name, text in VIEWS.items():
            db.view(name, text, language="python", store="full")
    for key in range(32):
        row = of_every_type(random, key)
        there.append(key)
        gone = there.pop(random.randrange(len(there))) if key % 3 == 2 else None
        for db in both:
            with db.transaction() as change:
                change.insert("R", [row])
                if gone is not None:
                    change.delete("R", key=gone)
        if key % 4 == 1:
            assert {v: both[0].views[v].bag() for v in VIEWS} == {v: both[1].views[v].bag() for v in VIEWS}
    both[0].verify(maps=True)
    assert both[0]._state.running.driver.files._kept
    both[0].close()


@pytest.mark.xdist_group("spark")
def test_sums_of_decimals_have_all_digits(opened):
    """37 of them, where Python by itself has 28"""
    db = opened()
    db.table("T", {"k": int, "g": int, "p": Decimal}, key="k")
    db.view("sums", "[(g, sum(t.p for t in T if t.g == g)) for g in {t.g for t in T}]", language="python")
    fine = Decimal("1000000000000000000.000000000000000001")
    for key in range(3):
        db.insert("T", [(key, 0, fine), (10 + key, 0, fine)])
    found = db._state.running.cells(next(iter(db._state.running.program.maps)))
    assert Decimal("6000000000000000000.000000000000000006") in found[(0,)]
    assert next(iter(db.table("T"))).p == fine


@pytest.mark.xdist_group("spark")
def test_64_bits_are_the_drivers_too(shop):
    """what has more is refused, and changes nothing"""
    before = dict(shop.views["by_region"].rows())
    with pytest.raises(nl.ChangeError, match="cannot be computed"):
        shop.insert("sales", [(1000, 3, 2**62), (1001, 3, 2**62)])

    assert dict(shop.views["by_region"].rows()) == before
    assert len(shop.table("sales")) == 200
