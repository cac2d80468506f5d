"""The documents and tables that the use cases are about, and what happens to them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import partial

import nestling as nl

Step = Callable[[nl.Database], object]

SHELF = (
    '<shelf><book year="1994"><title>Knots at sea</title><author><last>Sund</last><first>W.</first></author>'
    "<house>Harbour</house><price>65.95</price></book>"
    '<book year="1992"><title>Another knot</title><author><last>Sund</last><first>W.</first></author>'
    "<house>Harbour</house><price>65.95</price></book>"
    '<book year="2000"><title>Tides</title><author><last>Abel</last><first>S.</first></author>'
    "<author><last>Berg</last><first>P.</first></author><author><last>Sund</last><first>D.</first></author>"
    "<house>Morgan</house><price>39.95</price></book>"
    '<book year="1999"><title>Boats for children</title><editor><last>Sundby</last><first>D.</first>'
    "<of>Coast school</of></editor><house>Kluwe</house><price>129.95</price></book></shelf>"
)
REVIEWS = (
    "<reviews><entry><title>Tides</title><price>34.95</price><text>Deep.</text></entry>"
    "<entry><title>Knots at sea</title><price>65.95</price><text>Long.</text></entry>"
    "<entry><title>Tides</title><price>38</price><text>Wet.</text></entry></reviews>"
)
MANUAL = (
    '<manual><title>How to sail</title><section id="a"><title>Wind</title><p>It blows.</p>'
    '<section id="b"><title>Against it</title><figure width="400"><title>Tack</title></figure></section>'
    '<section id="c"><title>The sail</title><p>Cloth.</p></section></section>'
    '<section id="d"><title>Water</title><figure width="50"><title>Wave</title></figure>'
    '<section id="e"><title>Under sail</title><section id="f"><title>Deeper</title><figure width="7">'
    "<title>Keel</title></figure></section></section></section></manual>"
)
LOG = (
    "<log><work><title>Hull</title><measure>the plank</measure><cut>along <tool>saw</tool></cut>"
    "<action>smooth with <tool>plane</tool></action><cut>across <tool>knife</tool> and <tool>chisel</tool></cut>"
    "<action>press with <tool>clamp</tool></action><action>look</action>"
    "<action>drive <tool>nails</tool></action></work>"
    "<work><title>Mast</title><cut>down <tool>axe</tool></cut><measure>the tree</measure></work></log>"
)
MEMBERS = [(1, "Ada", "B"), (2, "Bob", "D"), (3, "Cyd", "E"), (4, "Dan", "A")]
TOOLS = [
    (101, 1, "red saw", "35", (2021, 1, 5), (2021, 1, 20)),
    (102, 2, "drill", "40", (2021, 2, 11), (2021, 3, 15)),
    (103, 2, "old saw", "25", (2021, 1, 10), (2021, 2, 20)),
    (104, 3, "boat", "500", (2021, 2, 25), (2021, 3, 8)),
    (105, 1, "jigsaw", "4", (2021, 1, 19), (2021, 4, 30)),
]
OFFERS = [
    (1, 2, 101, "35"),
    (2, 4, 101, "40"),
    (3, 4, 103, "30.50"),
    (4, 1, 102, "45"),
    (5, 4, 102, "46"),
    (6, 2, 105, "9"),
    (7, 3, 101, "41.50"),
]

FAMILIES = {
    "library": ("shelf", "reviews", "manual"),
    "relations": ("members", "tools", "offers"),
    "tree": ("manual",),
    "sequence": ("log",),
}
_TEXTS = {"shelf": SHELF, "reviews": REVIEWS, "manual": MANUAL, "log": LOG}


def database(family: str) -> nl.Database:
    """A database with the documents or tables of one kind of use cases."""
    db = nl.Database()
    if family != "relations":
        for name in FAMILIES[family]:
            db.document(name, _TEXTS[name])
        return db
    db.table("members", {"no": int, "name": str, "rating": str}, key="no")
    columns = {"no": int, "owner": int, "what": str, "fee": Decimal, "since": date, "until": date}
    db.table("tools", columns, key="no")
    db.table("offers", {"no": int, "member": int, "tool": int, "amount": Decimal}, key="no")
    db.insert("members", MEMBERS)
    db.insert("tools", [(n, o, w, Decimal(f), date(*s), date(*u)) for n, o, w, f, s, u in TOOLS])
    db.insert("offers", [(n, m, t, Decimal(a)) for n, m, t, a in OFFERS])
    return db


def _xquery(text: str, db: nl.Database) -> object:
    return db.xquery(text)


def _run(*texts: str) -> list[Step]:
    return [partial(_xquery, text) for text in texts]


STEPS: dict[str, list[Step]] = {
    "library": _run(
        'insert node <book year="1993"><title>Ropes</title><author><last>Berg</last><first>P.</first></author>'
        "<house>Harbour</house><price>10</price></book> as first into doc('shelf')/shelf",
        'replace value of node doc("reviews")/reviews/entry[2]/title with "Ropes"',
        'insert node <author><last>Abel</last><first>S.</first></author> before doc("shelf")/shelf/book[3]/author[1]',
        'rename node doc("shelf")/shelf/book[last()]/editor as "author"',
        'delete node doc("shelf")/shelf/book[2]',
        'replace value of node (doc("manual")//title)[2] with "sail and wind"',
        "(replace value of node doc('reviews')/reviews/entry[1]/price with '3',"
        " delete node doc('reviews')/reviews/entry[3])",
    ),
    "relations": [
        lambda db: db.insert("offers", [(8, 3, 104, Decimal("1200"))]),
        lambda db: db.insert(
            "tools", [(106, 4, "hacksaw", Decimal("50"), date(2021, 1, 1), date(2021, 3, 2))]
        ),
        lambda db: db.insert(
            "offers", [(n, 2, t, Decimal("31")) for n, t in ((9, 102), (10, 103), (11, 104), (12, 106))]
        ),
        lambda db: db.delete("offers", key=2),
        lambda db: db.update("members", key=1, set={"name": "Zoe", "rating": "D"}),
        lambda db: db.delete("offers", where=lambda row: row.member == 4),
        lambda db: db.update("tools", key=105, set={"fee": Decimal("44"), "until": date(2022, 1, 1)}),
    ],
    "tree": _run(
        'insert node <figure width="1"><title>New</title></figure> into doc("manual")//section[@id = "c"]',
        'delete node doc("manual")//section[@id = "b"]',
        'insert node <section id="g"><title>Crew</title></section> after doc("manual")/manual/section[1]',
        'rename node doc("manual")//section[@id = "f"] as "appendix"',
        'replace value of node doc("manual")//section[@id = "a"]/title with "Air"',
    ),
    "sequence": _run(
        'insert node <cut>first <tool>file</tool></cut> before doc("log")/log/work[1]/cut[1]',
        'delete node doc("log")/log/work[1]/measure',
        'insert node <action>wipe <tool>rag</tool></action> after doc("log")/log/work[1]/cut[2]',
        'delete node doc("log")/log/work[1]/cut[1]',
        'insert node <measure>once more</measure> as first into doc("log")/log/work[2]',
        'rename node doc("log")/log/work[1]/cut[2] as "action"',
    ),
}
