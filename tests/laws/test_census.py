"""What the random instances contain: a law says something only about what is drawn."""

from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from itertools import islice
from typing import Any

from nestling.calculus import terms
from nestling.calculus.aggregates import AGGREGATES
from nestling.calculus.countwise import OPERATORS
from nestling.calculus.evaluate import evaluate
from nestling.calculus.terms import CountWise, Expr, Fold, For, Let, Node, Product, Relation
from nestling.calculus.traverse import relations, walk
from nestling.calculus.types import INT
from nestling.calculus.valued import VALUED
from nestling.transform.theory.delta import delta
from nestling.values.bag import ZBag
from nestling.values.label import Label
from tests.draws import stream
from tests.laws.shredding import labels_in, parts_of, shredded_queries
from tests.strategies import Instance, ShreddedInstance, instances

#: What only transformations make, and what SQL alone writes.
NOT_WRITTEN = {
    "InputChange", "InL", "Lookup", "DictLit", "DictInput", "DictUnion", "DictEmpty", "restrict",
    *(name for name, (_, rule) in VALUED.items() if rule(INT) is None),
}  # fmt: skip
DRAWS = 1000


def occurs(strategy: Any, features: Callable[[Any], set[str]], wanted: set[str]) -> None:
    """Every feature ``wanted`` in a thousand draws, the same every time."""
    missing = set(wanted)
    for drawn in islice(stream(strategy), DRAWS):
        missing -= features(drawn)
        if not missing:
            return
    assert not missing


def test_queries_and_updates():
    occurs(
        instances("full"),
        features_of,
        {
            "change with negative multiplicities",
            "relation deleted to empty",
            "result deleted to empty",
            "equal inner bags",
            "empty inner bag",
            "let under for",
            "self-join",
            "constants only",
            "relation that is not read changes",
            "name bound twice, side by side",
        },
    )


def features_of(instance: Instance) -> set[str]:
    return {name for name, holds in facts(instance) if holds}


def facts(instance: Instance) -> Iterator[tuple[str, bool]]:
    query, before, after = instance.query, instance.database, instance.after
    change = evaluate(delta(query, instance.changed), instance.with_changes)
    inner = [bag for rows in before.values() for row in rows for bag in inner_bags(row)]
    names = [node.var.name for node in walk(query) if isinstance(node, For)]
    yield "change with negative multiplicities", bool(change.negative())
    yield "relation deleted to empty", any(before[name] and not after[name] for name in before)
    yield "result deleted to empty", bool(evaluate(query, before)) and not evaluate(query, after)
    yield "equal inner bags", any(bag and inner.count(bag) > 1 for bag in inner)
    yield "empty inner bag", ZBag() in inner
    yield (
        "let under for",
        any(
            isinstance(below, Let)
            for node in walk(query)
            if isinstance(node, For)
            for below in walk(node.body)
        ),
    )
    yield "self-join", any(map(is_self_join, walk(query)))
    yield "constants only", not relations(query)
    yield "relation that is not read changes", not instance.changed <= relations(query)
    yield "name bound twice, side by side", len(names) > len(set(names))


def inner_bags(value: Any) -> Iterator[ZBag]:
    match value:
        case ZBag():
            yield value
            for element in value:
                yield from inner_bags(element)
        case tuple():
            for part in value:
                yield from inner_bags(part)


def is_self_join(node: Node) -> bool:
    match node:
        case For(_, Relation(name), body):
            return name in relations(body)
        case Product(factors):
            read = [name for _, factor in factors for name in relations(factor)]
            return len(read) > len(set(read))
    return False


def test_every_node_operator_and_aggregate():
    nodes = {name for name, node in vars(terms).items() if is_dataclass(node)} - {"Bag", "Scalar", "Span"}

    occurs(instances("full"), parts_of_speech, (nodes | set(AGGREGATES) | set(OPERATORS)) - NOT_WRITTEN)


def parts_of_speech(instance: Instance) -> set[str]:
    found = {type(node).__name__ for node in walk(instance.query)}
    found |= {node.operator for node in walk(instance.query) if isinstance(node, CountWise)}
    return found | {node.aggregate for node in walk(instance.query) if isinstance(node, Fold)}


def test_shredded_instances():
    occurs(
        shredded_queries(),
        shredded_features,
        {
            "label of an input in two rows",
            "label of a query in two rows",
            "⊖ over a shared label",
            "elements added under a label in use",
        },
    )


def shredded_features(drawn: tuple[Expr, ShreddedInstance]) -> set[str]:
    query, instance = drawn
    flat = evaluate(parts_of(query).flat, instance.after)
    signs: dict[Any, set[tuple[Any, bool]]] = {}
    for row, times in flat.items():
        for label in labels_in(row):
            signs.setdefault(label, set()).add((row, times > 0))
    found = set()
    for label, rows in signs.items():
        if len({row for row, _ in rows}) > 1:
            found.add(f"label of {'an input' if isinstance(label.site, str) else 'a query'} in two rows")
        if len({sign for _, sign in rows}) > 1:
            found.add("⊖ over a shared label")
    if any(labels & instance.database[name].keys() for name, labels in touched_labels(instance)):
        found.add("elements added under a label in use")
    return found


def touched_labels(instance: ShreddedInstance) -> Iterator[tuple[str, set[Label]]]:
    for name, rows in instance.update.deep.items():
        yield name, {label for label, bag in rows.items() if bag.positive()}
