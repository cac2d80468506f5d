"""Names that users choose never meet names that the engine chooses."""

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
