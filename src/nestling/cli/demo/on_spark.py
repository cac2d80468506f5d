"""``nestling demo --engine spark``: orders change, and views on Spark follow; beside each, Spark's recomputation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

from nestling.cli.demo.shop import CUSTOMERS, PRODUCTS, TEXT, history
from nestling.cli.demo.show import code, heading
from nestling.cli.engines import session
from nestling.cli.terminal import answers, counted, duration, progress, ratio
from nestling.database import Database
from nestling.errors import NestlingError

ORDERS = 2_000
FRAME = """\
def spend(db):
    items = db.table("orders").df().selectExpr("customer", "inline(items)")
    lines = items.join(db.table("products").df(), "pid").selectExpr("customer", "qty * price AS cents")
    return lines.groupBy("customer").sum("cents")

db.view("history", history)
db.view("spend", spend(db))    # a DataFrame is a query, too"""


def spend(db: Any) -> Any:
    """What each customer has spent, as a DataFrame over the tables as they are now."""
    items = db.table("orders").df().selectExpr("customer", "inline(items)")
    lines = items.join(db.table("products").df(), "pid").selectExpr("customer", "qty * price AS cents")
    return lines.groupBy("customer").sum("cents")


def demo_on_spark() -> None:
    """Load orders, make two views, change the tables, and compare with what Spark computes anew."""
    console = answers()
    console.print("[bold]Nestling[/] on Spark: the same views, its state in files under a folder.")
    with progress("starting Spark", 1) as advance, session() as spark, TemporaryDirectory() as folder:
        advance(1)
        with Database(spark=spark, path=Path(folder) / "shop") as database:
            _Shop(console, database).show()


class _Shop:
    def __init__(self, console: Console, database: Any) -> None:
        self.console, self.db, self.random = console, database, Random(2016)
        self.table = Table(
            "what changed", title="What each step took", title_justify="left", title_style="bold"
        )
        for column in ("views brought up to date in", "spend recomputed by Spark in", "ratio"):
            self.table.add_column(column, justify="right")

    def show(self) -> None:
        heading(self.console, 1, "Tables and views")
        self.console.print(code(TEXT), code(FRAME))
        self._load()
        heading(self.console, 2, "Changes")
        order = self.db.table("orders").at(7)
        self._step("an order arrives, and Spark warms up", lambda: self._orders(ORDERS, 1))
        self._step("order 7 gains an item", lambda: order.items.insert([{"pid": 2, "qty": 3}]))
        self._step("the teapot gets dearer", lambda: self.db.update("products", key=0, set={"price": 3900}))
        self._step("ten orders arrive", lambda: self._orders(ORDERS + 1, 10))
        self._step("order 7 is cancelled", lambda: self.db.delete("orders", key=7))
        self.console.print(self.table)
        self.console.print(
            f"After every step spend was compared with Spark's own answer. {counted(ORDERS, 'order')} are few: a "
            "recomputation grows with the tables, a change with what it changes; `nestling bench` has larger ones."
        )
        heading(self.console, 3, "How a view is kept")
        self.console.print(self.db.views["spend"].explain(), soft_wrap=True, markup=False)

    def _load(self) -> None:
        self.db.table("customers", {"id": int, "name": str}, key="id")
        self.db.table("products", {"pid": int, "name": str, "price": int}, key="pid")
        self.db.table("orders", "id INT, customer INT, items ARRAY<STRUCT<pid: INT, qty: INT>>", key="id")
        self.db.insert("customers", list(enumerate(CUSTOMERS)))
        prices = [self.random.randrange(99, 4900) for _ in PRODUCTS]
        self.db.insert("products", [(i, *pair) for i, pair in enumerate(zip(PRODUCTS, prices, strict=True))])
        self._orders(0, ORDERS)
        self.db.view("history", history)
        self.db.view("spend", spend(self.db))
        self.console.print(
            f"{counted(ORDERS, 'order')} are loaded, and the views computed from them in bulk."
        )

    def _orders(self, first: int, number: int) -> None:
        rows = [
            (n, self.random.randrange(len(CUSTOMERS)), self._items()) for n in range(first, first + number)
        ]
        self.db.insert("orders", rows)

    def _items(self) -> list[tuple[int, int]]:
        chosen = self.random.sample(range(len(PRODUCTS)), self.random.randint(1, 4))
        return [(pid, self.random.randint(1, 4)) for pid in chosen]

    def _step(self, what: str, action: Callable[[], object]) -> None:
        started = perf_counter()
        action()
        took = perf_counter() - started
        frame = spend(self.db)
        started = perf_counter()
        expected = Counter(map(tuple, frame.collect()))
        anew = perf_counter() - started
        if Counter(map(tuple, self.db.view_df("spend").collect())) != expected:
            raise NestlingError(f"spend is not what Spark computes after: {what}")
        self.table.add_row(what, duration(took), duration(anew), ratio(anew, took))
