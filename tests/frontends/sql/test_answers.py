"""Answers that were wrong once, under every knob: what is stored, when it is refreshed, who is told.

Each case stands for a class; the law that finds its siblings is named beside it.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pytest

import nestling as nl

N = int | None


@dataclass(frozen=True)
class Case:
    """Rows that come one after another, a ``-`` in front of the table for those that go, and the answer then."""

    why: str
    tables: dict[str, dict[str, Any]]
    query: str
    changes: list[tuple[str, tuple[Any, ...]]]
    answer: list[tuple[Any, ...]]
    language: str = "sql"


CASES = [
    Case(
        "a frame that reaches beyond the first and the last day ends there, and so does one of moments",
        {"t": {"k": int, "a": date, "b": datetime}},
        "SELECT k, count(*) OVER (ORDER BY a RANGE BETWEEN INTERVAL '31' DAY PRECEDING AND CURRENT ROW) m,"
        " count(*) OVER (ORDER BY a DESC RANGE BETWEEN INTERVAL '31' DAY PRECEDING AND INTERVAL '2' DAY FOLLOWING) n,"
        " count(*) OVER (ORDER BY b RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND INTERVAL '2' MONTH FOLLOWING) o"
        " FROM t",
        [
            ("t", (k, day, datetime(day.year, day.month, day.day)))
            for k, day in enumerate((date.min, date(1, 1, 5), date.max, date(9999, 12, 20), date(2020, 1, 1)))
        ],
        [(0, 1, 2, 2), (1, 2, 1, 1), (2, 2, 1, 1), (3, 1, 2, 2), (4, 1, 1, 1)],
    ),
    Case(
        "a variable of a loop is not the one that keeps a collected change (law 8, test_program_laws)",
        {"t": {"k": int, "a": int}},
        "SELECT max(CASE WHEN x.k = y.k THEN y.k ELSE x.a END) m FROM t x LEFT JOIN t y ON x.a = y.k"
        " WHERE NOT EXISTS (SELECT 1 FROM t z WHERE x.a >= y.a)",
        [("t", (3, 1))],
        [(1,)],
    ),
    Case(
        "the same where inner bags are stored whole and watched",
        {"R": {"k": int, "c": int}},
        "[(x.c, ['b' for y in R if y.c == x.c] + ['n' for z in R]) for x in R]",
        [("R", (0, 1)), ("R", (1, 2))],
        [(1, ["b", "n", "n"]), (2, ["b", "n", "n"])],
        "python",
    ),
    Case(
        "the same of the names that an aggregate's old and new value have",
        {"count": {"new": int, "old": int}},
        "SELECT c.new, c.old, (SELECT count(*) FROM count d WHERE d.old <= c.old) n FROM count c",
        [("count", (5, 7)), ("count", (6, 8))],
        [(5, 7, 1), (6, 8, 2)],
    ),
    Case(
        "the average of nothing is null (law 16 of a map whose measures are one)",
        {"t": {"k": int, "a": int}},
        "SELECT x.a, avg(y.k) m, stddev_pop(y.k) s FROM t x LEFT JOIN t y ON 1 = 0 GROUP BY x.a",
        [("t", (3, 1))],
        [(1, None, None)],
    ),
    Case(
        "the average of ones is one",
        {"t": {"k": int, "a": int}},
        "SELECT a, avg(1) m, stddev_pop(1) s FROM t GROUP BY a",
        [("t", (3, 1)), ("t", (4, 1))],
        [(1, 1.0, 0.0)],
    ),
    Case(
        "an average below a bound, as it is and as it was",
        {"t": {"k": int, "a": int}},
        "SELECT x.k FROM t x WHERE (SELECT avg(y.k) FROM t y WHERE y.a <= x.a) = 3",
        [("t", (2, 1)), ("t", (3, 2)), ("t", (4, 1))],
        [(2,), (3,), (4,)],
    ),
    Case(
        "a row that binds what an aggregate is compared with (law 9, the order of steps)",
        {"t": {"k": int}, "r": {"k": int}},
        "SELECT k, count(*) n FROM r WHERE k = (SELECT count(*) FROM t WHERE t.k >= r.k) GROUP BY k",
        [("r", (1,)), ("t", (9,))],
        [(1, 1)],
    ),
    Case(
        "a null that is counted, and never asked for (unify keeps the meaning of a monomial)",
        {"t": {"b": int}, "r": {"k": int, "a": int, "b": N}},
        "SELECT r.k, sum(t.b) h FROM t JOIN r ON r.a < 3"
        " WHERE r.a NOT IN (SELECT u.b FROM r u WHERE r.k <= 3) GROUP BY r.k",
        [("t", (1,)), ("t", (2,)), ("r", (9, -2, 3)), ("r", (4, 2, None))],
        [(9, 3), (4, 3)],
    ),
    Case(
        "the same in a sum: a column without nulls equals one with",
        {"r": {"b": N}, "t": {"a": int}},
        "[(x.a, sum(x.a for u in r if x.a == u.b)) for x in t]",
        [("r", (3,)), ("r", (None,)), ("t", (3,)), ("t", (4,))],
        [(3, 3), (4, 0)],
        "python",
    ),
    Case(
        "the same of a null that is written: nothing equals it",
        {"r": {"k": int, "b": N}, "t": {"a": int}},
        "SELECT sum((SELECT sum(z.a) FROM t z WHERE z.a = y.b)) s FROM r x FULL JOIN r y ON x.k = y.b",
        [("r", (1, 2)), ("r", (7, None)), ("t", (2,)), ("t", (2,))],
        [(4,)],
    ),
]


#: What is stored, when it is refreshed, whether somebody is told.
KNOBS = [
    ("auto", "eager", False),
    ("auto", "hybrid", False),
    ("full", "eager", False),
    ("full", "eager", True),
    ("counts", "lazy", True),
    ("none", "eager", False),
]


@pytest.mark.parametrize(("store", "refresh", "told"), KNOBS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.why)
def test_the_answer_is_what_the_query_says(case, store, refresh, told):
    db = nl.Database()
    for name, columns in case.tables.items():
        db.table(name, columns)
    view = db.view("v", case.query, language=case.language, store=store, refresh=refresh, strict=False)
    if told:
        view.subscribe(lambda change: None)
    for table, row in case.changes:
        if table.startswith("-"):
            db.delete(table[1:], [row])
        else:
            db.insert(table, [row])
        db.verify(maps=True)
    assert sorted(map(tuple, view)) == sorted(case.answer)
