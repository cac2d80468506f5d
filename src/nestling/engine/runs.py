"""Events as a row engine runs them: rows of one table together, updates as updates, and each row beside its parents.

A row that takes the place of one with its key is one update. Triggers rely on rows that come parents first and go
children first, as ``program/kept`` says; the events of a change may be in another order, and then what they come to is
run: what comes, what changes, what goes.

A key that goes and comes again with other values in ``fixed`` columns is another row: events in which that happens are
not to be summed (``replaces`` tells).

Law: after the runs of some events a table has the rows that it would have after the events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from nestling.engine.protocol import Row, RowEngine
from nestling.program.kept import parents_first
from nestling.program.statements import TableDecl

Tables = Mapping[str, TableDecl]
Event = tuple[str, Row, int]
#: By table and key, the row that went first.
Gone = dict[tuple[str, Row], Row]


class Run(NamedTuple):
    """Rows of a table and how often each comes; or, of ``updates``, pairs of an old and a new row."""

    table: str
    pairs: list[tuple[Row, Any]]
    updates: bool = False

    def apply(self, engine: RowEngine) -> None:
        """Have ``engine`` run it."""
        if len(self.pairs) == 1:
            (engine.updates if self.updates else engine.triggers)[self.table](*self.pairs[0])
        elif self.updates:
            engine.update_batches[self.table](self.pairs)
        else:
            engine.batches[self.table](self.pairs)

    def undo(self, engine: RowEngine) -> None:
        """Have ``engine`` run the opposite."""
        if self.updates:
            engine.update_batches[self.table]([(new, old) for old, new in reversed(self.pairs)])
        else:
            engine.batches[self.table]([(row, -times) for row, times in reversed(self.pairs)])

    def events(self) -> Iterator[Event]:
        """It as events."""
        for first, second in self.pairs:
            if self.updates:
                yield self.table, first, -1
                yield self.table, second, 1
            else:
                yield self.table, first, second


def runs(events: Sequence[Event], tables: Tables) -> Iterator[Run]:
    """``events`` in runs."""
    if len(events) == 1:
        table, row, times = events[0]
        yield Run(table, [(row, times)])
        return
    found = [
        run
        for table, group in groupby(events, itemgetter(0))
        for run in _paired(table, [(row, times) for _, row, times in group], tables[table].key)
    ]
    yield from summed_runs(events, tables) if _is_out_of_order(found, tables) else found


def summed_runs(events: Iterable[Event], tables: Tables) -> Iterator[Run]:
    """What ``events`` come to: rows that come, parents first; that change; and that go, children first."""
    totals: dict[str, dict[Row, int]] = {}
    for table, row, times in events:
        total = totals.setdefault(table, {})
        total[row] = total.get(row, 0) + times
    changes = {
        name: _change(totals[name], tables[name].key) for name in parents_first(tables) if name in totals
    }
    for name, (come, _, _) in changes.items():
        if come:
            yield Run(name, come)
    for name, (_, updates, _) in changes.items():
        if updates:
            yield Run(name, updates, True)
    for name, (_, _, gone) in reversed(changes.items()):
        if gone:
            yield Run(name, gone)


def replaces(events: Iterable[Event], tables: Tables, gone: Gone | None = None) -> Event | None:
    """The first event by which a row comes under a key that one with other fixed columns had before.

    ``gone`` has the rows that had such keys earlier, and is added to.
    """
    gone = {} if gone is None else gone
    for event in events:
        name, row, times = event
        if fixed := tables[name].fixed:
            key = name, tuple([row[i] for i in tables[name].key])
            if times < 0:
                gone.setdefault(key, row)
            elif key in gone and any(gone[key][i] != row[i] for i in fixed):
                return event
    return None


def goes(run: Run, tables: Tables) -> bool:
    """Whether rows go that others may refer to."""
    return not run.updates and any(times < 0 for _, times in run.pairs) and bool(_children(run.table, tables))


def _is_out_of_order(found: Sequence[Run], tables: Tables) -> bool:
    """Whether a row may come after one that refers to it, or go before one."""
    if len(found) == 1:
        return False
    children = {run.table: _children(run.table, tables) for run in found}
    seen: set[str] = set()
    for run in found:
        if not run.updates and children[run.table] and (goes(run, tables) or seen & children[run.table]):
            return True
        seen.add(run.table)
    return False


def _children(parent: str, tables: Tables) -> set[str]:
    return {decl.name for decl in tables.values() for _, to in decl.references if to == parent}


def _paired(table: str, pairs: list[tuple[Row, int]], key: Sequence[int]) -> Iterator[Run]:
    """Rows of one table in runs; an old row and the one that takes its place follow each other."""
    if not key or not any(times < 0 for _, times in pairs):
        yield Run(table, pairs)
        return
    rows: list[tuple[Row, int]] = []
    updates: list[tuple[Row, Row]] = []
    at, end = 0, len(pairs)
    while at < end:
        row, times = pairs[at]
        after = pairs[at + 1] if at + 1 < end else (row, 0)
        if times == -1 and after[1] == 1 and all(row[i] == after[0][i] for i in key):
            if rows:
                yield Run(table, rows)
                rows = []
            updates.append((row, after[0]))
            at += 2
        else:
            if updates:
                yield Run(table, updates, True)
                updates = []
            rows.append((row, times))
            at += 1
    if rows or updates:
        yield Run(table, rows or updates, not rows)


Changes = tuple[list[tuple[Row, int]], list[tuple[Row, Row]], list[tuple[Row, int]]]


def _change(total: Mapping[Row, int], key: Sequence[int]) -> Changes:
    """The rows that come, those that take the place of others, and those that go."""
    come = [(row, times) for row, times in total.items() if times > 0]
    gone = [(row, times) for row, times in total.items() if times < 0]
    if not key or not come or not gone:
        return come, [], gone
    new = {tuple([row[i] for i in key]): row for row, _ in come}
    updates = [(row, new.pop(at)) for row, _ in gone if (at := tuple([row[i] for i in key])) in new]
    changed = {row for pair in updates for row in pair}
    return (
        [(row, times) for row, times in come if row not in changed],
        updates,
        [(row, times) for row, times in gone if row not in changed],
    )
