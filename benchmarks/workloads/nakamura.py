"""General Ledger, Order Statistics and Unpaid Sales: the benchmark of Nakamura (2001).

The paper's objects are rows here. A path to one object (``i.product``) is a foreign key; a path to many
(``s.saleLineItems``) is a table whose rows point back. Customers and products are fixed. Orders, sales and
cash receipts are entered 1:1:1, each followed by its five line items or payments. The class diagram of the
paper was not at hand, so the columns are those its queries use.

The paper only inserts. ``Size.withdrawn`` adds deletions: the latest transaction is taken back, its
subsequent transactions first.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from random import Random
from typing import Any

from . import nakamura_hand, workload
from .workload import Event, Row, Tables, by_key, group, run, take

SCHEMA: workload.Schema = {
    "customers": {"id": int, "name": str},
    "products": {"id": int, "name": str, "cost": int},
    "orders": {"no": int, "customer": int, "date": date},
    "orderLineItems": {"id": int, "order": int, "product": int, "quantity": int},
    "sales": {"no": int, "order": int},
    "saleLineItems": {"id": int, "sale": int, "product": int, "price": int, "quantity": int},
    "cashReceipts": {"no": int, "checkAmount": int},
    "payments": {"id": int, "cashReceipt": int, "sale": int, "amount": int},
}
KEYS: workload.Keys = {
    table: "no" if table in ("orders", "sales", "cashReceipts") else "id" for table in SCHEMA
}

#: Objects belong to their parents from beginning to end, as in the paper: what the hand-written code relies on.
REFERENCES: dict[str, dict[str | tuple[str, ...], str]] = {
    "orders": {"customer": "customers"},
    "orderLineItems": {"order": "orders", "product": "products"},
    "sales": {"order": "orders"},
    "saleLineItems": {"sale": "sales", "product": "products"},
    "payments": {"sale": "sales", "cashReceipt": "cashReceipts"},
}

#: The other side of some of them, by the names that the paper's paths have.
INVERSES = {
    "orders": {"orderLineItems": "orderLineItems.order"},
    "sales": {"saleLineItems": "saleLineItems.sale", "payments": "payments.sale"},
}

#: The texts of the paper (figure 7).
OQL = {
    "general_ledger": """
        struct(
          accountsReceivable:
            (sum(select i.price * i.quantity from s in sales, i in s.saleLineItems)
             - sum(select r.checkAmount from r in cashReceipts)),
          cash: sum(select r.checkAmount from r in cashReceipts),
          costOfGoodsSold: sum(select i.product.cost * i.quantity from s in sales, i in s.saleLineItems))""",
    "order_statistics": """
        select struct(
          product: product.name,
          month: month,
          total: sum(select p.i.quantity from p in partition))
        from order in orders, i in order.orderLineItems
        group by product: i.product, month: order.date.monthIndex""",
    "unpaid_sales": """
        select struct(name: s.order.customer.name, no: s.no)
        from s in sales
        where (sum(select i.price * i.quantity from i in s.saleLineItems)
               - sum(select p.amount from p in s.payments)) > 0""",
}


def general_ledger(sales, saleLineItems, cashReceipts, products):
    """Accounts receivable, cash, cost of goods sold."""
    return [
        (
            sum(i.price * i.quantity for s in sales for i in saleLineItems if i.sale == s.no)
            - sum(r.checkAmount for r in cashReceipts),
            sum(r.checkAmount for r in cashReceipts),
            sum(
                p.cost * i.quantity
                for s in sales
                for i in saleLineItems
                if i.sale == s.no
                for p in products
                if p.id == i.product
            ),
        )
    ]


def order_statistics(orders, orderLineItems, products):
    """How many of each product were ordered in each month."""
    return [
        (
            p.name,
            month,
            sum(
                i.quantity
                for o in orders
                if o.date.month == month
                for i in orderLineItems
                if i.order == o.no and i.product == product
            ),
        )
        for product, month in {
            (i.product, o.date.month) for o in orders for i in orderLineItems if i.order == o.no
        }
        for p in products
        if p.id == product
    ]


def unpaid_sales(customers, orders, sales, saleLineItems, payments):
    """The sales of which something is still to be paid, with the name of the customer."""
    return [
        (c.name, s.no)
        for s in sales
        if sum(i.price * i.quantity for i in saleLineItems if i.sale == s.no)
        - sum(p.amount for p in payments if p.sale == s.no)
        > 0
        for o in orders
        if o.no == s.order
        for c in customers
        if c.id == o.customer
    ]


VIEWS: dict[str, workload.View] = {
    "general_ledger": general_ledger,
    "order_statistics": order_statistics,
    "unpaid_sales": unpaid_sales,
}
HandWritten = nakamura_hand.HandWritten


@dataclass(frozen=True)
class Size:
    """How many primary transactions, and how likely after each the latest one is taken back."""

    primary: int = 8_000
    withdrawn: float = 0.0
    customers: int = 500
    products: int = 100
    seed: int = 1


SUBSEQUENT = 5  # for each primary transaction
Entry = list[tuple[str, Row]]  # a primary transaction and what follows it


def load(size: Size) -> Iterator[Event]:
    """The fixed objects."""
    for customer in range(size.customers):
        yield "customers", (customer, f"customer {customer}"), +1
    for product in range(size.products):
        yield "products", (product, f"product {product}", _cost(product)), +1


def events(size: Size) -> Iterator[Event]:
    """Orders, sales and receipts in turn, numbered through, each with what follows it."""
    books = _Books(size)
    for no in range(size.primary):
        for table, row in books.enter(no):
            yield table, row, +1
        while books.entries and books.rng.random() < size.withdrawn:
            for table, row in reversed(books.withdraw()):
                yield table, row, -1


def _cost(product: int) -> int:
    return 100 + 37 * product % 900


class _Books:
    """What the generator remembers: the transactions, and what is still due for which sale."""

    def __init__(self, size: Size) -> None:
        self.size, self.rng = size, Random(size.seed)
        self.entries: list[Entry] = []
        self.orders: list[Entry] = []
        self.whole: dict[int, int] = {}  # what a sale costs
        self.due: dict[int, int] = {}  # what of it is still to be paid
        self.open: list[int] = []  # the sales with something due

    def enter(self, no: int) -> Entry:
        kind = (self._order, self._sale, self._receipt)[no % 3 if self.orders else 0]
        self.entries.append(kind(no))
        return self.entries[-1]

    def _order(self, no: int) -> Entry:
        rng = self.rng
        day = date.fromordinal(date(2001, 1, 1).toordinal() + rng.randrange(365))
        lines = [
            (SUBSEQUENT * no + line, no, rng.randrange(self.size.products), rng.randint(1, 20))
            for line in range(SUBSEQUENT)
        ]
        order = (no, rng.randrange(self.size.customers), day)
        self.orders.append([("orders", order), *(("orderLineItems", line) for line in lines)])
        return self.orders[-1]

    def _sale(self, no: int) -> Entry:
        """A sale delivers what some order, not always a new one, asked for."""
        (_, order), *ordered = self.rng.choice(self.orders)
        lines = [
            (SUBSEQUENT * no + line, no, product, _cost(product) * self.rng.randint(12, 16) // 10, quantity)
            for line, (_, (_, _, product, quantity)) in enumerate(ordered)
        ]
        self.whole[no] = self.due[no] = sum(price * quantity for _, _, _, price, quantity in lines)
        self.open.append(no)
        return [("sales", (no, order[0])), *(("saleLineItems", line) for line in lines)]

    def _receipt(self, no: int) -> Entry:
        """A check that pays instalments of open sales; sales come a little faster than they are paid."""
        payments = []
        for line in range(SUBSEQUENT):
            if self.open:
                sale = take(self.rng, self.open)
                share = self.whole[sale] * self.rng.randint(10, 20) // 100 + 1
                payments.append((SUBSEQUENT * no + line, no, sale, min(share, self.due[sale])))
                self._change_due(sale, -payments[-1][3])
        check = sum(payment[3] for payment in payments)
        return [("cashReceipts", (no, check)), *(("payments", payment) for payment in payments)]

    def _change_due(self, sale: int, amount: int) -> None:
        self.due[sale] += amount
        if self.due[sale]:
            self.open.append(sale)

    def withdraw(self) -> Entry:
        """Forget the latest transaction and return it; nothing can refer to it yet."""
        entry = self.entries.pop()
        (table, first), *rest = entry
        if table == "orders":
            self.orders.pop()
        elif table == "sales":
            self.open.remove(first[0])
            del self.whole[first[0]], self.due[first[0]]
        else:
            for _, (_, _, sale, amount) in rest:
                if self.due[sale]:
                    self.open.remove(sale)
                self._change_due(sale, amount)
        return entry


def recompute_general_ledger(sales, saleLineItems, cashReceipts, products):
    """``general_ledger`` with the line items indexed by sale and the products by key."""
    items, product = group(saleLineItems, "sale"), by_key(products, "id")
    sold = [i for s in sales for i in items.get(s.no, ())]
    cash = sum(r.checkAmount for r in cashReceipts)
    cost = sum(product[i.product].cost * i.quantity for i in sold if i.product in product)
    return [(sum(i.price * i.quantity for i in sold) - cash, cash, cost)]


def recompute_order_statistics(orders, orderLineItems, products):
    """``order_statistics`` with one pass over the join for all groups."""
    items, product = group(orderLineItems, "order"), by_key(products, "id")
    totals: dict[tuple[int, int], int] = {}
    for o in orders:
        for i in items.get(o.no, ()):
            key = i.product, o.date.month
            totals[key] = totals.get(key, 0) + i.quantity
    return [(product[p].name, month, total) for (p, month), total in totals.items() if p in product]


def recompute_unpaid_sales(customers, orders, sales, saleLineItems, payments):
    """``unpaid_sales`` with every table indexed by what it is joined on."""
    customer, order = by_key(customers, "id"), by_key(orders, "no")
    items, paid = group(saleLineItems, "sale"), group(payments, "sale")
    return [
        (customer[order[s.order].customer].name, s.no)
        for s in sales
        if sum(i.price * i.quantity for i in items.get(s.no, ())) - sum(p.amount for p in paid.get(s.no, ()))
        > 0
        if s.order in order and order[s.order].customer in customer
    ]


RECOMPUTE: dict[str, workload.View] = {
    "general_ledger": recompute_general_ledger,
    "order_statistics": recompute_order_statistics,
    "unpaid_sales": recompute_unpaid_sales,
}


def recompute(tables: Tables) -> dict[str, list[Any]]:
    """All views from scratch."""
    return {view: run(compute, tables) for view, compute in RECOMPUTE.items()}
