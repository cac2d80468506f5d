"""Random queries: joins, conditions with nulls, subqueries, groups and set operations, one inside the other."""

from random import Random

import pytest

from tests.frontends.sql.worlds import World, answer

COLUMNS = {"r": ("a", "b"), "s": ("a", "d"), "t": ("k", "g", "x")}
STRINGS = {"r": "c", "s": "e"}
JOINS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "SEMI JOIN", "ANTI JOIN")


class Writer:
    """Writes queries that both Spark's dialect and DuckDB's read in the same way."""

    def __init__(self, seed: int) -> None:
        self.rng, self.aliases = Random(seed), 0

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def source(self) -> tuple[str, str]:
        self.aliases += 1
        return self.pick("r", "s", "t"), f"q{self.aliases}"

    def number(self, scope: list[tuple[str, str]], depth: int) -> str:
        kind = self.rng.randint(0, 9 if depth else 4)
        if kind <= 3 and scope:
            table, alias = self.rng.choice(scope)
            return f"{alias}.{self.pick(*COLUMNS[table])}"
        if kind <= 4 or not scope:
            return str(self.rng.randint(0, 3))
        one = self.number(scope, depth - 1)
        if kind == 5:
            return f"({one} {self.pick('+', '-', '*')} {self.number(scope, depth - 1)})"
        if kind == 6:
            return f"coalesce({one}, {self.number(scope, depth - 1)})"
        if kind == 7:
            other = self.number(scope, depth - 1)
            return f"CASE WHEN {self.test(scope, depth - 1)} THEN {one} {self.pick('', f'ELSE {other}')} END"
        if kind == 8:
            return self.scalar_query(scope, depth - 1)
        return f"nullif({one}, {self.number(scope, depth - 1)})"

    def scalar_query(self, scope: list[tuple[str, str]], depth: int) -> str:
        table, alias = self.source()
        inner = [*scope, (table, alias)]
        what = self.pick(
            "count(*)", *(f"{f}({alias}.{COLUMNS[table][1]})" for f in ("sum", "min", "max", "count"))
        )
        return f"(SELECT {what} FROM {table} {alias} WHERE {self.test(inner, depth)})"

    def test(self, scope: list[tuple[str, str]], depth: int) -> str:
        kind = self.rng.randint(0, 10 if depth > 0 else 3)
        one, two = self.number(scope, 0), self.number(scope, max(0, depth - 1))
        if kind <= 2:
            return f"{one} {self.pick('=', '=', '=', '<>', '<', '<=', '>', '>=')} {two}"
        if kind == 3:
            return f"{one} IS {self.pick('', 'NOT ')}NULL"
        if kind == 4:
            return f"({self.test(scope, depth - 1)} {self.pick('AND', 'AND', 'OR')} {self.test(scope, depth - 1)})"
        if kind == 5:
            return f"NOT ({self.test(scope, depth - 1)})"
        if kind == 6:
            return (
                f"{one} {self.pick('', 'NOT ')}IN ({two}, {self.number(scope, 0)}, {self.pick('1', 'NULL')})"
            )
        if kind == 7:
            return f"{one} {self.pick('', 'NOT ')}BETWEEN {two} AND {self.number(scope, 0)}"
        table, alias = self.source()
        where = self.test([*scope, (table, alias)], depth - 1)
        if kind == 8:
            return f"{self.pick('', 'NOT ')}EXISTS (SELECT 1 FROM {table} {alias} WHERE {where})"
        column = f"{alias}.{self.pick(*COLUMNS[table])}"
        return f"{one} {self.pick('', 'NOT ')}IN (SELECT {column} FROM {table} {alias} WHERE {where})"

    def rows(self) -> tuple[str, list[tuple[str, str]]]:
        """A FROM and the columns it has."""
        table, alias = self.source()
        text, scope = f"{table} {alias}", [(table, alias)]
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            table, alias = self.source()
            join = self.rng.choice(JOINS)
            both = [*scope, (table, alias)]
            on = "" if join == "CROSS JOIN" else f" ON {self.equation(scope, (table, alias))}"
            if on and self.rng.random() < 0.4:
                on += f" AND {self.test(both, 0)}"
            text += f" {join} {table} {alias}{on}"
            scope = scope if join in ("SEMI JOIN", "ANTI JOIN") else both
        return text, scope

    def equation(self, scope: list[tuple[str, str]], new: tuple[str, str]) -> str:
        table, alias = self.rng.choice(scope)
        return f"{alias}.{self.pick(*COLUMNS[table])} = {new[1]}.{self.pick(*COLUMNS[new[0]])}"

    def select(self, width: int) -> str:
        text, scope = self.rows()
        where = f" WHERE {self.test(scope, 2)}" if self.rng.random() < 0.7 else ""
        if self.rng.random() < 0.4:
            return self.grouped(width, text, scope, where)
        items = ", ".join(f"{self.number(scope, 2)} AS c{i}" for i in range(width))
        return f"SELECT {self.pick('', '', 'DISTINCT ')}{items} FROM {text}{where}"

    def grouped(self, width: int, text: str, scope: list[tuple[str, str]], where: str) -> str:
        keys = [self.number(scope, 0) for _ in range(self.rng.randint(0, width - 1))]
        keys = [key for key in keys if not key.isdigit()]
        items = [*keys, *(self.aggregate(scope) for _ in range(width - len(keys)))]
        having = (
            f" HAVING {self.aggregate(scope)} {self.pick('>', '<=', '=')} 1"
            if self.rng.random() < 0.4
            else ""
        )
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        named = ", ".join(f"{item} AS c{i}" for i, item in enumerate(items))
        return f"SELECT {named} FROM {text}{where}{group}{having}"

    def aggregate(self, scope: list[tuple[str, str]]) -> str:
        argument = self.number(scope, 1)
        what = self.pick("count(*)", *(f"{f}({argument})" for f in ("sum", "min", "max", "count")),
                         f"count(DISTINCT {argument})", f"sum({argument})")  # fmt: skip
        return f"{what} FILTER (WHERE {self.test(scope, 0)})" if self.rng.random() < 0.2 else what

    def query(self) -> str:
        width = self.rng.randint(1, 3)
        one = self.select(width)
        if self.rng.random() < 0.75:
            return one
        operator = self.pick("UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
        return f"{one} {operator} {self.select(width)}"


def agrees(seed: int) -> None:
    query = Writer(seed).query()
    world = World(("r", "s", "t"), f"random {seed}")
    view = world.db.view(
        "v", query.replace("SEMI JOIN", "LEFT SEMI JOIN").replace("ANTI JOIN", "LEFT ANTI JOIN"), strict=False
    )
    for _ in range(3):
        world.change(4)
        assert answer(view) == world.expected(query), query


@pytest.mark.parametrize("seed", range(30))
def test_random_queries_are_what_duckdb_computes(seed):
    agrees(seed)


@pytest.mark.soak
@pytest.mark.parametrize("start", range(1_000, 3_000, 100))
def test_many_random_queries(start):
    for seed in range(start, start + 100):
        agrees(seed)
