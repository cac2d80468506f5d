"""The three queries of Nakamura (2001) as the paper writes them, over the objects of its benchmark."""

import pytest

import nestling as nl
from benchmarks.workloads import nakamura
from tests.frontends.oql.oracle import Oracle, same
from tests.frontends.oql.worlds import seen

ENTERED = nakamura.Size(primary=60, customers=5, products=6)
WITHDRAWN = nakamura.Size(primary=90, withdrawn=0.4, customers=5, products=6, seed=2)


def books() -> nl.Database:
    """The tables of the benchmark as classes: foreign keys are references, the other side is an inverse."""
    db = nl.Database()
    for table, columns in nakamura.SCHEMA.items():
        db.table(
            table,
            columns,
            key=nakamura.KEYS[table],
            references=nakamura.REFERENCES.get(table),
            inverse=nakamura.INVERSES.get(table),
        )
    return db


@pytest.mark.parametrize("refresh", ["eager", "lazy", "hybrid"])
@pytest.mark.parametrize(
    ("size", "ledger", "statistics", "unpaid"),
    [
        (ENTERED, (79607, 197886, 196684), (42, ("product 0", 5, 25)), (11, ("customer 0", 43))),
        (WITHDRAWN, (0, 113656, 79510), (33, None), (0, None)),
    ],
)
def test_the_queries_of_the_paper(refresh, size, ledger, statistics, unpaid):
    db = books()
    views = {
        name: db.view(name, text, language="oql", refresh=refresh, strict=False)
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
    db = books()
    for table, row, times in (*nakamura.load(ENTERED), *nakamura.events(ENTERED)):
        db.insert(table, [row] * times)
    for name, text in nakamura.OQL.items():
        found = db.view(name, text, language="oql", strict=False)
        assert same(found.rows(), Oracle(*seen(db)).run(text))
