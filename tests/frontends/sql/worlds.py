"""Small tables with nulls and duplicates, random changes of them, and the same state in DuckDB."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isnan
from random import Random
from typing import Any

import nestling as nl
from nestling.calculus.evaluate import evaluate
from nestling.calculus.types import Bag
from nestling.calculus.typing import element_type
from nestling.frontend.schema.read import python_value
from nestling.frontend.sql import translate
from tests.frontends.sql.duck import connection, refill


@dataclass(frozen=True)
class Columns:
    """A table in our words, in DuckDB's, and its key."""

    ours: str
    duckdb: str
    key: str | None = None
    #: The arrays whose order counts.
    ordered: tuple[str, ...] = ()

    @property
    def spark(self) -> str:
        """Spark has no word for what may be null: all that does not say otherwise."""
        return re.sub("(?<!NOT) NULL", "", self.ours)


TABLES = {
    "r": Columns("a INT NULL, b INT NULL, c STRING NULL", "a BIGINT, b BIGINT, c VARCHAR"),
    "s": Columns("a INT NULL, d INT NOT NULL, e STRING NULL", "a BIGINT, d BIGINT, e VARCHAR"),
    "t": Columns("k INT NOT NULL, g INT NOT NULL, x INT NULL", "k BIGINT, g BIGINT, x BIGINT", "k"),
    "m": Columns(
        "id INT NOT NULL, day DATE NULL, seen TIMESTAMP NULL, price DECIMAL(10, 2) NULL, ok BOOLEAN NULL,"
        " f DOUBLE NULL",
        "id BIGINT, day DATE, seen TIMESTAMP, price DECIMAL(18, 2), ok BOOLEAN, f DOUBLE",
    ),
    "n": Columns(
        "k INT NOT NULL, i INT NULL, y TINYINT NULL, l BIGINT NULL, p DECIMAL(10, 2) NULL, q DECIMAL(5, 3) NULL,"
        " w DECIMAL(38, 10) NULL, f DOUBLE NULL, z STRING NULL",
        "k BIGINT, i BIGINT, y TINYINT, l BIGINT, p DECIMAL(10, 2), q DECIMAL(5, 3), w DECIMAL(38, 10), f DOUBLE,"
        " z VARCHAR",
        "k",
    ),
    "c": Columns("id INT NOT NULL, since TIME NULL, till TIME NOT NULL", "id BIGINT, since TIME, till TIME"),
    "o": Columns(
        "id INT NOT NULL, cust STRING, items ARRAY<STRUCT<pid: INT, qty: INT NULL>>, tags ARRAY<STRING>,"
        " nums ARRAY<INT NULL>, ship STRUCT<city: STRING, fee: INT NULL>",
        "id BIGINT, cust VARCHAR, items STRUCT(pid BIGINT, qty BIGINT)[], tags VARCHAR[], nums BIGINT[],"
        " ship STRUCT(city VARCHAR, fee BIGINT)",
        "id",
    ),
    "d": Columns(
        "id INT NOT NULL, tags ARRAY<STRING NULL> NULL, items ARRAY<STRUCT<p: INT NULL, q: INT NULL> NULL> NULL,"
        " loc STRUCT<x: INT NULL, names: ARRAY<STRING> NULL> NULL, m MAP<STRING, INT NULL> NULL,"
        " n MAP<INT, ARRAY<STRING>>",
        "id BIGINT, tags VARCHAR[], items STRUCT(p BIGINT, q BIGINT)[], loc STRUCT(x BIGINT, names VARCHAR[]),"
        " m MAP(VARCHAR, BIGINT), n MAP(BIGINT, VARCHAR[])",
        "id",
    ),
    "l": Columns(
        "id INT NOT NULL, tags ARRAY<STRING NULL> NULL, items ARRAY<STRUCT<p: INT NULL, q: INT NULL> NULL> NULL,"
        " nums ARRAY<INT>, grid ARRAY<ARRAY<INT>>",
        "id BIGINT, tags VARCHAR[], items STRUCT(p BIGINT, q BIGINT)[], nums BIGINT[], grid BIGINT[][]",
        "id",
        ("tags", "items", "nums", "grid"),
    ),
}


def row(table: str, rng: Random, taken: set[int]) -> tuple[Any, ...]:  # noqa: C901 - one arm per table
    """A row with few different values, so that rows meet; a key is one that is not ``taken``."""

    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.2 else value

    small, word = (lambda: rng.randint(0, 3)), (lambda: rng.choice(["ab", "b", "abc", "Ba", ""]))
    key = rng.choice([k for k in range(40) if k not in taken]) if table in ("t", "o", "n", "d", "l") else 0
    match table:
        case "r":
            return maybe(small()), maybe(rng.randint(-2, 3)), maybe(word())
        case "s":
            return maybe(small()), small(), maybe(word())
        case "t":
            return key, small(), maybe(rng.randint(-3, 5))
        case "m":
            day = date(2024, rng.choice([1, 2, 12]), rng.choice([1, 15, 29]))
            at = datetime(2024, 2, rng.choice([28, 29]), rng.randint(0, 23), rng.choice([0, 30]))
            price = Decimal(rng.choice([0, 125, 250, 1999, -350])).scaleb(-2)
            return (
                small(),
                maybe(day),
                maybe(at),
                maybe(price),
                maybe(rng.random() < 0.5),
                maybe(rng.choice([0.5, 1.5, -2.0])),
            )
        case "c":
            clock = lambda: time(rng.choice([0, 9, 12, 23]), rng.choice([0, 30]), 0, rng.choice([0, 250_000]))  # noqa: E731
            return small(), maybe(clock()), clock()
        case "n":
            return (
                key,
                maybe(rng.choice([-7, -3, 0, 2, 25, 2**31 - 1])),
                maybe(rng.choice([-128, -5, 3, 127])),
                maybe(rng.choice([-(2**63), -9, 4, 15, 2**62])),
                maybe(Decimal(rng.choice(["-12.50", "0.05", "2.25", "99999999.99", "3.33"]))),
                maybe(Decimal(rng.choice(["-1.125", "0.500", "3.000", "99.999"]))),
                maybe(Decimal(rng.choice(["-2.5", "0.0000000001", "1234567.89", "3"]))),
                maybe(rng.choice([-2.5, -0.0, 0.1, 2.5, 3.5, 1e10, 123456.789])),
                maybe(rng.choice(["7", " 12 ", "-3", "007", "+4"])),
            )
        case "o":
            items = [(small(), maybe(small())) for _ in range(rng.randint(0, 3))]
            tags = [word() for _ in range(rng.randint(0, 3))]
            nums = [maybe(small()) for _ in range(rng.randint(0, 3))]
            return key, rng.choice(["ann", "bob"]), items, tags, nums, (word(), maybe(small()))
        case "d":
            pairs = [maybe((maybe(small()), small())) for _ in range(rng.randint(0, 3))]
            words = [maybe(word()) for _ in range(rng.randint(0, 3))]
            place = (maybe(small()), maybe([word() for _ in range(rng.randint(0, 2))]))
            by_word = {word(): maybe(small()) for _ in range(rng.randint(0, 3))}
            by_number = {
                small(): [word() for _ in range(rng.randint(0, 2))] for _ in range(rng.randint(0, 2))
            }
            return key, maybe(words), maybe(pairs), maybe(place), maybe(by_word), by_number
        case "l":
            pairs = [maybe((maybe(small()), small())) for _ in range(rng.randint(0, 2))]
            words = [maybe(word()) for _ in range(rng.randint(0, 3))]
            numbers = [rng.randint(0, 2) for _ in range(rng.randint(0, 2))]
            grid = [[small() for _ in range(rng.randint(0, 2))] for _ in range(rng.randint(0, 2))]
            return key, maybe(words), maybe(pairs), numbers, grid
    raise KeyError(table)


class World:
    """Tables in Nestling and, row for row, in DuckDB."""

    def __init__(self, tables: Iterable[str], seed: str) -> None:
        self.rng, self.names = Random(seed), list(tables)
        self.db, self.duck = nl.Database(), connection()
        self.rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in self.names}
        for name in self.names:
            columns = TABLES[name]
            self.db.table(name, columns.ours, key=columns.key, ordered=columns.ordered)
            self.duck.execute(f"CREATE TABLE {name} ({columns.duckdb})")

    def change(self, most: int = 5) -> None:
        """One transaction: some rows go, some come, in any table."""
        with self.db.transaction() as change:
            for name in self.names:
                rows = self.rows[name]
                gone = [
                    rows.pop(self.rng.randrange(len(rows)))
                    for _ in range(self.rng.randint(0, min(most, len(rows))) // 2)
                ]
                change.delete(name, gone)
                new: list[tuple[Any, ...]] = []
                for _ in range(self.rng.randint(0, most)):
                    new.append(row(name, self.rng, {old[0] for old in (*rows, *new)}))
                change.insert(name, new)
                rows += new

    def meaning(self, query: str) -> list[tuple[Any, ...]]:
        """What the reference makes of ``query`` on the rows as they are."""
        expr = translate(query, self.db._catalog())
        bag = evaluate(expr, self.db._state.nested_tables())
        return [tuple(row) for row in python_value(Bag(element_type(expr)), bag)]

    def expected(self, query: str) -> Counter[Any]:
        """What DuckDB makes of ``query`` on the rows as they are."""
        for name, rows in self.rows.items():
            refill(self.duck, name, [duck_row(name, r) for r in rows])
        return Counter(plain(found) for found in self.duck.execute(query).fetchall())


def duck_row(table: str, values: tuple[Any, ...]) -> list[Any]:
    if table == "l":
        pairs = values[2] and [pair and {"p": pair[0], "q": pair[1]} for pair in values[2]]
        return [*values[:2], pairs, *values[3:]]
    if table == "d":
        id_, tags, pairs, place, by_word, by_number = values
        items = pairs and [pair and {"p": pair[0], "q": pair[1]} for pair in pairs]
        at = place and {"x": place[0], "names": place[1]}
        return [
            id_,
            tags,
            items,
            at,
            *(m if m is None else {"key": [*m], "value": [*m.values()]} for m in (by_word, by_number)),
        ]
    if table != "o":
        return list(values)
    items = [{"pid": pid, "qty": qty} for pid, qty in values[2]]
    return [*values[:2], items, *values[3:5], {"city": values[5][0], "fee": values[5][1]}]


def answer(view: Any) -> Counter[Any]:
    """The rows of a view."""
    return Counter(plain(tuple(found)) for found in view.rows())


def plain(value: Any) -> Any:
    """A value that compares equal however it is held: numbers by value, structs as tuples, arrays without order."""
    match value:
        case bool() | None | str():
            return value
        case float() if isnan(value):
            return "NaN"
        case float() | int() | Decimal():
            return round(float(value), 9) + 0.0
        case timedelta():
            return ("span", value)
        case Mapping():
            return tuple(plain(part) for part in value.values())
        case tuple():
            return tuple(plain(part) for part in value)
        case list():
            return ("array", tuple(sorted((plain(part) for part in value), key=repr)))
    return value
