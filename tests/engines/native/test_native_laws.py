"""Law 17 for the native engine: the tables, maps, answers and logs of the embedded one, after every change."""

from datetime import date, datetime
from decimal import Decimal
from functools import cache
from itertools import count
from json import loads
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.database.bulk import computed
from nestling.database.core import Core
from nestling.database.database import Database
from nestling.database.native import NATIVE, notes
from nestling.database.row_state import RowState
from nestling.engine.local.engine import LocalEngine
from nestling.engine.native.engine import NativeEngine
from nestling.engine.native.values import Unsupported
from nestling.engine.protocol import RowEngine
from nestling.engine.runs import runs
from nestling.errors import ChangeError
from nestling.program.statements import Program
from nestling.values.bag import ZBag
from tests.engines.shared import ROWS, For, compiled, empty, engine_of, shared_joins, shared_queries
from tests.engines.suite.cases import CASES, Case
from tests.engines.test_toy import POLICIES, heard, opened
from tests.engines.worlds import WORLDS, steps

PATIENT = For(patient=True)


def native(program: Program) -> NativeEngine | None:
    try:
        return NativeEngine(program, computed)
    except Unsupported:
        return None


def agree(ours: RowEngine, theirs: RowEngine) -> None:
    program = theirs.program
    for name in program.tables:
        assert ours.table(name) == theirs.table(name)
        for row, times in theirs.table(name).items():
            assert ours.count(name, row) == times
            assert (
                not (key := program.tables[name].key) or ours.by_key(name, tuple(row[i] for i in key)) == row
            )
    for name in program.maps:
        assert ours.cells(name) == theirs.cells(name), program.maps[name].why
    for name in program.views:
        assert ours.read(name) == theirs.read(name)


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
@given(data=st.data())
def test_it_has_what_the_embedded_engine_has(world, data):
    """After every run of events, and where it falls back there is a reason."""
    query = data.draw(shared_queries(world) | shared_joins(world))
    store, use = data.draw(st.sampled_from(["auto", "full"])), data.draw(st.sampled_from([ROWS, PATIENT]))
    program = compiled(world, query, store, use)
    ours = native(program)
    if ours is None:
        return
    theirs, stored = engine_of(program), empty(world, query)
    for _ in range(4):
        events = data.draw(steps(stored))
        stored.apply(events)
        for run in runs(events, program.tables):
            for engine in (ours, theirs):
                run.apply(engine)
        agree(ours, theirs)
    for run in runs(
        [(t, row, -n) for t, rows in stored.tables.items() for row, n in rows.items()], program.tables
    ):
        for engine in (ours, theirs):
            run.apply(engine)
    agree(ours, theirs)


class OnNative(Database):
    """The same database, with native engines."""

    def __init__(self) -> None:
        Core.__init__(self, RowState(NATIVE))


@pytest.mark.parametrize("refresh", POLICIES)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_database_answers_and_tells_the_same_on_it(case: Case, refresh: str) -> None:
    ours, theirs = opened(OnNative(), case, refresh), opened(Database(), case, refresh)
    told, expected = heard(ours), heard(theirs)
    for move in case.moves:
        for db in (ours, theirs):
            with db.transaction() as change:
                move(change)
        assert {name: view.bag() for name, view in ours.views.items()} == {
            name: view.bag() for name, view in theirs.views.items()
        }
    assert told == expected
    ours.verify(maps=True)


PRICED = (
    "SELECT p.pid, SUM(o.qty * p.price) AS spent FROM parts p JOIN orders o ON o.pid = p.pid GROUP BY p.pid"
)
CUBES = "SELECT p.pid, SUM(p.price * q.price * r.price) AS s FROM parts p, parts q, parts r GROUP BY p.pid"


def said(db: Database) -> Any:
    return loads(db.views["v"].explain("json"))


def shops(text: str) -> tuple[list[Database], list[list[Any]]]:
    """A shop whose view is watched, in native code and in Python, and what subscribers were told."""
    dbs, told = [OnNative(), Database()], list[list[Any]]()
    for db in dbs:
        db.table("parts", {"pid": int, "price": int}, key="pid")
        db.table("orders", {"id": int, "pid": int, "qty": int})
        db.view("v", text, language="sql")
        told.append(next(iter(heard(db).values())))
    assert isinstance(dbs[0]._state.engine, NativeEngine)
    assert said(dbs[0])["engine"] == "the native engine"
    return dbs, told


#: What must run natively: a fallback would leave nothing of the laws above to say.
NATIVE_TEXTS = (
    "SELECT a, COUNT(*) AS n, SUM(b * b) AS s, AVG(b) AS m FROM t GROUP BY a",
    "SELECT t.a, u.name FROM t JOIN u ON t.b = u.id WHERE u.name LIKE 'x%' AND t.b % 5 < 9",
    "SELECT u.id, u.day, u.at FROM u WHERE u.day > DATE '2020-01-01' OR u.ok IS NULL",
    "SELECT u.id FROM u WHERE 3 < (SELECT SUM(t.b) FROM t WHERE t.a = u.id)",
    "SELECT DISTINCT a FROM t",
    "SELECT id FROM u WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.a = u.id)",
    "[(x.name, [(y.a, y.b) for y in t if y.a == x.id]) for x in u]",
    "[(x.name, sum(y.b for y in t if y.a == x.id), x.weight) for x in u]",
)


@pytest.mark.parametrize("text", NATIVE_TEXTS)
def test_it_runs_what_it_says_it_runs(text: str) -> None:
    db = OnNative()
    db.table("t", {"a": int, "b": int})
    db.table(
        "u",
        {"id": int, "name": str, "day": date, "at": datetime, "ok": bool | None, "weight": float},
        key="id",
    )
    view = db.view("v", text, language="python" if text.startswith("[") else "sql")
    engine = db._state.engine
    assert isinstance(engine, NativeEngine), notes(engine)
    day, moment = date(2021, 2, 3), datetime(2021, 2, 3, 4, 5, 6, 7)
    db.insert("u", [(1, "xy", day, moment, None, 1.5), (2, "z", day, moment, True, -2.0)])
    db.insert("t", [(1, 2), (1, 2), (2, 9), (3, 1)])
    db.verify(maps=True)
    db.update("u", key=1, set={"name": "xz", "weight": 0.0})
    db.delete("t", [(1, 2)])
    db.verify(maps=True)
    assert len(view) or text == NATIVE_TEXTS[5]
    assert engine.moved is None


EXTREMES = (2**63 - 1, -(2**63), -(2**63) + 1, 2**70, -(2**40))


@pytest.mark.parametrize("price", EXTREMES)
@pytest.mark.parametrize("qty", EXTREMES)
def test_what_does_not_fit_moves_and_is_right(price: int, qty: int) -> None:
    dbs, told = shops(PRICED)
    for db in dbs:
        db.insert("parts", [(1, 10), (2, price)])
        with db.transaction() as change:
            change.insert("orders", [(1, 1, 3)])
            change.insert("orders", [(2, 2, qty), (3, 1, 4), (4, 2, qty), (5, 2, 1)])
        assert db.views["v"].bag() == ZBag([((1, 70), 1), ((2, price * (2 * qty + 1)), 1)])
        db.delete("orders", [(2, 2, qty), (4, 2, qty)])
        assert db.views["v"].bag() == ZBag([((1, 70), 1), ((2, price), 1)])
        db.verify(maps=True)
    assert told[0] == told[1]


def test_a_sum_that_outgrows_its_words_moves() -> None:
    """In the middle of a batch, with a subscriber: tables, maps and logs are those of Python, and explain says why."""
    dbs, told = shops(CUBES)
    big = 2**61
    for db in dbs:
        db.insert("parts", [(1, 3)])
        with db.transaction() as change:
            change.insert("parts", [(2, 5)])
            change.insert("parts", [(3, 1), (4, big), (5, -big), (6, 2)])
        db.delete("parts", key=4)
        db.verify(maps=True)
    assert dbs[0].views["v"].bag() == dbs[1].views["v"].bag()
    assert told[0] == told[1]
    engine = dbs[0]._state.engine
    assert isinstance(engine, NativeEngine)
    assert engine.moved is not None
    assert any("beyond its words" in note for note in said(dbs[0])["notes"])


#: Views that read maps in order, each over ints, and what a text and a float have in an order.
ORDERED_TEXTS = (
    "SELECT a, MIN(b) AS low, MAX(b) AS high, COUNT(DISTINCT b) AS n FROM t GROUP BY a",
    "SELECT MAX(name) AS m, MIN(weight) AS w FROM t",
    "SELECT t.a, SUM(u.b) AS s FROM t, t u WHERE u.b < t.b AND u.a = t.a GROUP BY t.a",
    "SELECT t.a, COUNT(*) AS n FROM t, t u WHERE u.b - t.b > 3 OR t.b - u.b >= 4 GROUP BY t.a",
    "SELECT id FROM t WHERE b > (SELECT AVG(b) FROM t)",
    "SELECT id FROM t WHERE b >= (SELECT MAX(u.b) FROM t u WHERE u.a = t.a)",
    "SELECT id, b FROM t WHERE b < (SELECT SUM(b) FROM t WHERE b < 3)",
    *(
        f"SELECT SUM(x.b * x.b) AS s FROM t x WHERE (SELECT SUM(y.b) FROM t y) {other} 3 *"
        f" (SELECT COALESCE(SUM(z.b), 0) FROM t z WHERE z.b {one} x.b)"
        for one, other in ((">", ">"), ("<=", ">="), (">=", "<"), ("<", "<="))
    ),
)
ordered_rows = st.tuples(
    st.integers(0, 2), st.integers(0, 9) | st.integers(-2, 40), st.text("ab", max_size=2), st.floats(-3, 3)
).map(lambda row: (*row[:3], row[3] or 0.0))


@pytest.mark.parametrize("text", ORDERED_TEXTS)
@given(data=st.data())
def test_what_is_in_order_is_so_after_every_change(text, data):
    """Rows come in batches and go; some of them are below zero, where sums are no longer monotone."""
    program = ordered_program(text)
    ours, theirs = NativeEngine(program, computed), LocalEngine(program)
    rows, keys = dict[int, Any](), count()
    for _ in range(data.draw(st.integers(1, 4))):
        come = {key: (key, *row) for row in data.draw(st.lists(ordered_rows)) for key in [next(keys)]}
        gone = data.draw(st.lists(st.sampled_from(sorted(rows)), unique=True)) if rows else []
        changes = [(row, 1) for row in come.values()] + [(rows.pop(key), -1) for key in gone]
        rows |= come
        for engine in (ours, theirs):
            engine.batches["t"](changes)
        agree(ours, theirs)
    assert ours.moved is None


@cache
def ordered_program(text: str) -> Program:
    db = Database()
    columns = {"id": int, "a": int, "b": int, "name": str, "weight": float}
    db.table("t", columns, key="id")
    db.view("v", text, language="sql")
    program: Program = db._state.engine.program
    return program


#: Views over decimals with declared places, and over products of them with ints and constants.
DECIMAL_TEXTS = (
    "SELECT a, price FROM t WHERE price > 3.5 AND rate <= 0.250",
    "SELECT a, SUM(price) AS s, COUNT(*) AS n FROM t GROUP BY a",
    "SELECT a, SUM(price * (1 - rate) * (1 + rate)) AS s FROM t GROUP BY a",
    "SELECT a, SUM(price * 0.5 - b) AS s FROM t GROUP BY a",
    "SELECT a, SUM(CASE WHEN b > 3 THEN price ELSE 0 END) AS s FROM t GROUP BY a",
    "SELECT price, rate, COUNT(*) AS n FROM t GROUP BY price, rate",
    "SELECT MIN(price) AS low, MAX(rate) AS high FROM t",
    "SELECT SUM(x.b * y.price * 0.5) AS s FROM t x, t y WHERE x.a = y.a AND x.price = y.price",
    "SELECT SUM(x.price - y.price) AS s FROM t x, t y WHERE x.price > y.price AND x.a = y.a",
    "SELECT id FROM t WHERE price > 0.5 * (SELECT MAX(price) FROM t)",
    "SELECT id FROM t WHERE b > 0.0001 * (SELECT SUM(b) FROM t)",
    "SELECT id FROM t WHERE price >= 0.33 * (SELECT SUM(price) FROM t)",
    "SELECT SUM(x.b * x.price) AS s FROM t x WHERE 0.25 * (SELECT SUM(y.b) FROM t y)"
    " > (SELECT COALESCE(SUM(z.b), 0) FROM t z WHERE z.price > x.price)",
    "SELECT a FROM t GROUP BY a HAVING SUM(price) > 7",
)
cents = st.integers(-300, 999).map(lambda n: Decimal(n).scaleb(-2))
shares = st.sampled_from(["0.000", "0.001", "0.250", "0.100"]).map(Decimal)
decimal_rows = st.tuples(st.integers(0, 2), st.integers(0, 9), cents, shares)


@pytest.mark.parametrize("text", DECIMAL_TEXTS)
@given(data=st.data())
def test_decimals_are_what_they_are_in_python(text, data):
    """Equal, and with the same places, but that a sum of nothing is written as 0 in Python."""
    program = decimal_program(text)
    ours, theirs = NativeEngine(program, computed), LocalEngine(program)
    rows, keys = dict[int, Any](), count()
    for _ in range(data.draw(st.integers(1, 3))):
        come = {key: (key, *row) for row in data.draw(st.lists(decimal_rows)) for key in [next(keys)]}
        gone = data.draw(st.lists(st.sampled_from(sorted(rows)), unique=True)) if rows else []
        changes = [(row, 1) for row in come.values()] + [(rows.pop(key), -1) for key in gone]
        rows |= come
        for engine in (ours, theirs):
            engine.batches["t"](changes)
        agree(ours, theirs)
        read, expected = ({str(row) for row, _ in engine.read("v").items()} for engine in (ours, theirs))
        assert read == expected or any("0" in row for row in expected)
    assert ours.moved is None


@cache
def decimal_program(text: str) -> Program:
    db = Database()
    db.table("t", "id INT, a INT, b INT, price DECIMAL(9, 2), rate DECIMAL(4, 3)", key="id")
    db.view("v", text, language="sql")
    program: Program = db._state.engine.program
    return program


@pytest.mark.parametrize("price", ["1.5", "1.50", "-0.001", "99999999999.99", "1E+3", "0", "-0.00"])
def test_a_decimal_is_stored_with_the_places_of_its_column(price: str) -> None:
    """Whatever way it comes: it is taken with all places, or refused in the words of Python."""
    told = list[Any]()
    for db in (OnNative(), Database()):
        db.table("t", "id INT, price DECIMAL(9, 2)", key="id")
        view = db.view("v", "SELECT id, price * 2 AS p FROM t", language="sql")
        try:
            db.insert("t", [(1, Decimal(price))])
        except ChangeError as error:
            told.append(str(error))
        else:
            told.append([str(row) for row in (*db.tables["t"], *view)])
    assert told[0] == told[1]


def test_a_decimal_beyond_its_words_moves() -> None:
    db = OnNative()
    db.table("t", "id INT, price DECIMAL(38, 2)", key="id")
    db.view("v", "SELECT SUM(price * price) AS s FROM t", language="sql")
    assert isinstance(engine := db._state.engine, NativeEngine)
    small, large = Decimal("9" * 16 + ".99"), Decimal("9" * 30 + ".99")
    db.insert("t", [(i, small) for i in range(3)])
    assert engine.moved is None
    db.verify(maps=True)
    db.insert("t", [(9, large)])
    assert engine.moved is not None
    db.verify(maps=True)


def test_nan_has_no_place_in_either_engine() -> None:
    for db in (OnNative(), Database()):
        db.table("t", {"a": int, "b": float})
        view = db.view("v", "SELECT a, MIN(b) AS m FROM t GROUP BY a", language="sql")
        db.insert("t", [(1, 2.0), (1, 3.0)])
        with pytest.raises(ChangeError, match="nan has no place"):
            db.insert("t", [(1, 4.0), (1, float("nan")), (2, 1.0)])
        assert view.bag() == ZBag([((1, 2.0), 1)])
        db.insert("t", [(1, 1.0), (2, 5.0)])
        assert view.bag() == ZBag([((1, 1.0), 1), ((2, 5.0), 1)])
        db.verify(maps=True)


@pytest.mark.parametrize(
    ("type_", "text", "why"),
    [
        (float, "SELECT SUM(a) AS s, pid FROM t GROUP BY pid", "floats"),
        (Decimal, "SELECT a FROM t", "decimal"),
        (float, "SELECT x.pid, COUNT(*) AS n FROM t x, t y WHERE x.a < y.a GROUP BY x.pid", "in order"),
        (int, "SELECT a FROM t ORDER BY a LIMIT 3", "values of type ⟨"),
        (int, "SELECT MODE(a) AS m FROM t", "aggregate mode"),
    ],
)
def test_what_has_no_byte_code_says_why(type_: Any, text: str, why: str) -> None:
    db = OnNative()
    db.table("t", {"pid": int, "a": type_})
    db.view("v", text, language="sql")
    assert isinstance(db._state.engine, LocalEngine)
    assert any(why in note for note in said(db)["notes"])


def test_a_term_that_is_too_deep_for_pythons_parser_is_run_as_always() -> None:
    db, parts = OnNative(), 400
    db.table("t", "a INT NULL")
    view = db.view("v", f"SELECT {' + '.join(['a'] * parts)} AS s FROM t", language="sql")
    assert isinstance(db._state.engine, LocalEngine)
    assert any("too deep" in note for note in said(db)["notes"])
    db.insert("t", [(2,), (None,)])
    assert view.bag() == ZBag([((2 * parts,), 1), ((None,), 1)])
