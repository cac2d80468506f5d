"""The native engine: a program's maps in C, and byte code that reads and updates them.

A value that has no word, or a number that outgrows its words, moves the program to another engine for good: tables and
logs are handed over, maps are computed anew. So nobody is ever answered from a map that overflowed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nestling._native import Overflow, Unfit
from nestling.calculus.types import Scalar, Type
from nestling.engine.described import Described, Places
from nestling.engine.native.counts import Counts
from nestling.engine.native.described import NativeDescription
from nestling.engine.native.logs import LogHistory
from nestling.engine.native.lower import Lowered, lowered, machine
from nestling.engine.native.specification import Accepting, DoorSpecification
from nestling.engine.nesting import is_flat, leaves, nested, shape
from nestling.engine.protocol import Batch, Row, RowEngine
from nestling.engine.runs import summed_runs
from nestling.errors import UNDEFINED
from nestling.program.meaning import meaning
from nestling.program.statements import Program
from nestling.program.traverse import exact_columns
from nestling.values.bag import ZBag
from nestling.values.label import Label

Tables = Mapping[str, Mapping[Row, int]]
#: Notes events of a table, which logs may have to be made from.
Remember = Callable[[str, Iterable[tuple[Row, Any]]], None]
#: Makes the engine that a program moves to, over the rows that there are.
Elsewhere = Callable[[Program, Tables], RowEngine]


class NativeEngine:
    """Runs ``program`` over typed maps; raises ``Unsupported`` where it has no byte code.

    Law (17): it has the tables, maps, answers and logs of every other engine.
    """

    is_remote = has_snapshots = False

    def __init__(self, program: Program, elsewhere: Elsewhere) -> None:
        self.program, self._elsewhere = program, elsewhere
        self._code: Lowered = lowered(program)
        self._core = machine(self._code)
        self._stored = {name: layout.number for name, layout in self._code.layouts.stored.items()}
        self._waiting = [self._code.layouts.collected[name].number for name in program.deferred]
        self._watches = {n: self._stored[n] for n, decl in program.maps.items() if decl.role == "watch"}
        self._history, self._is_torn = LogHistory(program), False
        #: The engine that the program has moved to, and why.
        self.moved: RowEngine | None = None
        self.why = ""
        add, change = self._history.add, self._history.replace
        inserts, updates = self._code.inserts.items(), self._code.updates.items()
        self.triggers = {name: self._one(name, n, "triggers", add) for name, n in inserts}
        self.batches = {name: self._many(name, n, "batches", add) for name, n in inserts}
        self.updates = {name: self._one(name, n, "updates", change) for name, n in updates}
        self.update_batches = {name: self._many(name, n, "update_batches", change) for name, n in updates}
        self._load_constants()
        self._description = NativeDescription(
            self, self._core, self._code.layouts, lambda: elsewhere(program, {}).described()
        )

    def _load_constants(self) -> None:
        """Fill maps with their meaning on empty tables: an entry that depends on no row exists from the start."""
        nothing: defaultdict[str, dict[Row, int]] = defaultdict(dict)
        for name, decl in self.program.maps.items():
            if decl.role != "watch" and (constants := meaning(decl.query, nothing)):
                self.load_map(name, constants)

    @property
    def name(self) -> str:
        return "the native engine" if self.moved is None else self.moved.name

    # -- the move

    def _move(self, why: object, logs: Mapping[str, Mapping[Row, Row]] | None = None) -> RowEngine:
        """The engine that the program runs on from now on. ``logs``: what was logged, where the maps still say so."""
        if self.moved is None:
            tables = {name: self._core.entries(self._stored[name], True) for name in self.program.tables}
            found = self._history.logged(tables) if logs is None else logs
            moved = self._elsewhere(self.program, tables)
            for watch, cells in found.items():
                moved.load_map(watch, cells)
            self.moved, self.why = moved, str(why)
            self._core.close()
        return self.moved

    def _unfit(self, why: object) -> RowEngine:
        """The same where nothing was changed."""
        if self.moved is None:
            return self._move(why, {name: self._core.entries(n, False) for name, n in self._watches.items()})
        return self.moved

    # -- changes

    def _one(self, table: str, number: int, entry: str, remember: Remember) -> Callable[..., None]:
        """A trigger of one event; ``entry`` names its like in the engine that the program may move to."""
        one, is_kept = self._core.one, self._history.is_kept

        def on_event(first: Row, second: Any) -> None:
            try:
                one(number, first, second)
            except Unfit as error:
                getattr(self._unfit(error), entry)[table](first, second)
            except Overflow as error:
                remember(table, [(first, second)])
                self._move(error)
            else:
                if is_kept and self._has_logs():
                    remember(table, [(first, second)])

        return on_event

    def _many(self, table: str, number: int, entry: str, remember: Remember) -> Callable[..., None]:
        """The same of many."""
        many, is_kept = self._core.many, self._history.is_kept

        def on_events(changes: Iterable[tuple[Row, Any]]) -> None:
            pairs = tuple(changes)
            try:
                many(number, pairs)
            except Unfit as error:
                getattr(self._unfit(error), entry)[table](pairs)
            except Overflow as error:
                remember(table, pairs)
                self._move(error)
            else:
                if is_kept and self._has_logs():
                    remember(table, pairs)

        return on_events

    # -- rows as users give them

    def door(self, specification: DoorSpecification) -> int:
        """The number of a door, which ``accept`` takes."""
        return self._core.door(specification.numbered(self._code.inserts, self._stored))

    def accepting(self, door: int, table: str) -> Accepting:
        """Takes rows, a list or a stream of Arrow in its capsule, that come (1) or go (-1).

        How many these were, all of them, which the list has then, rows as one tuple and columns as words; None where
        they are for others. What it raises leaves the tables as they were, but not the maps.
        """
        accept, history = self._core.accept, self._history

        def accepting(rows: Any, times: int, taken: list[Any]) -> int | None:
            try:
                count: int | None = accept(door, rows, times, taken)
            except Unfit:
                return None
            except Overflow as error:
                found = taken[0] = self.taken(door, taken[0])
                history.add(table, [(row, times) for row in found])
                self._move(error)
                return len(found)
            if history.is_kept and count and self._has_logs():
                history.add(table, [(row, times) for row in self.taken(door, taken[0])])
            return count

        return accepting

    def taken(self, door: int, rows: Any) -> tuple[Row, ...]:
        """The rows that a door took last."""
        return self._core.decoded(door, rows) if isinstance(rows, bytes) else rows

    def _has_logs(self) -> bool:
        """Whether something is logged; where nothing is, what came before need not be remembered."""
        found = any(map(self._core.size, self._watches.values()))
        if not found:
            self._history.clear()
        return found

    def apply(self, table: str, row: Row, times: int) -> None:
        self.triggers[table](row, times)

    def apply_batch(self, changes: Batch) -> None:
        events = [(table, row, times) for table, rows in changes.items() for row, times in rows]
        for run in summed_runs(events, self.program.tables):
            run.apply(self)

    # -- what waits, and what has no value

    @property
    def is_torn(self) -> bool:
        return self._is_torn if self.moved is None else self.moved.is_torn

    def flush(self) -> None:
        """Propagate deferred changes; if one is undefined, recompute the maps."""
        if self.moved is not None:
            self.moved.flush()
            return
        if not self._is_torn and any(map(self._core.size, self._waiting)):
            self._is_torn = True
            try:
                self._core.run(self._code.settle, ())
                self._is_torn = False
            except UNDEFINED:
                pass
            except Overflow as error:
                self._move(error).flush()
                return
        if self._is_torn:
            self.recompute()

    def check(self) -> None:
        if self.is_torn:
            self.flush()

    def recompute(self) -> None:
        """Compute every map from the tables. An undefined one, and what waits then, stays empty."""
        if self.moved is not None:
            self.moved.recompute()
            return
        self._is_torn, failed = True, None
        tables = {name: self.table(name) for name in self.program.tables}
        for name, decl in self.program.maps.items():
            if decl.role != "watch":
                try:
                    self.load_map(name, meaning(decl.query, tables))
                except UNDEFINED as error:
                    self.load_map(name, {})
                    failed = error
        if self.moved is not None:
            self.moved.recompute()
            return
        for number in self._waiting:
            self._core.clear(number)
        if failed is not None:
            for name in self.program.deferred:
                self.load_map(name, {})
            raise failed
        self._is_torn = False

    # -- rows

    def table(self, name: str) -> dict[Row, int]:
        return self._entries(name, True) if self.moved is None else self.moved.table(name)

    def _entries(self, name: str, as_count: bool) -> dict[Row, Any]:
        return self._core.entries(self._stored[name], as_count)

    def by_key(self, table: str, key: Row) -> Row | None:
        if self.moved is not None:
            return self.moved.by_key(table, key)
        try:
            row: Row | None = self._core.row(self._stored[table], key)
        except Unfit:
            # It may equal one that has a word.
            return next(iter(self.having(table, self.program.tables[table].key, key)), None)
        return row

    def count(self, table: str, row: Row) -> int:
        if self.moved is not None:
            return self.moved.count(table, row)
        try:
            return self._core.count(self._stored[table], row)
        except Unfit:
            return self.table(table).get(row, 0)

    def counts(self, table: str) -> Mapping[Row, int]:
        return Counts(self, table) if self.moved is None else self.moved.counts(table)

    def rows(self, table: str) -> Iterable[Row]:
        return self.table(table)

    def under(self, dictionary: str, label: Label) -> dict[Row, int]:
        if self.moved is not None:
            return self.moved.under(dictionary, label)
        index = self._code.layouts.stored[dictionary].patterns.index((0,))
        rows = self._core.slice(self._stored[dictionary], index, (label,))
        return {row[1:]: times for row, times in rows.items()}

    def having(self, table: str, places: Places, part: Row) -> dict[Row, int]:
        rows = self.table(table).items()
        return {row: times for row, times in rows if tuple([row[i] for i in places]) == part}

    def prefetch(self, table: str, places: Places, parts: Iterable[Row]) -> None:
        """Nothing is far away."""

    # -- put in place

    def load_table(self, name: str, rows: Mapping[Row, int]) -> None:
        self._load(name, rows, lambda engine: engine.load_table(name, rows))

    def load_map(self, name: str, cells: Mapping[Row, tuple[Any, ...]]) -> None:
        if self.moved is None:
            self._core.clear(self._stored[name])
        self._load(name, cells, lambda engine: engine.load_map(name, cells))

    def take(self, name: str, other: NativeEngine, called: str) -> bool:
        """Have a table or map be the one of ``other`` that is ``called`` so. Whether it could be done as it is."""
        if self.moved is not None or other.moved is not None:
            return False
        try:
            return self._core.take(self._stored[name], other._core, other._stored[called])
        except Unfit:
            return False

    def _load(self, name: str, entries: Mapping[Row, Any], otherwise: Callable[[RowEngine], None]) -> None:
        if self.moved is None:
            try:
                self._core.load(self._stored[name], dict(entries))
                return
            except Unfit as error:
                self._unfit(error)
        assert self.moved is not None
        otherwise(self.moved)

    # -- answers

    def cells(self, name: str) -> dict[Row, tuple[Any, ...]]:
        self.flush()
        return self._entries(name, False) if self.moved is None else self.moved.cells(name)

    def _read(self, number: int, given: Row, otherwise: Callable[[RowEngine], Any]) -> list[tuple[Row, int]]:
        """What a plan emits; ``otherwise`` asks the engine that the program moves to."""
        if self.moved is None:
            try:
                rows: list[tuple[Row, int]] = self._core.run(number, given)
                return rows
            except (Unfit, Overflow) as error:
                self._unfit(error)  # who reads changes nothing
        assert self.moved is not None
        return list(otherwise(self.moved))

    def flat_rows(self, view: str) -> list[tuple[Row, int]]:
        self.flush()
        return self._read(self._code.rows[view], (), lambda engine: engine.flat_rows(view))

    def read(self, view: str) -> ZBag:
        return self._nested_all(view, self.flat_rows(view), self.program.views[view].element)

    def find(self, view: str, first: Any) -> ZBag:
        self.flush()
        if self.moved is not None:
            return self.moved.find(view, first)
        try:
            rows = self._core.run(self._code.lookups[view], (first,))
        except (Unfit, Overflow):
            rows = [(row, times) for row, times in self.flat_rows(view) if row[0] == first]
        return self._nested_all(view, rows, self.program.views[view].element)

    def _nested_all(self, view: str, rows: Iterable[tuple[Row, int]], element: Type) -> ZBag:
        if is_flat(element):
            return ZBag(rows)
        return ZBag((self.nested(view, row, element), times) for row, times in rows)

    def texts(self, view: str) -> list[Any]:
        rows = self._read(self._code.rows[view], (), lambda engine: [((t,), 1) for t in engine.texts(view)])
        return [row[0] for row, _ in rows]

    def nested(self, view: str, columns: Row, type_: Type) -> Any:
        if isinstance(type_, Scalar):
            return columns[0]

        def bag(label: Label, element: Type) -> ZBag:
            return self._nested_all(view, self.rows_under(view, label), element)

        return nested(iter(columns), type_, bag)

    def rows_under(self, view: str, label: Label) -> Iterable[tuple[Row, int]]:
        if isinstance(label.site, int):
            self.flush()
            given = tuple(leaves(label.environment))
            number = self._code.bags[view, shape(label)]
            return self._read(number, given, lambda engine: engine.rows_under(view, label))
        return self.under(label.site, label).items()

    def total(self, watch: str, flat: Row) -> int:
        if self.moved is not None:
            return self.moved.total(watch, flat)
        given = tuple([flat[i] for i in exact_columns(self.program.maps[watch].query)])
        rows = self._read(self._code.totals[watch], given, lambda engine: [(flat, engine.total(watch, flat))])
        return sum([times for row, times in rows if row == flat])

    # -- logs

    def has_logged(self, watch: str) -> bool:
        if self.moved is not None:
            return self.moved.has_logged(watch)
        return bool(self._core.size(self._stored[watch]))

    def logged(self, watch: str) -> dict[Row, int]:
        return self._entries(watch, True) if self.moved is None else self.moved.logged(watch)

    def drain(self, watch: str) -> dict[Row, int]:
        if self.moved is not None:
            return self.moved.drain(watch)
        found = self.logged(watch) if self.has_logged(watch) else {}
        self._core.clear(self._stored[watch])
        self._history.drained(watch)
        self._has_logs()
        return found

    def drain_all(self) -> None:
        for name in self._watches:
            self.drain(name)

    # -- what it says of itself

    def described(self) -> Described:
        return self._description if self.moved is None else self.moved.described()

    def entries(self, name: str) -> int:
        return self._core.size(self._stored[name]) if self.moved is None else self.moved.entries(name)

    def view_bytes(self, view: str) -> int:
        return (self.moved or self._description).view_bytes(view)

    def fits(self, rows: int) -> bool:
        return True  # they are here

    def differing(self, maps: Iterable[str]) -> list[str] | None:
        return None
