"""Decision support over orders: Q3, Q17, Q18 (later Q11, Q22, SSB4) of Ahmad et al. (2012).

The queries are those of the paper, which simplifies TPC-H's. The data is a generator of our own with the
columns they read, sizes by scale factor and the distributions of TPC-H: a third of the customers never order,
order keys have gaps, an order has one to seven line items, a part is sold by four suppliers. Money is in
cents and discounts are in percent. All tables arrive interleaved in proportion to their sizes, so an order
may come before its customer and a line item before its part. A fifth of the orders is deleted later, line
items first.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from heapq import heappop, heappush
from random import Random
from typing import Any

from . import tpch_hand, tpch_text, workload
from .workload import Event, Row, Tables, by_key, group, run

SCHEMA: workload.Schema = {
    "nation": {"nationkey": int, "name": str, "regionkey": int},
    "customer": {"custkey": int, "nationkey": int, "acctbal": int, "mktsegment": str},
    "supplier": {"suppkey": int, "nationkey": int},
    "part": {"partkey": int, "type": str},
    "partsupp": {"partkey": int, "suppkey": int, "availqty": int, "supplycost": int},
    "orders": {"orderkey": int, "custkey": int, "orderdate": date, "shippriority": int},
    "lineitem": {
        "orderkey": int,
        "linenumber": int,
        "partkey": int,
        "suppkey": int,
        "quantity": int,
        "extendedprice": int,
        "discount": int,
        "shipdate": date,
    },
}
KEYS: workload.Keys = {
    "nation": "nationkey",
    "customer": "custkey",
    "supplier": "suppkey",
    "part": "partkey",
    "partsupp": ("partkey", "suppkey"),
    "orders": "orderkey",
    "lineitem": ("orderkey", "linenumber"),
}

SQL = tpch_text.SQL
HandWritten = tpch_hand.HandWritten
VIEWS: dict[str, workload.View] = {"q3": tpch_text.q3, "q17": tpch_text.q17, "q18": tpch_text.q18}
LATER: dict[str, workload.View] = {"q11": tpch_text.q11, "q22": tpch_text.q22, "ssb4": tpch_text.ssb4}


@dataclass(frozen=True)
class Size:
    """The scale factor (1 is six million line items), and the share of orders that is deleted later."""

    scale: float = 0.02
    deleted: float = 0.2
    seed: int = 1

    def rows(self, at_one: int) -> int:
        """The size of a table that has ``at_one`` rows at scale 1."""
        return max(4, round(at_one * self.scale))

    @property
    def customers(self) -> int:
        return self.rows(150_000)

    @property
    def suppliers(self) -> int:
        return self.rows(10_000)

    @property
    def parts(self) -> int:
        return self.rows(200_000)

    @property
    def orders(self) -> int:
        return self.rows(1_500_000)


NATIONS, REGIONS, SUPPLIERS_OF_PART = 25, 5, 4
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
TYPES = tuple(
    f"{size} {finish} {metal}"
    for size in ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
    for finish in ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
    for metal in ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")
)
FIRST_DAY, LAST_DAY = date(1992, 1, 1).toordinal(), date(1998, 8, 2).toordinal()


def load(size: Size) -> Iterator[Event]:
    """The nations, which never change."""
    for nation in range(NATIONS):
        yield "nation", (nation, f"NATION {nation}", nation % REGIONS), +1


def events(size: Size) -> Iterator[Event]:
    """Order by order: what is due of the other tables, the order with its line items, what is due to go."""
    rng = Random(size.seed)
    orders = (_order(size, rng, number) for number in range(size.orders))
    return interleaved(orders, size.orders, _others(size), size.deleted, rng)


#: The rows of an order: its own, then those of its line items.
Entry = list[tuple[str, Row]]


def interleaved(
    orders: Iterator[Entry],
    count: int,
    others: list[tuple[str, int, Iterator[Row]]],
    deleted: float,
    rng: Random,
) -> Iterator[Event]:
    """``count`` orders with what is due of the ``others``; a share of the orders goes again at a random time."""
    leaving: list[tuple[int, int, Entry]] = []  # when, which order, its rows
    portions = [_due(count, *table) for table in others]
    for number, entry in enumerate(orders):
        for due in portions:
            yield from next(due)
        for table, row in entry:
            yield table, row, +1
        if rng.random() < deleted:
            heappush(leaving, (rng.randrange(number, count), number, entry))
        while leaving and leaving[0][0] <= number:
            for table, row in reversed(heappop(leaving)[2]):
                yield table, row, -1


def _due(orders: int, table: str, total: int, rows: Iterator[Row]) -> Iterator[list[Event]]:
    """The rows of ``table`` in as many portions as there are orders, as even as can be."""
    for number in range(orders):
        portion = (number + 1) * total // orders - number * total // orders
        yield [(table, next(rows), +1) for _ in range(portion)]


def _others(size: Size) -> list[tuple[str, int, Iterator[Row]]]:
    return [
        ("customer", size.customers, _customers(size)),
        ("supplier", size.suppliers, _suppliers(size)),
        ("part", size.parts, _parts(size)),
        ("partsupp", size.parts * SUPPLIERS_OF_PART, _partsupps(size)),
    ]


def _customers(size: Size) -> Iterator[Row]:
    rng = Random(f"customer {size.seed}")
    for key in range(1, size.customers + 1):
        yield key, rng.randrange(NATIONS), rng.randint(-99_999, 999_999), rng.choice(SEGMENTS)


def _suppliers(size: Size) -> Iterator[Row]:
    rng = Random(f"supplier {size.seed}")
    for key in range(1, size.suppliers + 1):
        yield key, rng.randrange(NATIONS)


def _parts(size: Size) -> Iterator[Row]:
    rng = Random(f"part {size.seed}")
    for key in range(1, size.parts + 1):
        yield key, rng.choice(TYPES)


def _partsupps(size: Size) -> Iterator[Row]:
    rng = Random(f"partsupp {size.seed}")
    for part in range(1, size.parts + 1):
        for nth in range(SUPPLIERS_OF_PART):
            yield part, _supplier(size, part, nth), rng.randint(1, 9_999), rng.randint(100, 100_000)


def _supplier(size: Size, part: int, nth: int) -> int:
    return (part + nth * (size.suppliers // SUPPLIERS_OF_PART)) % size.suppliers + 1


def _order(size: Size, rng: Random, number: int) -> list[tuple[str, Row]]:
    """An order and its line items."""
    key = number // 8 * 32 + number % 8 + 1
    customer = rng.randrange(size.customers // 3) * 3 + rng.randint(1, 2)  # no multiple of three ever orders
    day = rng.randint(FIRST_DAY, LAST_DAY)
    order = (key, customer, date.fromordinal(day), 0)
    lines = [_line(size, rng, key, line, day) for line in range(1, rng.randint(1, 7) + 1)]
    return [("orders", order), *(("lineitem", line) for line in lines)]


def _line(size: Size, rng: Random, order: int, line: int, day: int) -> Row:
    part = rng.randint(1, size.parts)
    supplier = _supplier(size, part, rng.randrange(SUPPLIERS_OF_PART))
    quantity = rng.randint(1, 50)
    price = 90_000 + part // 10 % 20_001 + 100 * (part % 1_000)
    shipped = date.fromordinal(day + rng.randint(1, 121))
    return (order, line, part, supplier, quantity, quantity * price, rng.randint(0, 10), shipped)


def recompute_q3(customer, orders, lineitem):
    """``q3`` with orders looked up by key and customers reduced to those of the segment."""
    building = {c.custkey for c in customer if c.mktsegment == "BUILDING"}
    wanted = {o.orderkey: o for o in orders if o.orderdate < tpch_text.CUTOFF and o.custkey in building}
    revenue: dict[Row, int] = {}
    for li in lineitem:
        if li.shipdate > tpch_text.CUTOFF and (o := wanted.get(li.orderkey)):
            key = o.orderkey, o.orderdate, o.shippriority
            revenue[key] = revenue.get(key, 0) + li.extendedprice * (100 - li.discount)
    return [(*key, total) for key, total in revenue.items()]


def recompute_q17(lineitem, part):
    """``q17`` with the line items indexed by part and their quantities added up once for each part."""
    lines, known = group(lineitem, "partkey"), by_key(part, "partkey")
    total = {key: sum(li.quantity for li in each) for key, each in lines.items()}
    small = [li for key in known for li in lines.get(key, ()) if li.quantity < 0.005 * total[key]]
    return [(sum(li.extendedprice for li in small),)]


def recompute_q18(customer, orders, lineitem):
    """``q18`` with the quantities added up once for each order."""
    known, quantity = by_key(customer, "custkey"), dict[int, int]()
    for li in lineitem:
        quantity[li.orderkey] = quantity.get(li.orderkey, 0) + li.quantity
    totals: dict[int, int] = {}
    for o in orders:
        if o.custkey in known and (total := quantity.get(o.orderkey, 0)) > 100:
            totals[o.custkey] = totals.get(o.custkey, 0) + total
    return list(totals.items())


RECOMPUTE: dict[str, workload.View] = {"q3": recompute_q3, "q17": recompute_q17, "q18": recompute_q18}


def recompute(tables: Tables) -> dict[str, list[Any]]:
    """All views from scratch."""
    return {view: run(compute, tables) for view, compute in RECOMPUTE.items()}
