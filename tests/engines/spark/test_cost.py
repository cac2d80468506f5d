"""What a batch costs on Spark: jobs and rows shuffled, and where what it adds goes. Counts, never times."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import nestling as nl
from nestling.calculus.types import FLOAT, INT, STR
from nestling.database.database import Database
from nestling.database.rows import RowEvent
from nestling.database.spark.database import SparkDatabase
from nestling.database.spark.journal import LakeJournal
from nestling.engine.spark import limits, stage
from nestling.engine.spark.batch import together
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.state import LakeState, near, rounded
from nestling.engine.spark.totals import totals
from tests.engines.spark.session import tables_of

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("by_queries")]

BY_REGION = (
    "[(r, sum(s.qty for s in sales for c in customers if c.cid == s.cust and c.region == r and s.qty > 2))"
    " for r in {c.region for c in customers}]"
)
PAIRS = "[(s.id, t.id) for s in sales for t in sales if s.cust == t.cust]"
KINDS = "[(c.cid, len({s.qty for s in sales if s.cust == c.cid})) for c in customers]"


class Counters:
    """Jobs since the last look, and rows that they shuffled."""

    def __init__(self, spark: Any) -> None:
        self.bus = spark.sparkContext._jsc.sc().listenerBus()
        self.store = spark.sparkContext._jsc.sc().statusStore()
        self.last = -1
        self.new_jobs()

    def new_jobs(self) -> list[Any]:
        self.bus.waitUntilEmpty()
        jobs = self.store.jobsList(None)
        new = [job for job in (jobs.apply(i) for i in range(jobs.size())) if job.jobId() > self.last]
        self.last = max([self.last, *(job.jobId() for job in new)])
        return new

    def since(self) -> tuple[int, int]:
        new = self.new_jobs()
        stages = [job.stageIds().apply(i) for job in new for i in range(job.stageIds().size())]
        return len(new), sum(self.store.lastStageAttempt(stage).shuffleWriteRecords() for stage in stages)


@pytest.fixture
def shop(spark: Any, tmp_path: Path) -> Any:
    db = nl.Database(spark=spark, path=tmp_path / "lake")
    db.table("customers", {"cid": int, "region": str}, key="cid")
    db.table("sales", {"id": int, "cust": int, "qty": int}, key="id")
    rows = [(i, i % 20, i % 7) for i in range(200)]
    db.apply({"customers": {(i, f"r{i % 3}"): 1 for i in range(20)}, "sales": dict.fromkeys(rows, 1)})
    yield db
    db.close()


def applied(db: Database, changes: dict[str, dict[Any, int]]) -> None:
    """The batch of a commit alone, without what a transaction looks up before it."""
    batch = [RowEvent(table, row, times) for table, rows in changes.items() for row, times in rows.items()]
    assert isinstance(db, SparkDatabase)
    journal = LakeJournal(db._state, batch)
    journal.run()
    journal.store({})


def sold(first: int, size: int) -> dict[Any, int]:
    return {(i, i % 20, 5): 1 for i in range(first, first + size)} | {
        (first % 200, first % 20, first % 7): -1
    }


def test_a_small_change_is_two_jobs_and_no_shuffle(spark, shop):
    """the change is sent to where the state is, what is found comes back, and is summed here"""
    shop.view("by_region", BY_REGION, language="python")
    counters = Counters(spark)
    applied(shop, {"sales": sold(1000, 50)})
    jobs, shuffled = counters.since()

    assert (jobs, shuffled) == (2, 0)
    shop.verify()


def test_a_batch_runs_code_that_was_compiled_for_those_before_it(spark, shop):
    """values of a change are not in the code of its query"""
    shop.view("by_region", BY_REGION, language="python")
    compiled = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    for first in (1000, 1001):
        applied(shop, {"sales": {(first, first % 20, 5): 1}})
    before = compiled.getCount()
    applied(shop, {"sales": {(1002, 7, 6): 1}})

    assert compiled.getCount() == before


def test_where_a_step_finds_many_spark_sums(spark, shop):
    """what is shuffled is what the change leads to, however large the table is"""
    shop.view("pairs", PAIRS, language="python", store="full")
    counters = Counters(spark)
    applied(shop, {"sales": {(1000, 0, 5): 1}})
    few = counters.since()[1]
    applied(shop, {"sales": {(i, 0, 5): 1 for i in range(1001, 1005)}})
    more = counters.since()[1]

    assert 0 < few <= 2 * 20
    assert few < more <= 8 * few
    shop.verify()


@pytest.mark.parametrize(("referrers", "most"), [(200, 500_000), (2000, 500_000), (2000, 100)])
def test_a_rename_shuffles_the_referrers_once(spark, tmp_path, monkeypatch, referrers, most):
    """each referrer's row goes and comes, both by one shuffle; who refers to somebody else is not in it

    Where they are too many for the driver too: a query that finds so stops before it shuffles.
    """
    monkeypatch.setattr(limits, "MAX_ROWS_PER_TASK", most)
    with nl.Database(spark=spark, path=tmp_path / "lake") as db:
        db.table("customers", {"id": int, "name": str}, key="id")
        db.table("orders", {"no": int, "customer": int}, key="no", references={"customer": "customers"})
        db.insert("customers", [(1, "Ada"), (2, "Bo")])
        numbers = spark.range(referrers + 5000)
        db.insert("orders", numbers.selectExpr("id AS no", f"IF(id < {referrers}, 1, 2) AS customer"))
        text = "select struct(no: o.no, name: o.customer.name) from o in orders"
        view = db.view("names", text, language="oql", store="full")
        counters = Counters(spark)
        db.update("customers", key=1, set={"name": "Eve"})
        _, shuffled = counters.since()

        assert shuffled <= 2 * referrers + 20
        assert sum(row.name == "Eve" for row in view) == referrers
        view.verify()


@pytest.mark.parametrize("refresh", ["lazy", "hybrid"])
def test_ten_updates_that_wait_cost_one(spark, tmp_path, refresh):
    """A lazy or hybrid view sums what is pending: a reading adds to what the map holds as much as after one update.

    The map is read with what was added to it before, and that is merged now and then: a reading shuffles at most one
    update's rows more than the one before it, where ten that do not wait would add ten times as many.
    """
    with nl.Database(spark=spark, path=tmp_path / "lake") as db:
        db.table("customers", {"id": int, "name": str}, key="id")
        db.table("orders", {"no": int, "customer": int}, key="no", references={"customer": "customers"})
        db.insert("customers", [(1, "Ada")])
        db.insert("orders", [(no, 1) for no in range(300)])
        text = "select struct(no: o.no, name: o.customer.name) from o in orders"
        view = db.view("names", text, language="oql", store="full", refresh=refresh)
        assert len(view) == 300
        costs = []
        for names in (["Eve"], [f"name {i}" for i in range(10)]):
            for name in names:
                db.update("customers", key=1, set={"name": name})
            assert db.stats()["names"]["waiting"] == 2 * len(names)
            counters = Counters(spark)
            assert {row.name for row in view} == {names[-1]}
            costs.append(counters.since())

        (jobs, one), (others, ten) = costs
        assert jobs == others
        assert 0 < ten <= one + 2 * 300

        # What is no update waits in a lazy view alone, and takes along what waited before it.
        db.update("customers", key=1, set={"name": "Ada"})
        db.insert("orders", [(300, 1)])
        assert db.stats()["names"]["waiting"] == (3 if refresh == "lazy" else 0)
        assert sorted(view, key=tuple)[-1] == (300, "Ada")
        view.verify(maps=True)


def test_tables_that_do_not_read_each_other_change_in_one_query(shop, monkeypatch):
    """of several tables each sees those before it as they will be"""
    shop.view("by_region", BY_REGION, language="python")
    program = shop._state.running.program
    both = [program.triggers["customers"], program.triggers["sales"]]
    queries: list[str] = []
    arrow = stage.arrow

    def counted(moment: LakeState, text: str) -> Any:
        queries.append(text)
        return arrow(moment, text)

    monkeypatch.setattr(stage, "arrow", counted)
    applied(shop, {"customers": {(20, "r0"): 1}, "sales": {(1000, 20, 5): 1}})

    assert together(both) == 2
    assert len(queries) == 1
    shop.verify()


def test_a_table_that_reads_what_another_writes_waits_for_it(shop):
    shop.view("by_region", BY_REGION, language="python", store="full")
    triggers = shop._state.running.program.triggers
    assert together([triggers["sales"], triggers["customers"]]) == 1

    applied(shop, {"customers": {(0, "r0"): -1, (0, "new"): 1}, "sales": {(1000, 0, 6): 1}})
    shop.verify()


@pytest.mark.parametrize("view", [BY_REGION, PAIRS, KINDS], ids=["sum", "pairs", "distinct"])
def test_many_rows_go_to_files_at_once(shop, monkeypatch, view):
    """a large change leaves nothing in the log, and nothing of it here"""
    shop.view("v", view, language="python", store="full")
    monkeypatch.setattr(limits, "MAX_COLLECTED_ROWS", 30)
    lake = shop._state.lake
    applied(shop, {"sales": sold(1000, 20)})
    assert lake.logged == 1

    applied(shop, {"sales": sold(2000, 40), "customers": {(20, "r9"): 1}})
    assert lake.logged == 0
    assert not any(stored.recent_rows for stored in shop._state.running.now.stored.values())
    shop.verify()


def test_an_effect_that_turns_out_large_goes_to_files(shop):
    """the task that finds too many rows stops its query, and the batch is run again"""
    shop.view("pairs", PAIRS, language="python", store="full")
    running = shop._state.running
    running.now.most = 10
    applied(shop, {"sales": {(1000, 77, 5): 1}})
    assert shop._state.lake.logged == 1

    applied(shop, {"sales": {(i, 0, 5): 1 for i in range(1001, 1005)}})
    assert shop._state.lake.logged == 0
    shop.verify()


def test_changes_become_part_of_the_base(shop, monkeypatch):
    """where enough have gathered they leave the log, and become one sorted base; Spark keeps no name of what is gone"""
    shop.view("by_region", BY_REGION, language="python")
    monkeypatch.setattr(limits, "MAX_LOG_EPOCHS", 1)
    monkeypatch.setattr(limits, "MIN_COMPACTED_ROWS", 0)
    names = []
    for first in (1000, 1100, 1200, 1300):
        applied(shop, {"sales": sold(first, 5)})
        shop._state.running.tidy()
        assert shop._state.lake.logged == 0
        names.append(len(tables_of(shop._state.running.session)))
    relations = shop._state.lake.manifest.relations

    assert all(
        relation.change_rows <= relation.base_rows / limits.BASE_SHARE for relation in relations.values()
    )
    assert names[1:] == [names[1]] * 3
    shop.verify()


def test_keys_are_few_or_lie_between_two():
    """what is asked of files that are sorted by a key; null is asked for by a join alone"""
    layout = Layout((INT,))
    assert near(pa.table({"k0": [3, 1, 3]}), layout, 0) == "IN (CAST('3' AS BIGINT), CAST('1' AS BIGINT))"
    assert near(pa.table({"k0": [7]}), layout, 0) == "IN (CAST('7' AS BIGINT), CAST(NULL AS BIGINT))"
    around = near(pa.table({"k0": range(7, 200)}), layout, 0)
    assert around == "BETWEEN CAST('4' AS BIGINT) AND CAST('200' AS BIGINT)"
    assert near(pa.table({"k0": [1, None]}), layout, 0) is None
    assert near(pa.table({"k0": [float(i) for i in range(200)]}), Layout((FLOAT,)), 0) is None


@pytest.mark.parametrize("ends", [(0, 0), (-5, 3), (-(2**63), 2**63 - 1), (2**62, 2**62 + 1)])
def test_a_rounded_range_holds_the_range(ends):
    least, greatest = rounded(*ends)
    assert -(2**63) <= least <= ends[0] <= ends[1] <= greatest < 2**63


def test_sums_here_are_those_of_spark():
    layout = Layout((STR,), (INT, FLOAT))
    rows = pa.table(
        {"k0": ["a", "b", "a", "c", None], "m0": [1, 2, 3, 1, 5], "m1": [0.5, 1.0, 0.5, 0.0, 0.0]}
    )
    rows = pa.concat_tables([rows, pa.table({"k0": ["c"], "m0": [-1], "m1": [0.0]})])
    found = totals(rows, layout).to_pydict()

    assert dict(zip(found["k0"], zip(found["m0"], found["m1"], strict=True), strict=True)) == {
        "a": (4, 1.0), "b": (2, 1.0), None: (5, 0.0),
    }  # fmt: skip


def test_sums_here_have_64_bits():
    layout = Layout((STR,))
    most = 2**63 - 1
    rows = pa.table({"k0": ["a", "a", "a", "b", "b"], "m0": [most, most, -most, 1, -1]})
    assert totals(rows, layout).to_pydict() == {"k0": ["a"], "m0": [most]}

    with pytest.raises(ArithmeticError, match="64 bits"):
        totals(rows.slice(0, 2), layout)
