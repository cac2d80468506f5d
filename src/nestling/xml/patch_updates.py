"""The operations of a patch as one XQuery Update.

Law: the update, all of whose targets are found on the old text, turns it into the new one. Where the selectors of RFC
5261 hold on what the operations before have made, these hold on what was there before all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from nestling.errors import QueryError
from nestling.xml.entries import COMMENT, ELEMENT, TEXT, Entry, written
from nestling.xml.load import fragment_entries
from nestling.xml.orderkeys import depth_of
from nestling.xml.patch import PatchOperation
from nestling.xml.serialise import in_text, in_value

_BRACES = re.compile("[{}]")


def updates_of(operations: Iterable[PatchOperation]) -> str:
    """An XQuery Update that does what the operations do; insertions at one spot are one.

    >>> updates_of([PatchOperation("add", "/*/*[3]", "<a>{1}</a>", "before", "/*/*[2]", True)])
    'insert nodes <a>{{1}}</a> before /*/*[2]'
    """
    found: dict[str, list[str]] = {}
    spaces: dict[str, str] = {}
    for each in operations:
        if each.space is not None and spaces.setdefault(*each.space) != each.space[1]:
            raise QueryError(
                f"the prefix {each.space[0]} stands for two namespaces in this change", hint="to_xml_patch()"
            )
        if each.kind == "remove":
            found[f"delete node {each.target}"] = []
        elif each.kind == "replace":
            found[_replacement(each)] = []
        elif each.place.startswith("@"):
            value = f"attribute {each.place[1:]} {{ {_literal(each.content)} }}"
            found[f"insert node {value} into {each.target}"] = []
        else:
            place = f"before {each.target}" if each.beside else f"as last into {each.target}"
            found.setdefault(place, []).extend(_items(fragment_entries(each.content)))
    prolog = [f"declare namespace {prefix} = {_literal(in_value(uri))};\n" for prefix, uri in spaces.items()]
    return "".join(prolog) + ",\n".join(
        [f"insert nodes {_listed(items)} {text}" if items else text for text, items in found.items()]
    )


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"({', '.join(items)})"


def _replacement(operation: PatchOperation) -> str:
    step = operation.target.rpartition("/")[2]
    if step.startswith(("@", "text()")):
        return f"replace value of node {operation.target} with {_literal(operation.content)}"
    if step.startswith("comment()"):
        return f"replace value of node {operation.target} with {_literal(in_text(operation.content[4:-3]))}"
    made = _items(fragment_entries(operation.content))
    return f"replace node {operation.target} with {_listed(made)}"


def _literal(text: str) -> str:
    """A text that is written as markup already, as a literal."""
    return '"' + text.replace('"', '""') + '"'


def _items(entries: list[Entry]) -> list[str]:
    """Nodes as expressions that construct them."""
    found: list[str] = []
    opened: list[str] = []
    for key, kind, name, value in entries:
        depth = depth_of(key)
        while len(opened) >= depth:
            found[-1] += f"</{opened.pop()}>"
        if kind == TEXT and not opened:
            found.append(f"text {{ {_literal(in_text(value))} }}")
            continue
        text = _constructed(kind, name, value)
        if opened:
            found[-1] += text
        else:
            found.append(text)
        if kind == ELEMENT:
            opened.append(written(name))
    while opened:
        found[-1] += f"</{opened.pop()}>"
    return found


def _constructed(kind: str, name: str, value: Any) -> str:
    if kind == ELEMENT:
        pairs = [f' {written(each)}="{_braced(in_value(text))}"' for each, text in value]
        return f"<{written(name)}{''.join(pairs)}>"
    if kind == COMMENT:
        return f"<!--{value}-->"
    if kind != TEXT:
        return f"<?{name} {value}?>"
    # White space alone between tags is no text in a query; a reference is.
    text = value if value.strip(" \t\r\n") else f"&#x{ord(value[0]):x};{value[1:]}"
    return _braced(in_text(text) if text is value else text)


def _braced(text: str) -> str:
    return _BRACES.sub(lambda sign: sign[0] * 2, text)
