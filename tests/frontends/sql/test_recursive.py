"""WITH RECURSIVE: what is refused and where, which types the columns have, and answers that DuckDB agrees with."""

import random
from collections import Counter

import pytest

import nestling as nl
from nestling.calculus.types import INT, record, show_type
from nestling.errors import QueryError
from nestling.frontend.sql.translate import view_query
from tests.frontends.sql.duck import connection, refill

CATALOG = {"e": record(a=INT, b=INT)}
BEGIN = "WITH RECURSIVE t(a) AS (SELECT a FROM e"

REFUSED = {
    f"{BEGIN} UNION SELECT max(e.b) FROM t JOIN e ON t.a = e.a)": ("under an aggregate", "t JOIN"),
    f"{BEGIN} UNION SELECT e.b FROM t JOIN e ON t.a = e.a GROUP BY e.b)": ("under an aggregate", "t JOIN"),
    f"{BEGIN} UNION SELECT rank() OVER (ORDER BY a) FROM t)": ("under a window function", "t) SELECT"),
    f"{BEGIN} UNION SELECT e.b FROM e LEFT JOIN t ON t.a = e.a)": ("right of a LEFT JOIN", "t ON"),
    f"{BEGIN} UNION SELECT e.b FROM t RIGHT JOIN e ON t.a = e.a)": ("beside a RIGHT JOIN", "t RIGHT"),
    f"{BEGIN} UNION SELECT e.b FROM t FULL JOIN e ON t.a = e.a)": ("beside a FULL JOIN", "t FULL"),
    f"{BEGIN} UNION SELECT e.b FROM e ANTI JOIN t ON t.a = e.a)": ("right of a ANTI JOIN", "t ON"),
    f"{BEGIN} UNION SELECT b FROM e WHERE a NOT IN (SELECT a FROM t))": ("is read by its own step", "t)) SELECT"),
    f"{BEGIN} UNION SELECT b FROM e WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.a = e.a))": ("in EXISTS", "t WHERE"),
    f"{BEGIN} UNION SELECT (SELECT max(a) FROM t) FROM e)": ("under an aggregate", "t) FROM"),
    f"{BEGIN} UNION (SELECT a FROM e EXCEPT SELECT a FROM t))": ("under EXCEPT", "t)) SELECT"),
    f"{BEGIN} UNION (SELECT a FROM e INTERSECT SELECT a FROM t))": ("under INTERSECT", "t)) SELECT"),
    f"{BEGIN} UNION ALL SELECT DISTINCT e.b FROM t JOIN e ON t.a = e.a)": ("under DISTINCT", "t JOIN"),
    f"{BEGIN} UNION (SELECT a FROM t ORDER BY a LIMIT 1))": ("under ORDER BY or LIMIT", "t ORDER"),
    f"{BEGIN} UNION SELECT x.a FROM t x JOIN t y ON x.a = y.a)": ("t stands twice in one step", "t y"),
    f"{BEGIN} UNION (SELECT a FROM e UNION ALL SELECT a + 1 FROM t))": ("under another UNION", "t)) SELECT"),
    f"{BEGIN} UNION (WITH u AS (SELECT a FROM t) SELECT a FROM u))": ("in a WITH inside it", "t) SELECT a FROM u"),
    "WITH RECURSIVE t(a) AS (SELECT a FROM e UNION SELECT b FROM u), u(b) AS (SELECT a FROM t)": (
        "t and u read each other", "u), u"
    ),
    "WITH RECURSIVE t(a) AS (SELECT e.b FROM t JOIN e ON t.a = e.a)": ("is no UNION", "t JOIN"),
    "WITH RECURSIVE t(a) AS (SELECT a FROM t UNION SELECT a + 1 FROM t)": ("t never begins", ""),
    f"{BEGIN} UNION SELECT e.a, e.b FROM t JOIN e ON t.a = e.a)": ("1 and 2 columns", ""),
    "WITH RECURSIVE t(a) AS (SELECT array(a) FROM e UNION SELECT a FROM t)": ("a collection or a struct", ""),
    f"{BEGIN} UNION SELECT DATE '2020-01-01' FROM t)": ("is BIGINT in one query and DATE in the other", ""),
    "WITH t(a) AS (SELECT a FROM e UNION SELECT a + 1 FROM t)": ("there is no table or view 't'", ""),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_fixpoint_is_refused_at_its_place(text: str):
    what, place = REFUSED[text]
    with pytest.raises(QueryError) as refused:
        view_query(text + " SELECT * FROM t", CATALOG)
    assert what in refused.value.what
    assert refused.value.hint
    if place:
        assert refused.value.at is not None
        assert refused.value.at.text[refused.value.at.column :].startswith(place)


@pytest.mark.parametrize(
    ("columns", "anchor", "step", "type_"),
    [
        ("n", "1", "n + 1", "⟨n: int⟩"),
        ("n", "1", "n + 1.5", "⟨n: decimal⟩"),
        ("n, p", "1, 'x'", "n + 1, p || 'y'", "⟨n: int, p: str⟩"),
        ("n, p", "1, 'x'", "n + 1, CAST(NULL AS STRING)", "⟨n: int, p: str?⟩"),
        ("n", "CAST(NULL AS INT)", "1", "⟨n: int?⟩"),
    ],
)
def test_the_columns_hold_what_the_step_makes(columns: str, anchor: str, step: str, type_: str):
    both = f"SELECT {anchor} UNION ALL SELECT {step} FROM t WHERE n < 5"
    text = f"WITH RECURSIVE t({columns}) AS ({both}) SELECT * FROM t"
    assert show_type(view_query(text, CATALOG).fixpoints[0].record) == type_


def test_a_recursion_that_is_not_read_is_none():
    assert not view_query(f"{BEGIN} UNION SELECT a + 1 FROM t) SELECT a FROM e", CATALOG).fixpoints
    assert not view_query("WITH RECURSIVE q AS (SELECT a FROM e) SELECT a FROM q", CATALOG).fixpoints


#: What DuckDB says too; its rounds are those of SQL.
AGREED = {
    "closure": "WITH RECURSIVE t(a, b) AS (SELECT a, b FROM e UNION SELECT t.a, e.b FROM t JOIN e ON t.b = e.a)"
    " SELECT a, b FROM t",
    "levels": "WITH RECURSIVE t(x, d) AS (SELECT a, 0 FROM e UNION ALL SELECT e.b, d + 1 FROM t JOIN e ON x = e.a"
    " WHERE d < 3) SELECT x, d FROM t",
    "shortest": "WITH RECURSIVE t(x, d) AS (SELECT 0, 0 UNION SELECT e.b, d + 1 FROM t JOIN e ON x = e.a WHERE d < 5)"
    " SELECT x, min(d) FROM t GROUP BY x",
    "left": "WITH RECURSIVE t(x, d) AS (SELECT 0, 0 UNION SELECT e.b, d + 1 FROM t LEFT JOIN e ON x = e.a WHERE d < 4)"
    " SELECT x, d FROM t",
    "paths": "WITH RECURSIVE t(x, p) AS (SELECT a, CAST(a AS VARCHAR) FROM e UNION"
    " SELECT e.b, p || '-' || CAST(e.b AS VARCHAR) FROM t JOIN e ON x = e.a WHERE length(p) < 5 AND e.b IS NOT NULL)"
    " SELECT x, p FROM t",
    "without": "WITH RECURSIVE t(x) AS (SELECT a FROM e UNION SELECT e.b FROM t JOIN e ON x = e.a"
    " WHERE e.b NOT IN (SELECT f.a FROM e f WHERE f.b = 1 AND f.a IS NOT NULL)) SELECT x FROM t",
    "two": "WITH RECURSIVE t(x) AS (SELECT 0 UNION SELECT e.b FROM t JOIN e ON x = e.a), u(x, n) AS (SELECT x, 0 FROM t"
    " UNION ALL SELECT x, n + 1 FROM u WHERE n < 2) SELECT x, count(*) FROM u GROUP BY x",
    "in_a_query": "SELECT count(*) FROM e JOIN (WITH RECURSIVE t(x) AS"
    " (SELECT 0 UNION SELECT e.b FROM t JOIN e ON x = e.a) SELECT x FROM t) q ON q.x = e.a",
}  # fmt: skip


@pytest.mark.parametrize("name", AGREED)
def test_duckdb_agrees(name: str):
    generator, duck, db = random.Random(name), connection(), nl.Database()
    duck.execute("CREATE TABLE e (a INT, b INT)")
    db.table("e", "a INT NULL, b INT NULL")
    text = AGREED[name].replace("VARCHAR", "STRING")
    view = db.view("v", text.replace("count(*)", "count(*) AS n").replace("min(d)", "min(d) AS m"))
    rows: list[tuple[int | None, ...]] = []
    for _ in range(25):
        if rows and generator.random() < 0.45:
            gone = generator.sample(rows, min(len(rows), generator.randint(1, 3)))
            db.delete("e", gone)
            for row in gone:
                rows.remove(row)
        else:
            new = [
                tuple(generator.choice((None, 0, 1, 2, 3, 4)) for _ in "ab")
                for _ in range(generator.randint(1, 3))
            ]
            db.insert("e", new)
            rows += new
        refill(duck, "e", rows)
        assert Counter(map(tuple, view)) == Counter(duck.execute(AGREED[name]).fetchall())
    db.verify(maps=True)
