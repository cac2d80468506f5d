"""TPC-H nested: line items in orders in customers in nations in regions, from no level of nesting to four.

Three families, each query as SQL and as a comprehension:

* ``flat to nested``: the flat tables, put together level by level;
* ``nested to nested``: a table that is nested already, with its innermost bag joined with the parts, and what each part
  comes to added up there;
* ``nested to flat``: the same table taken apart, and added up by the outermost name and the name of the part.

At level 0 a query is flat. In the nested table a row, and an element of every bag but the innermost, is
``(id, name, inner)``; a line item is ``(pkey, qty)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from nestling import Database

LEVELS = range(5)
FAMILIES = ("flat to nested", "nested to nested", "nested to flat")

#: The tables from the innermost to the outermost, and their keys.
CHAIN = (
    ("lineitem", "lkey"),
    ("orders", "okey"),
    ("customer", "ckey"),
    ("nation", "nkey"),
    ("region", "rkey"),
)
LINE = "STRUCT<pkey: BIGINT, qty: BIGINT>"


def flat_columns(level: int) -> str:
    """The columns of the flat table of ``level``: its key, that of the row it belongs to, and its own."""
    own = "pkey BIGINT, qty BIGINT" if level == 0 else "name STRING"
    parent = f"{CHAIN[level + 1][1]} BIGINT, " if level < len(CHAIN) - 1 else ""
    return f"{CHAIN[level][1]} BIGINT, {parent}{own}"


def nested_columns(level: int) -> str:
    """The columns of the nested table."""
    if level == 0:
        return "id BIGINT, pkey BIGINT, qty BIGINT"
    element = LINE
    for _ in range(level - 1):
        element = f"STRUCT<id: BIGINT, name: STRING, inner: ARRAY<{element}>>"
    return f"id BIGINT, name STRING, inner ARRAY<{element}>"


def database(family: str, level: int) -> Database:
    """The tables that the queries of ``family`` at ``level`` read."""
    db = Database()
    if family == "flat to nested":
        for at in range(level + 1):
            db.table(CHAIN[at][0], flat_columns(at), key=CHAIN[at][1])
        return db
    db.table("part", "pkey BIGINT, name STRING, price BIGINT", key="pkey")
    db.table("nested", nested_columns(level), key="id")
    return db


# -- the queries


def sql(family: str, level: int, duckdb: bool = False) -> str:
    """The query in Spark's SQL; with ``duckdb``, as DuckDB writes structs (of flat tables only)."""
    if family == "flat to nested":
        return _sql_nest(level, level, duckdb)
    if family == "nested to nested":
        return _sql_keep(level)
    return _sql_flatten(level)


def python(family: str, level: int) -> str:
    """The same as a comprehension."""
    if family == "flat to nested":
        return _python_nest(level, level)
    if family == "nested to nested":
        return _python_keep(level)
    return _python_flatten(level)


def _sql_nest(level: int, top: int, duckdb: bool) -> str:
    table = CHAIN[level][0]
    shown = [f"t{level}.pkey", f"t{level}.qty"] if level == 0 else [f"t{level}.name"]
    names = ["pkey", "qty"] if level == 0 else ["name", "inner_"]
    if level:
        shown.append(f"array({_sql_nest(level - 1, top, duckdb)})")
    belongs = (
        f" WHERE t{level}.{CHAIN[level + 1][1]} = t{level + 1}.{CHAIN[level + 1][1]}" if level < top else ""
    )
    if level == top:
        items = ", ".join(f"{term} AS {name}" for term, name in zip(shown, names, strict=True))
    else:
        between, (begin, end) = (": ", "{}") if duckdb else (", ", ("named_struct(", ")"))
        fields = (f"'{name}'{between}{term}" for name, term in zip(names, shown, strict=True))
        items = f"{begin}{', '.join(fields)}{end}"
    return f"SELECT {items} FROM {table} t{level}{belongs}"


def _python_nest(level: int, top: int) -> str:
    table = CHAIN[level][0]
    shown = f"t{level}.pkey, t{level}.qty" if level == 0 else f"t{level}.name, {_python_nest(level - 1, top)}"
    belongs = (
        f" if t{level}.{CHAIN[level + 1][1]} == t{level + 1}.{CHAIN[level + 1][1]}" if level < top else ""
    )
    return f"[({shown}) for t{level} in {table}{belongs}]"


_TOTAL = "sum(t0.qty * p.price)"


def _sql_keep(level: int) -> str:
    if level == 0:
        return (
            f"SELECT p.name, {_TOTAL} AS total FROM nested t0 JOIN part p ON p.pkey = t0.pkey GROUP BY p.name"
        )
    inner = (
        f"array(SELECT named_struct('name', p.name, 'total', {_TOTAL}) FROM explode(t1.inner) AS e0(t0)"
        " JOIN part p ON p.pkey = t0.pkey GROUP BY p.name)"
    )
    for at in range(1, level):
        struct = f"named_struct('name', t{at}.name, 'inner', {inner})"
        inner = f"array(SELECT {struct} FROM explode(t{at + 1}.inner) AS e{at}(t{at}))"
    return f"SELECT t{level}.name, {inner} AS inner FROM nested t{level}"


def _totals(source: str) -> str:
    """What each part comes to, over the lines that ``source`` goes through."""
    joined = f"{source} for p in part if p.pkey == t0.pkey"
    return f"[(n, sum(t0.qty * p.price {joined} if p.name == n)) for n in {{p.name {joined}}}]"


def _python_keep(level: int) -> str:
    if level == 0:
        return _totals("for t0 in nested")
    inner = _totals("for t0 in t1.inner")
    for at in range(1, level):
        inner = f"[(t{at}.name, {inner}) for t{at} in t{at + 1}.inner]"
    return f"[(t{level}.name, {inner}) for t{level} in nested]"


def _sql_flatten(level: int) -> str:
    if level == 0:
        return _sql_keep(0)
    views = " ".join(f"LATERAL VIEW explode(t{at + 1}.inner) e{at} AS t{at}" for at in reversed(range(level)))
    return (
        f"SELECT t{level}.name AS top, p.name, {_TOTAL} AS total FROM nested t{level} {views}"
        f" JOIN part p ON p.pkey = t0.pkey GROUP BY t{level}.name, p.name"
    )


def _python_flatten(level: int) -> str:
    if level == 0:
        return _python_keep(0)
    loops = " ".join(f"for t{at} in t{at + 1}.inner" for at in reversed(range(level)))
    rows = f"for t{level} in nested {loops} for p in part if p.pkey == t0.pkey"
    return (
        f"[(top, n, sum(t0.qty * p.price {rows} if t{level}.name == top if p.name == n))"
        f" for top, n in {{(t{level}.name, p.name) {rows}}}]"
    )


# -- changes


@dataclass(frozen=True)
class Change:
    """``times`` of ``row`` in a ``table``, or of an element in the bag that ``path``, of ids, leads to."""

    table: str
    row: tuple[Any, ...]
    times: int
    path: tuple[int, ...] = ()

    def apply(self, db: Database) -> None:
        if not self.path:
            (db.insert if self.times > 0 else db.delete)(self.table, [self.row])
            return
        key, *ids = self.path
        place = db.tables[self.table].at(key).inner
        for each in ids:
            place = place.at({"id": each}).inner
        (place.insert if self.times > 0 else place.delete)([self.row])


PARTS, NAMES = 6, ("ann", "bob", "eve")


def changes(family: str, level: int, count: int, seed: int = 1) -> Iterator[Change]:
    """``count`` random changes: rows that come and go, and in nested tables elements at every depth."""
    rng = Random(f"{family} {level} {seed}")
    return _flat(level, count, rng) if family == "flat to nested" else _deep(level, count, rng)


def _flat(level: int, count: int, rng: Random) -> Iterator[Change]:
    live: list[list[tuple[Any, ...]]] = [[] for _ in range(level + 1)]
    for number in range(count):
        at = rng.choice([0, 0, 0, *range(level + 1)])
        if live[at] and rng.random() < 0.3:
            yield Change(CHAIN[at][0], live[at].pop(rng.randrange(len(live[at]))), -1)
            continue
        own = (rng.randrange(PARTS), rng.randint(1, 9)) if at == 0 else (rng.choice(NAMES),)
        parent = () if at == len(CHAIN) - 1 else (_some_key(live, at + 1, rng),)
        row = (number, *parent, *own)
        live[at].append(row)
        yield Change(CHAIN[at][0], row, +1)


def _some_key(live: list[list[tuple[Any, ...]]], at: int, rng: Random) -> int:
    """The key of a row that is there, or of one that is not."""
    rows = live[at] if at < len(live) else []
    return rng.choice(rows)[0] if rows and rng.random() < 0.9 else -1


class _Node:
    """A row or element of the nested table, as it is now."""

    def __init__(self, id_: int, name: str) -> None:
        self.id, self.name = id_, name
        self.kids: list[_Node] = []
        self.lines: list[tuple[int, int]] = []

    def value(self, level: int) -> tuple[Any, ...]:
        inner = list(self.lines) if level == 1 else [kid.value(level - 1) for kid in self.kids]
        return self.id, self.name, inner


def _deep(level: int, count: int, rng: Random) -> Iterator[Change]:
    prices: dict[int, tuple[Any, ...]] = {}
    roots: list[_Node] = []
    flat: list[tuple[int, int, int]] = []
    for number in range(count):
        if rng.random() < 0.15:
            yield from _part(rng, prices)
        elif level == 0:
            yield _line_of_table(rng, flat, number)
        else:
            yield _at_some_depth(rng, roots, level, number)


def _part(rng: Random, prices: dict[int, tuple[Any, ...]]) -> Iterator[Change]:
    """A part comes, or has another price."""
    key = rng.randrange(PARTS)
    if key in prices:
        yield Change("part", prices.pop(key), -1)
    prices[key] = (key, f"part {key % 4}", rng.randint(1, 50))
    yield Change("part", prices[key], +1)


def _line_of_table(rng: Random, flat: list[tuple[int, int, int]], number: int) -> Change:
    if flat and rng.random() < 0.3:
        return Change("nested", flat.pop(rng.randrange(len(flat))), -1)
    flat.append((number, rng.randrange(PARTS), rng.randint(1, 9)))
    return Change("nested", flat[-1], +1)


def _at_some_depth(rng: Random, roots: list[_Node], level: int, number: int) -> Change:
    """One more or one less at a random depth: a line as often as all else together."""
    siblings, depth = roots, level
    path: tuple[int, ...] = ()
    while depth > 0 and siblings and rng.random() < 0.85:
        node = rng.choice(siblings)
        path, siblings, depth = (*path, node.id), node.kids, depth - 1
        if depth == 0:
            return _line(rng, node, path)
    if siblings and rng.random() < 0.3:
        gone = siblings.pop(rng.randrange(len(siblings)))
        return Change("nested", gone.value(depth), -1, path)
    made = _filled(rng, depth, number * 1_000)
    siblings.append(made)
    return Change("nested", made.value(depth), +1, path)


def _line(rng: Random, node: _Node, path: tuple[int, ...]) -> Change:
    if node.lines and rng.random() < 0.3:
        return Change("nested", node.lines.pop(rng.randrange(len(node.lines))), -1, path)
    node.lines.append((rng.randrange(PARTS), rng.randint(1, 9)))
    return Change("nested", node.lines[-1], +1, path)


def _filled(rng: Random, depth: int, id_: int) -> _Node:
    """A new element, with something in it."""
    node = _Node(id_, rng.choice(NAMES))
    if depth == 1:
        node.lines = [(rng.randrange(PARTS), rng.randint(1, 9)) for _ in range(rng.randint(0, 3))]
    else:
        node.kids = [_filled(rng, depth - 1, id_ + 1 + 10 * i) for i in range(rng.randint(0, 2))]
    return node
