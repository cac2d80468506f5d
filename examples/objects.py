"""A shop of objects: orders refer to customers and products, and four views in OQL follow along the references.

Run it with ``python examples/objects.py``, or let Nestling feed it from files:
``nestling run examples/objects.py --changes examples/data/objects --out out``.
"""

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import nestling as nl


@dataclass
class Customer:
    id: int
    name: str
    city: str
    referrer: nl.Ref["Customer"] | None
    orders: nl.Inverse["Order.customer"] = None


@dataclass
class Product:
    id: int
    name: str
    price: int
    sold: nl.Inverse["Order.lines.product"] = None


@dataclass
class Line:
    product: nl.Ref["Product"]
    quantity: int


@dataclass
class Order:
    no: int
    customer: nl.Ref["Customer"]
    date: date
    lines: list[Line]


db = nl.Database()
db.table("customers", Customer, key="id", on_delete={"referrer": "nil"})
db.table("products", Product, key="id")
db.table("orders", Order, key="no")

spend = db.view(
    "spend",
    """
    define total(o) as sum(select l.product.price * l.quantity from l in o.lines);
    select c.name, cents: sum(select total(o) from o in c.orders), by: c.referrer.name
    from c in customers
    order by cents desc, name
    """,
    language="oql",
)
months = db.view(
    "months",
    """
    select month, product: product.name, quantity: sum(select p.l.quantity from p in partition)
    from o in orders, l in o.lines
    group by month: o.date.month, product: l.product
    order by month, product.name
    """,
    language="oql",
)
loyal = db.view(
    "loyal",
    "select c.name from c in customers where for all o in c.orders: exists l in o.lines: l.product.name = 'tea'",
    language="oql",
)
unsold = db.view("unsold", "select p.name from p in products where not exists(p.sold)", language="oql")


def rows_of(table):
    file = Path(__file__).parent / "data" / "objects" / f"{table}.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def main():
    with db.transaction() as change:
        change.insert("customers", rows_of("customers"))
        change.insert("products", rows_of("products"))
        change.insert(
            "orders", [{**row, "date": date.fromisoformat(row["date"])} for row in rows_of("orders")]
        )
    for row in spend:
        print(f"{row.name:5} {row.cents:5}  {'' if row.by is None else 'by ' + row.by}".rstrip())
    print("unsold:", *unsold, "- loyal:", *sorted(loyal))

    print("\ntea gets dearer, and Ada calls herself Ada L.")
    orders = db.table("orders")
    orders.at(10).customer.update({"name": "Ada L."})
    db.update("products", key=1, set={"price": 500})
    for row in spend:
        print(f"{row.name:6} {row.cents:5}  {'' if row.by is None else 'by ' + row.by}".rstrip())

    try:
        db.delete("customers", key=1)
    except nl.ChangeError as refused:
        print("\nrefused:", refused.what)
    print("sold in February:", {row.product: row.quantity for row in months if row.month == 2})
    db.verify()


if __name__ == "__main__":
    main()
