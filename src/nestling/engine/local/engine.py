"""The embedded engine: dictionaries, and the generated functions that read and update them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property, partial
from typing import Any

from nestling.calculus.types import Scalar, Type
from nestling.engine.local import sizes
from nestling.engine.local.codegen import bag_function
from nestling.engine.local.decimals import meets_decimals
from nestling.engine.local.described import LocalDescription
from nestling.engine.local.functions import Functions, OnDemand
from nestling.engine.local.helpers import helpers
from nestling.engine.local.inorder import InOrder
from nestling.engine.local.loading import (
    load_cells,
    load_rows,
    make_index,
    put_row,
    read_cells,
    take_over,
    take_slices,
)
from nestling.engine.local.storage import Store, look_ups, stores
from nestling.engine.local.unique import counted_once, unique_keys
from nestling.engine.nesting import is_flat, leaves, nested, shape
from nestling.engine.protocol import Batch
from nestling.engine.python.terms import namespace
from nestling.engine.ranges import ranged
from nestling.engine.runs import summed_runs
from nestling.errors import UNDEFINED
from nestling.program.flat import Shape
from nestling.program.meaning import meaning
from nestling.program.statements import Program
from nestling.program.traverse import exact_columns
from nestling.quoting import identifier
from nestling.values.bag import ZBag
from nestling.values.exact import exact_rows, exactly, exactly_alone
from nestling.values.label import Label

Row = tuple[Any, ...]


class LocalEngine:
    """Runs ``program`` over dictionaries of its own.

    Law (8): after any rows, every map equals the meaning of its query on the tables.
    """

    #: Rows are here, and each is looked up by itself.
    is_remote = has_snapshots = False
    name = "the embedded engine"
    why_not_native = ""  #: why the program has no byte code, where one was asked for

    def __init__(self, program: Program, keep_tables: bool = True, before: LocalEngine | None = None) -> None:
        """``before``: an engine whose generated functions serve here too, where they come to the same."""
        unique = unique_keys(ranged(program))
        self.program, local = program, counted_once(ranged(program), unique)
        known: dict[str, Store] = before.stores if before else {}
        written: Functions | None = before.functions if before else None
        self.stores: dict[str, Store] = stores(local, known, unique)
        stay = (name for name, store in known.items() if self.stores.get(name) is store)
        changed = (known[name] for name in known.keys() - {*stay})
        words = frozenset(word for store in changed for word in store.words)
        self.functions: Functions = Functions(local, self.stores, keep_tables, written, words)
        self.names = {**namespace(), **helpers()}
        for store in self.stores.values():
            self.names |= {name: [0] * store.width if store.is_cell else {} for name in store.dictionaries}
            self.names |= {store.index(known): defaultdict(dict) for known in store.patterns}
            self.names |= {store.index(known): InOrder() for known in store.in_order}
            self.names |= {store.index(known): None for known in store.on_demand}
        self.stored: dict[str, Any] = {
            name: self.names[store.slices or store.python] for name, store in self.stores.items()
        }
        self._waiting: list[dict[Any, Any]] = [{} for _ in program.deferred]
        for name, waiting in zip(program.deferred, self._waiting, strict=True):
            self.names[f"change_{self.stores[name].python}"] = waiting
        self._updates: list[dict[Any, Any]] = [{} for _ in program.patient]
        self.names |= {self.stores[n].waits: d for n, d in zip(program.patient, self._updates, strict=True)}
        #: Whether passing on what waits was cut off: the maps hold some of it; or some of them have no value.
        self.is_torn = False
        self.successor: LocalEngine | None = None  # without rows, made to take its place
        self.loader: LocalEngine | None = None  # what fills the maps that it lacks, made beforehand
        self._is_exact = meets_decimals(program)
        # Names are made from what a user wrote: a function is looked up, and written, once.
        self.triggers: dict[str, Callable[[Row, int], None]] = self._written("on_{}", program.tables)
        self.batches: dict[str, Callable[[Iterable[tuple[Row, int]]], None]] = self._written(
            "on_{}_batch", program.tables
        )
        self.updates: dict[str, Callable[[Row, Row], None]] = self._written("on_{}_update", program.updates)
        self.update_batches: dict[str, Callable[[Iterable[tuple[Row, Row]]], None]] = self._written(
            "on_{}_updates", program.updates
        )
        self._rows_of: dict[str, Any] = OnDemand(lambda name: self._read(f"rows_of_{identifier(name)}"))
        self._rows_with: dict[str, Any] = OnDemand(lambda name: self._read(f"rows_with_{identifier(name)}"))
        self._on_demand = {
            name: [
                (store, find.known, store.index(find.known))
                for find in look_ups(view)
                if find.known in (store := self.stores[find.source]).on_demand
            ]
            for name, view in local.views.items()
        }
        self._bag_of: dict[tuple[str, Shape], Any] = OnDemand(lambda asked: self._read(bag_function(*asked)))
        self._total_of: dict[str, tuple[Any, Any]] = OnDemand(self._reads_total)
        self._simple_bags: dict[tuple[str, int], Any] = OnDemand(self._reads_simple_bags)
        self._load_constants()

    @property
    def source(self) -> str:
        """All of the generated source."""
        return self.functions.source

    # The source is our own: what others wrote is in it as words and literals made by ``quoting``.
    # Operators on decimals follow the context of the thread; ours is exact. There is one writer at a time.

    def _written(self, called: str, tables: Collection[str]) -> dict[str, Any]:
        """The functions that run when rows of ``tables`` come, go or change."""

        def function(name: str) -> Any:
            if name not in tables:
                raise KeyError(name)
            found = self.functions.define(called.format(identifier(name)), self.names)
            return exactly_alone(found) if self._is_exact else found

        return OnDemand(function)

    def _read(self, name: str) -> Any:
        found = self.functions.define(name, self.names)
        return exact_rows(found) if self._is_exact else found

    def _reads_total(self, name: str) -> tuple[Any, Any]:
        return exact_columns(self.program.maps[name].query), self._read(f"total_of_{identifier(name)}")

    def _reads_simple_bags(self, asked: tuple[str, int]) -> Any:
        """What reads the bags of a site if their labels have one shape, in which there is no label of a query."""
        view, site = asked
        shapes = [shape for shape in self.program.views[view].definitions if shape[0] == site]
        return self._bag_of[view, shapes[0]] if len(shapes) == 1 and not any(shapes[0][1]) else None

    @cached_property
    def _settle(self) -> Callable[[], None]:
        found: Callable[[], None] = self.functions.define("settle", self.names)
        return exactly(found) if self._is_exact else found

    def prepare(self, like: LocalEngine) -> None:
        """Write the functions that were asked for of another engine."""
        self.functions.write(like.functions)

    def _load_constants(self) -> None:
        """Fill maps with their meaning on empty tables: an entry that depends on no row exists from the start."""
        nothing: defaultdict[str, dict[Row, int]] = defaultdict(dict)
        for name, decl in self.program.maps.items():
            if decl.role == "watch":
                continue
            if constants := meaning(decl.query, nothing):
                self.load_map(name, constants)

    def apply(self, table: str, row: Row, times: int) -> None:
        """Add ``row`` to ``table`` ``times`` times, and maintain every map."""
        self.triggers[table](row, times)

    def apply_batch(self, changes: Batch) -> None:
        """What the changes come to, as ``runs`` orders it."""
        events = [(table, row, times) for table, rows in changes.items() for row, times in rows]
        for run in summed_runs(events, self.program.tables):
            run.apply(self)

    def flush(self) -> None:
        """Propagate deferred changes; if one is undefined, recompute the maps."""
        if not self.is_torn and (any(self._waiting) or any(self._updates)):
            self.is_torn = True
            try:
                self._settle()
                self.is_torn = False
            except UNDEFINED:
                pass
        if self.is_torn:
            self.recompute()

    def check(self) -> None:
        """Raise an error if a map is known to be undefined."""
        if self.is_torn:
            self.flush()

    def recompute(self) -> None:
        """Compute every map from the tables. An undefined one stays empty until it is computed again.

        So do deferred ones: a trigger that looked one up would fail as well, and no row could be deleted.
        """
        self.is_torn, failed = True, None
        tables = {name: self.table(name) for name in self.program.tables}
        for name, decl in self.program.maps.items():
            if decl.role != "watch":
                try:
                    self.load_map(name, meaning(decl.query, tables))
                except UNDEFINED as error:
                    self.load_map(name, {})
                    failed = error
        for updates in self._updates:
            updates.clear()
        for name, waiting in zip(self.program.deferred, self._waiting, strict=True):
            waiting.clear()
            if failed is not None:
                self.load_map(name, {})
        if failed is not None:
            raise failed
        self.is_torn = False

    def table(self, name: str) -> dict[Row, int]:
        """The rows of a table with their multiplicities."""
        store = self.stores[name]
        stored = self.stored[store.name]
        return dict.fromkeys(stored.values(), 1) if store.key else dict(stored)

    def cells(self, name: str) -> dict[Row, tuple[Any, ...]]:
        """The entries of a map, as ``meaning`` gives them."""
        self.flush()
        return read_cells(self.stores[name], self.stored[name])

    def read(self, view: str) -> ZBag:
        """The answer of ``view``, nested."""
        self.flush()
        return self._nested_all(view, self._rows_of[view](), self.program.views[view].element)

    def flat_rows(self, view: str) -> Iterable[tuple[Row, int]]:
        """The flat rows of ``view``; a row may come more than once."""
        self.flush()
        rows: Iterable[tuple[Row, int]] = self._rows_of[view]()
        return rows

    def texts(self, view: str) -> list[Any]:
        """The elements of a view of scalars that nothing it is read from waits for."""
        return [row[0] for row, _ in self._rows_of[view]()]

    def find(self, view: str, first: Any) -> ZBag:
        """The rows of ``view`` whose first column is ``first``."""
        self.flush()
        plan = self.program.views[view]
        for store, known, index in self._on_demand[view]:
            if self.names[index] is None:
                make_index(store, known, self.names)
        return self._nested_all(view, self._rows_with[view](first), plan.element)

    def total(self, watch: str, flat: Row) -> int:
        """How often the query of ``watch`` has the row ``flat`` now, whatever was logged of it."""
        exact, find = self._total_of[watch]
        return sum([times for row, times in find(*[flat[i] for i in exact]) if row == flat])

    def drain(self, watch: str) -> dict[Row, int]:
        """What was logged for ``watch`` since it was last drained."""
        stored = self.stored[watch]
        if not stored:
            return {}
        logged = self.logged(watch)
        if self.stores[watch].is_cell:
            self.load_map(watch, {})
        else:
            stored.clear()
        return logged

    def has_logged(self, watch: str) -> bool:
        """Whether something was logged for ``watch`` since it was last drained."""
        return bool(self.stored[watch])

    def logged(self, watch: str) -> dict[Row, int]:
        """The same, which stays there."""
        store, stored = self.stores[watch], self.stored[watch]
        if store.is_cell:
            return {key: cell[0] for key, cell in self.cells(watch).items()}
        if store.arity == 1:
            return {(key,): n for key, n in stored.items() if n}
        return {key: n for key, n in stored.items() if n}

    def drain_all(self) -> None:
        """Forget what was logged."""
        for name, decl in self.program.maps.items():
            if decl.role == "watch":
                self.drain(name)

    def nested(self, view: str, columns: Row, type_: Type) -> Any:
        """A flat row of ``view`` as the value that it stands for."""
        if isinstance(type_, Scalar):
            return columns[0]
        return nested(iter(columns), type_, partial(self.bag, view))

    def bag(self, view: str, label: Label, element: Type) -> ZBag:
        """The inner bag that ``label`` names."""
        return self._nested_all(view, self.rows_under(view, label), element)

    def _nested_all(self, view: str, rows: Iterable[tuple[Row, int]], element: Type) -> ZBag:
        if is_flat(element):
            return ZBag(rows)
        return ZBag((self.nested(view, row, element), times) for row, times in rows)

    def rows_under(self, view: str, label: Label) -> Iterable[tuple[Row, int]]:
        """The flat rows of the inner bag that ``label`` names; a row may come more than once."""
        if isinstance(label.site, int):
            self.flush()
            environment = label.environment
            simple = self._simple_bags[view, label.site]
            if simple is not None and tuple not in map(type, environment):
                rows: Iterable[tuple[Row, int]] = simple(*environment)
                return rows
            found: Iterable[tuple[Row, int]] = self._bag_of[view, shape(label)](*leaves(environment))
            return found
        return self.under(label.site, label).items()

    def under(self, dictionary: str, label: Label) -> dict[Row, int]:
        """The rows of an inner bag of a table, without their label."""
        found = self.names[self.stores[dictionary].by_first].get(label)
        return {row[1:]: times for row, times in found.items()} if found else {}

    def prefetch(self, table: str, places: tuple[int, ...], parts: Iterable[Row]) -> None:
        """Nothing is far away."""

    def having(self, table: str, places: tuple[int, ...], part: Row) -> dict[Row, int]:
        """The rows that have ``part`` at ``places``: all are gone through."""
        rows = self.table(table).items()
        return {row: times for row, times in rows if tuple([row[i] for i in places]) == part}

    def by_key(self, table: str, key: Row) -> Row | None:
        """The row of a keyed table."""
        row: Row | None = self.stored[table].get(key[0] if len(key) == 1 else key)
        return row

    def count(self, table: str, row: Row) -> int:
        """How often ``row`` is in ``table``."""
        store = self.stores[table]
        stored = self.stored[store.name]
        if store.key:
            return int(stored.get(_key([row[i] for i in store.key])) == row)
        return int(stored.get(row, 0))

    def counts(self, table: str) -> Mapping[Row, int]:
        """The rows of a table without a key, as they are."""
        stored: dict[Row, int] = self.stored[table]
        return stored

    def entries(self, name: str) -> int:
        """How many entries a map has, or rows a table (equal rows once)."""
        return sizes.entries(self.stores[name], self.stored[name])

    def rows(self, table: str) -> Iterable[Row]:
        """The rows of a table, equal ones once."""
        stored: dict[Any, Any] = self.stored[table]
        return stored.values() if self.stores[table].key else stored

    def view_bytes(self, view: str) -> int:
        """Roughly, the bytes that a view adds."""
        return sizes.view_bytes(self, view)

    def described(self) -> LocalDescription:
        return LocalDescription(self)

    def fits(self, rows: int) -> bool:
        return True  # they are here

    def differing(self, maps: Iterable[str]) -> list[str] | None:
        return None

    def put(self, table: str, row: Row, times: int) -> None:
        """Set how often ``row`` is in ``table``, without running triggers."""
        put_row(self.stores[table], row, times, self.names)

    def load_table(self, name: str, rows: Mapping[Row, int]) -> None:
        """Load the rows of a table, without running triggers."""
        load_rows(self.stores[name], rows, self.names)

    @exactly
    def load_map(self, name: str, cells: Mapping[Row, tuple[Any, ...]]) -> None:
        """Load the entries of a map, in place of its initial ones."""
        load_cells(self.stores[name], cells, self.names)

    def take(self, name: str, other: LocalEngine, called: str = "") -> None:
        """Take over a table or map of an engine that is replaced, where its name may be ``called`` otherwise."""
        there = called or name
        mine, theirs = self.stores[name], other.stores[there]
        if not mine.is_table:
            other.flush()
        if not (mine.slices or theirs.slices) and (mine.key, mine.value) == (theirs.key, theirs.value):
            take_over(mine, self.names, theirs, other.names)
        elif not take_slices(mine, self.names, theirs, other.names):
            self.load_map(name, other.cells(there))
        self.stored[name] = self.names[mine.slices or mine.python]


def _key(parts: Iterable[Any]) -> Any:
    values = tuple(parts)
    return values[0] if len(values) == 1 else values
