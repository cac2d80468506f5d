"""The door: rows that it takes, and rows that it does not, have the outcome that they have in Python."""

import contextlib
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from nestling.database.bulk import EMBEDDED
from nestling.database.core import Core
from nestling.database.database import Database
from nestling.database.native import NATIVE, native_of
from nestling.database.row_state import RowState

PEOPLE = {"id": int, "name": str, "boss": int | None}
GROUPED = "SELECT name, COUNT(*) AS n, SUM(id) AS total FROM people GROUP BY name"


def opened(engines: Any) -> Database:
    db = Database.__new__(Database)
    Core.__init__(db, RowState(engines))
    return db


def declared(db: Database, *, is_checked: bool, is_watched: bool) -> list[Any]:
    """A table that refers to itself, one without a key, two of a family; and what a subscriber heard."""
    heard: list[Any] = []
    db.table("people", "id INT, name STRING NOT NULL, boss INT", key="id", references={"boss": "people"})
    db.table("pairs", "a SMALLINT NOT NULL, b DOUBLE, c DATE")
    db.table("animals", {"tag": int}, key="tag")
    db.table("dogs", {"tag": int, "breed": str}, key="tag", extends="animals")
    db.view("grouped", GROUPED)
    db.view("sums", "SELECT c, COUNT(*) AS n FROM pairs GROUP BY c")
    db.view("all_tags", "SELECT tag FROM animals")
    if is_checked:
        db.constraint("few", "SELECT name FROM people GROUP BY name HAVING COUNT(*) > 3")
    if is_watched:
        db._subscribers.subscribe("grouped", lambda change: heard.append((change.inserted, change.deleted)))
    return heard


def read(db: Database, view: str) -> dict[Any, int]:
    return dict(db._read(view).items())


hostile: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 2**63, -(2**63), 40_000, 1.5, float("nan"), -0.0, "x", b"x", date(2020, 1, 1), (), {}]
)
people = st.tuples(
    st.integers(0, 6) | hostile, st.sampled_from(["ann", "bob"]) | hostile, st.none() | st.integers(0, 6)
)
pairs = st.tuples(st.integers(-3, 3) | hostile, st.just(0.5) | hostile, st.none() | hostile)
animals = st.tuples(st.integers(0, 3) | hostile)
dogs = st.tuples(st.integers(0, 3) | hostile, st.just("pug") | hostile)
TABLES = {"people": people, "pairs": pairs, "animals": animals, "dogs": dogs}
NAMES = {
    "people": ("id", "name", "boss"),
    "pairs": ("a", "b", "c"),
    "animals": ("tag",),
    "dogs": ("tag", "breed"),
}


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, str, list[Any]]:
    table = draw(st.sampled_from(sorted(TABLES)))
    rows: list[Any] = draw(st.lists(TABLES[table], max_size=4))
    if draw(st.booleans()):
        rows = [dict(zip(NAMES[table], row, strict=True)) for row in rows]
    plain = [] if any(isinstance(row, dict) or {} in row for row in rows) else ["apply"]
    return draw(st.sampled_from(["insert", "insert", "delete", *plain])), table, rows


def outcome(db: Database, call: tuple[str, str, list[Any]]) -> Any:
    what, table, rows = call
    try:
        if what == "apply":
            done = db.apply({table: dict(zip(rows, (1, 1, -1, 1), strict=False))})
        else:
            done = getattr(db, what)(table, rows)
    except nl.NestlingError as error:
        return type(error), str(error)
    return done.version, done.events, done.statements, dict(done.tables)


@given(made=st.lists(calls(), max_size=12), is_checked=st.booleans(), is_watched=st.booleans())
def test_what_comes_and_goes_has_one_outcome(made, is_checked, is_watched):
    """Results, refusals, tables, answers, logs and versions, call by call; nothing hostile is taken for another."""
    ours, theirs = opened(NATIVE), opened(EMBEDDED)
    heard = [declared(db, is_checked=is_checked, is_watched=is_watched) for db in (ours, theirs)]
    assert native_of(ours._state.engine) is not None
    for call in made:
        assert repr(outcome(ours, call)) == repr(outcome(theirs, call))
        for table in TABLES:
            assert ours._state.engine.table(table) == theirs._state.engine.table(table)
        for view in ("grouped", "sums", "all_tags"):
            assert ours._read(view) == theirs._read(view)
        assert ours.version == theirs.version
    assert heard[0] == heard[1]
    ours.verify(maps=True)


@pytest.fixture
def db() -> Database:
    made = opened(NATIVE)
    made.table("t", {"a": int, "b": int}, key="a")
    made.view("v", "SELECT b, SUM(a) AS s FROM t GROUP BY b")
    return made


def test_the_door_is_open_for_plain_tables_and_opened_anew_for_new_views(db: Database) -> None:
    """Of these tables it takes rows; a view that is made later sees what comes through it."""
    assert db.insert("t", [(1, 1), {"b": 1, "a": 2}]).events == 2
    assert set(db._doors) == {"t"}
    db.view("w", "SELECT COUNT(*) AS n FROM t")
    assert db.insert("t", [(3, 1)]).version == db.version
    assert read(db, "w") == {(3,): 1}
    assert db.delete("t", [(1, 1), (2, 1)]).events == 2
    assert set(db._doors) == {"t"}
    assert read(db, "v") == {(1, 3): 1}


def test_a_row_that_was_taken_is_no_list_of_the_user(db: Database) -> None:
    rows = [[1, 1]]
    with pytest.raises(nl.ChangeError):
        db.insert("t", [tuple(rows[0]), tuple(rows[0])])
    db.insert("t", rows)
    assert read(db, "v") == {(1, 1): 1}


def test_a_number_beyond_its_words_moves_the_program_and_keeps_the_rows(db: Database) -> None:
    """A sum of 128 bits that overflows in the middle of a batch; and an int that has no word."""
    db.view("huge", "SELECT SUM(a * a * a) AS s FROM t")
    many = [(2**62 - i, 1) for i in range(3)]
    done = db.insert("t", many)
    assert (done.events, db.version) == (3, 1)
    assert native_of(db._state.engine) is None
    assert read(db, "huge") == {(sum(a**3 for a, _ in many),): 1}
    db.insert("t", [(2**80, 2)])
    assert read(db, "v") == {(1, sum(a for a, _ in many)): 1, (2, 2**80): 1}


@pytest.mark.parametrize("is_watched", [False, True])
def test_an_exception_of_a_function_leaves_everything_as_it_was(is_watched: bool) -> None:
    """In the middle of a batch; the refusal names the row, as in Python."""
    told = []
    for engines in (NATIVE, EMBEDDED):
        db = opened(engines)
        db.table("t", {"a": int, "b": int}, key="a")
        db.view("v", "[(x.a, 10 // x.b) for x in t]", language="python")
        if is_watched:
            db._subscribers.subscribe("v", lambda change: None)
        db.insert("t", [(1, 1), (2, 2)])
        with pytest.raises(nl.ChangeError) as refused:
            db.insert("t", [(3, 3), (4, 0), (5, 5)])
        told.append(str(refused.value))
        assert read(db, "v") == {(1, 10): 1, (2, 5): 1}
        assert db.version == 1
        db.insert("t", [(3, 3)])
        db.verify(maps=True)
    assert told[0] == told[1]


def test_a_float_that_overflows_is_refused_and_is_not_taken_for_a_number_beyond_its_words() -> None:
    for engines in (NATIVE, EMBEDDED):
        db = opened(engines)
        db.table("t", {"a": int, "b": float}, key="a")
        db.view("v", "[(x.a, x.b * x.b // 0.1) for x in t]", language="python")
        db.insert("t", [(1, 2.0)])
        with contextlib.suppress(nl.ChangeError):
            db.insert("t", [(2, 3.0), (3, 1e300)])
        assert sorted(db._state.engine.table("t")) in ([(1, 2.0)], [(1, 2.0), (2, 3.0), (3, 1e300)])
        db.verify(maps=True)


def test_whoever_enters_after_a_cut_finds_a_whole_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something is raised while the journal is there, and nobody can do anything about it yet."""
    db = opened(NATIVE)
    db.table("t", {"a": int, "b": str}, key="a")
    db.view("v", "[(x.a, x.b.upper()) for x in t]", language="python")
    db.insert("t", [(1, "a")])
    door = db._doors["t"]
    monkeypatch.setattr("nestling.database.core.Core._cut_off", lambda *_: None)
    with pytest.raises(TypeError):
        door([(5, "e")], 2)  # neither comes nor goes: raised inside, and found by whoever enters next
    monkeypatch.undo()
    assert read(db, "v") == {(1, "A"): 1}
    db.insert("t", [(2, "b")])
    db.verify(maps=True)


# columns

CELLS = {
    "i": st.integers(-(2**31), 2**31 - 1), "s": st.text(max_size=20), "y": st.binary(max_size=14),
    "f": st.floats(width=32), "b": st.booleans(), "d": st.dates(), "t": st.datetimes(), "p": st.timedeltas(
        timedelta(days=-9000), timedelta(days=9000)),
}  # fmt: skip
TYPES = {"i": int, "s": str, "y": bytes, "f": float, "b": bool, "d": date, "t": datetime, "p": timedelta}


def arrow_types() -> dict[str, list[Any]]:
    pa = pytest.importorskip("pyarrow")
    return {
        "i": [pa.int32(), pa.int64()],
        "s": [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())],
        "y": [pa.binary(), pa.large_binary()],
        "f": [pa.float64(), pa.float32()],
        "b": [pa.bool_()],
        "d": [pa.date32()],
        "t": [pa.timestamp("us")],
        "p": [pa.duration("us")],
    }


@given(data=st.data())
def test_columns_of_arrow_are_their_rows(data):
    """Any slice and any chunks of any of the types, with and without nulls; in any order of the columns."""
    pa = pytest.importorskip("pyarrow")
    types = arrow_types()
    kinds = data.draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=5))
    may_be_null = data.draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds)))
    columns = {
        f"c{i}": TYPES[kind] | None if nil else TYPES[kind]
        for i, (kind, nil) in enumerate(zip(kinds, may_be_null, strict=True))
    }
    cells = [st.none() | CELLS[k] if data.draw(st.booleans()) else CELLS[k] for k in kinds]
    chunks = []
    chosen = [data.draw(st.sampled_from(types[kind])) for kind in kinds]
    for _ in range(data.draw(st.integers(1, 3))):
        rows = data.draw(st.lists(st.tuples(*cells), max_size=8))
        arrays = [pa.array([row[i] for row in rows], chosen[i]) for i in range(len(kinds))]
        table = pa.table(dict(zip(columns, arrays, strict=True)))
        start = data.draw(st.integers(0, len(rows)))
        chunks.append(table.slice(start, data.draw(st.integers(0, 8))))
    given_rows = pa.concat_tables(chunks).select(data.draw(st.permutations(list(columns))))
    told: list[list[Any]] = []
    for engines in (NATIVE, EMBEDDED):
        db = opened(engines)
        db.table("t", columns)
        db.view("v", "SELECT COUNT(*) AS n FROM t")
        told.append([])
        for what in ("insert", "delete"):
            told[-1] += [outcome(db, (what, "t", given_rows)), db._state.engine.table("t")]
    assert repr(told[0]) == repr(told[1])


def test_columns_are_taken_by_the_door_and_a_stream_once_is_not(db: Database) -> None:
    pa = pytest.importorskip("pyarrow")
    columns = pa.table({"b": [1, 1, 2], "a": [1, 2, 3]})
    assert db.insert("t", columns).events == 3
    assert db.insert("t", columns.slice(0, 0)).events == 0
    with pytest.raises(nl.ChangeError, match="already has a row with key 1"):
        db.insert("t", columns)
    assert db.insert("t", pa.table({"b": [7], "a": [4]}).to_reader()).events == 1
    assert read(db, "v") == {(1, 3): 1, (2, 3): 1, (7, 4): 1}
    assert db.delete("t", columns).events == 3
    assert read(db, "v") == {(7, 4): 1}


@pytest.mark.parametrize("is_watched", [False, True])
def test_columns_that_overflow_are_rows_where_the_program_moves_to(is_watched: bool) -> None:
    pa = pytest.importorskip("pyarrow")
    db = opened(NATIVE)
    db.table("t", {"a": int, "b": str}, key="a")
    db.view("huge", "SELECT b, SUM(a * a * a) AS s FROM t GROUP BY b")
    heard: list[Any] = []
    if is_watched:
        db._subscribers.subscribe("huge", lambda change: heard.append(len(change.inserted)))
    many = [2**62 - i for i in range(3)]
    assert db.insert("t", pa.table({"a": many, "b": ["x"] * 3})).events == 3
    assert read(db, "huge") == {("x", sum(a**3 for a in many)): 1}
    assert not is_watched or heard == [1]
