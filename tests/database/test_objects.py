# mypy: disable-error-code="valid-type, assignment, name-defined, misc"
"""Classes, references, inverses, sets and families: what a table declares, what is refused, and that it is stored."""

import json
from dataclasses import dataclass, replace
from typing import Any, Optional

import pytest

import nestling as nl
from nestling.database.definitions import Reference
from nestling.database.texts import read_table, table_text
from tests.objects import (
    ORDERS,
    Address,
    Customer,
    Order,
    Person,
    Region,
    declare_people,
    declare_shop,
    people,
    shop,
)

PRODUCT = Reference((("lines", "product"),), "products")


def table(db: nl.Database, name: str) -> Any:
    return db._state.tables[name]


def test_a_class_and_paths_end_in_one_definition():
    by_class, by_path = nl.Database(), nl.Database()
    declare_shop(by_class)
    by_path.table("regions", {"id": int, "name": str}, key="id")
    by_path.table(
        "products",
        {"id": int, "name": str, "cost": int},
        key="id",
        inverse={"soldIn": "orders.lines.product"},
    )
    by_path.table(
        "customers",
        {
            "id": int, "name": str, "address": {"street": str, "city": str}, "region": int | None,
            "credit": int | None, "tags": set[str], "referrer": int | None,
        },
        key="id", references={"region": "regions", "referrer": "customers"},
        inverse={"orders": "orders.customer", "referred": "customers.referrer"},
    )  # fmt: skip
    by_path.table(
        "orders",
        "no BIGINT, customer BIGINT, date DATE, lines ARRAY<STRUCT<product: BIGINT, quantity: BIGINT, price: BIGINT>>,"
        " gift BIGINT NULL, watchers ARRAY<BIGINT>",
        key="no", on_delete={"gift": "nil"},
        references={"customer": "customers", "lines.product": "products", "gift": "products", "watchers": "customers"},
    )  # fmt: skip
    for name in by_class.tables:
        one, other = table(by_class, name), table(by_path, name)
        # A class names its inverses by classes.
        assert one.record == other.record
        assert (one.key, one.references, one.sets) == (other.key, other.references, other.sets)
        assert by_class._catalog().entry(name).inverses == by_path._catalog().entry(name).inverses
    assert table(by_class, "orders").references[1] == PRODUCT


def test_what_a_query_sees():
    db = nl.Database()
    declare_shop(db)
    catalog = db._catalog()
    assert catalog.entry("customers").inverses == {
        "orders": ("orders", ("customer",)),
        "referred": ("customers", ("referrer",)),
    }
    assert catalog.entry("customers").sets == {("tags",)}
    links = catalog.entry("orders").references
    assert {path: (link.table, link.is_nullable, link.is_kept) for path, link in links.items()} == {
        ("customer",): ("customers", False, True),
        ("lines", "product"): ("products", False, True),
        ("gift",): ("products", True, True),
        ("watchers",): ("customers", False, True),
    }
    other = nl.Database()
    declare_people(other)
    assert other._catalog().subclasses("persons") == ("managers", "students")


def test_an_instance_stands_for_its_key():
    db = shop(nl.Database())
    ada = Customer(1, "Ada", Address("Main", "Rome"), 1, 100, {"gold"}, None)
    eve = Customer(5, "Eve", Address("Main", "Rome"), Region(2, "south"), None, set(), ada)
    db.insert("customers", [eve])
    db.insert("orders", [Order(14, eve, ORDERS[0][2], [], None, [ada, 2])])
    assert db.table("orders").rows()[-1] == (14, 5, ORDERS[0][2], [], None, [1, 2])
    db.table("orders").at(14).watchers.delete([ada])
    db.update("orders", key=14, set={"customer": ada})
    db.delete("customers", key=eve)
    assert 5 not in [row.id for row in db.table("customers")]
    with pytest.raises(nl.ChangeError, match="column 'customer' takes int, not Region"):
        db.update("orders", key=14, set={"customer": Region(1, "north")})


def test_a_row_stands_for_its_key():
    """of a table that was declared with a class or without, and of one that extends it"""
    db = nl.Database()
    db.table("people", {"class": int, "name": str}, key="class")
    db.table("guests", {"class": int, "name": str, "room": str}, key="class", extends="people")
    db.table("tasks", "no bigint not null, owner bigint, sub array<bigint>", key="no",
             references={"owner": "people", "sub": "tasks"})  # fmt: skip
    db.insert("people", [(1, "Ada")])
    db.insert("guests", [(2, "Ben", "12a")])
    (ada,), (ben,) = db.table("people").rows(), db.table("guests").rows()
    db.insert("tasks", [(1, ada, []), {"no": 2, "owner": ben, "sub": [1]}])
    tasks = db.table("tasks")
    tasks.at(1).sub.insert([tasks[2]])
    assert sorted(tasks.rows()) == [(1, 1, [2]), (2, 2, [1])]
    db.update("tasks", key=tasks[1], set={"owner": ben})
    assert tasks[1].owner == 2
    with pytest.raises(nl.ChangeError, match="column 'owner' takes int"):
        db.update("tasks", key=1, set={"owner": tasks[2]})
    db.delete("people", key=ada)
    assert db.table("people").rows() == []


def test_a_class_without_a_table_is_waited_for():
    db = nl.Database()
    depts = db.table("depts", declare_dept(), key="id")
    assert repr(depts) == "Table(depts: waits for the table of Person)"
    with pytest.raises(nl.ChangeError, match="depts waits for the table of Person"):
        db.insert("depts", [(1, "R&D", None)])
    with pytest.raises(nl.QueryError, match="hint: declare it"):
        depts.rows()
    texts = {
        "oql": "select d.id from d in depts",
        "sql": "select id from depts",
        "python": "[d.id for d in depts]",
    }
    for language, text in texts.items():
        with pytest.raises(
            nl.QueryError, match=r"depts waits for the table of Person[^§]*\^\^\^[^§]*hint: declare it"
        ):
            db.view("ids", text, language=language)
    with pytest.raises(nl.QueryError, match="depts waits for the table of Person"):
        db.view("ids", lambda depts: [d.id for d in depts])
    db.table("persons", Person, key="id")
    db.insert("depts", [(1, "R&D", None)])
    assert depts.rows() == [(1, "R&D", None)]


def declare_dept() -> Any:
    @dataclass
    class Dept:
        id: int
        name: str
        head: nl.Ref["Person"] | None

    return Dept


def test_compound_keys_are_records():
    @dataclass
    class Seat:
        hall: str
        row: int

    @dataclass
    class Ticket:
        no: int
        seat: nl.Ref["Seat"]
        also: list[nl.Ref["Seat"]]

    db = nl.Database()
    db.table("seats", Seat, key=("hall", "row"))
    db.table("tickets", Ticket, key="no")
    db.table("old", {"no": int, "h": str, "r": int | None}, references={("h", "r"): "seats"})
    db.insert("seats", [("a", 1), ("a", 2)])
    db.insert("tickets", [(1, ("a", 1), [("a", 2), ("a", 2)]), Ticket(2, Seat("a", 2), [])])
    db.insert("old", [(1, "a", 1), (2, "x", None)])
    for bad in [(3, ("b", 1), []), (3, ("a", 1), [("a", 9)])]:
        with pytest.raises(
            nl.ChangeError, match=r"of tickets 3 is \('(b', 1|a', 9)\), but seats has no such row"
        ):
            db.insert("tickets", [bad])
    with pytest.raises(nl.ChangeError, match=r"h, r of old is \('x', 1\)"):
        db.insert("old", [(3, "x", 1)])
    assert db.table("tickets").rows()[1] == (2, ("a", 2), [])


def test_optional_references_are_written_in_every_way():
    for hint in (nl.Ref["t"] | None, None | nl.Ref["t"], Optional[nl.Ref["t"]]):  # noqa: UP045, F821 (that way too)
        db = nl.Database()
        db.table("t", {"id": int, "next": hint}, key="id")
        db.insert("t", [(1, 2), (2, None), (3, 3)])


@dataclass
class Plain:
    id: int


REFUSED: list[tuple[Any, str]] = [
    (lambda db: db.table("x", {"a": int}, references={"b": "regions"}), "x has no column 'b' to be a reference"),
    (lambda db: db.table("x", {"a": str}, references={"a": "regions"}), "cannot refer to 'regions': it is str"),
    (lambda db: db.table("x", {"a": int}, references={(): "regions"}), "cannot refer to 'regions'"),
    (lambda db: db.table("x", {"a": int, "b": int}, references={("a", "b"): "regions"}), "key of as many columns"),
    (lambda db: db.table("x", {"a": [[{"b": [int]}]]}, references={"a": "regions"}), "a of x has a bag"),
    (lambda db: db.table("x", {"a": int, "b": [int]}, references={("a", "b"): "regions"}), "are not in one row"),
    (lambda db: db.table("x", {"a": nl.Ref["bags"]}), "cannot be referred to: bags has no key"),
    (lambda db: db.table("x", {"a": int}, references={"a": "bags"}), "cannot refer to 'bags'"),
    (lambda db: db.table("x", {"a": int}, references={"a": "regions"}, on_delete="nil"), "a of x is never nil"),
    (lambda db: db.table("x", {"a": int}, on_delete={"a": "nil"}), "a of x refers to nothing"),
    (lambda db: db.table("x", {"a": int}, on_delete="burn"), "on_delete is not 'burn'"),
    (lambda db: db.table("x", {"a": int}, on_delete={"a": 5}), "on_delete is not 5"),
    (lambda db: db.table("x", {"a": int}, references={"a": "regions"}, append_only=True, on_delete="cascade"),
     "x is append-only, and a cannot go"),
    (lambda db: db.table("x", {"a": int, "b": int | None}, key="a", references={"b": "regions"}, fixed=True,
                         on_delete="nil"), "b of x never changes"),
    (lambda db: db.table("x", {"a": int}, fixed=["b"], key="a"), "x has no column 'b' to be fixed"),
    (lambda db: db.table("x", {"a": int, "b": [int]}, fixed=["b"], key="a"), "b of x has a bag"),
    (lambda db: db.table("x", {"a": int}, fixed=True), "x has no key"),
    (lambda db: db.table("x", {"a": int}, fixed=5), "fixed names columns, not 5"),
    (lambda db: db.table("x", {"a": int}, extends="nowhere"), "x extends 'nowhere', which is not there"),
    (lambda db: db.table("x", {"a": int}, extends=5), "extends names a table, not 5"),
    (lambda db: db.table("x", {"id": int}, extends="regions"), "x and regions have different keys"),
    (lambda db: db.table("x", {"id": int}, key="id", extends="regions"), "has no column name of type str"),
    (lambda db: db.table("x", {"id": int}, key="id", inverse={"id": "orders.customer"}), "an inverse of this name"),
    (lambda db: db.table("x", {"id": int}, key="id", inverse={"y": "orders.customer"}), "no reference to x"),
    (lambda db: db.table("x", {"id": int}, key="id", inverse={"y": "orders"}), "inverse is not"),
    (lambda db: db.table("x", {"id": int}, key="id", inverse=["y"]), "inverse is not"),
    (lambda db: db.table("x", {"id": int}, key="id", inverse={"·y": "orders.customer"}), "starts with ·"),
    (lambda db: db.table("x", {"id": int, "a": {"b": nl.Inverse["orders.customer"]}}), "a struct is no object"),
    (lambda db: db.table("x", {"id": int, "a": set[Order]}), "a of x cannot be a set"),
    (lambda db: nl.Ref[5], "a reference is not to 5"),
    (lambda db: nl.Inverse["orders"], "an inverse is not 'orders'"),
    (lambda db: (db.table("p", Plain, key="id"), db.table("q", Plain, key="id"), db.table("x", {"a": nl.Ref[Plain]})),
     "Plain is the class of p and q"),
    (lambda db: db.table("x", {"k": nl.Ref["x"]}, key="k"), "the key of x refers to itself"),
    (lambda db: (db.table("x", {"a": str}, references={"a": "later"}), db.table("later", {"k": int}, key="k")),
     "a of x cannot refer to 'later'"),
    (lambda db: db.drop("regions"), "regions is read by customers"),
    (lambda db: db.drop("products"), "products is read by orders"),
]  # fmt: skip


@pytest.mark.parametrize(("define", "message"), REFUSED, ids=range(len(REFUSED)))
def test_a_declaration_that_makes_no_sense_is_refused(define, message):
    db = nl.Database()
    declare_shop(db)
    db.table("bags", {"id": int})
    with pytest.raises(nl.QueryError, match=message):
        define(db)
    assert "x" not in db.tables or "later" in message


def test_a_superclass_stays_while_it_is_extended():
    db = nl.Database()
    declare_people(db)
    with pytest.raises(nl.QueryError, match="persons is read by depts, managers, students"):
        db.drop("persons")


def test_objects_are_stored(tmp_path):
    for fill in (shop, people):
        path = tmp_path / f"{fill.__name__}.nest"
        with nl.Database(path) as db:
            fill(db)
            before = dict(db._state.tables)
            rows = {name: sorted(map(repr, each)) for name, each in db.tables.items()}
        with nl.Database(path) as db:
            assert db._state.tables == before
            assert [t.class_name for t in db._state.tables.values()] == [
                t.class_name for t in before.values()
            ]
            assert {name: sorted(map(repr, each)) for name, each in db.tables.items()} == rows
            (declare_shop if fill is shop else declare_people)(db)
            for name, definition in db._state.tables.items():
                assert read_table(name, table_text(definition)) == definition


def test_a_plain_table_is_written_as_before():
    db = nl.Database()
    db.table("a", {"id": int}, key="id")
    db.table("b", {"x": int, "y": int}, references={("x",): "a"})
    said = {"record", "key", "references", "append_only"}
    assert set(json.loads(table_text(table(db, "b")))) == said
    assert '"references": [[["x"], "a"]]' in table_text(table(db, "b"))


def test_a_table_that_is_declared_again_may_get_its_class(tmp_path):
    path = tmp_path / "x.nest"
    with nl.Database(path) as db:
        db.table("regions", {"id": int, "name": str}, key="id")
    with nl.Database(path) as db:
        db.table("regions", Region, key="id")
        db.table("shops", {"at": nl.Ref[Region]})
        db.insert("regions", [Region(1, "north")])
        db.insert("shops", [{"at": Region(1, "north")}])
        assert db.table("shops").rows() == [(1,)]


def test_names_with_dots_are_found():
    db = nl.Database()
    db.table("t", {"id": int}, key="id")
    db.table("x", {"a.b": int, "a": {"b": int}}, references={"a.b": "t"})
    assert table(db, "x").references == (Reference((("a.b",),), "t"),)
    assert replace(table(db, "x"), references=()) != table(db, "x")
