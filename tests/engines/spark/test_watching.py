"""What changes in views on Spark: told as embedded, kept as a feed, refused by constraints; and what is stored."""

from pathlib import Path
from typing import Any

import pytest

import nestling as nl
from nestling.database.change import Change
from nestling.database.database import Database
from nestling.database.spark.store import trim
from nestling.engine.spark import limits
from nestling.errors import ConstraintError, NestlingError, QueryError
from tests.engines.suite.cases import NESTED

pytestmark = pytest.mark.xdist_group("spark")

#: Two levels of inner bags, of which one is of the table; and one without.
VIEWS = ("by_customer", "spend")


@pytest.fixture
def db(spark: Any, tmp_path: Path) -> Any:
    found = declared(opened(spark, tmp_path))
    yield found
    found.close()


def opened(spark: Any, path: Path) -> Any:
    return nl.Database(spark=spark, path=path / "lake")


def declared(db: Database) -> Database:
    for name, (schema, key) in NESTED.tables.items():
        db.table(name, schema, key=key)
    for name in VIEWS:
        db.view(name, NESTED.views[name], language="python")
    return db


def told(change: Change) -> Any:
    inner = [(i.key, i.path, i.within, sorted(i.elements.items(), key=repr)) for i in change.inner]
    return change.version, change.rows, sorted(inner, key=repr)


def test_changes_are_told_and_kept(db, spark, tmp_path):
    """subscribers hear what they hear embedded; the feed of every level leads from answer to answer"""
    other = declared(Database())
    heard: dict[Database, list[Change]] = {db: [], other: []}
    for each, changes in heard.items():
        each.views["by_customer"].subscribe(changes.append, history=10)
    db.keep_changes("by_customer")
    for number, move in enumerate(NESTED.moves[:3]):
        for each in (db, other):
            with each.transaction() as change:
                move(change)
        if number == 0:
            customers = sorted(row[0] for row in db.views["by_customer"])
            pids = unnested(db)
    assert [told(change) for change in heard[db]] == [told(change) for change in heard[other]]
    assert [c.version for c in db.views["by_customer"].changes(since=1)] == [2, 3]
    assert heard[db][-1].to_json_patch() == heard[other][-1].to_json_patch()

    assert customers == ["ann", "bob"]
    rows = db.view_df("by_customer", changes_since=1).collect()
    assert [(r.c, r._change_type, r._commit_version) for r in rows] == [("cy", "insert", 3)]
    bag = db.views["by_customer"].element.types[1]
    outer = bag.element.names
    path = (db.views["by_customer"].element.names[1], outer[1])
    feed = db.view_df("by_customer", changes_since=1, path=path)
    for row in feed.collect():
        element = (row._row[0], row[1][0], row.value)
        pids[element] = pids.get(element, 0) + (1 if row._change_type == "insert" else -1)
    assert {element: n for element, n in pids.items() if n} == unnested(db)
    stamps = {r._commit_timestamp for r in feed.collect()}
    assert len(stamps) == 2

    db.close()
    again = opened(spark, tmp_path)
    assert again.view_df("by_customer", changes_since=1).count() == 1
    with pytest.raises(NestlingError, match="has no change feed"):
        again.view_df("spend", changes_since=0)
    with pytest.raises(NestlingError, match="no inner bag 'x'"):
        again.view_df("by_customer", changes_since=1, path="x")
    again.keep_changes("by_customer", versions=1)
    trim(again._state, again.version)
    with pytest.raises(NestlingError, match="starts at version 2, not at 1"):
        again.view_df("by_customer", changes_since=1)
    assert {
        r._commit_version for r in again.view_df("by_customer", changes_since=2, path=path).collect()
    } == {3}
    again.close()


def unnested(db: Database) -> dict[Any, int]:
    """The innermost elements of ``by_customer``, each beside what it is in."""
    found: dict[Any, int] = {}
    for customer, orders in db.views["by_customer"]:
        for order, pids in orders:
            for pid in pids:
                found[customer, order, pid] = found.get((customer, order, pid), 0) + 1
    return found


def test_constraints_are_checked_before_anything_is_stored(db, spark, tmp_path):
    """also when the database is opened again"""
    with db.transaction() as change:
        NESTED.moves[0](change)
    with pytest.raises(ConstraintError, match="would be broken by"):
        db.constraint("small", "[o.id for o in orders for i in o.items if i.qty > 2]", language="python")
    assert "small" not in db._state.views
    db.constraint("sold", "[(o.id, i.pid) for o in orders for i in o.items"
                  " if i.pid not in [p.pid for p in parts]]", language="python")  # fmt: skip
    bag, version = db.table("orders").rows(), db.version
    with pytest.raises(ConstraintError) as caught:
        db.table("orders").at(7).items.insert([(99, 1), (98, 1), (2, 1)])
    assert sorted(caught.value.rows, key=repr) == [(7, 98), (7, 99)]
    assert caught.value.constraint == "sold"
    assert (db.table("orders").rows(), db.version) == (bag, version)
    db.close()
    again = opened(spark, tmp_path)
    assert "sold" not in again.views
    with pytest.raises(ConstraintError):
        again.table("orders").at(8).items.insert([(97, 1)])
    again.drop("sold")
    again.table("orders").at(8).items.insert([(97, 1)])
    again.close()


@pytest.mark.soak
def test_a_large_change_is_refused_by_a_constraint(db, monkeypatch):
    with db.transaction() as change:
        NESTED.moves[0](change)
    db.constraint("sold", "[i.pid for o in orders for i in o.items if i.pid not in [p.pid for p in parts]]",
                  language="python")  # fmt: skip
    monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    with pytest.raises(ConstraintError, match="sold would be broken by 1"):
        db.delete("parts", where="pid = 1")
    assert db.version == 1
    db.verify()


def test_another_definition_is_refused(db, spark, tmp_path):
    """with what is stored, what is given, and what to do"""
    db.close()
    again = opened(spark, tmp_path)
    declared(again)
    with pytest.raises(QueryError) as caught:
        again.view("spend", "[(o.id, o.customer) for o in orders]", language="python")
    assert "stored" in caught.value.what
    assert "given" in caught.value.what
    assert "drop" in caught.value.hint
    with pytest.raises(QueryError, match="stored"):
        again.table("parts", {"pid": int, "name": str}, key="pid")
    again.close()


def test_what_is_stored_is_checked(spark, tmp_path, monkeypatch):
    """by the reference where tables are small, else by Spark, which leaves no file; a changed file is found"""
    db = opened(spark, tmp_path)
    db.table("R", {"g": str, "x": float})
    db.insert("R", [("a", 0.5), ("a", 0.25), ("b", 1.0)])
    db.view("spend", "[(g, sum(r.x for r in R if r.g == g)) for g in {r.g for r in R}]", language="python")
    monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    files = set((tmp_path / "lake").rglob("*.parquet"))
    db.verify()
    assert set((tmp_path / "lake").rglob("*.parquet")) == files
    db.close()
    again = opened(spark, tmp_path)
    tampered(tmp_path / "lake")  # now: a file of another size is found when a lake is opened
    with pytest.raises(NestlingError, match="of spend is not what its query says"):
        again.verify()
    monkeypatch.undo()
    with pytest.raises(NestlingError, match=r"spend is not what its query says: .* is missing"):
        again.verify()
    again.drop("spend")
    left = set((tmp_path / "lake").rglob("*.parquet"))
    assert left < files
    assert len(left) == len(again._state.declarations())
    again.close()


def tampered(lake: Path) -> None:
    """Double the amounts in the files of every map: all that is measured beside how often something is there."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    for file in (lake / "data").rglob("*.parquet"):
        table = pq.read_table(file)
        for i, field in enumerate(table.schema):
            if field.name.startswith("m") and field.name != "m0":
                table = table.set_column(i, field, pc.multiply(table.column(i), 2))
                pq.write_table(table, file)
                file.with_name(f".{file.name}.crc").unlink(missing_ok=True)  # Spark would notice
