"""Arrays whose order is declared: rows keep it, change as a whole, and have it after the file is opened again."""

from dataclasses import dataclass

import pytest

import nestling as nl
from nestling.values.bag import ZBag

DDL = "id INT, tags ARRAY<STRING NULL> NULL, items ARRAY<STRUCT<p: INT, q: ARRAY<INT>>>"


def made(**options):
    db = nl.Database(**options)
    db.table("o", DDL, key="id", ordered=["tags", "items"])
    return db


def test_rows_keep_the_order_they_came_in():
    db = made()
    view = db.view("v", "SELECT id, tags, items FROM o")
    db.insert("o", [(1, ["b", "a", None, "b"], [(2, [1]), (1, [])]), (2, None, [])])

    for rows in (list(view), list(db.tables["o"].rows())):
        assert [tuple(row) for row in rows] == [
            (1, ["b", "a", None, "b"], [(2, [1]), (1, [])]),
            (2, None, []),
        ]
    db.update("o", key=1, set={"tags": ["c", "b"]})
    assert next(iter(view)).tags == ["c", "b"]
    db.delete("o", [{"id": 1, "tags": ["c", "b"], "items": [(2, [1]), (1, [])]}])
    assert [row.id for row in view] == [2]


def test_a_row_in_another_order_is_another_row():
    db = nl.Database()
    db.table("o", "tags ARRAY<STRING>", ordered="tags")
    db.insert("o", [(["a", "b"],)])
    with pytest.raises(nl.ChangeError):
        db.delete("o", [(["b", "a"],)])
    assert [row.tags for row in db.tables["o"].rows()] == [["a", "b"]]


@pytest.mark.parametrize("given", [{"a", "b"}, ZBag([("a", 1)]), "ab", {"a": 1}, 7])
def test_what_has_no_order_is_refused(given):
    db = made()
    with pytest.raises(nl.ChangeError, match="tags"):
        db.insert("o", [(1, given, [])])
    assert not list(db.tables["o"].rows())


def test_an_element_does_not_change_apart_from_its_row():
    db = made()
    db.insert("o", [(1, ["a"], [(2, [1])])])
    row = db.table("o").at(1)
    with pytest.raises(nl.ChangeError, match=r"o.items is in order, and is changed with its row"):
        row.items.insert([(3, [])])
    with pytest.raises(nl.ChangeError, match=r"changed with its row"):
        row.tags.delete(["a"])
    assert [tuple(row) for row in db.tables["o"].rows()] == [(1, ["a"], [(2, [1])])]


@dataclass
class Line:
    p: int
    q: nl.List[int]


@dataclass
class Order:
    id: int
    lines: nl.List[Line]
    tags: nl.List[str] | None = None


def test_a_class_declares_it():
    db = nl.Database()
    db.table("o", Order, key="id")
    view = db.view("v", "SELECT id, lines[0].q[1] AS x, tags[0] AS t FROM o")
    db.insert("o", [Order(1, [Line(1, [5, 4])], ["b", "a"]), Order(2, [])])
    assert list(map(tuple, view)) == [(1, 4, "b"), (2, None, None)]


def test_what_is_no_array_is_not_ordered():
    with pytest.raises(nl.QueryError, match="o has no array 'id' to be in order"):
        nl.Database().table("o", DDL, ordered="id")


def test_order_is_kept_in_a_file(tmp_path):
    with made(path=tmp_path / "o.db") as db:
        db.insert("o", [(1, ["b", "a"], [])])
        db.view("v", "SELECT id, p, t FROM o LATERAL VIEW posexplode(tags) e AS p, t")
    with made(path=tmp_path / "o.db") as db:
        assert sorted(map(tuple, db.views["v"])) == [(1, 0, "b"), (1, 1, "a")]
        db.update("o", key=1, set={"tags": ["a"]})
        assert list(map(tuple, db.views["v"])) == [(1, 0, "a")]
        assert db.tables["o"].rows()[0].tags == ["a"]


def test_in_python_and_oql_the_elements_are_a_bag():
    db = nl.Database()
    db.table("o", "id INT, tags ARRAY<STRING>, nums ARRAY<INT>", key="id", ordered=["tags", "nums"])
    python = db.view("p", "[(o.id, t) for o in o for t in o.tags if 2 in o.nums]", language="python")
    oql = db.view("q", "select struct(i: x.id, t: t) from x in o, t in x.tags", language="oql")
    db.insert("o", [(1, ["b", "a"], [2, 1]), (2, ["a"], [])])
    assert sorted(map(tuple, python)) == [(1, "a"), (1, "b")]
    assert sorted(map(tuple, oql)) == [(1, "a"), (1, "b"), (2, "a")]


def test_order_goes_through_files_and_frames():
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    db = nl.Database()
    db.table("o", "id INT, tags ARRAY<STRING>", key="id", ordered="tags")
    view = db.view("v", "SELECT id, tags, reverse(tags) AS r FROM o")
    db.insert("o", pandas.DataFrame({"id": [1], "tags": [["b", "a", "c"]]}))
    db.insert("o", arrow.table({"id": [2], "tags": [["z", "y"]]}))
    assert view.to_arrow().to_pylist() == [
        {"id": 1, "tags": ["b", "a", "c"], "r": ["c", "a", "b"]},
        {"id": 2, "tags": ["z", "y"], "r": ["y", "z"]},
    ]
    assert list(view.to_pandas()["r"].map(list)) == [["c", "a", "b"], ["y", "z"]]


def test_sql_inserts_arrays_in_order():
    db = nl.Database()
    db.table("p", "id INT, tags ARRAY<STRING>", key="id", ordered="tags")
    db.sql("INSERT INTO p VALUES (1, array('z', 'a'))")
    assert [row.tags for row in db.tables["p"].rows()] == [["z", "a"]]
    db.sql("UPDATE p SET tags = array('y', 'a', 'b') WHERE id = 1")
    assert [row.tags for row in db.tables["p"].rows()] == [["y", "a", "b"]]


def test_rows_are_put_in_order_by_arrays():
    db = nl.Database()
    db.table("p", "id INT, tags ARRAY<STRING> NULL", key="id", ordered="tags")
    query = "SELECT id FROM p ORDER BY tags DESC, id DESC LIMIT 2"
    first = db.view("v", query, strict=False)
    db.insert("p", [(1, ["b", "a"]), (2, ["b"]), (3, []), (4, None), (5, ["a", "z"])])
    assert sorted(row.id for row in first) == [1, 2]
    with pytest.raises(nl.QueryError, match="rows are read in the order of scalars"):
        db.view("w", "SELECT id, tags FROM p ORDER BY tags")
