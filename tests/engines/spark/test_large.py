"""Large changes cost the change: what they read, shuffle, write and recompute. Counts, never times."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import nestling as nl
from nestling.calculus.types import FLOAT, INT, LABEL, STR
from nestling.database.database import Database
from nestling.engine.spark import limits, stage
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.driver.labelled import first_keys, is_labelled
from nestling.engine.spark.session import SETTINGS, settings, small_tasks
from nestling.errors import ChangeError
from nestling.values.label import Label
from tests.engines.spark.test_cost import Counters

pytestmark = pytest.mark.xdist_group("spark")

ORDERS = "id BIGINT, cust BIGINT, items ARRAY<STRUCT<part: BIGINT, qty: BIGINT>>"
FEED = f"{ORDERS}, _change_type STRING"
PARTS = (
    "[(p, sum(i.qty for o in orders for i in o.items if i.part == p))"
    " for p in {i.part for o in orders for i in o.items}]"
)
SHARES = "[(o.cust, sum(i.qty / (i.qty + 1.5) for i in o.items)) for o in orders]"


def declared(db: Any) -> Any:
    db.table("orders", ORDERS, key="id")
    db.view("parts", PARTS, language="python")
    return db


def order(i: int, *items: tuple[int, int]) -> tuple[Any, ...]:
    return (i, i % 7, [*items])


@pytest.fixture
def shop(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Orders that are loaded from a DataFrame; whatever comes later is large."""
    monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    db = declared(nl.Database(spark=spark, path=tmp_path / "lake"))
    rows = [order(i, (i % 5, 1), (i % 3, 2), (i % 3, 2)) for i in range(600)]
    db.insert("orders", spark.createDataFrame(rows, ORDERS))
    yield db
    db.close()


def test_a_large_change_shuffles_itself_and_not_the_state(spark, shop):
    """rows that go are looked for by their keys, which are sent to where the rows are"""
    rows = [(*order(3, (3, 1), (0, 2), (0, 2)), "update_preimage"), (*order(3, (1, 9)), "update_postimage")]
    rows += [(*order(5, (0, 1), (2, 2), (2, 2)), "delete"), (*order(1000, (1, 1)), "insert")]
    change = spark.createDataFrame(rows, FEED)
    counters = Counters(spark)
    refresh = shop.apply({"orders": change})
    _, shuffled = counters.since()

    assert shuffled < 100  # of 2,400 stored rows
    assert refresh.recomputed == ()
    assert len(shop.table("orders")) == 600
    shop.verify()


@pytest.mark.parametrize("most", [100_000, 0], ids=["by Arrow", "by a query"])
@pytest.mark.parametrize(
    "row",
    [
        order(3, (3, 1), (0, 2)),  # one copy of an item is left out
        order(3, (3, 1), (0, 2), (0, 2), (4, 4)),  # an item too many
        (3, 99, [(3, 1), (0, 2), (0, 2)]),  # another customer
        order(7000, (1, 1)),  # no such order
        order(7000),  # of which nothing but its key would differ
    ],
)
def test_a_row_that_is_not_stored_as_it_is_said_to_be_does_not_go(spark, shop, monkeypatch, row, most):
    """however many rows come with it, and also where another row takes its place"""
    monkeypatch.setattr(limits, "MAX_FETCHED_ROWS", most)
    embedded = declared(Database())
    embedded.insert("orders", [order(3, (3, 1), (0, 2), (0, 2))])
    names = ("id", "cust", "items", "_change_type")
    rows = [(*row, "update_preimage"), (*order(row[0], (1, 9)), "update_postimage")]
    told = []
    for db, change in (
        (embedded, [dict(zip(names, r, strict=True)) for r in rows]),
        (shop, spark.createDataFrame(rows, FEED)),
    ):
        with pytest.raises(ChangeError) as refused:
            db.apply({"orders": change})
        told.append(str(refused.value))

    assert told[0] == told[1]
    assert len(shop.table("orders")) == 600


def test_what_comes_here_is_compared_here(spark, shop, monkeypatch):
    """two jobs: whether it is small, and all of it; a query compares as it is compared here"""
    other = [(*order(3, (3, 1), (0, 2), (0, 2)), "delete"), (*order(1000, (1, 1)), "insert")]
    other += [(*order(5, (0, 1), (2, 2), (2, 2)), "update_preimage"), (*order(5, (2, 2)), "update_postimage")]
    change = spark.createDataFrame(other, FEED)
    counters = Counters(spark)
    shop.apply({"orders": change})
    jobs, shuffled = counters.since()

    assert (jobs, shuffled) == (
        2,
        6,
    )  # of each partition a row is asked for, to see whether there are few; then all
    shop.verify()


def test_the_jobs_of_a_change_say_what_they_do(spark, shop, monkeypatch):
    """and what the user says of jobs holds again after it"""
    monkeypatch.setattr(limits, "MAX_FETCHED_ROWS", 0)
    context = spark.sparkContext
    counters = Counters(spark)
    context.setLocalProperty("spark.job.description", "mine")
    try:
        shop.apply({"orders": spark.createDataFrame([(*order(3, (3, 1), (0, 2), (0, 2)), "delete")], FEED)})
        assert context.getLocalProperty("spark.job.description") == "mine"
    finally:
        context.setLocalProperty("spark.job.description", None)

    said = {job.description().get() for job in counters.new_jobs()}
    assert {"nestling: copying rows that came", "nestling: a large change"} <= said
    assert any(text.startswith("nestling: writing orders") for text in said)
    assert all(text.startswith("nestling: ") for text in said)


@pytest.mark.parametrize("most", [100_000, 0], ids=["by Arrow", "by a query"])
def test_a_key_that_two_rows_would_have_is_refused(spark, shop, monkeypatch, most):
    """one that is stored, or two that come, however they come; and nothing is stored of it"""
    monkeypatch.setattr(limits, "MAX_FETCHED_ROWS", most)
    twice = [order(3, (1, 1)), order(8000, (1, 1))], [order(9000, (1, 1)), order(9000, (2, 1))]
    for rows in twice:
        with pytest.raises(ChangeError, match=f"{rows[0][0]}"):
            shop.insert("orders", spark.createDataFrame(rows, ORDERS))
        with pytest.raises(ChangeError, match=f"{rows[0][0]}"):
            shop.apply({"orders": spark.createDataFrame([(*row, "insert") for row in rows], FEED)})
    shop.insert("orders", spark.createDataFrame([order(9000, (1, 1))], ORDERS))

    assert len(shop.table("orders")) == 601
    shop.verify()


def test_a_change_of_most_rows_recomputes_views_and_says_so(spark, shop, monkeypatch):
    monkeypatch.setattr(limits, "MAX_FETCHED_ROWS", 0)
    monkeypatch.setattr(limits, "QUERY_COST", 0)  # which is more than all else where there are so few rows
    rows = [order(i, (i % 5, 1)) for i in range(1000, 2000)]
    refresh = shop.insert("orders", spark.createDataFrame(rows, ORDERS))

    assert refresh.recomputed == ("parts",)
    assert "recomputed from orders" in shop.views["parts"].explain()
    shop.verify()
    few = [(*order(3, (3, 1), (0, 2), (0, 2)), "delete")]
    assert shop.apply({"orders": spark.createDataFrame(few, FEED)}).recomputed == ()
    shop.verify()


@pytest.mark.parametrize("most", [100_000, 0], ids=["by Arrow", "by a query"])
def test_a_snapshot_is_compared_by_its_flat_rows(spark, shop, monkeypatch, most):
    """what differs in a row, or in one element of a bag, is found; and two rows with one key are refused"""
    shop._state.running.tidied()  # rows are in files, and some are not
    shop.insert("orders", [order(7001)])
    monkeypatch.setattr(limits, "MAX_FETCHED_ROWS", most)
    wanted = {i: order(i, (i % 5, 1), (i % 3, 2), (i % 3, 2)) for i in range(600)}
    wanted |= {3: order(3, (3, 1), (0, 2)), 4: order(4), 5: (5, 99, wanted[5][2]), 1000: order(1000, (1, 1))}
    del wanted[6]
    refresh = shop.sync("orders", spark.createDataFrame([*wanted.values()], ORDERS))

    # Two rows for each of 3, 4 and 5, one each for 6, 1000 and 7001.
    assert refresh.tables["orders"] == 9 - 4  # of 3 and 4 the flat row stays
    found = {row["id"]: row for row in shop.table("orders").df().toArrow().to_pylist()}
    assert found.keys() == wanted.keys()
    assert {i: (row["cust"], len(row["items"])) for i, row in found.items()} == {
        i: (cust, len(items)) for i, cust, items in wanted.values()
    }
    shop.verify()
    version = shop.version
    with pytest.raises(ChangeError, match="1000"):
        shop.sync("orders", spark.createDataFrame([*wanted.values(), order(1000, (1, 2))], ORDERS))
    assert shop.sync("orders", spark.createDataFrame([*wanted.values()], ORDERS)).events == 0
    assert shop.version == version


def test_a_view_that_is_for_spark_alone_leaves_the_others_to_the_driver(shop, monkeypatch):
    """the query of a stage has the targets that the driver does not take"""
    shop.view("shares", SHARES, language="python", store="full")
    queries: list[str] = []
    arrow = stage.arrow

    def counted(moment: Any, text: str) -> Any:
        queries.append(text)
        return arrow(moment, text)

    monkeypatch.setattr(stage, "arrow", counted)
    shop.insert("orders", [order(5000, (1, 2))])

    assert queries
    assert not any("s1" in text.partition(" FROM ")[0] for text in queries)  # one target each
    shop.verify()


def test_files_follow_the_rows_and_not_the_cores(spark, tmp_path, monkeypatch):
    """with twenty tasks and no plans that adapt, a relation has one for its base, and one for each trigger that adds"""
    monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    monkeypatch.setattr(limits, "MAX_FETCHED_ROWS", 0)
    user = spark.newSession()
    user.conf.set("spark.sql.shuffle.partitions", "20")
    user.conf.set("spark.sql.adaptive.enabled", "false")
    db: Any = declared(nl.Database(spark=user, path=tmp_path / "lake"))
    db.insert("orders", user.createDataFrame([order(i, (i % 5, 1)) for i in range(300)], ORDERS))
    db.insert("orders", user.createDataFrame([order(i, (i % 5, 1)) for i in range(900, 920)], ORDERS))
    relations = db._state.lake.manifest.relations

    assert max(len(relation.files) for relation in relations.values()) == 3  # orders and items change the map
    db.verify()
    db.close()


class _Session:
    """A session of which only settings are asked."""

    def __init__(self, cores: int, **conf: str) -> None:
        self.sparkContext = SimpleNamespace(defaultParallelism=cores)
        self.values = {f"spark.sql.{name.replace('_', '.')}": value for name, value in conf.items()}
        self.conf = SimpleNamespace(get=self.values.__getitem__, set=self.values.__setitem__)


def test_parallelism_is_asked_for_every_time():
    """executors come and go; tasks follow the rows, and plans of very many rows are those of the user"""
    user = _Session(2, shuffle_partitions="200", adaptive_enabled="true")
    own = _Session(2, shuffle_partitions="2", adaptive_enabled=SETTINGS["spark.sql.adaptive.enabled"])
    assert small_tasks(user) == 2
    user.sparkContext.defaultParallelism = 24
    with settings(own, user, 1000):
        assert own.values == {"spark.sql.shuffle.partitions": "8", "spark.sql.adaptive.enabled": "false"}
    with settings(own, user, 12 * limits.ROWS_PER_TASK):
        assert own.values == {"spark.sql.shuffle.partitions": "12", "spark.sql.adaptive.enabled": "false"}
    with settings(own, user, limits.MAX_PLANNED_ROWS + 1):
        assert own.values == user.values
    assert own.values == {"spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false"}


def test_a_label_of_a_keyed_table_leads_to_the_key():
    layout = Layout((INT, STR, LABEL), key=(0,))
    wanted = {(Label("orders.items", (3,)),), (Label("orders.items", (5,)),)}
    assert sorted(first_keys(layout, (2,), wanted) or ()) == [3, 5]
    assert not is_labelled(layout, (1,))
    assert not is_labelled(Layout((FLOAT, STR, LABEL), key=(0,)), (2,))  # such labels may be numbered
    assert not is_labelled(Layout((INT, STR, LABEL)), (2,))
    assert first_keys(Layout((INT, INT, LABEL), key=(0, 1)), (2,), wanted) is None


def test_a_change_says_what_it_had_spark_do(spark, tmp_path):
    """no query, where the driver did it alone; what was written for it either way"""
    with nl.Database(spark=spark, path=tmp_path / "counted") as db:
        db.table("t", "id BIGINT, g BIGINT", key="id")
        db.view("often", "SELECT g, count(*) AS n FROM t GROUP BY g")
        few = db.insert("t", [(-1, 0), (-2, 1)])
        many = db.insert("t", spark.range(30_000).selectExpr("id", "id % 2 AS g"))
        none = db.apply({"t": {}})
        assert (few.queries, none.queries) == (0, 0)
        assert many.queries > 0
        assert 0 < few.bytes < 10_000 < many.bytes
        assert "queries of Spark" in many._repr_html_()
        assert "queries" not in few._repr_html_()
