"""Views that are refreshed when they are read.

A lazy view has an engine of its own, and the changes it has not seen yet. They are summed before they are run, so that
what came and went between two reads costs nothing.

Law (9): when it is read, a lazy view answers what an eager one would.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nestling.database.rows import Event, Row
from nestling.engine.local.engine import LocalEngine
from nestling.program.statements import TableDecl
from nestling.program.traverse import inputs
from nestling.transform.lower import FlatView
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.storing import Store, Storing


class LazyView:
    """One lazy view."""

    def __init__(
        self, name: str, view: FlatView, tables: Mapping[str, TableDecl], store: Store | Storing
    ) -> None:
        queries = [view.rows, *(definition.query for definition in view.definitions.values())]
        read = frozenset().union(*(inputs(query) for query in queries))
        # A row that is passed on whole is read with its inner bags, which no query mentions.
        below = (name for name in tables if any(name.startswith(f"{outer}.") for outer in read))
        self.reads = read.union(below)
        self.engine = LocalEngine(compile_views(tables, {name: view}, store={name: store}))
        self._pending: dict[tuple[str, Row], int] = {}

    def note(self, events: Iterable[Event]) -> None:
        """Remember changes for the next read."""
        for table, row, times in events:
            key = (table, row)
            total = self._pending.get(key, 0) + times
            if total:
                self._pending[key] = total
            else:
                del self._pending[key]

    def fresh(self) -> LocalEngine:
        """The engine, with all changes seen; what is removed goes first, so that a key may come again."""
        pending, self._pending = self._pending, {}
        for (table, row), times in sorted(pending.items(), key=lambda entry: entry[1]):
            self.engine.apply(table, row, times)
        return self.engine

    @property
    def waiting(self) -> int:
        """How many changes have not been run yet."""
        return len(self._pending)
