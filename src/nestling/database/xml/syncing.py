"""``document.sync``: an edited copy of a document, as the edits that lead to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nestling.database.xml.edits import Edit
from nestling.errors import ChangeError, brief
from nestling.xml.difference import ChangedNode, InsertedNodes, RemovedNode, difference
from nestling.xml.entries import ELEMENT, Entry


def sync(edit: Edit, entries: Iterable[Entry], keys: Mapping[str, str] | None) -> None:
    """Make the document that of ``entries``; what is equal in both keeps its keys."""
    for step in difference(list(edit.store.scan()), list(entries), keys):
        match step:
            case RemovedNode(key):
                edit.delete(key)
            case InsertedNodes(parent, before, after, trees):
                edit.insert(parent, before, after, trees)
            case ChangedNode(key, entry):
                _change(edit, key, entry)


def _change(edit: Edit, key: str, entry: Entry) -> None:
    old = edit.store.get(key)
    assert old is not None
    if old[2] != entry[2]:
        edit.rename(key, entry[2])
    if old[3] == entry[3]:
        return
    if entry[1] == ELEMENT:
        edit.set_attributes(key, entry[3])
    else:
        edit.set_value(key, entry[3])


def keys_argument(keys: Any) -> Mapping[str, str] | None:
    """Refuse what does not say which attributes name which elements."""
    if keys is None or (
        isinstance(keys, Mapping)
        and all(isinstance(text, str) and text for pair in keys.items() for text in pair)
    ):
        return keys
    raise ChangeError(
        f"keys={brief(keys)} does not name attributes", hint='keys={"person": "id"}; {} for none'
    )
