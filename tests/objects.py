# mypy: disable-error-code="valid-type, assignment, name-defined"
"""Two schemas of objects that tests share: a shop (S) and persons with subclasses (P), with rows, as dataclasses.

``shop(db)`` and ``people(db)`` declare the tables and insert the rows.
"""

from dataclasses import dataclass, field
from datetime import date
from typing import Any

import nestling as nl


@dataclass
class Address:
    street: str
    city: str


@dataclass
class Region:
    id: int
    name: str


@dataclass
class Product:
    id: int
    name: str
    cost: int
    soldIn: nl.Inverse["Order.lines.product"] = None


@dataclass
class Customer:
    id: int
    name: str
    address: Address
    region: nl.Ref["Region"] | None
    credit: int | None
    tags: set[str]
    referrer: nl.Ref["Customer"] | None
    orders: nl.Inverse["Order.customer"] = None
    referred: nl.Inverse["Customer.referrer"] = None


@dataclass
class Line:
    product: nl.Ref["Product"]
    quantity: int
    price: int


@dataclass
class Order:
    no: int
    customer: nl.Ref["Customer"]
    date: date
    lines: list[Line]
    gift: nl.Ref["Product"] | None
    watchers: list[nl.Ref["Customer"]]


REGIONS = [(1, "north"), (2, "south")]
PRODUCTS = [(1, "tea", 4), (2, "cup", 9), (3, "tray", 12)]
CUSTOMERS = [
    (1, "Ada", ("Main", "Rome"), 1, 100, {"gold", "new"}, None),
    (2, "Ben", ("Elm", "Oslo"), None, None, set(), 1),
    (3, "Cleo", ("Main", "Rome"), 2, 50, {"gold"}, 1),
    (4, "Dan", ("Oak", "Bern"), 1, 0, {"new"}, 3),
]
ORDERS = [
    (10, 1, date(2001, 1, 5), [(1, 2, 5), (2, 1, 10)], 3, [2, 3]),
    (11, 1, date(2001, 2, 7), [(1, 1, 5)], None, []),
    (12, 3, date(2001, 2, 9), [(2, 3, 10), (2, 3, 10)], 1, [1]),
    (13, 2, date(2001, 3, 1), [], None, [4, 4]),
]
SHOP = {"regions": REGIONS, "products": PRODUCTS, "customers": CUSTOMERS, "orders": ORDERS}


def shop(db: Any, on_delete: Any = None) -> Any:
    """Schema S in ``db``, with its rows; by default a gift becomes nil when the product goes."""
    declare_shop(db, on_delete)
    for name, rows in SHOP.items():
        db.insert(name, rows)
    return db


def declare_shop(db: Any, on_delete: Any = None) -> None:
    db.table("regions", Region, key="id")
    db.table("products", Product, key="id")
    db.table("customers", Customer, key="id")
    db.table("orders", Order, key="no", on_delete={"gift": "nil"} if on_delete is None else on_delete)


@dataclass
class Dept:
    id: int
    name: str
    head: nl.Ref["Person"] | None


@dataclass
class Person:
    id: int
    name: str
    age: int
    dept: nl.Ref["Dept"] | None
    children: list[nl.Ref["Person"]]


@dataclass
class Manager(Person):
    bonus: int = 0
    staff: list[nl.Ref["Person"]] = field(default_factory=list)


@dataclass
class Student(Person):
    grade: int | None = None


PEOPLE = {
    "depts": [(1, "R&D", None), (2, "Ops", None)],
    "managers": [(2, "Max", 50, 1, [], 7, [])],
    "students": [(3, "Sue", 20, 2, [], 1), (4, "Tim", 19, None, [], None)],
    "persons": [(1, "Pat", 40, 1, [3, 4])],
}


def people(db: Any) -> Any:
    """Schema P in ``db``, with its rows."""
    declare_people(db)
    for name, rows in PEOPLE.items():
        db.insert(name, rows)
    db.update("depts", key=1, set={"head": 2})
    db.table("managers").at(2).staff.insert([1, 3])
    return db


def declare_people(db: Any) -> None:
    db.table("depts", Dept, key="id")
    db.table("persons", Person, key="id")
    db.table("managers", Manager, key="id")
    db.table("students", Student, key="id")
