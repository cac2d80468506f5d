"""Updates and kept references on Spark: what comes in the place of a row, and what references leave out."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

import nestling as nl
from nestling.engine.protocol import Batch
from nestling.engine.reference import ReferenceEngine
from nestling.engine.spark.engine import SparkEngine
from nestling.program.statements import Program
from nestling.transform.viewlet import compile_batches
from nestling.transform.viewlet.storing import Storing
from tests.engines.test_updates import shop
from tests.engines.worlds import flat_view

pytestmark = pytest.mark.xdist_group("spark")

#: What is looked up, summed, counted and compared along the reference, and two orders that meet.
VIEWS = {
    "names": "[(o.no, c.name) for o in orders for c in customers if c.id == o.customer]",
    "totals": "[(c.city, sum(o.amount for o in orders if o.customer == c.id)) for c in customers]",
    "there": "[o.no for o in orders for c in customers if c.id == o.customer]",
    "some": "[c.name for c in customers if sum(o.amount for o in orders if o.customer == c.id) > 8]",
    "pairs": "[(o.no, p.no, c.name) for o in orders for p in orders for c in customers"
    " if o.customer == c.id and p.customer == c.id and o.amount < p.amount]",
}
NAMES = "select struct(no: o.no, name: o.customer.name) from o in orders"
CITIES = "select struct(city: city, n: count(partition)) from o in orders group by city: o.customer.city"


@pytest.fixture(params=[pytest.param("by_queries", marks=pytest.mark.soak), "by_the_driver"])
def views(request: Any) -> tuple[str, ...]:
    """Where the driver takes all, which is quick, all of them."""
    if request.param == "by_the_driver":
        return tuple(VIEWS)
    request.getfixturevalue("by_queries")
    return "names", "there"


def programs(views: tuple[str, ...]) -> tuple[Program, Program]:
    """Of some views: where references are relied on, and where nothing is said of them."""
    db = shop()
    flat = {}
    for name in views:
        db.view(name, VIEWS[name], language="python")
        flat[name] = flat_view(db._state.views[name].definition.query, exact=False)
    tables = db._state.declarations()
    unreferred = {name: replace(table, references=()) for name, table in tables.items()}
    store: dict[str, Storing] = dict.fromkeys(views, "full")
    return compile_batches(tables, flat, store=store), compile_batches(unreferred, flat, store=store)


class Moves:
    """Batches over a shop in which every order has its customer, after each of them."""

    def __init__(self, seed: int) -> None:
        self.random, self.next = Random(seed), 0
        self.customers: dict[int, Any] = {}
        self.orders: dict[int, Any] = {}

    def batch(self) -> Batch:
        """Customers with their orders come, change and go, all together."""
        before = dict(self.customers), dict(self.orders)
        for _ in range(3):
            self.customers[self.next] = (self.next, *self.said())
            self.next += 1
        for id_ in self.random.sample(sorted(self.customers), len(self.customers) // 3):
            if self.random.random() < 0.4:
                del self.customers[id_]
                self.orders = {no: order for no, order in self.orders.items() if order[1] != id_}
            else:
                self.customers[id_] = (id_, *self.said())
        for _ in range(9):
            self.orders[self.next] = (self.next, *self.ordered())
            self.next += 1
        for no in self.random.sample(sorted(self.orders), 2):
            self.orders[no] = (no, *self.ordered())
        now = self.customers, self.orders
        return {
            name: differing(*both) for name, *both in zip(("customers", "orders"), before, now, strict=True)
        }

    def update(self, table: str) -> Batch:
        """One row, and what comes in its place."""
        rows: dict[int, Any] = getattr(self, table)
        key = self.random.choice(sorted(rows))
        old, rows[key] = rows[key], (key, *(self.said() if table == "customers" else self.ordered()))
        return {table: differing({key: old}, {key: rows[key]})}

    def said(self) -> tuple[Any, ...]:
        name, city = (self.random.choice(["Ada", "Bo", "Cy"]) for _ in range(2))
        return name, city, self.random.choice([None, "", "note"])

    def ordered(self) -> tuple[int, int]:
        return self.random.choice(sorted(self.customers)), self.random.randrange(9)


def differing(old: dict[int, Any], new: dict[int, Any]) -> list[tuple[Any, int]]:
    gone = [(row, -1) for key, row in old.items() if new.get(key) != row]
    return gone + [(row, 1) for key, row in new.items() if old.get(key) != row]


def test_an_update_is_its_row_gone_and_come(spark, views):
    """run(old, new) = run(old, -1); run(new, +1) on every map, which is its query

    Nothing is said of references: what has referrers does not go.
    """
    program, moves = programs(views)[1], Moves(1)
    at_once, in_two, reference = (
        SparkEngine(program, spark),
        SparkEngine(program, spark),
        ReferenceEngine(program),
    )
    for table in ("", "customers", "orders"):
        changes = moves.update(table) if table else moves.batch()
        for engine in (at_once, reference):
            engine.apply_batch(changes)
        for times in (-1, 1) if table else ():
            in_two.apply_batch({table: [change for change in changes[table] if change[1] == times]})
        if not table:
            in_two.apply_batch(changes)
    agree(program, at_once, in_two, reference)


def test_references_leave_out_only_what_adds_nothing(spark, views):
    """with and without the reference rules the same answers, whatever comes, goes and changes in one batch"""
    with_rules, without = programs(views)
    assert statements(with_rules) < statements(without)
    kept, unkept, reference = (
        SparkEngine(with_rules, spark),
        SparkEngine(without, spark),
        ReferenceEngine(with_rules),
    )
    moves = Moves(2)
    for step in (moves.batch, lambda: moves.update("customers"), moves.batch):
        changes = step()
        for engine in (kept, unkept, reference):
            engine.apply_batch(changes)
    assert [unkept.read(name) for name in views] == [kept.read(name) for name in views]
    agree(with_rules, kept, reference)


def statements(program: Program) -> int:
    return sum(len(trigger.actions) for trigger in program.triggers.values())


def agree(program: Program, *engines: SparkEngine | ReferenceEngine) -> None:
    """All maps and answers are the same, and there is something in them."""
    first, *others = engines
    cells = {name: first.cells(name) for name in program.maps}
    assert all([*first.read(name)] for name in program.views)
    for other in others:
        assert {name: other.cells(name) for name in program.maps} == cells
        assert [other.read(name) for name in program.views] == [first.read(name) for name in program.views]


def test_an_attribute_that_no_view_reads_changes_no_map(spark, tmp_path):
    """of what is stored only the table is another; an attribute that is read changes what reads it"""
    with nl.Database(spark=spark, path=tmp_path / "lake") as db:
        shop(db)
        for name, text in {"names": NAMES, "cities": CITIES}.items():
            db.view(name, text, language="oql", store="full")

        def changed(column: str) -> set[str]:
            before = dict(db._state.running.now.stored)
            db.update("customers", key=1, set={column: f"new {column}"})
            now = db._state.running.now.stored
            return {name for name in now if now[name] is not before[name]}

        assert changed("notes") == {"customers"}
        assert {db._state.running.program.maps[name].role for name in changed("name") - {"customers"}} == {
            "rows"
        }
        db.verify(maps=True)
