"""Other dialects: what is accepted means what it means there, DuckDB being the judge of its own; the rest refused."""

from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import pytest

import nestling as nl
from tests.frontends.sql.duck import connection, refill
from tests.frontends.sql.worlds import plain

ROWS: list[tuple[Any, ...]] = [
    (1, 7, "abc", 2.5, date(2024, 1, 31), datetime(2024, 1, 31, 8, 30), True),
    (2, -7, "", -2.5, date(2024, 2, 29), datetime(2024, 2, 29, 23, 59, 59), False),
    (3, None, None, None, None, None, None),
    (4, 0, "Ünï x", 0.5, date(2023, 12, 31), datetime(2023, 12, 31), True),
    (5, 3, "b,c,b", 1.5, date(2024, 3, 1), datetime(2024, 3, 1, 12), None),
    (2, 12, "aXbX", 3.5, date(2020, 2, 29), datetime(2020, 2, 29, 1), True),
]
#: Expressions that DuckDB has, and that mean the same here.
SAME = """
substr(s, 2)|substring(s from 2 for 2)|concat(s, NULL, 'x')|concat_ws('-', s, NULL, 'x')
position('b' in s)|strpos(s, 'b')|log(2.0 + abs(d))|log10(100)|ln(2.0)|log2(8)|round(d)|round(2.345, 2)|round(-2.5)
greatest(i, 1)|least(i, NULL)|i % 3|-7 % 3|i / 2.0|i / 2|1/3.0|CAST(i AS DECIMAL(5, 2)) / 3|i::DOUBLE / 2|abs(i)|ceil(d)
left(s, 2)|right(s, 2)|lpad(s, 5, '*')|repeat(s, 2)|replace(s, 'b', '')|trim(s)|split_part(s, ',', 9)|coalesce(s, 'n')
nullif(i, 0)|CAST(i AS VARCHAR)|CAST(round(d) AS INT)|CAST(b AS INT)|CAST('12' AS INT)|CAST(ts AS DATE)|dt + 1
dt - DATE '2024-01-01'|i - 2|d - i|dt + INTERVAL 1 MONTH|dt + INTERVAL '1' DAY|dt - INTERVAL 1 MONTH
ts + INTERVAL 1 HOUR|date_trunc('month', ts)
extract(year FROM dt)|extract(week FROM dt)|extract(doy FROM dt)|extract(quarter FROM dt)
date_diff('day', dt, DATE '2024-03-01')|s LIKE 'a%'|s ILIKE 'A%'|regexp_replace(s, 'b', 'z', 'g')|i IS DISTINCT FROM 7
i IN (7, NULL)|i NOT IN (7, NULL)|i & 3|xor(i, 1)|power(2, 3)|isnan(d)|isnan(d) AND i > 0|md5(s)
""".replace("\n", "|").strip("|").split("|")  # fmt: skip
AGGREGATES = [
    "sum(i)", "avg(i)", "count(i)", "min(s)", "stddev(d)", "var_pop(i)", "median(i)", "string_agg(s, ',' ORDER BY s)",
    "bool_and(b)", "count(DISTINCT i)", "sum(i) FILTER (WHERE i > 0)", "array_agg(i) FILTER (WHERE i IS NOT NULL)",
    "avg(DISTINCT i)",
]  # fmt: skip
QUERIES = [
    "SELECT id, i FROM t ORDER BY i LIMIT 2",
    "SELECT id, i FROM t ORDER BY i DESC LIMIT 2",
    "SELECT id, i, rank() OVER (ORDER BY i DESC) AS r, sum(i) OVER (ORDER BY i) AS s FROM t",
    "SELECT b, count(*) AS n FROM t WHERE i > 100 GROUP BY ROLLUP (b) HAVING count(*) > 0",
    "SELECT id FROM t WHERE i NOT IN (SELECT i FROM t WHERE i > 0)",
    "SELECT id, (SELECT max(i) FROM t u WHERE u.id = t.id) AS m FROM t",
]
ALL = [
    *(f"SELECT id, {text} AS x FROM t" for text in SAME),
    *(f"SELECT {text} AS x FROM t" for text in AGGREGATES),
    *QUERIES,
]

#: By dialect, what is refused, and a word of why.
REFUSED = [
    ("duckdb", "substr(s, 0, 2)", "places before the first letter"),
    ("duckdb", "substr(s, i)", "places before the first letter"),
    ("postgres", "substring(s from -1 for 3)", "places before the first letter"),
    ("trino", "substr(s, 0)", "places before the first letter"),
    ("duckdb", "left(s, -1)", "leave letters out"),
    ("postgres", "right(s, i)", "leave letters out"),
    ("duckdb", "CAST(d AS INT)", "rounds in this dialect"),
    ("postgres", "(d * 2)::int", "rounds in this dialect"),
    ("postgres", "round(d)", "halves to even"),
    ("duckdb", "extract(dow FROM dt)", "days of the week"),
    ("postgres", "date_part('dow', dt)", "days of the week"),
    ("duckdb", "isodow(dt)", "days of the week"),
    ("snowflake", "datediff(month, dt, ts)", "ends of units"),
    ("duckdb", "date_diff('hour', ts, ts)", "ends of units"),
    ("postgres", "regexp_replace(s, 'b', 'z')", "first match"),
    ("duckdb", "bit_count(i)", "bits of another width"),
    ("duckdb", "unicode(s)", "the empty text"),
    ("duckdb", "monthname(dt)", "all letters"),
    ("duckdb", "i IN (SELECT i FROM t)", "may be NULL"),
    ("postgres", "s LIKE 'a' AND i NOT IN (SELECT i FROM t)", "may be NULL"),
    ("trino", "s LIKE 'a\\_'", "backslash"),
    ("postgres", "i / 2", "cuts the quotient"),
]


@pytest.fixture
def db() -> Iterator[nl.Database]:
    with nl.Database() as db:
        db.table(
            "t",
            "id INT NULL, i INT NULL, s STRING NULL, d DOUBLE NULL, dt DATE NULL, ts TIMESTAMP NULL, b BOOLEAN NULL",
        )
        db.insert("t", ROWS)
        yield db


@pytest.fixture(scope="module")
def duck() -> Any:
    duck = connection()
    duck.execute("CREATE TABLE t (id INT, i INT, s VARCHAR, d DOUBLE, dt DATE, ts TIMESTAMP, b BOOLEAN)")
    refill(duck, "t", ROWS)
    return duck


@pytest.mark.parametrize("query", ALL)
def test_what_is_accepted_means_what_duckdb_says(query, db, duck):
    view = db.view("v", query, dialect="duckdb", strict=False)

    expected = Counter(plain(row) for row in duck.execute(query).fetchall())
    assert Counter(plain(tuple(row)) for row in view.rows()) == expected


@pytest.mark.parametrize(("dialect", "text", "why"), REFUSED)
def test_what_means_something_else_is_refused(dialect, text, why, db):
    with pytest.raises(nl.QueryError, match=why):
        db.view("v", f"SELECT {text} AS x FROM t", dialect=dialect, strict=False)


@pytest.mark.parametrize("text", ["ROLLUP (b)", "CUBE (b)", "GROUPING SETS ((b), ())"])
def test_a_total_of_no_rows_is_refused(text, db):
    with pytest.raises(nl.QueryError, match="total of no rows"):
        db.view("v", f"SELECT b, count(*) AS n FROM t GROUP BY {text}", dialect="postgres")


@pytest.mark.parametrize("dialect", ["snowflake", "trino", "mysql", "bigquery"])
def test_one_null_makes_the_greatest_null(dialect, db):
    view = db.view("v", "SELECT id, greatest(id, i) AS x FROM t", dialect=dialect)
    assert (3, None) in {tuple(row) for row in view.rows()}


def test_arrays_without_their_nulls_are_asked_for(db):
    with pytest.raises(nl.QueryError, match="has the NULLs"):
        db.view("v", "SELECT array_agg(i) AS x FROM t", dialect="postgres")


def test_databricks_is_spark(db):
    view = db.view("v", "SELECT id, substr(s, -2) AS x, CAST(d AS INT) AS y FROM t", dialect="databricks")
    assert (1, "bc", 2) in {tuple(row) for row in view.rows()}
