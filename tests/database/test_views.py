"""Views: every way to define one, what a comprehension may contain, and what is refused."""

import pytest

import nestling as nl
from nestling.calculus.parse import parse
from nestling.calculus.types import Bag


def is_related(m, m2):
    return m.name != m2.name and (m.gen == m2.gen or m.dir == m2.dir)


MOVIES = [("Drive", "Drama", "Refn"), ("Skyfall", "Action", "Mendes"), ("Rush", "Action", "Howard")]
RELATED = [("Drive", ["Jarhead"]), ("Jarhead", ["Drive", "Skyfall"]), ("Rush", ["Skyfall"])]


@pytest.fixture
def db():
    db = nl.Database()
    db.table("M", {"name": str, "gen": str, "dir": str}, key="name")
    db.table("orders", "id INT, customer STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>", key="id")
    db.insert("M", MOVIES)
    db.insert("orders", [(7, "ann", [(1, 2), (2, 1)]), (8, "bob", []), (9, "ann", [(1, 1)])])
    return db


# definitions


def test_a_function_a_lambda_and_a_text_are_the_same(db):
    @db.view
    def related(M):
        return [(m.name, [m2.name for m2 in M if is_related(m, m2)]) for m in M]

    db.view("related2", lambda M: [(m.name, [m2.name for m2 in M if is_related(m, m2)]) for m in M])
    db.view(
        "related3",
        "[(m.name, [m2.name for m2 in M if m.name != m2.name and (m.gen == m2.gen or m.dir == m2.dir)]) for m in M]",
        language="python",
    )
    db.view("related4", related_in_words(db))
    db.insert("M", [("Jarhead", "Drama", "Mendes")])

    assert list(db.views) == ["related", "related2", "related3", "related4"]
    for view in db.views.values():
        assert sorted(view)[:3] == RELATED
        view.verify()


def related_in_words(db):
    """A term of the calculus itself."""
    return parse(
        """for m in M union ⟨name: sng(m.name) × _1: sng_1(for n in M
           where m.name != n.name and (m.gen == n.gen or m.dir == n.dir) union sng(n.name))⟩""",
        {"M": Bag(db.table("M").record)},
    )


def test_a_view_with_options_is_a_decorator_too(db):
    @db.view(refresh="lazy", store="full")
    def names(M):
        return [m.name for m in M]

    assert sorted(names) == ["Drive", "Rush", "Skyfall"]
    assert (db._state.definitions["names"].refresh, db._state.definitions["names"].store) == ("lazy", "full")


def test_a_view_starts_with_the_rows_that_are_there(db):
    view = db.view("v", lambda M: [m.name for m in M if m.gen == "Action"])
    assert sorted(view) == ["Rush", "Skyfall"]


def test_a_view_over_views(db):
    db.view("spent", lambda orders: [{"who": o.customer, "q": sum(i.qty for i in o.items)} for o in orders])
    by_who = db.view(
        "by_who", lambda spent: [(w, [s.q for s in spent if s.who == w]) for w in {s.who for s in spent}]
    )
    many = db.view(
        "many", lambda by_who, spent: [b.w for b in by_who if len(b[1]) > 1 for s in spent if s.q > 2]
    )

    assert sorted(by_who) == [("ann", [1, 3]), ("bob", [0])]
    assert sorted(many) == ["ann"]
    db.table("orders").at(9).items.insert([(3, 3)])
    assert sorted(by_who) == [("ann", [3, 4]), ("bob", [0])]
    assert sorted(many) == ["ann", "ann"]
    db.drop("spent")
    db.verify()


def test_helpers_are_inlined(db):
    def cost(item):
        return item.qty * rate

    rate = 3
    view = db.view("v", lambda orders: [(o.id, sum(cost(i) for i in o.items)) for o in orders])

    assert sorted(view) == [(7, 9), (8, 0), (9, 3)]


def test_many_views_live_together(db):
    """There is no bound on how many there are."""
    for i in range(40):
        db.view(
            f"v{i}",
            f"[(o.id, sum(x.qty for x in o.items if x.qty > {i}), len([p for p in orders if p.customer == o.customer"
            f" and p.id > {i}])) for o in orders]",
            language="python",
        )
    db.insert("orders", [(50, "ann", [(1, 45)])])

    assert len(db.views) == 40
    assert db.views["v39"][50] == (50, 45, 1)
    assert len(db._state.engine.program.maps) > 70


# what a comprehension may contain


@pytest.mark.parametrize(
    ("view", "rows"),
    [
        (lambda orders: [(o.id, [(i.pid, [j.qty for j in o.items]) for i in o.items]) for o in orders if o.id == 9],
         [(9, [(1, [1])])]),
        (lambda orders: [(o.id, len(o.items), sum(i.qty for i in o.items)) for o in orders if o.id < 9],
         [(7, 2, 3), (8, 0, 0)]),
        (lambda orders: [(o.id, min(i.qty for i in o.items), max(i.qty for i in o.items)) for o in orders if o.items],
         [(7, 1, 2), (9, 1, 1)]),
        (lambda orders: [o.id for o in orders if any(i.qty > 1 for i in o.items)], [7]),
        (lambda orders: [o.id for o in orders if all(i.qty > 0 for i in o.items)], [7, 8, 9]),
        (lambda orders: [o.id for o in orders if 2 in [i.pid for i in o.items]], [7]),
        (lambda orders: [o.id for o in orders if not o.items], [8]),
        (lambda orders: {o.customer for o in orders}, ["ann", "bob"]),
        (lambda orders: [(c, n) for c, n in {o.customer: 1 for o in orders}.items()], [("ann", 1), ("bob", 1)]),
        (lambda orders: [sum(1 for o in orders if o.items)], [2]),
        (lambda orders: [{"a": o.id, "b": o.customer} for o in orders if o.id == 7], [(7, "ann")]),
        (lambda orders: [dict(a=o.id) for o in orders if 7 < o.id <= 8], [(8,)]),  # noqa: C408
        (lambda orders: [o.id * 2 - 1 for o in orders if o.id % 2 == 0 or o.id // 3 == 3], [15, 17]),
        (lambda orders: [(o.id, "many" if len(o.items) > 1 else "few") for o in orders if o.id != 8],
         [(7, "many"), (9, "few")]),
        (lambda orders: [o.customer.upper() for o in orders if o.customer.startswith("b")], ["BOB"]),
        (lambda orders: [o.id for o in orders] + [i.pid for o in orders for i in o.items], [1, 1, 2, 7, 8, 9]),
    ],
)  # fmt: skip
def test_what_a_comprehension_may_contain(db, view, rows):
    """Each is right for the rows that are there, and follows a change and its undoing."""
    kept = db.view("v", view)
    assert sorted(kept) == rows
    db.insert("orders", [(3, "cid", [(2, 5), (2, 5)])])
    kept.verify()
    db.delete("orders", key=7)
    kept.verify()
    db.insert("orders", [(7, "ann", [(1, 2), (2, 1)])])
    db.delete("orders", key=3)
    assert sorted(kept) == rows
    kept.verify()


def test_nothing_sums_to_zero_and_none_is_a_value():
    """Python's meaning holds in comprehensions."""
    db = nl.Database()
    db.table("t", {"a": int, "m": int | None})
    db.insert("t", [(1, None), (2, None), (3, 4)])
    same = db.view("same", lambda t: [(x.a, y.a) for x in t for y in t if x.m == y.m and x.a < y.a])
    none = db.view("none", lambda t: [sum(x.a for x in t if x.a > 9), len([x for x in t if x.m is None])])

    assert same.rows() == [(1, 2)]
    assert sorted(none) == [0, 2]


# options


def test_strict_refuses_what_is_not_efficient(db):
    with pytest.raises(nl.QueryError, match="v is not efficiently incrementalizable") as caught:
        db.view("v", lambda M: [m.name for m in M if len(M) > 2], strict=True)

    assert "LIFT-X" in str(caught.value)
    assert "v" not in db.views
    db.view("v", lambda M: [m.name for m in M if m.gen == "Drama"], strict=True)


def test_an_option_that_does_not_exist(db):
    with pytest.raises(
        nl.QueryError, match="refresh='often' is unknown\nhint: one of 'eager', 'lazy', 'hybrid'"
    ):
        db.view("v", lambda M: [m.name for m in M], refresh="often")


def test_a_lazy_view_is_refreshed_when_it_is_read(db):
    view = db.view("v", lambda orders: [(o.id, [i.pid for i in o.items]) for o in orders], refresh="lazy")
    assert not db._state.engine.program.views
    assert view[7] == (7, [1, 2])
    with db.transaction() as t:
        t.insert("orders", [(5, "cid", [(4, 4)])])
        assert view[5] == (5, [4])
    with pytest.raises(RuntimeError), db.transaction() as t:
        t.insert("orders", [(6, "cid", [(4, 4)])])
        assert len(view) == 5
        raise RuntimeError

    assert sorted(view) == [(5, [4]), (7, [1, 2]), (8, []), (9, [1])]
    view.verify()


def test_a_lazy_view_first_read_inside_a_transaction(db):
    view = db.view("v", lambda orders: [o.customer for o in orders], refresh="lazy")
    with db.transaction() as t:
        t.insert("orders", [(5, "cid", [])])
        assert len(view) == 4
        db.stats()

    assert len(view) == 4
    view.verify()


def test_a_lazy_view_that_has_no_answer_recovers():
    db = nl.Database()
    db.table("t", {"a": int}, key="a")
    view = db.view("v", lambda t: [max([12 // x.a for x in t], default=0)], refresh="lazy")
    db.insert("t", [(1,), (0,)])
    with pytest.raises(nl.NestlingError, match="v cannot be computed"):
        view.rows()
    db.delete("t", key=0)
    db.insert("t", [(2,)])

    assert view.rows() == [12]
    view.verify()


# refused


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (lambda N: [n.a for n in N], "N"),
        (lambda M: [m.title for m in M], "title"),
        (lambda M: [m.name + 1 for m in M], "number|str"),
        (lambda M: M.name, "M"),
    ],
)
def test_a_view_that_cannot_be_accepted(db, view, message):
    """The error names the place, and nothing is defined."""
    with pytest.raises(nl.QueryError, match=message) as caught:
        db.view("v", view)

    assert caught.value.at is not None
    assert "v" not in db.views
    db.insert("M", [("Up", "Drama", "Docter")])


def test_languages_that_are_not_there(db):
    with pytest.raises(nl.QueryError, match="there is no language 'datalog'"):
        db.view("a", "a(X) :- m(X).", language="datalog")
    with pytest.raises(nl.QueryError, match="a view needs a query"):
        db.view("v")


def test_a_name_is_given_once(db):
    db.view("v", lambda M: [m.name for m in M])
    for name in ("v", "M"):
        with pytest.raises(nl.QueryError, match=f"'{name}' is already defined"):
            db.view(name, lambda M: [m.gen for m in M])
    db.drop("v")
    assert sorted(db.view("v", lambda M: [m.gen for m in M])) == ["Action", "Action", "Drama"]


def test_what_a_view_reads_cannot_be_dropped(db):
    db.view("v", lambda M: [m.name for m in M])

    with pytest.raises(nl.QueryError, match="M is read by v"):
        db.drop("M")


def test_a_constraint_survives_what_is_refused(db):
    """A definition cannot change inside a transaction, and does not."""
    db.constraint("few", lambda M: [m.name for m in M if m.gen == "Horror"])
    with db.transaction(), pytest.raises(nl.QueryError, match="inside a transaction"):
        db.drop("few")

    with pytest.raises(nl.ConstraintError):
        db.insert("M", [("Alien", "Horror", "Scott")])


# how a view is kept


def test_an_equation_between_columns_of_one_row_is_kept():
    """Views as plain as this are maintained, and not evaluated when they are read."""
    db = nl.Database()
    db.table("t", {"a": int, "b": int})
    views = [
        db.view("next", lambda t: [x.a for x in t if x.b == x.a + 1]),
        db.view("sums", lambda t: [x.a for x in t if x.b == sum(y.a for y in t if y.a == x.a)]),
        db.view("most", lambda t: [x.a for x in t if x.b == max(y.b for y in t if y.a == x.a)]),
    ]
    for row in ((1, 2), (1, 1), (2, 4), (2, 2), (2, 2)):
        db.insert("t", [row])
        for view in views:
            view.verify()
    db.delete("t", [(2, 2)])

    assert not db._state.views.on_read
    assert [sorted(view) for view in views] == [[1], [1, 2], [1, 2]]


def test_a_text_that_looks_like_code_is_a_text():
    """Constants are compared as they are written."""
    db = nl.Database()
    db.table("t", {"a": str})
    view = db.view("v", lambda t: [x.a for x in t if x.a == "datetime.date"])
    db.insert("t", [("datetime.date",), ("date",)])

    assert view.rows() == ["datetime.date"]


@pytest.mark.parametrize("refresh", ["eager", "lazy", "hybrid"])
def test_stored_maps_are_verified_where_that_is_asked_for(refresh):
    """An answer can be right while a map that it is not read from is wrong."""
    db = nl.Database()
    db.table("t", {"a": int, "b": int, "c": int})
    db.table("u", {"a": int, "d": int})
    view = db.view(
        "v", lambda t, u: [sum(x.b for x in t for y in u if y.a == x.a)], refresh=refresh, store="full"
    )
    db.insert("t", [(1, 2, 0), (1, 3, 0), (4, 8, 0)])
    db.insert("u", [(1, 0)])
    db.verify(maps=True)
    engine = db._state.engine_of("v")
    name = next(n for n, decl in engine.program.maps.items() if decl.role == "aux")
    engine.load_map(name, {})

    view.verify()
    with pytest.raises(nl.NestlingError, match=f"{name} of v is not what its query says"):
        view.verify(maps=True)
