"""One stream through Pathway: run by a Python that has it, with nothing else of this project.

Reads JSON from its standard input (query, schema, keys, parts: lists of events that come at one time) and writes one
line: CPU microseconds an event, threads included, and the rows that the answer ends with.
"""

from __future__ import annotations

import json
import sys
from time import process_time
from typing import Any

import pathway as pw  # type: ignore[import-not-found]  # the Python that runs this has it

TYPES = {"int": int, "str": str, "date": str}
given = json.load(sys.stdin)


def table(name: str) -> Any:
    """The events of a table, each at the time of its part."""
    columns, keys = given["schema"][name], given["keys"][name]
    schema = pw.schema_builder(
        {c: pw.column_definition(dtype=TYPES[k], primary_key=c in keys) for c, k in columns.items()}
    )
    rows = [
        (*row, 2 * time, n)
        for time, part in enumerate(given["parts"], 1)
        for table, row, n in part
        if table == name
    ]
    return pw.debug.table_from_rows(schema, rows, is_stream=True)


def bsv(bids: Any) -> Any:
    sums = bids.groupby(bids.broker_id).reduce(
        bids.broker_id, total=pw.reducers.sum(bids.volume * bids.price)
    )
    return sums.select(sums.broker_id, value=0.5 * sums.total * sums.total)


def q11(partsupp: Any, supplier: Any) -> Any:
    ps, s = partsupp, supplier
    joined = ps.join(s, ps.suppkey == s.suppkey).select(ps.partkey, value=ps.supplycost * ps.availqty)
    return joined.groupby(joined.partkey).reduce(joined.partkey, total=pw.reducers.sum(joined.value))


def q3(customer: Any, orders: Any, lineitem: Any) -> Any:
    c = customer.filter(customer.mktsegment == "BUILDING")
    o = orders.filter(orders.orderdate < "1995-03-15")
    li = lineitem.filter(lineitem.shipdate > "1995-03-15")
    wanted = o.join(c, o.custkey == c.custkey).select(o.orderkey, o.orderdate, o.shippriority)
    lines = wanted.join(li, wanted.orderkey == li.orderkey).select(
        wanted.orderkey,
        wanted.orderdate,
        wanted.shippriority,
        value=li.extendedprice * (100 - li.discount),
    )
    return lines.groupby(lines.orderkey, lines.orderdate, lines.shippriority).reduce(
        lines.orderkey, lines.orderdate, lines.shippriority, total=pw.reducers.sum(lines.value)
    )


def q18(customer: Any, orders: Any, lineitem: Any) -> Any:
    c, o, li = customer, orders, lineitem
    sums = li.groupby(li.orderkey).reduce(li.orderkey, total=pw.reducers.sum(li.quantity))
    large = sums.filter(sums.total > 100)
    wanted = o.join(c, o.custkey == c.custkey).select(o.orderkey, o.custkey)
    found = wanted.join(large, wanted.orderkey == large.orderkey).select(wanted.custkey, large.total)
    return found.groupby(found.custkey).reduce(found.custkey, total=pw.reducers.sum(found.total))


tables = {name: table(name) for name in given["schema"]}
answer = globals()[given["query"]](**tables)
found: dict[Any, tuple[Any, ...]] = {}


def heard(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
    if is_addition:
        found[key] = tuple(row.values())
    elif found.get(key) == tuple(row.values()):
        del found[key]


pw.io.subscribe(answer, on_change=heard)
start = process_time()
pw.run(monitoring_level=pw.MonitoringLevel.NONE)
taken = process_time() - start
count = sum(map(len, given["parts"]))
sys.stdout.write(
    "\n" + json.dumps({"us": taken / count * 1e6, "rows": list(found.values())}, default=str) + "\n"
)
