"""References between rows are kept good: what happens when a row goes that others refer to.

Law: at the end of every change each kept reference is nil or leads to a row. That what is written leads somewhere is
checked after each statement (``statements``); this module looks at the rows that go, once, on the state at the end of
the change: parent and children may be deleted together, in any order, a row may be replaced by one with the same key,
and an object may go to another table of its family. For a row that is gone then, ``on_delete`` of each reference says:

* ``"refuse"``: the change is refused;
* ``"nil"``: the reference becomes nil; an element of a bag of references goes;
* ``"cascade"``: what holds the reference goes too, the row, or inside a bag the element;
* ``"dangle"``: nothing; it is not kept, and reads as absent.

Who refers to a row is found by an index that is filled when a row first goes, and followed from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nestling.database.definitions import Site
from nestling.database.refused import shown_key
from nestling.database.rows import Row, RowEvent
from nestling.database.state import Holder, State
from nestling.database.statements import check_sets, is_there, where
from nestling.database.transaction import Transaction
from nestling.errors import ChangeError
from nestling.values.label import Label

#: By key the rows that refer to it, and how often each is there; of a reference that refuses, their number alone.
Index = dict[Row, Any]


class References:
    """Who refers to what. ``holder`` has the tables."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder
        self._indexes: dict[Site, Index] = {}

    @property
    def state(self) -> State:
        return self._holder._state

    def check(self, change: Transaction) -> list[RowEvent] | None:
        """Do what follows from the rows that ``change``, not committed yet, takes; refuse it where that is refused.

        The events of the change in another order, and with what follows from them: what refers to a row goes before it.
        ``None`` where they are right as they are.
        """
        objects = change.objects
        if objects.fixed:
            check_fixed(change)
        if not objects.referring:
            return None
        gone = _gone(change, change.events)
        if not gone:
            return None
        following = _Following(self, change)
        following.run(gone)
        following.check_refused()
        check_sets(objects, change.stored, change.events[following.given :])
        return following.arranged()

    def follow(self, events: Sequence[RowEvent]) -> None:
        """The change is committed."""
        for site, index in self._indexes.items():
            _add(index, site, events)

    def forget(self) -> None:
        """Look for them anew when somebody asks."""
        self._indexes = {}

    def before(self, site: Site, key: Row, change: Transaction) -> Any:
        """Who referred to ``key`` before ``change``, of which the engine may have some events."""
        engine = self.state.engine
        if engine.is_remote:
            # Nothing is kept: the rows that refer to a few keys are found by one query.
            rows = engine.having(site.flat, site.places, key)
            return sum(rows.values()) if _counts(site) else rows
        if site not in self._indexes:
            index = self._indexes[site] = {}
            _add(index, site, [RowEvent(site.flat, row, n) for row, n in engine.table(site.flat).items()])
            applied = change.events[: change.stored.base]
            _add(index, site, [RowEvent(name, row, -times) for name, row, times in applied])
        return self._indexes[site].get(key, 0 if _counts(site) else {})


def _counts(site: Site) -> bool:
    return site.reference.on_delete == "refuse"


def _key(site: Site, row: Row) -> Row:
    return tuple([row[i] for i in site.places])


def _add(index: Index, site: Site, events: Iterable[RowEvent]) -> None:
    for name, row, times in events:
        if name == site.flat:
            key = _key(site, row)
            if _counts(site):
                index[key] = index.get(key, 0) + times
            else:
                rows = index.setdefault(key, {})
                rows[row] = rows.get(row, 0) + times
                if not rows[row]:
                    del rows[row]


def _gone(change: Transaction, events: Iterable[RowEvent]) -> dict[tuple[str, Row], RowEvent]:
    """The rows that went and did not come back, by table and key; of tables that others refer to."""
    objects, program = change.objects, change.state.engine.program
    found: dict[tuple[str, Row], RowEvent] = {}
    for event in events:
        if event.times < 0 and event.table in objects.referring:
            key = tuple([event.row[i] for i in program.tables[event.table].key])
            if change.stored.by_key(event.table, key) is None:
                found[event.table, key] = event
    return found


class _Following:
    """What follows from rows that go: round by round, the rows that refer to those of the round before."""

    def __init__(self, references: References, change: Transaction) -> None:
        self.references, self.change = references, change
        self.objects = change.objects
        self.given = len(change.events)
        self.gone: dict[tuple[str, Row], RowEvent] = {}
        self._indexes: dict[Site, Index] = {}
        self._seen: dict[Site, int] = {}

    def run(self, gone: dict[tuple[str, Row], RowEvent]) -> None:
        while gone:
            self.gone |= gone
            done = len(self.change.events)
            for site, keys in self._sites(gone):
                if not _counts(site):
                    for key in keys:
                        self._follow(site, key)
            gone = _gone(self.change, self.change.events[done:])

    def _sites(self, gone: Iterable[tuple[str, Row]]) -> list[tuple[Site, list[Row]]]:
        """The references to rows that are gone, with their keys; one that moved in its family is still there."""
        keys: dict[Site, list[Row]] = {}
        for table, key in gone:
            for site in self.objects.referring[table]:
                if not is_there(self.objects, self.change.stored, site.reference.table, key):
                    keys.setdefault(site, []).append(key)
        if self.change.state.engine.is_remote:
            for site, found in keys.items():
                self.change.stored.prefetch(site.flat, site.places, found)
        return list(keys.items())

    def _now(self, site: Site, key: Row) -> Any:
        """Who refers to ``key`` now."""
        index, events = self._indexes.setdefault(site, {}), self.change.events
        seen, self._seen[site] = self._seen.get(site, 0), len(events)
        _add(index, site, events[seen:])
        before = self.references.before(site, key, self.change)
        if _counts(site):
            return before + index.get(key, 0)
        rows = dict(before)
        for row, times in index.get(key, {}).items():
            rows[row] = rows.get(row, 0) + times
        return {row: times for row, times in rows.items() if times}

    def _follow(self, site: Site, key: Row) -> None:
        change, shredder = self.change, self.change.shredder(site.owner)
        for row, times in self._now(site, key).items():
            if site.reference.on_delete == "nil" and not site.is_element:
                nil = tuple([None if i in site.places else value for i, value in enumerate(row)])
                change.events += [RowEvent(site.flat, row, -times), RowEvent(site.flat, nil, times)]
            elif site.flat == site.owner:
                change.events += shredder.deletion(row, times, change.stored)
            else:
                inside = shredder.deletion(row[1:], times, change.stored)[1:]
                change.events += [RowEvent(site.flat, row, -times), *inside]

    def check_refused(self) -> None:
        """Refuse the change if a row is gone that another still refers to and that was to stay."""
        for site, keys in self._sites(self.gone):
            for key in keys:
                if _counts(site) and self._now(site, key) > 0:
                    raise referred(site, key, self._referring(site, key))

    def _referring(self, site: Site, key: Row) -> str:
        stored = self.change.stored
        rows = (row for row in stored.table(site.flat) if _key(site, row) == key)
        return next((where(stored, self.objects, site, row) for row in rows), "")

    def arranged(self) -> list[RowEvent] | None:
        """All events: rows that are gone at the end, the rows that refer to others before these."""
        events = self.change.events
        last = {(event.table, event.row): i for i, event in enumerate(events) if event.times < 0}
        starts = {last[event.table, event.row]: table for (table, _), event in self.gone.items()}
        if len(events) == self.given and not self._is_late(min(starts)):
            return None
        moved: dict[int, list[RowEvent]] = {}
        for start in starts:
            moved[start] = events[start : _end_of_row(events, start)]
        taken = {start + i for start, group in moved.items() for i in range(len(group))}
        order = sorted(moved, key=lambda start: (-self.objects.ranks[starts[start]], start))
        stay = [event for i, event in enumerate(events) if i not in taken]
        return [*stay, *(event for start in order for event in moved[start])]

    def _is_late(self, first: int) -> bool:
        """Whether something that may refer to a row goes after the first of these."""
        return any(
            times < 0 and table in self.objects.sites for table, _, times in self.change.events[first + 1 :]
        )


def _end_of_row(events: Sequence[RowEvent], start: int) -> int:
    """Where the events end by which a row goes with all that its bags hold: these have its labels, or labels below."""
    labels = {value for value in events[start].row if isinstance(value, Label)}
    end = start + 1
    while end < len(events) and events[end].times < 0 and events[end].row[0] in labels:
        labels |= {value for value in events[end].row[1:] if isinstance(value, Label)}
        end += 1
    return end


def check_fixed(change: Transaction) -> None:
    """Refuse new values in columns that are fixed, in rows that stay."""
    objects, program = change.objects, change.state.engine.program
    sums: dict[str, dict[Row, int]] = {}
    for table, row, times in change.events:
        if table in objects.fixed:
            rows = sums.setdefault(table, {})
            rows[row] = rows.get(row, 0) + times
    for table, rows in sums.items():
        places = program.tables[table].key
        old = {tuple([row[i] for i in places]): row for row, times in rows.items() if times < 0}
        for row in (row for row, times in rows.items() if times > 0):
            key = tuple([row[i] for i in places])
            if key in old:
                check_same(change.state, table, old[key], row)


def check_same(state: State, table: str, old: Row, new: Row) -> None:
    """Refuse a row whose fixed columns are others than before."""
    for place in state.objects.fixed[table]:
        if old[place] != new[place]:
            column = state.engine.program.tables[table].columns[place].name.removeprefix(f"{table}.")
            key = tuple([new[i] for i in state.engine.program.tables[table].key])
            raise ChangeError(
                f"{column} of {table} {shown_key(key)} is fixed",
                hint="delete the row and insert another, in two changes",
            )


def referred(site: Site, key: Row, at: str = "") -> ChangeError:
    """The refusal to take a row that another refers to."""
    return ChangeError(
        f"the row with key {shown_key(key)} of {site.reference.table} is referred to by"
        f" {site.owner}{at} ({site.reference.text})",
        hint=f"delete or change the rows of {site.owner} first, or in the same transaction",
    )
