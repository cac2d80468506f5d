"""What others refer to stays, on Spark, few rows and many; by the state at the end of a change."""

from typing import Any

import pytest

import nestling as nl
from nestling.engine.spark import limits
from nestling.errors import ChangeError

pytestmark = pytest.mark.xdist_group("spark")

AUTHORS = "name STRING, born INT"
DOCS = "id INT, author STRING"
NOTES = "doc INT, text STRING"


@pytest.fixture(scope="module")
def db(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    db = nl.Database(spark=spark, path=tmp_path_factory.mktemp("references") / "lake")
    db.table("authors", AUTHORS, key="name")
    db.table("docs", DOCS, key="id", references={"author": "authors"})
    db.table("notes", NOTES, references={"doc": "docs"})
    db.insert("authors", [("Ada", 1815), ("Bo", 1900), ("Cy", 1950)])
    db.insert("docs", [(1, "Ada"), (2, "Bo"), (3, "Bo")])
    db.insert("notes", [(1, "a"), (1, "a")])
    yield db
    db.close()


def refused(act: Any, *words: str) -> None:
    with pytest.raises(ChangeError) as error:
        act()
    assert "is referred to by" in error.value.what
    for word in words:
        assert word in str(error.value)


def contents(db: Any) -> Any:
    return sorted(map(tuple, db.table("authors"))), sorted(map(tuple, db.table("docs"))), db.version


def test_a_parent_of_rows_stays(db):
    before = contents(db)
    refused(lambda: db.delete("authors", key="Ada"), "Ada", "authors", "docs")
    refused(lambda: db.delete("authors", [("Bo", 1900)]))
    refused(lambda: db.update("authors", key="Bo", set={"name": "Bob"}), "Bo")
    refused(lambda: db.delete("docs", key=1), "1", "docs", "notes")
    with pytest.raises(ChangeError, match="is referred to by notes"), db.transaction() as t:
        t.delete("docs", key=1)
        t.delete("notes", [(1, "a")])  # one of two
    refused(lambda: db.sync("authors", [("Ada", 1815), ("Cy", 1950)]), "Bo")
    refused(lambda: db.delete("authors", where=lambda a: a.born > 1850))
    assert contents(db) == before


def test_parents_and_children_go_together_in_any_order(db):
    before = contents(db)[:2]
    with db.transaction() as t:
        t.delete("authors", key="Bo")
        t.delete("docs", key=2)
        t.delete("docs", key=3)
    with db.transaction() as t:
        t.insert("authors", [("Bo", 1900)])
        t.insert("docs", [(2, "Bo"), (3, "Bo")])
    db.update("authors", key="Bo", set={"born": 1901})
    with db.transaction() as t:
        t.delete("authors", key="Bo")
        t.insert("authors", [("Bo", 1900)])
    with pytest.raises(ChangeError, match="is referred to by"), db.transaction() as t:
        t.insert("docs", [(4, "Cy")])
        t.delete("authors", key="Cy")
    assert contents(db)[:2] == before


def test_a_block_that_raises_leaves_nothing_behind(db):
    before = contents(db)
    with pytest.raises(ZeroDivisionError), db.transaction() as t:
        t.insert("authors", [("Dee", 2000)])
        raise ZeroDivisionError
    assert contents(db) == before
    db.insert("authors", [("Eve", 2001)])
    db.delete("authors", key="Eve")
    assert contents(db)[:2] == before[:2]


FEED = ", _change_type STRING"


def test_many_rows_obey_the_same_rule(db, spark, monkeypatch):
    monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    before = contents(db)
    refused(
        lambda: db.delete("authors", spark.createDataFrame([("Bo", 1900)], AUTHORS)), "Bo", "authors", "docs"
    )
    assert contents(db) == before
    replaced = spark.createDataFrame([("Bo", 1900, "delete"), ("Bo", 1902, "insert")], AUTHORS + FEED)
    db.apply({"authors": replaced, "docs": spark.createDataFrame([(3, "Bo", "delete")], DOCS + FEED)})
    assert contents(db)[1] == [(1, "Ada"), (2, "Bo")]
    monkeypatch.undo()
    db.insert("docs", [(3, "Bo")])
    db.update("authors", key="Bo", set={"born": 1900})


@pytest.mark.soak
def test_many_rows_of_three_tables(db, spark, monkeypatch):
    monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    before = contents(db)
    authors = spark.createDataFrame([("Ada", 1815), ("Cy", 1950)], AUTHORS)
    refused(lambda: db.sync("authors", authors), "Bo", "authors", "docs")
    refused(lambda: db.delete("authors", authors), "Ada")
    refused(lambda: db.delete("docs", spark.createDataFrame([(1, "Ada")], DOCS)), "1", "notes")
    assert contents(db) == before
    gone = [("Ada", 1815, "delete"), ("Bo", 1900, "delete")]
    db.apply(
        {
            "authors": spark.createDataFrame(gone, AUTHORS + FEED),
            "docs": spark.createDataFrame([(*doc, "delete") for doc in before[1]], DOCS + FEED),
            "notes": spark.createDataFrame([(1, "a", "delete")] * 2, NOTES + FEED),
        }
    )
    assert contents(db)[:2] == ([("Cy", 1950)], [])
    db.insert("authors", spark.createDataFrame([("Ada", 1815), ("Bo", 1900)], AUTHORS))
    db.insert("docs", spark.createDataFrame(before[1], DOCS))
    assert contents(db)[:2] == before[:2]
