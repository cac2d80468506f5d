"""How files are sorted, and how much of them a look-up reads: row groups are counted, never times; without Spark."""

from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="files are Parquet: pip install nestling[spark]")

import nestling as nl  # noqa: E402 - after the skip
from nestling.calculus.types import INT, LABEL, STR, Type  # noqa: E402 - after the skip
from nestling.engine.spark.columns import Layout, layouts  # noqa: E402 - after the skip
from nestling.engine.spark.driver.files import Files, Rows  # noqa: E402 - after the skip
from nestling.engine.spark.driver.lookup import Budget, entries  # noqa: E402 - after the skip
from nestling.engine.spark.merging import in_order  # noqa: E402 - after the skip
from nestling.engine.spark.orders import lookups, orders  # noqa: E402 - after the skip
from nestling.engine.spark.state import SourceRows, TempView  # noqa: E402 - after the skip
from nestling.engine.spark.types import arrow_table  # noqa: E402 - after the skip
from nestling.program.statements import Program  # noqa: E402 - after the skip
from nestling.storage.lake.files import parquet_bytes  # noqa: E402 - after the skip
from nestling.storage.lake.local import LocalStore  # noqa: E402 - after the skip
from nestling.transform.pipeline import SPARK, flat_form  # noqa: E402 - after the skip
from nestling.transform.viewlet import compile_batches  # noqa: E402 - after the skip
from nestling.values.label import Label  # noqa: E402 - after the skip

GROUP = 1000


def declare(db: nl.Database) -> None:
    db.table("customers", {"cid": int, "region": str}, key="cid")
    db.table("orders", {"id": int, "cust": int, "price": int, "items": [{"pid": int, "qty": int}]}, key="id")


def shop(query: str) -> Program:
    db = nl.Database()
    declare(db)
    view = db.view("v", query, language="python")
    flat = flat_form(db._state.views[view.name].definition.query, SPARK)
    return compile_batches(db._state.declarations(), {"v": flat}, store={"v": "full"})


def test_maps_are_sorted_by_what_statements_give():
    """customers are in the middle of the map of orders, and a change of one finds its orders by it"""
    program = shop("[(c.cid, [(o.id, o.price) for o in orders if o.cust == c.cid]) for c in customers]")
    found = orders(program)
    assert found["customers"] == (0, 1)
    assert found["orders"][0] == 0
    assert found["orders.items"] == (0, 1, 2)
    given = [name for name, decl in program.maps.items() if found[name][0] > 0 and len(decl.columns) > 1]
    assert given
    assert all(sorted(found[name]) == list(range(len(decl.columns))) for name, decl in program.maps.items())
    assert {name: layout.order for name, layout in layouts(program).items() if name in found} == found


def test_a_table_is_sorted_by_its_key_however_many_views_of_others_find_it_otherwise():
    """a change of an order finds it by key, one of an item by the label that is made from the key; a change of a
    customer finds orders by their customer, once for all views"""
    summed = (
        "[(r, sum({} for c in customers for o in orders for i in o.items if c.region == r and o.cust == c.cid))"
        " for r in {{c.region for c in customers}}]"
    )
    db = nl.Database()
    declare(db)
    views = [
        db.view(f"v{n}", summed.format(what), language="python").name
        for n, what in enumerate(("i.qty", "i.qty * i.qty", "i.qty * o.price", "i.pid"))
    ]
    flat = {view: flat_form(db._state.views[view].definition.query, SPARK) for view in views}
    program = compile_batches(db._state.declarations(), flat, store=dict.fromkeys(flat, "counts"))
    found = lookups(program)["orders"]
    assert found[1,] >= 3  # a change of a customer asks for it
    assert (3,) not in found
    assert found[1,] < found[0,]
    assert orders(program)["orders"][0] == 0


def stored(folder: Path, layout: Layout, rows: list[Any]) -> SourceRows:
    table = in_order(arrow_table(layout.columns, rows), layout)
    (folder / "rows.parquet").write_bytes(parquet_bytes(table, GROUP))
    return SourceRows((TempView("", len(rows), ("rows.parquet",)),))


def key(type_: Type, number: int) -> Any:
    return {INT: number, STR: f"key {number:09d}", LABEL: Label("t", (number,))}[type_]


@pytest.mark.parametrize("type_", [INT, STR, LABEL], ids=["int", "str", "label"])
@pytest.mark.parametrize("size", [20_000, 200_000])
def test_a_look_up_by_the_second_column_reads_few_groups_at_any_size(tmp_path, type_, size):
    """a tenth of the groups would be 2 and 20: it is never more than 2, and halving goes through no column"""
    layout = Layout((INT, type_), order=(1, 0))
    rows = [(i * 7919 % size, key(type_, i // 4), 1) for i in range(size)]
    source, files = stored(tmp_path, layout, rows), Files(LocalStore(tmp_path))
    for number in (0, size // 8, size // 4 - 1):
        before = files.reads
        found = entries(files, source, layout, (1,), {(key(type_, number),)}, Budget())
        assert sorted(found[key(type_, number),]) == sorted(rows[4 * number : 4 * number + 4])
        assert files.reads - before <= 2
        groups = [files.groups("rows.parquet")[0]]
        asked = arrow_table([("k1", type_)], [(key(type_, number),)])
        assert all(files.cost(group, layout, asked) == 0 for group in groups if number == 0)


def test_a_look_up_that_gives_no_sorted_column_goes_through_all(tmp_path):
    """the answer is the same; a file of an older order is pruned by what it is sorted by"""
    layout = Layout((INT, INT), order=(1, 0))
    rows = [(i % 100, i, 1) for i in range(5 * GROUP)]
    source, files = stored(tmp_path, layout, rows), Files(LocalStore(tmp_path))
    found = entries(files, source, layout, (0,), {(7,)}, Budget())
    assert len(found[7,]) == len(rows) // 100
    assert files.reads == 5
    other, again = Layout((INT, INT), order=(0, 1)), Files(LocalStore(tmp_path))
    assert entries(again, source, other, (1,), {(4321,)}, Budget()) == {(4321,): [(21, 4321, 1)]}
    assert again.reads == 1


def test_what_is_near_has_a_value_asked_for_in_every_column():
    """whether it is found by halving or not"""
    layout = Layout((INT, INT))
    table = arrow_table(layout.columns, [(i // 10, i % 10, 1) for i in range(1000)])
    for many in (1, 90):
        asked = arrow_table([("k1", INT), ("k0", INT)], [(3, i) for i in range(many)])
        rows = Rows(table, "k0")
        assert rows.is_halved(asked) == (many == 1)
        assert rows.near(asked).num_rows == many


def test_nulls_are_found(tmp_path):
    layout = Layout((INT, STR))
    table = pa.table({"k0": [1, 2, None], "k1": ["a", None, "b"], "m0": [1, 1, 1]})
    (tmp_path / "rows.parquet").write_bytes(parquet_bytes(table, GROUP))
    source = SourceRows((TempView("", 3, ("rows.parquet",)),))
    found = entries(
        Files(LocalStore(tmp_path)), source, layout, (0, 1), {(None, "b"), (2, None), (1, "z")}, Budget()
    )
    assert found == {(None, "b"): [(None, "b", 1)], (2, None): [(2, None, 1)]}
