"""Published names answer as of the last change, and a small change costs what it changes, not what is published."""

from collections import Counter
from datetime import datetime
from typing import Any

import pytest

from nestling.engine.spark import limits
from tests.frontends.sql.worlds import plain

pytestmark = pytest.mark.xdist_group("spark")

VIEWS = {
    "often": "SELECT who, count(*) AS n FROM orders GROUP BY who",
    "lines": "SELECT o.id, i.pid, i.qty FROM orders o LATERAL VIEW explode(o.items) t AS i",
    "sold": "SELECT i.pid, sum(i.qty) AS qty FROM orders o LATERAL VIEW explode(o.items) t AS i GROUP BY i.pid",
}


@pytest.fixture
def session(spark: Any) -> Any:
    """A user's session: his settings are not ours."""
    own = spark.newSession()
    own.conf.set("spark.sql.ansi.enabled", "false")
    own.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    return own


@pytest.fixture
def shop(opened: Any) -> Any:
    db = opened()
    db.table("orders", "id INT, who STRING, items ARRAY<STRUCT<pid: INT, qty: SMALLINT>>", key="id")
    db.table("people", "who STRING, born TIMESTAMP_NTZ", key="who")
    for name, text in VIEWS.items():
        db.view(name, text)
    db.insert("orders", [(i, f"w{i % 3}", [(i % 4, 1), (i % 5, 2)]) for i in range(30)])
    return db


def rows(found: Any) -> Counter[Any]:
    return Counter(plain(tuple(row)) for row in found.collect())


def answers(db: Any, session: Any) -> None:
    """Every name answers what the database does."""
    for name in (*db.tables, *db.views):
        wanted = db.view_df(name) if name in db.views else db.tables[name].df()
        assert session.table(f"`{name}`").schema == wanted.schema
        assert rows(session.table(f"`{name}`")) == rows(wanted), name


def test_names_follow_changes_files_and_definitions(shop, session, monkeypatch):
    """a few rows, rows that go to files, files that are merged, another program"""
    shop.publish()
    seen = session.table("often")
    monkeypatch.setattr(limits, "MAX_NEWEST_ROWS", 2)
    for number in range(4):
        shop.insert("orders", [(100 + number, "w9", [(7, 3)])])
    answers(shop, session)
    assert session.table("often").count() == seen.count() + 1
    monkeypatch.setattr(limits, "MAX_LOG_EPOCHS", 1)
    monkeypatch.setattr(limits, "MIN_COMPACTED_ROWS", 0)
    shop.delete("orders", key=3)
    answers(shop, session)
    shop.view("whole", "SELECT id, who FROM orders WHERE id > 5")
    shop.drop("lines")
    shop.publish("whole")
    shop.insert("people", [("w1", datetime(1999, 12, 31, 23))])
    shop.delete("orders", key=4)
    answers(shop, session)
    assert not session.catalog.tableExists("lines")


def test_a_small_change_registers_what_it_changes(shop, session, monkeypatch):
    """not what is published: nothing is analysed, and only the rows of sources that changed are sent"""
    shop.publish()
    shop.insert("orders", [(100, "w9", [(7, 3)])])
    kind = type(shop._state.running.session)
    texts: list[str] = []
    sent: list[int] = []
    sql, frame = kind.sql, kind.createDataFrame

    def counted_sql(self: Any, text: str, *args: Any, **kwargs: Any) -> Any:
        texts.append(text)
        return sql(self, text, *args, **kwargs)

    def counted_frame(self: Any, data: Any, *args: Any, **kwargs: Any) -> Any:
        sent.append(data.num_rows)
        return frame(self, data, *args, **kwargs)

    monkeypatch.setattr(kind, "sql", counted_sql)
    monkeypatch.setattr(kind, "createDataFrame", counted_frame)
    before = dict(shop._state.running.now.stored)
    shop.insert("orders", [(101, "w8", [(7, 3)])])
    changed = [name for name, stored in shop._state.running.now.stored.items() if stored is not before[name]]
    assert texts == []
    assert len(changed) > 3
    assert len(sent) == 1
    assert sent[0] <= 4 * len(changed)
    monkeypatch.undo()
    answers(shop, session)


def test_policies_are_published(opened, session):
    """what waits is passed on, and what is computed on reading is computed of the rows as they are"""
    db = opened()
    db.table("t", {"k": int, "x": int})
    for refresh in ("lazy", "hybrid"):
        db.view(refresh, "SELECT k, sum(x) AS x FROM t GROUP BY k", refresh=refresh)
    db.view("computed", "SELECT k, max(x) AS x FROM t GROUP BY k", store="none")
    db.publish()
    for n in range(3):
        db.insert("t", [(n % 2, n), (n, 5)])
        answers(db, session)
    found = {tuple(row) for row in session.table("lazy").collect()}
    assert found == {(0, 7), (1, 6), (2, 5)}
