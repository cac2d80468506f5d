"""The second part: orders change deep inside, and a nested view hears of it element by element."""

from __future__ import annotations

from itertools import count
from random import Random
from typing import Any

from rich.console import Console

from nestling.cli.demo.growth import Growth
from nestling.cli.demo.measure import MeasuredChange, MeasuredView
from nestling.cli.demo.show import change_tree, code, heading
from nestling.cli.terminal import counted, progress
from nestling.database import Database

CUSTOMERS = (
    "Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gita", "Hugo", "Iris", "Jon",
    "Kim", "Leo", "Mia", "Noor", "Omar", "Pia", "Quin", "Rosa", "Sam", "Tess",
)  # fmt: skip
PRODUCTS = (
    "teapot", "cup", "kettle", "tray", "spoon", "honey", "scone", "jam", "lemon", "milk",
    "biscuit", "sugar", "strainer", "caddy", "cosy", "plate", "napkin", "timer", "scale", "whisk",
)  # fmt: skip
ORDERS = 120
TABLES = ("customers", "orders", "products")
TEXT = """\
db.table("customers", {"id": int, "name": str}, key="id")
db.table("products", {"pid": int, "name": str, "price": int}, key="pid")
db.table("orders", "id INT, customer INT, items ARRAY<STRUCT<pid: INT, qty: INT>>", key="id")

@db.view
def history(customers, orders, products):
    return [
        {"customer": c.name, "orders": [
            {"order": o.id, "items": [
                {"product": p.name, "qty": i.qty, "cost": i.qty * p.price}
                for i in o.items for p in products if p.pid == i.pid]}
            for o in orders if o.customer == c.id]}
        for c in customers]"""


def history(customers: Any, orders: Any, products: Any) -> Any:
    """Per customer the orders, with items that know their product."""
    return [
        {
            "customer": c.name,
            "orders": [
                {
                    "order": o.id,
                    "items": [
                        {"product": p.name, "qty": i.qty, "cost": i.qty * p.price}
                        for i in o.items
                        for p in products
                        if p.pid == i.pid
                    ],
                }
                for o in orders
                if o.customer == c.id
            ],
        }
        for c in customers
    ]


def shop(console: Console) -> list[MeasuredChange]:
    """Show what a subscriber hears of changes at every depth."""
    heading(console, 2, "A shop: deep updates reach a nested view")
    console.print("Per customer the orders, per order the items, each with its product and cost:")
    console.print(code(TEXT))
    stage = _stage()
    db = stage.database
    items = sum(len(order.items) for order in db.table("orders"))
    loaded = (counted(len(CUSTOMERS), "customer"), counted(ORDERS, "order"), counted(items, "item"))
    console.print(f"{', '.join(loaded)} are loaded. What a subscriber hears of five changes:\n")
    order = db.table("orders").at(7)
    changes = (
        ("order 7 gains an item", lambda: order.items.insert([{"pid": 2, "qty": 3}])),
        ("order 7 loses it again", lambda: order.items.delete([{"pid": 2, "qty": 3}])),
        ("the teapot gets dearer", lambda: db.update("products", key=0, set={"price": 3900})),
        ("order 500 arrives", lambda: db.insert("orders", [(500, 3, [(0, 1), (5, 2)])])),
        ("order 500 is cancelled", lambda: db.delete("orders", key=500)),
    )
    for what, action in changes:
        console.print(change_tree(stage.step(what, action), f"[bold]{what}"))
    return stage.steps


def growing() -> Growth:
    """Ever more orders; one gains an item and loses it again, and a subscriber is told."""
    stage, random = _stage(), Random(7)
    order = stage.database.table("orders").at(7)

    def change() -> None:
        order.items.insert([{"pid": 2, "qty": 3}])
        order.items.delete([{"pid": 2, "qty": 3}])

    rows = ((n, random.randrange(len(CUSTOMERS)), _items(random)) for n in count(ORDERS))
    what = "order 7 gains an item and loses it"
    return Growth(stage.database, history, TABLES, "orders", rows, (ORDERS, 1_000, 5_000), change, what)


def _stage() -> MeasuredView:
    db = Database()
    db.table("customers", {"id": int, "name": str}, key="id")
    db.table("products", {"pid": int, "name": str, "price": int}, key="pid")
    db.table("orders", "id INT, customer INT, items ARRAY<STRUCT<pid: INT, qty: INT>>", key="id")
    stage = MeasuredView(db, db.view("history", history), history, TABLES)
    random = Random(2016)
    db.insert("customers", list(enumerate(CUSTOMERS)))
    db.insert("products", [(pid, name, random.randrange(99, 4900)) for pid, name in enumerate(PRODUCTS)])
    with progress("loading orders", ORDERS) as advance:
        for number in range(ORDERS):
            db.insert("orders", [(number, random.randrange(len(CUSTOMERS)), _items(random))])
            advance(1)
    return stage


def _items(random: Random) -> list[tuple[int, int]]:
    return [(pid, random.randint(1, 4)) for pid in random.sample(range(len(PRODUCTS)), random.randint(1, 4))]
