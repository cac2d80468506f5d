"""Databases on Spark: what a user sees is what he sees embedded, and it is there again after reopening."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from nestling.database.database import Database
from nestling.database.verdict import verdict
from nestling.errors import ChangeError, NestlingError, QueryError
from nestling.frontend.schema import element_value
from nestling.values.bag import ZBag
from tests.engines.suite.cases import NESTED, RELATED, Case
from tests.engines.suite.test_engines import alike

pytestmark = pytest.mark.xdist_group("spark")


def declare(db: Database, case: Case, views: dict[str, str]) -> None:
    for name, (schema, key) in case.tables.items():
        db.table(name, schema, key=key)
    for name, text in views.items():
        db.view(name, text, language="python")


def answers(db: Database) -> dict[str, Any]:
    return {name: view.bag() for name, view in db.views.items()}


def same(left: dict[str, Any], right: dict[str, Any]) -> bool:
    return left.keys() == right.keys() and all(alike(left[name], right[name]) for name in left)


@pytest.mark.parametrize("way", [pytest.param("by_queries", marks=pytest.mark.soak), "by_the_driver"])
def test_the_same_moves_have_the_same_answers(opened, way, request):
    """nested views under updates, deletions and deep changes, reopened half-way, a view added to what is there"""
    if way == "by_queries":
        request.getfixturevalue("by_queries")
    first = {name: NESTED.views[name] for name in ("baskets", "by_customer", "spend", "dear")}
    db, other = opened(), Database()
    declare(db, NESTED, first)
    declare(other, NESTED, first)
    for number, move in enumerate(NESTED.moves):
        for each in (db, other):
            with each.transaction() as change:
                move(change)
        if number == 1:
            db = opened()
            for each in (db, other):
                each.view("biggest", NESTED.views["biggest"], language="python")
                each.view("kept", NESTED.views["by_customer"], language="python", store="full")
                each.view("counted", NESTED.views["spend"], language="python", store="counts")

        if number in (1, 3):
            assert same(answers(db), answers(other))
    assert db.version == other.version == len(NESTED.moves)
    assert sorted(db.table("parts")) == sorted(other.table("parts"))
    db.verify()


def test_a_view_as_a_frame(opened):
    """arrays of structs, two levels deep, put together by Spark; flat rows with labels; and how it is kept"""
    db = opened()
    declare(db, NESTED, {name: NESTED.views[name] for name in ("by_customer", "biggest", "baskets")})
    assert db.view_df("by_customer").schema["_1"].dataType.elementType.names == ["id", "_1"]
    for move in NESTED.moves[:2]:
        with db.transaction() as change:
            move(change)
    for name, view in db.views.items():
        frame = db.view_df(name)
        found = ZBag((element_value(view.element, row), 1) for row in frame.collect())

        assert found == view.bag()
        assert frame.columns == list(view.element.names)
        assert db.view_df(name, shredded=True).count() == len(view.bag())
        text = view.explain()
        assert ("the change, broadcast" in text) == bool(
            db.stats()[name]["maps"]
        )  # baskets are in the tables
        assert "scanned" in text
        report = json.loads(view.explain("json", code=True))
        assert (report["engine"], report["verdict"]) == ("Spark", verdict(db._state.views[name]).value)
        # A view that is read from the tables alone has nothing that a batch runs.
        has_maps = bool(db.stats()[name]["maps"])
        assert any(trigger["batch"] for trigger in report["triggers"]) == has_maps
        assert any("def run(look, rows):" in function["source"] for function in report["code"]) == has_maps
        assert f"<title>{name}" in view.explain("html")


def test_changes_come_as_frames(opened, spark):
    db = opened()
    table = db.table("orders", "id INT, items ARRAY<STRUCT<pid: INT, qty: INT>>", key="id")
    db.view("sold", "[(p, sum(i.qty for o in orders for i in o.items if i.pid == p))"
            " for p in {i.pid for o in orders for i in o.items}]", language="python")  # fmt: skip
    schema = "id BIGINT, items ARRAY<STRUCT<pid: BIGINT, qty: BIGINT>>"
    db.insert("orders", spark.createDataFrame([(1, [(7, 2), (8, 1)]), (2, [(7, 5)])], schema))
    changes = [(1, [(7, 2), (8, 1)], "delete"), (3, [(8, 4)], "insert")]
    db.apply({"orders": spark.createDataFrame(changes, f"{schema}, _change_type STRING")})

    assert sorted(db.views["sold"]) == [(7, 5), (8, 4)]
    db.sync("orders", spark.createDataFrame([(2, [(7, 1)])], schema))
    assert list(db.views["sold"]) == [(7, 1)]
    assert len(table) == 1


def test_what_is_refused_changes_nothing(opened):
    db = opened()
    declare(db, RELATED, {"related": RELATED.views["related"]})
    db.table("N", {"a": int, "b": int})
    db.view("ratio", "[sum(n.a // n.b for n in N)]", language="python")
    db.insert("M", [("Drive", "Drama", "Refn"), ("Rush", "Action", "Howard")])
    db.insert("N", [(6, 3), (6, 3)])
    before, version = answers(db), db.version
    bad: list[Callable[[], Any]] = [
        lambda: db.insert("M", [("Heat", "Crime", "Mann"), ("Drive", "Crime", "Mann")]),
        lambda: db.insert("M", [{"name": "Heat", "year": 1995}]),
        lambda: db.delete("M", [("Heat", "Crime", "Mann")]),
        lambda: db.delete("N", [(6, 3), (6, 3), (6, 3)]),
        lambda: db.update("M", key="Heat", set={"gen": "Crime"}),
        lambda: db.insert("N", [(1, 0)]),
        lambda: db.insert("N", [(2**64, 1)]),
    ]
    for change in bad:
        with pytest.raises(ChangeError):
            change()
    assert answers(db) == before
    assert db.version == version
    assert opened().views["related"]["Drive"].name == "Drive"


def test_a_transaction_reads_tables_with_its_changes(opened):
    """Also inner bags; a view is brought up to date when it ends, and cannot be read until then."""
    db = opened()
    db.table("orders", {"id": int, "items": [{"pid": int, "tags": [str]}]}, key="id")
    view = db.view("ids", "[o.id for o in orders]", language="python")
    db.insert("orders", [(1, [(10, ["a", "b"])]), (2, [])])
    with db.transaction() as change:
        before = change.rows("orders")
        change.insert_into("orders", 2, ("items",), [(20, ["c"])])
        change.delete("orders", key=1)
        change.insert("orders", [(3, [(30, [])])])
        seen = change.rows("orders")
        with pytest.raises(NestlingError, match="inside a transaction"):
            view.rows()
    assert sorted(row[0] for row in before) == [1, 2]
    assert seen == db._state.rows("orders")
    assert sorted(row[0] for row in seen) == [2, 3]
    assert sorted(view) == [2, 3]
    db.verify(maps=True)


def test_a_view_has_a_value_or_the_change_is_refused(opened):
    """by the same words as embedded, whether the view stores the quotient or computes it when it is read"""
    told = []
    for db in (Database(), opened()):
        db.table("R", {"k": int, "a": int, "b": int}, key="k")
        db.view("own", "[(r.k, r.a // r.b) for r in R]", language="python")
        db.view("of_sum", "[(r.k, 10 // sum(t.b for t in R if t.a == r.a)) for r in R]", language="python")
        db.insert("R", [(1, 4, 2)])
        words = []
        for rows in ([(2, 3, 0)], [(3, 5, 1)], [(4, 4, -2)]):
            try:
                db.insert("R", rows)
            except ChangeError as error:
                words.append(str(error))
        db.insert("R", [(5, 0, 3)])
        with pytest.raises(QueryError, match="cannot be computed from the rows in its tables") as refused:
            db.view("late", "[7 // r.a for r in R]", language="python")
        told.append((words, answers(db), db.version, str(refused.value)))
        db.verify()

    assert told[0] == told[1]
    assert len(told[0][0]) == 2


def test_what_spark_does_not_do_is_refused_when_it_is_defined(opened):
    db = opened()
    declare(db, RELATED, {})
    db.table("P", {"id": int, "price": Decimal}, key="id")
    refused: list[Callable[[], Any]] = [
        lambda: db.view("v", "SELECT CAST(price AS STRING) AS p FROM P"),
    ]
    for define in refused:
        with pytest.raises(QueryError):
            define()


def test_a_dropped_view_frees_its_files(opened, tmp_path):
    db = opened()
    declare(db, RELATED, {name: RELATED.views[name] for name in ("genres", "last")})
    for move in RELATED.moves[:2]:
        with db.transaction() as change:
            move(change)
    db.drop("last")
    files = list((tmp_path / "lake" / "data").rglob("*.parquet"))
    db.drop("genres")

    assert len(list((tmp_path / "lake" / "data").rglob("*.parquet"))) < len(files)
    assert len(opened().table("M").rows()) == 5
