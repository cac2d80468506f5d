"""What ``strict=True`` refuses has a code, a reason and a place in the text; ``explain`` says the same."""

import re

import pytest

import nestling as nl

#: query → the code of its class, and what of the text stands in the way
REFUSED = {
    "SELECT k,\n  rank() OVER (ORDER BY x) AS p FROM t": ("LIFT-X", "rank() OVER (ORDER BY x"),
    "SELECT k FROM t WHERE x > (SELECT avg(x) FROM t)": ("LIFT-X", "avg(x)"),
    "SELECT k, (SELECT max(d) FROM s) AS m FROM t": ("LIFT-X", "max(d)"),
    "SELECT t.k, s.d\nFROM t JOIN s ON t.k < s.a": ("INEQ", "t.k < s.a"),
    "SELECT t.k, s.d FROM t, s WHERE t.k < s.a": ("INEQ", "s"),
    "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM s WHERE d = 3)": ("LIFT-X", "1 FROM s WHERE d = 3"),
    "SELECT k FROM t\nWHERE x NOT IN (SELECT d FROM s)": ("LIFT-X", "x NOT IN (SELECT d FROM s"),
    "SELECT k, sum(x) OVER (ORDER BY k) AS s FROM t": ("LIFT-X", "sum(x) OVER (ORDER BY k"),
}  # fmt: skip


@pytest.fixture
def db():
    with nl.Database() as database:
        database.table("t", "k INT, g INT, x INT NULL", key="k")
        database.table("s", "a INT, d INT NULL")
        yield database


@pytest.mark.parametrize("query", REFUSED)
def test_an_obstacle_has_a_place(db, query):
    code, text = REFUSED[query]
    with pytest.raises(nl.QueryError, match="not efficiently incrementalizable") as caught:
        db.view("v", query, strict=True)

    at = caught.value.at
    assert at is not None
    assert at.text[at.column : at.column + at.length] == text
    assert at.text == query.split("\n")[at.line - 1]
    assert code in str(caught.value)
    said = str(caught.value).split("\n")[0]
    assert text in said  # the user's words, and no others
    assert "fold" not in said


@pytest.mark.parametrize("query", REFUSED)
def test_explain_says_where(db, query):
    code, text = REFUSED[query]
    explained = db.view("v", query, strict=False).explain()

    line = 1 + query.split(text)[0].count("\n")
    assert re.search(rf"! {code} +.*\n +line {line}: {re.escape(text)}\n", explained)


@pytest.mark.parametrize("query", ["SELECT t.k, s.d FROM t JOIN s ON t.g = s.a",
                                   "SELECT g, sum(x) AS s FROM t GROUP BY g"])  # fmt: skip
def test_what_is_efficient_is_accepted(db, query):
    assert db.view("v", query, strict=True).name == "v"
