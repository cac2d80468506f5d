"""TPC-H and the queries of Ahmad et al. (2012) as SQL: maintained over a stream, they are what DuckDB computes."""

import re
from collections.abc import Iterable
from itertools import pairwise
from math import isclose
from random import Random
from typing import Any

import pytest

import nestling as nl
from benchmarks.workloads import orderbook, tpch, tpch22
from nestling.frontend.sql import translate
from tests.frontends.sql.duck import connection
from tests.frontends.sql.worlds import answer, plain

#: Compiled in seconds.
SLOW = {"q8"}
#: Points of a stream at which a long run compares.
POINTS = 20
#: A stream in which the query finds something.
SEEDS = {"q21": 8}


def duck_type(columns: str) -> str:
    return columns.replace("STRING", "VARCHAR")


def may_be_null(columns: str) -> str:
    return re.sub(r"\w+ [A-Z]+(\(\d+, ?\d+\))?", r"\g<0> NULL", columns)


class Stream:
    """The same rows in Nestling and in DuckDB."""

    def __init__(
        self, schema: dict[str, tuple[str, tuple[str, ...]]], query: str, bare: bool = False
    ) -> None:
        self.query = query
        self.db, self.duck = nl.Database(), connection()
        for name, (columns, key) in schema.items():
            if bare:
                self.db.table(name, may_be_null(columns))
            else:
                self.db.table(name, columns, key=key)
            self.duck.execute(f"CREATE TABLE {name} ({duck_type(columns)})")
        self.keys = {name: [part.split()[0] for part in columns.split(", ") if part.split()[0] in key]
                     for name, (columns, key) in schema.items()}  # fmt: skip
        self.places = {name: len(re.findall(r"\w+ [A-Z]+", columns)) for name, (columns, _) in schema.items()}
        self.names = {name: re.findall(r"(\w+) [A-Z]+", columns) for name, (columns, _) in schema.items()}
        self.view = self.db.view("v", query, strict=False)

    def apply(self, events: list[tuple[str, Any, int]]) -> None:
        with self.db.transaction() as change:
            for table, row, times in events:
                (change.insert if times > 0 else change.delete)(table, [row])
        for table, row, times in events:
            if times > 0:
                self.duck.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * self.places[table])})", row)
            else:
                where = " AND ".join(f"{key} = ?" for key in self.keys[table])
                values = [row[self.names[table].index(key)] for key in self.keys[table]]
                self.duck.execute(f"DELETE FROM {table} WHERE {where}", values)

    def agree_with_all(self) -> None:
        """With DuckDB, and with the reference."""
        self.agree()
        self.view.verify()

    def agree(self) -> None:
        expected = [plain(row) for row in self.duck.execute(self.query).fetchall()]
        for row in answer(self.view).elements():
            partner = next((i for i, other in enumerate(expected) if is_near(row, other)), None)
            assert partner is not None, (row, expected)
            del expected[partner]
        assert not expected


def is_near(row: Any, other: Any) -> bool:
    """Whether two rows are one: DuckDB divides decimals as doubles, Spark to six places or more."""
    return len(row) == len(other) and all(map(_is_near, row, other))


def _is_near(one: Any, two: Any) -> bool:
    numbers = isinstance(one, float) and isinstance(two, float)
    return isclose(one, two, rel_tol=1e-9, abs_tol=1e-6) if numbers else bool(one == two)


def tpch_events(seed: int, orders: int) -> list[list[tuple[str, Any, int]]]:
    """Batches: the fixed tables, then orders that come and, some of them, go."""
    generator, rng = tpch22.Generator(seed), Random(seed)
    batches = [[(table, row, 1) for table, row in generator.fixed()]]
    live: list[list[tuple[str, Any]]] = []
    for key in range(orders):
        rows = generator.order(key)
        batch = [(table, row, 1) for table, row in rows]
        live.append(rows)
        if rng.random() < 0.3:
            gone = live.pop(rng.randrange(len(live)))
            batch += [(table, row, -1) for table, row in reversed(gone)]
        batches.append(batch)
    return batches


def each(names: Iterable[str]) -> list[Any]:
    """The queries, those that take many seconds to compile or to evaluate only when asked for."""
    return [pytest.param(name, marks=pytest.mark.soak) if name in SLOW else name for name in names]


@pytest.mark.parametrize("name", each(tpch22.QUERIES))
def test_tpch_is_what_duckdb_computes(name):
    stream = Stream(tpch22.SCHEMA, tpch22.QUERIES[name])
    seen = False

    assert not stream.db._state.views.on_read, "it is maintained"
    stream.agree()
    for number, batch in enumerate(tpch_events(SEEDS.get(name, 11), 40)):
        stream.apply(batch)
        if number % 8 == 0:
            stream.agree()
            seen = seen or any(any(value for value in row) for row in answer(stream.view))

    assert seen, "the stream has no row for this query"


@pytest.mark.parametrize("name", each(tpch22.QUERIES))
def test_tpch_of_columns_that_may_be_null_and_no_keys(name):
    stream = Stream(tpch22.SCHEMA, tpch22.QUERIES[name], bare=True)

    assert not stream.db._state.views.on_read, "it is maintained"
    for number, batch in enumerate(tpch_events(SEEDS.get(name, 11), 24)):
        stream.apply(batch)
        if number % 8 == 0:
            stream.agree()


@pytest.mark.soak
@pytest.mark.parametrize("name", tpch22.QUERIES)
def test_tpch_agrees_at_twenty_random_points(name):
    stream = Stream(tpch22.SCHEMA, tpch22.QUERIES[name])
    batches = tpch_events(17, 60)
    points = {0, *Random(name).sample(range(1, len(batches)), POINTS - 1)}
    for number, batch in enumerate(batches):
        stream.apply(batch)
        if number in points:
            stream.agree_with_all()


PAPER = {**{name: (orderbook, query) for name, query in orderbook.SQL.items()},
         **{name: (tpch, query) for name, query in tpch.SQL.items()}}  # fmt: skip


def paper_stream(name: str) -> Stream:
    module, query = PAPER[name]
    words = {int: "BIGINT", str: "STRING"}
    schema = {
        table: (
            ", ".join(f"{c} {words.get(t, 'DATE')}" for c, t in columns.items()),
            _key(module.KEYS[table]),
        )
        for table, columns in module.SCHEMA.items()
    }
    return Stream(schema, query)


@pytest.mark.parametrize("name", each(PAPER))
def test_the_queries_of_the_paper_are_what_duckdb_computes(name):
    module, _ = PAPER[name]
    size: Any = module.Size(book=12, changes=60) if module is orderbook else module.Size(scale=0.00002)
    events = [*module.load(size), *module.events(size)]
    stream = paper_stream(name)

    assert not stream.db._state.views.on_read, "it is maintained"
    for start in range(0, len(events), 40):
        stream.apply(events[start : start + 40])
        stream.agree()
    stream.view.verify()


@pytest.mark.soak
@pytest.mark.parametrize("name", PAPER)
def test_the_queries_of_the_paper_agree_at_twenty_random_points(name):
    module, _ = PAPER[name]
    size: Any = module.Size(book=40, changes=600) if module is orderbook else module.Size(scale=0.0002)
    events = [*module.load(size), *module.events(size)]
    points = sorted(Random(name).sample(range(1, len(events)), POINTS))
    stream = paper_stream(name)
    for start, end in pairwise((0, *points)):
        stream.apply(events[start:end])
        stream.agree_with_all()


def _key(key: Any) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else key


def test_a_query_and_the_comprehension_it_stands_for_mean_the_same():
    from nestling.calculus.evaluate import evaluate
    from nestling.calculus.types import INT, STR, record
    from nestling.frontend.comprehension import translate as of_python
    from nestling.values.bag import ZBag

    catalog = {"r": record(a=INT, b=STR), "s": record(a=INT, c=INT)}
    ours = translate("SELECT r.b, s.c FROM r JOIN s ON r.a = s.a WHERE s.c > 1", catalog)
    theirs = of_python("[(x.b, y.c) for x in r for y in s if x.a == y.a if y.c > 1]", catalog)
    state = {"r": ZBag.of((1, "x"), (1, "x"), (2, "y")), "s": ZBag.of((1, 1), (1, 2), (2, 3))}

    assert evaluate(ours, state) == evaluate(theirs, state) == ZBag.of(("x", 2), ("x", 2), ("y", 3))
