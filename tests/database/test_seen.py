"""``sync`` of rows that are known from the last snapshot: what it does is what it does without knowing them."""

from array import array
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from nestling.database import seen
from nestling.database.definitions import TableDef
from nestling.frontend.schema import row_value

SCHEMA = {"k": int, "a": str, "bags": list[list[int]]}
ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from("ab"), st.lists(st.lists(st.integers(0, 2), max_size=2), max_size=2)),
    unique_by=lambda row: row[0],
)  # fmt: skip


@given(
    st.lists(st.tuples(ROWS, st.sampled_from(["sync", "again", "apply", "add column", "drop"])), max_size=6)
)
def test_a_snapshot_leaves_what_it_says(steps):
    db = nl.Database()
    table = db.table("t", SCHEMA, key="k")
    view = db.view("v", "[(t.a, sum(len(b) for b in t.bags)) for t in t]", language="python")
    for rows, what in steps:
        width = len(table.columns)
        given = [(*row, *[0] * (width - 3)) for row in rows]
        if what == "apply":
            table.upsert(given)
            continue
        if what == "add column" and width < 5:
            table.add_column(f"c{width}", int, 0)
            given = [(*row, 0) for row in given]
        table.sync(given)
        if what == "again":
            assert table.sync([dict(zip(table.columns, row, strict=True)) for row in given]).events == 0
            assert table.sync(given).events == 0
        assert sorted(map(plain, table)) == sorted(map(plain, given))
    view.verify(maps=True)


def plain(row: Any) -> Any:
    return (*row[:2], sorted(map(sorted, row[2])), *row[3:])


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The rows that are read as values, from now on."""
    found: list[Any] = []

    def reader(table: TableDef, links: Any) -> Any:
        def noted(row: Any) -> Any:
            found.append(row)
            return row_value(table.record, row, links)

        return noted

    monkeypatch.setattr(TableDef, "reader", reader)
    return found


def test_only_rows_that_are_new_are_read(monkeypatch):
    db = nl.Database()
    table = db.table("t", SCHEMA, key="k")
    rows = [(n, "a", [[n]]) for n in range(200)]
    table.insert(rows)
    table.sync(rows)
    changed = [(0, "a", [[9]]), *rows[1:-1], (500, "b", [])]
    read = counted(monkeypatch)
    done = table.sync([(k, a, [list(bag) for bag in bags]) for k, a, bags in changed])
    assert {row[0] for row in read} <= {0, 199, 500}
    assert done.tables["t"] == 2, "a row that goes and one that comes; of the third, elements"
    assert sorted(row.k for row in table) == [*range(199), 500]
    read.clear()
    table.update(key=3, set={"a": "z"})
    table.sync(changed)
    assert len(read) >= len(changed), "somebody else has changed it: all are read"
    assert table[3].a == "a"


def test_a_row_that_its_owner_changes_is_another():
    db = nl.Database()
    table = db.table("t", SCHEMA, key="k")
    rows: list[Any] = [[n, "a", [[n]]] for n in range(3)]
    table.sync(rows)
    rows[1][2].append([7])
    table.sync(rows)
    assert table[1].bags == [[1], [7]]


@dataclass
class Quiet:
    k: int
    a: str = field(repr=False)
    bags: list[list[int]] = field(default_factory=list)


def test_what_does_not_say_all_has_no_digest():
    assert seen.digest(Quiet(1, "a")) is None
    assert seen.digest({"a": object()}) is None
    assert seen.digest((date(2024, 1, 1), Decimal("1.0"))) != seen.digest((date(2024, 1, 2), Decimal("1.0")))
    assert seen.digest((1,)) != seen.digest((True,)) != seen.digest((1.0,))
    db = nl.Database()
    table = db.table("t", SCHEMA, key="k")
    table.sync([Quiet(1, "a"), Quiet(2, "b")])
    table.sync([Quiet(1, "z"), Quiet(3, "b")])
    assert sorted((row.k, row.a) for row in table) == [(1, "z"), (3, "b")]


def test_arrays_with_the_same_bytes_are_not_taken_for_each_other():
    ones, floats = array("q", [1, 2]), array("d", [5e-324, 1e-323])
    assert bytes(ones) == bytes(floats) and seen.glance((1, ones)) == seen.glance((1, floats))
    assert seen.digest((1, ones)) is None
    assert seen.digest((1, bytes(ones))) not in (None, seen.glance((1, ones)))
    assert seen.digest((1, [2, "a"])) == seen.glance((1, [2, "a"])) != seen.glance((1, (2, "a")))


@given(st.lists(st.tuples(ROWS, ROWS), max_size=3))
def test_rows_with_bytes_and_dates_are_followed_as_well(pairs):
    db = nl.Database()
    table = db.table("t", {"k": int, "raw": bytes, "on": date, "bags": list[list[int]]}, key="k")
    for rows in (rows for pair in pairs for rows in pair):
        given = [(k, a.encode(), date(2024, 1, 1 + k), bags) for k, a, bags in rows]
        table.sync(given)
        assert sorted((row.k, row.raw, row.on) for row in table) == sorted(row[:3] for row in given)
        assert table.sync(list(given)).events == 0


def test_a_key_twice_is_refused_though_the_row_is_known():
    db = nl.Database()
    table = db.table("t", SCHEMA, key="k")
    rows = [(1, "a", [[1]]), (2, "a", [])]
    table.sync(rows)
    for wrong in ([*rows, rows[0]], [*rows, (1, "b", [])], [(1, "b", []), *rows]):
        with pytest.raises(nl.ChangeError, match="already has a row with key 1"):
            table.sync(wrong)
        assert sorted(table) == [(1, "a", [[1]]), (2, "a", [])]
    assert table.sync(rows).events == 0


def test_a_refused_snapshot_is_not_known():
    db = nl.Database()
    table = db.table("t", SCHEMA, key="k")
    db.constraint("few", "SELECT k FROM t WHERE k > 100")
    table.sync([(1, "a", [])])
    with pytest.raises(nl.ConstraintError):
        table.sync([(1, "a", []), (101, "a", [])])
    assert table.sync([(1, "a", [])]).events == 0
    with db.transaction() as t:
        t.sync("t", [(2, "b", [[1]])])
    assert table.sync([(1, "a", [])]).events
    assert table.rows() == [(1, "a", [])]


def test_scalars_of_numpy_with_the_same_bytes_are_not_taken_for_each_other():
    db = nl.Database()
    table = db.table("t", {"k": int, "x": float, "bags": list[int]}, key="k")
    one = np.float64(1.0)
    for x, stored in ((one, 1.0), (one.view(np.int64), float(2**52 * 1023)), (one, 1.0), (1.0, 1.0)):
        table.sync([(1, x, [1])])
        assert table.rows() == [(1, stored, [1])]
    with pytest.raises(nl.ChangeError):
        table.sync([(1, one.tobytes(), [1])])
