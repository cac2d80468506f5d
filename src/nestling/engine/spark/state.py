"""An immutable state of all relations: for every table and map the rows of its base and those added since.

A batch builds a new state from the old one, and the engine switches to it when it is complete and stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from threading import Lock
from typing import Any, Protocol

from nestling.calculus.types import FLOAT, LabelType, Scalar, nullable
from nestling.engine.protocol import Row
from nestling.engine.spark import limits
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.held import HeldRows
from nestling.engine.spark.relations import UNCOUNTED, nothing, summed
from nestling.engine.spark.terms import literal
from nestling.engine.spark.types import arrow_schema, arrow_table, ddl, values
from nestling.program.statements import Plan, Statement

_NUMBERS = count()
_REGISTERING = Lock()


@dataclass(frozen=True)
class TempView:
    """Rows that Spark knows as a temporary view, or will once its name is asked for: the driver needs none."""

    name: str
    rows: int
    paths: tuple[str, ...] = ()
    #: Whether no two of the rows have one key.
    summed: bool = False
    #: Of the files, as far as they are known.
    bytes: int = 0
    _frames: list[Callable[[], Any]] = field(default_factory=list, compare=False, repr=False)

    @property
    def view(self) -> str:
        """The name, registered."""
        if self._frames:
            with _REGISTERING:
                if self._frames:
                    self._frames[0]().createOrReplaceTempView(self.name)
                    self._frames.clear()
        return self.name

    @property
    def is_registered(self) -> bool:
        return not self._frames


@dataclass(frozen=True)
class SourceRows:
    """A source: rows in files, and an Arrow table of what was added since they were written."""

    files: tuple[TempView, ...] = ()
    recent: Any = None

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.files) + self.recent_rows

    @property
    def is_summed(self) -> bool:
        """Whether no two of the rows have one key."""
        some = [part for part in self.files if part.rows]
        return not self.recent_rows and (not some or (len(some) == 1 and some[0].summed))

    @property
    def recent_rows(self) -> int:
        return 0 if self.recent is None else int(self.recent.num_rows)


def register(session: Any, table: Any) -> TempView:
    """An Arrow table as a temporary view."""
    return register_frame(arrow_frame(session, table), table.num_rows)


def arrow_frame(session: Any, table: Any) -> Any:
    """An Arrow table as a DataFrame."""
    # Said outright: a session may take moments without a time zone for those with one.
    return session.createDataFrame(table, schema=ddl(table.schema))


def all_of(views: Iterable[TempView]) -> str:
    """The rows of some views."""
    return " UNION ALL ".join(f"SELECT * FROM {view.view}" for view in views)


def register_frame(
    frame: Any, rows: int, paths: tuple[str, ...] = (), is_summed: bool = False, size: int = 0
) -> TempView:
    """A DataFrame as a temporary view."""
    part = TempView(f"nestling_{next(_NUMBERS)}", rows, paths, is_summed, size)
    frame.createOrReplaceTempView(part.name)
    return part


def unregistered(
    frame: Callable[[], Any], rows: int, paths: tuple[str, ...], is_summed: bool = False, size: int = 0
) -> TempView:
    """A DataFrame as a temporary view, made when its name is first asked for."""
    return TempView(f"nestling_{next(_NUMBERS)}", rows, paths, is_summed, size, [frame])


@dataclass
class SourceChange:
    """The change of a source while a batch runs, converted on demand.

    ``given``: an Arrow table, rows in files or the query of them, or rows as Python has them.
    """

    layout: Layout
    given: Any
    _part: TempView | None = field(default=None, init=False)

    @property
    def size(self) -> int:
        if isinstance(self.given, TempView):
            return self.given.rows
        return len(self.given) if isinstance(self.given, list) else int(self.given.num_rows)

    @cached_property
    def table(self) -> Any:
        """The rows as an Arrow table; ``None`` if they are not on the driver."""
        if isinstance(self.given, TempView):
            return None
        return arrow_table(self.layout.columns, self.given) if isinstance(self.given, list) else self.given

    @cached_property
    def rows(self) -> list[Row] | None:
        """Keys and measures as Python values; ``None`` if the rows are not on the driver."""
        if isinstance(self.given, TempView):
            return None
        if isinstance(self.given, list):
            return self.given
        return values([type_ for _, type_ in self.layout.columns], self.given)

    def view(self, session: Any) -> str:
        """Name of its temporary view, registered on first use."""
        if isinstance(self.given, TempView):
            return self.given.view
        if self._part is None:
            self._part = register(session, self.table)
        return self._part.view

    def forget(self, session: Any) -> None:
        """Drop its temporary view; files stay, for the source that they were added to."""
        if self._part is not None:
            session.catalog.dropTempView(self._part.view)
            self._part = None


class Doer(Protocol):
    """What does by itself, in this process, what is little; ``None`` where that is for Spark."""

    def added(self, statements: Sequence[Statement], moment: LakeState) -> dict[str, Any]:
        """What ``statements`` add, by target, summed by key; without the targets that are for Spark."""

    def answer(
        self, plan: Plan, layout: Layout, moment: LakeState, given: Sequence[Row] | None
    ) -> list[Row] | None:
        """The rows of a plan, for the parameters ``given``, each with how often."""

    def matching(
        self, moment: LakeState, name: str, positions: Sequence[int], keys: set[Row]
    ) -> list[Row] | None:
        """The entries of a source that have one of ``keys`` at ``positions``."""

    def has_once(self, paths: Sequence[str]) -> bool:
        """Whether each row in some files is there once, and they say so."""

    def events(
        self, moment: LakeState, name: str, aggregates: Sequence[str], added: Sequence[SourceChange]
    ) -> dict[str, list[Row]] | None:
        """What changes in a map that is passed on, by aggregate."""


#: Types of which a range is looked for: Spark compares them as Arrow does, and its code stays the same.
RANGED = ("int", "str")
#: Of which two values are equal that a set tells apart.
FLOATS = (FLOAT, nullable(FLOAT))


def near(table: Any, layout: Layout, column: int) -> str | None:
    """A condition that every value of a column satisfies: it is one of few, or lies between the least and the
    greatest.

    Keys that are generated one after the other are close together, and new ones lie beyond all stored ones. Spark
    recompiles a query if a number in it differs, so a range is a little wider than necessary, and serves many
    batches; a set of values, even of one, is an object that the code refers to, and so is a string.
    """
    import pyarrow.compute as pc

    type_, values = layout.keys[column], table.column(column)
    if (
        not table.num_rows
        or values.null_count
        or not isinstance(type_, Scalar | LabelType)
        or type_ in FLOATS
    ):
        return None
    distinct = pc.unique(values) if table.num_rows <= 10 * limits.MAX_IN_VALUES else values
    if len(distinct) <= limits.MAX_IN_VALUES:
        one = [None] * (len(distinct) == 1)  # Spark would make it an equation
        return f"IN ({', '.join(literal(value, type_) for value in (*distinct.to_pylist(), *one))})"
    if not isinstance(type_, Scalar) or type_.name not in RANGED:
        return None
    ends = pc.min_max(values).as_py()
    least, greatest = rounded(ends["min"], ends["max"]) if type_.name == "int" else (ends["min"], ends["max"])
    return f"BETWEEN {literal(least, type_)} AND {literal(greatest, type_)}"


def rounded(least: int, greatest: int) -> tuple[int, int]:
    """A range around another, its ends multiples of about a fiftieth of the greater.

    >>> rounded(9, 9995), rounded(10_000_001, 10_001_000)
    ((0, 10240), (9961472, 10223616))
    """
    step = 1 << max(0, max(abs(least), abs(greatest)).bit_length() - 6)
    return max(least // step * step, -(2**63)), min(-(-greatest // step) * step, 2**63 - 1)


@dataclass
class LakeState:
    """The sources of a program in one state; ``changes`` are visible beside them while a batch runs."""

    session: Any
    layouts: Mapping[str, Layout]
    stored: dict[str, SourceRows]
    driver: Doer
    changes: dict[str, SourceChange] = field(default_factory=dict)
    added: dict[str, list[Any]] = field(default_factory=dict)
    emptied: set[str] = field(default_factory=set)
    #: How many rows of a statement's effect one task may send here; more go to files. ``None``: there are none.
    most: int | None = None
    #: Tables that the driver holds, as far as they have been asked for.
    held: dict[str, HeldRows] = field(default_factory=dict)
    _views: dict[str, tuple[Any, TempView]] = field(default_factory=dict)

    def next(self) -> LakeState:
        """A copy to be added to."""
        views, held = dict(self._views), dict(self.held)
        return replace(
            self, stored=dict(self.stored), changes={}, added={}, emptied=set(), held=held, _views=views
        )

    def kept_as(self, stored: dict[str, SourceRows]) -> LakeState:
        """The same state, in other files."""
        views = {n: known for n, known in self._views.items() if stored[n].recent is known[0]}
        return replace(self, stored=stored, changes={}, added={}, emptied=set(), _views=views)

    def layout(self, name: str) -> Layout:
        return self.changes[name].layout if name in self.changes else self.layouts[name]

    def is_empty(self, name: str) -> bool:
        if name in self.changes:
            return not self.changes[name].size
        return not self.stored[name].rows

    def rows(self, name: str) -> int:
        if name in self.changes:
            return self.changes[name].size
        stored = self.stored[name]
        is_wide = sum(part.bytes for part in stored.files) > limits.MAX_SENT_ROW_BYTES * stored.rows
        return UNCOUNTED if is_wide else stored.rows

    def most_rows(self, names: Iterable[str]) -> int:
        """The rows of the largest of these sources."""
        return max((self.stored[name].rows for name in names), default=0)

    def near(self, name: str, column: int) -> str | None:
        change = self.changes.get(name)
        return None if change is None or change.table is None else near(change.table, change.layout, column)

    def raw(self, name: str) -> str:
        layout = self.layout(name)
        columns = ", ".join(layout.names)
        if name in self.changes:
            return f"SELECT {columns} FROM {self.changes[name].view(self.session)}"
        stored = self.stored[name]
        parts = [part for part in stored.files if part.rows]
        if stored.recent_rows:
            parts.append(self._recent(name, stored.recent))
        return " UNION ALL ".join(f"SELECT {columns} FROM {part.view}" for part in parts) or nothing(layout)

    def is_summed(self, name: str) -> bool:
        return name not in self.changes and self.stored[name].is_summed

    def is_once(self, name: str) -> bool:
        if not self.is_summed(name):
            return False
        some = [part for part in self.stored[name].files if part.rows]
        in_files = all(part.paths for part in some)
        return bool(self.layouts[name].key) or (
            in_files and self.driver.has_once([path for part in some for path in part.paths])
        )

    def summed(self, name: str) -> str:
        """The rows of a source, summed by key."""
        return self.raw(name) if self.is_summed(name) else summed(self.raw(name), self.layouts[name])

    def _recent(self, name: str, table: Any) -> TempView:
        """The temporary view of recent rows, registered on first use."""
        known = self._views.get(name)
        if known is None or known[0] is not table:
            known = self._views[name] = (table, register(self.session, table))
        return known[1]

    def drop_views(self, *kept: LakeState, files: bool = False) -> None:
        """This state was replaced, or never committed: drop the temporary views that none of ``kept`` uses.

        Those of ``files`` only if the state was stored in another way: a failed batch may be tried again.
        """
        for change in self.changes.values():
            change.forget(self.session)
        used = {part.name for other in kept for part in other._named()}
        for part in self._named():
            if part.name not in used and part.is_registered and (files or not part.paths):
                self.session.catalog.dropTempView(part.name)

    @property
    def paths(self) -> set[str]:
        """The files that it is in."""
        return {path for part in self._named() for path in part.paths}

    def _named(self) -> Iterator[TempView]:
        yield from (part for _, part in tuple(self._views.values()))
        yield from (part for stored in self.stored.values() for part in stored.files)

    def take(self, name: str) -> list[Any]:
        """Remove and return the rows of a source that has recent rows only."""
        stored = self.stored[name]
        self.stored[name] = SourceRows()
        self.added.pop(name, None)
        return [*stored.files, *([stored.recent] if stored.recent_rows else [])]

    def empty(self, name: str) -> None:
        """Empty a source."""
        if self.stored[name].rows:
            self.stored[name] = SourceRows()
            self.emptied.add(name)
            self.added.pop(name, None)

    def add(self, name: str, rows: Any) -> None:
        """Add rows to a source: an Arrow table, or rows that are in files already."""
        import pyarrow as pa

        stored = self.stored[name]
        if isinstance(rows, TempView):
            self.stored[name] = SourceRows((*stored.files, rows), stored.recent)
            self.held.pop(name, None)
            return
        if not rows.num_rows:
            return
        if name in self.held:
            self.held[name] = self.held[name].after(rows)
        table = rows.cast(arrow_schema(self.layouts[name].sql))
        recent = table if stored.recent is None else pa.concat_tables([stored.recent, table])
        self.stored[name] = SourceRows(stored.files, recent)
        self.added.setdefault(name, []).append(table)
