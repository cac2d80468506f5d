"""Law: no change that is accepted makes a file unopenable; what is opened is what was closed, whatever the values."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import nestling as nl
from nestling.values.label import Label
from tests.storage.stores import QUICK

STRINGS = st.sampled_from(
    ["", "#0", "#3", "#" + "9" * 5000, "#٣", "\ud800", "\udfffx", "\x00", "\x1e", "\u2028", "'\"\\`{}$", "a"]
) | st.text(max_size=3)
INTS = st.sampled_from([0, -1, 1 << 63, -(1 << 200), 10**5000]) | st.integers()
FLOATS = st.sampled_from([0.0, -0.0, float("nan"), float("inf"), -float("inf"), 5e-324, 1.7e308])
DECIMALS = st.sampled_from(
    [Decimal(t) for t in ("0", "-0.00", "1E+400", "1E-400", "1.10", "1.1", "NaN", "-NaN", "sNaN", "Infinity")]
    + [Decimal("9" * 500), Decimal((1, (1, 2, 3), 90_000))]
)
KINDS = st.tuples(
    FLOATS,
    DECIMALS,
    st.binary(max_size=3),
    st.sampled_from([date.min, date.max, date(2024, 2, 29)]),
    st.sampled_from([datetime.min, datetime.max, datetime(2024, 10, 27, 2, 30, fold=1)]),
    st.sampled_from([timedelta.min, timedelta.max, timedelta(0, 0, 1)]),
    st.none() | INTS,
    st.lists(STRINGS, max_size=2),
)
ITEMS = st.tuples(INTS, st.lists(STRINGS, max_size=2))
BAGS = st.lists(st.lists(st.integers(0, 2), max_size=2), max_size=2)
KEYED = st.tuples(st.none() | STRINGS, BAGS, st.lists(ITEMS, max_size=2))
PAIRS = st.tuples(st.none() | FLOATS, st.none() | DECIMALS, BAGS)
ROWS = {"named": KEYED, "kinds": KINDS, "pairs": PAIRS}
QUERIES = [
    ("[(n.name, [i.tags for i in n.items]) for n in named]", "eager", "full"),
    ("[(k.n, len([j for j in kinds if j.b == k.b])) for k in kinds]", "hybrid", "auto"),
    ("[(p.x, p.bags) for p in pairs if p.x != 0.0]", "lazy", "auto"),
]


@pytest.fixture(scope="module")
def defined():
    """A file with tables of all kinds of values and views of all kinds, and nothing in them."""
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:
        path = Path(folder, "defined.nest")
        with nl.Database(path) as db:
            items = [{"n": int, "tags": list[str]}]
            named = {"name": str | None, "bags": list[list[int]], "items": items}
            db.table("named", named, key="name")
            kinds = {"f": float, "d": Decimal, "b": bytes, "on": date, "at": datetime, "took": timedelta}
            db.table("kinds", {**kinds, "n": int | None, "words": list[str]})
            pairs = {"x": float | None, "y": Decimal | None, "bags": list[list[int]]}
            db.table("pairs", pairs, key=("x", "y"))
            db.view(
                "tags", "[(n.name, [t for i in n.items for t in i.tags]) for n in named]", language="python"
            )
            db.view(
                "counts", "SELECT b, `on`, took, `at`, count(*) AS n FROM kinds GROUP BY b, `on`, took, `at`"
            )
            db.view(
                "totals",
                "[(n.name, sum(i.n for i in n.items)) for n in named]",
                language="python",
                refresh="lazy",
            )
        yield path


@given(data=st.data())
def test_a_file_opens_after_every_accepted_change(defined, data):
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:
        path = Path(folder, "x.nest")
        shutil.copy(defined, path)
        used, held = 0, None
        for _ in range(data.draw(st.integers(1, 3), label="changes")):
            with nl.Database(path) as db:
                assert held is None or held_by(db) == held
                used = fresh(db, used, lambda db=db: change(data.draw, db))
                held = held_by(db)
        with nl.Database(path) as db:
            assert held_by(db) == held
            db.verify()


def fresh(db: nl.Database, used: int, act: Any) -> int:
    """Do something; no number of a label that was ever given is given again."""
    before = numbers(db)
    with refused_or_done(db):
        act()
    new = numbers(db) - before
    assert all(number >= used for number in new), (used, new)
    return max(used, *(number + 1 for number in new), 0)


def numbers(db: nl.Database) -> set[int]:
    """The numbers of labels without a key."""
    keyed = {"named.bags", "named.items", "pairs.bags"}
    return {
        int(value.environment[0][1:])
        for name in db._state.engine.program.tables
        for row in db._state.engine.table(name)
        for value in row
        if isinstance(value, Label) and value.site not in keyed
    }


@contextmanager
def refused_or_done(db: nl.Database) -> Iterator[None]:
    """Law: what is refused says so as one of our errors, and changes nothing."""
    held = held_by(db)
    try:
        yield
    except nl.NestlingError:
        assert held_by(db) == held


def held_by(db: nl.Database) -> Any:
    """All that can be read; as text, which a NaN equals and a sign of zero shows in."""
    tables = {name: shown(db._state.rows(name)) for name in db.tables}
    views = {name: shown(view.bag()) for name, view in db.views.items()}
    return tables, views, db.version


def shown(value: Any) -> Any:
    if hasattr(value, "items"):
        return sorted((repr(shown(each)), times) for each, times in value.items())
    return tuple(map(shown, value)) if isinstance(value, tuple) else short(value)


def short(value: Any) -> str:
    return hex(value) if type(value) is int else repr(value)


def change(draw: Any, db: nl.Database) -> None:
    """One change, accepted or not."""
    name = draw(st.sampled_from(sorted(ROWS)))
    rows = list(db._state.rows(name))
    old = draw(st.sampled_from(sorted(rows, key=lambda row: repr(shown(row))))) if rows else None
    kind = draw(
        st.sampled_from(["insert", "insert", "delete", "apply", "deep", "update", "transaction", "view"])
    )
    match kind:
        case "insert":
            db.insert(name, draw(st.lists(ROWS[name], min_size=1, max_size=2)))
        case "delete" if old is not None:
            db.delete(name, [old])
        case "apply":
            new = draw(ROWS[name])
            db.insert(name, [new]) if old is None else db.apply({name: {old: -1}})
        case "deep" if name == "named" and old is not None:
            at = db.table(name).at(old[0])
            at.items.insert([draw(ITEMS)]) if draw(st.booleans()) else at.bags.insert([[draw(INTS)]])
        case "update" if name == "named" and old is not None:
            db.update(name, key=old[0], set={"name": draw(STRINGS), "bags": draw(BAGS)})
        case "transaction":
            with db.transaction() as both:
                both.insert("kinds", [draw(KINDS)])
                both.insert(name, [draw(ROWS[name])])
        case "view":
            define(draw, db)


def define(draw: Any, db: nl.Database) -> None:
    query, refresh, store = draw(st.sampled_from(QUERIES))
    if "more" in db.views:
        db.drop("more")
    else:
        db.view("more", query, language="python", refresh=refresh, store=store)


@example("#" + "9" * 5000)
@given(STRINGS)
def test_a_key_that_looks_like_a_label(key):
    """The numbers of labels are stored; they were looked for in keys, and one of 5,000 digits is none."""
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:
        path = Path(folder, "x.nest")
        with nl.Database(path) as db:
            db.table("K", {"name": str, "bags": list[list[int]]}, key="name")
            db.insert("K", [(key, [[1], []])])
        with nl.Database(path) as db:
            db.insert("K", [(f"{key} too", [[2]])])
            rows = db.table("K").rows()
        with nl.Database(path) as db:
            assert sorted(db.table("K").rows()) == sorted(rows)


def test_a_row_with_a_nan_is_found_again(tmp_path):
    path = tmp_path / "x.nest"
    with nl.Database(path) as db:
        db.table("T", {"x": float, "y": int}, key=("x", "y"))
        db.insert("T", [(float("nan"), 1)])
    with nl.Database(path) as db:
        with pytest.raises(nl.ChangeError, match="already has a row with key"):
            db.insert("T", [(float("nan"), 1)])
        db.delete("T", [(float("nan"), 1)])
        assert not len(db.table("T"))


def test_an_element_that_changes_after_a_row_that_others_could_refer_to_went(tmp_path):
    """Rows that go are moved behind what refers to them; the element of another row is not one of theirs."""
    path = tmp_path / "x.nest"
    with nl.Database(path) as db:
        orders = db.table("orders", {"id": int, "lines": [{"n": int, "parts": [int]}]}, key="id")
        db.table("notes", {"id": int, "order": int}, key="id", references={"order": "orders"})
        db.insert("orders", [(1, [(1, [7])]), (2, [(1, [8]), (2, [])]), (3, [(5, [5])])])
        db.insert("notes", [(1, 3)])
        with db.transaction() as change:
            change.delete("orders", key=1)
            change.update_in("orders", 2, ("lines", {"n": 1}), {"n": 3})
            change.delete("notes", key=1)
            change.delete("orders", key=3)
        held = held_by(db)
        assert orders.rows() == [(2, [(2, []), (3, [8])])]
    with nl.Database(path) as db:
        assert held_by(db) == held
        db.verify(maps=True)


def test_a_key_that_is_a_record(tmp_path):
    """The labels of its row have the record; a bag in it would have to name itself."""
    path = tmp_path / "x.nest"
    with nl.Database(path) as db:
        with pytest.raises(nl.QueryError, match="k has a bag and cannot be a key"):
            db.table("T", {"k": {"a": int, "b": list[int]}}, key="k")
        db.table("T", {"k": {"a": int, "b": {"c": str}}, "n": int, "bags": list[list[int]]}, key=("n", "k"))
        db.insert("T", [((1, ("x",)), 7, [[1], []])])
    with nl.Database(path) as db:
        db.update("T", key=(7, (1, ("x",))), set={"bags": [[2]]})
        held = held_by(db)
    with nl.Database(path) as db:
        assert held_by(db) == held


NAMES = [
    "a b",
    "select",
    "⟨x⟩",
    "a`b",
    'x"""y',
    "é",
    "\x1e",
    "a.b",
    "x" * 3000,
    "\ud800",
    "\x00",
    "Δ",
    "1",
    "union",
    "",
]


@pytest.mark.parametrize("name", NAMES, ids=[ascii(name)[:20] for name in NAMES])
def test_a_definition_is_refused_or_opens(tmp_path, name):
    """Whatever it is called: a table, its columns and bags, a view and a constraint."""
    path = tmp_path / "x.nest"
    with nl.Database(path) as db:
        db.table("T", {"a": int})
        for define in (
            lambda: db.table(name, {"a": int, "b": list[int]}, key="a"),
            lambda: db.table("C", {name: int, "bags": [{name: str}]}, key=name),
            lambda: db.view(name + "v", lambda T: [t.a for t in T]),
            lambda: db.view("w", f"[dict([({name!r}, t.a)]) for t in T]", language="python"),
            lambda: db.view("c", f"[(t.a, {name!r}) for t in T]", language="python"),
            lambda: db.constraint(name + "c", lambda T: [t.a for t in T if t.a > 5]),
        ):
            with refused_or_done(db):
                define()
        for table in db.tables:
            row = (1,) if table == "T" else (1, [] if table == "C" else [2])
            db.insert(table, [row])
        held, defined = held_by(db), (set(db.tables), set(db.views), set(db._constraints))
    with nl.Database(path) as db:
        assert (set(db.tables), set(db.views), set(db._constraints)) == defined
        assert held_by(db) == held
        db.verify()


def test_a_table_that_nests_deeper_than_a_file_can_say_is_refused(tmp_path):
    path = tmp_path / "x.nest"
    deep: Any = int
    for _ in range(200):
        deep = [deep]
    with nl.Database(path) as db:
        db.table("T", {"a": int})
        with pytest.raises(nl.QueryError, match="nested more than 32 levels deep"):
            db.table("deep", {"a": int, "deep": deep})
        assert set(db.tables) == {"T"}
    with nl.Database(path) as db:
        assert set(db.tables) == {"T"}
