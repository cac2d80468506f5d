"""A shop: for each customer the orders, for each order its items with name and price. Two levels of nesting.

The items are an inner bag of the table itself, so most changes are deep: one element more or less in the bag
of one order, which holds about ``n`` others. What such a change costs should not depend on ``n``.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from . import workload
from .workload import Event, Row, Tables, Trigger, by_key, group, grows, run, take


@dataclass(frozen=True)
class Item:
    """An element of the items of an order; an event writes it as a tuple."""

    pid: int
    qty: int


SCHEMA: workload.Schema = {
    "customers": {"id": int, "name": str},
    "products": {"id": int, "name": str, "price": int},
    "orders": {"id": int, "customer": int, "items": list[Item]},
}
KEYS: workload.Keys = {"customers": "id", "products": "id", "orders": "id"}


def shop(customers, orders, products):
    """For each customer the orders, for each order its items with their names and what they cost."""
    return [
        (
            c.name,
            [
                (o.id, [(p.name, i.qty, i.qty * p.price) for i in o.items for p in products if p.id == i.pid])
                for o in orders
                if o.customer == c.id
            ],
        )
        for c in customers
    ]


VIEWS: dict[str, workload.View] = {"shop": shop}


@dataclass(frozen=True)
class Size:
    """How many elements an inner bag holds, of how many orders, and how many changes follow.

    ``shallow`` is the share of changes of whole rows: an order comes or goes, a product changes its price.
    """

    n: int = 100
    orders: int = 1_000
    customers: int = 100
    products: int = 1_000
    changes: int = 100_000
    shallow: float = 0.0
    seed: int = 1


def load(size: Size) -> Iterator[Event]:
    """The customers, the products, and the orders with ``n`` items each."""
    for customer in range(size.customers):
        yield "customers", (customer, f"customer {customer}"), +1
    for product in range(size.products):
        yield "products", (product, f"product {product}", 100 + product), +1
    yield from _Shop(size).open()


def events(size: Size) -> Iterator[Event]:
    """Elements of inner bags come and, as often, go; between them some changes of whole rows."""
    shop = _Shop(size)
    for _ in shop.open():
        pass
    for _ in range(size.changes):
        if not size.shallow or shop.rng.random() >= size.shallow:
            yield shop.change_items()
        elif shop.rng.random() < 0.5:
            yield shop.change_orders()
        else:
            yield from shop.change_price()


class _Shop:
    """What the generator remembers: the orders with their items, and the products with a new price."""

    def __init__(self, size: Size) -> None:
        self.size, self.rng = size, Random(size.seed)
        self.orders: dict[int, tuple[int, list[Row]]] = {}  # id → customer, items
        self.ids: list[int] = []
        self.made = 0
        self.prices: dict[int, int] = {}

    def open(self) -> Iterator[Event]:
        for _ in range(self.size.orders):
            yield self._order()

    def _order(self) -> Event:
        id_, self.made = self.made, self.made + 1
        self.orders[id_] = self.rng.randrange(self.size.customers), [self._item() for _ in range(self.size.n)]
        self.ids.append(id_)
        return "orders", self._row(id_), +1

    def _row(self, id_: int) -> Row:
        """The order as it is now; the list is a copy, since an event does not change afterwards."""
        customer, items = self.orders[id_]
        return (id_, customer, list(items))

    def _item(self) -> Row:
        return (self.rng.randrange(self.size.products), self.rng.randint(1, 9))

    def change_items(self) -> Event:
        id_ = self.rng.choice(self.ids)
        items = self.orders[id_][1]
        if grows(self.rng, len(items), self.size.n):
            items.append(self._item())
            return "orders.items", (id_, items[-1]), +1
        return "orders.items", (id_, take(self.rng, items)), -1

    def change_orders(self) -> Event:
        if len(self.ids) < 2 or grows(self.rng, len(self.ids), self.size.orders):
            return self._order()
        id_ = take(self.rng, self.ids)
        event = "orders", self._row(id_), -1
        del self.orders[id_]
        return event

    def change_price(self) -> Iterator[Event]:
        product = self.rng.randrange(self.size.products)
        price = self.prices.get(product, 100 + product)
        self.prices[product] = price + self.rng.randint(1, 9)
        yield "products", (product, f"product {product}", price), -1
        yield "products", (product, f"product {product}", self.prices[product]), +1


class Shop:
    """The orders of each customer, and for each order {item: times}; a product is looked up when read.

    A deep change is one look-up of the order and one of the element. A price is kept once, so its change does
    not touch the items. Relies on an order coming after its customer.
    """

    __slots__ = ("by_customer", "customers", "items", "on", "products")

    def __init__(self) -> None:
        self.customers: dict[int, str] = {}
        self.products: dict[int, tuple[str, int]] = {}
        self.items: dict[int, dict[Row, int]] = {}
        self.by_customer: dict[int, dict[int, dict[Row, int]]] = {}  # with the same inner dictionaries
        self.on: dict[str, Trigger] = {
            "customers": self.customer,
            "products": self.product,
            "orders": self.order,
            "orders.items": self.item,
        }

    def customer(self, row: Row, sign: int) -> None:
        id_, name = row
        if sign > 0:
            self.customers[id_] = name
            self.by_customer[id_] = {}
        else:
            del self.customers[id_], self.by_customer[id_]

    def product(self, row: Row, sign: int) -> None:
        id_, name, price = row
        if sign > 0:
            self.products[id_] = name, price
        else:
            del self.products[id_]

    def order(self, row: Row, sign: int) -> None:
        id_, customer, elements = row
        if sign < 0:
            del self.items[id_], self.by_customer[customer][id_]
            return
        items: dict[Row, int] = {}
        for element in elements:
            items[element] = items.get(element, 0) + 1
        self.items[id_] = self.by_customer[customer][id_] = items

    def item(self, row: Row, sign: int) -> None:
        order, element = row
        items = self.items[order]
        times = items.get(element, 0) + sign
        if times:
            items[element] = times
        else:
            del items[element]

    def inner(self, items: dict[Row, int]) -> list[Row]:
        """The items of one order with name and cost."""
        products = self.products
        return [
            (products[pid][0], qty, qty * products[pid][1])
            for (pid, qty), times in items.items()
            if pid in products
            for _ in range(times)
        ]

    def result(self) -> list[Any]:
        return [
            (name, [(order, self.inner(items)) for order, items in self.by_customer[customer].items()])
            for customer, name in self.customers.items()
        ]


class HandWritten(workload.HandWritten):
    """The nested view of the shop."""

    PARTS: ClassVar = {"shop": Shop}


def recompute_shop(customers, orders, products):
    """``shop`` with orders indexed by customer and products by key."""
    by_customer, product = group(orders, "customer"), by_key(products, "id")
    return [
        (
            c.name,
            [
                (o.id, [(p.name, i.qty, i.qty * p.price) for i in o.items if (p := product.get(i.pid))])
                for o in by_customer.get(c.id, ())
            ],
        )
        for c in customers
    ]


RECOMPUTE: dict[str, workload.View] = {"shop": recompute_shop}


def recompute(tables: Tables) -> dict[str, list[Any]]:
    """All views from scratch."""
    return {view: run(compute, tables) for view, compute in RECOMPUTE.items()}
