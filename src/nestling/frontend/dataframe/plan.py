"""The analysed plan of a DataFrame, as a tree.

Spark writes its plan as JSON: a list of nodes, parents first, each saying how many children follow. Expressions in a
node are such lists again. What JSON leaves out (how a cast treats what it cannot read, where an expression was written)
is asked of the node in the JVM, which is found by the same steps.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(eq=False)
class Node:
    """A plan or an expression: the name of its class, its fields, its children."""

    kind: str
    fields: dict[str, Any]
    children: list[Node]
    find: Callable[[], Any]
    is_plan: bool = False
    inner: list[Node] = field(default_factory=list)  # the expressions of a plan, the plan of a subquery

    @cached_property
    def jvm(self) -> Any:
        """The node itself."""
        return self.find()

    @property
    def child(self) -> Node:
        return self.children[0]

    def walk(self) -> Iterator[Node]:
        """The node and all below it."""
        yield self
        for part in (*self.inner, *self.children):
            yield from part.walk()

    def own(self) -> Iterator[Node]:
        """The node and the expressions in it: of a plan, not those of the plans below it."""
        yield self
        for part in (*self.inner, *(() if self.is_plan else self.children)):
            yield from part.own()


def plan_of(frame: Any) -> Node:
    """The analysed plan of ``frame``."""
    plan = frame._jdf.queryExecution().analyzed()
    return _plan(json.loads(plan.toJSON()), lambda: plan)


def _plan(nodes: list[dict[str, Any]], find: Callable[[], Any]) -> Node:
    return _tree(iter(nodes), find, _with_expressions)


def _expression(nodes: list[dict[str, Any]], find: Callable[[], Any]) -> Node:
    return _tree(iter(nodes), find, _with_plan)


def _tree(nodes: Iterator[dict[str, Any]], find: Callable[[], Any], finish: Callable[[Node], None]) -> Node:
    found = dict(next(nodes))
    number = found.pop("num-children")
    node = Node(str(found.pop("class")).rpartition(".")[2], found, [], find)
    for i in range(number):
        node.children.append(_tree(nodes, _step(node, i), finish))
    finish(node)
    return node


def _step(node: Node, place: int) -> Callable[[], Any]:
    return lambda: node.jvm.children().apply(place)


def _with_expressions(node: Node) -> None:
    """Read the fields of a plan that hold expressions; the JVM lists them in the same order."""
    node.is_plan = True

    def read(value: Any) -> Any:
        if _is_tree(value):
            place = len(node.inner)
            node.inner.append(_expression(value, lambda: node.jvm.expressions().apply(place)))
            return node.inner[-1]
        return [read(part) for part in value] if isinstance(value, list) else value

    node.fields = {name: read(value) for name, value in node.fields.items()}


def _with_plan(node: Node) -> None:
    """Read the fields of an expression that hold another, or the plan of a subquery."""
    for name, value in node.fields.items():
        if name == "plan" and _is_tree(value):
            node.inner.append(_plan(value, _field(node, "plan")))
            node.fields[name] = node.inner[-1]
        elif _is_tree(value):
            node.fields[name] = _expression(value, _field(node, name))


def _field(node: Node, name: str) -> Callable[[], Any]:
    def find() -> Any:
        return getattr(node.jvm, name)()

    return find


def _is_tree(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "class" in value[0]
