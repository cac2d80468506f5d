"""Changes of mind on Spark: the cases of a database in this process, one after the other in one lake."""

from decimal import Decimal
from typing import Any

import pytest

import nestling as nl
from tests.database.orders import CUSTOMERS, PARTS, bought, extremes, later, rich, spent
from tests.database.test_evolve import CUSTOMER_ROWS, KEPT, PART_ROWS, REFUSED, answers, change

pytestmark = pytest.mark.xdist_group("spark")

#: In an order in which each finds the names that it needs.
ACTS = (
    "add", "add a bag", "add a record", "add inside", "add deep inside", "and drop", "rename deep inside",
    "rename inside", "rename a bag", "rename", "rename the key", "rename another", "rename a table",
)  # fmt: skip


def shop(db: Any) -> Any:
    db.table("customers", CUSTOMERS, key="id").insert(CUSTOMER_ROWS)
    db.table("parts", PARTS).insert(PART_ROWS)
    for view in (bought, spent, rich, extremes, later):
        db.view(view, refresh="lazy" if view is extremes else "eager")
    db.view("all", "[c for c in customers]", language="python")
    db.constraint("modest", "SELECT id FROM customers WHERE id > 1000")
    return db


def test_every_view_keeps_its_answer(opened):
    db = shop(opened())
    before, types = answers(db), {name: view.element for name, view in db.views.items()}
    told: list[Any] = []
    db.views["spent"].subscribe(told.append)
    db.keep_changes("bought")
    at = db.version
    for name in ACTS:
        KEPT[name](db)
        assert answers(db) == before, name
        assert {name: view.element for name, view in db.views.items()} == types
    db.verify(maps=True)
    assert db.tables.keys() == {"clients", "pieces"}
    new = {"number": 7, "town": "z", "age": 1, "bought": [
        {"day": 1, "lines": [{"pid": 1, "amount": 9, "tax": 0.5}], "note": "!"}]}  # fmt: skip
    db.table("clients").insert([new])
    assert [(each.inserted, each.deleted) for each in told] == [([("z", 9)], [])]
    assert [row["id"] for row in db.view_df("bought", changes_since=at).collect()] == [7]
    db.table("pieces").delete(where=lambda p: p.pid == 2)
    change(db)
    after = answers(db)
    db.verify(maps=True)
    db = opened()
    assert answers(db) == after != before
    assert db.table("clients")[7] == (7, "z", [(1, [(1, 9, 0.5)], "!")], 1)
    assert db.table("clients")[1].bought[0].lines == [(1, 2, None), (2, 1, None)]
    db.table("clients").at(7).bought.at({"day": 1}).lines.insert([(2, 1, None)])
    assert db.views["spent"]["z"] == ("z", 10)
    with pytest.raises(nl.ConstraintError, match="modest"):
        db.insert("clients", [{**new, "number": 1001}])


def test_views_and_what_they_read_change_on_spark(opened, spark, tmp_path):
    db = shop(opened())
    before, tables = answers(db), {name: table.rows() for name, table in db.tables.items()}
    for name in ("inside", "the key", "no such column", "a column twice", "no default", "narrower",
                 "what cannot follow", "a name that is taken", "a view over it", "itself"):  # fmt: skip
        act, message = REFUSED[name]
        with pytest.raises(nl.QueryError, match=message):
            act(db)
    assert (answers(db), {name: table.rows() for name, table in db.tables.items()}) == (before, tables)

    db.view("richer", "[r for r in rich if r != 'a']", language="python")
    db.view("spent", "[(c.city, 3) for c in customers]", language="python", replace=True)
    assert (sorted(db.views["rich"]), db.views["richer"].rows()) == (["a", "a", "b"], ["b"])
    db.rename("spent", "paid")
    db.rename("modest", "few")
    db.table("parts").widen_column("price", Decimal)
    db.table("parts").insert([(3, Decimal("0.5"), [])])
    assert "_1: decimal" in repr(db.views["bought"].element) or db.views["bought"].element.types[1].name
    db.table("loose", {"a": int, "b": list[int]}).insert([((1 << 60) + 1, [1]), (2, [])])
    with pytest.raises(nl.QueryError, match="which no float is"):
        db.table("loose").widen_column("a", float)
    with pytest.raises(nl.QueryError, match="added empty"):
        db.table("loose").add_column("c", list[int], default=[1])
    db.table("loose").drop_column("b")
    db.table("loose").widen_column("a", Decimal)
    db.verify(maps=True)
    db.insert("customers", [(9, "z", [])])

    db.backup(tmp_path / "copy")
    with pytest.raises(nl.StoreError, match="is there already"):
        db.backup(tmp_path / "copy")
    after = answers(db)
    db.insert("customers", [(10, "y", [])])
    with nl.Database(spark=spark, path=tmp_path / "copy") as copy:
        assert answers(copy) == after
        assert sorted(copy.table("loose")) == [(2,), ((1 << 60) + 1,)]
        assert copy.version == db.version - 1
        copy.insert("customers", [(11, "x", [])])
        copy.verify(maps=True)
        with pytest.raises(nl.ConstraintError, match="few"):
            copy.insert("customers", [(1001, "a", [])])
    assert 11 not in db.table("customers")


@pytest.mark.parametrize("name", ["rename inside"])
def test_what_is_cut_off_leaves_the_old(name, opened, monkeypatch):
    db = opened()
    db.table("customers", CUSTOMERS, key="id").insert(CUSTOMER_ROWS)
    db.view(spent)
    before, columns = answers(db), db.table("customers").record

    def cut_off(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("nestling.storage.lake.Lake.commit", cut_off)
        with pytest.raises(KeyboardInterrupt):
            KEPT[name](db)
    for _ in range(2):
        assert db.table("customers").record == columns
        assert answers(db) == before
        db.verify(maps=True)
        db = opened()
    KEPT[name](db)
    assert answers(opened()) == before
