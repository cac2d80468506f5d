"""lxml's trees to texts and back. Nothing else here needs lxml, and nobody else sees it."""

from __future__ import annotations

from typing import Any

from nestling.errors import QueryError


def _etree() -> Any:
    try:
        from lxml import etree
    except ModuleNotFoundError as error:
        raise QueryError("a tree needs the library lxml", hint="pip install 'nestling[xml]'") from error
    return etree


def tree_of(text: str) -> Any:
    """The root element of a document's text."""
    etree = _etree()
    return etree.fromstring(text.encode(), etree.XMLParser(resolve_entities=False, huge_tree=True))


def is_tree(source: object) -> bool:
    """Whether ``source`` is an element or a tree of lxml's."""
    return type(source).__module__.startswith("lxml.")


def text_of(tree: Any) -> bytes:
    """The text of an lxml tree."""
    found: bytes = _etree().tostring(tree, encoding="utf-8")
    return found
