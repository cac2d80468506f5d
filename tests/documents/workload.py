"""Random updates of an auction document, as XQuery Update texts: all kinds, seeded, targets uniform among nodes
of a name.
"""

from __future__ import annotations

from random import Random

from nestling.xml.entries import ELEMENT
from nestling.xml.store import NodeStore
from tests.documents.xmark import PLACES, Auctions

KINDS = (
    "bidder", "bidder", "close", "price", "location", "reserve", "income", "person", "delete-person", "delete-bidder",
    "delete-item", "item", "rename", "homepage", "interest", "text", "attribute", "replace", "content",
    "comment", "several",
)  # fmt: skip


def update(random: Random, store: NodeStore, made: Auctions) -> str | None:
    """An update of some kind; None where the document has no target for it."""
    kind = random.choice(KINDS)
    names: dict[str, int] = {}
    for entry in store.scan():
        if entry[1] == ELEMENT:
            names[entry[2]] = names.get(entry[2], 0) + 1

    def one(name: str) -> str:
        number = names.get(name, 0)
        return f"(//{name})[{random.randrange(number) + 1}]" if number else ""

    targets = {
        "bidder": "current", "close": "closed_auctions", "price": "price", "location": "location", "reserve": "reserve",
        "income": "profile", "person": "people", "delete-person": "person", "delete-bidder": "bidder", "item": "europe",
        "delete-item": "item", "homepage": "person", "interest": "profile", "attribute": "personref", "replace": "name",
        "content": "description", "comment": "person", "several": "person", "text": "keyword",
    }  # fmt: skip
    if kind == "rename":
        target = one(
            random.choice(("homepage", "name", "price", "bidder", "keyword", "description", "location"))
        )
        return target and f'rename node {target} as "{random.choice(("other", "emph", "price", "homepage"))}"'
    target = one(targets[kind])
    return target and _text(kind, target, random, made, one)


def _text(kind: str, target: str, random: Random, made: Auctions, one) -> str:
    value, end = random.choice(("12.50", "40.00", "88.01", "7")), random.choice(("first", "last"))
    person, item = made.person(random.randrange(20)).strip(), made.item(random.randrange(20)).strip()
    simple = {
        "bidder": f"insert node {made.bidder()} {random.choice(('before', 'after'))} {target}",
        "close": f"insert node {made.closed_auction().strip()} as {random.choice(('first', 'last'))} into {target}",
        "price": f'replace value of node {target} with "{value}"',
        "reserve": f'replace value of node {target} with "{value}"',
        "location": f'replace value of node {target} with "{random.choice(PLACES)}"',
        "person": f"insert node {person} as {end} into {target}",
        "item": f"insert node {item} as {end} into {target}",
        "homepage": f"insert node <homepage>http://x</homepage> as last into {target}",
        "interest": f'insert node <interest category="{made.category()}"/> as first into {target}',
        "attribute": f'replace value of node {target}/@person with "person{random.choice((3, 5))}"',
        "replace": f"replace node {target} with <name>{made.words(1)} &amp; co</name>",
        "content": f"insert node text {{ 'gold rush' }} into {target}",
        "comment": f"insert node <x><!-- a comment --></x> into {target}",
        "text": f'replace value of node {target} with "{made.words(2)}"',
    }  # fmt: skip
    if kind in simple:
        return simple[kind]
    if kind == "income":
        income = random.choice(("20000.5", "50001", "99999.99", "150000"))
        change = f'insert node attribute income {{ "{income}" }} into {target}'
        return f"if ({target}/@income) then delete node {target}/@income else {change}"
    if kind == "several":
        name = one("name") or target
        new = f"insert node {person} before {target}"
        return f'delete node {target}, {new}, rename node {name} as "name"'
    return f"delete node {target}"
