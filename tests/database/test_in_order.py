"""Views that end with an order: how the languages write it, who keeps it, and what is refused."""

import jsonpatch
import pytest

import nestling as nl
from nestling.errors import QueryError

SCHEMA = {"id": int, "name": str | None, "n": float, "at": {"city": str}, "items": [{"p": str, "q": int}]}
ROWS = [
    (1, "b", 2.0, ("Rome",), [("x", 3), ("y", 5)]),
    (2, None, 1.0, ("Oslo",), [("z", 1)]),
    (3, "a", 2.0, ("Bonn",), []),
    (4, "c", 0.5, ("Rome",), [("b", 9), ("a", 9)]),
]


def database(path=None):
    db = nl.Database(path) if path is not None else nl.Database()
    if not db.tables:
        db.table("o", SCHEMA, key="id")
        db.insert("o", ROWS)
    return db


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("SELECT id, n FROM o ORDER BY n, 1 DESC", [4, 2, 3, 1]),
        ("SELECT id, n AS k FROM o ORDER BY o.n DESC, id", [1, 3, 2, 4]),
        ("SELECT id, name FROM o ORDER BY NAME", [2, 3, 1, 4]),
        ("SELECT id, name FROM o ORDER BY name NULLS LAST", [3, 1, 4, 2]),
        ("SELECT id, name FROM o ORDER BY name DESC NULLS FIRST", [2, 4, 1, 3]),
        ("SELECT id, n * -1 AS k FROM o ORDER BY n * -1, id DESC", [3, 1, 2, 4]),
        ("SELECT * FROM o ORDER BY o.n, at.city", [4, 2, 3, 1]),
        ("SELECT id, at FROM o ORDER BY at.city, id", [3, 2, 1, 4]),
        ("(SELECT id, n FROM o ORDER BY n, id)", [4, 2, 1, 3]),
        ("WITH x AS (SELECT id, n FROM o) SELECT id, n FROM x ORDER BY n, id", [4, 2, 1, 3]),
        ("SELECT id, n FROM o UNION ALL SELECT 9, 9.0 ORDER BY n DESC, id", [9, 1, 3, 2, 4]),
        ("SELECT max(id) AS id, n FROM o GROUP BY n ORDER BY max(id)", [2, 3, 4]),
        ("SELECT id, n FROM o ORDER BY n DESC, id DESC LIMIT 3", [3, 1, 2]),
        ("SELECT id, n FROM o ORDER BY n, id LIMIT 2 OFFSET 1", [2, 1]),
    ],
)  # fmt: skip
def test_sql(text, ids):
    db = database()
    view = db.view("v", text)
    assert [row.id for row in view] == ids
    assert [row["id"] for row in view.document()] == ids
    assert list(view.to_pandas()["id"]) == ids
    assert [row.id for row in db.sql(text)] == ids


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT id FROM o ORDER BY n", "in the order of what it selects"),
        ("SELECT id, n FROM o ORDER BY z.n", "in the order of what it selects"),
        ("SELECT id, n FROM o ORDER BY n + 1", "in the order of what it selects"),
        ("SELECT id, items FROM o ORDER BY items", "ordered by scalars"),
        ("SELECT id, at FROM o ORDER BY at", "ordered by scalars"),
        ("SELECT id FROM o ORDER BY 2", "no item 2"),
        ("SELECT * FROM o a JOIN o b ON a.id = b.id ORDER BY name", "stands twice"),
        ("SELECT * FROM o a JOIN o b ON a.id = b.id ORDER BY a.name", "in the order of what it selects"),
        ("SELECT id FROM o WHERE id IN (SELECT id FROM o ORDER BY id)", "rows inside a view have no order"),
    ],
)
def test_what_sql_refuses(text, why):
    with pytest.raises(QueryError, match=why) as caught:
        database().view("v", text)
    assert caught.value.at is not None
    assert caught.value.hint


def test_the_first_rows_of_an_order_that_they_do_not_hold_are_a_bag():
    db = database()
    view = db.view("v", "SELECT id FROM o ORDER BY name LIMIT 2")
    assert sorted(row.id for row in view) == [2, 3]
    assert "read in order" not in view.explain()


def test_python():
    db = database()
    db.view("whole", lambda o: sorted([(r.n, r.id) for r in o], reverse=True))
    db.view("text", "sorted(o, key=lambda r: (r.at.city, -r.id))", language="python")
    db.view("inner", lambda o: [(r.id, sorted(r.items, key=lambda i: (-i.q, i.p))) for r in o])
    db.view("one", lambda o: [{"all": sorted(r.n for r in o)}])
    db.view("named", ordered_by_name)
    db.view("lengths", lambda o: sorted([len(sorted(r.items)) for r in o]))
    db.view("first", lambda o: sorted([(r.n, r.id) for r in o], key=lambda r: r[0])[:3])
    assert db.views["whole"].rows() == [(2.0, 3), (2.0, 1), (1.0, 2), (0.5, 4)]
    assert [row.id for row in db.views["text"]] == [3, 2, 4, 1]
    assert db.views["inner"][1] == (1, [("y", 5), ("x", 3)])
    assert sorted(db.views["inner"])[3] == (4, [("a", 9), ("b", 9)])
    assert db.views["one"].rows() == [([0.5, 1.0, 2.0, 2.0],)]
    assert [row.name for row in db.views["named"]] == [None, "a", "b", "c"]
    assert db.views["lengths"].rows() == [0, 1, 2, 2]
    assert db.views["first"].rows() == [(0.5, 4), (1.0, 2), (2.0, 1)]


def ordered_by_name(o):
    rows = [{"name": r.name, "id": r.id} for r in o]
    in_turn = sorted(rows, key=lambda r: r["name"])
    return list(in_turn)


@pytest.mark.parametrize(
    "text",
    [
        "[r.n for r in sorted(o, key=lambda r: r.n)]",
        "[sum(sorted([i.q for i in r.items])) for r in o]",
        "sorted([r.n for r in o]) + [1.0]",
        "[sorted(r.items) if r.n > 1 else [] for r in o]",
        "[x for x in [(r.id, sorted(r.items)) for r in o]]",
        "{r.id: sorted(r.items) for r in o}",
        "sorted(o, key=lambda r: r.n * r.n)",
        "sorted(o)",
        "sorted(o, o)",
        "sorted(o, reverse=o)",
        "[(r.id, sorted(r.items)) for r in o if r.id in sorted([1])]",
    ],
)
def test_where_an_order_would_be_lost_it_is_refused(text):
    with pytest.raises(QueryError) as caught:
        database().view("v", text, language="python")
    assert caught.value.hint


def test_lists_in_lists():
    db = nl.Database()
    db.table("t", {"k": int, "parts": [{"m": int, "tags": list[str]}]})
    db.insert("t", [(1, [(2, ["a", "b"]), (1, ["d", "c"])])])
    text = "[[sorted(p.tags, reverse=True) for p in r.parts] for r in t]"
    view = db.view("v", text, language="python")
    assert sorted(map(sorted, view.rows())) == [[["b", "a"], ["d", "c"]]]
    assert sorted(map(sorted, view.document())) == [[["b", "a"], ["d", "c"]]]


def test_what_may_be_null_inside():
    db = nl.Database()
    db.sql("CREATE TABLE a (id INT NOT NULL, n INT NOT NULL)")
    db.table("b", {"aid": int, "s": {"x": int, "t": list[int]}, "tags": list[int]})
    db.insert("a", [(1, 5), (2, 4)])
    db.insert("b", [(1, (3, [2, 1]), [9, 8])])
    view = db.view("v", "SELECT a.id, a.n, b.s, b.tags FROM a LEFT JOIN b ON b.aid = a.id ORDER BY n")
    wanted = [
        {"id": 2, "n": 4, "s": None, "tags": None},
        {"id": 1, "n": 5, "s": {"x": 3, "t": [1, 2]}, "tags": [8, 9]},
    ]
    view.changes()
    document = view.document()
    assert document == view.to_arrow().to_pylist() == wanted
    db.insert("b", [(2, (7, [4]), [1])])
    (change,) = view.changes(since=document.version)
    assert jsonpatch.apply_patch(list(document), change.to_json_patch()) == view.to_arrow().to_pylist()


def test_it_is_kept_in_a_file_and_part_of_what_a_view_is(tmp_path):
    text = "SELECT id, n FROM o ORDER BY n DESC NULLS FIRST, id"
    nested = "[(r.id, sorted(r.items, reverse=True)) for r in o]"
    with database(tmp_path / "db") as db:
        db.view("v", text)
        db.view("w", nested, language="python")
        before = db.views["v"].rows(), db.views["w"][4]
    with database(tmp_path / "db") as db:
        assert (db.views["v"].rows(), db.views["w"][4]) == before
        db.view("v", text)
        db.view("w", nested, language="python")
        with pytest.raises(QueryError, match="by n descending with nulls first, id"):
            db.view("v", "SELECT id, n FROM o")


def test_scripts_and_views_over_it():
    db = database()
    db.sql("CREATE VIEW v (a, b) AS SELECT id, n FROM o ORDER BY n DESC, id")
    assert [row.a for row in db.views["v"]] == [1, 3, 2, 4]
    assert db.view("w", "SELECT count(*) AS c FROM v").rows() == [(4,)]
    db.sql("CREATE OR REPLACE VIEW v (a, b) AS SELECT id, n FROM o ORDER BY id DESC")
    assert [row.a for row in db.views["v"]] == [4, 3, 2, 1]


def test_explain_says_what_a_reading_costs():
    view = database().view("v", "SELECT id, n FROM o ORDER BY n DESC")
    text = " ".join(view.explain().split())
    assert "read in order by n descending: a reading sorts, n·log n" in text
    assert "read in order by n descending" in view.explain("json")
