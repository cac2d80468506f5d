"""Triggers or recomputation, by what rows cost: no JVM is needed to choose."""

from collections.abc import Mapping
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.database.database import Database
from nestling.engine.spark import limits
from nestling.engine.spark.choice import costs, recomputed_maps, recomputed_views, transaction_rows
from nestling.engine.spark.state import LakeState, SourceRows, TempView
from nestling.program.statements import Program
from nestling.program.steps import maps_of
from nestling.transform.pipeline import SPARK, compile_view
from nestling.transform.viewlet import compile_batches

BY_CUSTOMER = "[(c.cid, sum(i.qty for o in orders if o.cust == c.cid for i in o.items)) for c in customers]"


@pytest.fixture(scope="module")
def program() -> Program:
    db = Database()
    db.table("customers", {"cid": int, "name": str}, key="cid")
    db.table("orders", "id BIGINT, cust BIGINT, items ARRAY<STRUCT<part: BIGINT, qty: BIGINT>>", key="id")
    db.view("spent", BY_CUSTOMER, language="python")
    tables, query = db._state.declarations(), db._state.definitions["spent"].query
    found = compile_view(
        query,
        SPARK,
        lambda flat: compile_batches(tables, {"spent": flat}, store={"spent": "counts"}),
        lambda guard: None,
    )
    assert found.flat is not None
    return compile_batches(tables, {"spent": found.flat}, store={"spent": "counts"})


def moment(program: Program, rows: Mapping[str, int]) -> LakeState:
    stored = {
        name: SourceRows((TempView("none", rows.get(name, 0)),)) for name in (*program.tables, *program.maps)
    }
    return LakeState(None, {}, stored, cast(Any, None))


SIZES = st.integers(0, 10_000_000)


@given(SIZES, SIZES, SIZES, SIZES)
def test_triggers_cost_more_for_more_rows_and_recomputation_for_more_that_are_stored(
    program, orders, items, changed, more
):
    maps = maps_of(program, "spent")
    small = moment(program, {"orders": orders, "orders.items": items})
    large = moment(program, {"orders": orders + more, "orders.items": items})
    before, after = (costs(program, small, {"orders": rows}, maps) for rows in (changed, changed + more))

    assert before.recomputation == after.recomputation
    assert before.recomputation <= costs(program, large, {"orders": changed}, maps).recomputation
    # Where the driver no longer runs them a row costs less, but what it meets is scanned.
    if (changed > limits.MAX_DRIVER_ROWS) == (changed + more > limits.MAX_DRIVER_ROWS):
        assert before.triggers <= after.triggers


def test_a_transaction_may_be_longer_where_more_is_stored_and_never_much_longer(program):
    def most(stored: int) -> int:
        return transaction_rows(program, moment(program, {"orders": stored}))

    least = limits.MAX_TRANSACTION_ROWS
    assert most(0) == most(least * limits.STORED_PER_TRANSACTION_ROW) == least
    assert least < most(2 * least * limits.STORED_PER_TRANSACTION_ROW - 300) < 2 * least
    assert most(10**12) == limits.TRANSACTION_FACTOR * least


def test_few_rows_go_through_triggers_and_all_of_a_table_does_not(program):
    there = moment(program, {"customers": 150_000, "orders": 1_500_000, "orders.items": 6_000_000})

    def views(orders: int) -> tuple[str, ...]:
        changes = {"orders": orders, "orders.items": 4 * orders}
        return recomputed_views(program, recomputed_maps(program, there, changes))

    assert views(1) == views(10_000) == views(100_000) == ()
    assert views(1_500_000) == ("spent",)
