"""The texts of the decision-support queries: as views, and as the SQL they come from."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from datetime import date

CUTOFF = date(1995, 3, 15)

#: After appendix A of the paper. The select lists of Q3 and SSB4 were not at hand; they follow TPC-H and the
#: group-by clause. A sum of nothing is 0 in the paper, as in Python, and NULL in SQL: hence ``count`` in Q22.
SQL = {
    "q3": """
        SELECT o.orderkey, o.orderdate, o.shippriority, sum(li.extendedprice * (100 - li.discount))
        FROM customer c, orders o, lineitem li
        WHERE c.mktsegment = 'BUILDING' AND o.custkey = c.custkey AND li.orderkey = o.orderkey
          AND o.orderdate < DATE('1995-03-15') AND li.shipdate > DATE('1995-03-15')
        GROUP BY o.orderkey, o.orderdate, o.shippriority""",
    "q11": """
        SELECT ps.partkey, sum(ps.supplycost * ps.availqty) FROM partsupp ps, supplier s
        WHERE ps.suppkey = s.suppkey GROUP BY ps.partkey""",
    "q17": """
        SELECT sum(li.extendedprice) FROM lineitem li, part p
        WHERE p.partkey = li.partkey
          AND li.quantity
              < 0.005 * (SELECT sum(l2.quantity) FROM lineitem l2 WHERE l2.partkey = p.partkey)""",
    "q18": """
        SELECT c.custkey, sum(l1.quantity) FROM customer c, orders o, lineitem l1
        WHERE 1 <= (SELECT sum(1) WHERE
                    100 < (SELECT sum(l2.quantity) FROM lineitem l2 WHERE l1.orderkey = l2.orderkey))
          AND c.custkey = o.custkey AND o.orderkey = l1.orderkey
        GROUP BY c.custkey""",
    "q22": """
        SELECT c1.nationkey, sum(c1.acctbal) FROM customer c1
        WHERE c1.acctbal < (SELECT sum(c2.acctbal) FROM customer c2 WHERE c2.acctbal > 0)
          AND 0 = (SELECT count(*) FROM orders o WHERE o.custkey = c1.custkey)
        GROUP BY c1.nationkey""",
    "ssb4": """
        SELECT sn.regionkey AS sold, cn.regionkey AS bought, p.type, sum(li.quantity)
        FROM customer c, orders o, lineitem li, part p, supplier s, nation cn, nation sn
        WHERE c.custkey = o.custkey AND o.orderkey = li.orderkey AND p.partkey = li.partkey
          AND s.suppkey = li.suppkey
          AND o.orderdate >= DATE('1997-01-01') AND o.orderdate < DATE('1998-01-01')
          AND cn.nationkey = c.nationkey AND sn.nationkey = s.nationkey
        GROUP BY sn.regionkey, cn.regionkey, p.type""",
}


def is_early(o):
    """Ordered before the day of Q3."""
    return o.orderdate < date(1995, 3, 15)


def is_late(li):
    """Shipped after the day of Q3."""
    return li.shipdate > date(1995, 3, 15)


def q3(customer, orders, lineitem):
    """What the orders of one market segment that are not yet shipped bring in; in 1/100 of a cent."""
    return [
        (
            orderkey,
            orderdate,
            shippriority,
            sum(
                li.extendedprice * (100 - li.discount)
                for c in customer
                if c.mktsegment == "BUILDING"
                for o in orders
                if o.custkey == c.custkey and o.orderkey == orderkey and is_early(o)
                for li in lineitem
                if li.orderkey == o.orderkey and is_late(li)
            ),
        )
        for orderkey, orderdate, shippriority in {
            (o.orderkey, o.orderdate, o.shippriority)
            for c in customer
            if c.mktsegment == "BUILDING"
            for o in orders
            if o.custkey == c.custkey and is_early(o)
            for li in lineitem
            if li.orderkey == o.orderkey and is_late(li)
        }
    ]


def q11(partsupp, supplier):
    """The value of the stock of each part."""
    return [
        (
            partkey,
            sum(
                ps.supplycost * ps.availqty
                for ps in partsupp
                if ps.partkey == partkey
                for s in supplier
                if s.suppkey == ps.suppkey
            ),
        )
        for partkey in {ps.partkey for ps in partsupp for s in supplier if s.suppkey == ps.suppkey}
    ]


def q17(lineitem, part):
    """What is sold in quantities that are small for the part."""
    return [
        (
            sum(
                li.extendedprice
                for p in part
                for li in lineitem
                if li.partkey == p.partkey
                if li.quantity < 0.005 * sum(l2.quantity for l2 in lineitem if l2.partkey == p.partkey)
            ),
        )
    ]


def is_large(orderkey, lineitem):
    """An order of more than a hundred pieces."""
    return sum(l2.quantity for l2 in lineitem if l2.orderkey == orderkey) > 100


def q18(customer, orders, lineitem):
    """How many pieces each customer has in large orders."""
    return [
        (
            custkey,
            sum(
                l1.quantity
                for c in customer
                if c.custkey == custkey
                for o in orders
                if o.custkey == c.custkey
                for l1 in lineitem
                if l1.orderkey == o.orderkey and is_large(l1.orderkey, lineitem)
            ),
        )
        for custkey in {
            c.custkey
            for c in customer
            for o in orders
            if o.custkey == c.custkey
            for l1 in lineitem
            if l1.orderkey == o.orderkey and is_large(l1.orderkey, lineitem)
        }
    ]


def is_idle(c1, customer, orders):
    """Not too rich, and without orders."""
    return c1.acctbal < sum(c2.acctbal for c2 in customer if c2.acctbal > 0) and not any(
        o.custkey == c1.custkey for o in orders
    )


def q22(customer, orders):
    """The balances of the customers without orders, by nation."""
    return [
        (
            nationkey,
            sum(c1.acctbal for c1 in customer if c1.nationkey == nationkey and is_idle(c1, customer, orders)),
        )
        for nationkey in {c1.nationkey for c1 in customer if is_idle(c1, customer, orders)}
    ]


def is_of_1997(o):
    """Ordered within the year."""
    return date(1997, 1, 1) <= o.orderdate < date(1998, 1, 1)


def ssb4(customer, orders, lineitem, part, supplier, nation):
    """The pieces sold from region to region, by type of part."""
    return [
        (
            from_region,
            to_region,
            type_,
            sum(
                li.quantity
                for p in part
                if p.type == type_
                for li in lineitem
                if li.partkey == p.partkey
                for s in supplier
                if s.suppkey == li.suppkey
                for sn in nation
                if sn.nationkey == s.nationkey and sn.regionkey == from_region
                for o in orders
                if o.orderkey == li.orderkey and is_of_1997(o)
                for c in customer
                if c.custkey == o.custkey
                for cn in nation
                if cn.nationkey == c.nationkey and cn.regionkey == to_region
            ),
        )
        for from_region, to_region, type_ in {
            (sn.regionkey, cn.regionkey, p.type)
            for o in orders
            if is_of_1997(o)
            for c in customer
            if c.custkey == o.custkey
            for cn in nation
            if cn.nationkey == c.nationkey
            for li in lineitem
            if li.orderkey == o.orderkey
            for p in part
            if p.partkey == li.partkey
            for s in supplier
            if s.suppkey == li.suppkey
            for sn in nation
            if sn.nationkey == s.nationkey
        }
    ]
