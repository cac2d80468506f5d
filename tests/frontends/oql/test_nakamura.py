"""The three queries of Nakamura (2001) as the paper writes them, over the objects of its benchmark."""

from datetime import date

import pytest

from benchmarks.workloads import nakamura
from nestling.calculus.types import Record, Scalar
from nestling.frontend.catalog import Catalog, Entry, Link
from tests.frontends.oql.oracle import Oracle, same
from tests.frontends.oql.worlds import database, view

REFERENCES = {
    "orders": {"customer": "customers"},
    "orderLineItems": {"order": "orders", "product": "products"},
    "sales": {"order": "orders"},
    "saleLineItems": {"sale": "sales", "product": "products"},
    "payments": {"cashReceipt": "cashReceipts", "sale": "sales"},
}
INVERSES = {
    "orders": {"orderLineItems": ("orderLineItems", ("order",))},
    "sales": {"saleLineItems": ("saleLineItems", ("sale",)), "payments": ("payments", ("sale",))},
}
_NAMES = {int: "int", str: "str", date: "date"}

ENTERED = nakamura.Size(primary=60, customers=5, products=6)
WITHDRAWN = nakamura.Size(primary=90, withdrawn=0.4, customers=5, products=6, seed=2)


def objects() -> Catalog:
    """The tables of the benchmark as classes: foreign keys are references, the other side is an inverse."""
    catalog = Catalog()
    for table, columns in nakamura.SCHEMA.items():
        element = Record(tuple((name, Scalar(_NAMES[type_])) for name, type_ in columns.items()))
        links: dict[tuple[str, ...], Link] = {
            (path,): Link(target) for path, target in REFERENCES.get(table, {}).items()
        }
        catalog.declare(table, Entry(element, (str(nakamura.KEYS[table]),), links, INVERSES.get(table, {})))
    return catalog


@pytest.mark.parametrize("refresh", ["eager", "lazy", "hybrid"])
@pytest.mark.parametrize(
    ("size", "ledger", "statistics", "unpaid"),
    [
        (ENTERED, (79607, 197886, 196684), (42, ("product 0", 5, 25)), (11, ("customer 0", 43))),
        (WITHDRAWN, (0, 113656, 79510), (33, None), (0, None)),
    ],
)
def test_the_queries_of_the_paper(refresh, size, ledger, statistics, unpaid):
    catalog = objects()
    db = database(catalog)
    views = {
        name: view(db, catalog, name, text, refresh=refresh, strict=False)
        for name, text in nakamura.OQL.items()
    }
    for table, row, times in nakamura.load(size):
        db.insert(table, [row] * times)
    for table, row, times in nakamura.events(size):
        _ = db.insert(table, [row]) if times > 0 else db.delete(table, [row])

    assert views["general_ledger"].rows() == [ledger]
    for name, (count, one) in (("order_statistics", statistics), ("unpaid_sales", unpaid)):
        rows = views[name].rows()
        assert len(rows) == count
        assert one is None or one in rows
    db.verify()


def test_the_oracle_says_so():
    catalog = objects()
    db = database(catalog)
    for table, row, times in (*nakamura.load(ENTERED), *nakamura.events(ENTERED)):
        db.insert(table, [row] * times)
    rows = {table: [row._asdict() for row in db.tables[table]] for table in catalog}
    for name, text in nakamura.OQL.items():
        found = view(db, catalog, name, text, strict=False)
        assert same(found.rows(), Oracle(catalog, rows).run(text))
