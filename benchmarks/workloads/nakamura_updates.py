"""Nakamura's three views where attributes change too: a stream, and the views kept by hand.

Every third primary transaction some attribute gets a new value: the cost or the name of a product, the name of a
customer, the price or the quantity of a line item. What the hand-written views of ``nakamura_hand`` copy, these look
up, and where an attribute is summed they keep what it is multiplied by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from . import nakamura, nakamura_hand
from .nakamura import Size
from .workload import Event, Row

#: A table, the row that goes and the one that takes its place.
Change = tuple[str, Row, Row]

#: What changes: tables, and the columns that get new values.
CHANGING = {
    "products": (1, 2),
    "customers": (1,),
    "orderLineItems": (3,),
    "saleLineItems": (3, 4),
}


def fixed(table: str) -> frozenset[int]:
    """The columns of a table that keep their values."""
    return frozenset(range(len(nakamura.SCHEMA[table]))).difference(CHANGING.get(table, ()))


def changes(size: Size) -> Iterator[Event | Change]:
    """The stream of ``nakamura``, and updates among it; an update has a row in the place of a sign."""
    rng, live = Random(size.seed + 1), {table: list[Row]() for table in CHANGING}
    for table, row, _ in nakamura.load(size):
        live[table].append(row)
    for number, (table, row, sign) in enumerate(nakamura.events(size)):
        if table in live:
            assert sign > 0, "rows that change are not withdrawn"
            live[table].append(row)
        yield table, row, sign
        if not number % 18:
            yield _change(rng, live)


def _change(rng: Random, live: dict[str, list[Row]]) -> Change:
    table = rng.choice([name for name, rows in live.items() if rows])
    at, column = rng.randrange(len(live[table])), rng.choice(CHANGING[table])
    old = live[table][at]
    value: Any = rng.randint(1, 20) if isinstance(old[column], int) else f"{table} {rng.randint(0, 99)}"
    live[table][at] = new = (*old[:column], value, *old[column + 1 :])
    return table, old, new


class GeneralLedger(nakamura_hand.GeneralLedger):
    """Three running sums, and how many of each product were sold."""

    __slots__ = ("changed", "quantities")

    def __init__(self) -> None:
        super().__init__()
        self.quantities: dict[int, int] = {}
        self.changed: dict[str, Callable[[Row, Row], None]] = {
            "products": self.product_changed,
            "saleLineItems": self.sale_line_item_changed,
        }

    def product(self, row: Row, sign: int) -> None:
        super().product(row, sign)
        self.quantities[row[0]] = 0

    def sale_line_item(self, row: Row, sign: int) -> None:
        _, _, product, price, quantity = row
        quantity *= sign
        self.sold += price * quantity
        self.cost += self.costs[product] * quantity
        self.quantities[product] += quantity

    def product_changed(self, old: Row, row: Row) -> None:
        id_, _, cost = row
        if cost != old[2]:
            self.cost += (cost - old[2]) * self.quantities[id_]
            self.costs[id_] = cost

    def sale_line_item_changed(self, old: Row, row: Row) -> None:
        _, _, product, price, quantity = row
        more = quantity - old[4]
        self.sold += price * quantity - old[3] * old[4]
        self.cost += self.costs[product] * more
        self.quantities[product] += more


class OrderStatistics(nakamura_hand.OrderStatistics):
    """As it is: names are looked up."""

    __slots__ = ("changed",)

    def __init__(self) -> None:
        super().__init__()
        self.changed: dict[str, Callable[[Row, Row], None]] = {
            "products": self.product_changed,
            "orderLineItems": self.order_line_item_changed,
        }

    def product_changed(self, old: Row, row: Row) -> None:
        self.names[row[0]] = row[1]

    def order_line_item_changed(self, old: Row, row: Row) -> None:
        _, order, product, quantity = row
        self.totals[order][product][1] += quantity - old[3]


class UnpaidSales(nakamura_hand.UnpaidSales):
    """For each sale [what is due, its customer]; the names of customers are looked up."""

    __slots__ = ("changed",)

    def __init__(self) -> None:
        super().__init__()
        self.changed: dict[str, Callable[[Row, Row], None]] = {
            "customers": self.customer_changed,
            "saleLineItems": self.sale_line_item_changed,
        }

    def order(self, row: Row, sign: int) -> None:
        if sign > 0:
            self.orders[row[0]] = row[1]
        else:
            del self.orders[row[0]]

    def sale(self, row: Row, sign: int) -> None:
        no, order = row
        if sign > 0:
            self.sales[no] = [0, (self.orders[order], no)]
        else:
            del self.sales[no]

    def customer_changed(self, old: Row, row: Row) -> None:
        self.customers[row[0]] = row[1]

    def sale_line_item_changed(self, old: Row, row: Row) -> None:
        cell = self.sales[row[1]]
        before = cell[0]
        cell[0] = after = before + row[3] * row[4] - old[3] * old[4]
        if after > 0:
            if before <= 0:
                self.view[row[1]] = cell[1]
        elif before > 0:
            del self.view[row[1]]

    def result(self) -> list[Any]:
        return [(self.customers[customer], no) for customer, no in self.view.values()]


PARTS: dict[str, Callable[[], Any]] = {
    "general_ledger": GeneralLedger,
    "order_statistics": OrderStatistics,
    "unpaid_sales": UnpaidSales,
}
