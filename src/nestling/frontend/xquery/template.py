"""Templates: how the rows of a view's hidden bags are written as XML.

Markup is a template and data are rows: names of elements, static text and wrappers are here, and not in any row. A
sequence is read from *sources*, bags of rows that each have a template of their own; all their items are sorted
together by the parts of their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

Part: TypeAlias = "StaticText | StaticComment | SequencePart"
ItemTemplate: TypeAlias = (
    "AtomPart | ConstantPart | TextPart | AttributePart | CopyPart | ElementPart | MadeText | JoinedText"
    " | AttributesPart"
)
OrderPart: TypeAlias = "Place | OrderColumn"


@dataclass(frozen=True, slots=True)
class Place:
    """A static place among the parts of a sequence."""

    number: int


@dataclass(frozen=True, slots=True)
class OrderColumn:
    """A column that rows are sorted by; ``is_identity``: it holds the key of a node, not a value to order by."""

    column: int
    is_descending: bool = False
    empty_greatest: bool = False
    is_identity: bool = True


@dataclass(frozen=True, slots=True)
class AtomPart:
    """An atomic value of a type; there is none where the column is null."""

    column: int
    type: str


@dataclass(frozen=True, slots=True)
class ConstantPart:
    """An atomic value that no data changes."""

    value: Any
    type: str


@dataclass(frozen=True, slots=True)
class TextPart:
    """A text node with the content of a column."""

    column: int


@dataclass(frozen=True, slots=True)
class AttributePart:
    """An attribute with the value of a column; there is none where it is null."""

    name: str
    column: int


@dataclass(frozen=True, slots=True)
class AttributesPart:
    """All attributes that a column lists, as ``xml.entries.listed`` writes them; none where it is null."""

    column: int


@dataclass(frozen=True, slots=True)
class CopyPart:
    """A copy of the node whose key is in a column."""

    document: str
    column: int


@dataclass(frozen=True, slots=True)
class ElementPart:
    """An element: attributes and content are parts. ``namespaces`` are its own, whatever is around it."""

    name: str
    attributes: tuple[tuple[str, tuple[Part, ...]], ...]
    content: tuple[Part, ...]
    namespaces: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class MadeText:
    """A text node made of a sequence, or an attribute where it has a name."""

    content: tuple[Part, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class JoinedText:
    """An atom: the values of a sequence, with ``separator`` between them."""

    content: SequencePart
    separator: str


@dataclass(frozen=True, slots=True)
class StaticText:
    """Literal text."""

    text: str


@dataclass(frozen=True, slots=True)
class StaticComment:
    """A literal comment."""

    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """Rows and how each is written. ``column``: the bag that holds them; None where the item is of the row itself."""

    column: int | None
    order: tuple[OrderPart, ...]
    item: ItemTemplate


@dataclass(frozen=True, slots=True)
class SequencePart:
    """What braces enclose: the items of all sources, in order."""

    sources: tuple[Source, ...]
