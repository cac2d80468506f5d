"""Object models: those that the cases are written for, in databases, and random ones, as catalogs."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import Any

import nestling as nl
from nestling.calculus.parse import parse_type
from nestling.calculus.types import Record
from nestling.frontend.catalog import Catalog, Entry, Link
from tests import objects
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


def market(db: Any) -> Any:
    """Classes of one family, declared by paths."""
    db.table("things", {"id": int}, key="id")
    db.table("customers", {"id": int, "name": str, "age": int}, key="id", extends="things")
    db.table("products", {"id": int, "title": str}, key="id", extends="things")
    db.table(
        "purchases",
        {"id": int, "client": int, "products": list[int]},
        key="id",
        extends="things",
        references={"client": "customers", "products": "products"},
    )
    db.table("offices", {"id": int, "department": str}, key="id")
    people = ((1, "Ann", 32), (2, "Bob", 32), (3, "Cy", 17), (4, "Di", 45), (5, "Ed", 32), (6, "Flo", 51))
    db.insert("customers", people)
    db.insert("products", [(11, "pen"), (12, "ink"), (13, "pad")])
    db.insert("purchases", [(21, 1, [11, 12]), (22, 2, [11, 12, 13]), (23, 6, [])])
    departments = ("Art", "Math", "Law", "Art", "Music", "Bio", "Chem", "Math", "Drama", "Econ")
    db.insert("offices", list(enumerate(departments)))
    return db


#: What declares the classes of a model in a database, and inserts its objects.
MODELS: dict[str, Any] = {"shop": objects.shop, "people": objects.people, "market": market}


def seen(db: nl.Database) -> tuple[Catalog, Data]:
    """The classes of a database, and its objects as the oracle takes them."""
    model = db._catalog()
    rows = {name: [_named(row, model[name]) for row in db.tables[name]] for name in db.tables}
    return model, rows


#: When a view follows its tables, and what is stored of it.
WAYS = [(refresh, store) for refresh in ("eager", "hybrid", "lazy") for store in ("auto", "full", "counts")]


def _named(value: Any, type_: Any) -> Any:
    if isinstance(type_, Record):
        return {n: _named(part, t) for part, (n, t) in zip(value, type_.fields, strict=True)}
    return [_named(part, type_.element) for part in value] if isinstance(value, list) else value


def database(catalog: Catalog) -> nl.Database:
    """The tables of ``catalog``, which the database takes for plain ones: what refers to what, the test knows."""
    db = nl.Database()
    for name in catalog:
        db.table(name, catalog[name], key=catalog.key(name), fixed=False)
    return db
