"""Entries as text: canonical, so that equal documents have one text.

UTF-8, no declaration, no indentation; attributes in their order, ``<a/>`` for an element without content, and of the
signs that markup uses only those that must be written as references.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from nestling.xml.entries import COMMENT, ELEMENT, TEXT, Entry, written

_TEXT = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;"}
_VALUE = _TEXT | {'"': "&quot;", "\n": "&#xA;", "\t": "&#x9;"}
_IN_TEXT, _IN_VALUE = re.compile("[&<>\r]"), re.compile('[&<>"\r\n\t]')


def in_text(text: str) -> str:
    """``text`` as the content of an element."""
    return _IN_TEXT.sub(lambda found: _TEXT[found[0]], text) if _IN_TEXT.search(text) else text


def in_value(text: str) -> str:
    """``text`` as the value of an attribute."""
    return _IN_VALUE.sub(lambda found: _VALUE[found[0]], text) if _IN_VALUE.search(text) else text


def attribute(name: str, value: str) -> str:
    """An attribute with the space before it."""
    return f' {written(name)}="{in_value(value)}"'


def serialised(entries: Iterable[Entry]) -> str:
    """The text of neighbouring subtrees.

    >>> serialised([("a0", "e", "s", (("id", "1"),)), ("a0.a0", "t", "", "1 < 2"), ("a0.a1", "e", "b", ())])
    '<s id="1">1 &lt; 2<b/></s>'
    """
    parts: list[str] = []
    opened: list[tuple[str, str]] = []  # the prefix of the keys inside, and the name

    def close() -> None:
        name = opened.pop()[1]
        parts[-1:] = ["/>"] if parts[-1] == ">" else [parts[-1], f"</{name}>"]

    for key, kind, name, value in entries:
        while opened and not key.startswith(opened[-1][0]):
            close()
        if kind == ELEMENT:
            tag = written(name)
            parts += [f"<{tag}", *[attribute(each, text) for each, text in value], ">"]
            opened.append((key + ".", tag))
        elif kind == TEXT:
            parts.append(in_text(value))
        elif kind == COMMENT:
            parts.append(f"<!--{value}-->")
        else:
            parts.append(f"<?{name} {value}?>" if value else f"<?{name}?>")
    while opened:
        close()
    return "".join(parts)
