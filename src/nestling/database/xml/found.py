"""Items of the plain meaning: nodes that were found in a document, and nodes that a query makes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from nestling.xml.entries import ELEMENT, TEXT

Item: TypeAlias = Any
Items: TypeAlias = list[Item]


@dataclass(frozen=True, slots=True)
class FoundNode:
    """A node of a document; the empty key is the document's own."""

    document: str
    key: str


@dataclass(frozen=True, slots=True)
class FoundAttribute:
    """An attribute of an element of a document, by its expanded name."""

    document: str
    key: str
    name: str


@dataclass(eq=False, slots=True)
class BuiltNode:
    """A constructed node: an element with attributes and content, or a text, comment or attribute.

    Names are written as entries have them; ``namespaces`` are those that an element has of its own.
    """

    kind: str
    name: str = ""
    text: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    content: list[BuiltNode] = field(default_factory=list)
    namespaces: dict[str, str] = field(default_factory=dict)
    #: Whether it is a copy of a node of a document, which may see no default namespace there.
    is_copy: bool = False


#: The kind of a constructed attribute.
ATTRIBUTE = "a"


def is_node(item: Item) -> bool:
    """Whether an item is a node."""
    return isinstance(item, FoundNode | FoundAttribute | BuiltNode)


def order_of(item: Item) -> tuple[Any, ...]:
    """Where a node stands; attributes follow their element, those of one in the order in which they were found."""
    return item.document, item.key, int(isinstance(item, FoundAttribute))


def built_text(node: BuiltNode) -> str:
    """The string value of a constructed node."""
    if node.kind == ELEMENT:
        return "".join([built_text(each) for each in node.content if each.kind in (ELEMENT, TEXT)])
    return node.text
