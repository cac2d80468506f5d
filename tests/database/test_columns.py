"""Columns in and out: whatever has them is its rows, flat and nested, on both engines, also where it is read once."""

from datetime import date
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import nestling as nl
from nestling.database.database import Database

FLAT = pa.table(
    {
        "name": pa.array(["a", None, "c"]),
        "id": pa.array([1, 2, 3], pa.int32()),
        "day": pa.array([date(2020, 1, 1), None, date(2021, 1, 1)]),
        "f": pa.array([1.5, None, -0.0]),
    }
)
NESTED = pa.table(
    {
        "id": [1, 2, 3],
        "items": [[{"p": 1, "q": "x"}] * 2, [], [{"p": 2, "q": "y"}]],
        "tags": [["a"], [], ["b", "b"]],
    }
)
SCHEMAS = {
    "flat": "id INT NOT NULL, name STRING NULL, day DATE NULL, f DOUBLE NULL",
    "nested": "id INT NOT NULL, tags ARRAY<STRING>, items ARRAY<STRUCT<p: INT, q: STRING>>",
}
TABLES = {"flat": FLAT, "nested": NESTED}


class Stream:
    """A library that nobody knows, which has Arrow's stream; ``is_once``: that can be read once."""

    def __init__(self, table: Any, is_once: bool) -> None:
        self._held = table.to_reader() if is_once else table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._held.__arrow_c_stream__(requested_schema)


class Array:
    """The same of one batch."""

    def __init__(self, table: Any) -> None:
        self._batch = table.combine_chunks().to_batches()[0]

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._batch.__arrow_c_array__(requested_schema)


FORMS: dict[str, Any] = {
    "a table": lambda table: table,
    "a batch": lambda table: table.combine_chunks().to_batches()[0],
    "a reader": lambda table: table.to_reader(),
    "a stream": lambda table: Stream(table, False),
    "a stream once": lambda table: Stream(table, True),
    "an array": Array,
    "pandas": lambda table: table.to_pandas(),
    "pandas over Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
}


def opened(what: str) -> Database:
    db = Database()
    db.table("t", SCHEMAS[what], key="id")
    return db


@pytest.mark.parametrize("native", ["0", "1"])
@pytest.mark.parametrize("what", ["flat", "nested"])
@pytest.mark.parametrize("form", FORMS)
def test_columns_are_their_rows(form, what, native, monkeypatch):
    monkeypatch.setenv("NESTLING_NATIVE", native)
    made, expected = FORMS[form], opened(what)
    expected.insert("t", TABLES[what].to_pylist())
    for call in ("insert", "upsert", "sync"):
        db = opened(what)
        assert getattr(db, call)("t", made(TABLES[what])).tables["t"] == 3
        assert db._state.rows("t") == expected._state.rows("t")
    assert db.delete("t", made(TABLES[what])).tables["t"] == 3
    assert not db._state.rows("t")
    feed = TABLES[what].append_column("_change_type", pa.array(["insert"] * 3))
    db.apply({"t": made(feed)})
    assert db._state.rows("t") == expected._state.rows("t")
    with db.transaction() as change:
        change.sync("t", made(TABLES[what].slice(0, 1)))
    assert len(db._state.rows("t")) == 1


@pytest.mark.parametrize("form", FORMS)
def test_what_is_wrong_with_a_stream_is_said_of_its_rows(form):
    """The door read it; the long way, which says what is wrong, does not read it again."""
    db = opened("flat")
    db.insert("t", FLAT)
    with pytest.raises(nl.ChangeError, match="already has a row with key 1"):
        db.insert("t", FORMS[form](FLAT))
    with pytest.raises(nl.ChangeError, match="there is no column 'other'"):
        db.insert("t", FORMS[form](FLAT.append_column("other", pa.array([1, 2, 3]))))
    assert len(db._state.rows("t")) == 3


@pytest.mark.parametrize("what", ["flat", "nested"])
def test_tables_and_views_are_streams_of_arrow(what):
    db = opened(what)
    db.insert("t", TABLES[what])
    db.view("v", "[x for x in t if x.id > 1]", language="python")
    for whole, count in ((db.tables["t"], 3), (db.views["v"], 2)):
        assert pa.table(whole) == whole.to_arrow()
        assert pa.table(whole).num_rows == count
    assert pa.table(opened(what).tables["t"]).num_rows == 0
    again = opened(what)
    again.insert("t", db.tables["t"])
    assert again._state.rows("t") == db._state.rows("t")
