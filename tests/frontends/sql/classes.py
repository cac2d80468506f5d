"""Classes of queries that answers went wrong in, each drawn in many shapes; and the law that all of them follow.

A class is what several bugs had in common: the shape of a condition, what an aggregate stands beside, which columns may
be null, what a table declares. ``follows`` is quick enough to be tried on a broken compiler, as
``tests/mutants`` does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import nestling as nl

COMPARISONS = ("<", "<=", ">", ">=")
AGGREGATES = ("sum", "count", "avg", "min", "max")
#: Numbers whose sum depends on the order in which they are added, and one that takes all others with it.
FLOATS = (0.5, -0.5, 1.0, -1.0, 1e16, 2.0**-40, float("inf"))
DECIMALS = tuple(
    map(
        Decimal,
        (
            "0.01",
            "-0.01",
            "1",
            "123456789012345678901234567890123456.78",
            "-123456789012345678901234567890123456.78",
            "-7.5",
        ),
    )
)


@dataclass(frozen=True)
class Table:
    """Columns with the values that are drawn for them; ``None`` among these makes a column nullable."""

    columns: dict[str, tuple[Any, ...]]
    key: str | None = None
    references: dict[str | tuple[str, ...], str] | None = None

    def schema(self) -> dict[str, Any]:
        return {name: self.type_of(values) for name, values in self.columns.items()}

    @staticmethod
    def type_of(values: tuple[Any, ...]) -> Any:
        kind = type(next(value for value in values if value is not None))
        return kind | None if None in values else kind


SMALL = (-1, 0, 1, 2)
TABLES = {
    "r": Table({"k": SMALL, "a": SMALL, "b": (*SMALL, None)}),
    "t": Table({"k": SMALL, "a": SMALL}),
    "f": Table({"k": (0, 1), "a": (0, 1), "x": FLOATS}),
    "g": Table({"k": (0, 1, 2), "x": (0.5, -1.0, float("inf"), float("nan"))}),
    "d": Table({"k": SMALL, "x": (*DECIMALS, None)}),
    "p": Table({"id": SMALL, "a": SMALL}, key="id"),
    "c": Table({"id": SMALL, "p": SMALL, "a": SMALL}, key="id", references={"p": "p"}),
}


def sums_correlated_by_order(rng: Random) -> str:
    """A nested aggregate that only a comparison, or a comparison and an equation, relates to its surroundings."""
    outer, what = rng.choice("rrt"), rng.choice(("sum", "sum", *AGGREGATES))
    inner = f"SELECT {what}(y.{rng.choice('kab')}) FROM r y WHERE y.{rng.choice('kkaab')}"
    inner += f" {rng.choice(COMPARISONS)} x.{rng.choice('ka')}{rng.choice(['', '', ' AND y.k = x.a'])}"
    if rng.random() < 0.5:
        return f"SELECT x.k, ({inner}) n FROM {outer} x"
    other = rng.choice(("x.a", "-5", "-5", "1"))
    return f"SELECT x.k, x.a FROM {outer} x WHERE ({inner}) {rng.choice((*COMPARISONS, '='))} {other}"


def bounds_that_move(rng: Random) -> str:
    """Rows on one side of an aggregate that changes: those between where it was and is come or go."""
    what = rng.choice(("sum(y.a)", "count(*)", "max(y.a)"))
    inner = f"SELECT {what} FROM t y{rng.choice(('', ' WHERE y.k = x.k', ' WHERE y.k = x.k'))}"
    items, by = rng.choice((("sum(x.a) s", ""), ("x.k, count(*) n", " GROUP BY x.k"), ("x.a, x.b", "")))
    return f"SELECT {items} FROM r x WHERE x.a {rng.choice(COMPARISONS)} ({inner}){by}"


def no_numbers_beside_bounds(rng: Random) -> str:
    """Floats, some of them no numbers, on one side of an aggregate that changes."""
    inner = f"SELECT {rng.choice(('sum(w.a)', 'count(*)'))} FROM t w WHERE w.k = v.k"
    items, by = rng.choice((("sum(v.k) s", ""), ("v.k, count(*) n", " GROUP BY v.k"), ("v.k, v.x", "")))
    return f"SELECT {items} FROM g v WHERE v.x {rng.choice(COMPARISONS)} ({inner}){by}"


def joins_by_order(rng: Random) -> str:
    """Sums over pairs of rows that only a comparison relates, of columns that may be null among others."""
    what = rng.choice(("count(*) n", "sum(y.a) s", "sum(x.a * y.a) s", "sum(y.b) s"))
    test = f"y.{rng.choice('bbk')} {rng.choice(COMPARISONS)} x.{rng.choice('ka')}"
    group = rng.choice(("", "x.a", "y.k", "y.b"))
    item, by = (f"{group}, ", f" GROUP BY {group}") if group else ("", "")
    return f"SELECT {item}{what} FROM t x JOIN r y ON {test}{by}"


def aggregates_beside_equal_keys(rng: Random) -> str:
    """A row that passes where a column is an aggregate of what the column, or another, bounds."""
    order = rng.choice((*COMPARISONS, "="))
    what, by = rng.choice(("count(*)", "sum(t.k)", "max(t.a)")), rng.choice("ka")
    inner = f"SELECT {what} FROM t WHERE t.{rng.choice('ka')} {order} r.{by}"
    return f"SELECT k, count(*) n FROM r WHERE {rng.choice('ka')} = ({inner}) GROUP BY k"


def not_in_with_nulls(rng: Random) -> str:
    """NOT IN where the query may hold a null and is correlated by an inequality, or by none of its own columns."""
    left, right = rng.choice(("r.k", "u.a", "u.b")), rng.choice(("3", "r.a", "1"))
    inner = f"SELECT u.{rng.choice('bba')} FROM r u WHERE {left} {rng.choice(COMPARISONS)} {right}"
    test = f"r.{rng.choice('ab')} {rng.choice(('NOT IN', 'NOT IN', 'IN'))} ({inner})"
    return f"SELECT r.k, sum(t.a) h FROM t JOIN r ON r.a < 3 WHERE {test} GROUP BY r.k"


def equations_with_nulls(rng: Random) -> str:
    """A column that is never null equals one that may be, in a join, a nested aggregate, an outer join."""
    test = rng.choice(("z.a = y.b", "y.b = z.a", "z.a = y.b AND y.b + 1 > 0"))
    what = rng.choice(("sum(z.a)", "sum(y.b)", "max(y.b)", "count(y.b)"))
    join = rng.choice(("JOIN", "LEFT JOIN", "FULL JOIN"))
    if rng.random() < 0.5:
        return f"SELECT y.k, (SELECT {what} FROM t z WHERE {test}) s FROM r x {join} r y ON x.k = y.b"
    return f"SELECT z.k, {what} s FROM t z {join} r y ON {test} GROUP BY z.k"


def impossible_joins(rng: Random) -> str:
    """An outer join whose condition never holds, or holds of one side alone, under every aggregate."""
    on = rng.choice(("1 = 0", "1 = 1", "x.a > 9", "y.a > 9", "NULL = 1", "x.a = x.a", "y.k IS NULL"))
    argument = rng.choice(("y.k", "x.k", "1", "y.k + x.a", "DISTINCT y.k"))
    what = f"{rng.choice((*AGGREGATES, 'stddev_pop'))}({argument})"
    group = rng.choice(("", "x.a"))
    item = f"{group}, " if group else ""
    join = rng.choice(("LEFT JOIN", "FULL JOIN", "RIGHT JOIN"))
    return f"SELECT {item}{what} m FROM t x {join} t y ON {on}{' GROUP BY x.a' if group else ''}"


def floats_joined_twice(rng: Random) -> str:
    """Sums of floats over a disjunction: what is counted twice is taken away once, in maps of a count and a sum."""
    what = rng.choice(("sum(f.x)", "avg(f.x)", "sum(f.x), count(*)"))
    on = f"f.a = t.{rng.choice('ka')} OR f.k = t.{rng.choice('ka')}"
    return f"SELECT f.k, {what} FROM f JOIN t ON {on} GROUP BY f.k"


def long_decimals(rng: Random) -> str:
    """Sums of decimals with as many digits as a column holds."""
    where = rng.choice(("", " WHERE k > 0"))
    return f"SELECT {rng.choice(('k', 'max(k)'))} g, sum(x) s, count(x) n FROM d{where} GROUP BY k"


def changing_parents(rng: Random) -> str:
    """A parent that is referred to and changes: what is joined with it must follow."""
    what = rng.choice(("c.id, p.a", "p.a, count(*) n", "sum(c.a) s", "c.id"))
    group = " GROUP BY p.a" if what.startswith("p.a") else ""
    where = rng.choice(("", " WHERE p.a > 0", " WHERE c.a <= p.a"))
    return f"SELECT {what} FROM c {rng.choice(('JOIN', 'LEFT JOIN'))} p ON c.p = p.id{where}{group}"


def collected_while_looped(rng: Random) -> str:
    """A table that is joined with itself under a nested test of it: one change is collected while others are looped."""
    case = f"CASE WHEN x.k = y.k THEN y.k ELSE x.{rng.choice('ka')} END"
    inner = f"SELECT 1 FROM t z WHERE {rng.choice(('x.a >= y.a', 'z.a = x.k', 'z.k > y.a'))}"
    what = rng.choice((f"max({case})", f"sum({case})", f"{case}"))
    return f"SELECT {what} m FROM t x LEFT JOIN t y ON x.a = y.k WHERE NOT EXISTS ({inner})"


CLASSES: dict[str, Callable[[Random], str]] = {
    name.__name__: name
    for name in (
        sums_correlated_by_order,
        joins_by_order,
        bounds_that_move,
        no_numbers_beside_bounds,
        aggregates_beside_equal_keys,
        not_in_with_nulls,
        equations_with_nulls,
        impossible_joins,
        floats_joined_twice,
        long_decimals,
        changing_parents,
        collected_while_looped,
    )
}
STORES, REFRESHES = ("auto", "full", "full", "counts"), ("eager", "eager", "hybrid", "lazy")


def follows(kind: str, seed: int, steps: int = 12) -> None:
    """After every change, every map and the answer are what the query says; and who is told can tell the answer."""
    rng = Random(f"{kind} {seed}")
    query = CLASSES[kind](rng)
    db = nl.Database()
    for name, table in used(query).items():
        db.table(name, table.schema(), key=table.key, references=table.references)
    view = db.view("v", query, store=rng.choice(STORES), refresh=rng.choice(REFRESHES), strict=False)
    told = dict(view.bag().items())
    is_told = rng.random() < 0.5
    if is_told:
        view.subscribe(lambda change: add(told, dict(change.rows.items())))
    for _ in range(steps):
        move(db, rng)
        db.verify(maps=True)
        if is_told:
            assert told == dict(view.bag().items()), query


def add(rows: dict[Any, int], change: dict[Any, int]) -> None:
    for row, times in change.items():
        rows[row] = rows.get(row, 0) + times
        if not rows[row]:
            del rows[row]


def used(query: str) -> dict[str, Table]:
    """The tables that ``query`` speaks of, and those that they refer to."""
    words = set(query.replace("(", " ").replace(".", " ").split())
    names = {name for name in TABLES if name in words}
    names |= {parent for name in names for parent in (TABLES[name].references or {}).values()}
    return {name: table for name, table in TABLES.items() if name in names}


def move(db: nl.Database, rng: Random) -> None:
    """One change that the tables accept: a row comes, goes, or is replaced under its key."""
    name = rng.choice(list(db.tables))
    table, rows = TABLES[name], [tuple(row) for row in db.tables[name].rows()]
    new = tuple(rng.choice(values) for values in table.columns.values())
    if rows and rng.random() < 0.35 and name != "p":
        db.delete(name, [rng.choice(rows)])
        return
    parents = {row[0] for row in db.tables["p"].rows()} if name == "c" else set()
    if name == "c" and new[1] not in parents:
        return
    if table.key and any(row[0] == new[0] for row in rows):
        names = list(table.columns)[1:]
        db.update(name, key=new[0], set=dict(zip(names, new[1:], strict=True)))
        return
    db.insert(name, [new])
