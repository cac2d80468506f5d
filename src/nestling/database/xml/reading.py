"""Rows and a template → XML: the items of a query in order, as text or as pieces.

Adjacent atoms of one enclosed expression are parted by a space, nothing else is; a copy is read from the node store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from nestling.errors import ChangeError
from nestling.frontend.xquery.branches import DECIMAL, DOUBLE
from nestling.frontend.xquery.template import (
    AtomPart,
    AttributePart,
    AttributesPart,
    ConstantPart,
    CopyPart,
    ElementPart,
    ItemTemplate,
    JoinedText,
    MadeText,
    OrderPart,
    Part,
    Place,
    Source,
    StaticComment,
    StaticText,
    TextPart,
)
from nestling.values.bag import ZBag
from nestling.xml.entries import ELEMENT, XML, space_of, unlisted, written
from nestling.xml.entries import TEXT as TEXT_NODE
from nestling.xml.namespaces import NONE, Scope, declarations, serialised_within, visible, within
from nestling.xml.serialise import attribute, in_text, serialised
from nestling.xml.store import NodeStore

Row = tuple[Any, ...]
ATOM, TEXT, NODE, ATTRIBUTE = "atom", "text", "node", "attribute"


class WrittenItem(NamedTuple):
    """An item as it is written: its kind, its text (of a text node, not yet escaped), and the name of an attribute."""

    kind: str
    text: str
    name: str = ""


class XmlReader:
    """Writes the items of a query. ``bags`` are the rows of its views, ``stores`` gives a document."""

    def __init__(self, bags: Sequence[ZBag], stores: Callable[[str], NodeStore]) -> None:
        self.bags, self.stores = bags, stores

    def whole(self, template: Sequence[Part]) -> str:
        """The text of a query's own sequence."""
        return content_text(self.content(template, None, {}))

    def content(self, parts: Sequence[Part], row: Row | None, scope: dict[str, str]) -> list[WrittenItem]:
        """What parts come to, with the spaces between atoms; neighbouring texts are one.

        They stand in an element that sees ``scope``, to which its attributes add their namespaces.
        """
        found: list[WrittenItem] = []
        for part in parts:
            if isinstance(part, StaticText):
                found.append(WrittenItem(TEXT, part.text))
            elif isinstance(part, StaticComment):
                found.append(WrittenItem(NODE, f"<!--{part.text}-->"))
            else:
                before = ""
                for item, its_row in self.items(part.sources, row):
                    each = self.written(item, its_row, scope)
                    if each is not None:
                        if each.kind == ATTRIBUTE and each.name[0] == "{":
                            each = _bound(each, scope, len(found) + 1)
                        if each.kind == before == ATOM:
                            found.append(WrittenItem(TEXT, " "))
                        found.append(WrittenItem(TEXT, each.text) if each.kind == ATOM else each)
                        before = each.kind
        return _joined(found)

    def items(self, sources: Sequence[Source], row: Row | None) -> list[tuple[ItemTemplate, Row | None]]:
        """The items of a sequence, in order."""
        found: list[tuple[tuple[Any, ...], ItemTemplate, Row | None]] = []
        for column, order, item in ((s.column, s.order, s.item) for s in sources):
            if column is None:
                found.append((sort_key(order, row or ()), item, row))
            else:
                bag = self.bags[column] if row is None else row[column]
                for each, times in bag.items():
                    found += [(sort_key(order, each), item, each)] * times
        if len(found) > 1:
            found.sort(key=lambda each: each[0])
        return [one for _, item, each in found for one in _spread(item, each)]

    def written(  # noqa: C901 (one arm per item)
        self, item: ItemTemplate, row: Row | None, scope: Scope
    ) -> WrittenItem | None:
        """One item, in an element that sees ``scope``; none where its column is null. The query's own elements have no
        row: they read the views.
        """
        cells = row or ()
        match item:
            case AtomPart(column, type_):
                return None if cells[column] is None else WrittenItem(ATOM, lexical(cells[column], type_))
            case ConstantPart(value, type_):
                return WrittenItem(ATOM, lexical(value, type_))
            case TextPart(column):
                return WrittenItem(TEXT, cells[column])
            case AttributePart(name, column):
                return None if cells[column] is None else WrittenItem(ATTRIBUTE, cells[column], name)
            case CopyPart(document, column):
                return copied(self.stores(document), cells[column], scope)
            case MadeText(content, name):
                value = self.value(content, row)
                if name:
                    return WrittenItem(ATTRIBUTE, value, name)
                return WrittenItem(TEXT, value) if value else None
            case AttributesPart():
                raise AssertionError(item)  # ``items`` has spread it
            case JoinedText(content, separator):
                return WrittenItem(ATOM, separator.join(self._values(content.sources, row)))
            case ElementPart():
                return WrittenItem(NODE, self.element(item, row, scope))

    def element(self, item: ElementPart, row: Row | None, outside: Scope) -> str:
        attributes, content = self.opened(item, row, outside)
        inner, tag = content_text(content), written(item.name)
        start = f"<{tag}" + "".join([attribute(name, value) for name, value in attributes.items()])
        return f"{start}>{inner}</{tag}>" if inner else f"{start}/>"

    def opened(
        self, item: ElementPart, row: Row | None, outside: Scope
    ) -> tuple[dict[str, str], list[WrittenItem]]:
        """The attributes of an element where ``outside`` is seen, declarations first, and its content."""
        attributes = {name: self.value(parts, row) for name, parts in item.attributes}
        scope = within(item.name, dict(item.namespaces), outside)
        content = self.content(item.content, row, scope)
        attributes |= {each.name: each.text for each in content if each.kind == ATTRIBUTE}
        declared = dict(declarations(scope, outside)) if scope else {}
        return declared | attributes, _joined([each for each in content if each.kind != ATTRIBUTE])

    def value(self, parts: Sequence[Part], row: Row | None) -> str:
        """The value of an attribute: the values of its items, parted by spaces."""
        found: list[str] = []
        for part in parts:
            if isinstance(part, StaticText):
                found.append(part.text)
            elif not isinstance(part, StaticComment):
                found.append(" ".join(self._values(part.sources, row)))
        return "".join(found)

    def _values(self, sources: Sequence[Source], row: Row | None) -> Iterator[str]:
        for item, each in self.items(sources, row):
            if isinstance(item, CopyPart):
                yield self.stores(item.document).string((each or ())[item.column])
            elif isinstance(item, ElementPart):
                yield "".join([w.text for w in self.opened(item, each, NONE)[1]])
            elif (found := self.written(item, each, NONE)) is not None:
                yield found.text


def _bound(item: WrittenItem, scope: dict[str, str], number: int) -> WrittenItem:
    """An attribute whose namespace its element sees; its prefix is another where it stands for something else there."""
    prefix, uri = space_of(item.name)
    if uri == XML:
        return item
    given, local = prefix, written(item.name).partition(":")[2]
    while scope.get(prefix, uri) != uri:
        prefix, number = f"{given}_{number}", number + 1
    scope[prefix] = uri
    return item._replace(name=f"{{{uri}}}{prefix}:{local}")


def _spread(item: ItemTemplate, row: Row | None) -> list[tuple[ItemTemplate, Row | None]]:
    """An item; of all attributes, each."""
    if not isinstance(item, AttributesPart):
        return [(item, row)]
    text = (row or ())[item.column]
    pairs = unlisted(text) if text else ()
    return [(AttributePart(name, 0), (value,)) for name, value in pairs]


def content_text(content: Sequence[WrittenItem]) -> str:
    """WrittenItem items as the text of a document."""
    return "".join([in_text(each.text) if each.kind in (TEXT, ATOM) else each.text for each in content])


def _joined(content: Sequence[WrittenItem]) -> list[WrittenItem]:
    found: list[WrittenItem] = []
    for each in content:
        if each.kind == TEXT and found and found[-1].kind == TEXT:
            found[-1] = WrittenItem(TEXT, found[-1].text + each.text)
        elif each.kind != TEXT or each.text:
            found.append(each)
    return found


def copied(store: NodeStore, key: str, scope: Scope) -> WrittenItem:
    """A node of a document, with the namespaces that it sees there, in an element that sees ``scope``."""
    entries = list(store.subtree(key))
    if not entries:
        raise ChangeError("a node that a view has copied is gone", hint="report this: db.verify() says more")
    if entries[0][1] != ELEMENT:
        return (
            WrittenItem(TEXT, entries[0][3])
            if entries[0][1] == TEXT_NODE
            else WrittenItem(NODE, serialised(entries))
        )
    return WrittenItem(NODE, serialised_within(entries, visible(store, key), scope))


class _Reversed:
    """A value that sorts the other way round."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.value < self.value)


def sort_key(order: Sequence[OrderPart], row: Row) -> tuple[Any, ...]:
    """What a row is sorted by; nothing, and then NaN, is least or greatest, as its key says."""
    found: list[Any] = []
    for part in order:
        if isinstance(part, Place):
            found.append(part.number)
            continue
        value = row[part.column]
        rank = 2 if value is None else 1 if value != value else 0  # noqa: PLR0124 (NaN)
        key = (rank if part.empty_greatest else -rank, 0 if rank else value)
        found.append(_Reversed(key) if part.is_descending else key)
    return tuple(found)


def lexical(value: Any, type_: str) -> str:
    """An atomic value as XPath casts it to a text.

    >>> (
    ...     lexical(1e6, "double"),
    ...     lexical(0.5, "double"),
    ...     lexical(Decimal("2.50"), "decimal"),
    ...     lexical(True, "boolean"),
    ... )
    ('1.0E6', '0.5', '2.5', 'true')
    """
    if type_ == DOUBLE:
        return _double(float(value))
    if type_ == DECIMAL:
        text = format(Decimal(value), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, datetime):
        whole, _, parts = value.isoformat().partition(".")
        return f"{whole}.{parts.rstrip('0')}" if parts else whole
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _double(value: float) -> str:
    if value != value:  # noqa: PLR0124 (true of NaN)
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "INF" if value > 0 else "-INF"
    if value == 0:
        return "-0" if str(value)[0] == "-" else "0"
    if 1e-6 <= abs(value) < 1e6:
        text = format(Decimal(repr(value)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    digits, exponent = f"{Decimal(repr(value)):E}".split("E")
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"
