"""TPC-H's customers and orders, line items nested in their orders, and five views of them, for ``benchmarks/spark.py``.

Rows are those of ``tpchgen-cli``. A change is a DataFrame with ``_change_type``: of its orders half get another
priority and quantity, a quarter goes, a quarter is new. No order is changed twice, and which ones are is random.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from .tpch_files import PROGRAM, found

CUSTOMERS = "ckey BIGINT, name STRING, segment STRING"
ORDERS = (
    "okey BIGINT, ckey BIGINT, day DATE, priority STRING, total DECIMAL(15,2),"
    " items ARRAY<STRUCT<part: BIGINT, qty: BIGINT, price: DECIMAL(15,2)>>"
)

#: The views: SQL, a comprehension, and a DataFrame made from those of the tables.
BY_SEGMENT = (
    "SELECT c.segment, o.priority, sum(i.qty) AS qty, sum(i.price) AS revenue, count(*) AS items"
    " FROM orders o JOIN customers c ON c.ckey = o.ckey LATERAL VIEW explode(o.items) t AS i"
    " GROUP BY c.segment, o.priority"
)
HISTORY = (
    "[(c.ckey, c.name, [(o.okey, o.day, [(i.part, i.qty) for i in o.items]) for o in orders if o.ckey == c.ckey])"
    " for c in customers]"
)
SPENT = (
    "SELECT c.ckey, c.name, count(o.okey) AS orders, sum(o.total) AS total"
    " FROM customers c LEFT JOIN orders o ON o.ckey = c.ckey GROUP BY c.ckey, c.name"
)
BEST = (
    "SELECT c.ckey, array(SELECT named_struct('okey', o.okey, 'total', o.total) FROM orders o"
    " WHERE o.ckey = c.ckey ORDER BY o.total DESC, o.okey LIMIT 3) AS best FROM customers c"
)


def bought(orders: Any, customers: Any) -> Any:
    """Which parts the customers of a segment have bought."""
    items = orders.selectExpr("ckey", "inline(items)")
    return items.join(customers, "ckey").select("segment", "part").distinct()


VIEWS = ("group-join", "nested", "distinct", "outer", "top 3")

#: The same by plain Spark, over DataFrames ``orders`` and ``customers``.
PLAIN: Mapping[str, str] = {
    "group-join": BY_SEGMENT,
    "nested": (
        "SELECT c.ckey, c.name, coalesce(b.orders, array()) AS orders FROM customers c LEFT JOIN (SELECT ckey,"
        " collect_list(struct(okey, day, transform(items, i -> struct(i.part, i.qty)) AS items)) AS orders"
        " FROM orders GROUP BY ckey) b ON b.ckey = c.ckey"
    ),
    "distinct": (
        "SELECT DISTINCT c.segment, i.part FROM orders o JOIN customers c ON c.ckey = o.ckey"
        " LATERAL VIEW explode(o.items) t AS i"
    ),
    "outer": SPENT,
    "top 3": (
        "SELECT ckey, collect_list(struct(okey, total)) AS best FROM (SELECT ckey, okey, total, row_number() OVER"
        " (PARTITION BY ckey ORDER BY total DESC, okey) AS place FROM orders) WHERE place <= 3 GROUP BY ckey"
    ),
}


def name_of(view: str) -> str:
    """What a database calls one of ``VIEWS``."""
    return view.replace("-", "_").replace(" ", "_")


def define(db: Any, view: str) -> None:
    """Define one of ``VIEWS``."""
    name = name_of(view)
    match view:
        case "group-join":
            db.view(name, BY_SEGMENT)
        case "nested":
            db.view(name, HISTORY, language="python")
        case "distinct":
            db.view(name, bought(db.table("orders").df(), db.table("customers").df()))
        case "outer":
            db.view(name, SPENT)
        case _:
            db.view(name, BEST)


def declare(db: Any) -> None:
    """The two tables."""
    db.table("customers", CUSTOMERS, key="ckey")
    db.table("orders", ORDERS, key="okey")


def write_tables(spark: Any, scale: float, folder: Path) -> None:
    """Write ``customers`` and ``orders`` as Parquet, the orders with their items inside, in no order."""
    raw = folder / "raw"
    subprocess.run(
        [
            found() or PROGRAM,
            "parquet",
            "-s",
            str(scale),
            "--tables=customer,orders,lineitem",
            f"--output-dir={raw}",
        ],
        check=True,
        capture_output=True,
    )
    for name in ("customer", "orders", "lineitem"):
        spark.read.parquet(str(raw / f"{name}.parquet")).createOrReplaceTempView(f"raw_{name}")
    customers = "SELECT c_custkey AS ckey, c_name AS name, c_mktsegment AS segment FROM raw_customer"
    items = (
        "SELECT l_orderkey, collect_list(struct(l_partkey AS part, CAST(l_quantity AS BIGINT) AS qty,"
        " l_extendedprice AS price)) AS items FROM raw_lineitem GROUP BY l_orderkey"
    )
    orders = (
        "SELECT o_orderkey AS okey, o_custkey AS ckey, o_orderdate AS day, o_orderpriority AS priority,"
        f" o_totalprice AS total, items FROM raw_orders JOIN ({items}) ON l_orderkey = o_orderkey"
    )
    spark.sql(customers).repartition(2).write.parquet(str(folder / "customers"))
    spark.sql(orders).repartition(8, "okey").write.parquet(str(folder / "orders"))


@dataclass
class Changes:
    """Makes changes of the orders in ``folder``: each is written to files before it is applied."""

    spark: Any
    folder: Path
    keys: list[int] = field(init=False)
    made: int = 0

    def __post_init__(self) -> None:
        rows = self.spark.read.parquet(str(self.folder / "orders"))
        self.keys = sorted(row.okey for row in rows.select("okey").collect())
        self.greatest = self.keys[-1]
        Random(0).shuffle(self.keys)

    def next(self, size: int) -> Any:
        """A DataFrame that changes ``size`` orders."""
        return self.many(1, size)[0]

    def many(self, number: int, size: int) -> list[Any]:
        """So many DataFrames, each of which changes ``size`` orders, each in one file."""
        self.made += 1
        updated, deleted = size - size // 2, size // 4
        kinds = [0] * updated + [1] * deleted + [2] * (size - updated - deleted)
        taken = [(self.keys.pop(), kind, batch) for batch in range(number) for kind in kinds]
        picked = self.spark.createDataFrame(taken, "okey BIGINT, kind INT, batch INT")
        picked.createOrReplaceTempView("picked")
        self.spark.read.parquet(str(self.folder / "orders")).createOrReplaceTempView("stored")
        more = "transform(items, (i, n) -> struct(i.part, i.qty + IF(n = 0, 1, 0) AS qty, i.price))"
        columns = "okey, ckey, day, priority, total, items"
        self.spark.sql(
            "SELECT s.*, p.kind, p.batch FROM stored s JOIN picked p ON p.okey = s.okey"
        ).createOrReplaceTempView("changing")
        rows = self.spark.sql(
            f"SELECT {columns}, 'delete' AS _change_type, batch FROM changing WHERE kind = 1"
            f" UNION ALL SELECT {columns}, 'update_preimage', batch FROM changing WHERE kind = 0"
            f" UNION ALL SELECT okey, ckey, day, '6-CHANGED', total, {more}, 'update_postimage', batch"
            " FROM changing WHERE kind = 0"
            f" UNION ALL SELECT okey + {self.greatest * self.made}, ckey, day, priority, total, items, 'insert', batch"
            " FROM changing WHERE kind = 2"
        )
        place = self.folder / f"change {self.made}"
        parts = rows.coalesce(1) if number == 1 else rows.repartition("batch")
        parts.write.partitionBy("batch").parquet(str(place))
        return [self.spark.read.parquet(str(place / f"batch={batch}")) for batch in range(number)]

    def snapshot(self, table: Callable[[], Any], size: int) -> Any:
        """What ``table`` holds, with another priority in ``size`` orders: what ``sync`` is given."""
        self.made += 1
        place, keys = str(self.folder / f"snapshot {self.made}"), [self.keys.pop() for _ in range(size)]
        picked = self.spark.createDataFrame([(key, True) for key in keys], "okey BIGINT, picked BOOLEAN")
        rows = table().join(picked.hint("broadcast"), "okey", "left")
        changed = "CASE WHEN picked IS NULL THEN priority ELSE '7-SYNCED' END AS priority"
        rows.selectExpr("okey", "ckey", "day", changed, "total", "items").write.parquet(place)
        return self.spark.read.parquet(place)
