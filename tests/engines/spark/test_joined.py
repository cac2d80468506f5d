"""Statements by Arrow add what the same statements add row by row; no session is needed for either."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from random import Random

import pyarrow as pa
import pytest

from nestling import Database
from nestling.calculus.terms import Const, Var
from nestling.calculus.types import INT
from nestling.database.spark.programs import program_of
from nestling.engine.protocol import Row
from nestling.engine.spark import limits
from nestling.engine.spark.columns import layouts
from nestling.engine.spark.driver import Driver
from nestling.engine.spark.driver.files import Files
from nestling.engine.spark.driver.joined import _product, is_joined
from nestling.engine.spark.driver.run import _Looking
from nestling.engine.spark.state import LakeState, SourceChange, SourceRows
from nestling.engine.spark.types import arrow_table, values
from nestling.program.batches import change_of
from nestling.program.statements import Program, Statement
from nestling.program.steps import trigger_statements
from nestling.values.label import Label

VIEWS = {
    "sums": "SELECT c.segment, o.priority, sum(i.qty) AS q, sum(i.price) AS p, count(*) AS n FROM orders o"
    " JOIN customers c ON c.ckey = o.ckey LATERAL VIEW explode(o.items) t AS i GROUP BY c.segment, o.priority",
    "distinct_": "SELECT DISTINCT c.segment, i.part FROM orders o JOIN customers c ON c.ckey = o.ckey"
    " LATERAL VIEW explode(o.items) t AS i",
    "outer_": "SELECT c.ckey, c.name, count(o.okey) AS n, sum(o.total) AS t FROM customers c"
    " LEFT JOIN orders o ON o.ckey = c.ckey GROUP BY c.ckey, c.name",
    "best": "SELECT c.ckey, array(SELECT named_struct('okey', o.okey, 'total', o.total) FROM orders o"
    " WHERE o.ckey = c.ckey ORDER BY o.total DESC, o.okey LIMIT 2) AS best FROM customers c",
    "tested": "SELECT o.day, sum(i.price * i.qty) AS p FROM orders o LATERAL VIEW explode(o.items) t AS i"
    " WHERE o.priority = 'a' AND i.qty > 1 GROUP BY o.day",
    "nulls": "SELECT o.clerk, count(*) AS n, max(o.okey) AS k FROM orders o GROUP BY o.clerk",
}


def program() -> Program:
    db = Database()
    db.table("customers", "ckey BIGINT, name STRING, segment STRING", key="ckey")
    items = [{"part": int, "qty": int, "price": Decimal}]
    own = {"okey": int, "ckey": int, "day": date, "priority": str, "clerk": str | None, "total": Decimal}
    db.table("orders", own | {"items": items}, key="okey")
    for name, text in VIEWS.items():
        db.view(name, text)
    return program_of(db._state, db._state.views.shared)


PROGRAM = program()
LAYOUTS = layouts(PROGRAM)
STATEMENTS = [s for trigger in PROGRAM.triggers.values() for s in trigger_statements(trigger)]


def tables(random: Random, keys: range) -> dict[str, list[Row]]:
    """Rows of all tables, each once."""
    found: dict[str, list[Row]] = {"customers": [], "orders": [], "orders.items": []}
    found["customers"] = [(k, f"n{k}", random.choice("xy"), 1) for k in range(6)]
    for key in keys:
        label, total = Label("orders.items", (key,)), Decimal(random.randrange(900)) / 100
        day, clerk = date(2020, 1, 1 + random.randrange(3)), random.choice([None, "k"])
        # Some customers are not there.
        row = (key, random.randrange(8), day, random.choice("ab"), clerk, total, label, 1)
        found["orders"].append(row)
        items = {(part, random.randrange(4), Decimal(part) / 4) for part in range(random.randrange(4))}
        found["orders.items"] += [(label, *item, random.randrange(1, 3)) for item in items]
    return found


def moment(random: Random) -> LakeState:
    """Stored rows, and a change of each table: of what is there some goes, and more comes."""
    stored, new = tables(random, range(20)), tables(random, range(20, 40))
    driver = Driver(Files(None))
    sources = {name: SourceRows() for name in LAYOUTS}
    for name, rows in stored.items():
        sources[name] = SourceRows((), arrow_table(LAYOUTS[name].columns, rows))
    found = LakeState(None, LAYOUTS, sources, driver)
    for name, rows in stored.items():
        gone = [(*row[:-1], -row[-1]) for row in rows if random.random() < 0.5]
        change = arrow_table(LAYOUTS[name].columns, gone + (new[name] if name != "customers" else []))
        found.changes[change_of(name)] = SourceChange(LAYOUTS[name], change)
    return found


def added(statement: Statement, at: LakeState) -> Mapping[Row, Row]:
    """What one statement adds, by key."""
    layout = LAYOUTS[statement.target]
    table = Driver(Files(None)).added([statement], at)[statement.target]
    assert table.schema == arrow_table(layout.columns, []).schema
    width = len(layout.keys)
    rows = values([type_ for _, type_ in layout.columns], table)
    assert len({row[:width] for row in rows}) == len(rows)
    return {row[:width]: row[width:] for row in rows}


def started(statements: list[Statement]) -> list[Statement]:
    """Those that start from a change of a table."""
    return [s for s in statements if s.steps and getattr(s.steps[0], "source", "")[1:] in PROGRAM.tables]


@pytest.mark.parametrize("seed", range(12))
def test_arrow_adds_what_rows_add(monkeypatch, seed):
    at = moment(Random(seed))
    for statement in started(STATEMENTS):
        monkeypatch.setattr(limits, "MIN_JOINED_ROWS", 1_000_000)
        by_row = added(statement, at)
        monkeypatch.setattr(limits, "MIN_JOINED_ROWS", 1)
        assert added(statement, at) == by_row, statement.text
        driver, layout = Driver(Files(None)), LAYOUTS[statement.target]
        found = driver._joined([statement], layout, _Looking(driver, at))
        assert (found is not None) == is_joined(statement, LAYOUTS, layout)


def test_what_the_views_need_is_joined():
    """all that starts from a change of orders or items"""
    mine = [s for s in started(STATEMENTS) if s.steps[0].source != "Δcustomers"]  # type: ignore[union-attr]
    taken = [s for s in mine if is_joined(s, LAYOUTS, LAYOUTS[s.target])]

    assert taken == mine
    assert any(len(s.steps) == 3 for s in taken)
    assert any("Check" in {type(step).__name__ for step in s.steps} for s in taken)


def test_a_sum_or_a_product_that_overflows_is_left_to_the_rows(monkeypatch):
    """which say so"""
    half = Decimal("9000000000000000000.5")
    number = pa.array([half], pa.decimal128(37, 18))
    for times in (3, 10**18):
        with pytest.raises(pa.ArrowInvalid):
            _product(pa.array([times]), number)
    with pytest.raises(pa.ArrowInvalid):
        _product(pa.array([2**62]), pa.array([4]))
    assert _product(pa.array([-1]), number).to_pylist() == [-half]


def test_what_looks_up_by_nothing_is_for_rows():
    found = next(s for s in STATEMENTS if is_joined(s, LAYOUTS, LAYOUTS[s.target]))
    layout = LAYOUTS[found.target]
    assert not is_joined(Statement(found.target, (), (Const(1, INT),), found.steps[1:]), LAYOUTS, layout)
    assert not is_joined(Statement(found.target, found.keys, found.amounts, ()), LAYOUTS, layout)
    assert not is_joined(
        Statement(found.target, found.keys, (Var("f", layout.keys[0]),), found.steps), LAYOUTS, layout
    )
