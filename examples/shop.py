"""A shop: orders hold their items, and two views follow every change, also those deep inside an order.

Run it with ``python examples/shop.py``, or let Nestling feed it from files:
``nestling run examples/shop.py --changes examples/data/shop --out out``.
"""

import json
from pathlib import Path

import nestling as nl

db = nl.Database()
db.table("customers", {"id": int, "name": str}, key="id")
db.table("products", {"pid": int, "name": str, "price": int}, key="pid")
db.table("orders", "id INT, customer INT, items ARRAY<STRUCT<pid: INT, qty: INT>>", key="id")


@db.view
def history(customers, orders, products):
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


@db.view
def spend(customers, orders, products):
    return [
        {
            "customer": c.name,
            "cents": sum(
                i.qty * p.price
                for o in orders
                if o.customer == c.id
                for i in o.items
                for p in products
                if p.pid == i.pid
            ),
        }
        for c in customers
    ]


db.constraint("positive", lambda orders: [(o.id, i.pid) for o in orders for i in o.items if i.qty <= 0])


def rows_of(table):
    file = Path(__file__).parent / "data" / "shop" / f"{table}.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def tell(change):
    for inner in sorted(change.inner, key=lambda inner: inner.key):
        for sign, elements in (("-", inner.deleted), ("+", inner.inserted)):
            for element in elements:
                print(f"  {inner.key[0]}, {'.'.join(inner.path)} {sign} {tuple(element)}")


def main():
    with db.transaction() as t:
        for table in ("customers", "products", "orders"):
            t.insert(table, rows_of(table))
    print("spend", dict(sorted(spend)))

    history.subscribe(tell)
    print("\nAda's order 1 gains two cups")
    db.table("orders").at(1).items.insert([{"pid": 2, "qty": 2}])
    print("\ntea gets dearer")
    db.update("products", key=1, set={"price": 550})

    try:
        db.insert("orders", [{"id": 9, "customer": 1, "items": [{"pid": 1, "qty": -1}]}])
    except nl.ConstraintError as refused:
        print("\nrefused:", refused.what)
    print("\nspend", dict(sorted(spend)))
    db.verify()


if __name__ == "__main__":
    main()
