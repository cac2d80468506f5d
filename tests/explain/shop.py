"""A database with a view of every kind that ``explain`` has something to say about."""

import nestling as nl
from nestling.calculus.parse import parse
from nestling.calculus.types import Bag

MOVIES = [
    ("Drive", "Drama", "Refn"), ("Skyfall", "Action", "Mendes"),
    ("Rush", "Action", "Howard"), ("Jarhead", "Drama", "Mendes"),
]  # fmt: skip
ORDERS = [(7, "ann", [(1, 2), (2, 1)]), (8, "bob", []), (9, "ann", [(1, 5)])]
PRICES = [(1, 10), (2, 20), (2, 25)]

#: Bags as elements of a set: nested values compared by content, which no flat query does.
BASKETS = "distinct(for o in orders union sng⟨customer: o.customer, items: o.items⟩)"


def related(M):
    return [
        (m.name, [n.name for n in M if n.name != m.name and (n.gen == m.gen or n.dir == m.dir)]) for m in M
    ]


def spend(orders):
    return [
        (c, sum(i.qty for o in orders if o.customer == c for i in o.items))
        for c in {o.customer for o in orders}
    ]


def bill(orders, prices):
    return [(o.id, i.qty, p.price) for o in orders for i in o.items for p in prices if p.pid == i.pid]


def dearest(prices):
    return [(p.pid, max(q.price for q in prices if q.pid == p.pid)) for p in prices]


def large(prices):
    return [p.pid for p in prices if p.price > sum(q.price for q in prices) / 2]


def genres(M):
    return [(m.gen, m.name) for m in M if m.dir != "<b>&'"]


def over(genres):
    return [(g.gen, [h.name for h in genres if h.gen == g.gen]) for g in genres]


def kept(orders):
    return [(o.id, o.items) for o in orders]


VIEWS = (related, spend, bill, dearest, large, genres, over, kept)


def shop() -> nl.Database:
    """All tables with rows, and all views."""
    db = nl.Database()
    db.table("M", {"name": str, "gen": str, "dir": str}, key="name")
    db.table("orders", "id INT, customer STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>", key="id")
    db.table("prices", {"pid": int, "price": int})
    db.insert("M", MOVIES)
    db.insert("orders", ORDERS)
    db.insert("prices", PRICES)
    for view in VIEWS:
        db.view(view)
    db.view("baskets", parse(BASKETS, {"orders": Bag(db._state.tables["orders"].record)}), strict=False)
    return db
