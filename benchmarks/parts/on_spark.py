"""Views for ``benchmarks/spark.py``: tables as SQL over ``id``, a view, the same view as plain SQL, and random changes.

Plain SQL writes what the view keeps: for a view in shredded form its flat rows and its dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from nestling.values.label import Label

Rows = list[tuple[tuple[Any, ...], int]]


@dataclass(frozen=True)
class World:
    """Tables with their keys, their rows as SQL, and one table that changes: row ``i`` of it, and a new one."""

    tables: dict[str, tuple[Any, str | None]]
    data: Callable[[int], dict[str, str]]
    changing: str
    row: Callable[[int, int], tuple[Any, ...]]
    new: Callable[[int, int, Random], tuple[Any, ...]]


class Changes:
    """Batches that can happen: half of the rows come, half go, and none goes twice."""

    def __init__(self, world: World, rows: int) -> None:
        self.world, self.rows, self.random = world, rows, Random(0)
        self.gone: set[int] = set()
        self.fresh = rows

    def batch(self, size: int) -> Rows:
        found: Rows = []
        while len(found) < size // 2:
            i = self.random.randrange(self.rows)
            if i not in self.gone:
                self.gone.add(i)
                found.append((self.world.row(self.rows, i), -1))
        for _ in range(size - len(found)):
            self.fresh += 1
            found.append((self.world.new(self.rows, self.fresh, self.random), 1))
        return found


def sales(n: int) -> dict[str, str]:
    return {
        "customers": f"SELECT id AS k0, concat('r', id % 50) AS k1, 1L AS m0 FROM range({n // 10})",
        "sales": f"SELECT id AS k0, (id * 7919) % {n // 10} AS k1, id % 1000 AS k2, id % 7 AS k3, 1L AS m0"
        f" FROM range({n})",
    }


SALES = World(
    {
        "customers": ({"cid": int, "region": str}, "cid"),
        "sales": ({"id": int, "cust": int, "prod": int, "qty": int}, "id"),
    },
    sales,
    "sales",
    lambda n, i: (i, (i * 7919) % (n // 10), i % 1000, i % 7),
    lambda n, i, random: (i, random.randrange(n // 10), 5, 6),
)


def movies(genre: int, director: int) -> World:
    """So many movies of each genre, and of each director."""

    def data(n: int) -> dict[str, str]:
        return {
            "M": f"SELECT concat('m', id) AS k0, concat('g', (id * 31) % {n // genre}) AS k1,"
            f" concat('d', id % {n // director}) AS k2, 1L AS m0 FROM range({n})"
        }

    return World(
        {"M": ({"name": str, "gen": str, "dir": str}, "name")},
        data,
        "M",
        lambda n, i: (f"m{i}", f"g{(i * 31) % (n // genre)}", f"d{i % (n // director)}"),
        lambda n, i, random: (
            f"m{i}", f"g{random.randrange(n // genre)}", f"d{random.randrange(n // director)}",
        ),
    )  # fmt: skip


def orders(n: int) -> dict[str, str]:
    def label(id_: str) -> str:
        return f"concat('s12:orders.items(i', {id_}, ';)')"

    return {
        "parts": f"SELECT id AS k0, concat('p', id) AS k1, 1L AS m0 FROM range({n // 100})",
        "orders": f"SELECT id AS k0, (id * 7919) % {n // 10} AS k1, {label('id')} AS k2, 1L AS m0 FROM range({n // 4})",
        "orders.items": f"SELECT {label('id div 4')} AS k0, id % {n // 100} AS k1, id % 9 AS k2, 1L AS m0"
        f" FROM range({n})",
    }


ORDERS = World(
    {
        "parts": ({"pid": int, "name": str}, "pid"),
        "orders": ({"id": int, "cust": int, "items": [{"pid": int, "qty": int}]}, "id"),
    },
    orders,
    "orders.items",
    lambda n, i: (Label("orders.items", (i // 4,)), i % (n // 100), i % 9),
    lambda n, i, random: (
        Label("orders.items", (random.randrange(n // 4),)), random.randrange(n // 100), i
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Workload:
    """A view of a world; ``anew``: what computing it anew writes. ``most``: more rows would write too much."""

    world: World
    view: str
    anew: tuple[str, ...]
    store: str = "auto"
    most: int = 10**12
    remark: str = ""


RELATED = (
    "[(m.name, [n.name for n in M if m.name != n.name and (m.gen == n.gen or m.dir == n.dir)]) for m in M]"
)

WORKLOADS = {
    "filter–join–group": Workload(
        SALES,
        "[(r, sum(s.qty for s in sales for c in customers if c.cid == s.cust and c.region == r and s.qty > 2))"
        " for r in {c.region for c in customers}]",
        ("SELECT c.k1, sum(s.k3) FROM sales s JOIN customers c ON c.k0 = s.k1 WHERE s.k3 > 2 GROUP BY c.k1",),
    ),
    "distinct, outer": Workload(
        SALES,
        "[(c.cid, c.region) for c in customers if not any(s.cust == c.cid and s.qty > 5 for s in sales)]",
        (
            "SELECT c.k0, c.k1 FROM customers c LEFT ANTI JOIN (SELECT DISTINCT k1 FROM sales WHERE k3 > 5) s"
            " ON s.k1 = c.k0",
        ),
        store="full",
    ),
    "related, shredded": Workload(
        movies(50, 10),
        RELATED,
        (
            "SELECT k0, k1, k2 FROM M",
            "SELECT k1, collect_list(k0) FROM M GROUP BY k1",
            "SELECT k2, collect_list(k0) FROM M GROUP BY k2",
            "SELECT k1, k2, collect_list(k0) FROM M GROUP BY k1, k2",
        ),
        remark="labels are genres and directors: the table holds their bags, a change is a write",
    ),
    "related, bags stored": Workload(
        movies(5, 2),
        RELATED,
        (
            "SELECT m.k0, n.k0 FROM M m JOIN M n ON m.k1 = n.k1 AND m.k0 <> n.k0"
            " UNION ALL SELECT m.k0, n.k0 FROM M m JOIN M n ON m.k2 = n.k2 AND m.k1 <> n.k1",
        ),
        store="full",
        most=1_000_000,
    ),
    "two levels, deep": Workload(
        ORDERS,
        "[(c, [(o.id, [(p.name, i.qty) for i in o.items for p in parts if p.pid == i.pid])"
        " for o in orders if o.cust == c]) for c in {o.cust for o in orders}]",
        (
            "SELECT o.k1, collect_list(struct(o.k0, b.items)) FROM orders o JOIN (SELECT i.k0,"
            " collect_list(struct(p.k1, i.k2)) AS items FROM items i JOIN parts p ON p.k0 = i.k1 GROUP BY i.k0) b"
            " ON b.k0 = o.k2 GROUP BY o.k1",
        ),
    ),
}  # fmt: skip

#: For the cost that does not depend on the data.
FIVE = {
    "by_region": WORKLOADS["filter–join–group"].view,
    "idle": WORKLOADS["distinct, outer"].view,
    "of_customer": "[(c.cid, [(s.prod, s.qty) for s in sales if s.cust == c.cid]) for c in customers]",
    "most": "[(c.cid, max([s.qty for s in sales if s.cust == c.cid])) for c in customers]",
    "large": "[c.cid for c in customers if sum(s.qty for s in sales if s.cust == c.cid) > 10]",
}
