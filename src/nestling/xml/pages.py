"""Pages: runs of entries as bytes, in a form that nothing has to be executed to read.

A page is its entries in UTF-8, joined by ``\\x02``; an entry its fields, joined by ``\\x01``: how many signs of its
key the entry before it has too, with the kind; the rest of the key; the name; the value, or attributes and values in
turn. Neither sign can occur in an XML document.

Law: ``decoded(encoded(entries)) == entries``; any other bytes give entries in order, or a ``StoreError``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from nestling.errors import StoreError
from nestling.xml.entries import COMMENT, ELEMENT, INSTRUCTION, TEXT, Entry

#: How many entries a page has when it is made; it is split when it has twice as many.
PAGE = 64

_FIELD, _ENTRY = "\x01", "\x02"
_KINDS = frozenset((ELEMENT, TEXT, COMMENT, INSTRUCTION))
#: Decoded pages by their bytes: a page that changes has others.
_DECODED: OrderedDict[bytes, list[Entry]] = OrderedDict()
_MOST = 2_000


def encoded(entries: Sequence[Entry]) -> bytes:
    """The page of ``entries``.

    >>> encoded([("a0", "e", "s", (("id", "1"),)), ("a0.a0", "t", "", "x")])
    b'0e\\x01a0\\x01s\\x01id\\x011\\x020t\\x01a0.a0\\x01\\x01x'
    """
    before, parts = "", list[str]()
    for key, kind, name, value in entries:
        # Neighbours share the key of a node above both; a longer common prefix is not worth its search.
        shared = key.rfind(".") + 1
        while shared and not before.startswith(key[:shared]):
            shared = key.rfind(".", 0, shared - 1) + 1
        if kind != ELEMENT:
            parts.append(f"{shared}{kind}{_FIELD}{key[shared:]}{_FIELD}{name}{_FIELD}{value}")
        elif value:
            rest = _FIELD.join([part for pair in value for part in pair])
            parts.append(f"{shared}{kind}{_FIELD}{key[shared:]}{_FIELD}{name}{_FIELD}{rest}")
        else:
            parts.append(f"{shared}{kind}{_FIELD}{key[shared:]}{_FIELD}{name}")
        before = key
    return _ENTRY.join(parts).encode()


def decoded(page: bytes) -> list[Entry]:
    """The entries of a page; the list is shared, and not to be changed."""
    found = _DECODED.get(page)
    if found is None:
        found = _decoded(page)
        remember(page, found)
    return found


def remember(page: bytes, entries: list[Entry]) -> None:
    """Note what a page that was just encoded decodes to."""
    _DECODED[page] = entries
    if len(_DECODED) > _MOST:
        _DECODED.popitem(last=False)


def _decoded(page: bytes) -> list[Entry]:
    try:
        return _entries(page.decode())
    except (ValueError, IndexError) as error:
        raise StoreError(
            f"a page of a document makes no sense: {page!r:.40}", hint="restore it from a copy"
        ) from error


def _entries(text: str) -> list[Entry]:
    before, found = "", list[Entry]()
    for part in text.split(_ENTRY) if text else ():
        head, rest, name, *values = part.split(_FIELD)
        kind, key = head[-1], before[: int(head[:-1])] + rest
        if kind not in _KINDS or key <= before:
            raise ValueError("no entry is like this")
        if kind == ELEMENT:
            pairs = zip(values[::2], values[1::2], strict=True)
            found.append((key, kind, name, tuple(pairs) if values else ()))
        else:
            [value] = values
            found.append((key, kind, name, value))
        before = key
    return found
