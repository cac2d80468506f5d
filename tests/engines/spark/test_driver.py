"""What the driver does by itself: it finds what is stored, counts what it may read, and leaves the rest to Spark."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

import nestling as nl
from nestling.calculus.terms import Call, Const, Var
from nestling.calculus.types import FLOAT, INT, STR, Scalar, nullable
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.driver import files as kept
from nestling.engine.spark.driver import run
from nestling.engine.spark.driver.exact import is_exact
from nestling.engine.spark.driver.files import Files
from nestling.engine.spark.driver.lookup import Budget, TooMuchError, entries, merged
from nestling.engine.spark.driver.write import written
from nestling.engine.spark.state import Part, Stored
from nestling.engine.spark.types import arrow_table
from nestling.program.solve import added
from nestling.program.statements import Assign, Check, Combine, Find, Measure, Statement
from tests.engines.spark.test_cost import Counters

DECIMAL = Scalar("decimal")
PAIRS = Layout((INT, nullable(STR)), (INT, INT), positive=False)
SALES = (
    "[(r, sum(s.qty for s in sales for c in customers if c.cid == s.cust and c.region == r))"
    " for r in {c.region for c in customers}]"
)


def stored(folder: Path, rows: list[tuple[Any, ...]]) -> Stored:
    """Two files sorted by key, one that is not, and what was added since."""
    parts = [
        sorted(rows[0::4], key=lambda row: row[0]),
        sorted(rows[1::4], key=lambda row: row[0]),
        rows[2::4],
    ]
    for number, part in enumerate(parts):
        pq.write_table(arrow_table(PAIRS.columns, part), folder / f"{number}.parquet")
    files = Part("", sum(map(len, parts)), tuple(f"{number}.parquet" for number in range(3)))
    return Stored((files,), arrow_table(PAIRS.columns, rows[3::4]))


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
    found = entries(Files(tmp_path), stored(tmp_path, rows), PAIRS, positions, wanted, Budget(10**6, 10**6))

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
            Files(tmp_path), stored(tmp_path, [(n, "a", 1, 1) for n in range(100)]), PAIRS, (), {()}, budget
        )


def test_what_is_kept_has_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "KEPT", 100_000)
    files = Files(tmp_path)
    for number in range(5):
        table = arrow_table(PAIRS.columns, [(n, "a", 1, 1) for n in range(1500)])
        pq.write_table(table, tmp_path / f"{number}.parquet")
        (group,) = files.groups(f"{number}.parquet", PAIRS)
        assert files.read(group, PAIRS).table.num_rows == group.rows == 1500
    assert 0 < sum(rows.table.nbytes for rows in files._kept.values()) <= 100_000


def test_a_group_is_read_where_it_may_hold_a_key(tmp_path):
    """what lies between no two ends costs nothing"""
    table = arrow_table(PAIRS.columns, [(n, "a", 1, 1) for n in range(1000)])
    pq.write_table(table, tmp_path / "0", row_group_size=100)
    where, files = Stored((Part("", 1000, ("0",)),)), Files(tmp_path)
    for keys, values in (({250, 260}, 100 * 4), ({5000, -1}, 0), ({99, 100}, 200 * 4), ({99, 100}, 0)):
        budget = Budget(10**6, 10**6)
        found = entries(files, where, PAIRS, (0,), {(key,) for key in keys}, budget)
        assert {key for (key,) in found} == {key for key in keys if 0 <= key < 1000}
        assert 10**6 - budget.values == values


# -- statements

a, b, n, m, v = Var("a", INT), Var("b", nullable(STR)), Var("n", INT), Var("m", INT), Var("v", INT)
LAYOUTS = {"ΔR": Layout((INT, nullable(STR))), "M": Layout((INT, INT)), "L": Layout((INT,), (INT, INT))}
STATEMENTS = {
    "join": Statement("T", (b, m), (Call("*", (n, v)),), (
        Find("ΔR", (a, b), (), (n,)), Check(Call(">", (a, Const(2, INT)))), Find("M", (a, m), (0,), (v,)),
    )),
    "same": Statement("T", (a,), (n,), (Find("ΔR", (a, b), (), (n,)), Find("M", (a, a), (0, 1), (v,)))),
    "twice": Statement("T", (m,), (n,), (Find("ΔR", (a, b), (), (n,)), Find("M", (m, m), (), (v,)))),
    "sum": Statement("T", (v,), (n,), (
        Find("ΔR", (a, b), (), (n,)), Measure(v, "sum", "L", (a,), (0, 1)), Assign(m, Call("+", (v, a))),
    )),
    "least": Statement("T", (a, v), (n,), (Find("ΔR", (a, b), (), (n,)), Measure(v, "max", "M", (a,), (0,)))),
    "sign": Statement("T", (a,), (m,), (
        Find("ΔR", (a, b), (), (n,)), Find("M", (a, v), (0,), (m,)), Combine(Var("s", INT), "distinct", (n,), (m,)),
    )),
}  # fmt: skip


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_means_what_it_means(name):
    """as ``solve`` says, which tries everything"""
    statement, random = STATEMENTS[name], Random(name)
    assert is_exact(statement, LAYOUTS, Layout((INT,)))
    function = written(statement, LAYOUTS)
    for _ in range(20):
        cells: dict[str, dict[Any, Any]] = {
            "ΔR": {
                (random.randrange(6), random.choice([None, "x"])): (random.choice([-2, 1]),) for _ in range(5)
            },
            "M": {(random.randrange(6), random.randrange(6)): (random.choice([1, 2]),) for _ in range(9)},
            "L": {(random.randrange(6),): (random.randrange(1, 3), random.randrange(9)) for _ in range(4)},
        }

        def look(number: int, keys: set[Any], cells: Any = cells) -> Any:
            where, found = function.lookups[number], dict[Any, Any]()
            for key, cell in cells[where.source].items():
                part = tuple(key[p] for p in where.positions)
                if part in keys:
                    found.setdefault(part, []).append((*key, *cell))
            return found

        ours = sorted(function.run(look, [()]), key=repr)
        assert ours == sorted(added(statement, cells.__getitem__), key=repr)


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


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("limit", ["CELLS", "ROWS", "MOST"])
def test_what_is_not_little_is_sparks(spark, shop, monkeypatch, limit):
    before = shop.views["by_region"].explain()
    monkeypatch.setattr(run, limit, 3)
    counters = Counters(spark)
    shop.insert("sales", [(1000 + i, i, 5) for i in range(9)])

    assert counters.since()[0] > 0
    shop.verify()
    assert "by the driver, without a job: 0 values are gone through" in before


@pytest.mark.xdist_group("spark")
def test_64_bits_are_the_drivers_too(shop):
    """what has more is refused, and changes nothing"""
    before = dict(shop.views["by_region"].rows())
    with pytest.raises(nl.ChangeError, match="cannot be computed"):
        shop.insert("sales", [(1000, 3, 2**62), (1001, 3, 2**62)])

    assert dict(shop.views["by_region"].rows()) == before
    assert len(shop.table("sales")) == 200
