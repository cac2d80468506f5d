"""Triggers as a person would write them for SQLite: what a row adds to a table of answers, by joins along indexes.

Every answer has how many rows stand behind it, so that a group that is empty goes. ``CROSS JOIN`` keeps the order of a
join: what is found by a key comes first.
"""

from __future__ import annotations

from collections.abc import Sequence


def on(table: str, into: str, key: str, select: str) -> list[str]:
    """What a row of ``table`` that comes, or goes, adds: ``{row}`` and ``{sign}`` stand for what differs.

    ``select`` yields the columns of ``into``, the last two of which are a sum and a count.
    """
    found = []
    for word, row, sign in (("INSERT", "NEW", "1"), ("DELETE", "OLD", "-1")):
        body = select.format(row=row, sign=sign)
        found.append(
            f"CREATE TRIGGER on_{table}_{word} AFTER {word} ON {table} BEGIN INSERT INTO {into} {body}"
            f" ON CONFLICT ({key}) DO UPDATE SET total = total + excluded.total, n = n + excluded.n; END"
        )
    return found


def answers(name: str, key: str, *others: str) -> str:
    return f"CREATE TABLE {name} ({', '.join((key, *others))}, total, n, PRIMARY KEY ({key})) WITHOUT ROWID"


Q3 = (
    "c.mktsegment = 'BUILDING' AND o.orderdate < '1995-03-15' AND li.shipdate > '1995-03-15'"
    " AND o.custkey = c.custkey AND li.orderkey = o.orderkey"
)
REVENUE = "li.extendedprice * (100 - li.discount)"


def _of_row(text: str, alias: str) -> str:
    """``text`` with the new row, or the old one, in the place of ``alias``."""
    return text.replace(f" {alias}.", " {row}.").replace(f"({alias}.", "({row}.")


TRIGGERS: dict[str, Sequence[str]] = {
    "bsv": [
        answers("v", "broker_id"),
        *on(
            "bids",
            "v",
            "broker_id",
            "SELECT {row}.broker_id, {sign} * {row}.volume * {row}.price, {sign} WHERE true",
        ),
    ],
    "q11": [
        answers("v", "partkey"),
        "CREATE INDEX by_supplier ON partsupp (suppkey)",
        *on(
            "partsupp",
            "v",
            "partkey",
            "SELECT {row}.partkey, {sign} * {row}.supplycost * {row}.availqty, {sign} FROM supplier s"
            " WHERE s.suppkey = {row}.suppkey",
        ),
        *on(
            "supplier",
            "v",
            "partkey",
            "SELECT ps.partkey, {sign} * sum(ps.supplycost * ps.availqty), {sign} * count(*) FROM partsupp ps"
            " WHERE ps.suppkey = {row}.suppkey GROUP BY ps.partkey",
        ),
    ],
    "q3": [
        answers("v", "orderkey", "orderdate", "shippriority"),
        "CREATE INDEX by_customer ON orders (custkey)",
        *on(
            "lineitem",
            "v",
            "orderkey",
            f"SELECT o.orderkey, o.orderdate, o.shippriority, {{sign}} * {_of_row(f' {REVENUE}', 'li')}, {{sign}}"
            f" FROM orders o CROSS JOIN customer c WHERE {_of_row(Q3, 'li')} AND o.orderkey = {{row}}.orderkey",
        ),
        *on(
            "orders",
            "v",
            "orderkey",
            f"SELECT {{row}}.orderkey, {{row}}.orderdate, {{row}}.shippriority, {{sign}} * sum({REVENUE}),"
            f" {{sign}} * count(*) FROM customer c CROSS JOIN lineitem li WHERE {_of_row(Q3, 'o')}"
            " GROUP BY li.orderkey",
        ),
        *on(
            "customer",
            "v",
            "orderkey",
            f"SELECT o.orderkey, o.orderdate, o.shippriority, {{sign}} * sum({REVENUE}), {{sign}} * count(*)"
            f" FROM orders o CROSS JOIN lineitem li WHERE {_of_row(f' {Q3}', 'c')} GROUP BY o.orderkey",
        ),
    ],
    "q18": [
        # The quantity of each order; it counts for the customer while it is above a hundred.
        answers("sold", "orderkey"),
        answers("v", "custkey"),
        "CREATE INDEX by_customer ON orders (custkey)",
        *on(
            "lineitem",
            "sold",
            "orderkey",
            "SELECT {row}.orderkey, {sign} * {row}.quantity, {sign} WHERE true",
        ),
        *[
            f"CREATE TRIGGER sold_{word} AFTER {word} ON sold BEGIN INSERT INTO v"
            f" SELECT o.custkey, (NEW.total > 100) * NEW.total {less}, (NEW.total > 100) {fewer}"
            " FROM orders o CROSS JOIN customer c WHERE o.orderkey = NEW.orderkey AND c.custkey = o.custkey"
            " ON CONFLICT (custkey) DO UPDATE SET total = total + excluded.total, n = n + excluded.n; END"
            for word, less, fewer in (
                ("INSERT", "", ""),
                ("UPDATE", "- (OLD.total > 100) * OLD.total", "- (OLD.total > 100)"),
            )
        ],
        *on(
            "orders",
            "v",
            "custkey",
            "SELECT {row}.custkey, {sign} * sold.total, {sign} FROM sold CROSS JOIN customer c"
            " WHERE sold.orderkey = {row}.orderkey AND sold.total > 100 AND c.custkey = {row}.custkey",
        ),
        *on(
            "customer",
            "v",
            "custkey",
            "SELECT o.custkey, {sign} * sum(sold.total), {sign} * count(*) FROM orders o CROSS JOIN sold"
            " WHERE o.custkey = {row}.custkey AND sold.orderkey = o.orderkey AND sold.total > 100"
            " GROUP BY o.custkey",
        ),
    ],
}

#: Where the answer is.
PLACE = {
    "bsv": "SELECT broker_id, 0.5 * total * total FROM v WHERE n",
    "q11": "SELECT partkey, total FROM v WHERE n",
    "q3": "SELECT orderkey, orderdate, shippriority, total FROM v WHERE n",
    "q18": "SELECT custkey, total FROM v WHERE n",
}
