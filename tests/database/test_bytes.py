"""``stats()`` says what memory a view takes, within a factor of 1.5: measured by what Python allocates for it."""

import gc
import tracemalloc
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

import nestling as nl
from nestling.engine.local.sizes import rough_bytes
from tests.engines.worlds import embedded

#: What is measured is what the dictionaries of the embedded engine take.
pytestmark = pytest.mark.in_python

WITHIN = 1.5
PAGES = """CREATE TABLE P (id BIGINT NOT NULL, url STRING NOT NULL, title STRING NOT NULL,
  price DECIMAL(10, 2) NOT NULL, host BIGINT NOT NULL,
  visits ARRAY<STRUCT<kind: STRING NOT NULL, at: BIGINT NOT NULL, secs: BIGINT NOT NULL>>, PRIMARY KEY (id))"""


def pages(n: int) -> Iterator[tuple[Any, ...]]:
    """Rows as a program would read them: texts and numbers of their own, some of them equal."""
    for i in range(n):
        visits = [(f"kind {(i + j) % 9}", 10**9 + i * 13 + j, 300 + i * 7 + j) for j in range(i % 5)]
        yield (
            i,
            f"https://host{i % 500}.org/path/{i}",
            f"Title {i}, some words",
            Decimal(i) / 100,
            i % 500,
            visits,
        )


VIEWS: dict[str, tuple[Any, str]] = {
    "an index of a table": (lambda P: [(p.id, [q.title for q in P if q.url == p.url]) for p in P], "auto"),
    "inner rows": (lambda P: [(p.url, v.at, v.kind) for p in P for v in p.visits], "full"),
    "groups with texts": (
        lambda P: [(k, [p.url for p in P for v in p.visits if v.kind == k])
                   for k in {v.kind for p in P for v in p.visits}], "auto",
    ),
    "in order": (
        lambda P: [(h, sorted([p.title for p in P if p.host == h])[:3]) for h in {p.host for p in P}], "auto",
    ),
    "largest of a join": (
        lambda P: [(h, max(v.at for p in P if p.host == h for v in p.visits)) for h in {p.host for p in P}], "full",
    ),
    "sums of decimals": (
        lambda P: [(u, sum(p.price for p in P if p.title == u)) for u in {p.title for p in P}], "full",
    ),
    "nested whole": (lambda P: [(p.title, p.price, [v.at for v in p.visits]) for p in P], "full"),
}  # fmt: skip


@pytest.fixture
def traced() -> Iterator[None]:
    gc.collect()
    tracemalloc.start()
    yield
    tracemalloc.stop()


def allocated() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_tables(traced):
    db = nl.Database()
    db.sql(PAGES)
    before = allocated()
    db.insert("P", pages(3_000))
    taken, engine = allocated() - before, embedded(db._state.engine)
    said = sum(rough_bytes(engine, name, engine.stores[name].patterns) for name in engine.program.tables)
    assert taken / WITHIN < said < taken * WITHIN


@pytest.mark.parametrize("name", VIEWS)
def test_views(name, traced):
    query, store = VIEWS[name]
    db = nl.Database()
    db.sql(PAGES)
    db.view("v", query, store=store)
    db.drop("v")  # what is only ever made once is there
    db.insert("P", pages(3_000))
    before = allocated()
    db.view("v", query, store=store)
    taken, said = allocated() - before, db.stats()["v"]["bytes"]
    assert taken > 200_000  # else a definition takes more than what it stores
    assert taken / WITHIN < said < taken * WITHIN


def test_what_views_share_belongs_to_nobody_twice():
    """A text that rows, maps and their indexes hold is the table's."""
    db = nl.Database()
    db.table("T", {"id": int, "text": str}, key="id")
    db.insert("T", [(i, f"{i} " + "x" * 5_000) for i in range(300)])
    db.view("v", lambda T: [(t.text, [u.id for u in T if u.text == t.text]) for t in T], store="full")
    assert db.stats()["v"]["bytes"] < 300 * 2_500
    table = rough_bytes(embedded(db._state.engine), "T", ())
    assert 300 * 5_000 < table < 300 * 5_500
