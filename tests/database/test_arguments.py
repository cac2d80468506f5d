"""What is refused says what was given and what to write instead; siblings of one mistake are refused alike."""

import functools
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

import nestling as nl
from nestling.database.feed import Pairs
from nestling.values.bag import ZBag
from tests.database.doors import contents, shop

CHANGES: list[tuple[Any, str]] = [
    (lambda db: db.insert("orders", None), "rows are not None .*\nhint: pass a list of dicts"),
    (lambda db: db.insert("orders", "abc"), "rows are not 'abc' .*\nhint: pass a list of dicts"),
    (lambda db: db.insert("orders", {"id": 1}), r"rows are not .*\nhint: one row is a list of one"),
    (lambda db: db.insert("orders", ZBag.of((1, "a", ZBag()))), "hint: a Z-bag is given to db.apply"),
    (lambda db: db.insert(["orders"], []), r"there is no table \['orders'\]\nhint: tables: orders, spare"),
    (lambda db: db.sync("nowhere", []), "there is no table 'nowhere'"),
    (lambda db: db.sync("orders", None), "rows are not None"),
    (lambda db: db.apply([]), r"changes come by table, not as \[\]"),
    (lambda db: db.apply({5: {}}), "changes come by table, not by 5"),
    (lambda db: db.apply({"orders": 5}), "a change is a Z-bag or rows that say what happened, not 5"),
    (lambda db: db.apply({"orders": [{"_change_type": []}]}), r"_change_type \[\] is unknown"),
    (lambda db: db.update("orders", key=1, set=5), "new values come by column, not as 5"),
    (lambda db: db.update("orders", key=1, set={5: 1}), "a column is named by a str, not 5"),
    (lambda db: db.delete("orders"), "exactly one of rows, where and key"),
    (lambda db: db.delete("orders", [], key=1), "exactly one of rows, where and key"),
    (lambda db: db.delete("orders", where=lambda o: True, key=1), "exactly one of rows, where and key"),
    (lambda db: db.delete("orders", key=None), "orders has no row with key None"),
    (lambda db: db.delete("orders", where=5), "where is a function of a row, not 5"),
    (lambda db: db.delete("orders", where=lambda o: o.customer), "where says True or False, not 'a'"),
    (lambda db: db.table("orders").at(1).items.insert("ab"), "elements are not 'ab'"),
    (lambda db: db.table("orders").at(1).items.insert(None), "elements are not None"),
    (lambda db: db.table("orders").at(1)[5], "a bag is named by a str, not 5"),
    (lambda db: db.table("orders").at(10**5000).items.insert([]), "no row with key <int>"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), CHANGES, ids=range(len(CHANGES)))
def test_a_change_says_what_it_wants(change, message):
    db = shop()
    before = contents(db)
    with pytest.raises(nl.ChangeError, match=message):
        change(db)
    assert contents(db) == before
    db.verify(maps=True)


DEFINITIONS: list[tuple[Any, str]] = [
    (lambda db: db.table(5, {"a": int}), "the name of a table is a str, not 5"),
    (lambda db: db.table("t", 5), "a schema is not 5"),
    (lambda db: db.table("t", {"a": int}, key=5), "key names columns, not 5"),
    (lambda db: db.table("t", {"a": int}, key=[5]), "key names columns, not 5"),
    (lambda db: db.table("t", {"a": int}, key=b"a"), "key names columns, not b'a'"),
    (lambda db: db.table("t", {"a": int}, references=["a"]), r"references is not \['a'\]"),
    (lambda db: db.table("t", {"a": int}, references={"a": 5}), "the name of a table is a str, not 5"),
    (lambda db: db.table("t", {"a": int}, references={5: "orders"}), "references names columns, not 5"),
    (lambda db: db.table("t", {"a": int}, append_only="no"), "append_only is True or False, not 'no'"),
    (lambda db: db.view(5, "SELECT id FROM orders"), "the name of a view is a str, not 5"),
    (lambda db: db.view("x", 5), "a query is a function or a text, not 5"),
    (lambda db: db.view("x"), "a view needs a query"),
    (lambda db: db.view("x", "SELECT id FROM orders", refresh=["eager"]), r"refresh=\['eager'\] is unknown"),
    (lambda db: db.view("x", "SELECT id FROM orders", store=None), "store=None is unknown"),
    (lambda db: db.view("x", "SELECT id FROM orders", strict="no"), "strict is True or False, not 'no'"),
    (lambda db: db.view("x", "SELECT id FROM orders", language=5), "there is no language 5"),
    (lambda db: db.view(functools.partial(len)), "has no name"),
    (lambda db: db.constraint(5, "SELECT id FROM orders"), "the name of a constraint is a str, not 5"),
    (lambda db: db.sql(5), "SQL is a str, not 5"),
    (lambda db: db.drop(5), "is a str, not 5"),
    (lambda db: db.views["v"].subscribe(None), "a subscriber is a function, not None"),
    (lambda db: db.views["v"].explain(format=[]), r"format=\[\] is unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("define", "message"), DEFINITIONS, ids=range(len(DEFINITIONS)))
def test_a_definition_says_what_it_wants(define, message):
    db = shop()
    before = contents(db)
    with pytest.raises(nl.QueryError, match=message):
        define(db)
    assert contents(db) == before


# -- how often

HOW_OFTEN: list[Any] = [1.5, True, None, "1", 1.0, np.float64(1), np.bool_(True), 10**30, -(2**63)]


@pytest.mark.parametrize("times", HOW_OFTEN, ids=repr)
@pytest.mark.parametrize(
    "changes",
    [
        lambda n: {"spare": {(1, 0.5): n}},
        lambda n: {"spare": Pairs([((1, 0.5), n)])},
        lambda n: {"spare": ZBag.counted({(1, 0.5): n})},
        lambda n: {"orders.items": {(1, (1, 2)): n}},
        lambda n: {"orders": {(9, "z", ZBag.counted({(1, 1): n})): 1}},
    ],
    ids=["mapping", "pairs", "Z-bag", "inner bag", "bag in a row"],
)
def test_a_row_comes_a_whole_number_of_times(changes, times):
    db = shop()
    before = contents(db)
    with pytest.raises(nl.ChangeError, match=r"a whole number of times|so many times"):
        db.apply(changes(times))
    with pytest.raises(nl.ChangeError), db.transaction() as change:
        change.apply(changes(times))
    assert contents(db) == before


@pytest.mark.parametrize("times", [np.int64(2), np.uint8(2), 2], ids=repr)
def test_ints_of_numpy_count(times):
    db = shop()
    db.apply({"spare": {(7, 1.0): times}, "orders.items": {(1, (1, 2)): times}})
    assert db.table("spare").rows().count((7, 1.0)) == 2
    assert len(next(row for row in db.table("orders") if row.id == 1).items) == 3


def test_many_copies_are_counted_and_not_written_out():
    """A bag of 10¹⁵ equal elements takes one entry, also on its way in and out."""
    db = shop()
    many = 10**15
    db.apply({"spare": {(7, 1.0): many}, "orders.items": {(1, (1, 2)): many, (2, (2, 5)): many}})
    db.view("n", "SELECT a, count(*) AS n FROM spare GROUP BY a")
    db.view("copies", "SELECT a FROM spare")

    assert db.views["n"][7] == (7, many)
    assert len(db.table("spare")) == len(db.views["copies"]) == many + 2
    for read in (
        db.table("spare").rows,
        db.table("orders").rows,
        db.views["copies"].rows,
        db.views["v"].rows,
    ):
        with pytest.raises(nl.NestlingError, match=r"more than 100000000 values.*\nhint: read it as a Z-bag"):
            read()
    with pytest.raises(nl.NestlingError, match="more than"):
        db.views["copies"][7]
    with pytest.raises(nl.NestlingError, match="more than"):
        db.sql("SELECT a FROM spare")
    db.apply({"spare": {(7, 1.0): -many}, "orders.items": {(1, (1, 2)): -many, (2, (2, 5)): -many}})
    assert db.table("orders").rows() == shop().table("orders").rows()
    db.apply({"spare": {(7, 1.0): 2**63 - 1}})
    db.apply({"spare": {(7, 1.0): 2**63 - 1}})
    with pytest.raises(nl.NestlingError, match="more than len can say"):
        len(db.table("spare"))
    db.verify()


def test_equal_elements_with_bags_of_their_own_go_together():
    db = nl.Database()
    db.table("docs", {"id": int, "parts": [{"n": int, "words": list[str]}]}, key="id")
    docs = db.table("docs")
    db.insert("docs", [(1, [(1, ["a"]), (1, ["a"]), (1, ["b"])])])
    docs.at(1).parts.insert([(1, ["a"])])

    with pytest.raises(nl.ChangeError, match=r"is not in docs\.parts of 1"):
        db.apply({"docs.parts": [{"id": 1, "n": 1, "words": ["a"], "_change_type": "delete"}] * 4})
    db.apply({"docs.parts": [{"id": 1, "n": 1, "words": ["a"], "_change_type": "delete"}] * 3})
    assert docs.rows() == [(1, [(1, ["b"])])]


# -- keys


def test_a_key_may_be_none():
    db = nl.Database()
    db.table("t", {"a": int | None, "b": int}, key="a")
    db.insert("t", [(None, 1), (2, 2)])
    db.update("t", key=None, set={"b": 3})
    assert sorted(db.table("t"), key=str) == [(2, 2), (None, 3)]
    db.delete("t", key=None)
    assert db.table("t").rows() == [(2, 2)]
    with pytest.raises(nl.ChangeError, match="no row with key None"), db.transaction() as change:
        change.delete("t", key=None)


# -- queries that are too much

DEEP = {
    "parentheses": "SELECT " + "(" * 1_000 + "a" + ")" * 1_000 + " AS x FROM spare",
    "sums": "SELECT " + "(a + " * 1_000 + "a" + ")" * 1_000 + " AS x FROM spare",
    "negations": "SELECT a FROM spare WHERE " + "NOT (" * 1_000 + "a = 1" + ")" * 1_000,
    "queries": "SELECT a FROM " + "(SELECT a FROM " * 1_000 + "spare" + ")" * 1_000,
    "a long sum": "SELECT " + "a + " * 3_000 + "a AS x FROM spare",
    "a long condition": "SELECT a FROM spare WHERE " + "a = 1 OR " * 3_000 + "a = 2",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_a_text_that_is_nested_too_deeply_is_refused(text):
    db = shop()
    before = contents(db)
    for ask in (lambda: db.view("x", text), lambda: db.constraint("x", text), lambda: db.sql(text)):
        with pytest.raises(nl.QueryError, match="nested too deeply"):
            ask()
    assert contents(db) == before


def nested(levels: int) -> Any:
    type_: Any = int
    for _ in range(levels):
        type_ = [type_]
    return {"a": type_}


def test_a_schema_that_is_nested_too_deeply_is_refused():
    db = shop()
    for schema in (
        nested(40),
        nested(10_000),
        f"a {'ARRAY<' * 40}INT{'>' * 40}",
        f"a {'ARRAY<' * 10_000}INT",
    ):
        with pytest.raises(nl.QueryError, match=r"nested (more than 32 levels deep|too deeply)"):
            db.table("t", schema)
    db.table("t", nested(10))
    assert list(db.tables) == ["orders", "spare", "t"]


def test_a_comprehension_that_is_nested_too_deeply_is_refused():
    db = shop()
    for text in ("s.a + " * 3_000 + "s.a", "-" * 3_000 + "s.a", "(" * 300 + "s.a" + ")" * 300):
        with pytest.raises(nl.QueryError, match=r"nested too deeply|too many nested parentheses"):
            db.view("x", f"[{text} for s in spare]", language="python")


def test_what_is_nested_a_little_takes_little_time():
    """Sums of 30 levels and lists of 30 values took longer than anybody waits."""
    db = shop()
    db.view("sums", "SELECT " + "(a + " * 30 + "a" + ")" * 30 + " AS x FROM spare")
    db.view("listed", f"SELECT a FROM spare WHERE a IN ({', '.join(map(str, range(200)))})")
    assert sorted(db.views["sums"], key=str) == [(31,), (None,)]
    assert db.views["listed"].rows() == [(1,)]
    db.verify()


LONG, AWARE = 10**5_000, datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            lambda spare: [s.a for s in spare if s.a == LONG],
            "an int of 16610 bits is too long for a constant",
        ),
        (lambda spare: [s.a for s in spare if s.a in {LONG, 1}], "an int of 16610 bits is too long"),
        (lambda spare: [(s.a, AWARE) for s in spare], "is no moment in UTC"),
        (f"SELECT a FROM spare WHERE a < {'9' * 5_000}", "a number of 5000 digits is too long"),
        (
            "SELECT TIMESTAMP_NTZ'2024-05-01 00:00:00+02:00' AS x FROM spare",
            "not a moment without a time zone",
        ),
        ("SELECT TIMESTAMP'2024-05-01 00:00:00+19:00' AS x FROM spare", "further than 18 hours from UTC"),
    ],
)
def test_constants_that_no_column_holds(query, message):
    db = shop()
    with pytest.raises(nl.QueryError, match=message):
        db.view("x", query)
    assert "x" not in db.views
