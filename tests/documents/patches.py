"""RFC 5261 patches applied by lxml: the other side of what the database says."""

from __future__ import annotations

from typing import Any

from lxml import etree

import nestling as nl
from nestling.xml.entries import written
from nestling.xml.load import document_entries
from nestling.xml.namespaces import declared_by, serialised_within
from nestling.xml.serialise import serialised


def applied(text: str, diff: str, is_rooted: bool = True) -> str:
    """``text`` after the operations of ``diff``; what is no single element is patched inside one."""
    whole = text if is_rooted else f"<_>{text}</_>"
    is_spaced = "xmlns" in whole + diff
    if is_spaced:
        whole, diff = _flat(whole), _flat(diff)
    root = etree.fromstring(whole.encode())
    for operation in etree.fromstring(diff.encode()):
        root = _apply(root, operation)
    entries = list(document_entries([etree.tostring(root, encoding="unicode")]))
    found = _spaced(entries) if is_spaced else serialised(entries)
    return found if is_rooted else _inside(found)


def _flat(text: str) -> str:
    """A text with plain names in place of prefixes and declarations: lxml would choose among prefixes anew."""
    found: list[Any] = []
    for key, kind, name, value in document_entries([text]):
        if kind == "e":
            pairs = [(_flat_name(each), _flat_name(v) if each in ("sel", "type") else v) for each, v in value]
            found.append((key, kind, _flat_name(name), tuple(pairs)))
        else:
            found.append((key, kind, name, value))
    return serialised(found)


def _flat_name(name: str) -> str:
    return written(name).replace(":", "-.-").replace("xmlns", "X-M-L")


def _spaced(entries: list[Any]) -> str:
    """The inverse of ``_flat``; what is declared around an element is not declared again."""
    names = [(k, kind, _name(n), _pairs(v) if kind == "e" else v) for k, kind, n, v in entries]
    again = list(document_entries([serialised(names)]))
    return serialised_within(again, declared_by(again[0][3]), {})


def _name(name: str) -> str:
    return name.replace("-.-", ":").replace("X-M-L", "xmlns")


def _pairs(value: Any) -> Any:
    return tuple((_name(name), text) for name, text in value)


def updated(text: str, updates: str, is_rooted: bool = True) -> str:
    """The text that an XQuery Update makes of another."""
    db = nl.Database()
    document = db.document("d", text if is_rooted else f"<_>{text}</_>")
    db.xquery(updates)
    return document.xml() if is_rooted else _inside(document.xml())


def _inside(text: str) -> str:
    return "" if text == "<_/>" else text.removeprefix("<_>").removesuffix("</_>")


def _apply(root: Any, operation: Any) -> Any:
    selector = operation.get("sel")
    if "/@" in selector:
        path, name = selector.rsplit("/@", 1)
        [element] = root.xpath(path)
        assert name in element.attrib
        if operation.tag == "remove":
            del element.attrib[name]
        else:
            element.attrib[name] = operation.text or ""
        return root
    if "/text()[" in selector:
        _apply_text(root, operation, selector)
        return root
    [node] = root.xpath(selector)
    if operation.tag == "remove":
        _remove(node)
    elif operation.tag == "replace" and node.getparent() is None:
        return operation[0]
    elif operation.tag == "replace":
        _insert(node.getparent(), node.getparent().index(node), operation)
        _remove(node)
    elif operation.get("type"):
        assert operation.get("type")[1:] not in node.attrib
        node.attrib[operation.get("type")[1:]] = operation.text or ""
    elif operation.get("pos") == "before":
        _insert(node.getparent(), node.getparent().index(node), operation)
    else:
        _insert(node, len(node), operation)
    return root


def _apply_text(root: Any, operation: Any, selector: str) -> None:
    path, number = selector.rsplit("/text()[", 1)
    [element] = root.xpath(path)
    places = [(element, "text")] if element.text else []
    places += [(child, "tail") for child in element if child.tail]
    holder, part = places[int(number[:-1]) - 1]
    setattr(holder, part, operation.text if operation.tag == "replace" else None)


def _remove(node: Any) -> None:
    """Take a node out and leave the text after it."""
    parent, tail = node.getparent(), node.tail
    before = node.getprevious()
    if tail and before is not None:
        before.tail = (before.tail or "") + tail
    elif tail:
        parent.text = (parent.text or "") + tail
    node.tail = None
    parent.remove(node)


def _insert(parent: Any, place: int, operation: Any) -> None:
    """Put the content of an operation before the child at ``place``."""
    if operation.text:
        if place:
            parent[place - 1].tail = (parent[place - 1].tail or "") + operation.text
        else:
            parent.text = (parent.text or "") + operation.text
    for child in list(operation):
        parent.insert(place, child)
        place += 1
