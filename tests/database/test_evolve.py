"""Changes of mind: columns, names and views that change while there are rows, views and readers."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from nestling.calculus.evaluate import evaluate
from nestling.calculus.terms import Relation
from nestling.calculus.types import INT, STR, Bag, Record, show_type
from nestling.database.durable import DatabaseFile
from nestling.database.reshape import AddColumn, DropColumn, RenameColumn, as_before, converted, reshaped
from nestling.values.bag import EMPTY, ZBag
from tests import strategies
from tests.database.orders import CUSTOMERS, PARTS, bought, extremes, history, later, rich, spent, tags

CUSTOMER_ROWS = [
    {"id": 1, "city": "a", "orders": [{"day": 1, "items": [{"pid": 1, "qty": 2}, {"pid": 2, "qty": 1}]}]},
    {"id": 2, "city": "a", "orders": []},
    {"id": 3, "city": "b", "orders": [{"day": 2, "items": [{"pid": 1, "qty": 3}]}, {"day": 3, "items": []}]},
]
PART_ROWS = [{"pid": 1, "price": 2, "tags": ["x", "y"]}, {"pid": 2, "price": 3, "tags": ["x"]}]


def shop(path: Any = None) -> nl.Database:
    db = nl.Database(path)
    db.table("customers", CUSTOMERS, key="id").insert(CUSTOMER_ROWS)
    db.table("parts", PARTS).insert(PART_ROWS)
    for view in (bought, spent, history, tags, rich, extremes, later):
        db.view(view, refresh="lazy" if view is extremes else "eager")
    db.view("all", "[c for c in customers]", language="python")
    db.view("count", "[len(customers)]", language="python")
    db.constraint("modest", "SELECT id FROM customers WHERE id > 1000")
    return db


def answers(db: nl.Database) -> dict[str, Any]:
    return {name: view.bag() for name, view in db.views.items()}


def there_and_back(db: nl.Database) -> None:
    db.table("parts").add_column("n", int, default=1)
    db.table("parts").rename_column("n", "m")
    db.table("parts").drop_column("m")


Act = Callable[[nl.Database], Any]
#: Changes that leave every view its answer.
KEPT: dict[str, Act] = {
    "add": lambda db: db.table("customers").add_column("age", int | None),
    "add with a default": lambda db: db.table("customers").add_column("age", int, default=7),
    "add a bag": lambda db: db.table("parts").add_column("codes", list[int]),
    "add a record": lambda db: db.table("parts").add_column("at", {"x": int}, default=(1,)),
    "add inside": lambda db: db.table("customers").add_column("orders.note", str, default="?"),
    "add deep inside": lambda db: db.table("customers").add_column("orders.items.tax", float | None),
    "rename": lambda db: db.table("customers").rename_column("city", "town"),
    "rename the key": lambda db: db.table("customers").rename_column("id", "number"),
    "rename a bag": lambda db: db.table("customers").rename_column("orders", "bought"),
    "rename inside": lambda db: db.table("customers").rename_column("orders.items", "lines"),
    "rename deep inside": lambda db: db.table("customers").rename_column(
        ("orders", "items", "qty"), "amount"
    ),
    "widen the size": lambda db: db.table("customers").widen_column("orders.items.qty", int),
    "rename a table": lambda db: db.rename("customers", "clients"),
    "rename another": lambda db: db.rename("parts", "pieces"),
    "and drop": there_and_back,
}


@pytest.mark.parametrize("act", KEPT.values(), ids=KEPT)
def test_every_view_keeps_its_answer(act, tmp_path):
    path = tmp_path / "shop.nest"
    db = shop(path)
    before, types = answers(db), {name: view.element for name, view in db.views.items()}

    act(db)

    assert answers(db) == before
    assert {name: view.element for name, view in db.views.items()} == types
    db.verify(maps=True)
    db.close()
    db = nl.Database(path)
    assert answers(db) == before
    change(db)
    db.verify(maps=True)
    assert answers(db) != before


def change(db: nl.Database) -> None:
    """Give a part another price, and take a customer away."""
    parts = next(table for name, table in db.tables.items() if name in ("parts", "pieces"))
    clients = next(table for name, table in db.tables.items() if name in ("customers", "clients"))
    parts.update(where=lambda p: p.pid == 1, set={"price": 5})
    clients.delete(key=3)


def test_a_column_has_the_same_value_in_all_rows():
    db = shop()
    customers = db.table("customers")
    customers.add_column("orders.note", str, default="?")
    customers.add_column("age", int | None)
    assert customers[3].orders[0] == (2, [(1, 3)], "?")
    assert customers.columns == ["id", "city", "orders", "age"]
    customers.insert([(4, "c", [(1, [], "!")], 5)])
    customers.at(4).orders.insert([{"day": 2, "items": [], "note": ""}])
    assert customers[4] == (4, "c", [(1, [], "!"), (2, [], "")], 5)


def test_a_name_with_dots_is_a_tuple():
    table = nl.Database().table("t", {"k": int, "a..b": int}, key="k")
    table.insert([(1, 2)])
    with pytest.raises(nl.QueryError, match="between two dots stands a name") as error:
        table.drop_column("a..b")
    assert '("a.b",)' in str(error.value)
    table.rename_column(("a..b",), "c")
    assert (table.columns, table.rows()) == (["k", "c"], [(1, 2)])


def test_a_widened_column_widens_what_reads_it():
    db = shop()
    parts = db.table("parts")
    parts.widen_column("price", Decimal)
    parts.insert([(3, Decimal("0.5"), [])])
    assert show_type(db.views["bought"].element) == "⟨id: int, _1: decimal⟩"
    db.verify(maps=True)
    db.table("loose", {"a": int}).widen_column("a", int | None)
    db.insert("loose", [(None,)])


def test_a_reader_hears_of_what_comes_after():
    db = shop()
    told: list[Any] = []
    db.views["spent"].subscribe(told.append)
    db.views["history"].subscribe(told.append)
    db.table("customers").rename_column("orders.items.qty", "n")
    db.insert("customers", [(7, "z", [(1, [{"pid": 1, "n": 9}])])])
    assert [(change.view, change.inserted) for change in told if change.view == "spent"] == [
        ("spent", [("z", 9)])
    ]
    assert len(told) == 2


# views


def test_a_view_is_replaced_with_the_views_over_it(tmp_path):
    path = tmp_path / "x.nest"
    with shop(path) as db:
        db.view("richer", "[r for r in rich if r != 'a']", language="python")
        db.view("spent", "[(c.city, 3) for c in customers]", language="python", replace=True)
        assert sorted(db.views["rich"]) == ["a", "a", "b"]
        assert db.views["richer"].rows() == ["b"]
        db.verify(maps=True)
    with nl.Database(path) as db:
        assert db.views["richer"].rows() == ["b"]
        db.insert("customers", [(9, "z", [])])
        assert sorted(db.views["richer"]) == ["b", "z"]
        db.sql("CREATE OR REPLACE VIEW spent AS SELECT city, 1 AS _1 FROM customers")
        assert db.views["richer"].rows() == []
        db.verify(maps=True)
        db.view("spent", "SELECT city, 1 AS _1 FROM customers", replace=True)


def test_a_view_has_another_name(tmp_path):
    with shop(tmp_path / "x.nest") as db:
        db.view("richer", "[r for r in rich if r != 'a']", language="python")
        db.view("lone", "SELECT id FROM customers")
        db.rename("spent", "paid")
        db.rename("modest", "few")
        assert "spent" not in db.views
        assert db.views["rich"].rows() == ["a", "b"]
        db.view("paid", "[(c.city, 0) for c in customers]", language="python", replace=True)
        assert db.views["rich"].rows() == []
        db.view("late", "[(c.id, 1) for c in customers]", language="python")
        db.view("lone", "SELECT id FROM late", replace=True)
    with nl.Database(tmp_path / "x.nest") as db:
        assert db.views["richer"].rows() == []
        assert len(db.views["lone"]) == 3
        assert db.views["paid"].rows() == [("a", 0), ("a", 0), ("b", 0)]
        with pytest.raises(nl.ConstraintError, match="few"):
            db.insert("customers", [(1001, "a", [])])


def test_what_refers_to_a_table_follows_its_name(tmp_path):
    with nl.Database(tmp_path / "x.nest") as db:
        db.table("people", {"id": int, "name": str}, key="id")
        db.table("pets", {"name": str, "owner": int}, references={"owner": "people"})
        db.insert("people", [(1, "ann")])
        db.insert("pets", [("rex", 1)])
        db.rename("people", "owners")
        db.table("owners").rename_column("id", "number")
        db.table("pets").rename_column("owner", "of")
    with nl.Database(tmp_path / "x.nest") as db:
        db.insert("pets", [("mew", 1)])
        with pytest.raises(nl.ChangeError, match="owners has no such row"):
            db.insert("pets", [("bo", 2)])
        with pytest.raises(nl.ChangeError):
            db.delete("owners", key=1)


# refusals


REFUSED: dict[str, tuple[Act, str]] = {
    "a column that is read": (lambda db: db.table("parts").drop_column("pid"), "pid of parts is read by bought"),
    "inside": (
        lambda db: db.table("customers").drop_column("orders.items.qty"),
        "orders.items.qty of customers is read by bought, spent, rich, later, all",
    ),
    "a bag": (lambda db: db.table("parts").drop_column("tags"), "tags of parts is read by tags"),
    "the key": (lambda db: db.table("customers").drop_column("id"), "is in the key|is read by"),
    "no such column": (lambda db: db.table("parts").drop_column("x"), "there is no column 'x'"),
    "no such bag": (lambda db: db.table("parts").add_column("x.y", int | None), "there is no column 'x'"),
    "in a scalar": (lambda db: db.table("parts").add_column("pid.y", int | None), "'pid' holds no columns"),
    "a column twice": (lambda db: db.table("parts").add_column("pid", int | None), "there is a column 'pid' already"),
    "a name twice": (lambda db: db.table("parts").rename_column("pid", "price"), "there is a column 'price' beside"),
    "no default": (lambda db: db.table("parts").add_column("n", int), "need a value of 'n'"),
    "a bad default": (lambda db: db.table("parts").add_column("n", int, default="x"), "the default of 'n' is none"),
    "narrower": (lambda db: db.table("parts").widen_column("price", str), "which not every str can be"),
    "a bag is no scalar": (lambda db: db.table("parts").widen_column("tags", int), "is no scalar"),
    "what cannot follow": (lambda db: db.table("parts").widen_column("price", int | None), "cannot follow"),
    "a name that is taken": (lambda db: db.rename("parts", "customers"), "already defined"),
    "a name of nothing": (lambda db: db.rename("x", "y"), "there is no 'x'"),
    "a view over it": (
        lambda db: db.view("spent", "SELECT id FROM customers", replace=True),
        "rich cannot follow spent",
    ),
    "itself": (lambda db: db.view("spent", "SELECT city FROM spent", replace=True), "spent reads itself"),
    "in a circle": (lambda db: db.view("spent", "SELECT * FROM rich", replace=True), "spent would read rich"),
    "otherwise": (lambda db: db.view("spent", "SELECT id FROM customers"), "defined"),
}  # fmt: skip


@pytest.mark.parametrize(("act", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_follow_is_refused_with_what_stands_in_the_way(act, message, refusing):
    before, tables = answers(refusing), {name: table.rows() for name, table in refusing.tables.items()}
    with pytest.raises(nl.QueryError, match=message) as error:
        act(refusing)
    assert "\nhint: " in str(error.value)
    assert (answers(refusing), {name: table.rows() for name, table in refusing.tables.items()}) == (
        before,
        tables,
    )


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    """What is refused leaves it as it is, so that one is enough; the file too."""
    path = tmp_path_factory.mktemp("refusing") / "x.nest"
    with shop(path) as db:
        before = answers(db)
        yield db
        db.verify(maps=True)
    with nl.Database(path) as db:
        assert answers(db) == before


def test_a_table_that_is_a_document_stays_as_it_is():
    db = nl.Database()
    towns = db.table("towns", {"id": int, "name": str}, key="id")
    db.table("other", {"a": int})
    view = db.view(
        "names", '<t>{for $c in doc("towns")/towns/row return data($c/name)}</t>', language="xquery"
    )
    towns.insert([(1, "a"), (2, "b")])
    for act in (lambda: towns.add_column("x", int | None), lambda: db.rename("towns", "cities")):
        with pytest.raises(nl.QueryError, match="towns is read by names, in XQuery"):
            act()
    db.rename("other", "another")
    db.table("another").add_column("b", int | None)
    towns.insert([(3, "c")])
    assert view.xml() == "<t>a b c</t>"


def test_an_int_that_no_float_is_stays_one():
    db = nl.Database()
    table = db.table("t", {"n": int})
    table.insert([(1 << 60,), ((1 << 60) + 1,)])
    with pytest.raises(nl.QueryError, match="which no float is"):
        table.widen_column("n", float)
    table.widen_column("n", Decimal)
    assert sorted(table) == [(1 << 60,), ((1 << 60) + 1,)]


def test_no_definition_changes_inside_a_transaction():
    db = shop()
    with pytest.raises(nl.QueryError, match="inside a transaction"), db.transaction():
        db.table("parts").add_column("x", int | None)


@pytest.mark.parametrize("name", ["rename inside", "rename a table", "add"])
def test_what_is_cut_off_leaves_the_old(name, tmp_path, monkeypatch):
    db = shop(tmp_path / "x.nest")
    before, columns = answers(db), {name: table.record for name, table in db.tables.items()}

    def cut_off(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(DatabaseFile, "_snapshot", cut_off)
        with pytest.raises(KeyboardInterrupt):
            KEPT[name](db)
    for _ in range(2):
        assert {name: table.record for name, table in db.tables.items()} == columns
        assert answers(db) == before
        db.verify(maps=True)
        db.close()
        db = nl.Database(tmp_path / "x.nest")
    db.close()


def test_a_view_is_in_the_way_of_what_it_reads_alone():
    db = nl.Database()
    t = db.table("t", {"a": int, "b": int, "xs": list[int]})
    t.insert([(1, 2, [3]), (1, 2, [])])
    db.view("whole", "[r for r in t]", language="python")
    db.view("each", "[1 for r in t for x in r.xs]", language="python")
    db.view("count", "[len(t)]", language="python")
    t.add_column("c", int, default=0)
    assert sorted(db.views["whole"]) == [(1, 2, []), (1, 2, [3])]
    with pytest.raises(nl.QueryError, match="a of t is read by whole\n"):
        t.drop_column("a")
    db.drop("whole")
    with pytest.raises(nl.QueryError, match="xs of t is read by each\n"):
        t.drop_column("xs")
    t.drop_column("a")
    assert sorted(t) == [(2, [], 0), (2, [3], 0)]
    assert (db.views["each"].rows(), db.views["count"].rows()) == ([1], [2])


# the law


OLD = Record((("a", INT), ("b", Bag(Record((("c", INT), ("d", STR)))))))


@given(strategies.values(OLD), st.data())
def test_a_row_is_what_it_was_as_before(row, data):
    path = data.draw(st.sampled_from([("a",), ("b",), ("b", "c"), ("b", "d")]))
    made: Any = data.draw(
        st.sampled_from(
            [
                AddColumn((*path[:-1], "new"), Bag(INT), EMPTY),
                AddColumn((*path[:-1], "new"), INT, 1),
                RenameColumn(path, "new"),
            ]
        )
    )
    new, rows = reshaped(OLD, made), ZBag([(converted(OLD, made)(row), 2)])
    assert evaluate(as_before(OLD, Relation("R", Bag(new)), made), {"R": rows}) == ZBag([(row, 2)])
    shorter = (
        converted(new, DropColumn(made.path))(converted(OLD, made)(row))
        if isinstance(made, AddColumn)
        else row
    )
    assert shorter == row
