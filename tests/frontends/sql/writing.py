"""Writes random queries over a few tiny tables, in words that Spark's dialect and DuckDB's read in the same way.

Few tables, few columns and few values: rows meet, groups come and go, and a query is often about one table three times.
Odd parts are wanted: conditions that never hold, comparisons of a column with itself, aggregates of constants, of what
they are grouped by, of what is not there.
"""

from collections.abc import Mapping, Sequence
from random import Random

#: Tables and their columns; all are numbers.
Tables = Mapping[str, Sequence[str]]
Scope = list[tuple[str, tuple[str, ...]]]

INNER, OUTER = ("JOIN", "JOIN", "CROSS JOIN"), ("LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
JOINS = (*INNER, *OUTER, "SEMI JOIN", "ANTI JOIN")
COMPARISONS = ("=", "=", "=", "<>", "<", "<=", ">", ">=")
SETS = ("UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")


class QueryWriter:
    """Queries over ``tables``, the same for the same seed; ``aggregates`` are those it may use."""

    def __init__(
        self,
        seed: object,
        tables: Tables,
        aggregates: Sequence[str] = ("sum", "min", "max", "count", "avg", "sum"),
        numbers: Sequence[str] = ("0", "1", "2", "3", "-1"),
    ) -> None:
        self.rng, self.aliases = Random(str(seed)), 0
        self.tables, self.aggregates, self.numbers = tables, aggregates, numbers

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    # where rows come from

    def alias(self) -> str:
        self.aliases += 1
        return f"q{self.aliases}"

    def source(self, depth: int) -> tuple[str, str, tuple[str, ...]]:
        """A table, or now and then a query, with the alias and the columns it has."""
        alias = self.alias()
        if depth > 0 and self.chance(0.12):
            width = self.rng.randint(1, 2)
            return f"({self.select(width, depth - 1)}) {alias}", alias, tuple(f"c{i}" for i in range(width))
        table = self.pick(*self.tables)
        return f"{table} {alias}", alias, tuple(self.tables[table])

    def rows(self, depth: int) -> tuple[str, Scope]:
        text, alias, columns = self.source(depth)
        scope: Scope = [(alias, columns)]
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            new, alias, columns = self.source(depth)
            join, both = self.rng.choice(JOINS), [*scope, (alias, columns)]
            on = "" if join == "CROSS JOIN" else f" ON {self.condition(scope, (alias, columns), both)}"
            text += f" {join} {new}{on}"
            scope = scope if join in ("SEMI JOIN", "ANTI JOIN") else both
        return text, scope

    def condition(self, scope: Scope, new: tuple[str, tuple[str, ...]], both: Scope) -> str:
        """What joins: mostly an equation, sometimes nothing of the kind."""
        kind = self.rng.randint(0, 11)
        equation = f"{self.column(scope)} = {self.column([new])}"
        if kind <= 4:
            return equation
        if kind <= 6:
            return f"{equation} AND {self.test(both, 0)}"
        if kind == 7:
            return self.pick("1 = 0", "1 = 1", "NULL = 1", f"{self.column([new])} IS NULL")
        return self.test(both if kind <= 10 else scope, 1)

    # scalars

    def column(self, scope: Scope) -> str:
        alias, columns = self.rng.choice(scope)
        return f"{alias}.{self.pick(*columns)}"

    def number(self, scope: Scope, depth: int) -> str:
        kind = self.rng.randint(0, 10 if depth > 0 else 4)
        if kind <= 3 and scope:
            return self.column(scope)
        if kind <= 4 or not scope:
            return self.pick(*self.numbers)
        one, two = self.number(scope, depth - 1), self.number(scope, depth - 1)
        if kind == 5:
            return f"({one} {self.pick('+', '-', '*')} {two})"
        if kind == 6:
            return f"coalesce({one}, {two})"
        if kind in (7, 8):
            return f"CASE WHEN {self.test(scope, depth - 1)} THEN {one} {self.pick('', f'ELSE {two}')} END"
        if kind == 9:
            return self.scalar_query(scope, depth - 1)
        return f"nullif({one}, {two})"

    def scalar_query(self, scope: Scope, depth: int) -> str:
        text, alias, columns = self.source(depth - 1)
        inner = [*scope, (alias, columns)]
        argument = self.number([(alias, columns)] if self.chance(0.7) else inner, 1)
        return f"(SELECT {self.aggregate_of(argument)} FROM {text} WHERE {self.test(inner, depth)})"

    def aggregate_of(self, argument: str) -> str:
        distinct = "DISTINCT " if self.chance(0.1) else ""
        return self.pick("count(*)", *(f"{f}({distinct}{argument})" for f in self.aggregates))

    # conditions

    def test(self, scope: Scope, depth: int) -> str:
        kind = self.rng.randint(0, 12 if depth > 0 else 3)
        one, two = self.number(scope, 0), self.number(scope, max(0, depth - 1))
        if kind <= 2:
            return f"{one} {self.pick(*COMPARISONS)} {two}"
        if kind == 3:
            return f"{one} IS {self.pick('', 'NOT ')}NULL"
        if kind == 4:
            return f"({self.test(scope, depth - 1)} {self.pick('AND', 'AND', 'OR')} {self.test(scope, depth - 1)})"
        if kind == 5:
            return f"NOT ({self.test(scope, depth - 1)})"
        if kind == 6:
            return f"{one} {self.pick('', 'NOT ')}IN ({two}, {self.pick('1', 'NULL')})"
        if kind == 7:
            return f"{one} {self.pick('', 'NOT ')}BETWEEN {two} AND {self.number(scope, 0)}"
        if kind == 8:
            return f"{one} {self.pick(*COMPARISONS)} {self.scalar_query(scope, depth - 1)}"
        text, alias, columns = self.source(depth - 1)
        where = self.test([*scope, (alias, columns)], depth - 1)
        if kind <= 10:
            return f"{self.pick('', 'NOT ')}EXISTS (SELECT 1 FROM {text} WHERE {where})"
        return f"{one} {self.pick('', 'NOT ')}IN (SELECT {self.column([(alias, columns)])} FROM {text} WHERE {where})"

    # queries

    def select(self, width: int, depth: int = 2) -> str:
        text, scope = self.rows(depth)
        where = f" WHERE {self.test(scope, depth)}" if self.chance(0.65) else ""
        if self.chance(0.5):
            return self.grouped(width, text, scope, where)
        items = ", ".join(f"{self.number(scope, depth)} AS c{i}" for i in range(width))
        return f"SELECT {self.pick('', '', 'DISTINCT ')}{items} FROM {text}{where}"

    def grouped(self, width: int, text: str, scope: Scope, where: str) -> str:
        keys = [self.column(scope) for _ in range(self.rng.randint(0, width - 1))]
        items = [*keys, *(self.aggregate(scope) for _ in range(width - len(keys)))]
        having = f" HAVING {self.having(scope, keys)}" if self.chance(0.3) else ""
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        named = ", ".join(f"{item} AS c{i}" for i, item in enumerate(items))
        return f"SELECT {named} FROM {text}{where}{group}{having}"

    def having(self, scope: Scope, keys: Sequence[str]) -> str:
        """A test of an aggregate: against a number, a key, another aggregate."""
        other = self.pick("1", "0", self.aggregate(scope), *keys)
        return f"{self.aggregate(scope)} {self.pick(*COMPARISONS)} {other}"

    def aggregate(self, scope: Scope) -> str:
        what = self.aggregate_of(self.number(scope, 1))
        return f"{what} FILTER (WHERE {self.test(scope, 0)})" if self.chance(0.15) else what

    def query(self, depth: int = 2) -> str:
        width = self.rng.randint(1, 3)
        one = self.select(width, depth)
        if self.chance(0.85):
            return one
        return f"{one} {self.pick(*SETS)} {self.select(width, depth - 1)}"


def ours(query: str) -> str:
    """``query`` in the words of Spark."""
    return query.replace("SEMI JOIN", "LEFT SEMI JOIN").replace("ANTI JOIN", "LEFT ANTI JOIN")
