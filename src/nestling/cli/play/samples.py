"""Databases to play with: what is in each, texts to begin with, and a change at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from random import Random

from nestling.cli.demo.films import CATALOGUE, FIRST
from nestling.cli.demo.shop import CUSTOMERS, PRODUCTS
from nestling.database import Database
from nestling.database.refresh import Refresh


@dataclass(frozen=True, slots=True)
class SampleText:
    """A view to begin with."""

    title: str
    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A small database, made anew whenever it is opened."""

    name: str
    build: Callable[[Database, Random], None]
    step: Callable[[Database, Random], Refresh]
    texts: tuple[SampleText, ...]


# -- a shop: orders hold their items


def _shop(db: Database, random: Random) -> None:
    db.table("customers", {"id": int, "name": str}, key="id")
    db.table("products", {"pid": int, "name": str, "price": int}, key="pid")
    db.table("orders", "id INT, customer INT, items ARRAY<STRUCT<pid: INT, qty: INT>>", key="id")
    db.insert("customers", list(enumerate(CUSTOMERS[:8])))
    db.insert("products", [(pid, name, random.randrange(99, 4900)) for pid, name in enumerate(PRODUCTS)])
    db.insert("orders", [(number, random.randrange(8), _items(random)) for number in range(1, 25)])


def _items(random: Random) -> list[tuple[int, int]]:
    return [(pid, random.randint(1, 4)) for pid in random.sample(range(len(PRODUCTS)), random.randint(1, 3))]


def _shop_step(db: Database, random: Random) -> Refresh:
    orders = sorted(order.id for order in db.table("orders"))
    order = db.table("orders").at(random.choice(orders)) if orders else None
    what = random.choice(("item", "item", "item", "price", "order", "cancelled"))
    if order is None or what == "order":
        return db.insert("orders", [(max(orders, default=0) + 1, random.randrange(8), _items(random))])
    if what == "item":
        added: Refresh = order.items.insert([(random.randrange(len(PRODUCTS)), random.randint(1, 4))])
        return added
    if what == "price":
        price = random.randrange(99, 4900)
        return db.update("products", key=random.randrange(len(PRODUCTS)), set={"price": price})
    return db.delete("orders", key=random.choice(orders))


_SHOP = (
    SampleText(
        "orders inside customers", "python",
        """[{"customer": c.name,
  "orders": [{"order": o.id,
              "items": [{"product": p.name, "cost": i.qty * p.price}
                        for i in o.items for p in products if p.pid == i.pid]}
             for o in orders if o.customer == c.id]}
 for c in customers]""",
    ),
    SampleText(
        "spend by customer", "sql",
        """SELECT c.name, sum(i.qty * p.price) AS cents, count(*) AS lines
FROM customers c JOIN orders o ON o.customer = c.id
  JOIN LATERAL explode(o.items) AS t(i) JOIN products p ON p.pid = i.pid
GROUP BY c.name""",
    ),
    SampleText(
        "three dearest products", "python",
        "[(p.name, p.price) for p in sorted(products, key=lambda p: -p.price)[:3]]",
    ),
)  # fmt: skip


# -- films: who is related to whom


def _films(db: Database, random: Random) -> None:
    db.table("M", {"name": str, "gen": str, "dir": str}, key="name")
    db.insert("M", [*FIRST, *random.sample(CATALOGUE, 12)])


def _films_step(db: Database, random: Random) -> Refresh:
    there = sorted(film.name for film in db.table("M"))
    absent = [film for film in (*FIRST, *CATALOGUE) if film[0] not in there]
    if absent and (len(there) < 8 or random.random() < 0.5):
        return db.insert("M", [random.choice(absent)])
    if random.random() < 0.5:
        genre = random.choice(CATALOGUE)[1]
        return db.update("M", key=random.choice(there), set={"gen": genre})
    return db.delete("M", key=random.choice(there))


_FILMS = (
    SampleText(
        "related films", "python",
        """[(m.name, [m2.name for m2 in M
            if m.name != m2.name and (m.gen == m2.gen or m.dir == m2.dir)])
 for m in M]""",
    ),
    SampleText(
        "films by genre", "sql",
        "SELECT gen, count(*) AS films, collect_list(name) AS names FROM M GROUP BY gen",
    ),
)  # fmt: skip


# -- objects: rows that refer to each other


def _objects(db: Database, random: Random) -> None:
    db.table("regions", {"id": int, "name": str}, key="id", inverse={"customers": "customers.region"})
    db.table("customers", {"id": int, "name": str, "region": int}, key="id", references={"region": "regions"},
             inverse={"orders": "orders.customer"})  # fmt: skip
    db.table("orders", {"no": int, "customer": int, "day": date, "total": int}, key="no",
             references={"customer": "customers"}, on_delete="cascade")  # fmt: skip
    db.insert("regions", [(1, "North"), (2, "South"), (3, "West")])
    db.insert("customers", [(n, name, 1 + n % 3) for n, name in enumerate(CUSTOMERS[:9])])
    db.insert("orders", [_order(number, random) for number in range(1, 21)])


def _order(number: int, random: Random) -> tuple[int, int, date, int]:
    return number, random.randrange(9), date(2026, random.randint(1, 12), 1), random.randrange(5, 500)


def _objects_step(db: Database, random: Random) -> Refresh:
    orders = sorted(order.no for order in db.table("orders"))
    what = random.choice(("order", "total", "moves", "gone"))
    if what == "order" or not orders:
        return db.insert("orders", [_order(max(orders, default=0) + 1, random)])
    if what == "total":
        return db.update("orders", key=random.choice(orders), set={"total": random.randrange(5, 500)})
    if what == "moves":
        return db.update("customers", key=random.randrange(9), set={"region": random.randint(1, 3)})
    return db.delete("orders", key=random.choice(orders))


_OBJECTS = (
    SampleText(
        "totals along references", "oql",
        """select r.name, total: sum(select o.total from c in r.customers, o in c.orders),
       customers: (select c.name, orders: count(c.orders) from c in r.customers)
from r in regions
order by r.name""",
    ),
    SampleText("a path through two references", "python", "[(o.no, o.customer.region.name) for o in orders]"),
)  # fmt: skip


# -- an auction: an ordered document

_AUCTION = """<site><people><person id="p1"><name>Ada</name></person><person id="p2"><name>Ben</name></person>
<person id="p3"><name>Cleo</name></person></people><open>
<auction item="clock"><start>40</start><bid by="p1">45</bid></auction>
<auction item="lamp"><start>10</start></auction><auction item="map"><start>25</start></auction></open></site>"""


def _auction(db: Database, random: Random) -> None:
    db.document("auction.xml", _AUCTION, whitespace="strip")


def _auction_step(db: Database, random: Random) -> Refresh:
    item = random.choice(("clock", "lamp", "map"))
    auction = f'/site/open/auction[@item = "{item}"]'
    if random.random() < 0.75:
        bid = f'<bid by="p{random.randint(1, 3)}">{random.randrange(46, 400)}</bid>'
        return db.xquery(f"insert node {bid} into {auction}")
    return db.xquery(f"delete node {auction}/bid[1]")


_AUCTIONS = (
    SampleText(
        "bids by item", "xquery",
        """<prices>{
  for $a in doc("auction.xml")/site/open/auction
  return <item name="{$a/@item}" bids="{count($a/bid)}">{
    for $b in $a/bid order by number($b) descending
    return <bid by="{doc("auction.xml")/site/people/person[@id = $b/@by]/name}">{data($b)}</bid>
  }</item>
}</prices>""",
    ),
)  # fmt: skip


SAMPLES: dict[str, Sample] = {
    sample.name: sample
    for sample in (
        Sample("shop", _shop, _shop_step, _SHOP),
        Sample("films", _films, _films_step, _FILMS),
        Sample("objects", _objects, _objects_step, _OBJECTS),
        Sample("auction", _auction, _auction_step, _AUCTIONS),
    )
}
