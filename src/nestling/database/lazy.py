"""Views that are refreshed when they are read.

A lazy view has its own engine and pending changes. These are summed before they are applied, so that a row inserted
and deleted between two reads costs nothing. A commit applies them too if the view has subscribers.

Law (9): a reading of a lazy view gives the answer of an eager one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter

from nestling.database.rows import Row, RowEvent
from nestling.engine.protocol import Engines, RowEngine
from nestling.engine.runs import Gone, replaces, summed_runs
from nestling.program.flat import Query
from nestling.program.statements import Program, TableDecl
from nestling.program.traverse import inputs
from nestling.transform.lower import FlatView
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.storing import Store, Storing

Rows = Mapping[Row, int]
Pending = dict[tuple[str, Row], int]


class LazyView:
    """One lazy view."""

    def __init__(
        self,
        engines: Engines,
        name: str,
        view: FlatView,
        tables: Mapping[str, TableDecl],
        store: Store | Storing,
        guards: Mapping[str, FlatView] | None = None,
    ) -> None:
        self.engines, self.name, self.tables, self.store = engines, name, tables, store
        self.views = {name: view, **(guards or {})}
        read = frozenset().union(*(inputs(query) for v in self.views.values() for query in v.queries))
        # A row that is passed on whole is read with its inner bags, which no query mentions.
        below = (name for name in tables if any(name.startswith(f"{outer}.") for outer in read))
        self.reads = read.union(below)
        self.pending: Pending = {}
        #: Rows with fixed columns that went meanwhile.
        self.gone: Gone = {}
        #: Whether a refresh was cut off, or a row replaced by another: then it starts anew from the tables.
        self.torn = False
        self.engine = engines.empty(self._program({}))

    def _program(self, logs: Mapping[str, Query]) -> Program:
        return compile_views(self.tables, self.views, logs, dict.fromkeys(self.views, self.store))

    def load(self, tables: Mapping[str, Rows]) -> None:
        """Start from rows: the maps are computed from them."""
        for name in self.reads:
            self.engine.load_table(name, tables[name])
        self.engines.fill_maps(self.engine, self.engine.program.maps)

    def restore(
        self, tables: Mapping[str, Rows], maps: Mapping[str, Mapping[Row, Row]], pending: Pending
    ) -> None:
        """Start from where it was: it had not seen what is ``pending``, and its maps held this."""
        seen = {name: dict(tables[name]) for name in self.reads}
        for (table, row), times in pending.items():
            seen[table][row] = seen[table].get(row, 0) - times
        for name, rows in seen.items():
            self.engine.load_table(name, {row: times for row, times in rows.items() if times})
        for name, cells in maps.items():
            self.engine.load_map(name, cells)
        self.pending = dict(pending)
        first_gone = sorted(((*change, times) for change, times in pending.items()), key=itemgetter(2))
        self.torn = replaces(first_gone, self.tables, self.gone) is not None

    def watch(self, logs: Mapping[str, Query]) -> None:
        """Log what changes in these queries from now on."""
        self.engine = self.engines.filled(self._program(logs), self.fresh())

    def note(self, events: Iterable[RowEvent]) -> None:
        """Remember changes for the next read."""
        self.torn, torn = True, self.torn
        events = [event for event in events if event[0] in self.reads]
        torn = torn or replaces(events, self.tables, self.gone) is not None
        for table, row, times in events:
            key = (table, row)
            total = self.pending.get(key, 0) + times
            if total:
                self.pending[key] = total
            else:
                del self.pending[key]
        self.torn = torn

    def fresh(self) -> RowEngine:
        """The engine, with all changes seen; however often a row was updated, it changes once."""
        if self.pending:
            self.torn = True
            waiting = [(table, row, times) for (table, row), times in self.pending.items()]
            for run in summed_runs(waiting, self.tables):
                run.apply(self.engine)
            self.pending, self.gone, self.torn = {}, {}, False
        return self.engine

    @property
    def waiting(self) -> int:
        """How many changes have not been run yet."""
        return len(self.pending)
