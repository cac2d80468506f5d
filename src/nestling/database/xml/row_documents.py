"""The tables of documents of a state in this process: changed in place; who defines takes back what fails.

The starts of pages are read once and followed through commits, as references are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import cast

from nestling.database.definitions import TableDef
from nestling.database.row_state import RowState
from nestling.database.rows import Row, RowEvent
from nestling.database.state import Holder
from nestling.database.xml.definition import PAGES, XQueryDef
from nestling.database.xml.tables import check_first, not_empty
from nestling.xml.store import Stored

_BATCH = 256


class RowDocuments:
    """Pages and navigation tables in an engine of this process."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder
        self._stored: dict[str, Stored] = {}

    @property
    def _state(self) -> RowState:
        return cast(RowState, self._holder._state)

    def add_document(self, table: TableDef, pages: Iterable[Row]) -> None:
        state, left = self._state, iter(pages)
        state.add_table(table)
        while some := [(page, 1) for page in islice(left, _BATCH)]:
            state.engine.batches[table.name](some)

    def add_xquery(
        self,
        definition: XQueryDef,
        tables: Sequence[TableDef],
        rows: Mapping[str, list[Row]],
        strict: bool | None,
    ) -> None:
        state = self._state
        for table in tables:
            state.add_table(table)
        for name, some in rows.items():
            if some:
                state.engine.batches[name]([(row, 1) for row in some])
        for view in definition.views:
            state.add_view(view, strict=strict)
        for check in definition.checks:
            state.define(check, constraint=True)
            state.reinstall()
            if state.read(check.name):
                raise not_empty(definition, check.name)
        state.xqueries[definition.name] = definition

    def drop_xquery(self, definition: XQueryDef, tables: Sequence[str]) -> None:
        state = self._state
        del state.xqueries[definition.name]
        for view in (*definition.views, *definition.checks):
            state.views = state.views.without(view.name)
        for table in tables:
            del state.tables[table]
        state.reinstall()

    def pages(self, document: str) -> Stored:
        found = self._stored.get(document)
        if found is None:
            found = self._stored[document] = self._read(document)
        return found

    def _read(self, document: str) -> Stored:
        table = PAGES + document

        def body(start: str) -> bytes:
            row = self._state.engine.by_key(table, (start,))
            assert row is not None, f"the page {start!r} of {document} is missing"
            page: bytes = row[1]
            return page

        starts = {row[0] for row in self._state.engine.table(table)}
        check_first(document, starts)
        return Stored(starts, body)

    def follow(self, events: Iterable[RowEvent]) -> None:
        if not self._stored:
            return
        counts: dict[tuple[str, str], int] = {}
        for table, row, times in events:
            if table.startswith(PAGES) and table[len(PAGES) :] in self._stored:
                at = table[len(PAGES) :], row[0]
                counts[at] = counts.get(at, 0) + times
        for (name, start), times in counts.items():
            if times > 0:
                self._stored[name].add(start)
            elif times < 0:
                self._stored[name].remove(start)

    def forget(self) -> None:
        self._stored = {}
