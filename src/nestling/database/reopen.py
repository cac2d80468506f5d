"""Restoring a state from its file; contents that no accepted change could have left are rejected.

Law: whatever a file with valid checksums contains, opening it gives the state that it describes, or a ``StoreError``.
A row of a file has the columns, sizes and key that an inserted one has; a change does what could be done when it was
made; a label names the bag of one row, and no bag is without its row. Maps have the keys and the numbers that their
queries can have; that these are the right ones, ``verify`` says.

What is no matter of form is not asked here, for a file must open to be mended: references that lead nowhere, which
older versions let stand (``dangling``), and constraints, which refuse the next change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

from nestling.calculus.types import LABEL
from nestling.database.fitting import key_checks, measure_checks, misfit
from nestling.database.maps import LATER, MADE, MAP, NEXT, TABLE, WAITING, map_name
from nestling.database.row_state import RowState
from nestling.database.rows import Row, RowEvent
from nestling.database.stored_tables import LabelColumn, StoredTable, stored_tables
from nestling.engine.nesting import leaves, shape
from nestling.engine.protocol import RowEngine
from nestling.engine.runs import Run, runs
from nestling.errors import StoreError
from nestling.storage.codec import decode, decode_all
from nestling.values.label import Label

#: The texts of keys and of payloads, in turn.
Chunks = Iterable[tuple[str, Sequence[str]]]
#: Keys and payloads.
Entries = tuple[list[Any], list[Any]]
#: What a trigger may raise on numbers that do not go together.
UNFIT = (ArithmeticError, TypeError, ValueError, LookupError)


class Reopening:
    """Brings ``state``, whose tables and views are defined, to where a file is."""

    def __init__(self, state: RowState) -> None:
        self.state = state
        self.tables = stored_tables(state.tables.values())
        #: The labels of the bags that rows have, by their dictionary.
        self.held: dict[str, set[Label]] = {name: set() for name in self.tables}
        #: Those that two rows have while a change is made again.
        self.twice: set[tuple[str, Label]] = set()
        self.next_number = 0

    # -- the snapshot

    def snapshot(self, chunks: Chunks) -> None:
        """Tables, then the maps of the engine, then views that are refreshed later."""
        contents = self._contents(chunks)
        for name in self.tables:
            self._load_table(name, contents.get(TABLE + name, ([], [])))
        self._check_numbers(contents)
        if not contents:
            return
        maps = {name: map_name(decl) for name, decl in self.state.engine.program.maps.items()}
        if all(MADE + stored in contents for stored in maps.values()):
            for name, stored in maps.items():
                _load_map(self.state.engine, name, contents.get(stored, ([], [])))
        else:
            # Another version of Nestling keeps other maps for the same views.
            self.state.rebuild()
        for name in list(self.state.views):
            if WAITING + name in contents:
                self._restore_later(name, contents)

    def _contents(self, chunks: Chunks) -> dict[str, Entries]:
        contents: dict[str, Entries] = {}
        last = ""
        for name, texts in chunks:
            if name in contents and name != last:
                raise StoreError(f"it has {name!r:.60} twice")
            keys, payloads = contents.setdefault(name, ([], []))
            keys += decode_all(texts[::2])
            payloads += decode_all(texts[1::2])
            last = name
        self._check_names(contents)
        return contents

    def _check_names(self, names: Iterable[str]) -> None:
        """Every name is of something defined; of maps, which other versions keep others of, it has the form."""
        later = tuple(f"{LATER}{view} {MAP}" for view in self.state.views)
        for name in names:
            known = (
                name == NEXT
                or name.removeprefix(TABLE) in self.tables
                or name.removeprefix(WAITING) in self.state.views
                or name.startswith((MAP, MADE + MAP))
                or name.startswith(later)
            )
            if not known:
                raise StoreError(f"it has {name!r:.60}, which is defined nowhere")

    def _load_table(self, name: str, entries: Entries) -> None:
        rows, times = entries
        table = self.tables[name]
        table.check(rows)
        table.check_times(rows, times)
        self._hold(table, rows)
        if table.is_inner and not self.held[name].issuperset(map(itemgetter(0), rows)):
            raise StoreError(f"{name} has elements of a bag that no row has")
        self.state.engine.load_table(name, _once(name, entries))
        if table.key and self.state.engine.entries(name) != len(rows):
            raise StoreError(f"{name} has a key twice")

    def _hold(self, table: StoredTable, rows: Sequence[Row]) -> None:
        """Note the labels of new rows."""
        for column in table.labels:
            labels = column.checked(rows)
            held = self.held[column.site]
            before = len(held)
            held.update(labels)
            if len(held) != before + len(labels):
                raise StoreError(f"two rows have one bag of {column.site}")
            self.next_number = max(self.next_number, column.beyond(labels))

    def _take(self, column: LabelColumn, row: Row) -> None:
        """Note the label of a row that comes. Until the change ends, one that goes may have it too: what comes is run
        first where rows refer to each other."""
        [label] = column.checked((row,))
        held, at = self.held[column.site], (column.site, label)
        if at in self.twice:
            raise StoreError(f"two rows have one bag of {column.site}")
        if label in held:
            self.twice.add(at)
        held.add(label)
        self.next_number = max(self.next_number, column.beyond([label]))

    def _check_numbers(self, contents: dict[str, Entries]) -> None:
        """The number of the next label without a key; a file of an earlier version does not say it."""
        if NEXT not in contents:
            return
        [*keys], [*payloads] = contents[NEXT]
        if keys != [0] or type(payloads[0]) is not int or not self.next_number <= payloads[0] < 1 << 62:
            raise StoreError("the number of its next label is one that a label has")
        self.next_number = payloads[0]

    # -- the log

    def replay(self, text: str) -> None:
        """Make a change that was made before."""
        events = self.events(text)
        touched: set[tuple[str, Label]] = set()
        for run in runs(events, self.state.engine.program.tables):
            for pair in run.pairs:
                self._apply(Run(run.table, [pair], run.updates), touched)
        for name, _ in self.twice:
            raise StoreError(f"two rows have one bag of {name}")
        for name, label in touched:
            if label not in self.held[name] and self.state.engine.under(name, label):
                raise StoreError(f"it leaves elements in a bag of {name} that no row has")
        self.state.committed(events)

    def events(self, text: str) -> list[RowEvent]:
        """What an entry of the log says."""
        entry = decode(text)
        if type(entry) is not tuple or not all(type(e) is tuple and len(e) == 3 for e in entry):
            raise StoreError("it is no list of events")
        events = [RowEvent(*event) for event in entry]
        for name, row, times in events:
            if type(name) is not str or name not in self.tables:
                raise StoreError(f"it is of a table {name!r:.60}, which is defined nowhere")
            self.tables[name].check_one(row)
            if type(times) is not int or not times:
                raise StoreError(f"a row of {name} comes {times!r:.40} times")
        return events

    def _apply(self, run: Run, touched: set[tuple[str, Label]]) -> None:
        """Apply one row that comes or goes, or one that takes the place of another."""
        freed: Row | None = None
        for _, row, times in run.events():
            self._check(self.tables[run.table], row, times, freed, touched)
            freed = self.tables[run.table].key_of(row) if times < 0 else None
        try:
            run.apply(self.state.engine)
        except UNFIT as error:  # it was applied once; now the maps that it meets are not those it met
            raise StoreError(f"a row of {run.table} cannot be applied to what is stored: {error}") from error

    def _check(
        self, table: StoredTable, row: Row, times: int, freed: Row | None, touched: set[tuple[str, Label]]
    ) -> None:
        """Whether a row can come or go; the key ``freed`` is not taken any more."""
        name, engine = table.name, self.state.engine
        before = engine.count(name, row)
        after = before + times
        taken = table.key and not before and table.key_of(row) != freed
        taken = taken and engine.by_key(name, table.key_of(row)) is not None
        if after < 0 or (table.key and (after > 1 or taken)):
            why = "goes that is not there" if after < 0 else "comes whose key is taken"
            raise StoreError(f"a row of {name} {why}: {row!r:.60}")
        for column in table.labels if not before or not after else ():
            at = column.site, row[column.place]
            if not before:
                self._take(column, row)
            if not after:
                if at in self.twice:
                    self.twice.discard(at)
                else:
                    self.held[column.site].discard(at[1])
                touched.add(at)
        if table.is_inner:
            touched.add((name, row[0]))

    # -- views that are refreshed later

    def _restore_later(self, name: str, contents: dict[str, Entries]) -> None:
        """Bring such a view to where it was; if it kept other maps, it starts from the tables when it is read."""
        (first, *changes), (kept, *times) = contents[WAITING + name]
        if first != () or type(kept) is not tuple or not all(type(each) is str for each in kept):
            raise StoreError(f"the pending changes of {name} do not say of which maps")
        if not self.state.has_own_engine(name):
            return  # another version of Nestling had a program for it
        later = self.state.started_later(name)
        maps = {own: map_name(d) for own, d in later.engine.program.maps.items()}
        if not set(maps.values()) <= set(kept):
            return
        found = {own: contents.get(f"{LATER}{name} {stored}", ([], [])) for own, stored in maps.items()}
        for own, entries in found.items():
            _check_map(later.engine, own, entries)
        self._check_pending(name, later.reads, changes, times)
        cells = {own: _once("a map", entries) for own, entries in found.items()}
        pending = _once("what waits", (changes, times))
        with _going_together():
            self.state.restore_later(name, cells, pending)

    def _check_pending(self, name: str, reads: frozenset[str], changes: list[Any], times: list[Any]) -> None:
        """What waits for a view was made of the tables: taken from them, it leaves rows of theirs."""
        keys: dict[str, set[Row]] = {}
        for change, count in zip(changes, times, strict=True):
            if type(change) is not tuple or len(change) != 2 or change[0] not in reads:
                raise StoreError(f"a pending change of {name} is no row of a table that it reads")
            table, row = self.tables[change[0]], change[1]
            table.check_one(row)
            if type(count) is not int or not count:
                raise StoreError(f"a pending change of {name} has the multiplicity {count!r:.40}")
            seen = self.state.engine.count(table.name, row) - count
            if seen < 0 or (table.key and seen > 1):
                raise StoreError(f"the pending changes of {name} are not those of {table.name}")
            if table.key and seen and count < 0:
                self._check_key(name, table, row, changes, keys.setdefault(table.name, set()))

    def _check_key(self, name: str, table: StoredTable, row: Row, changes: list[Any], keys: set[Row]) -> None:
        """The row that a view still has is the only one with its key that it has."""
        key = table.key_of(row)
        now = self.state.engine.by_key(table.name, key)
        if key in keys or (now is not None and (table.name, now) not in changes):
            raise StoreError(f"the pending changes of {name} give {table.name} a key twice")
        keys.add(key)


def _load_map(engine: RowEngine, name: str, entries: Entries) -> None:
    """Put the entries of a map where they belong, if they are such as its query can have."""
    _check_map(engine, name, entries)
    cells = _once("a map", entries)
    with _going_together():
        engine.load_map(name, cells)


def _check_map(engine: RowEngine, name: str, entries: Entries) -> None:
    keys, cells = entries
    decl = engine.program.maps[name]
    checks = key_checks([column.type for column in decl.columns])
    if bad := misfit(keys, checks) or misfit(cells, measure_checks(decl.query)):
        raise StoreError(f"no entry of a map is {bad[0]!r:.60}")
    labels = [place for place, column in enumerate(decl.columns) if column.type == LABEL]
    if labels:
        _check_labels(engine, {key[place] for key in keys for place in labels})


def _once(what: str, entries: Entries) -> dict[Any, Any]:
    """Payloads by key, if no key is there twice."""
    found = dict(zip(*entries, strict=True))
    if len(found) != len(entries[0]):
        raise StoreError(f"{what} has an entry twice")
    return found


@contextmanager
def _going_together() -> Iterator[None]:
    """Of keys that are kept in order, each must have a place among the others; types do not tell that."""
    try:
        yield
    except UNFIT as error:
        raise StoreError(f"the entries of a map do not go together: {error}") from error


def _check_labels(engine: RowEngine, labels: Iterable[Label]) -> None:
    """A label of a table has its dictionary, and one of a query its definition, which its environment fits."""
    known = {
        each: len(plan.params)
        for view in engine.program.views.values()
        for each, plan in view.definitions.items()
    }
    for label in labels:
        if isinstance(label.site, str):
            if label.site not in engine.program.tables:
                raise StoreError(f"a map has a label of {label.site!r:.60}, which is defined nowhere")
        elif known.get(shape(label)) != sum(1 for _ in leaves(label.environment)):
            raise StoreError(f"no bag of a view has the label {label!r:.60}")
