"""What is not supported says so: what, where, and what to write instead."""

from textwrap import dedent

import pytest

import nestling as nl
from nestling.frontend.catalog import Catalog
from nestling.frontend.schema import record_type
from nestling.frontend.sql import translate
from tests.frontends.sql.worlds import TABLES

CATALOG = Catalog()
CATALOG.add("r", record_type({"a": int, "b": int | None, "c": str}))
CATALOG.add("s", record_type({"k": int, "a": int}), key=("k",))
CATALOG.add(
    "o",
    record_type("id INT, items ARRAY<STRUCT<pid: INT, qty: INT>>, ship STRUCT<city: STRING>"),
    key=("id",),
)
CATALOG.add("d", record_type(TABLES["d"].ours), key=("id",))
CATALOG.add("Twin", record_type({"a": int}))
CATALOG.add("TWIN", record_type({"a": int}))

MESSAGES = [
    (
        "SELECT a,\n       zz + 1 FROM r",
        """
        there is no column zz
          line 2
                   zz + 1 FROM r
                   ^^
        hint: the columns here are a, b, c
        """,
    ),
    (
        "SELECT r.a FROM r WHERE count(*) > 1",
        """
        an aggregate has no value in this place
          line 1
            SELECT r.a FROM r WHERE count(*) > 1
                                    ^^^^^^^^
        hint: use it in the select list or in HAVING
        """,
    ),
    (
        "SELECT a, b FROM r GROUP BY a",
        """
        b is neither a key of GROUP BY nor inside an aggregate
          line 1
            SELECT a, b FROM r GROUP BY a
                      ^
        hint: add it to GROUP BY, or aggregate it: max(b)
        """,
    ),
    (
        "SELECT a FROM (SELECT a FROM r ORDER BY a)",
        """
        rows inside a view have no order: ORDER BY alone says nothing
          line 1
            SELECT a FROM (SELECT a FROM r ORDER BY a)
                                                    ^
        hint: drop it, or take the first rows: ORDER BY … LIMIT k; a view may end with it
        """,
    ),
    (
        "SELECT items[0] FROM o",
        """
        array[…] needs positions, and this array is a bag
          line 1
            SELECT items[0] FROM o
                   ^^^^^^^
        hint: declare its order: db.table(…, ordered=['column']), or nl.List[T] in a class
        """,
    ),
    (
        "SELECT a FROM r BETWEEN",
        """
        this is no SQL that can be read: invalid expression / Unexpected token
          line 1
            SELECT a FROM r BETWEEN
                            ^^^^^^^
        """,
    ),
    (
        "SELECT a, r.b FROM r WHERE c > 3",
        """
        these have no type in common: STRING and BIGINT
          line 1
            SELECT a, r.b FROM r WHERE c > 3
                                       ^^^^^
        hint: write a CAST
        """,
    ),
]


@pytest.mark.parametrize(("query", "message"), MESSAGES)
def test_a_message_has_three_parts(query, message):
    with pytest.raises(nl.QueryError) as caught:
        translate(query, CATALOG)

    assert str(caught.value) == dedent(message).strip("\n").rstrip()


#: query → part of the message
REFUSED = {
    "SELECT a FROM nowhere": "there is no table or view 'nowhere'",
    "SELECT a FROM tWIN": "tWIN is ambiguous: Twin, TWIN",
    "SELECT a FROM r, s": "a is ambiguous: r.a, s.a",
    "SELECT q.a FROM r": "there is no table q in this query",
    "SELECT r.a FROM r, r": "r stands twice in FROM",
    "SELECT a, b AS a FROM r": "column a stands twice in the select list",
    "SELECT NULL AS x FROM r": "NULL has no type here",
    "SELECT * EXCEPT (zz) FROM r": "there is no column zz to leave out",
    "SELECT sum(a) OVER v FROM r WINDOW w AS (PARTITION BY b)": "there is no window v",
    "SELECT percentile_cont(0.5) FROM r": "percentile_cont needs an order",
    "SELECT percentile(a, 2) FROM r": "a share from 0 to 1",
    "SELECT max_by(a) FROM r": "max_by takes a value and what it is chosen by",
    "SELECT bit_and(c) FROM r": "bit_and takes whole numbers, not STRING",
    "SELECT a FROM r ORDER BY a LIMIT 3 OFFSET b": "OFFSET takes a number",
    "SELECT a FROM r ORDER BY a LIMIT b": "LIMIT takes a number",
    "SELECT DISTINCT a FROM r ORDER BY b LIMIT 2": "distinct rows are ordered by their columns",
    "SELECT a FROM r ORDER BY a, c DESC LIMIT 2": "a string is not ordered against the first key",
    "SELECT (SELECT k, a FROM s WHERE k = 1) AS x FROM r": "has one column, not 2",
    "SELECT a FROM r WHERE a IN (SELECT k, a FROM s)": "the query has 2 columns",
    "SELECT a FROM r WHERE a": "a condition is a BOOLEAN, not BIGINT",
    "SELECT a + c FROM r": "+ takes numbers, not strings",
    "SELECT sum(c) FROM r": "numbers are added up, not STRING",
    "SELECT sum(a, b) FROM r": "sum takes one argument, not 2",
    "SELECT sum(sum(a)) FROM r": "an aggregate has no value in this place",
    "SELECT first(a) FROM r": "first is not supported",
    "SELECT a FROM r GROUP BY 2": "the select list has no item 2",
    "SELECT count(*) FROM r GROUP BY count(*)": "an aggregate is no key",
    "SELECT a FROM r GROUP BY ALL": "ALL of GROUP BY is not supported",
    "SELECT count(*) FROM r GROUP BY ()": "keys are not grouped in parentheses here",
    "SELECT items FROM o GROUP BY items": "a group's key is an array in order",
    "SELECT m FROM d GROUP BY m": "a group's key is made of scalars",
    "SELECT current_date() FROM r": "the function current_date is not supported",
    "SELECT rand() FROM r": "the function rand is not supported",
    "SELECT frobnicate(a) FROM r": "the function frobnicate is not supported",
    "SELECT try_cast(a AS BINARY) FROM r": "is not cast to BINARY",
    "SELECT CAST(a AS DECIMAL(40, 2)) FROM r": "there is no DECIMAL(40, 2)",
    "SELECT CAST(300 AS TINYINT) FROM r": "this cast cannot be done: 300 is too large for 8 bits",
    "SELECT EXTRACT(ERA FROM TIMESTAMP '2024-01-01 00:00:00') AS s FROM r": "there is no part ERA of a moment",
    "SELECT timestampdiff(ERA, DATE '2024-01-01', DATE '2024-01-02') AS s FROM r": "takes the name of a unit first",
    "SELECT split_part(c) AS x FROM r": "split_part takes 3 arguments, not 1",
    "SELECT sin(c) AS x FROM r": "sin takes a number here, not STRING",
    "SELECT regexp_extract(c, '(a)', 2) AS x FROM r": "'(a)' has no group 2",
    "SELECT regexp_replace(c, c, '') AS x FROM r": "argument 2 of regexp_replace is written out",
    "SELECT date_format(DATE '2024-01-01', 'ZZ') AS x FROM r": "'ZZ' is not supported in a format of dates",
    "SELECT CAST('10' AS TIME) AS x FROM r": "no time of the day",
    "SELECT last_value(b) IGNORE NULLS OVER (ORDER BY a ROWS 2 PRECEDING) FROM r": "counts rows",
    "SELECT sum(b) IGNORE NULLS OVER (ORDER BY a) FROM r": "IGNORE NULLS is not supported here",
    "SELECT count(*) FROM r JOIN s ON r.a = s.a GROUP BY session_window(d, '5 minutes')": "the rows of one table",
    "SELECT count(*) FROM r GROUP BY session_window(a, 'soon')": "a length of session_window is written out",
    "SELECT count(*) FROM r GROUP BY window(a, '5 minutes', '10 minutes')": "windows overlap or follow each other",
    "SELECT DATE '2024-01-01' + INTERVAL '1 25:00:00' DAY TO SECOND FROM r": "this interval is not supported",
    "SELECT CAST('x' AS INT) FROM r": "this cast cannot be done",
    "SELECT c RLIKE c FROM r": "RLIKE takes a pattern that is written out",
    "SELECT c RLIKE '(?i)x' FROM r": "'(?i)' is not supported in a pattern",
    "SELECT c RLIKE '[a-' FROM r": "is no pattern",
    "SELECT c LIKE ANY (SELECT c FROM r) FROM r": "LIKE ANY and LIKE ALL take patterns in parentheses",
    "SELECT c LIKE ANY ('a!%', 'b') ESCAPE '!' FROM r": "LIKE ANY and LIKE ALL have no ESCAPE",
    "SELECT c LIKE 'a\\\\x' FROM r": "escapes 'x'",
    "SELECT 'a' 'b' FROM r": "strings side by side is not supported",
    "SELECT DATE '2024-13-01' FROM r": "this cast cannot be done",
    "SELECT lag(a, a) OVER (ORDER BY k) FROM s": "lag goes a fixed number of rows",
    "SELECT lag(a) OVER () FROM s": "lag(…) needs OVER (… ORDER BY …)",
    "SELECT last_value(a) OVER (ORDER BY k RANGE 2 PRECEDING) FROM s": "last_value by RANGE is not supported",
    "SELECT nth_value(a) OVER (ORDER BY k) FROM s": "nth_value takes 2 arguments",
    "SELECT nosuch(a) OVER (ORDER BY k) FROM s": "the window function nosuch is not supported",
    "SELECT sum(a) OVER (ORDER BY a, k RANGE 2 PRECEDING) FROM s": "RANGE goes by one key",
    "SELECT sum(a) OVER (ROWS 2 PRECEDING) FROM s": "a frame needs an order",
    "SELECT sum(a) OVER (ORDER BY k ROWS a PRECEDING) FROM s": "ROWS takes a number",
    "SELECT sum(a) OVER (ORDER BY k ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW) FROM s": "this frame is empty",
    "SELECT a, grouping(b) FROM r GROUP BY a": "grouping takes keys of GROUP BY",
    "SELECT grouping(a) FROM r": "grouping takes keys of GROUP BY",
    "SELECT a FROM r WHERE grouping(a) = 1": "an aggregate has no value in this place",
    "SELECT rank() OVER (PARTITION BY a) FROM r": "rank() needs OVER (… ORDER BY …)",
    "SELECT a FROM r WHERE rank() OVER (ORDER BY a) = 1": "a window function is not supported",
    "SELECT a FROM r TABLESAMPLE (10 PERCENT)": "SAMPLE of a table is not supported",
    "SELECT a FROM x.r": "DB of a table is not supported",
    "SELECT * FROM r PIVOT (sum(b), max(b) FOR c IN ('x'))": "one of several aggregates of PIVOT has no name",
    "SELECT * FROM r UNPIVOT (v FOR c IN (a, b))": "not supported",
    "SELECT a FROM r CLUSTER BY a": "CLUSTER of SELECT is not supported",
    "SELECT r.a FROM r JOIN s USING (zz)": "column zz of USING is not in both tables",
    "SELECT r.a FROM r NATURAL JOIN o": "share no column",
    "SELECT transform(m, x -> x) AS t FROM d": "transform takes an array, not MAP<STRING, BIGINT>",
    "SELECT id, explode(m), explode(n) FROM d": "the select list makes rows of one array",
    "SELECT id, explode(m) AS (a, b, c) FROM d": "3 names are given to 2 columns",
    "SELECT map(id, 1) AS m FROM d": "the keys of a map are written out",
    "SELECT id, tags[0] AS t FROM d": "needs positions, and this array is a bag",
    "SELECT concat(n, n) AS m FROM d": "concat takes arrays, not maps",
    "SELECT loc['x'] AS x FROM d": "[…] takes an array or a map",
    "SELECT id, p FROM o LATERAL VIEW posexplode(items) t AS i, p": "posexplode needs positions",
    "SELECT id FROM o LATERAL VIEW explode(ship) t AS i": "explode takes an array or a map",
    "SELECT id, items.pid FROM o": "has no field pid",
    "SELECT sequence(1, 2.5) AS x FROM r": "sequence of BIGINT, DECIMAL is not supported",
    "SELECT sequence(1, c) AS x FROM r": "these have no type in common: BIGINT and STRING",
    "SELECT sequence(1, a, INTERVAL 1 DAY) AS x FROM r": "sequence of BIGINT, BIGINT, INTERVAL is not supported",
    "SELECT sequence(DATE '2024-01-01', DATE '2024-02-01', INTERVAL 2 HOUR) AS x FROM r": "DATEs come by whole days",
    "SELECT sequence(DATE '2024-01-01', DATE '2024-02-01', a) AS x FROM r": "sequence of DATE, DATE, BIGINT is not",
    "SELECT sequence(1) AS x FROM r": "sequence takes a start, a stop and a step, not 1 arguments",
    "SELECT split(c, 'x*') AS x FROM r": "split at 'x*' may find nothing, and Spark then parts within characters",
    "SELECT split(c, c) AS x FROM r": "split takes a pattern and a limit that are written out",
    "SELECT split(c, '(') AS x FROM r": "'(' is no pattern",
    "SELECT generate_series(1, a) AS x FROM r": "the function generate_series is not supported",
    "SELECT transform_keys(m, (k, v) -> concat(k, 'b')) AS x FROM d": "the function transform_keys is not supported",
    "SELECT parse_json(c) AS x FROM r": "a VARIANT is no column of a view",
    "SELECT parse_json(c):a AS x FROM r": "a VARIANT is no column of a view",
    "SELECT c:a::INT AS x FROM r": "this is no VARIANT",
    "SELECT variant_get(c, '$.a', 'INT') AS x FROM r": "this is no VARIANT",
    "SELECT parse_json(c):a::DATE AS x FROM r": "a VARIANT as DATE is not supported",
    "SELECT variant_get(parse_json(c), '$.a', 'ARRAY<INT>') AS x FROM r": "a VARIANT as ARRAY<INT> is not supported",
    "SELECT variant_get(parse_json(c), 'a', 'INT') AS x FROM r": "'a' is no path",
    "SELECT parse_json(c):a[*]::INT AS x FROM r": "a path has no wildcards",
    "SELECT is_variant_null(parse_json(c)) AS x FROM r": "the function is_variant_null is not supported",
    "SELECT CAST(a AS FLOAT) AS x FROM r": "this is cast to a FLOAT of 32 bits",
    "SELECT a::REAL AS x FROM r": "this is cast to a FLOAT of 32 bits",
    "SELECT r.a FROM r RIGHT JOIN LATERAL (SELECT k FROM s) q ON true": "a RIGHT JOIN with LATERAL has no rows",
    "SELECT float(a) AS x FROM r": "the function float is not supported",
    "SELECT from_json(c, 'x FLOAT') AS x FROM r": "FLOAT has 32 bits",
    "SELECT from_json(c, 'a DATE') AS x FROM r": "the field a of this schema is not supported",
    "SELECT from_json(c, 'ARRAY<DATE>') AS x FROM r": "an array of DATE is not supported in from_json",
    "SELECT from_json(c, 'MAP<STRING, INT>') AS x FROM r": "this schema cannot be read",
    "SELECT from_json(c, c) AS x FROM r": "a schema that is written out",
    "SELECT to_json(items) AS x FROM o": "to_json takes arrays in order",
    "SELECT to_json(a) AS x FROM r": "to_json takes a struct or an array, not BIGINT",
    "SELECT m = m AS x FROM d": "= does not take MAP<STRING, BIGINT>",
    "SELECT count(DISTINCT items) AS x FROM o": "structs and arrays in order",
    "SELECT any_value(items) AS x FROM o": "any_value takes arrays in order",
    "SELECT items FROM o WHERE items = items": "compares arrays in order",
    "SELECT max(tags) FROM d": "max takes arrays in order",
    "SELECT x FROM o, UNNEST(nums) WITH ORDINALITY AS t(x, n)": "there is no column nums",
    "SELECT x FROM o, UNNEST(items) WITH ORDINALITY AS t(x, n)": "WITH ORDINALITY needs positions",
    "SELECT element_at(array(a, b), 0) FROM r": "counts positions from 1",
    "SELECT slice(array(a, b), 1, -1) FROM r": "a length that is not negative",
    "SELECT array(a, b)[c] FROM r": "a position is a whole number, not STRING",
    "SELECT array_repeat(a, b) FROM r": "a number from 1 to 1000",
    "SELECT sort_array(items) FROM o": "sort_array needs positions",
    "SELECT transform(items, (x, i) -> x.pid + i) FROM o": "(x, i) -> … needs positions",
    "SELECT aggregate(items, 0, (acc, x) -> acc * x.pid) FROM o": "this aggregate(…) is not supported",
    "SELECT array() FROM o": "the type of an empty array is not known",
    "SELECT a FROM r UNION SELECT c FROM r": "column a is BIGINT in one query and STRING in the other",
    "SELECT a FROM r UNION SELECT a, b FROM r": "the queries have 1 and 2 columns",
    "SELECT a FROM (VALUES (1), (2, 3)) AS t(a)": "rows of VALUES have different lengths",
    "SELECT a FROM r WHERE a BETWEEN SYMMETRIC 1 AND 2": "SYMMETRIC is not understood",
    "SELECT a FROM r; SELECT a FROM r": "a view is one query, not 2",
    "DELETE FROM r": "DELETE is no query",
    "WITH d AS (DELETE FROM r) SELECT a FROM s": "DELETE is no query",
    "WITH d AS (SELECT zz FROM r) SELECT a FROM s": "there is no column zz",
    "SELECT 'open FROM r": "a quote or comment is not closed",
    "SELECT FROM r": "SELECT names no column",
    "SELECT collect_list(a ORDER BY b) FROM r": "a collected array has no order",
    "SELECT a FROM r WHERE c = INTERVAL '1' MONTH": "months are only added to a date",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_refused_says_what(query):
    with pytest.raises(nl.QueryError) as caught:
        translate(query, CATALOG)

    assert REFUSED[query] in str(caught.value)


def test_sql_is_refused_when_the_view_is_made():
    db = nl.Database()
    db.table("r", {"a": int})

    with pytest.raises(nl.QueryError, match="there is no column zz"):
        db.view("v", "SELECT zz FROM r")
    assert "v" not in db.views


@pytest.mark.parametrize("function", ["row_number()", "lag(b)", "ntile(2)", "first_value(b)"])
def test_rows_that_are_the_same_have_no_order(function):
    """Peers are told apart by all their columns; of two that are one in all of them, neither comes first."""
    db = nl.Database()
    db.table("r", "a INT NULL, b INT NULL")
    frame = "ROWS UNBOUNDED PRECEDING" if "value" in function else ""
    view = db.view("v", f"SELECT b, {function} OVER (ORDER BY a {frame}) AS n FROM r", strict=False)
    db.insert("r", [(1, 2), (1, None), (None, 3)])
    before = sorted(map(repr, view))

    with pytest.raises(nl.ChangeError, match="v"):
        db.insert("r", [(1, None)])
    assert sorted(map(repr, view)) == before


def test_a_query_in_the_place_of_a_value_is_checked_when_rows_come():
    db = nl.Database()
    db.table("r", "a INT NULL, b INT NULL")
    view = db.view("v", "SELECT a, (SELECT y.b FROM r y WHERE y.a = r.b) AS x FROM r", strict=False)
    db.insert("r", [(1, 2), (2, 7), (3, None)])
    before = [(1, 7), (2, None), (3, None)]
    assert sorted(map(tuple, view)) == before

    with pytest.raises(nl.ChangeError, match="v could not be computed"):
        db.insert("r", [(2, 8)])
    assert sorted(map(tuple, view)) == before


def test_a_text_in_another_dialect():
    db = nl.Database()
    db.table("r", "a INT NULL, b INT NULL, c STRING NULL")
    db.insert("r", [(2, 1, "x"), (None, 3, "y")])
    text = "SELECT a, b FROM r ORDER BY a LIMIT 1"

    assert list(map(tuple, db.view("ours", text))) == [(None, 3)]
    assert list(map(tuple, db.view("theirs", text, dialect="postgres"))) == [(2, 1)]
    assert list(
        map(tuple, db.view("cast", "SELECT a::text AS t FROM r WHERE a = 2", dialect="postgres"))
    ) == [("2",)]
    first = (
        "SELECT a, IFF(b > 1, 'x', 'y') AS s FROM r QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) = 1"
    )
    assert len(list(db.view("first", first, dialect="snowflake"))) == 2


@pytest.mark.parametrize(
    ("dialect", "query", "message"),
    [
        ("postgres", "SELECT a / b AS x FROM r", "postgres cuts the quotient a / b"),
        ("klingon", "SELECT a FROM r", "there is no dialect 'klingon'"),
        ("postgres", "SELECT FROM WHERE", "no SQL of postgres that can be read"),
    ],
)
def test_what_another_dialect_means_otherwise_is_refused(dialect, query, message):
    db = nl.Database()
    db.table("r", "a INT NULL, b INT NULL")
    with pytest.raises(nl.QueryError) as caught:
        db.view("v", query, dialect=dialect)
    assert message in str(caught.value)
