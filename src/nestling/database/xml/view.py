"""``XQueryView``: the handle of an XQuery view that users have."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from nestling.database.arguments import flag_argument
from nestling.database.explain import explain_hidden
from nestling.database.explain.sizes import size_text
from nestling.database.subscription import OnError, Subscription
from nestling.database.xml.built import built_sequence
from nestling.database.xml.definition import XQueryDef
from nestling.database.xml.found import FoundNode
from nestling.database.xml.host import DocumentHost
from nestling.database.xml.interpret import Interpreter
from nestling.database.xml.navigation import NavigationTables
from nestling.database.xml.reading import NODE, XmlReader
from nestling.database.xml.stats import xquery_stats
from nestling.database.xml.tabled import table_store
from nestling.database.xml.watch import XmlChange, XmlWatches
from nestling.errors import NestlingError, QueryError, brief
from nestling.frontend.xquery.parse import parse
from nestling.frontend.xquery.template import AtomPart, ConstantPart, SequencePart
from nestling.xml.namespaces import NONE
from nestling.xml.store import NodeStore
from nestling.xml.trees import tree_of


class ViewHost(DocumentHost, Protocol):
    """A database that has XQuery views."""

    _xml_watches: XmlWatches


class XQueryView:
    """An XQuery over documents that is always up to date."""

    def __init__(self, database: ViewHost, name: str) -> None:
        self._database, self.name = database, name

    @property
    def _definition(self) -> XQueryDef:
        found = self._database._state.xqueries.get(self.name)
        if found is None:
            raise QueryError(f"there is no view {self.name!r}", hint="it was dropped")
        return found

    def _store(self, document: str) -> NodeStore:
        database = self._database
        return database._documents.store(document, database._access.own)

    def _reader(self) -> XmlReader:
        state = self._database._state
        return XmlReader([state.read(view.name) for view in self._definition.views], self._store)

    def _reading(self) -> AbstractContextManager[None]:
        """A block in which the answer, and the documents that it copies from, are those of one state."""
        return self._database._reading(*(view.name for view in self._definition.views))

    def xml(self) -> str:
        """The answer as canonical text."""
        with self._reading():
            return self._reader().whole(self._definition.translated.template)

    def tree(self) -> Any:
        """The answer as an lxml element; it must be one element."""
        text = self.xml()
        items = self._items()
        if len(items) != 1 or items[0][0] != NODE:
            raise QueryError(
                f"{self.name} has {len(items)} items, and no single element",
                hint="write <r>{…}</r> around the query",
            )
        return tree_of(text)

    def _items(self) -> list[tuple[str, Any]]:
        """The items in order: their kind, and their value or text."""
        found: list[tuple[str, Any]] = []
        with self._reading():
            reader = self._reader()
            for part in self._definition.translated.template:
                assert isinstance(part, SequencePart)
                for item, row in reader.items(part.sources, None):
                    written = reader.written(item, row, NONE)
                    if isinstance(item, AtomPart):
                        value = (row or ())[item.column]
                    else:
                        value = (
                            item.value
                            if isinstance(item, ConstantPart)
                            else written.text
                            if written
                            else None
                        )
                    if written is not None:
                        found.append((written.kind, value))
        return found

    def __iter__(self) -> Iterator[Any]:
        """The items in document order: atoms as Python values, texts as str, elements as lxml has them."""
        for kind, value in self._items():
            yield tree_of(value) if kind == NODE and value.startswith("<") and value[1] not in "!?" else value

    def __len__(self) -> int:
        return len(self._items())

    def subscribe(
        self, function: Callable[[XmlChange], object], *, history: int = 0, on_error: OnError | None = None
    ) -> Subscription:
        """Call ``function`` with the change of this view after every commit from now on that changes its text."""
        told: Any = function
        return self._database._xml_watches.subscribe(self._definition, told, history, on_error)

    def changes(self, since: int | None = None, *, history: int = 1000) -> list[XmlChange]:
        """The changes after version ``since``, or all that are kept; the first call starts the keeping."""
        return self._database._xml_watches.changes(self._definition, since, history)

    def verify(self, maps: bool = False) -> None:
        """Compute the view anew from its documents, by the plain meaning of XQuery, and compare; so for its tables."""
        verify_xqueries(self._database, [self.name], flag_argument(maps, "maps"))

    def _check_text(self) -> None:
        definition = self._definition
        with self._reading():
            wanted, found = self._evaluated(), self._reader().whole(definition.translated.template)
        if wanted != found:
            at = next((i for i, (a, b) in enumerate(zip(wanted, found, strict=False)) if a != b), len(wanted))
            raise NestlingError(
                f"{self.name} is not what its query says, from sign {at} on:\n"
                f"  kept      {found[max(0, at - 40) : at + 60]}\n  computed  {wanted[max(0, at - 40) : at + 60]}"
            )

    def _evaluated(self) -> str:
        definition = self._definition
        context = None if definition.context is None else FoundNode(definition.context, "")
        run = Interpreter(parse(definition.text), self._plain_store, context, definition.documents)
        return built_sequence(run, run.run())

    def _plain_store(self, document: str) -> NodeStore:
        """A document, or a table as one."""
        for table in self._definition.tables:
            if table.name == document:
                return table_store(table, self._database._state.engine.table(document))
        return self._store(document)

    def explain(self, format: str = "text", code: bool = False, page: bool = True) -> str:
        """How the view is kept: its tables, and each hidden view as its ``explain`` has it, as text, json or html;
        without ``page``, html is what stands in one."""
        if format not in ("text", "json", "html"):
            raise QueryError(
                f"an XQuery view is explained as text, json or html, not as {brief(format)}", hint='"html"'
            )
        definition = self._definition
        if format == "html":
            with self._database._access.reading():
                names = {table.name: str(table) for table in definition.translated.tables}
                names |= {view.name: self.name for view in definition.views}
                hidden_views = [view.name for view in definition.views]
                return explain_hidden(
                    self._database._state, hidden_views, names, page, flag_argument(code, "code")
                )
        stats = xquery_stats(self._database._state, self.name)
        code = flag_argument(code, "code")
        if format == "json":
            hidden = [
                json.loads(self._database._explain_view(v.name, "json", code)) for v in definition.views
            ]
            known = {
                "view": self.name,
                "language": "xquery",
                "stored": definition.store,
                "query": definition.text,
            }
            return json.dumps(known | stats | {"views": hidden}, indent=2, ensure_ascii=False)
        lines = [f"{self.name}: an XQuery view, stored {definition.store}: {size_text(stats['bytes'])}", ""]
        lines.append("navigation tables, shared with other views of the document")
        for table in definition.translated.tables:
            taken = stats["navigation"][str(table)]
            size = size_text(taken["bytes"])
            lines.append(f"  {table.name}: {table}, {taken['rows']} rows, {size}")
        for view in definition.views:
            lines += ["", self._database._explain_view(view.name, format, code)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"XQueryView({self.name})"


def verify_xqueries(database: ViewHost, names: Sequence[str], maps: bool) -> None:
    """Verify XQuery views: the views that keep them, all at once, their tables, and what they are written as."""
    queries = [XQueryView(database, name) for name in names]
    definitions = [query._definition for query in queries]
    with database._access.reading():
        hidden = [view.name for each in definitions for view in (*each.views, *each.checks)]
        database._verify(hidden, maps)
        for document in {table.document for each in definitions for table in each.translated.tables}:
            check_tables(database, document)
        for query in queries:
            query._check_text()


def check_tables(database: ViewHost, document: str) -> None:
    """Compare the navigation tables of a document with their definition; stamps only count edits."""
    tables: NavigationTables = database._documents.navigation(document)
    store = database._documents.store(document, database._access.own)
    wanted = tables.rows(store)
    for table in tables.tables:
        stored = database._state.engine.table(table.name)
        place = table.columns.index("stamp") - len(table.columns) if "stamp" in table.columns else None
        found = sorted(_without(row, place) for row in stored)
        if found != sorted(_without(row, place) for row in wanted[table.name]):
            raise NestlingError(f"the navigation table {table} is not what its document says")


def _without(row: tuple[Any, ...], place: int | None) -> str:
    cells = list(row)
    if place is not None:
        del cells[place]
    return repr(cells)
