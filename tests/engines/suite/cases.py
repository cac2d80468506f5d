"""Tables, views and changes that every engine runs: small data, every kind of map, statement and payload."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from nestling.database.transaction import Transaction

Move = Callable[[Transaction], None]


@dataclass(frozen=True)
class Case:
    """Declarations, views as comprehensions, and transactions: each is one batch."""

    tables: dict[str, tuple[Any, str | None]]
    views: dict[str, str]
    moves: tuple[Move, ...]


def movies(*rows: tuple[str, str, str]) -> Move:
    return lambda t: t.insert("M", rows)


def regraded(t: Transaction) -> None:
    t.update("M", key="Rush", set={"gen": "Drama"})
    t.delete("M", key="Drive")
    t.insert("M", [("Jarhead", "Drama", "Mendes"), ("Heat", "Crime", "Mann")])


RELATED = Case(
    {"M": ({"name": str, "gen": str, "dir": str}, "name")},
    {
        "related": "[(m.name, [n.name for n in M if m.name != n.name and (m.gen == n.gen or m.dir == n.dir)])"
        " for m in M]",
        "pairs": "[(m.name, n.name) for m in M for n in M if m.gen == n.gen]",
        "triples": "[m.gen for m in M for n in M for o in M if m.gen == n.gen and n.dir == o.dir]",
        "genres": "[(g, len([m for m in M if m.gen == g])) for g in {m.gen for m in M}]",
        "crowded": "[m.name for m in M if sum(1 for n in M if n.gen == m.gen) > 1]",
        "last": "[(m.name, max([n.name for n in M if n.gen == m.gen])) for m in M]",
        "lonely": "[m.name for m in M if not any(n.gen == m.gen and n.dir == 'Mann' for n in M)]",
        "all": "[len([m for m in M])]",
    },
    (
        movies(("Rush", "Action", "Howard"), ("Drive", "Drama", "Refn"), ("Skyfall", "Action", "Mendes")),
        movies(("Ali", "Drama", "Mann"), ("Collateral", "Crime", "Mann")),
        regraded,
        lambda t: t.delete("M", where=lambda m: m.gen == "Drama"),
    ),
)

ORDERS = {"id": int, "customer": str, "day": date, "items": [{"pid": int, "qty": int}]}


def first_orders(t: Transaction) -> None:
    t.insert("parts", [(1, "bolt", 0.25), (2, "nut", 1.5), (3, "gear", 12.0)])
    t.insert("orders", [
        (7, "ann", date(2024, 1, 5), [(1, 3), (2, 1)]), (8, "bob", date(2024, 2, 1), []),
        (9, "ann", date(2024, 2, 9), [(1, 3), (1, 3)]),
    ])  # fmt: skip


def deep(t: Transaction) -> None:
    t.insert_into("orders", 8, ("items",), [(3, 2), (1, 1)])
    t.delete_from("orders", 9, ("items",), [(1, 3)])
    t.insert_into("orders", 9, ("items",), [(2, 5)])


def closing(t: Transaction) -> None:
    t.delete("orders", key=7)
    t.update("parts", key=1, set={"price": 0.5})
    t.insert("orders", [(10, "cy", date(2024, 3, 1), [(3, 1)])])


NESTED = Case(
    {"orders": (ORDERS, "id"), "parts": ({"pid": int, "name": str, "price": float}, "pid")},
    {
        "baskets": "[(o.customer, [(p.name, i.qty) for i in o.items for p in parts if p.pid == i.pid])"
        " for o in orders]",
        "by_customer": "[(c, [(o.id, [i.pid for i in o.items if i.qty > 1]) for o in orders if o.customer == c])"
        " for c in {o.customer for o in orders}]",
        "spend": "[(c, sum(i.qty * p.price for o in orders if o.customer == c for i in o.items"
        " for p in parts if p.pid == i.pid)) for c in {o.customer for o in orders}]",
        "mean": "[(o.id, sum(i.qty for i in o.items) / len(o.items)) for o in orders if len(o.items) > 0]",
        "empty": "[o.id for o in orders if not o.items]",
        "biggest": "[(o.id, max([i.qty for i in o.items])) for o in orders]",
        "dear": "[o.id for o in orders if sum(i.qty for i in o.items) > 2]",
        "month": "[(o.day.year, o.day.month, o.id) for o in orders]",
        "unsold": "[p.name for p in parts if p.pid not in [i.pid for o in orders for i in o.items]]",
    },
    (first_orders, deep, closing, lambda t: t.delete("orders", where=lambda o: True)),
)  # fmt: skip


TWICE = (1, None, 0.5, Decimal("1.10"), "a", timedelta(days=1))


def readings(*rows: Any) -> Move:
    return lambda t: t.insert(
        "R", [dict(zip(("n", "m", "x", "d", "s", "w"), row, strict=True)) for row in rows]
    )


def replaced(t: Transaction) -> None:
    t.delete("R", [{"n": 1, "m": None, "x": 0.5, "d": Decimal("1.10"), "s": "a", "w": timedelta(days=1)}])
    t.insert("R", [{"n": -7, "m": 3, "x": 2.5, "d": Decimal("0.05"), "s": "ß", "w": timedelta(hours=-1)}])


SCALARS = Case(
    {"R": ({"n": int, "m": int | None, "x": float, "d": Decimal, "s": str, "w": timedelta}, None)},
    {
        "floor": "[(r.n // 3, r.n % 3, r.x // 2.0) for r in R]",
        "nulls": "[(r.n, r.m) for r in R for q in R if r.m == q.m]",
        "asked": "[(r.m, len([q for q in R if q.n == r.m]), min([q.x for q in R if q.n == r.m])) for r in R]",
        "money": "[(s, sum(r.d * r.n for r in R if r.s == s)) for s in {r.s for r in R}]",
        "floats": "[(s, sum(r.x for r in R if r.s == s)) for s in {r.s for r in R}]",
        "guarded": "[r.n for r in R if r.n != 1 and 10 // (r.n - 1) > 1]",
        "kinds": "[len({r.s for r in R})]",
        "words": "[(r.s.upper(), len(r.s), r.w) for r in R]",
        "least": "[min([r.x for r in R])]",
        "first": "[(s, sorted([(r.x, r.m, r.w) for r in R if r.s == s])[:2]) for s in {r.s for r in R}]",
        "below": "[(r.n, sum(q.d for q in R if q.n < r.n), len([q for q in R if q.x >= r.x])) for r in R]",
        "mean": "[(r.n, sum(q.d for q in R if q.s == r.s) / r.n) for r in R if r.n != 0]",
    },
    (
        readings(TWICE, TWICE, (5, 2, -1.5, Decimal("20"), "b", timedelta(0))),
        replaced,
        readings((2, 3, 0.0, Decimal("3.333"), "b", timedelta(seconds=1))),
        lambda t: t.delete("R", where=lambda r: r.s == "b"),
    ),
)  # fmt: skip

CASES = {"related": RELATED, "nested": NESTED, "scalars": SCALARS}
