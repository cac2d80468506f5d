"""Namespaces: which prefixes stand for what where a node stands, and which an element must declare there.

A *scope* maps prefixes to namespaces; the empty prefix is that of names without one. An element declares what its
scope has and what is around it has not, by the names of prefixes, so that equal trees have one text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from nestling.xml.entries import COMMENT, ELEMENT, TEXT, Entry, is_declaration, written
from nestling.xml.orderkeys import parent_of
from nestling.xml.serialise import attribute, in_text
from nestling.xml.store import NodeStore

Scope: TypeAlias = Mapping[str, str]
NONE: Scope = {}


def declared_by(attributes: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What the attributes of an element declare."""
    return {name[6:]: value for name, value in attributes if is_declaration(name)}


def visible(store: NodeStore, key: str) -> dict[str, str]:
    """The namespaces that a node sees where it stands: those that it and the elements around it declare."""
    found: dict[str, str] = {}
    while key:
        entry = store.get(key)
        if entry is not None and entry[1] == ELEMENT and entry[3]:
            found = declared_by(entry[3]) | found
        key = parent_of(key)
    return found


def within(name: str, own: Scope, outside: Scope) -> dict[str, str]:
    """The scope inside an element with ``own`` namespaces that stands where ``outside`` are seen.

    It inherits what it does not have; but a name without a prefix and a namespace is in none.
    """
    found = {**outside, **own}
    if found.get("") and name[0] != "{":
        found[""] = ""
    return found


def declarations(inside: Scope, outside: Scope) -> list[tuple[str, str]]:
    """The attributes by which an element declares what is seen inside it and not around it."""
    return [
        (f"xmlns:{prefix}" if prefix else "xmlns", uri)
        for prefix, uri in sorted(inside.items())
        if outside.get(prefix, "") != uri and prefix != "xml"
    ]


def serialised_within(entries: Sequence[Entry], seen: Scope, outside: Scope) -> str:
    """The text of a subtree whose root sees ``seen`` where it stands, inside an element that sees ``outside``.

    >>> tree = [
    ...     ("a0", "e", "b", (("xmlns:p", "urn:p"),)),
    ...     ("a0.a0", "e", "{urn:p}p:c", (("xmlns:p", "urn:p"),)),
    ... ]
    >>> serialised_within(tree, {"p": "urn:p"}, {"": "urn:x"})
    '<b xmlns="" xmlns:p="urn:p"><p:c/></b>'
    """
    parts: list[str] = []
    # The prefix of the keys inside, the name, what is seen there, and the default that comes from outside.
    opened: list[tuple[str, str, Scope, str]] = []

    def close() -> None:
        name = opened.pop()[1]
        parts[-1:] = ["/>"] if parts[-1] == ">" else [parts[-1], f"</{name}>"]

    for key, kind, name, value in entries:
        while opened and not key.startswith(opened[-1][0]):
            close()
        if kind == ELEMENT:
            _, _, around, default = opened[-1] if opened else ("", "", outside, outside.get("", ""))
            own = declared_by(value) if opened else seen
            if own.get("") == "" and name[0] == "{":
                # It sees no default where it stands: it has that of its new place.
                own = {**own, "": default}
            tag = written(name)
            if own or around:
                inside: Scope = within(name, own, around)
                more = [attribute(each, uri) for each, uri in declarations(inside, around)]
                plain = [attribute(each, text) for each, text in value if not is_declaration(each)]
                parts += [f"<{tag}", *more, *plain, ">"]
            else:
                inside = around
                parts += [f"<{tag}", *[attribute(each, text) for each, text in value], ">"]
            opened.append((key + ".", tag, inside, default if name[0] == "{" else ""))
        elif kind == TEXT:
            parts.append(in_text(value))
        elif kind == COMMENT:
            parts.append(f"<!--{value}-->")
        else:
            parts.append(f"<?{name} {value}?>" if value else f"<?{name}?>")
    while opened:
        close()
    return "".join(parts)
