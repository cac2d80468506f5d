"""Classes of queries that answers went wrong in, and any query over tiny tables: under all knobs, after every change.

The oracles are the reference, for every map and the answer, and DuckDB, which knows nothing of either.
"""

from collections import Counter
from random import Random
from typing import Any

import duckdb
import pytest

import nestling as nl
from tests.frontends.sql.classes import CLASSES, add, follows
from tests.frontends.sql.duck import connection, refill
from tests.frontends.sql.worlds import answer, plain
from tests.frontends.sql.writing import QueryWriter, ours

TABLES = {"r": ("k", "a", "b"), "t": ("k", "a"), "u": ("b",)}
STORES = ("auto", "auto", "full", "full", "counts", "none")
REFRESHES = ("eager", "eager", "hybrid", "lazy")


class Tiny:
    """Up to three tables of few rows, some columns nullable, some tables keyed, and one view of them."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(f"tiny {seed}")
        names = self.rng.choice([("t",), ("r",), ("r", "t"), ("t", "u"), ("r", "t", "u")])
        self.tables = {name: TABLES[name] for name in names}
        self.query = QueryWriter(seed, self.tables).query(self.rng.choice([1, 1, 2]))
        self.db, self.rows = nl.Database(), {name: list[tuple[Any, ...]]() for name in names}
        self.nulls = {name: [self.rng.random() < 0.4 for _ in TABLES[name]] for name in names}
        self.keyed = {name for name in names if name != "u" and self.rng.random() < 0.3}
        for name, columns in self.tables.items():
            self.nulls[name][0] &= name not in self.keyed
            types = {
                c: int | None if null else int for c, null in zip(columns, self.nulls[name], strict=True)
            }
            self.db.table(name, types, key="k" if name in self.keyed else None)

    def change(self, change: Any) -> None:
        """A row comes or goes."""
        name = self.rng.choice(list(self.tables))
        rows = self.rows[name]
        if rows and self.rng.random() < 0.4:
            change.delete(name, [rows.pop(self.rng.randrange(len(rows)))])
            return
        new = tuple(
            None if null and self.rng.random() < 0.3 else self.rng.randint(-1, 3) for null in self.nulls[name]
        )
        if name not in self.keyed or all(row[0] != new[0] for row in rows):
            change.insert(name, [new])
            rows.append(new)

    def step(self) -> None:
        """One change, or several in a transaction."""
        if self.rng.random() < 0.7:
            self.change(self.db)
            return
        with self.db.transaction() as change:
            for _ in range(self.rng.randint(1, 4)):
                self.change(change)

    def expected(self) -> Counter[Any] | None:
        """What DuckDB makes of the query; nothing where it cannot."""
        duck = connection()
        for name, columns in self.tables.items():
            duck.execute(f"CREATE TABLE {name} ({', '.join(f'{column} BIGINT' for column in columns)})")
            refill(duck, name, self.rows[name])
        try:
            return Counter(plain(row) for row in duck.execute(self.query).fetchall())
        except duckdb.NotImplementedException:
            return None
        finally:
            duck.close()


def agrees(seed: int, steps: int = 8) -> None:
    """Every map, the answer and what was told are what the query says after every step; DuckDB agrees at the end."""
    world = Tiny(seed)
    if world.rng.random() < 0.3:
        world.step()
    store, refresh, told = world.rng.choice(STORES), world.rng.choice(REFRESHES), dict[Any, int]()
    view = world.db.view("v", ours(world.query), store=store, refresh=refresh, strict=False)
    add(told, dict(view.bag().items()))
    is_told = world.rng.random() < 0.4
    if is_told:
        view.subscribe(lambda change: add(told, dict(change.rows.items())))
    for _ in range(steps):
        world.step()
        world.db.verify(maps=True)
        assert not is_told or told == dict(view.bag().items()), world.query
    expected = world.expected()
    assert expected is None or answer(view) == expected, world.query


@pytest.mark.parametrize("kind", CLASSES)
def test_a_class_follows_every_change(kind):
    for seed in range(1_000, 1_004):
        follows(kind, seed)


@pytest.mark.parametrize("seed", range(20))
def test_any_query_over_tiny_tables(seed):
    agrees(seed)


@pytest.mark.soak
@pytest.mark.parametrize("kind", CLASSES)
def test_many_of_a_class(kind):
    for seed in range(300):
        follows(kind, seed)


@pytest.mark.soak
@pytest.mark.parametrize("start", range(1_000, 3_000, 100))
def test_many_queries_over_tiny_tables(start):
    for seed in range(start, start + 100):
        agrees(seed)
