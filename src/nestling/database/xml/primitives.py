"""What addresses, update texts and the paper's language all come to: insertions, replacements, names and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nestling.database.xml.edits import Edit, attributes_with
from nestling.database.xml.found import ATTRIBUTE, BuiltNode
from nestling.errors import ChangeError, QueryError
from nestling.xml.entries import (
    ELEMENT,
    TEXT,
    XML,
    Entry,
    check_name,
    check_text,
    expanded,
    is_declaration,
    space_of,
    written,
)
from nestling.xml.namespaces import NONE, Scope, declarations, visible, within
from nestling.xml.orderkeys import between, child_of, parent_of

INSIDE = ("first", "last", "into")
PLACES = (*INSIDE, "before", "after")


def insert_at(change: Edit, key: str, place: str, entries: Sequence[Entry]) -> list[str]:
    """Insert trees into an element or beside a node; their keys."""
    store = change.store
    if not entries:
        return []
    entries = settled(entries, visible(store, key if place in INSIDE else parent_of(key)))
    if place in ("into", "last"):
        last = store.last_child(key)
        return change.insert(key, last[0] if last else None, None, entries)
    if place == "first":
        first = store.first_child(key)
        return change.insert(key, None, first[0] if first else None, entries)
    beside = store.previous_sibling(key) if place == "before" else store.next_sibling(key)
    other = beside[0] if beside else None
    low, high = (other, key) if place == "before" else (key, other)
    return change.insert(parent_of(key), low, high, entries)


def settled(entries: Sequence[Entry], outside: Scope) -> Sequence[Entry]:
    """Trees as they are written where ``outside`` is seen: what it has is not declared again, nor inherited."""
    if not outside:
        return entries
    found: list[Entry] = []
    plain = [entry[1] == ELEMENT and entry[2][0] != "{" for entry in entries]
    for place, (key, kind, name, value) in enumerate(entries):
        if "." not in key and kind == ELEMENT:
            rest = (number for number in range(place + 1, len(entries)) if "." not in entries[number][0])
            end = next(rest, len(entries))
            has_default = any(each == "xmlns" for each, _ in value)
            value = tuple(
                pair
                for pair in value
                if not is_declaration(pair[0]) or outside.get(pair[0][6:], "") != pair[1]
            )
            if outside.get("") and not has_default and any(plain[place:end]):
                value = (("xmlns", ""), *value)
        found.append((key, kind, name, value))
    return found


def bind(change: Edit, key: str, name: str, is_attribute: bool = False) -> None:
    """Declare the prefix of a new name of an element where it is not seen; it may stand for nothing else there."""
    prefix, uri = space_of(name)
    if is_attribute and not uri:
        return
    scope = visible(change.store, key)
    if uri == XML or scope.get(prefix, "") == uri:
        return
    if not prefix or prefix in scope:
        what = f"the prefix {prefix} stands" if prefix else "names without a prefix stand"
        raise ChangeError(
            f"{what} for another namespace here (XUDY0023)", hint="replace the node, with its declaration"
        )
    entry = change.store.get(key)
    assert entry is not None
    change.set_attributes(key, ((f"xmlns:{prefix}", uri), *entry[3]))


def replace(change: Edit, key: str, entries: Sequence[Entry]) -> list[str]:
    """Have trees in the place of a node."""
    keys = insert_at(change, key, "before", entries)
    change.delete(key)
    return keys


def replace_value(change: Edit, key: str, text: str, attribute: str | None = None) -> None:
    """Give a node other content: an element has one text then, or none."""
    check_text(text, "the value")
    if attribute is not None:
        set_attribute(change, key, attribute, text)
        return
    entry = change.store.get(key)
    if entry is None:
        raise ChangeError("the node is no longer there", hint="look it up again: document.at(…)")
    if entry[1] != ELEMENT:
        change.set_value(key, text)
        return
    children = tuple(change.store.children(key))
    if len(children) == 1 and children[0][1] == TEXT and text:
        change.set_value(children[0][0], text)
        return
    for child in children:
        change.delete(child[0])
    if text:
        change.insert(key, None, None, [("a0", TEXT, "", text)])


def set_attribute(change: Edit, key: str, name: str, value: str | None) -> None:
    """Give an attribute a value; None takes it away."""
    entry = change.store.get(key)
    if entry is None or entry[1] != ELEMENT:
        raise ChangeError("only an element has attributes", hint="address the element")
    stored = next((each for each, _ in entry[3] if each == name or expanded(each) == expanded(name)), None)
    if name == "xmlns" or (stored is not None and is_declaration(stored)):
        raise ChangeError(f"{name} declares a namespace, and is no attribute", hint="replace the element")
    if stored is None and value is None:
        return
    if stored is None:
        check_name(written(name).rpartition(":")[2] if name[:1] == "{" else name, "an attribute")
        bind(change, key, name, True)
        entry = change.store.get(key) or entry
    if value is not None:
        check_text(value, "the value of an attribute")
    change.set_attributes(key, attributes_with(entry, stored or name, value))


def rename(change: Edit, key: str, name: str, attribute: str | None = None) -> None:
    """Give an element, a processing instruction or an attribute another name."""
    local = written(name).rpartition(":")[2] if name[:1] == "{" else name
    check_name(local, "an attribute" if attribute is not None else "an element")
    entry = change.store.get(key)
    if entry is None or (attribute is None and entry[1] == TEXT):
        raise ChangeError("a text has no name", hint="rename the element that it is in")
    if attribute is None:
        if entry[1] == ELEMENT:
            bind(change, key, name)
        change.rename(key, name)
        return
    bind(change, key, name, True)
    entry = change.store.get(key) or entry
    if expanded(name) != attribute and any(expanded(each) == expanded(name) for each, _ in entry[3]):
        raise ChangeError(f"there is an attribute {written(name)} already (XUDY0021)", hint="delete it first")
    pairs = tuple((name if expanded(each) == attribute else each, value) for each, value in entry[3])
    change.set_attributes(key, pairs)


def built_entries(nodes: Sequence[BuiltNode]) -> list[Entry]:
    """Constructed nodes as entries whose keys begin with that of the document."""
    found: list[Entry] = []

    def visit(nodes: Sequence[BuiltNode], parent: str, outside: Scope) -> None:
        part: str | None = None
        for node in nodes:
            if node.kind == ATTRIBUTE:
                raise QueryError("an attribute stands alone", hint="insert it into an element")
            part = between(part, None)
            key = child_of(parent, part)
            inside = outside
            if node.kind == ELEMENT:
                inside = within(node.name, node.namespaces, outside)
                value: Any = (*declarations(inside, outside), *node.attributes.items())
            else:
                value = node.text
            found.append((key, node.kind, node.name, value))
            visit(node.content, key, inside)

    visit(nodes, "", NONE)
    return found
