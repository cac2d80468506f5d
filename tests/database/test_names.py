"""Names that users choose never meet names that the engine chooses."""

import pytest

import nestling as nl


def movies():
    db = nl.Database()
    db.table("M", {"name": str, "gen": str}, key="name")
    return db


def test_a_count_per_key_is_not_the_engine_s_own_count():
    db = movies()
    view = db.view("v", lambda M: [(d, len([m for m in M if m.gen == d])) for d in {m.gen for m in M}])

    db.insert("M", [("a", "x"), ("b", "x"), ("c", "y")])

    assert sorted(view) == [("x", 2), ("y", 1)]


def test_variables_may_be_called_like_the_engine_s():
    db = movies()
    view = db.view(
        "v",
        lambda M: [(times, [n.name for n in M if n.gen == times]) for times in {key.gen for key in M}],
    )
    nested = db.view("w", lambda M: [(row.name, sum(1 for total in M if total.gen == row.gen)) for row in M])

    db.insert("M", [("a", "x"), ("b", "x")])
    db.delete("M", key="a")

    assert view.rows() == [("x", ["b"])]
    assert nested.rows() == [("b", 1)]


def test_tables_and_columns_may_be_called_like_the_engine_s():
    db = nl.Database()
    db.table("times", {"row": int, "key": int, "class": int}, key="row")
    view = db.view(
        "on_times",
        lambda times: [(k, sum(t.key for t in times if t.key == k)) for k in {t.key for t in times}],
    )

    db.insert("times", [(1, 2, 3), (4, 2, 3)])

    assert view.rows() == [(2, 4)]


def test_the_same_definition_again_is_no_error(tmp_path):
    def declare(db):
        db.table("M", {"name": str, "gen": str}, key="name")
        db.constraint("no x", lambda M: [m.name for m in M if m.gen == "x"])
        return db.view("v", lambda M: [(m.name, [n.name for n in M if n.gen == m.gen]) for m in M])

    with nl.Database(tmp_path / "movies.nest") as db:
        declare(db)
        db.insert("M", [("a", "y")])
    with nl.Database(tmp_path / "movies.nest") as db:
        assert declare(db).rows() == [("a", ["a"])]


def test_a_table_may_be_called_like_an_inner_bag():
    """``orders_items`` is not ``orders.items``, nor is ``orders_by_0`` an index."""
    db = nl.Database()
    db.table("orders", {"id": int, "g": int, "items": list[int]}, key="id")
    for name in ("orders_items", "orders_by_1", "orders_items_by_0", "T_orders"):
        db.table(name, {"a": int, "b": int})
    view = db.view(
        "v", lambda orders: [(o.id, [p.id for p in orders if p.g == o.g], o.items) for o in orders]
    )
    db.insert("orders", [(1, 2, [5])])
    for name in ("orders_items", "orders_by_1", "orders_items_by_0", "T_orders"):
        db.insert(name, [(7, 8)])

    assert view.rows() == [(1, [1], [5])]
    assert all(len(table) == 1 for table in db.tables.values())
    db.verify()


def test_views_may_be_called_nearly_alike():
    db = movies()
    names = ["a b", "a_b", "a.b", "a·b", "a", "a_1", "a1", "ä"]
    for i, name in enumerate(names):
        db.view(
            name, f"[(m.name + '{i}', [n.name for n in M if n.gen == m.gen]) for m in M]", language="python"
        )
        db.views[name].changes()
    db.insert("M", [("x", "g")])

    assert [db.views[name].rows() for name in names] == [[(f"x{i}", ["x"])] for i in range(len(names))]
    assert [len(db.views[name].changes()) for name in names] == [1] * len(names)


def test_names_in_other_scripts():
    db = nl.Database()
    for name in ("t²", "tª", "ta", "表"):
        db.table(name, {"x²": int, "é": int, "xa": int})
        db.insert(name, [(1, 2, 3)])
    view = db.view("v", "[x for x in ta if x.xa > 2]", language="python")

    assert view.rows() == [(1, 2, 3)]
    assert [len(table) for table in db.tables.values()] == [1, 1, 1, 1]


def test_two_places_that_a_dot_makes_one():
    db = nl.Database()
    db.table("orders", {"id": int, "items": list[int]}, key="id")

    with pytest.raises(nl.QueryError, match=r"would be stored under the name of orders\.items"):
        db.table("orders.items", {"a": int})
    with pytest.raises(nl.QueryError, match=r"t would be stored under the name of t\.a\.b"):
        db.table("t", {"a.b": list[int], "a": {"b": list[int]}})
    assert list(db.tables) == ["orders"]
