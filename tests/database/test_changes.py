"""Changes: every way to make one, what it returns, and what is refused."""

from collections.abc import Callable
from typing import Any

import pytest

import nestling as nl
from nestling.values.bag import ZBag
from tests.engines.worlds import contents


@pytest.fixture
def db():
    """Movies, and orders with items."""
    db = nl.Database()
    db.table("M", {"name": str, "gen": str, "dir": str}, key="name")
    db.table("orders", "id INT, customer STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>", key="id")
    db.view("dramas", lambda M: [m.name for m in M if m.gen == "Drama"])
    db.view("bought", lambda orders: [(o.id, [i.pid for i in o.items if i.qty > 1]) for o in orders])
    db.view("sold", lambda orders: [sum(i.qty for o in orders for i in o.items)])
    db.insert("M", [("Rush", "Action", "Howard"), ("Drive", "Drama", "Refn")])
    db.insert("orders", [(7, "ann", [(1, 2), (2, 1)]), (8, "bob", [])])
    return db


def everything(db):
    return contents(db._state.engine), db.version


def refused(db, message, change, error=nl.ChangeError):
    """``change`` is refused with ``message``, and nothing at all is changed."""
    before = everything(db)
    with pytest.raises(error, match=message):
        change()
    assert everything(db) == before
    db.verify()


# accepted


def test_insert(db):
    db.insert("M", [{"name": "Jarhead", "gen": "Drama", "dir": "Mendes"}])

    assert sorted(db.views["dramas"]) == ["Drive", "Jarhead"]


def test_delete_by_rows_by_condition_and_by_key(db):
    db.insert("M", [("Jarhead", "Drama", "Mendes"), ("Skyfall", "Action", "Mendes")])

    db.delete("M", [("Drive", "Drama", "Refn"), {"name": "Skyfall", "gen": "Action", "dir": "Mendes"}])
    assert sorted(m.name for m in db.table("M")) == ["Jarhead", "Rush"]
    db.delete("M", where=lambda m: m.gen == "Drama")
    assert [m.name for m in db.table("M")] == ["Rush"]
    db.delete("M", key="Rush")
    assert db.table("M").rows() == []
    assert db.views["dramas"].rows() == []


def test_a_condition_sees_inner_bags(db):
    db.delete("orders", where=lambda o: any(i.qty == 2 for i in o.items))

    assert db.table("orders").rows() == [(8, "bob", [])]


def test_update(db):
    db.update("M", key="Rush", set={"gen": "Drama"})

    assert sorted(db.views["dramas"]) == ["Drive", "Rush"]
    assert db.views["dramas"]["Rush"] == "Rush"


def test_an_update_may_move_a_row_and_keeps_what_it_does_not_name(db):
    db.update("orders", key=7, set={"id": 9})

    assert sorted(db.table("orders")) == [(8, "bob", []), (9, "ann", [(1, 2), (2, 1)])]
    assert sorted(db.views["bought"]) == [(8, []), (9, [1])]


def test_an_update_of_a_bag_replaces_it(db):
    db.update("orders", key=7, set={"items": [(5, 5)]})

    assert db.views["bought"][7] == (7, [5])
    assert db.views["sold"].rows() == [5]


def test_a_row_under_an_old_key_starts_anew(db):
    """Nothing of the inner bags of a row that is gone comes back with its key."""
    db.delete("orders", key=7)
    db.insert("orders", [(7, "cid", [])])

    assert db.views["bought"][7] == (7, [])


def test_deep_updates_carry_the_elements_alone(db):
    items = db.table("orders").at(7).items
    came = items.insert([{"pid": 3, "qty": 5}, (3, 5)])
    assert db.views["bought"][7] == (7, [1, 3, 3])
    went = items.delete([(1, 2), {"pid": 3, "qty": 5}])

    assert db.views["bought"][7] == (7, [3])
    assert db.views["sold"].rows() == [6]
    assert (came.events, came.tables) == (1, {"orders.items": 1})
    assert (went.events, went.tables) == (2, {"orders.items": 2})


def test_the_last_of_equal_elements_takes_its_bags_along():
    db = nl.Database()
    t = db.table("t", "id INT, rows ARRAY<STRUCT<a: INT, items: ARRAY<INT>>>", key="id")
    db.insert("t", [(1, [(2, [5]), (2, [5])])])

    t.at(1).rows.delete([(2, [5])])
    assert t.rows() == [(1, [(2, [5])])]
    t.at(1).rows.delete([(2, [5])])
    assert t.rows() == [(1, [])]
    assert not db._state.engine.table("t.rows.items")


def test_a_bag_inside_a_record_has_an_address():
    db = nl.Database()
    t = db.table("t", {"id": int, "made": {"by": list[str]}}, key="id")
    db.insert("t", [(1, (["a"],))])

    t.at(1).made.by.insert(["b"])
    t.at(1)["made"]["by"].delete(["a"])

    assert t.rows() == [(1, (["b"],))]


def test_a_transaction_is_one_refresh(db):
    heard: list[Any] = []
    db.views["dramas"].subscribe(heard.append)
    before = db.version
    with db.transaction() as t:
        t.insert("M", [("Jarhead", "Drama", "Mendes")])
        t.delete("M", key="Jarhead")
        t.update("M", key="Rush", set={"gen": "Drama"})
        t.insert_into("orders", 8, ("items",), [(4, 4)])
        assert sorted(db.views["dramas"]) == ["Drive", "Rush"]
        assert not heard

    assert db.version == before + 1
    (change,) = heard
    assert (change.inserted, change.deleted, change.version) == (["Rush"], [], db.version)
    assert db.views["bought"][8] == (8, [4])


def test_an_exception_undoes_a_transaction(db):
    before = everything(db)
    with pytest.raises(RuntimeError, match="thought better"), db.transaction() as t:
        t.delete("M", where=lambda m: True)
        t.insert("orders", [(9, "cid", [(1, 1)])])
        raise RuntimeError("thought better")

    assert everything(db) == before


def test_a_refusal_inside_a_transaction_can_be_handled(db):
    """What is refused has done nothing, not even its first rows; the rest is committed."""
    with db.transaction() as t:
        t.insert("M", [("Jarhead", "Drama", "Mendes")])
        with pytest.raises(nl.ChangeError, match="already has a row"):
            t.insert("M", [("Skyfall", "Action", "Mendes"), ("Rush", "Drama", "Howard")])
        t.delete("M", key="Drive")

    assert sorted(m.name for m in db.table("M")) == ["Jarhead", "Rush"]
    db.verify()


def test_apply_a_z_bag_per_table(db):
    db.apply(
        {
            "M": {("Rush", "Action", "Howard"): -1, ("Rush", "Drama", "Howard"): +1},
            "orders": ZBag([((8, "bob", ZBag()), -1)]),
        }
    )

    assert sorted(db.views["dramas"]) == ["Drive", "Rush"]
    assert [o.id for o in db.table("orders")] == [7]


def test_apply_a_change_feed(db):
    def movie(kind, *values):
        return dict(zip(("name", "gen", "dir"), values, strict=True)) | {
            "_change_type": kind,
            "_commit_version": 3,
        }

    db.apply(
        {
            "M": [
                movie("insert", "Jarhead", "Drama", "Mendes"),
                movie("update_preimage", "Rush", "Action", "Howard"),
                movie("update_postimage", "Rush", "Drama", "Howard"),
                movie("delete", "Drive", "Drama", "Refn"),
            ]
        }
    )

    assert sorted(db.views["dramas"]) == ["Jarhead", "Rush"]


def test_apply_what_can_be_read_as_rows(db):
    """An Arrow table and a DataFrame say their rows; neither library is needed here."""
    row = {"name": "Jarhead", "gen": "Drama", "dir": "Mendes", "_change_type": "insert"}

    class Arrow:
        def to_pylist(self):
            return [row]

    class Frame:
        columns = tuple(row)

        def to_dict(self, orient):
            assert orient == "records"
            return [row | {"_change_type": "delete"}]

    db.apply({"M": Arrow()})
    assert sorted(db.views["dramas"]) == ["Drive", "Jarhead"]
    db.apply({"M": Frame()})
    assert sorted(db.views["dramas"]) == ["Drive"]


def test_sync_finds_the_difference(db):
    refresh = db.sync(
        "M", [("Drive", "Drama", "Refn"), ("Rush", "Drama", "Howard"), ("Up", "Drama", "Docter")]
    )

    assert sorted(db.views["dramas"]) == ["Drive", "Rush", "Up"]
    assert refresh.tables == {"M": 3}
    assert db.sync("M", db.table("M").rows()).events == 0


def test_every_change_returns_what_it_did(db):
    db.views["dramas"].subscribe(lambda change: None)
    refresh = db.insert("M", [("Jarhead", "Drama", "Mendes"), ("Up", "Drama", "Docter")])

    assert (refresh.version, refresh.events, refresh.tables) == (db.version, 2, {"M": 2})
    assert refresh.seconds > 0
    assert refresh.statements >= 0
    assert refresh.changes["dramas"].inserted == ["Jarhead", "Up"]
    assert db.delete("M", key="Up").changes["dramas"].deleted == ["Up"]
    assert not db.insert("orders", []).changes


# refused


def test_an_unknown_table(db):
    refused(db, "there is no table 'N'", lambda: db.insert("N", [(1,)]))
    refused(db, "there is no table 'N'", lambda: db.sync("N", []), nl.NestlingError)


def test_an_unknown_column(db):
    refused(db, "there is no column 'genre'\nhint: did you mean 'gen'", lambda: db.insert("M", [
        ("Up", "Drama", "Docter"), {"name": "Jarhead", "genre": "Drama", "dir": "Mendes"},
    ]))  # fmt: skip
    refused(db, "M has no column 'genre'", lambda: db.update("M", key="Rush", set={"genre": "Drama"}))


def test_a_wrong_type(db):
    refused(db, "'name' takes str, not 5", lambda: db.insert("M", [("Up", "a", "b"), (5, "Drama", "Mendes")]))
    refused(db, "'items.qty' takes int", lambda: db.insert("orders", [(9, "cid", [(1, "two")])]))
    refused(db, "'gen' is never None", lambda: db.update("M", key="Rush", set={"gen": None}))
    refused(db, "'qty' takes int", lambda: db.table("orders").at(7).items.insert([(1, 1), (1, 0.5)]))


def test_deleting_what_is_not_there(db):
    refused(
        db,
        "M has no row",
        lambda: db.delete("M", [("Rush", "Action", "Howard"), ("Rush", "Action", "Howard")]),
    )
    refused(db, "M has no row", lambda: db.delete("M", [("Rush", "Drama", "Howard")]))
    refused(db, "M has no row with key 'Up'", lambda: db.delete("M", key="Up"))
    refused(db, "M has no row with key", lambda: db.delete("M", key=["Rush"]))
    refused(db, "M has no row with key 'Up'", lambda: db.update("M", key="Up", set={"gen": "Drama"}))
    refused(db, "orders has no row with key 9", lambda: db.table("orders").at(9).items.insert([(1, 1)]))
    refused(
        db, "is not in orders.items of 7", lambda: db.table("orders").at(7).items.delete([(1, 2), (1, 2)])
    )
    refused(db, "M has no row", lambda: db.apply({"orders": {}, "M": {("Up", "a", "b"): -1}}))


def test_a_row_that_is_there_fewer_times():
    db = nl.Database()
    db.table("S", {"a": int})
    db.insert("S", [(1,), (1,)])

    refused(db, r"S has no row Row\(a=1\)", lambda: db.apply({"S": {(1,): -3}}))
    db.apply({"S": {(1,): -2}})
    assert db.table("S").rows() == []


def test_a_duplicate_key(db):
    refused(
        db,
        "M already has a row with key 'Rush'",
        lambda: db.insert("M", [("Up", "a", "b"), ("Rush", "a", "b")]),
    )
    refused(
        db, "M already has a row with key 'Up'", lambda: db.insert("M", [("Up", "a", "b"), ("Up", "a", "b")])
    )
    refused(db, "M already has a row with key 'Up'", lambda: db.apply({"M": {("Up", "a", "b"): 2}}))
    refused(db, "orders already has a row with key 8", lambda: db.update("orders", key=7, set={"id": 8}))


def test_a_key_where_there_is_none():
    db = nl.Database()
    db.table("S", {"a": int, "b": list[int]})

    refused(db, "S has no key", lambda: db.delete("S", key=1))
    refused(db, "S has no key", lambda: db.table("S").at(1).b.insert([1]))


def test_no_such_inner_bag(db):
    refused(db, "orders has no inner bag 'item'", lambda: db.table("orders").at(7).item.insert([(1, 1)]))
    refused(db, "M has no inner bag 'name'", lambda: db.table("M").at("Rush").name.insert(["x"]))


@pytest.mark.parametrize("ddl", ["items: ARRAY<INT>", "made: STRUCT<items: ARRAY<INT>>"])
def test_a_bag_inside_an_element(ddl):
    db = nl.Database()
    t = db.table("t", f"id INT, rows ARRAY<STRUCT<a: INT, {ddl}>>", key="id")
    view = db.view("v", lambda t: [(r.a, len([1 for x in t for s in x.rows])) for x in t for r in x.rows])
    made: Callable[[list[int]], Any] = (lambda bag: (bag,)) if "made" in ddl else (lambda bag: bag)
    db.insert("t", [(1, [(5, made([1])), (6, made([]))])])
    rows, found = t.at(1).rows, t.at(1).rows.at({"a": 5})
    inner, path = (found.made.items, rows.made.items) if "made" in ddl else (found["items"], rows["items"])

    refused(
        db, r"lies inside the elements of rows\nhint: say in which: \.rows\.at\(", lambda: path.insert([1])
    )
    refused(db, "no elements of t.rows have a = 7", lambda: rows.at({"a": 7}).items.insert([1]))
    refused(db, "2 elements of t.rows have any columns", lambda: rows.at({}).update({"a": 2}))
    refused(db, "t.rows has no column 'b'", lambda: rows.at({"b": 7}).update({"a": 2}))
    refused(db, "an element is found by its columns, not by 5", lambda: rows.at(5))  # type: ignore[arg-type]
    refused(db, "t is updated at an element", lambda: rows.update({"a": 2}))
    refused(db, "have no columns", lambda: inner.at({"a": 1}).update({"a": 2}))
    refused(db, "is an inner bag", lambda: rows.at({"a": 5}).update({ddl.split(":")[0]: []}))

    assert inner.insert([2, 3]).events == 2
    inner.delete([1])
    assert rows.at({"a": 5}).update({"a": 8}).events == 2
    assert rows.at({"a": 8}).update({"a": 8}).events == 0
    bags = {row.a: sorted(row.made.items if "made" in ddl else row.items) for row in t.rows()[0].rows}
    assert bags == {8: [2, 3], 6: []}
    assert sorted(view) == [(6, 2), (8, 2)]
    t.at(1).update({"id": 2})
    assert t.rows()[0].id == 2
    db.verify()


def test_an_element_among_equal_ones_is_not_meant():
    """Equal elements share what is inside them: a change of one would be a change of both."""
    db = nl.Database()
    t = db.table("t", "id INT, rows ARRAY<STRUCT<a: INT, items: ARRAY<INT>>>", key="id")
    db.insert("t", [(1, [(5, [1]), (5, [1])])])

    refused(db, "2 elements of t.rows have a = 5", lambda: t.at(1).rows.at({"a": 5})["items"].insert([2]))
    t.at(1).rows.delete([(5, [1])])
    t.at(1).rows.at({"a": 5})["items"].insert([2])
    assert t.rows() == [(1, [(5, [1, 2])])]


def test_what_changes_deep_inside_is_told_as_one_element():
    db = nl.Database()
    t = db.table("t", "id INT, rows ARRAY<STRUCT<a: INT, items: ARRAY<INT>>>", key="id")
    db.insert("t", [(1, [(5, [1]), (6, [])])])
    heard: list[Any] = []
    db.view("v", lambda t: [(x.id, x.rows) for x in t]).subscribe(heard.append)
    t.at(1).rows.at({"a": 5})["items"].insert([2])

    (change,) = heard
    assert change.inserted == change.deleted == []
    (inner,) = change.inner
    assert (inner.path, inner.inserted, inner.deleted) == (("rows", "items"), [2], [])


def test_a_change_feed_that_does_not_say_what_changed(db):
    row = {"name": "Up", "gen": "a", "dir": "b"}
    refused(db, "has a column _change_type", lambda: db.apply({"M": [row]}))
    refused(
        db, "_change_type 'upsert' is unknown", lambda: db.apply({"M": [row | {"_change_type": "upsert"}]})
    )


def test_a_transaction_inside_another(db):
    with db.transaction() as t:
        with pytest.raises(nl.ChangeError, match="a transaction is already open"):
            db.insert("M", [("Up", "a", "b")])
        with pytest.raises(nl.QueryError, match="inside a transaction"):
            db.table("N", {"a": int})
        t.insert("M", [("Up", "Drama", "b")])

    assert sorted(db.views["dramas"]) == ["Drive", "Up"]


# views that cannot follow


@pytest.fixture
def ratios():
    """A view that keeps a quotient: it is not defined for every row."""
    db = nl.Database()
    db.table("t", {"id": int, "d": int, "items": list[int]}, key="id")
    db.view("least", lambda t: [min([12 // x.d for x in t], default=0)])
    db.view("sums", lambda t: [(x.id, sum(x.items)) for x in t])
    db.insert("t", [(1, 3, [1]), (2, 4, [])])
    return db


def test_a_row_that_a_view_cannot_follow(ratios):
    message = r"least could not be computed: 12 // x\.d has no value"
    refused(ratios, message, lambda: ratios.insert("t", [(3, 6, [5]), (4, 0, [7])]))
    refused(ratios, message, lambda: ratios.update("t", key=1, set={"d": 0}))
    ratios.insert("t", [(4, 6, [7])])
    assert ratios.views["least"].rows() == [2]


def test_only_the_end_of_a_transaction_is_asked_for_a_value(ratios):
    """A row that a view cannot follow may come and go; what is read meanwhile says that there is no value."""
    heard: list[Any] = []
    ratios.views["sums"].subscribe(heard.append)
    with ratios.transaction() as t:
        t.insert("t", [(3, 6, [5]), (5, 0, [8])])
        with pytest.raises(nl.NestlingError, match=r"least cannot be computed: 12 // x\.d has no value"):
            ratios.views["least"].rows()
        t.insert_into("t", 1, ("items",), [9])
        t.delete("t", key=5)
        assert ratios.views["least"].rows() == [2]

    ratios.verify()
    assert [change.inserted for change in heard] == [[(1, 10), (3, 5)]]


def test_a_number_that_is_too_large_for_a_float(ratios):
    """It is foreseen as a division by zero is: the view has no value then."""
    message = r"large could not be computed: x\.d \* 0\.5 has no value"
    ratios.view("large", lambda t: [max([x.d * 0.5 for x in t], default=0.0)])
    heard: list[Any] = []
    ratios.views["sums"].subscribe(heard.append)
    refused(
        ratios,
        r"large could not be computed: x\.d \* 0\.5 has no value",
        lambda: ratios.insert("t", [(3, 6, [5]), (4, 10**400, [7])]),
    )

    def several() -> None:
        with ratios.transaction() as t:
            t.insert("t", [(3, 6, [5])])
            t.insert("t", [(4, 6, [7]), (5, 10**400, [8])])

    refused(ratios, message, several)
    ratios.insert("t", [(3, 6, [5])])
    assert [change.inserted for change in heard] == [[(3, 5)]]


def test_a_guarded_quotient_is_not_asked_for(ratios):
    """What a condition excludes is not computed, in whatever order its parts are written."""
    views = [
        ratios.view("and", lambda t: [max([12 // x.d for x in t if x.d != 0 and 12 // x.d > 2], default=0)]),
        ratios.view("or", lambda t: [len([1 for x in t if x.d == 0 or 12 // x.d == 4])]),
        ratios.view(
            "two", lambda t: [len([1 for x in t for y in t if y.d != 0 if 12 // y.d == x.d])], strict=False
        ),
        ratios.view(
            "across", lambda t: [len([1 for x in t for y in t if x.d != y.id and 12 // (x.d - y.id) > 1])]
        ),
        ratios.view("average", lambda t: [max([sum(x.items) / len(x.items) for x in t if len(x.items) > 0])]),
    ]
    ratios.drop("least")
    ratios.insert("t", [(5, 0, [2, 4]), (6, 0, [])])
    ratios.delete("t", key=1)

    for view in views:
        view.verify()
    assert views[-1].rows() == [3.0]


def test_an_average_of_an_inner_bag_follows_whole_rows():
    """A row comes with its inner bags filled: there is no moment at which they are empty."""
    db = nl.Database()
    db.table("t", {"id": int, "items": list[int]}, key="id")
    mean = db.view("mean", lambda t: [(x.id, sum(x.items) / len(x.items)) for x in t])
    best = db.view("best", lambda t: [max([sum(x.items) / len(x.items) for x in t], default=0.0)])
    heard: list[Any] = []
    mean.subscribe(heard.append)
    db.insert("t", [(1, [3, 4]), (2, [9])])
    db.delete("t", key=2)

    assert mean.rows() == [(1, 3.5)]
    assert best.rows() == [3.5]
    refused(db, "(mean|best) could not be computed", lambda: db.insert("t", [(3, [])]))


@pytest.mark.parametrize("store", ["auto", "full", "counts", "none"])
def test_a_quotient_that_is_computed_when_it_is_read(store):
    """Where the division is made does not matter: in a trigger, when the view is read, or by the reference."""
    db = nl.Database()
    db.table("t", {"id": int, "d": int}, key="id")
    view = db.view("v", lambda t: [(x.id, 1 / x.d) for x in t], store=store)
    db.insert("t", [(1, 2)])
    refused(db, "v could not be computed: 1 / x.d has no value", lambda: db.insert("t", [(2, 0)]))
    assert view.rows() == [(1, 0.5)]


def test_a_lazy_view_that_has_no_answer_says_so():
    db = nl.Database()
    db.table("t", {"id": int, "d": int}, key="id")
    view = db.view("v", lambda t: [(x.id, 1 / x.d) for x in t], refresh="lazy")
    heard: list[Any] = []
    view.subscribe(heard.append)
    db.insert("t", [(1, 2)])
    db.insert("t", [(2, 0)])

    for read in (view.rows, lambda: view[1], view.verify):
        with pytest.raises(nl.NestlingError, match="v cannot be computed"):
            read()
    assert db.stats()["v"]["rows"] is None
    db.delete("t", key=2)
    db.insert("t", [(3, 4)])
    assert view.rows() == [(1, 0.5), (3, 0.25)]
    assert [change.inserted for change in heard] == [[(1, 0.5)], [(3, 0.25)]]


def test_a_view_over_rows_it_cannot_follow():
    """A definition is refused as a change is: nothing is changed, and the name is free."""
    db = nl.Database()
    db.table("t", {"id": int, "d": int}, key="id")
    db.view("ids", lambda t: [x.id for x in t])
    db.insert("t", [(1, 2), (2, 0), (3, 4)])

    refused(
        db, "least cannot be computed from the rows in its tables",
        lambda: db.view("least", lambda t: [min([12 // x.d for x in t], default=0)]), nl.QueryError,
    )  # fmt: skip
    assert list(db.views) == ["ids"]
    assert len(db.table("t")) == 3
    db.delete("t", key=2)
    assert db.view("least", lambda t: [min([12 // x.d for x in t], default=0)]).rows() == [3]


# constraints


def test_a_constraint_stays_empty(db):
    db.constraint("modest", lambda orders: [(o.id, i.pid) for o in orders for i in o.items if i.qty > 5])

    refused(
        db, r"constraint modest would be broken by Row\(id=9, pid=1\), Row\(id=9, pid=2\)",
        lambda: db.insert("orders", [(9, "cid", [(1, 6), (2, 7), (3, 1)])]), nl.ConstraintError,
    )  # fmt: skip
    refused(db, "modest", lambda: db.table("orders").at(7).items.insert([(1, 9)]), nl.ConstraintError)
    assert "modest" not in db.views


def test_a_constraint_names_its_rows(db):
    db.constraint(
        "one director",
        lambda M: [(a.name, b.name) for a in M for b in M if a.name < b.name and a.dir == b.dir],
    )

    with pytest.raises(nl.ConstraintError) as caught:
        db.insert("M", [("Up", "Drama", "Refn")])

    assert caught.value.constraint == "one director"
    assert caught.value.rows == (("Drive", "Up"),)
    assert "nothing was changed" in str(caught.value)


def test_a_constraint_looks_at_the_end_of_a_transaction(db):
    db.constraint("modest", lambda orders: [o.id for o in orders if sum(i.qty for i in o.items) > 3])
    with db.transaction() as t:
        t.insert_into("orders", 7, ("items",), [(5, 1)])
        t.delete_from("orders", 7, ("items",), [(1, 2)])

    assert db.views["sold"].rows() == [2]


def test_a_constraint_that_is_broken_already(db):
    refused(
        db, "constraint modest would be broken by 7",
        lambda: db.constraint("modest", lambda orders: [o.id for o in orders if o.items]), nl.ConstraintError,
    )  # fmt: skip
    db.table("orders").at(7).items.insert([(1, 1)])


def test_a_constraint_can_be_dropped(db):
    db.constraint("modest", lambda orders: [o.id for o in orders if o.id > 10])
    db.drop("modest")
    db.insert("orders", [(11, "cid", [])])

    assert len(db.table("orders")) == 3


def test_a_constraint_that_cannot_be_computed(db):
    db.constraint("even", lambda orders: [o.id for o in orders if 12 % (o.id - 7 + 1) != 0 and o.id > 100])

    refused(
        db, "constraint even could not be computed: 12 % .* has no value",
        lambda: db.insert("orders", [(6, "cid", [])]),
    )  # fmt: skip


DELTA = ("insert", "update_preimage", "update_postimage", "delete", "_commit_version", "_commit_timestamp")
ICEBERG = ("INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE", "_change_ordinal", "_commit_snapshot_id")


@pytest.mark.parametrize("words", [DELTA, ICEBERG], ids=["delta", "iceberg"])
def test_a_feed_of_several_commits_is_what_they_change_together(words):
    """in whatever order its rows come, as both formats call the columns"""
    comes, before, after, goes, number, other = words
    feed = [
        {"id": id, "n": n, "_change_type": kind, number: commit, other: 0}
        for id, n, kind, commit in [
            (1, 1, before, 5), (1, 2, after, 5), (1, 2, before, 6), (1, 3, after, 6), (2, 1, comes, 5), (2, 1, goes, 6),
            (3, 1, goes, 5), (3, 4, comes, 7),
        ]
    ]  # fmt: skip
    for order in (feed, feed[::-1], feed[::2] + feed[1::2]):
        db = nl.Database()
        db.table("T", {"id": int, "n": int}, key="id")
        db.view("numbers", "[t.n for t in T]", language="python")
        db.insert("T", [(1, 1), (3, 1)])
        db.apply({"T": order})
        assert sorted(map(tuple, db.table("T"))) == [(1, 3), (3, 4)]
        db.verify()


def test_a_feed_of_a_table_with_a_column_of_a_feed_is_refused():
    """its values would be taken for the feed's, and be NULL"""
    db = nl.Database()
    db.table("T", {"id": int, "_commit_version": int | None})
    db.insert("T", [(1, 5)])
    with pytest.raises(nl.ChangeError, match="a column _commit_version of its own, and so has a change feed"):
        db.apply({"T": [{"id": 2, "_commit_version": 6, "_change_type": "insert"}]})
    db.apply({"T": {(2, 6): 1}})
    assert sorted(map(tuple, db.table("T"))) == [(1, 5), (2, 6)]
