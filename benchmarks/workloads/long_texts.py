"""Texts that are long rather than deep in meaning: a condition, a sum or a list of so many parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SCHEMA = {"id": int, "a": int | None, "b": int | None, "c": int, "s": str | None, "t": str}


def wide(columns: int) -> dict[str, object]:
    """The columns of a table with many."""
    return {"id": int} | {f"x{i}": int | None for i in range(columns)}


@dataclass(frozen=True)
class Construct:
    """What is written in SQL, and in Python where that has it, of ``n`` parts; ``goal`` is the ``n`` of the goal.

    ``table``: which one it reads, ``T`` or the wide ``W``.
    """

    goal: int
    sql: Callable[[int], str]
    python: Callable[[int], str] | None = None
    table: str = "T"


def _where(condition: Callable[[int], str]) -> Callable[[int], str]:
    return lambda n: f"SELECT id, a FROM T WHERE {condition(n)}"


def _if(condition: Callable[[int], str]) -> Callable[[int], str]:
    return lambda n: f"[(t.id, t.a) for t in T if {condition(n)}]"


def _comparison(i: int, of: str = "") -> str:
    left, right = ("abc"[i % 3], "bca"[i % 3])
    return f"{of}{left} {('<', '>', '<=', '>=')[i % 4]} {of}{right} + {i % 7}"


def _values(n: int) -> str:
    return ", ".join(map(str, range(2, n + 2)))


def _columns(n: int) -> str:
    return ", ".join(f"x{i}" for i in range(n))


def _inside(n: int, form: str, term: str) -> str:
    """``form`` of a number and a term, ``n`` times inside one another."""
    for i in range(n):
        term = form.format(i + 1, term)
    return term


_AGGREGATES = ("sum", "min", "max", "count")
CONSTRUCTS: dict[str, Construct] = {
    "IN (constants)": Construct(
        1_000, _where(lambda n: f"a IN ({_values(n)})"), _if(lambda n: f"t.c in ({_values(n)})")
    ),
    "NOT IN (constants)": Construct(
        1_000, _where(lambda n: f"a NOT IN ({_values(n)})"), _if(lambda n: f"t.c not in ({_values(n)})")
    ),
    "IN (strings)": Construct(
        1_000, _where(lambda n: f"s IN ({', '.join(repr(f'k{i}') for i in range(n))})")
    ),
    "OR of one column": Construct(
        200,
        _where(lambda n: " OR ".join(f"a = {i}" for i in range(n))),
        _if(lambda n: " or ".join(f"t.a == {i}" for i in range(n))),
    ),
    "OR of mixed columns": Construct(
        200,
        _where(lambda n: " OR ".join(f"{'abc'[i % 3]} = {i}" for i in range(n))),
        _if(lambda n: " or ".join(f"t.{'abc'[i % 3]} == {i}" for i in range(n))),
    ),
    "OR of comparisons": Construct(
        200, _where(lambda n: " OR ".join(_comparison(i) for i in range(n)))
    ),
    "OR of pairs": Construct(
        100, _where(lambda n: " OR ".join(f"(a = {i % 5} AND b = {i})" for i in range(n)))
    ),
    "AND of comparisons": Construct(
        200,
        _where(lambda n: " AND ".join(f"a <= c + {i}" for i in range(n))),
        _if(lambda n: " and ".join(f"t.c != {i + 3}" for i in range(n))),
    ),
    "a sum of terms": Construct(
        500,
        lambda n: f"SELECT id, {' + '.join('a' for _ in range(n))} AS z FROM T",
        lambda n: f"[(t.id, {' + '.join('t.c' for _ in range(n))}) for t in T]",
    ),
    "a sum of columns": Construct(
        500, lambda n: f"SELECT id, {_columns(n).replace(',', ' +')} AS z FROM W", table="W"
    ),
    "parentheses": Construct(
        60,
        lambda n: f"SELECT id, {'(' * n}a{''.join(f' + {i})' for i in range(n))} AS z FROM T",
        lambda n: f"[(t.id, {'(' * n}t.c{''.join(f' + {i})' for i in range(n))}) for t in T]",
    ),
    "parentheses in a condition": Construct(
        60, _where(lambda n: "(" * n + "a = 1" + "".join(f" {('OR', 'AND')[i % 2]} b < {i})" for i in range(n)))
    ),
    "SELECT of columns": Construct(300, lambda n: f"SELECT {_columns(n)} FROM W", table="W"),
    "SELECT of terms": Construct(
        300,
        lambda n: f"SELECT id, {', '.join(f'a + {i} AS y{i}' for i in range(n))} FROM T",
        lambda n: f"[(t.id, {', '.join(f't.c + {i}' for i in range(n))}) for t in T]",
    ),
    "CASE": Construct(
        200,
        lambda n: f"SELECT id, CASE {' '.join(f'WHEN a = {i} THEN {i * 7}' for i in range(n))} END AS z FROM T",
    ),
    "CASE in a sum": Construct(
        200,
        lambda n: (
            f"SELECT c, sum(CASE {' '.join(f'WHEN a = {i} THEN {i * 7}' for i in range(n))} ELSE 1 END) AS z"
            " FROM T GROUP BY c"
        ),
    ),
    "concatenation": Construct(
        200,
        lambda n: f"SELECT id, {' || '.join('st'[i % 2] for i in range(n))} AS z FROM T",
        lambda n: f"[(t.id, {' + '.join('t.t' for _ in range(n))}) for t in T]",
    ),
    "aggregates": Construct(
        50,
        lambda n: f"SELECT c, {', '.join(f'sum(a + {i}) AS y{i}' for i in range(n))} FROM T GROUP BY c",
    ),
    "many kinds of aggregates": Construct(
        50,
        lambda n: (
            f"SELECT c, {', '.join(f'{_AGGREGATES[i % 4]}(a + {i}) AS y{i}' for i in range(n))} FROM T GROUP BY c"
        ),
    ),
    "a chain of divisions": Construct(
        50,
        lambda n: f"SELECT id, a / {' / '.join(f'(c + {i + 1})' for i in range(n))} AS z FROM T",
        lambda n: f"[(t.id, t.c // {' // '.join(f'(t.c + {i + 1})' for i in range(n))}) for t in T]",
    ),
    "divisors that are quotients": Construct(
        25, lambda n: f"SELECT id, {_inside(n, '(c + {}) / ({})', 'c + 1')} AS z FROM T"
    ),
    "divisors that are remainders": Construct(
        25,
        lambda n: f"SELECT id, {_inside(n, '(c + {}) % (1 + {})', 'c')} AS z FROM T",
        lambda n: f"[(t.id, {_inside(n, '(t.c + {}) % (1 + {})', 't.c')}) for t in T]",
    ),
    "a sum of quotients": Construct(
        50,
        lambda n: f"SELECT id, {' + '.join(f'a / (c + {i + 1})' for i in range(n))} AS z FROM T",
    ),
    "HAVING": Construct(
        100,
        lambda n: (
            f"SELECT c, count(*) AS n FROM T GROUP BY c HAVING {' OR '.join(f'sum(a) = {i}' for i in range(n))}"
        ),
    ),
}  # fmt: skip


def chain(tables: int) -> tuple[dict[str, dict[str, object]], str]:
    """The tables of a join of so many in a row, and the join: a sum by the first of what the last has."""
    schemas: dict[str, dict[str, object]] = {f"t{i}": {"a": int, "b": int} for i in range(tables)}
    joins = " ".join(f"JOIN t{i} ON t{i - 1}.b = t{i}.a" for i in range(1, tables))
    return schemas, f"SELECT t0.a, sum(t{tables - 1}.b) AS s FROM t0 {joins} GROUP BY t0.a"


def star(tables: int) -> tuple[dict[str, dict[str, object]], str]:
    """The tables of a join of one with all others, and the join."""
    schemas: dict[str, dict[str, object]] = {f"d{i}": {"id": int, "c": int} for i in range(1, tables)}
    facts: dict[str, object] = {f"k{i}": int for i in range(1, tables)}
    schemas["f"] = facts | {"v": int}
    joins = " ".join(f"JOIN d{i} ON f.k{i} = d{i}.id" for i in range(1, tables))
    return schemas, f"SELECT d1.c, sum(v) AS s FROM f {joins} GROUP BY d1.c"


JOINS = {"chain": chain, "star": star}
