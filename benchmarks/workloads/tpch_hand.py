"""Q3, Q17 and Q18 by hand.

All three rely on the keys of the tables, and on nothing else: rows may come and go in any order.
"""

from __future__ import annotations

from typing import Any, ClassVar

from . import workload
from .tpch_text import CUTOFF
from .workload import Row, Trigger


class Q3:
    """Revenue by order; an order is in the view while it has revenue, the right date and customer."""

    __slots__ = ("building", "by_customer", "on", "orders", "revenue", "view")

    def __init__(self) -> None:
        self.building: set[int] = set()
        self.orders: dict[int, Row] = {}  # those before the date
        self.by_customer: dict[int, set[int]] = {}
        self.revenue: dict[int, list[int]] = {}  # [line items after the date, what they bring in]
        self.view: set[int] = set()
        self.on: dict[str, Trigger] = {
            "customer": self.customer,
            "orders": self.order,
            "lineitem": self.lineitem,
        }

    def customer(self, row: Row, sign: int) -> None:
        key, _, _, segment = row
        if segment != "BUILDING":
            return
        orders = self.by_customer.get(key, ())
        if sign > 0:
            self.building.add(key)
            self.view.update(order for order in orders if order in self.revenue)
        else:
            self.building.remove(key)
            self.view.difference_update(orders)

    def order(self, row: Row, sign: int) -> None:
        key, customer, day, _ = row
        if day >= CUTOFF:
            return
        if sign > 0:
            self.orders[key] = row
            self.by_customer.setdefault(customer, set()).add(key)
            if customer in self.building and key in self.revenue:
                self.view.add(key)
        else:
            del self.orders[key]
            self._leave(customer, key)
            self.view.discard(key)

    def _leave(self, customer: int, order: int) -> None:
        orders = self.by_customer[customer]
        orders.remove(order)
        if not orders:
            del self.by_customer[customer]

    def lineitem(self, row: Row, sign: int) -> None:
        key, _, _, _, _, price, discount, shipped = row
        if shipped <= CUTOFF:
            return
        cell = self.revenue.get(key)
        if cell is None:
            self.revenue[key] = [1, price * (100 - discount)]
            order = self.orders.get(key)
            if order is not None and order[1] in self.building:
                self.view.add(key)
            return
        cell[0] += sign
        cell[1] += sign * price * (100 - discount)
        if not cell[0]:
            del self.revenue[key]
            self.view.discard(key)

    def result(self) -> list[Any]:
        return [(key, *self.orders[key][2:], self.revenue[key][1]) for key in self.view]


class Q17:
    """For each part [quantity of all, price of the small, largest small quantity, price by quantity].

    A quantity is small if 200 times as much is less than the total, so ``(total - 1) // 200`` is the largest
    small one. It seldom moves, and by few steps; then the prices of these quantities change sides. Quantities
    are small positive integers, so a list holds the prices.
    """

    __slots__ = ("cells", "on", "parts", "total")

    def __init__(self) -> None:
        self.parts: set[int] = set()
        self.cells: dict[int, list[Any]] = {}
        self.total = 0
        self.on: dict[str, Trigger] = {"part": self.part, "lineitem": self.lineitem}

    def part(self, row: Row, sign: int) -> None:
        key = row[0]
        if sign > 0:
            self.parts.add(key)
        else:
            self.parts.remove(key)
        if key in self.cells:
            self.total += sign * self.cells[key][1]

    def lineitem(self, row: Row, sign: int) -> None:
        _, _, part, _, quantity, price, _, _ = row
        cell = self.cells.get(part)
        if cell is None:
            cell = self.cells[part] = [0, 0, -1, [0] * 51]
        total, before, largest, prices = cell
        price *= sign
        try:
            prices[quantity] += price
        except IndexError:
            prices += [0] * (quantity - len(prices)) + [price]
        small = before + price if quantity <= largest else before
        cell[0] = total = total + sign * quantity
        bound = (total - 1) // 200
        if bound != largest:
            cell[2] = bound
            small += sum(prices[largest + 1 : bound + 1]) - sum(prices[bound + 1 : largest + 1])
        if small != before:
            cell[1] = small
            if part in self.parts:
                self.total += small - before
        if not total:
            del self.cells[part]

    def result(self) -> list[Any]:
        return [(self.total,)]


class Q18:
    """The quantity of each order, and for each customer that of the large orders."""

    __slots__ = ("customers", "large", "on", "orders", "quantities", "view")

    def __init__(self) -> None:
        self.customers: set[int] = set()
        self.orders: dict[int, int] = {}  # order → customer
        self.quantities: dict[int, int] = {}  # by order
        self.large: dict[int, int] = {}  # by customer, for those not there yet
        self.view: dict[int, int] = {}  # by customer
        self.on: dict[str, Trigger] = {
            "customer": self.customer,
            "orders": self.order,
            "lineitem": self.lineitem,
        }

    def customer(self, row: Row, sign: int) -> None:
        key = row[0]
        if sign > 0:
            self.customers.add(key)
            source, target = self.large, self.view
        else:
            self.customers.remove(key)
            source, target = self.view, self.large
        if key in source:
            target[key] = source.pop(key)

    def order(self, row: Row, sign: int) -> None:
        key, customer, _, _ = row
        if sign > 0:
            self.orders[key] = customer
        else:
            del self.orders[key]
        quantity = self.quantities.get(key, 0)
        if quantity > 100:
            self._change(customer, sign * quantity)

    def lineitem(self, row: Row, sign: int) -> None:
        key, _, _, _, quantity, _, _, _ = row
        before = self.quantities.get(key, 0)
        after = before + sign * quantity
        if after:
            self.quantities[key] = after
        else:
            del self.quantities[key]
        if after > 100 or before > 100:
            customer = self.orders.get(key)
            if customer is not None:
                change = (after if after > 100 else 0) - (before if before > 100 else 0)
                self._change(customer, change)

    def _change(self, customer: int, change: int) -> None:
        totals = self.view if customer in self.customers else self.large
        total = totals.get(customer, 0) + change
        if total:
            totals[customer] = total
        else:
            del totals[customer]

    def result(self) -> list[Any]:
        return list(self.view.items())


class HandWritten(workload.HandWritten):
    """The three queries that have a baseline so far."""

    PARTS: ClassVar = {"q3": Q3, "q17": Q17, "q18": Q18}
