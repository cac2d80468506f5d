"""Paths in the plain meaning: each step from each node, each node once, in document order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from sys import maxsize
from typing import TypeAlias

from nestling.database.xml.atoms import effective
from nestling.database.xml.found import FoundAttribute, FoundNode, Item, Items, is_node, order_of
from nestling.errors import QueryError
from nestling.frontend.xquery.scan import refusal
from nestling.frontend.xquery.syntax import LiteralExpr, ModuleSyntax, PathStep, Syntax
from nestling.xml.entries import ELEMENT, Entry, expanded, label_of
from nestling.xml.orderkeys import end_of, parent_of
from nestling.xml.patterns import passes
from nestling.xml.store import NodeStore

Scope: TypeAlias = Mapping[str, Items]


class StepInterpreter:
    """Walks the paths of a module."""

    def __init__(
        self,
        module: ModuleSyntax,
        stores: Callable[[str], NodeStore],
        context: FoundNode | None,
        documents: Sequence[str] = (),
    ) -> None:
        self.module, self.stores, self.context, self.documents = module, stores, context, documents

    def refuse(self, at: int, what: str, code: str = "", hint: str = "") -> QueryError:
        return refusal(self.module.text, at, what, hint, code)

    @abstractmethod
    def eval(self, syntax: Syntax, scope: Scope) -> Items:
        """The items of any expression."""

    def step(self, step: PathStep, items: Items, scope: Scope) -> Items:
        found: dict[Item, None] = {}
        for item in items:
            if not isinstance(item, FoundNode):
                raise self.refuse(step.at, "a path leads from nodes of a document", "XPTY0019")
            for group in self._reached(step, item):
                for predicate in step.predicates:
                    group = self.filter(group, predicate, scope)
                found.update(dict.fromkeys(group))
        return sorted(found, key=order_of)

    def _reached(self, step: PathStep, item: FoundNode) -> list[Items]:  # noqa: C901 (one arm per axis)
        """What a step leads to from a node: groups in which positions count."""
        store = self.stores(item.document)
        tests = step.test.split("|")

        def nodes(entries: Iterator[Entry], most: int | None = None) -> Items:
            found = (e for e in entries if any(passes(t, label_of(e)) for t in tests))
            return [FoundNode(item.document, e[0]) for e in islice(found, most)]

        match step.axis:
            case "child":
                return [nodes(store.children(item.key), _most(step))]
            case "descendant":
                return [nodes(_below(store, item.key))]
            case "//":
                parents = [item.key, *(e[0] for e in _below(store, item.key) if e[1] == ELEMENT)]
                return [nodes(store.children(parent)) for parent in parents]
            case "descendant-or-self":
                return [nodes(store.subtree(item.key))]
            case "self":
                own = store.get(item.key)
                return [nodes(iter([own])) if own else [item] if step.test == "node()" else []]
            case "parent":
                above = parent_of(item.key)
                own = store.get(above) if above else None
                return [nodes(iter([own])) if own else [FoundNode(item.document, "")] if item.key else []]
            case "following-sibling" | "preceding-sibling":
                around = list(store.children(parent_of(item.key))) if item.key else []
                if step.axis == "following-sibling":
                    return [nodes(e for e in around if e[0] > item.key)]
                return [nodes(e for e in reversed(around) if e[0] < item.key)]
            case "ancestor" | "ancestor-or-self":
                return [nodes(_above(store, item.key, step.axis == "ancestor-or-self"))]
            case "attribute":
                return [self._attributes(store, item, item.key, step.test)]
            case "//@":
                keys = [item.key, *(e[0] for e in _below(store, item.key))]
                return [self._attributes(store, item, key, step.test) for key in keys]
        raise self.refuse(step.at, f"the axis {step.axis} is not supported")

    def _attributes(self, store: NodeStore, item: FoundNode, key: str, test: str) -> Items:
        entry = store.get(key) if key else None
        if entry is None or entry[1] != ELEMENT:
            return []
        names = [expanded(name) for name, _ in entry[3] if name != "xmlns" and not name.startswith("xmlns:")]
        return [FoundAttribute(item.document, key, name) for name in names if test in (name, "*")]

    def filter(self, items: Items, predicate: Syntax, scope: Scope) -> Items:
        found: Items = []
        for place, item in enumerate(items, 1):
            inner = {**scope, ".": [item], "position()": [place], "last()": [len(items)]}
            value = self.eval(predicate, inner)
            if len(value) == 1 and isinstance(value[0], int | float) and not isinstance(value[0], bool):
                if value[0] == place:
                    found.append(item)
            elif self.true(value, predicate):
                found.append(item)
        return found

    def true(self, value: Items, syntax: Syntax) -> bool:
        if not value or is_node(value[0]):
            return bool(value)
        if len(value) > 1:
            raise self.refuse(syntax.at, "several values are no condition", "FORG0006")
        return effective(value[0])

    def node_set(self, operator: str, left: Items, right: Items) -> Items:
        if operator == "union":
            found = dict.fromkeys([*left, *right])
        else:
            others = set(right)
            found = dict.fromkeys(item for item in left if (item in others) == (operator == "intersect"))
        return sorted(found, key=order_of)


def _most(step: PathStep) -> int | None:
    """How many nodes a step need be followed to: to the k-th, where its first predicate is a number k."""
    first = step.predicates[0] if step.predicates else None
    if isinstance(first, LiteralExpr) and type(first.value) is int:
        return min(max(0, first.value), maxsize)
    return None


def _above(store: NodeStore, key: str, with_own: bool) -> Iterator[Entry]:
    """The elements above a node, the nearest first."""
    key = key if with_own else parent_of(key)
    while key and (entry := store.get(key)) is not None:
        yield entry
        key = parent_of(key)


def _below(store: NodeStore, key: str) -> Iterator[Entry]:
    return store.scan(key + "." if key else "", end_of(key))
