"""The tables of documents in a lake: definitions come and go by one commit, and pages are those of a snapshot."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

from nestling.database.definitions import HIDDEN, TableDef
from nestling.database.rows import Row, RowEvent
from nestling.database.spark.defined import compiled, some_rows
from nestling.database.spark.state import SparkState
from nestling.database.state import EXCLUDE, Holder
from nestling.database.texts import check_storable, table_text, view_text
from nestling.database.verdict import judge
from nestling.database.xml.definition import PAGES, XQueryDef
from nestling.database.xml.tables import check_first, not_empty
from nestling.engine.spark.arriving import arriving
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.held import HeldRows
from nestling.errors import UNDEFINED, QueryError
from nestling.xml.store import Stored


class LakeDocuments:
    """Pages and navigation tables in a lake."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder
        #: The pages that were asked for last, and the rows that they are.
        self._known: dict[str, tuple[HeldRows, Stored]] = {}

    @property
    def _state(self) -> SparkState:
        return cast(SparkState, self._holder._state)

    def add_document(self, table: TableDef, pages: Iterable[Row]) -> None:
        state = self._state
        check_storable(table, table_text(table), state)
        found = state.having(tables={**state.tables, table.name: table})
        state.reinstall(found, arriving=arriving({table.name: pages}))

    def add_xquery(
        self,
        definition: XQueryDef,
        tables: Sequence[TableDef],
        rows: Mapping[str, list[Row]],
        strict: bool | None,
    ) -> None:
        state = self._state
        found = state.having(
            tables={**state.tables, **{table.name: table for table in tables}},
            xqueries={**state.xqueries, definition.name: definition},
        )
        declared = found.declarations()
        with _told(definition):
            for view in definition.views:
                found.views = found.views.having(compiled(view, declared, constraint=False))
                judge(found.views[view.name], strict)
            for check in definition.checks:
                found.views = found.views.having(compiled(check, declared, constraint=True))
        for table in tables:
            check_storable(table, table_text(table), found)
        for view in (*definition.views, *definition.checks):
            check_storable(view, view_text(view, found), found)

        def are_empty(engine: SparkEngine) -> None:
            for check in definition.checks:
                if some_rows(engine, check):
                    raise not_empty(definition, check.name)

        try:
            state.reinstall(found, are_empty, arriving(rows))
        except UNDEFINED as error:
            raise QueryError(
                f"{definition.name} cannot be computed from the rows in its tables: {error}", hint=EXCLUDE
            ) from error

    def drop_xquery(self, definition: XQueryDef, tables: Sequence[str]) -> None:
        state, views = self._state, self._state.views
        for view in (*definition.views, *definition.checks):
            views = views.without(view.name)
        state.reinstall(
            state.having(
                {name: table for name, table in state.tables.items() if name not in tables},
                views,
                {name: query for name, query in state.xqueries.items() if name != definition.name},
            )
        )

    def pages(self, document: str) -> Stored:
        held = self._state.running.held(PAGES + document)
        known = self._known.get(document)
        if known is None or known[0] is not held:
            rows = held.by_key
            starts = [start for (start,) in rows]
            check_first(document, starts)
            known = self._known[document] = held, Stored(starts, lambda start: rows[(start,)][1])
        return known[1]

    def follow(self, events: Iterable[RowEvent]) -> None:
        """A state has the pages that belong to it."""

    def forget(self) -> None:
        self._known = {}


@contextmanager
def _told(definition: XQueryDef) -> Iterator[None]:
    """What is refused is told with the paths that tables are of, not with their names."""
    try:
        yield
    except QueryError as error:
        error.what, error.hint = (_with_paths(definition, text) for text in (error.what, error.hint))
        raise


def _with_paths(definition: XQueryDef, text: str) -> str:
    for table in definition.translated.tables:
        text = text.replace(table.name, f"({table})")
    # A name may have been cut off, where a long text was.
    return re.sub(f"{HIDDEN}[^…]*…", "…", text)
