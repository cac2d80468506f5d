"""Random SQL that Spark and DuckDB read alike: joins, subqueries, groups, windows, sets, bags taken apart and made.

Where the two have other words, a text holds both; ``ours`` and ``theirs`` pick one.
"""

import re
from dataclasses import dataclass
from random import Random

from tests.soak.schema import Column

_CHOICE = re.compile("\x01([^\x01\x02\x03]*)\x02([^\x01\x02\x03]*)\x03")
JOINS = (
    "JOIN",
    "JOIN",
    "LEFT JOIN",
    "LEFT JOIN",
    "RIGHT JOIN",
    "FULL JOIN",
    "CROSS JOIN",
    "SEMI JOIN",
    "ANTI JOIN",
)
#: How often a bag is written where it would be NULL.
REFUSED = 0.05
LITERALS = {
    "str": ("'a'", "'ab'", "''", "'#1'"),
    "float": ("0.5", "CAST(4 AS DOUBLE)", "CAST(0 AS DOUBLE)"),
    "wild": ("CAST(1 AS DOUBLE)",),
    "dec": ("1.25", "0", "2.5"),
    "long": ("0", "1.25", "-7.5"),
    "date": ("DATE '2024-01-01'", "DATE '2024-02-29'"),
}


def both(ours: str, theirs: str) -> str:
    return f"\x01{ours}\x02{theirs}\x03"


def picked(text: str, side: int) -> str:
    """One side of every choice in ``text``: 1 is ours, 2 is DuckDB's."""
    while "\x01" in text:
        text = _CHOICE.sub(lambda match: match.group(side), text)
    return text


@dataclass(frozen=True)
class Name:
    """A column that can be written here."""

    text: str
    kind: str
    null: bool = True
    bag: Column | None = None


Scope = list[Name]


class SqlWriter:
    """Writes one query; ``columns`` are those of its answer."""

    def __init__(self, rng: Random, relations: dict[str, tuple[Column, ...]]) -> None:
        self.rng, self.relations, self.aliases = rng, relations, 0

    # -- words

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def alias(self) -> str:
        self.aliases += 1
        return f"q{self.aliases}"

    def some(self, scope: Scope, *kinds: str) -> Name | None:
        fits = [name for name in scope if name.kind in kinds]
        return self.rng.choice(fits) if fits else None

    # -- scalars

    def number(self, scope: Scope, depth: int) -> str:
        kind = self.rng.randint(0, 11 if depth else 4)
        column = self.some(scope, "int")
        if kind <= 3 and column:
            return column.text
        if kind <= 4 or not scope:
            return str(self.rng.randint(0, 3))
        one, two = self.number(scope, depth - 1), self.number(scope, depth - 1)
        match kind:
            case 5 | 6:
                return f"({one} {self.pick('+', '-', '*')} {two})"
            case 7:
                return f"coalesce({one}, {two})"
            case 8:
                return (
                    f"CASE WHEN {self.test(scope, depth - 1)} THEN {one} {self.pick('', f'ELSE {two}')} END"
                )
            case 9:
                return self.scalar_query(scope, depth - 1)
            case 10:
                return self.of_others(scope) or one
        return self.pick(f"nullif({one}, {two})", f"greatest({one}, {two})", f"abs({one})", f"(-{one})")

    def of_others(self, scope: Scope) -> str | None:
        """A number that is read off a value of another kind."""
        name = self.some(scope, "str", "date", "bag")
        if name is None:
            return None
        if name.kind == "str":
            return f"length({name.text})"
        if name.kind == "date":
            return f"{self.pick('year', 'month', 'day')}({name.text})"
        return both(f"size({name.text})", f"len({name.text})")

    def scalar_query(self, scope: Scope, depth: int) -> str:
        source, inner = self.source()
        column = self.some(inner, "int")
        options = ["count(*)"]
        if column:
            options += [f"{f}({column.text})" for f in ("sum", "min", "max", "count", "count")]
        return f"(SELECT {self.pick(*options)} FROM {source} WHERE {self.test([*scope, *inner], depth)})"

    def item(self, scope: Scope, depth: int = 2) -> tuple[str, str]:
        """A column of the answer and its kind."""
        name = self.rng.choice(scope)
        if self.chance(0.55) or name.kind in ("int", "bag"):
            return self.number(scope, depth), "int"
        text = name.text
        match name.kind:
            case "str":
                text = self.pick(text, f"upper({text})", f"{text} || 'x'", f"coalesce({text}, 'none')")
            case "float":
                text = self.pick(text, f"({text} + 1)", f"({text} * 2)", f"(-{text})")
            case "dec":
                text = self.pick(text, f"({text} + 1.25)", f"({text} * 2)", f"(-{text})", f"abs({text})")
            case "bool":
                text = self.pick(text, f"NOT {text}")
        if self.chance(0.2):
            text = f"CASE WHEN {self.test(scope, 1)} THEN {text} END"
        return text, name.kind

    # -- conditions

    def test(self, scope: Scope, depth: int) -> str:
        kind = self.rng.randint(0, 12 if depth > 0 else 4)
        one, two = self.number(scope, 0), self.number(scope, max(0, depth - 1))
        match kind:
            case 0 | 1 | 2:
                return f"{one} {self.pick('=', '=', '=', '<>', '<', '<=', '>', '>=')} {two}"
            case 3:
                return f"{self.rng.choice(scope).text if self.plain(scope) else one} IS {self.pick('', 'NOT ')}NULL"
            case 4:
                return self.typed(scope) or f"{one} < {two}"
            case 5 | 6:
                return f"({self.test(scope, depth - 1)} {self.pick('AND', 'AND', 'OR')} {self.test(scope, depth - 1)})"
            case 7:
                return f"NOT ({self.test(scope, depth - 1)})"
            case 8:
                return f"{one} {self.pick('', 'NOT ')}IN ({two}, {self.number(scope, 0)}, {self.pick('1', 'NULL')})"
            case 9:
                return f"{one} {self.pick('', 'NOT ')}BETWEEN {two} AND {self.number(scope, 0)}"
        return self.with_query(one, scope, depth)

    def plain(self, scope: Scope) -> bool:
        return all(name.kind != "bag" for name in scope)

    def with_query(self, one: str, scope: Scope, depth: int) -> str:
        source, inner = self.source()
        where = self.test([*scope, *inner], depth - 1)
        column = self.some(inner, "int")
        if column is None or self.chance(0.5):
            return f"{self.pick('', 'NOT ')}EXISTS (SELECT 1 FROM {source} WHERE {where})"
        if self.chance(0.2):
            return f"{one} {self.pick('=', '<', '>=')} {self.scalar_query(scope, depth - 1)}"
        return f"{one} {self.pick('', 'NOT ')}IN (SELECT {column.text} FROM {source} WHERE {where})"

    def typed(self, scope: Scope) -> str | None:
        """A comparison of what is no whole number."""
        name = self.some(scope, "str", "float", "dec", "long", "date", "wild", "bool", "bag")
        if name is None:
            return None
        if name.kind == "bool":
            return name.text
        if name.kind == "bag":
            return self.quantified(name)
        other = self.some(scope, name.kind)
        right = other.text if other and self.chance(0.5) else self.pick(*LITERALS[name.kind])
        return f"{name.text} {self.pick('=', '<>', '<', '>=')} {right}"

    def quantified(self, name: Name) -> str:
        assert name.bag is not None
        part = name.bag.parts[0]
        if name.bag.scalars and part.kind == "str":
            return both(f"array_contains({name.text}, 'a')", f"list_contains({name.text}, 'a')")
        inside = f"i.{part.name}" if part.name else "i"
        return both(
            f"exists({name.text}, i -> {inside} > 1)",
            f"len(list_filter({name.text}, lambda i: {inside} > 1)) > 0",
        )

    # -- rows

    def source(self) -> tuple[str, Scope]:
        """A relation and its columns; seldom a query of its own."""
        table, alias = self.pick(*self.relations), self.alias()
        if self.chance(0.12):
            text, kinds = self.flat(2, 0)
            return f"({text}) {alias}", [Name(f"{alias}.c{i}", kind) for i, kind in enumerate(kinds)]
        columns = self.relations[table]
        return f"{table} {alias}", [
            Name(f"{alias}.{c.name}", c.kind, c.null, c if c.kind == "bag" else None) for c in columns
        ]

    def rows(self, most: int = 2) -> tuple[str, Scope]:
        """A FROM and the columns it has."""
        text, scope = self.source()
        for _ in range(self.rng.choice([0, 0, 1, 1, 2]) if most else 0):
            right, new = self.source()
            join = self.pick(*JOINS)
            on = "" if join == "CROSS JOIN" else f" ON {self.meeting(scope, new)}"
            if on and self.chance(0.4):
                on += f" AND {self.test([*scope, *new], 0)}"
            spark = f"LEFT {join}" if join in ("SEMI JOIN", "ANTI JOIN") else join
            text += f" {both(spark, join)} {right}{on}"
            scope = self.joined(join, scope, new)
        return self.exploded(text, scope)

    def joined(self, join: str, scope: Scope, new: Scope) -> Scope:
        """What can be written after a join. A bag would be NULL in rows without a partner, which is refused."""
        match join:
            case "SEMI JOIN" | "ANTI JOIN":
                return scope
            case "LEFT JOIN":
                return [*scope, *self.padded(new)]
            case "RIGHT JOIN":
                return [*self.padded(scope), *new]
            case "FULL JOIN":
                return [*self.padded(scope), *self.padded(new)]
        return [*scope, *new]

    def padded(self, scope: Scope) -> Scope:
        """The columns of a side that may have no partner: a bag of it is written now and then, to be refused."""
        return [name for name in scope if name.kind != "bag" or self.chance(REFUSED)]

    def meeting(self, scope: Scope, new: Scope) -> str:
        left = self.some(scope, "int", "int", "str")
        right = self.some(new, left.kind) if left else None
        if left is None or right is None:
            return self.test([*scope, *new], 0)
        return (
            f"{left.text} {self.pick('=', '=', '=', '<', '>=') if left.kind == 'int' else '='} {right.text}"
        )

    def exploded(self, text: str, scope: Scope) -> tuple[str, Scope]:
        """A bag of the rows taken apart, perhaps, and one inside it too."""
        name = self.some(scope, "bag")
        while name is not None and name.bag is not None and self.chance(0.5):
            alias, bag = self.alias(), name.bag
            text += both(
                f" LATERAL VIEW explode({name.text}) {alias} AS {alias}i",
                f", unnest({name.text}) AS {alias}({alias}i)",
            )
            new = [
                Name(
                    f"{alias}i.{p.name}" if p.name else f"{alias}i",
                    p.kind,
                    p.null,
                    p if p.kind == "bag" else None,
                )
                for p in bag.parts
            ]
            scope, name = [*scope, *new], self.some(new, "bag")
        return text, scope

    # -- queries

    def flat(self, width: int, depth: int = 2) -> tuple[str, list[str]]:
        """A SELECT of numbers, which can stand inside another query."""
        text, scope = self.rows() if depth else self.rows(0)
        where = f" WHERE {self.test(scope, depth)}" if self.chance(0.7) else ""
        if self.chance(0.35):
            return self.grouped(width, text, scope, where)
        items = ", ".join(f"{self.number(scope, depth)} AS c{i}" for i in range(width))
        return f"SELECT {self.pick('', '', 'DISTINCT ')}{items} FROM {text}{where}", ["int"] * width

    def grouped(self, width: int, text: str, scope: Scope, where: str) -> tuple[str, list[str]]:
        keys = [
            name
            for name in self.rng.sample(scope, min(len(scope), width - 1))
            if name.kind not in ("bag", "nan")
        ]
        keys = keys[: self.rng.randint(0, width - 1)]
        made = [self.aggregate(scope) for _ in range(width - len(keys))]
        having = ""
        if self.chance(0.35):
            having = f" HAVING {self.count(scope)} {self.pick('>', '<=', '=')} {self.pick('1', '2')}"
        group = f" GROUP BY {', '.join(key.text for key in keys)}" if keys else ""
        items = [*((key.text, key.kind) for key in keys), *made]
        named = ", ".join(f"{item} AS c{i}" for i, (item, _) in enumerate(items))
        return f"SELECT {named} FROM {text}{where}{group}{having}", [kind for _, kind in items]

    def count(self, scope: Scope) -> str:
        return self.pick("count(*)", f"count({self.number(scope, 0)})", f"max({self.number(scope, 0)})")

    def aggregate(self, scope: Scope) -> tuple[str, str]:
        text, kind = self.item(scope, 1)
        options = [("count(*)", "int"), (f"count({text})", "int"), (f"count(DISTINCT {text})", "int")]
        if kind == "nan":
            options = [("count(*)", "int"), (f"count({text})", "int")]
        if kind in ("int", "float", "dec", "nan"):
            options += [(f"sum({text})", "nan" if kind == "float" else kind)] * 3
        if kind in ("int", "float", "nan"):
            options += [(f"avg({text})", "float" if kind == "int" else "nan")]
        if kind not in ("bool", "nan"):
            options += [(f"min({text})", kind), (f"max({text})", kind)]
        made, result = self.rng.choice(options)
        if self.chance(0.15):
            made += f" FILTER (WHERE {self.test(scope, 0)})"
        return made, result

    def sets(self, width: int) -> tuple[str, list[str]]:
        operator = self.pick(
            "UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"
        )
        one, two = self.ints(width), self.ints(width)
        return f"{one} {operator} {two}", ["int"] * width

    def ints(self, width: int) -> str:
        text, scope = self.rows()
        items = ", ".join(f"{self.number(scope, 1)} AS c{i}" for i in range(width))
        return f"SELECT {items} FROM {text} WHERE {self.test(scope, 1)}"

    def mixed(self, width: int) -> tuple[str, list[str]]:
        text, scope = self.rows()
        where = f" WHERE {self.test(scope, 2)}" if self.chance(0.6) else ""
        items = [self.item(scope) for _ in range(width)]
        named = ", ".join(f"{item} AS c{i}" for i, (item, _) in enumerate(items))
        distinct = "" if any(kind == "nan" for _, kind in items) else self.pick("", "", "DISTINCT ")
        return f"SELECT {distinct}{named} FROM {text}{where}", [kind for _, kind in items]

    def collected(self) -> tuple[str, list[str]]:
        """A bag for every group."""
        text, scope = self.rows()
        key, inner = self.some(scope, "int", "str"), self.number(scope, 1)
        if key is None:
            return self.flat(2)
        lists = both(
            f"collect_list({inner})", f"coalesce(list({inner}) FILTER (WHERE ({inner}) IS NOT NULL), [])"
        )
        return f"SELECT {key.text} AS c0, {lists} AS c1, count(*) AS c2 FROM {text} GROUP BY {key.text}", [
            key.kind,
            "bag",
            "int",
        ]

    def windowed(self) -> tuple[str, list[str]]:
        text, scope = self.rows(0)
        one, two = self.some(scope, "int"), self.some(scope, "int", "str", "dec", "date")
        if one is None or two is None:
            return self.flat(2)
        where = f" WHERE {self.test(scope, 1)}" if self.chance(0.4) else ""
        order = both(f"ORDER BY {one.text}", f"ORDER BY {one.text} NULLS FIRST")
        part = self.pick("", f"PARTITION BY {two.text} ")
        made = self.pick(
            f"sum({one.text}) OVER ({part})", f"rank() OVER ({part}{order})", f"dense_rank() OVER ({order})",
            f"count(*) OVER ({part})", f"max({one.text}) OVER ({part})", f"sum({one.text}) OVER ({part}{order})",
        )  # fmt: skip
        return f"SELECT {one.text} AS c0, {two.text} AS c1, {made} AS c2 FROM {text}{where}", [
            "int",
            two.kind,
            "int",
        ]

    def top(self) -> tuple[str, list[str]]:
        """The first few rows, in an order of all columns that are shown: equal rows are alike."""
        text, scope = self.rows(1)
        names = [
            name for name in self.rng.sample(scope, min(len(scope), 3)) if name.kind in ("int", "str", "date")
        ]
        if not names:
            return self.flat(2)
        ways = [self.pick(" ", " DESC ") for _ in names]
        nulls = {" ": "NULLS FIRST", " DESC ": "NULLS LAST"}
        order = ", ".join(n.text + both(way, way + nulls[way]) for n, way in zip(names, ways, strict=True))
        items = ", ".join(f"{name.text} AS c{i}" for i, name in enumerate(names))
        where = f" WHERE {self.test(scope, 1)}" if self.chance(0.4) else ""
        return f"SELECT {items} FROM {text}{where} ORDER BY {order} LIMIT {self.rng.randint(1, 4)}", [
            name.kind for name in names
        ]

    def query(self) -> tuple[str, tuple[Column, ...]]:
        """A query, and its columns."""
        width = self.rng.randint(1, 3)
        text, kinds = self.rng.choices(
            [
                self.flat,
                self.mixed,
                self.sets,
                lambda _: self.collected(),
                lambda _: self.windowed(),
                lambda _: self.top(),
            ],
            [8, 5, 3, 2, 1, 1],
        )[0](width)
        return text, tuple(Column(f"c{i}", kind, True) for i, kind in enumerate(kinds))
