"""A web shop: visits come in with their events nested, and three views follow.

One file for both engines: the views are declared by ``build``, for whatever database it is given. ::

    nestling run examples/sales.py --changes examples/data/sales --out out
    nestling run examples/sales.py --changes examples/data/sales --out out --engine spark

Both write the same files. ``python examples/sales.py`` runs it embedded, too, and as a job of Spark, where a folder or
an address says what it keeps and goes on with::

    spark-submit examples/sales.py hdfs://…/shop
"""

import json
import sys
from datetime import date
from pathlib import Path

import nestling as nl

DATA = Path(__file__).parent / "data" / "sales"


def build(db):
    db.table("products", "sku STRING, name STRING, category STRING, price INT", key="sku")
    db.table(
        "visits",
        "id INT, user STRING, day DATE, events ARRAY<STRUCT<sku: STRING, kind: STRING, qty: INT>>",
        key="id",
    )
    db.view("shelves", shelves)
    db.view(
        "revenue",
        """
        SELECT v.day, sum(e.qty * p.price) AS cents, count(*) AS lines
        FROM visits v JOIN LATERAL explode(v.events) AS t(e) JOIN products p ON p.sku = e.sku
        WHERE e.kind = 'buy'
        GROUP BY v.day""",
    )
    db.view("unsold", unsold)


def shelves(products, visits):
    """Per category the products, per product who bought how many: two levels deep."""
    return [
        {
            "category": category,
            "products": [
                {
                    "name": p.name,
                    "sold": [
                        {"user": v.user, "qty": e.qty}
                        for v in visits
                        for e in v.events
                        if e.sku == p.sku and e.kind == "buy"
                    ],
                }
                for p in products
                if p.category == category
            ],
        }
        for category in {p.category for p in products}
    ]


def unsold(products, visits):
    """What nobody has bought."""
    sold = [e.sku for v in visits for e in v.events if e.kind == "buy"]
    return [p.name for p in products if p.sku not in sold]


def rows_of(table):
    lines = (DATA / f"{table}.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines):
        yield row | {"day": date.fromisoformat(row["day"])} if "day" in row else row


def opened(path=None):
    if path is None:
        return nl.Database()
    from pyspark.sql import SparkSession

    return nl.Database(spark=SparkSession.builder.getOrCreate(), path=path)


def main(*path):
    db = opened(*path)
    build(db)
    for table in ("products", "visits"):
        db.sync(table, rows_of(table))
    for day, cents, lines in sorted(db.views["revenue"]):
        print(f"{day}  {cents / 100:8.2f}  in {lines} lines")
    print("unsold:", ", ".join(sorted(db.views["unsold"])))
    db.verify()
    db.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
