"""Reading: rows, bags, look-ups, changes as they come and as they are pulled, and the state of it all."""

import json
import sys

import pytest

import nestling as nl
from nestling.database.change import Change
from nestling.values.bag import ZBag

MOVIES = [("Drive", "Drama", "Refn"), ("Skyfall", "Action", "Mendes"), ("Rush", "Action", "Howard")]


@pytest.fixture
def db():
    db = nl.Database()
    db.table("M", {"name": str, "gen": str, "dir": str}, key="name")
    db.view(
        "related",
        lambda M: [
            (m.name, [n.name for n in M if m.name != n.name and (m.gen == n.gen or m.dir == n.dir)])
            for m in M
        ],
    )
    db.view("genres", lambda M: [(m.gen, m.dir) for m in M])
    db.insert("M", MOVIES)
    return db


@pytest.fixture
def related(db):
    return db.views["related"]


def test_rows(related):
    """A row unpacks, and reads by name and by place; an inner bag is a list."""
    found = {}
    for name, others in related:
        found[name] = others

    assert found == {"Drive": [], "Skyfall": ["Rush"], "Rush": ["Skyfall"]}
    row = next(row for row in related.rows() if row.name == "Rush")
    assert (row[0], row._1, row) == ("Rush", ["Skyfall"], ("Rush", ["Skyfall"]))
    assert len(related) == 3
    assert repr(related) == "View(related: ⟨name: str, _1: Bag(str)⟩)"


def test_a_bag_counts(db):
    assert dict(db.views["genres"].bag().items()) == {
        ("Drama", "Refn"): 1, ("Action", "Mendes"): 1, ("Action", "Howard"): 1,
    }  # fmt: skip
    genres = db.view("g", lambda M: [m.gen for m in M])
    assert dict(genres.bag().items()) == {"Drama": 1, "Action": 2}
    assert len(genres) == 3


def test_a_row_by_its_first_column(db, related):
    assert related["Rush"] == ("Rush", ["Skyfall"])
    db.delete("M", key="Skyfall")
    assert related["Rush"] == ("Rush", [])
    for missing in ("Skyfall", 5, None, ["Rush"]):
        with pytest.raises(KeyError):
            related[missing]


def test_a_row_by_its_first_columns(db):
    pairs = db.view("pairs", lambda M: [((m.gen, m.dir), m.name) for m in M])
    genres = db.views["genres"]

    assert genres["Action", "Howard"] == ("Action", "Howard")
    assert pairs["Action", "Howard"] == (("Action", "Howard"), "Rush")
    with pytest.raises(KeyError):
        genres["Action", "Refn"]
    with pytest.raises(nl.QueryError, match="2 rows of genres have 'Action' in their first column"):
        genres["Action"]


def test_a_look_up_where_a_condition_compares(db):
    """A value of another type is in no row, whatever the view compares its column with."""
    late = db.view("late", lambda M: [(m.name, m.gen) for m in M if m.name > "E"])

    assert late["Rush"] == ("Rush", "Action")
    with pytest.raises(KeyError):
        late[5]


def test_rows_that_are_no_records(db):
    names = db.view("names", lambda M: [m.name for m in M])
    bags = db.view("bags", lambda M: [[n.name for n in M if n.gen == m.gen] for m in M])

    assert names["Rush"] == "Rush"
    assert sorted(bags) == [["Drive"], ["Rush", "Skyfall"], ["Rush", "Skyfall"]]


def test_negative_counts_read_as_a_bag(db):
    """What a view takes away may be more than it has."""
    from nestling.calculus.build import negate
    from nestling.calculus.terms import Relation
    from nestling.calculus.types import Bag

    less = db.view("less", negate(Relation("M", Bag(db.table("M").record))))

    assert less.bag().negative() == ZBag.of(*MOVIES)
    with pytest.raises(nl.NestlingError, match="less holds negative counts"):
        less.rows()


# changes


def test_a_subscriber_hears_every_change(db, related):
    heard: list[Change] = []
    subscription = related.subscribe(heard.append)
    db.insert("M", [("Jarhead", "Drama", "Mendes")])
    db.update("M", key="Jarhead", set={"dir": "Howard"})
    db.insert("M", [("Up", "Family", "Docter")])
    db.delete("M", key="Up")
    subscription.cancel()
    db.delete("M", key="Jarhead")

    first, second, third, fourth = heard
    assert [kind for kind, _ in first] == ["insert", "change", "change"]
    assert first.inserted == [("Jarhead", ["Drive", "Skyfall"])]
    assert {inner.key: (inner.inserted, inner.deleted) for inner in first.inner} == {
        ("Drive",): (["Jarhead"], []),
        ("Skyfall",): (["Jarhead"], []),
    }
    # Another director: another label, so the row is told whole.
    assert (second.deleted, second.inserted) == (
        [("Jarhead", ["Drive", "Skyfall"])],
        [("Jarhead", ["Drive", "Rush"])],
    )
    assert {inner.key: (inner.inserted, inner.deleted) for inner in second.inner} == {
        ("Skyfall",): ([], ["Jarhead"]),
        ("Rush",): (["Jarhead"], []),
    }
    assert (third.inserted, third.inner) == ([("Up", [])], ())
    assert (fourth.deleted, fourth.inner) == ([("Up", [])], ())


def test_a_change_that_does_not_reach_a_view_is_not_heard(db, related):
    heard: list[Change] = []
    related.subscribe(heard.append)
    db.table("other", {"a": int})
    db.insert("other", [(1,)])
    with db.transaction() as t:
        t.insert("M", [("Up", "Family", "Docter")])
        t.delete("M", key="Up")
    with pytest.raises(nl.ChangeError):
        db.insert("M", [("Up", "Family", "Docter"), ("Up", "Family", "Docter")])

    assert heard == []


def test_changes_are_pulled_by_version(db, related):
    """The first call starts the keeping."""
    assert related.changes() == []
    start = db.version
    db.insert("M", [("Jarhead", "Drama", "Mendes")])
    middle = db.version
    db.delete("M", key="Jarhead")

    assert [change.version for change in related.changes()] == [start + 1, start + 2]
    assert [change.deleted for change in related.changes(since=middle)] == [
        [("Jarhead", ["Drive", "Skyfall"])]
    ]
    assert related.changes(since=db.version) == []


def test_a_patch_of_a_change(db, related):
    patches = []
    related.subscribe(lambda change: patches.append(change.to_json_patch()), history=10)
    db.insert("M", [("Jarhead", "Drama", "Mendes")])

    assert json.loads(json.dumps(patches)) == [
        [
            {"op": "add", "path": "/0/_1/0", "value": "Jarhead"},
            {"op": "add", "path": "/2/_1/0", "value": "Jarhead"},
            {"op": "add", "path": "/1", "value": {"name": "Jarhead", "_1": ["Drive", "Skyfall"]}},
        ]
    ]
    db.delete("M", key="Jarhead")
    assert related.changes()[0].to_json_patch() == patches[0]


# the state of it all


def test_explain_says_how_a_view_is_kept(related):
    text = related.explain()
    for part in ("related", "degree", "M"):
        assert part in text
    assert related.explain(format="html").lstrip().startswith("<!")
    assert json.loads(related.explain(format="json"))
    assert "def on_M" in related.explain(code=True)


@pytest.mark.in_python
def test_verify_finds_a_difference(db, related):
    related.verify()
    db.verify()
    engine = db._state.engine
    engine.put("M", ("Up", "Drama", "Docter"), 1)
    related.verify()  # the table changed with it
    genres = db.view("n", lambda M: [(g, len([m for m in M if m.gen == g])) for g in {m.gen for m in M}])
    db._state.engine.put("M", ("Jaws", "Drama", "Spielberg"), 1)

    with pytest.raises(nl.NestlingError, match="n is not what its query says") as caught:
        genres.verify()
    assert "please report it" in str(caught.value)


def test_a_sum_of_floats_is_that_of_the_rows_that_are_left():
    """It is exact, and rounded when it is read: what came before it was deleted leaves no trace."""
    db = nl.Database()
    db.table("t", {"a": int, "x": float})
    view = db.view("v", lambda t: [(a, sum(y.x for y in t if y.a == a)) for a in {y.a for y in t}])
    db.insert("t", [(1, 0.1), (1, 0.2), (1, 0.3)])
    db.delete("t", [(1, 0.1)])

    assert view.bag() == db._state.evaluate("v")
    assert view.rows() == [(1, 0.5)]
    view.verify()


def test_a_float_group_that_is_empty_is_gone():
    """What rounding leaves goes with the last row."""
    db = nl.Database()
    db.table("t", {"a": int, "x": float})
    view = db.view("v", lambda t: [(a, sum(y.x for y in t if y.a == a)) for a in {y.a for y in t}])
    rows = [(1, 0.1), (1, 0.2), (1, 0.3)]
    db.insert("t", rows)
    db.delete("t", rows)

    assert view.rows() == []
    db.insert("t", [(1, 0.5)])
    assert view.rows() == [(1, 0.5)]


def test_stats(db, related):
    stats = db.stats()

    assert set(stats) == {"related", "genres"}
    assert stats["related"]["rows"] == 3
    assert {"rows", "bytes", "statements"} <= set(stats["related"])


def test_a_closed_database_and_a_context(tmp_path):
    with nl.Database() as db:
        db.table("t", {"a": int})
    with nl.Database(tmp_path / "x.nest") as db:
        db.table("t", {"a": int})
        db.insert("t", [(1,)])
    with nl.Database(tmp_path / "x.nest") as db:
        assert db.table("t").rows() == [(1,)]


@pytest.mark.parametrize("module", ["pandas", "pyarrow"])
def test_an_extra_that_is_not_installed_says_so(related, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(nl.NestlingError, match=f"{module} is not installed"):
        (related.to_pandas if module == "pandas" else related.to_arrow)()
