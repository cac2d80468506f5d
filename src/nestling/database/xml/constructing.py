"""Constructors in the plain meaning: atoms are parted by spaces, nodes are copied."""

from __future__ import annotations

from nestling.database.xml.atoms import Untyped, atom_text
from nestling.database.xml.found import (
    ATTRIBUTE,
    BuiltNode,
    FoundAttribute,
    FoundNode,
    Item,
    Items,
    built_text,
    is_node,
)
from nestling.database.xml.stepping import Scope, StepInterpreter
from nestling.frontend.xquery.syntax import AttributeExpr, CommentExpr, ElementExpr, TextExpr
from nestling.xml.entries import (
    COMMENT,
    ELEMENT,
    TEXT,
    XML,
    attribute_of,
    expanded,
    is_declaration,
    space_of,
    written,
)
from nestling.xml.namespaces import declared_by, visible
from nestling.xml.orderkeys import depth_of
from nestling.xml.store import NodeStore


class ConstructInterpreter(StepInterpreter):
    """Makes the nodes of constructors."""

    def atoms(self, items: Items) -> Items:
        return [self.atom(item) for item in items]

    def atom(self, item: Item) -> Item:
        """The value of an item."""
        match item:
            case FoundNode(document, key):
                return Untyped(self.stores(document).string(key))
            case FoundAttribute(document, key, name):
                entry = self.stores(document).get(key)
                return Untyped((attribute_of(entry, name) if entry else None) or "")
            case BuiltNode():
                return Untyped(built_text(item))
        return item

    def construct(self, syntax: ElementExpr | AttributeExpr | TextExpr | CommentExpr, scope: Scope) -> Items:
        match syntax:
            case ElementExpr(name, attributes, content, namespaces):
                made = BuiltNode(ELEMENT, name, namespaces=dict(namespaces))
                for each, parts in attributes:
                    made.attributes[each] = "".join(
                        [p if isinstance(p, str) else self.joined(self.eval(p, scope)) for p in parts]
                    )
                for part in content:
                    if isinstance(part, str):
                        made.content.append(BuiltNode(TEXT, text=part))
                    else:
                        self.add(made, self.eval(part, scope), part.at)
                made.content = _merged(made.content)
                return [made]
            case AttributeExpr(name, value):
                return [BuiltNode(ATTRIBUTE, name, self.joined(self.eval(value, scope)))]
            case TextExpr(value):
                found = self.eval(value, scope)
                return [BuiltNode(TEXT, text=self.joined(found))] if found else []
            case CommentExpr(text):
                return [BuiltNode(COMMENT, text=text)]

    def joined(self, items: Items) -> str:
        return " ".join([atom_text(atom) for atom in self.atoms(items)])

    def add(self, made: BuiltNode, items: Items, at: int) -> None:
        """Put items into an element: atoms parted by spaces, nodes copied."""
        is_atom = False
        for item in items:
            if not is_node(item):
                text = atom_text(item)
                made.content.append(BuiltNode(TEXT, text=f" {text}" if is_atom else text))
                is_atom = True
                continue
            is_atom = False
            for node in self.copies(item):
                if node.kind != ATTRIBUTE:
                    made.content.append(node)
                    continue
                if made.content:
                    raise self.refuse(
                        at, f"the attribute {written(node.name)} comes after content", "XQTY0024"
                    )
                if expanded(node.name) in map(expanded, made.attributes):
                    raise self.refuse(at, f"the attribute {written(node.name)} is there twice", "XQDY0025")
                made.attributes[_named(made, node.name)] = node.text

    def copies(self, item: Item) -> list[BuiltNode]:
        """A node as a constructed one; a document is its children."""
        match item:
            case BuiltNode():
                return [item]
            case FoundAttribute(document, key, name):
                entry = self.stores(document).get(key)
                names = [each for each, _ in entry[3] if expanded(each) == name] if entry else []
                return [BuiltNode(ATTRIBUTE, names[0] if names else name, str(self.atom(item)))]
            case FoundNode(document, key):
                store = self.stores(document)
                if not key:
                    return [
                        each for e in store.children("") for each in self.copies(FoundNode(document, e[0]))
                    ]
                return [_copy(store, key)]
        raise TypeError(item)


def _named(made: BuiltNode, name: str) -> str:
    """The name of a new attribute of an element, which then has its namespace; its prefix may be taken."""
    prefix, uri = space_of(name)
    if not uri or uri == XML:
        return name
    local, number = written(name).partition(":")[2], len(made.attributes) + 1
    while made.namespaces.setdefault(prefix, uri) != uri:
        prefix, number = f"{space_of(name)[0]}_{number}", number + 1
    return f"{{{uri}}}{prefix}:{local}"


def _copy(store: NodeStore, key: str) -> BuiltNode:
    opened: list[BuiltNode] = []
    first: BuiltNode | None = None
    base = depth_of(key)
    for entry in store.subtree(key):
        node = BuiltNode(entry[1], entry[2], "" if entry[1] == ELEMENT else entry[3])
        if entry[1] == ELEMENT:
            node.attributes = {name: value for name, value in entry[3] if not is_declaration(name)}
            node.namespaces = visible(store, key) if first is None else declared_by(entry[3])
            node.is_copy = True
        del opened[depth_of(entry[0]) - base :]
        if first is None:
            first = node
        else:
            opened[-1].content.append(node)
        opened.append(node)
    assert first is not None
    return first


def _merged(content: list[BuiltNode]) -> list[BuiltNode]:
    found: list[BuiltNode] = []
    for node in content:
        if node.kind == TEXT and found and found[-1].kind == TEXT:
            found[-1] = BuiltNode(TEXT, text=found[-1].text + node.text)
        elif node.kind != TEXT or node.text:
            found.append(node)
    return [node for node in found if node.kind != TEXT or node.text]
