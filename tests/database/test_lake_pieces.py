"""Pieces of a database over a lake, tried without a session: definitions that are read, readers, labels in SQL."""

import json
from datetime import date
from itertools import count
from threading import Event, Thread
from typing import Any

import duckdb
import pytest

import nestling as nl
from nestling.calculus.types import dictionary_name
from nestling.database.rows import Shredder
from nestling.database.spark.defined import compiled
from nestling.database.spark.gate import Gate
from nestling.database.spark.keyed import is_flat_by_key
from nestling.database.spark.remembered import check_new, check_note, check_tables, read_feed
from nestling.database.spark.shredding import by_key, flat
from nestling.database.view_state import Feed, Views
from nestling.engine.spark.labels import write_label
from nestling.errors import StoreError
from nestling.values.bag import ZBag

#: Longer than a thread takes to come where it waits, and much longer.
SOON, LATE = 0.05, 20.0


# -- definitions


def test_tables_are_declared_and_stored() -> None:
    check_tables(["T", "T.items"], ["table T", "table T.items", "map A0", "table T waiting for v"])


@pytest.mark.parametrize(
    ("declared", "stored", "said"),
    [
        (["T"], [], "'table T' is declared, but not stored"),
        ([], ["table T"], "'table T' is stored, but not declared"),
        (["T"], ["table T", "table T.items"], "'table T.items' is stored, but not declared"),
    ],
)
def test_rows_of_no_table_are_rejected(declared: list[str], stored: list[str], said: str) -> None:
    with pytest.raises(StoreError, match=said):
        check_tables(declared, stored)


@pytest.mark.parametrize(("refresh", "checked"), [("eager", ("v",)), ("hybrid", ("v",)), ("lazy", ())])
def test_a_view_that_may_lack_a_value_is_looked_at_after_a_change(
    refresh: str, checked: tuple[str, ...]
) -> None:
    """On either engine, and a view that always has a value on neither."""
    with nl.Database() as db:
        db.table("R", {"a": int, "b": int})
        db.view("v", "[r.a // r.b for r in R]", language="python", refresh=refresh)
        db.view("w", "[r.a + r.b for r in R]", language="python", refresh=refresh)
        state = db._state
        of_spark = [compiled(view, state.declarations(), False) for view in state.definitions.values()]
        assert state.views.checked == checked
        assert Views().having(*of_spark).checked == checked


def test_a_note_says_versions_and_batches() -> None:
    check_note({})
    check_note({"version": 7, "numbers": 3, "streams": {"s": ["id", 4]}})


@pytest.mark.parametrize(
    "note",
    [
        {"version": -1},
        {"version": True},
        {"version": 1 << 62},
        {"numbers": "3"},
        {"streams": []},
        {"streams": {"s": ["id", 4, 5]}},
        {"streams": {"s": [4, "id"]}},
        {"streams": {"s": ["id", 4], "t": ["id", 1.0]}},
    ],
)
def test_a_senseless_note_is_rejected(note: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match="makes no sense"):
        check_note(note)


def test_a_feed_is_of_a_view_that_is_maintained() -> None:
    assert read_feed("v", "[3, null]", {"v"}) == Feed(3)
    assert read_feed("v", "[0, 10]", {"v"}) == Feed(0, 10)
    for name, text in (("w", "[3, null]"), ("v", "[-1, null]"), ("v", '[3, "x"]'), ("v", "[true, null]")):
        with pytest.raises(ValueError, match="of no view, or of no versions"):
            read_feed(name, json.dumps(json.loads(text)), {"v"})


def test_a_definition_has_a_kind_and_a_name_of_its_own() -> None:
    check_new("view", ["T"], "v")
    with pytest.raises(ValueError, match="no definitions of this kind"):
        check_new("feed", [], "v")
    with pytest.raises(ValueError, match="twice"):
        check_new("table", ["T", "v"], "v")


# -- readers


def test_who_replaces_waits_for_readers_and_readers_for_that_alone() -> None:
    gate, replaced, leave, read = Gate(), Event(), Event(), Event()

    def replace() -> None:
        with gate.closed():
            replaced.set()
            leave.wait(LATE)

    def reader() -> None:
        with gate.passing():
            read.set()

    with gate.passing():
        writer = Thread(target=replace, daemon=True)
        writer.start()
        assert not replaced.wait(SOON)
    assert replaced.wait(LATE)
    late = Thread(target=reader, daemon=True)
    late.start()
    assert not read.wait(SOON)
    leave.set()
    assert read.wait(LATE)
    writer.join(LATE)
    late.join(LATE)


def test_who_reads_may_read_again_while_somebody_waits_to_replace() -> None:
    gate, inside, again = Gate(), Event(), Event()

    def reader() -> None:
        with gate.passing():
            inside.set()
            while not gate._is_closed:
                pass
            with gate.passing():
                again.set()

    thread = Thread(target=reader, daemon=True)
    thread.start()
    assert inside.wait(LATE)

    def replace() -> None:
        with gate.closed():
            pass

    writer = Thread(target=replace, daemon=True)
    writer.start()
    assert again.wait(2.0)
    writer.join(LATE)
    assert not writer.is_alive()


def test_a_reader_that_fails_is_through() -> None:
    gate, closed = Gate(), Event()

    def replace() -> None:
        with gate.closed():
            closed.set()

    with pytest.raises(KeyError), gate.passing():
        raise KeyError("a reader")
    Thread(target=replace, daemon=True).start()
    assert closed.wait(2.0)


# -- labels

BAG = [{"n": int}]
KEYS: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "an int": ({"a": int}, (7,)),
    "a text": ({"a": str}, ("d'où",)),
    "a bool and a text": ({"a": bool, "b": str}, (True, "")),
    "a record": ({"a": {"x": int, "y": bool}}, ((-3, False),)),
    "a null": ({"a": int | None, "b": str | None}, (None, "n")),
    "nulls": ({"a": int | None, "b": str | None}, (5, None)),
}


def table_of(schema: dict[str, Any], key: tuple[str, ...] | None) -> Any:
    db = nl.Database()
    db.table("T", {**schema, "items": BAG}, key=key)
    return db._state.tables["T"]


def literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case tuple():
            return "{" + ", ".join(f"'c{i}': {literal(part)}" for i, part in enumerate(value)) + "}"
        case str():
            return "'" + value.replace("'", "''") + "'"
    return str(value)


@pytest.mark.parametrize("name", KEYS)
def test_labels_in_sql_are_those_of_rows(name: str) -> None:
    schema, key = KEYS[name]
    table = table_of(schema, tuple(schema))
    environment = by_key(table, "v")
    assert environment is not None
    (bag,) = [column for column in flat(table, table.record, (), "v", environment) if column.bag]

    query = f"SELECT {bag.text} FROM (SELECT {literal((*key, None))} AS v)"
    ((found,),) = duckdb.execute(query).fetchall()

    (event,) = Shredder(table, count()).insertion((*key, ZBag()), 1)
    (label,) = [value for value in event.row if hasattr(value, "site")]
    assert found == write_label(label)
    assert label.site == dictionary_name("T", ("items",))


def test_a_key_that_spark_writes_otherwise_makes_no_label() -> None:
    assert by_key(table_of({"a": int, "b": float}, ("a", "b")), "v") is None
    assert by_key(table_of({"a": {"x": int, "y": float}}, ("a",)), "v") is None
    assert by_key(table_of({"a": int}, None), "v") is None
    assert by_key(table_of({"a": date}, ("a",)), "v") is not None


def test_rows_are_compared_flat_where_all_labels_are_of_the_key() -> None:
    assert is_flat_by_key(table_of({"a": int}, ("a",)))
    assert not is_flat_by_key(table_of({"a": float}, ("a",)))
    deep = {"a": int, "inner": [{"n": int, "more": BAG}]}
    assert not is_flat_by_key(table_of(deep, ("a",)))
