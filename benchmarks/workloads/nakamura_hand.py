"""General Ledger, Order Statistics and Unpaid Sales by hand.

An object belongs to its parents from the beginning to the end of its life, as in the paper: a row comes after
the rows it points to and goes before them. All three rely on it. The code of a trigger is written out where a
shared helper would cost a call.
"""

from __future__ import annotations

from typing import Any, ClassVar

from . import workload
from .workload import Row, Trigger


class GeneralLedger:
    """Three running sums."""

    __slots__ = ("cash", "cost", "costs", "on", "sold")

    def __init__(self) -> None:
        self.sold = self.cash = self.cost = 0
        self.costs: dict[int, int] = {}
        self.on: dict[str, Trigger] = {
            "products": self.product,
            "sales": self.sale,
            "saleLineItems": self.sale_line_item,
            "cashReceipts": self.cash_receipt,
        }

    def product(self, row: Row, sign: int) -> None:
        id_, _, cost = row
        if sign > 0:
            self.costs[id_] = cost
        else:
            del self.costs[id_]

    def sale(self, row: Row, sign: int) -> None:
        """A sale without line items adds nothing."""

    def sale_line_item(self, row: Row, sign: int) -> None:
        _, _, product, price, quantity = row
        quantity *= sign
        self.sold += price * quantity
        self.cost += self.costs[product] * quantity

    def cash_receipt(self, row: Row, sign: int) -> None:
        self.cash += sign * row[1]

    def result(self) -> list[Any]:
        return [(self.sold - self.cash, self.cash, self.cost)]


class OrderStatistics:
    """For each month a dictionary product → [line items, total]; an order points to that of its month."""

    __slots__ = ("months", "names", "on", "totals")

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.months: dict[int, dict[int, list[int]]] = {month: {} for month in range(1, 13)}
        self.totals: dict[int, dict[int, list[int]]] = {}
        self.on: dict[str, Trigger] = {
            "products": self.product,
            "orders": self.order,
            "orderLineItems": self.order_line_item,
        }

    def product(self, row: Row, sign: int) -> None:
        id_, name, _ = row
        if sign > 0:
            self.names[id_] = name
        else:
            del self.names[id_]

    def order(self, row: Row, sign: int) -> None:
        no, _, day = row
        if sign > 0:
            self.totals[no] = self.months[day.month]
        else:
            del self.totals[no]

    def order_line_item(self, row: Row, sign: int) -> None:
        _, order, product, quantity = row
        totals = self.totals[order]
        cell = totals.get(product)
        if cell is None:
            totals[product] = [sign, sign * quantity]
            return
        cell[0] += sign
        cell[1] += sign * quantity
        if not cell[0]:
            del totals[product]

    def result(self) -> list[Any]:
        return [
            (self.names[product], month, total)
            for month, totals in self.months.items()
            for product, (_, total) in totals.items()
        ]


class UnpaidSales:
    """For each sale [what is due, its row of the view]; the row is in the view while something is due."""

    __slots__ = ("customers", "on", "orders", "sales", "view")

    def __init__(self) -> None:
        self.customers: dict[int, str] = {}
        self.orders: dict[int, Any] = {}
        self.sales: dict[int, list[Any]] = {}
        self.view: dict[int, Row] = {}
        self.on: dict[str, Trigger] = {
            "customers": self.customer,
            "orders": self.order,
            "sales": self.sale,
            "saleLineItems": self.sale_line_item,
            "payments": self.payment,
        }

    def customer(self, row: Row, sign: int) -> None:
        if sign > 0:
            self.customers[row[0]] = row[1]
        else:
            del self.customers[row[0]]

    def order(self, row: Row, sign: int) -> None:
        if sign > 0:
            self.orders[row[0]] = self.customers[row[1]]
        else:
            del self.orders[row[0]]

    def sale(self, row: Row, sign: int) -> None:
        no, order = row
        if sign > 0:
            self.sales[no] = [0, (self.orders[order], no)]
        else:
            del self.sales[no]

    def sale_line_item(self, row: Row, sign: int) -> None:
        _, sale, _, price, quantity = row
        cell = self.sales[sale]
        before = cell[0]
        cell[0] = after = before + sign * price * quantity
        if after > 0:
            if before <= 0:
                self.view[sale] = cell[1]
        elif before > 0:
            del self.view[sale]

    def payment(self, row: Row, sign: int) -> None:
        _, _, sale, amount = row
        cell = self.sales[sale]
        before = cell[0]
        cell[0] = after = before - sign * amount
        if after > 0:
            if before <= 0:
                self.view[sale] = cell[1]
        elif before > 0:
            del self.view[sale]

    def result(self) -> list[Any]:
        return list(self.view.values())


class HandWritten(workload.HandWritten):
    """The three views of the paper."""

    PARTS: ClassVar = {
        "general_ledger": GeneralLedger,
        "order_statistics": OrderStatistics,
        "unpaid_sales": UnpaidSales,
    }
