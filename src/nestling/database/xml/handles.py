"""``XmlDocument`` and ``DocumentNode``: the handles of a document and of one of its nodes that users have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any

from nestling.database.refresh import Refresh
from nestling.database.transaction import Transaction
from nestling.database.xml.edits import Edit
from nestling.database.xml.found import FoundAttribute, FoundNode
from nestling.database.xml.host import DocumentHost
from nestling.database.xml.interpret import Interpreter
from nestling.database.xml.paper_updates import run_paper_update
from nestling.database.xml.primitives import PLACES, insert_at, rename, replace, replace_value, set_attribute
from nestling.database.xml.syncing import keys_argument, sync
from nestling.errors import ChangeError, QueryError, StoreError, brief, shown
from nestling.frontend.xquery.parse import parsed
from nestling.progress import say
from nestling.xml.entries import ELEMENT, Entry, attribute_of, check_name, expanded, written
from nestling.xml.load import chunks_of, document_entries, fragment_entries
from nestling.xml.namespaces import NONE, serialised_within, visible
from nestling.xml.serialise import serialised
from nestling.xml.store import NodeStore
from nestling.xml.trees import is_tree, text_of, tree_of

Progress = Callable[[int, int | None], object]


class XmlDocument:
    """A document of a database. Every change is a transaction, or part of the one that it was taken from."""

    def __init__(self, database: DocumentHost, name: str, change: Transaction | None = None) -> None:
        self._database, self.name, self._change = database, name, change

    def _store(self) -> NodeStore:
        documents = self._database._documents
        documents.check(self.name)
        return documents.store(self.name, self._change or self._database._access.own)

    def at(self, path: str) -> DocumentNode:
        """The one node that ``path`` leads to."""
        return DocumentNode(self, "", None).at(path)

    def xml(self) -> str:
        """The document as canonical text."""
        with self._database._reading_documents():
            return serialised(self._store().scan())

    def tree(self) -> Any:
        """The root element, as lxml has it."""
        return tree_of(self.xml())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the document to a file."""
        Path(path).write_text(self.xml(), encoding="utf-8")

    def apply(self, update: str) -> Refresh | None:
        """Apply an update of the paper's language: ``USeq[(1, UNode(None, USeq[(3, UDel), (1, UIns(<a/>))]))]``."""
        return self._edit(lambda edit: run_paper_update(edit, update))

    def sync(
        self,
        source: Any,
        *,
        keys: Mapping[str, str] | None = None,
        whitespace: str = "keep",
        progress: Progress | None = None,
    ) -> Refresh | None:
        """Make the document that of ``source``, an edited copy: the difference is found and applied.

        Nodes that are equal in both stay the same nodes. Elements are told apart by ``xml:id`` and ``id``, or by the
        attributes that ``keys`` has for their names.
        """
        wanted = keys_argument(keys)
        entries = list(source_entries(source, strip_argument(whitespace), progress))
        return self._edit(lambda edit: sync(edit, entries, wanted))

    def _edit(self, action: Callable[[Edit], object]) -> Refresh | None:
        found: Refresh | None = self._database._documents.edit(self.name, action, self._change)
        return found

    def __repr__(self) -> str:
        return f"XmlDocument({self.name})"


class DocumentNode:
    """A node of a document, or an attribute of one. It stays the same node as long as it is there."""

    def __init__(self, document: XmlDocument, key: str, attribute: str | None) -> None:
        self._document, self._key, self._attribute = document, key, attribute
        documents = document._database._documents
        self._renewed, self._life = len(documents.renewed), documents.life(document.name, key)

    def at(self, path: str) -> DocumentNode:
        """The one node that ``path`` leads to from here."""
        document, database = self._document, self._document._database
        module = parsed(path)
        with database._reading_documents():
            store = document._store()
            if self._key:
                self._entry(store)
            own = FoundNode(document.name, self._key)

            def own_store(name: str) -> NodeStore:
                if name != document.name:
                    raise QueryError(
                        f"{path!r:.80} leads into another document", hint=f"db.document({name!r:.80})"
                    )
                return store

            run = Interpreter(module, own_store, own, [document.name])
            found = run.run()
            if run.pending:
                raise ChangeError(f"{path!r:.80} is no path", hint="db.xquery(…) runs an update")
            if len(found) != 1:
                raise ChangeError(
                    f"{path!r:.80} leads to {len(found)} nodes of {document.name}, not to one",
                    hint="add a condition: [@id = '…'], [1]",
                )
            if not isinstance(found[0], FoundAttribute) and not getattr(found[0], "key", None):
                raise ChangeError(f"{path!r:.80} leads to no node inside {document.name}", hint="/*")
            name = found[0].name if isinstance(found[0], FoundAttribute) else None
            return DocumentNode(document, found[0].key, name)

    def _entry(self, store: NodeStore) -> Entry:
        """The node, if it is still there under its key."""
        renewed = self._document._database._documents.renewed[self._renewed :]
        lost = any(
            name == self._document.name and self._key.startswith(f"{parent}.") for name, parent in renewed
        )
        entry = None if lost or self._life.is_over else store.get(self._key)
        if entry is None:
            why = "has moved: its siblings were given other keys" if lost else "is no longer there"
            raise ChangeError(
                f"a node of {self._document.name} {why}", hint="look it up again: document.at(…)"
            )
        return entry

    # -- reading

    def xml(self) -> str:
        """The node as text; of an attribute, its value."""
        with self._document._database._reading_documents():
            store = self._document._store()
            entry = self._entry(store)
            if self._attribute is not None:
                return attribute_of(entry, self._attribute) or ""
            return serialised_within(list(store.subtree(self._key)), visible(store, self._key), NONE)

    @property
    def value(self) -> str:
        """The string value."""
        with self._document._database._reading_documents():
            store = self._document._store()
            entry = self._entry(store)
            if self._attribute is not None:
                return attribute_of(entry, self._attribute) or ""
            return store.string(self._key)

    # -- changes

    def insert(self, xml: str, place: str = "last") -> Refresh | None:
        """Insert markup: ``first`` or ``last`` inside, ``before`` or ``after``."""
        if place not in PLACES:
            raise ChangeError(f"there is no place {brief(place)}", hint=", ".join(PLACES))
        entries = fragment_entries(_text(xml))

        def insert(edit: Edit) -> None:
            entry = self._own(edit)
            inside = place in ("first", "last", "into")
            if inside and entry[1] != ELEMENT:
                raise ChangeError(
                    "nothing can be inserted into what is no element", hint='"before" or "after" it'
                )
            insert_at(edit, self._key, place, entries)

        return self._document._edit(insert)

    def delete(self) -> Refresh | None:
        """Take the node out, with all below it."""

        def delete(edit: Edit) -> None:
            if self._attribute is None:
                self._own(edit)
                edit.delete(self._key)
            else:
                self._set(edit, self._attribute, None)

        return self._document._edit(delete)

    def replace(self, xml: str) -> Refresh | None:
        """Have markup in its place."""
        entries = fragment_entries(_text(xml))

        def replace_(edit: Edit) -> None:
            self._own(edit)
            replace(edit, self._key, entries)

        return self._document._edit(replace_)

    def replace_value(self, text: str) -> Refresh | None:
        """Give it other content: an element has this text alone then."""

        def replace_(edit: Edit) -> None:
            self._entry(edit.store)
            replace_value(edit, self._key, text, self._attribute)

        return self._document._edit(replace_)

    def rename(self, name: str) -> Refresh | None:
        """Give it another name, in the namespace that it is in."""

        def rename_(edit: Edit) -> None:
            entry = self._entry(edit.store)
            check_name(name, "a node")
            stored = (
                [each for each, _ in entry[3] if expanded(each) == self._attribute]
                if self._attribute
                else [entry[2]]
            )
            rename(edit, self._key, f"{stored[0].removesuffix(_local(stored[0]))}{name}", self._attribute)

        return self._document._edit(rename_)

    def set(self, attribute: str, value: str | None) -> Refresh | None:
        """Give an attribute a value; None takes it away."""
        return self._document._edit(lambda edit: self._set(edit, attribute, value))

    def _set(self, edit: Edit, attribute: str, value: str | None) -> None:
        self._entry(edit.store)
        set_attribute(edit, self._key, attribute, value)

    def _own(self, edit: Edit) -> Entry:
        if self._attribute is not None:
            raise ChangeError("an attribute has no place among nodes", hint="replace_value, rename, delete")
        return self._entry(edit.store)

    def __repr__(self) -> str:
        return f"DocumentNode({self._document.name}, {self.xml()!r:.60})"


def _local(name: str) -> str:
    return written(name).rpartition(":")[2]


def _text(xml: object) -> str:
    if is_tree(xml):
        return text_of(xml).decode()
    if not isinstance(xml, str):
        raise ChangeError(f"markup is a text or an lxml element, not {shown(xml)}", hint='"<a>…</a>"')
    return xml


def source_entries(source: Any, strip: bool, progress: Progress | None) -> Iterator[Entry]:
    """The entries of what a user gives as a document: a path, a file, bytes, a text of markup or an lxml tree."""
    if progress is not None:
        _check_progress(progress)
    if is_tree(source):
        source = text_of(source)
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        source = source.lstrip("\ufeff \t\r\n")
        yield from document_entries(_told([source], len(source), progress), strip)
    elif isinstance(source, bytes):
        yield from document_entries(_told([source], len(source), progress), strip)
    elif isinstance(source, str) and not source.strip():
        raise ChangeError(
            "this is no XML that can be stored: the text is empty", hint='"<a>…</a>", or a path'
        )
    elif isinstance(source, str | PathLike):
        path = Path(source)
        try:
            with path.open("rb") as file:
                total = path.stat().st_size
                yield from document_entries(_told(chunks_of(file.read), total, progress), strip)
        except OSError as error:
            raise StoreError(
                f"{path} cannot be read: {error.strerror}", hint="give a path or the markup"
            ) from error
    elif hasattr(source, "read"):
        yield from document_entries(_told(chunks_of(source.read), None, progress), strip)
    else:
        raise QueryError(
            f"a document is a path, a file, bytes, markup or an lxml tree, not {shown(source)}",
            hint='db.document("auction.xml", "auction.xml")',
        )


def _told(chunks: Iterable[Any], total: int | None, progress: Progress | None) -> Iterator[Any]:
    done = 0
    for chunk in chunks:
        yield chunk
        done += len(chunk)
        if progress is not None:
            progress(done, total)
        else:
            say("reading", done, total)


def strip_argument(whitespace: object) -> bool:
    """Whether texts of white space alone are left out."""
    if whitespace not in ("keep", "strip"):
        raise QueryError(f"whitespace={shown(whitespace)} is unknown", hint='"keep" or "strip"')
    return whitespace == "strip"


def _check_progress(progress: Any) -> None:
    """Refuse what cannot be told how far a load is."""
    refused = QueryError("progress is a function of two numbers", hint="progress=lambda done, total: …")
    if not callable(progress):
        raise refused
    try:
        signature(progress).bind(0, None)
    except TypeError as error:
        raise refused from error
    except ValueError:
        return  # a function that does not say what it takes
