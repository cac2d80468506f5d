"""What laws about shredding share: inputs in shredded form, and the labels of a shredded result."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from nestling.calculus.evaluate import evaluate, look_up
from nestling.calculus.terms import DictEmpty, Dictionary, DictLit, DictUnion, Expr, Lookup, Relation, Var
from nestling.calculus.traverse import Names, walk
from nestling.calculus.types import LABEL, Bag, bag_levels, dictionary_name
from nestling.calculus.typing import dictionary_element
from nestling.transform.normalize import normalize
from nestling.transform.shred import (
    LabelPolicy,
    Shredded,
    dictionaries,
    flat_type,
    input_context,
    nest,
    shred,
    shred_value,
)
from nestling.transform.theory.delta import delta
from nestling.transform.theory.flags import DeepPath, infer_flags
from nestling.values.bag import EMPTY, ZBag
from nestling.values.label import Label
from tests.strategies import CATALOG, Draw, ShreddedInstance, queries, schemas, shredded_instances


def deep_paths() -> st.SearchStrategy[frozenset[DeepPath]]:
    """Some inner bags of the random relations, as deep updates name them."""
    paths = [(name, path) for name, type_ in CATALOG.items() for path, _ in bag_levels(type_.element)]
    return st.frozensets(st.sampled_from(paths))


@st.composite
def shredded_queries(draw: Draw, fragment: str = "full") -> tuple[Expr, ShreddedInstance]:
    """A query with flags, and a shredded database with an update that reaches inner bags."""
    schema = draw(schemas())
    query = normalize(draw(queries(fragment, schema.nested, schema=schema)))
    if draw(st.booleans()):
        query = infer_flags(query, draw(deep_paths()))
    return query, draw(shredded_instances(catalog_of(query)))


def catalog_of(query: Expr) -> dict[str, Bag]:
    """The relations that ``query`` reads, with the flags it gives them."""
    return {node.name: node.type for node in walk(query) if isinstance(node, Relation)}


def shredded_catalog(catalog: dict[str, Bag]) -> dict[str, Bag]:
    """The types of relations and dictionaries once shredded."""
    return {name: Bag(flat_type(type_.element)) for name, type_ in catalog.items()} | {
        dictionary_name(name, path): Bag(flat_type(level.element))
        for name, type_ in catalog.items()
        for path, level in bag_levels(type_.element)
        if not level.opaque
    }


def shredded_database(
    nested: dict[str, ZBag], catalog: dict[str, Bag], policy: LabelPolicy
) -> dict[str, Any]:
    database: dict[str, Any] = {}
    for name, type_ in catalog.items():
        database |= shred_value(name, nested[name], type_.element, policy).as_database(name)
    return database


def nested_database(shredded: dict[str, Any], catalog: dict[str, Bag]) -> dict[str, ZBag]:
    """The relations that a shredded database stands for."""
    return {name: evaluate(nested_input(name, type_), shredded) for name, type_ in catalog.items()}


def nested_input(name: str, type_: Bag) -> Expr:
    flat = Relation(name, Bag(flat_type(type_.element)))
    return nest(flat, input_context(name, type_.element), type_.element, Names())


@dataclass(frozen=True)
class Parts:
    """A shredded query: its flat part and, by path, its dictionaries."""

    shredded: Shredded
    flat: Expr
    dictionaries: list[Dictionary]

    def bodies(self) -> Iterator[Expr]:
        """The flat part and the body of every definition."""
        yield self.flat
        for dictionary in self.dictionaries:
            for part in dictionary.parts if isinstance(dictionary, DictUnion) else (dictionary,):
                if isinstance(part, DictLit):
                    yield part.body


def parts_of(query: Expr) -> Parts:
    """The parts of a normal form whose types carry their flags."""
    shredded = shred(query)
    return Parts(shredded, shredded.flat, [dictionary for _, dictionary in dictionaries(shredded.context)])


def defined(dictionary: Dictionary, label: Label, database: dict[str, Any]) -> ZBag:
    found = look_up(dictionary, label, database)
    return EMPTY if found is None else found


def changed_dictionary(dictionary: Dictionary, changed: frozenset[str]) -> Dictionary:
    """``δ(d)``, as the delta of looking something up in it."""
    change = delta(Lookup(dictionary, Var("l", LABEL)), changed)
    return change.dictionary if isinstance(change, Lookup) else DictEmpty(dictionary_element(dictionary))


def labels_in(value: Any) -> Iterator[Label]:
    """The labels in a value; those in the environment of a label are not looked at."""
    match value:
        case Label():
            yield value
        case tuple() | ZBag():
            for inner in value:
                yield from labels_in(inner)


def live_labels(parts: Parts, database: dict[str, Any]) -> set[Label]:
    """The labels that can be reached from the flat part."""
    live: set[Label] = set()
    pending = list(labels_in(evaluate(parts.flat, database)))
    while pending:
        label = pending.pop()
        if label not in live:
            live.add(label)
            for dictionary in parts.dictionaries:
                pending += labels_in(defined(dictionary, label, database))
    return live
