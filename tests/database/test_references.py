# mypy: disable-error-code="valid-type, assignment, name-defined, misc"
"""References are kept good: what is refused, what follows from a row that goes, and updates along references."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import nestling as nl
from tests.objects import ORDERS, Address, Customer, people, shop


@pytest.fixture(params=["memory", "file"])
def path(request, tmp_path):
    return tmp_path / "x.nest" if request.param == "file" else None


def contents(db: Any) -> dict[str, Any]:
    return {name: sorted(map(repr, table)) for name, table in db.tables.items()} | {"version": db.version}


def rows(db: Any, name: str) -> dict[Any, Any]:
    return {row[0]: row for row in db.table(name)}


def check_refused(db: Any, act: Callable[[Any], Any], message: str) -> None:
    """The change is refused with these words, and nothing is changed."""
    before = contents(db)
    with pytest.raises(nl.ChangeError, match=message):
        act(db)
    assert contents(db) == before


def _two(db: Any) -> None:
    with db.transaction() as t:
        t.insert("customers", [(7, "x", ("", ""), None, None, [], 8)])
        t.insert("customers", [(8, "y", ("", ""), None, None, [], None)])


DATE = ORDERS[0][2]
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a row": (lambda db: db.insert("orders", [(20, 9, DATE, [], None, [])]),
              "customer of orders 20 is 9, but customers has no such row\nhint: insert it into customers first"),
    "an optional one": (lambda db: db.insert("orders", [(20, 1, DATE, [], 9, [])]), "gift of orders 20 is 9"),
    "in an element": (lambda db: db.insert("orders", [(20, 1, DATE, [(9, 1, 1)], None, [])]),
                      "lines.product of orders 20 is 9, but products has no such row"),
    "of a bag": (lambda db: db.insert("orders", [(20, 1, DATE, [], None, [1, 9])]), "watchers of orders 20 is 9"),
    "an inserted element": (lambda db: db.table("orders").at(10).lines.insert([(9, 1, 1)]),
        "lines.product of orders 10"),
    "an inserted reference": (lambda db: db.table("orders").at(10).watchers.insert([9]), "watchers of orders 10 is 9"),
    "an update": (lambda db: db.update("orders", key=10, set={"customer": 9}), "customer of orders 10 is 9"),
    "an update of an element": (lambda db: db.table("orders").at(10).lines.at({"product": 1}).update({"product": 9}),
                                "lines.product of orders 10 is 9"),
    "a Z-bag": (lambda db: db.apply({"orders": {(20, 9, DATE, (), None, ()): 1}}), "customer of orders 20 is 9"),
    "elements in bulk": (lambda db: db.apply({"orders.watchers": [{"no": 10, "element": 9, "_change_type": "insert"}]}),
                         "watchers of orders 10 is 9"),
    "a snapshot": (lambda db: db.sync("regions", [(1, "north")]), "2 of regions is referred to by customers 3 .region"),
    "a later statement": (_two, "referrer of customers 7 is 8, but customers has no such row"),
    "deletion": (lambda db: db.delete("customers", key=1),
                 "key 1 of customers is referred to by (orders 1.|customers .) .(customer|referrer)"),
    "deletion of an element's": (lambda db: db.delete("products", key=1),
        "1 of products is referred to by orders 1. .lines.product"),
    "deletion of a bag's": (lambda db: db.delete("customers", key=4),
        "4 of customers is referred to by orders 13 .watchers"),
    "deletion of all": (lambda db: db.delete("customers", where=lambda c: True), "of customers is referred to by"),
    "the key": (lambda db: db.update("customers", key=4, set={"id": 7}), "key 4 of customers is referred to by"),
    "a key in bulk": (lambda db: db.update("customers", where=lambda c: c.id == 4, set={"id": 7}),
        "the row's identity"),
    "a set": (lambda db: db.table("customers").at(1).tags.insert(["gold"]), "'gold' is in customers.tags already"),
    "a set given twice": (lambda db: db.insert("customers", [(9, "x", ("", ""), None, None, ["a", "a"], None)]),
        "that is a set"),
    "nil where it is never": (lambda db: db.update("orders", key=10, set={"customer": None}),
        "'customer' is never None"),
    "along nil": (lambda db: db.table("orders").at(11).gift.update({"name": "x"}), "gift of orders is nil there"),
    "along nothing": (lambda db: db.table("orders").at(11).customr.update({"name": "x"}), "updated at an element"),
    "an unknown column": (lambda db: db.table("orders").at(10).customer.update({"nam": "x"}),
        "customers has no column 'nam'"),
    "an inverse that is never nil": (lambda db: db.table("customers").at(1).orders.delete([10]),
        "customer of orders 10 is never nil"),
    "an inverse of others": (lambda db: db.table("customers").at(1).orders.delete([12]),
        "12 is not in orders of customers 1"),
    "an inverse of nobody": (lambda db: db.table("customers").at(1).orders.insert([99]),
        "orders has no row with key 99"),
    "an inverse in elements": (lambda db: db.table("products").at(1).soldIn.insert([10]),
        "is found in the elements of orders.lines"),
    "an inverse by a string": (lambda db: db.table("customers").at(1).orders.insert("ab"), "elements are not 'ab'"),
    "where and key": (lambda db: db.update("orders", key=10, where=lambda o: True, set={}),
        "exactly one of where and key"),
    "neither": (lambda db: db.update("orders", set={}), "exactly one of where and key"),
    "where that is none": (lambda db: db.update("orders", where=5, set={"gift": 1}), "where is a function of a row"),
}  # fmt: skip


@pytest.fixture(scope="module")
def there():
    db = shop(nl.Database())
    db.view("named", "SELECT o.no, c.name FROM orders o JOIN customers c ON c.id = o.customer")
    return db


@pytest.mark.parametrize(("act", "message"), REFUSED.values(), ids=REFUSED)
def test_what_would_lead_nowhere_is_refused(there, act, message):
    check_refused(there, act, message)
    there.verify(maps=True)


def test_rows_of_one_call_refer_to_each_other_in_any_order(path):
    with shop(nl.Database(path)) as db:
        db.insert("customers", [(7, "x", ("", ""), None, None, [], 8), (8, "y", ("", ""), None, None, [], 7)])
        new: Any = (9, "z", ("", ""), 3, None, [], 9)
        db.apply({"customers": [dict_of(db, "customers", new)], "regions": {(3, "west"): 1}})
        assert rows(db, "customers")[9].referrer == 9
        db.delete("customers", where=lambda c: c.id > 6)  # two that refer to each other, and one to itself
        assert sorted(rows(db, "customers")) == [1, 2, 3, 4]


def dict_of(db: Any, name: str, row: Any) -> dict[str, Any]:
    return dict(zip(db.table(name).record.names, row, strict=True), _change_type="insert")


def test_nil_and_cascade_and_dangle(path):
    words = {"customer": "cascade", "lines.product": "cascade", "gift": "nil", "watchers": "nil"}
    with shop(nl.Database(path), words) as db:
        db.view("gifts", "SELECT o.no, p.name FROM orders o LEFT JOIN products p ON p.id = o.gift")
        refresh = db.delete("products", key=1)
        assert refresh.tables == {"products": 1, "orders": 2, "orders.lines": 2}
        found = rows(db, "orders")
        assert (found[12].gift, found[10].gift) == (None, 3)
        assert {no: len(order.lines) for no, order in found.items()} == {10: 1, 11: 0, 12: 2, 13: 0}
        check_refused(
            db,
            lambda db: db.delete("customers", key=3),
            "3 of customers is referred to by customers 4 .referrer",
        )
        db.update("customers", key=4, set={"referrer": None})
        refresh = db.delete("customers", key=3)
        assert refresh.tables == {
            "customers": 1, "customers.tags": 1, "orders": 1, "orders.lines": 1, "orders.watchers": 2,
        }  # fmt: skip
        assert sorted(rows(db, "orders")) == [10, 11, 13]
        assert rows(db, "orders")[10].watchers == [2]
        db.verify(maps=True)
    if path is not None:
        with nl.Database(path) as db:
            assert sorted(rows(db, "orders")) == [10, 11, 13]
            db.verify(maps=True)


def tree(db: nl.Database, on_delete: str) -> nl.Database:
    db.table(
        "nodes", {"id": int, "up": int | None}, key="id", references={"up": "nodes"}, on_delete=on_delete
    )
    db.insert("nodes", [(1, None), (2, 1), (3, 2), (4, 1), (5, 5), (6, 7), (7, 6)])
    return db


def test_a_cascade_takes_each_row_once_and_children_first():
    db = tree(nl.Database(), "cascade")
    seen: list[Any] = []
    names = db.view("ups", "SELECT n.id, u.id AS up FROM nodes n JOIN nodes u ON u.id = n.up")
    names.subscribe(lambda change: seen.extend(change.deleted))
    assert db.delete("nodes", key=1).tables == {"nodes": 4}
    assert sorted(rows(db, "nodes")) == [5, 6, 7]
    assert sorted(seen) == [(2, 1), (3, 2), (4, 1)]
    assert db.delete("nodes", key=6).tables == {"nodes": 2}
    assert db.delete("nodes", key=5).tables == {"nodes": 1}
    db.verify(maps=True)


def test_a_long_chain_goes_at_once():
    db = nl.Database()
    db.table(
        "nodes", {"id": int, "up": int | None}, key="id", references={"up": "nodes"}, on_delete="cascade"
    )
    db.insert("nodes", [(i, i - 1 or None) for i in range(1, 3_000)])
    assert db.delete("nodes", key=2).tables == {"nodes": 2_998}


def test_nil_of_a_tree():
    db = tree(nl.Database(), "nil")
    db.delete("nodes", key=1)
    assert {row.id: row.up for row in db.table("nodes")} == {2: None, 3: 2, 4: None, 5: 5, 6: 7, 7: 6}


def test_a_reference_that_is_not_kept_may_lead_nowhere():
    db = tree(nl.Database(), "dangle")
    db.insert("nodes", [(8, 99)])
    db.delete("nodes", key=2)
    assert rows(db, "nodes")[3].up == 2
    assert not db._catalog().entry("nodes").references[("up",)].is_kept
    check_refused(
        db, lambda db: db.table("nodes").at(8).up.update({"up": 1}), "up of nodes is 99, but nodes has no"
    )


def test_refuse_is_asked_after_all_that_follows():
    db = nl.Database()
    db.table("a", {"id": int}, key="id")
    db.table("b", {"id": int, "a": int}, key="id", references={"a": "a"}, on_delete="cascade")
    db.table(
        "c", {"id": int, "a": int, "b": int}, references={"a": "a", "b": "b"}, on_delete={"b": "cascade"}
    )
    db.insert("a", [(1,)])
    db.insert("b", [(1, 1)])
    db.insert("c", [(1, 1, 1)])
    assert db.delete("a", key=1).tables == {"a": 1, "b": 1, "c": 1}


def test_what_goes_in_one_transaction_goes_in_any_order():
    db = shop(nl.Database())
    view = db.view("v", "SELECT o.no, c.name FROM orders o JOIN customers c ON c.id = o.customer")
    with db.transaction() as t:
        t.delete("regions", key=2)
        t.update("customers", key=3, set={"region": None})
        assert len(view) == 4  # the engine has some events by now
        t.delete("customers", key=2)
        t.delete("orders", key=13)
        t.delete_from("orders", 10, ("watchers",), [2])
    assert len(view) == 3
    db.verify(maps=True)


def test_an_object_may_change_its_class(path):
    with people(nl.Database(path)) as db:
        view = db.view("heads", "SELECT d.name, m.bonus FROM depts d JOIN managers m ON m.id = d.head")
        with db.transaction() as t:
            t.delete("students", key=3)
            t.insert("persons", [(3, "Sue", 21, 2, [])])
        assert rows(db, "managers")[2].staff == [1, 3]
        db.apply({"persons": {(3, "Sue", 21, 2, ()): -1}, "students": {(3, "Sue", 22, 2, (), 5): 1}})
        assert rows(db, "students")[3].grade == 5
        check_refused(db, lambda db: db.delete("students", key=3), "3 of persons is referred to by")
        check_refused(
            db,
            lambda db: db.insert("persons", [(4, "x", 1, None, [])]),
            "students already has a row with key 4",
        )
        check_refused(
            db, lambda db: db.insert("managers", [(1, "x", 1, None, [], 0, [])]), "persons already has"
        )
        check_refused(db, lambda db: db.update("managers", key=2, set={"id": 9}), "the row's identity")
        assert [tuple(row) for row in view] == [("R&D", 7)]
        db.verify(maps=True)
    if path is not None:
        with nl.Database(path) as db:
            db.insert("depts", [(3, "x", 3)])
            check_refused(db, lambda db: db.delete("students", key=3), "is referred to by")


def test_updates_along_references(path):
    with shop(nl.Database(path)) as db:
        orders, customers = db.table("orders"), db.table("customers")
        assert orders.at(10).customer.update({"name": "Eve"}).tables == {"customers": 2}
        orders.at(12).customer.region.update({"name": "far south"})
        orders.at(10).lines.at({"product": 2}).product.update({"cost": 10})
        orders.at(10).lines.at({"product": 1}).update({"product": 3, "quantity": 7})
        orders.at(10).gift.update({"name": "dish"})
        assert rows(db, "customers")[1].name == "Eve"
        assert rows(db, "regions")[2].name == "far south"
        assert {row.id: (row.name, row.cost) for row in db.table("products")} == {
            1: ("tea", 4),
            2: ("cup", 10),
            3: ("dish", 12),
        }
        assert sorted(rows(db, "orders")[10].lines) == [(2, 1, 10), (3, 7, 5)]
        customers.at(1).orders.insert([12, 13])
        assert {no: order.customer for no, order in rows(db, "orders").items()} == dict.fromkeys(
            range(10, 14), 1
        )
        customers.at(1).referred.delete([2])
        customers.at(4).referred.insert([rows(db, "customers")[1].id, 2])
        assert {row.id: row.referrer for row in customers} == {1: 4, 2: 4, 3: 1, 4: 3}
        orders.at(13).watchers.insert([1])
        orders.at(13).watchers.delete([4])
        assert sorted(rows(db, "orders")[13].watchers) == [1, 4]
        customers.at(1).tags.insert(["old"])
        customers.at(1).tags.delete(["new"])
        assert sorted(rows(db, "customers")[1].tags) == ["gold", "old"]
        assert db.update("products", where=lambda p: p.cost > 9, set={"cost": 9}).tables == {"products": 4}
        assert {row.cost for row in db.table("products")} == {4, 9}
        assert db.update("orders", key=10, set={"customer": 1}).events == 0  # nothing changed
        with db.transaction() as t:
            t.update("orders", where=lambda o: o.gift is not None, set={"gift": None})
        assert {row.gift for row in orders} == {None}


def test_an_inverse_of_a_bag_of_references():
    db = nl.Database()
    db.table(
        "clubs",
        {"id": int, "members": [int], "best": set[int]},
        key="id",
        references={"members": "people", "best": "people"},
    )
    db.table("people", {"id": int}, key="id", inverse={"clubs": "clubs.members", "bests": "clubs.best"})
    db.insert("people", [(1,), (2,)])
    db.insert("clubs", [(1, [1], []), (2, [], [])])
    db.table("people").at(2).clubs.insert([1, 2, 2])
    db.table("people").at(1).bests.insert([1])
    db.table("people").at(2).clubs.delete([2])
    assert {row.id: (sorted(row.members), row.best) for row in db.table("clubs")} == {
        1: ([1, 2], [1]),
        2: ([2], []),
    }
    check_refused(db, lambda db: db.table("people").at(1).clubs.delete([2]), "2 is not in clubs of people 1")
    check_refused(db, lambda db: db.table("people").at(1).bests.insert([1]), "that is a set")


@dataclass(frozen=True)
class Coin:
    id: int
    name: str
    worn: list[int]


def test_fixed_columns_do_not_change(path):
    with nl.Database(path) as db:
        coins = db.table("coins", Coin, key="id")
        db.table("some", {"id": int, "a": int, "b": int}, key="id", fixed=["a"])
        db.insert("coins", [Coin(1, "cent", [])])
        db.insert("some", [(1, 1, 1)])
        db.update("some", key=1, set={"b": 2})
        coins.at(1).worn.insert([3])
        for act in [
            lambda db: db.update("coins", key=1, set={"name": "penny"}),
            lambda db: db.update("some", where=lambda r: True, set={"a": 2}),
            lambda db: db.apply({"some": {(1, 1, 2): -1, (1, 3, 2): 1}}),
            lambda db: db.sync("some", [(1, 5, 2)]),
            _replaced,
        ]:
            check_refused(db, act, r"of (coins|some) 1 is fixed\nhint: delete")
        db.delete("some", key=1)
        db.insert("some", [(1, 9, 9)])
        assert db._state.declarations()["some"].fixed == (1,)
    if path is not None:
        with nl.Database(path) as db:
            check_refused(
                db, lambda db: db.update("coins", key=1, set={"name": "penny"}), "name of coins 1 is fixed"
            )


def _replaced(db: Any) -> None:
    with db.transaction() as t:
        t.delete("some", key=1)
        t.insert("some", [(1, 3, 2)])


def test_a_reference_to_a_table_that_comes_later():
    db = nl.Database()
    db.table("x", {"id": int, "y": int | None}, key="id", references={"y": "later"})
    db.insert("x", [(1, None)])
    check_refused(db, lambda db: db.insert("x", [(2, 1)]), "y of x 2 is 1, but there is no table later yet")
    db.table("later", {"id": int}, key="id")
    db.insert("later", [(1,)])
    db.insert("x", [(2, 1)])
    check_refused(db, lambda db: db.delete("later", key=1), "is referred to by x 2")
    assert list(db._state.declarations()) == ["later", "x"]


def test_programs_rely_on_what_holds():
    db = nl.Database()
    declared = people(db)._state.declarations()
    assert {name: decl.references for name, decl in declared.items() if decl.references} == {}
    declared = shop(nl.Database())._state.declarations()
    assert {name: decl.references for name, decl in declared.items() if decl.references} == {
        "orders": (((1,), "customers"),),
        "orders.lines": (((1,), "products"),),
        "orders.watchers": (((1,), "customers"),),
    }


def test_instances_are_found_by_their_key():
    db = shop(nl.Database())
    ada = Customer(1, "", Address("", ""), None, None, set(), None)
    db.table("customers").at(ada).update({"name": "Eve"})
    db.table("customers").at(ada).orders.insert([12])
    assert rows(db, "orders")[12].customer == 1


def events_of(db: Any, act: Callable[[Any], Any]) -> list[tuple[str, Any, int]]:
    """The events of a transaction, as they are applied."""
    with db.transaction() as t:
        act(t)
    return [(event.table, event.row[0], event.times) for event in t.events]


def chain() -> nl.Database:
    db = nl.Database()
    db.table("a", {"id": int}, key="id")
    db.table("b", {"id": int, "a": int}, key="id", references={"a": "a"}, on_delete="cascade")
    db.table("c", {"id": int, "b": int | None, "n": int}, key="id", references={"b": "b"}, on_delete="nil")
    db.insert("a", [(1,), (2,)])
    db.insert("b", [(1, 1), (2, 1)])
    db.insert("c", [(1, 1, 0)])
    return db


def test_events_of_a_cascade_are_children_first():
    events = events_of(chain(), lambda t: t.delete("a", key=1))
    assert [(table, times) for table, _, times in events] == [
        ("c", -1),
        ("c", 1),
        ("b", -1),
        ("b", -1),
        ("a", -1),
    ]


def test_a_row_that_is_replaced_stays_where_it_is():
    db = chain()

    def act(t: Any) -> None:
        t.delete("a", key=1)
        t.insert("a", [(1,)])
        t.delete("b", key=2)

    assert events_of(db, act) == [("a", 1, -1), ("a", 1, 1), ("b", 2, -1)]


def test_a_row_whose_parent_goes_may_change():
    db = chain()
    with db.transaction() as t:
        t.delete("b", key=1)
        t.update("c", key=1, set={"n": 1})
    assert rows(db, "c")[1] == (1, None, 1)
