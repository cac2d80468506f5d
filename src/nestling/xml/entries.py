"""Entries: the nodes of a document, one flat tuple each.

An entry is ``(key, kind, name, value)``. The value of an element is the tuple of its attributes, ``(name, value)`` in
the order of the text; of a text, a comment or a processing instruction, its content. A name is ``local``, or
``{uri}local``, or ``{uri}prefix:local`` where the text gave a prefix; namespace declarations are attributes called
``xmlns`` or ``xmlns:p``.

Invariants of a document: keys ascend; no text is empty, and no two texts are neighbours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from nestling.errors import ChangeError, brief, shown

Entry: TypeAlias = tuple[str, str, str, Any]
Attributes: TypeAlias = tuple[tuple[str, str], ...]
#: The names of the nodes from the root down: of elements expanded, of others what tests for them.
Labels: TypeAlias = tuple[str, ...]

ELEMENT, TEXT, COMMENT, INSTRUCTION = "e", "t", "c", "p"
#: The namespace that the prefix ``xml`` always stands for.
XML = "http://www.w3.org/XML/1998/namespace"
#: How deep a document may nest.
DEEPEST = 200

TESTS = {TEXT: "text()", COMMENT: "comment()", INSTRUCTION: "processing-instruction()"}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_START = r"A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f"
_START += r"\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
#: A name without a colon, as XML 1.0 has it.
NAME = rf"[{_START}][-.0-9\u00b7\u0300-\u036f\u203f\u2040{_START}]*"
_NAME = re.compile(NAME)


def expanded(name: str) -> str:
    """A name without its prefix.

    >>> expanded("{urn:x}p:item"), expanded("item")
    ('{urn:x}item', 'item')
    """
    if name[:1] != "{":
        return name
    uri, _, local = name.rpartition("}")
    return f"{uri}}}{local.rpartition(':')[2]}"


def written(name: str) -> str:
    """A name as the text of a document has it.

    >>> written("{urn:x}p:item")
    'p:item'
    """
    return name.rpartition("}")[2]


def space_of(name: str) -> tuple[str, str]:
    """The prefix and the namespace of a name.

    >>> space_of("{urn:x}p:item"), space_of("{urn:x}item"), space_of("item")
    (('p', 'urn:x'), ('', 'urn:x'), ('', ''))
    """
    uri, brace, rest = name.rpartition("}")
    return rest.rpartition(":")[0], uri[1:] if brace else ""


def is_declaration(name: str) -> bool:
    """Whether an attribute declares a namespace."""
    return name[:5] == "xmlns" and (len(name) == 5 or name[5] == ":")


def label_of(entry: Entry) -> str:
    """What a step of a pattern tests of a node."""
    return expanded(entry[2]) if entry[1] == ELEMENT else TESTS[entry[1]]


def attribute_of(entry: Entry, name: str) -> str | None:
    """The value of an attribute by its expanded name; none of what is no element."""
    if entry[1] != ELEMENT:
        return None
    return next((value for key, value in entry[3] if key == name or expanded(key) == name), None)


def listed(entry: Entry) -> str | None:
    """The attributes of an element as one text, none where it has none; ``unlisted`` is the inverse.

    >>> listed(("a0", "e", "x", (("k", "1"), ("xmlns:p", "u"), ("l", "2"))))
    '[["k", "1"], ["l", "2"]]'
    """
    if entry[1] != ELEMENT:
        return None
    pairs = [(name, value) for name, value in entry[3] if not is_declaration(name)]
    return json.dumps(pairs, ensure_ascii=False) if pairs else None


def unlisted(text: str) -> Attributes:
    """The attributes that a text lists."""
    return tuple((name, value) for name, value in json.loads(text))


def labelled(entries: Iterable[Entry], labels: Sequence[str]) -> Iterator[tuple[Labels, Entry]]:
    """The entries of neighbouring subtrees below the node with ``labels``, each with its own."""
    path, depth = list(labels), len(labels)
    for entry in entries:
        del path[max(depth, entry[0].count(".")) :]
        path.append(label_of(entry))
        yield tuple(path), entry


def moved(entries: Iterable[Entry], old: str, new: str) -> list[Entry]:
    """A subtree under another key."""
    return [(new + key[len(old) :], kind, name, value) for key, kind, name, value in entries]


def string_value(entries: Iterable[Entry]) -> str:
    """The string value of a subtree: of an element its texts, of another node its content."""
    found = list(entries)
    if found and found[0][1] != ELEMENT:
        return str(found[0][3])
    return "".join([value for _, kind, _, value in found if kind == TEXT])


def check_text(text: object, what: str) -> str:
    """Refuse what no XML document can contain."""
    if not isinstance(text, str):
        raise ChangeError(f"{what} is a text, not {shown(text)}", hint="convert it: str(value)")
    if found := _NOT_XML.search(text):
        raise ChangeError(f"{what} contains {found[0]!r}, which no XML document can", hint="leave it out")
    return text


def check_name(name: object, what: str) -> str:
    """Refuse what is no name without a namespace."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ChangeError(
            f"{brief(name)} is no name of {what}", hint="a letter or _, then letters, digits, - . _"
        )
    return name
