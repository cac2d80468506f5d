"""The two object models that the cases of the design are written for, with their rows, and databases of them."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from datetime import date
from typing import Any

import nestling as nl
from nestling.calculus.parse import parse_type
from nestling.calculus.types import Record
from nestling.frontend.catalog import Catalog, Entry, Link
from nestling.frontend.oql import translate
from tests.frontends.oql.oracle import Data


def entry(type_: str, key: str = "", references=None, inverses=None, extends=None, sets=()) -> Entry:
    """A class; paths are written with dots, ``?`` behind a table says that the reference may be nil."""
    links = {
        tuple(path.split(".")): Link(table.rstrip("?!"), table.endswith("?"), not table.endswith("!"))
        for path, table in (references or {}).items()
    }
    inverse = {name: (table, tuple(path.split("."))) for name, (table, path) in (inverses or {}).items()}
    names = tuple(key.split()) if key else ()
    return Entry(parse_type(type_), names, links, inverse, extends, frozenset((path,) for path in sets))


def catalog(**entries: Entry) -> Catalog:
    made = Catalog()
    for name, found in entries.items():
        made.declare(name, found)
    return made


SHOP = catalog(
    regions=entry("⟨id: int, name: str⟩", "id"),
    customers=entry(
        "⟨id: int, name: str, address: ⟨street: str, city: str⟩, region: int?, credit: int?, tags: Bag(str),"
        " referrer: int?⟩",
        "id",
        {"region": "regions?", "referrer": "customers?"},
        {"orders": ("orders", "customer"), "referred": ("customers", "referrer")},
        sets=("tags",),
    ),
    products=entry("⟨id: int, name: str, cost: int⟩", "id", inverses={"soldIn": ("orders", "lines.product")}),
    orders=entry(
        "⟨no: int, customer: int, date: date, lines: Bag(⟨product: int, quantity: int, price: int⟩), gift: int?,"
        " watchers: Bag(int)⟩",
        "no",
        {"customer": "customers", "lines.product": "products", "gift": "products?", "watchers": "customers"},
    ),
)
SHOP_ROWS: dict[str, list[tuple[Any, ...]]] = {
    "regions": [(1, "north"), (2, "south")],
    "customers": [
        (1, "Ada", ("Main", "Rome"), 1, 100, ["gold", "new"], None),
        (2, "Ben", ("Elm", "Oslo"), None, None, [], 1),
        (3, "Cleo", ("Main", "Rome"), 2, 50, ["gold"], 1),
        (4, "Dan", ("Oak", "Bern"), 1, 0, ["new"], 3),
    ],
    "products": [(1, "tea", 4), (2, "cup", 9), (3, "tray", 12)],
    "orders": [
        (10, 1, date(2001, 1, 5), [(1, 2, 5), (2, 1, 10)], 3, [2, 3]),
        (11, 1, date(2001, 2, 7), [(1, 1, 5)], None, []),
        (12, 3, date(2001, 2, 9), [(2, 3, 10), (2, 3, 10)], 1, [1]),
        (13, 2, date(2001, 3, 1), [], None, [4, 4]),
    ],
}

PEOPLE = catalog(
    depts=entry("⟨id: int, name: str, head: int?⟩", "id", {"head": "persons?"}),
    persons=entry(
        "⟨id: int, name: str, age: int, dept: int?, children: Bag(int)⟩",
        "id",
        {"dept": "depts?", "children": "persons"},
    ),
    managers=entry(
        "⟨id: int, name: str, age: int, dept: int?, children: Bag(int), bonus: int, staff: Bag(int)⟩",
        "id",
        {"staff": "persons"},
        extends="persons",
    ),
    students=entry(
        "⟨id: int, name: str, age: int, dept: int?, children: Bag(int), grade: int?⟩", "id", extends="persons"
    ),
)
PEOPLE_ROWS: dict[str, list[tuple[Any, ...]]] = {
    "depts": [(1, "R&D", 2), (2, "Ops", None)],
    "persons": [(1, "Pat", 40, 1, [3, 4])],
    "managers": [(2, "Max", 50, 1, [], 7, [1, 3])],
    "students": [(3, "Sue", 20, 2, [], 1), (4, "Tim", 19, None, [], None)],
}

MARKET = catalog(
    things=entry("⟨id: int⟩", "id"),
    customers=entry("⟨id: int, name: str, age: int⟩", "id", extends="things"),
    products=entry("⟨id: int, title: str⟩", "id", extends="things"),
    purchases=entry(
        "⟨id: int, client: int, products: Bag(int)⟩",
        "id",
        {"client": "customers", "products": "products"},
        extends="things",
    ),
    offices=entry("⟨id: int, department: str⟩", "id"),
)
MARKET_ROWS: dict[str, list[tuple[Any, ...]]] = {
    "customers": [
        (1, "Ann", 32),
        (2, "Bob", 32),
        (3, "Cy", 17),
        (4, "Di", 45),
        (5, "Ed", 32),
        (6, "Flo", 51),
    ],
    "products": [(11, "pen"), (12, "ink"), (13, "pad")],
    "purchases": [(21, 1, [11, 12]), (22, 2, [11, 12, 13]), (23, 6, [])],
    "offices": list(
        enumerate(("Art", "Math", "Law", "Art", "Music", "Bio", "Chem", "Math", "Drama", "Econ"))
    ),
}

WORLDS = {"shop": (SHOP, SHOP_ROWS), "people": (PEOPLE, PEOPLE_ROWS), "market": (MARKET, MARKET_ROWS)}
#: When a view follows its tables, and what is stored of it.
WAYS = [("eager", "auto"), ("eager", "full"), ("eager", "counts"), ("hybrid", "full"), ("lazy", "auto")]


def named(catalog: Catalog, rows: dict[str, list[tuple[Any, ...]]]) -> Data:
    """Rows as dicts, all the way down."""
    return {table: [_named(row, catalog[table]) for row in found] for table, found in rows.items()}


def _named(value: Any, type_: Any) -> Any:
    if isinstance(type_, Record):
        return {n: _named(part, t) for part, (n, t) in zip(value, type_.fields, strict=True)}
    return [_named(part, type_.element) for part in value] if isinstance(value, list) else value


def database(catalog: Catalog, rows: Any = None, path: Any = None, **options: Any) -> nl.Database:
    """The tables of ``catalog``, and ``rows`` in them."""
    db = nl.Database(path, **options) if path or options else nl.Database()
    for name, found in ((name, catalog.entry(name)) for name in catalog):
        db.table(name, found.element, key=found.key)
    for name, some in (rows or {}).items():
        db.insert(name, some)
    return db


def view(db: nl.Database, catalog: Catalog, name: str, text: str, **options: Any) -> Any:
    """A view in OQL over the classes of ``catalog``, which the database takes for plain tables."""
    return db.view(name, translate(text, catalog).expr, **options)
