"""What an engine does, whichever it is.

An engine runs a program over tables of its own. The unit of work is a batch: rows of several tables that come and go
at once. It keeps every map equal to its query, and answers what the views' plans say.

Law (17): on the same batches every engine has the same tables, maps and answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from nestling.calculus.types import LABEL, Type
from nestling.engine.described import Described, Places
from nestling.program.statements import Program, TableDecl
from nestling.values.bag import ZBag
from nestling.values.label import Label

Row: TypeAlias = tuple[Any, ...]
#: Per table the rows of a batch, and how often each comes; negative: goes.
Batch: TypeAlias = Mapping[str, Iterable[tuple[Row, int]]]


class Engine(Protocol):
    """A running program, and the rows of its tables."""

    @property
    def program(self) -> Program:
        """What it runs."""

    @property
    def name(self) -> str:
        """What it is called where people read of it."""

    @property
    def is_remote(self) -> bool:
        """Whether rows are far away, and many at once cost what one does."""

    @property
    def has_snapshots(self) -> bool:
        """Whether its states are replaced, never changed, so that a reader who holds one needs no lock."""

    @property
    def is_torn(self) -> bool:
        """Whether something was cut off, and maps may hold some of it."""

    # -- changes

    def apply_batch(self, changes: Batch) -> None:
        """Add rows to tables, and bring every map up to date: all of it, or nothing."""

    # -- rows

    def table(self, name: str) -> dict[Row, int]:
        """The rows of a table with their multiplicities."""

    def by_key(self, table: str, key: Row) -> Row | None:
        """The row of a keyed table."""

    def count(self, table: str, row: Row) -> int:
        """How often ``row`` is in ``table``."""

    def under(self, dictionary: str, label: Label) -> dict[Row, int]:
        """The rows of an inner bag of a table, without their label."""

    def having(self, table: str, places: Places, part: Row) -> dict[Row, int]:
        """The rows that have ``part`` at ``places``."""

    def prefetch(self, table: str, places: Places, parts: Iterable[Row]) -> None:
        """Find rows that will be looked up, by what stands at ``places``, all at once."""

    # -- answers

    def cells(self, name: str) -> dict[Row, tuple[Any, ...]]:
        """The entries of a map, as ``meaning`` gives them."""

    def read(self, view: str) -> ZBag:
        """The answer of a view, nested."""

    def find(self, view: str, first: Any) -> ZBag:
        """The rows of a view whose first column is ``first``."""

    def flush(self) -> None:
        """Bring up to date what waits for a reading."""

    # -- what it says of itself

    def described(self) -> Described:
        """How much it stores, what finds it, and who runs what."""

    def entries(self, name: str) -> int:
        """How many entries a map has, or rows a table (equal rows once)."""

    def view_bytes(self, view: str) -> int:
        """Roughly, the bytes that a view adds."""

    def fits(self, rows: int) -> bool:
        """Whether so many rows of its tables may be looked at here, one by one."""

    def differing(self, maps: Iterable[str]) -> list[str] | None:
        """Those of ``maps`` that are not what their queries say; None where cells are here, to be looked at."""


class RowEngine(Engine, Protocol):
    """An engine in this process, changed in place and row by row: what a database keeps by itself.

    ``triggers`` add a row to a table so many times, ``batches`` rows that come together; both keep every map. A row
    that others refer to comes before them and goes after them. ``updates`` put a row in the place of the one that has
    its key, ``update_batches`` many, given as pairs of old and new.
    """

    @property
    def triggers(self) -> Mapping[str, Callable[[Row, int], None]]: ...
    @property
    def batches(self) -> Mapping[str, Callable[[Iterable[tuple[Row, int]]], None]]: ...
    @property
    def updates(self) -> Mapping[str, Callable[[Row, Row], None]]: ...
    @property
    def update_batches(self) -> Mapping[str, Callable[[Iterable[tuple[Row, Row]]], None]]: ...
    def counts(self, table: str) -> Mapping[Row, int]:
        """The rows of a table without a key, as they are: to be looked at, and not for long."""

    def apply(self, table: str, row: Row, times: int) -> None:
        """Add ``row`` to ``table`` ``times`` times, and maintain every map."""

    # -- put in place

    def load_table(self, name: str, rows: Mapping[Row, int]) -> None:
        """Put rows where they belong, without running triggers."""

    def load_map(self, name: str, cells: Mapping[Row, tuple[Any, ...]]) -> None:
        """Put the entries of a map where they belong."""

    def recompute(self) -> None:
        """Compute every map from the tables."""

    def check(self) -> None:
        """Raise where a map is known to have no value."""

    # -- flat answers, of which changes are read

    def flat_rows(self, view: str) -> Iterable[tuple[Row, int]]:
        """The flat rows of a view; a row may come more than once."""

    def rows_under(self, view: str, label: Label) -> Iterable[tuple[Row, int]]:
        """The flat rows of the inner bag that ``label`` names; a row may come more than once."""

    def nested(self, view: str, columns: Row, type_: Type) -> Any:
        """A flat row of a view as the value that it stands for."""

    def texts(self, view: str) -> list[Any]:
        """The elements of a view of scalars that nothing it is read from waits for."""

    def total(self, watch: str, flat: Row) -> int:
        """How often the query of ``watch`` has the row ``flat`` now, whatever was logged of it."""

    # -- what was logged, in maps of role ``watch``

    def has_logged(self, watch: str) -> bool:
        """Whether something was logged for ``watch`` since it was last drained."""

    def logged(self, watch: str) -> dict[Row, int]:
        """What was."""

    def drain(self, watch: str) -> dict[Row, int]:
        """The same, which is forgotten."""

    def drain_all(self) -> None:
        """Forget what was logged."""

    # -- sizes

    def rows(self, table: str) -> Iterable[Row]:
        """The rows of a table, equal ones once."""


@dataclass(frozen=True)
class Engines:
    """How engines of one kind are made."""

    #: For a program, with nothing in it.
    empty: Callable[[Program], RowEngine]
    #: Over rows. A map without a value leaves the engine torn, and raises when somebody reads.
    computed: Callable[[Program, Mapping[str, Mapping[Row, int]]], RowEngine]
    #: For another program over the tables of an engine that is not used any more.
    filled: Callable[[Program, RowEngine], RowEngine]
    #: Compute some maps of an engine from its tables.
    fill_maps: Callable[[RowEngine, Iterable[str]], None]
    #: Do what can be done beforehand of what ``filled`` does, in whatever thread.
    prepare: Callable[[Program, RowEngine], None] = lambda program, old: None


def is_inner(table: TableDecl) -> bool:
    """Whether a table is the dictionary of an inner bag: a point in its name alone does not say so."""
    return "." in table.name and bool(table.columns) and table.columns[0].type == LABEL


def inner_first(program: Program) -> list[str]:
    """The tables in the order in which their changes are run.

    Tables that others refer to come before these, as they were declared; the inner bags of a row before the row.
    """
    owners: dict[str, list[str]] = {}
    for name in program.tables:
        owner = next((other for other in owners if name.startswith(f"{other}.")), name)
        owners.setdefault(owner, []).append(name)
    return [name for names in owners.values() for name in reversed(names)]


def batch_of(events: Iterable[tuple[str, Row, int]]) -> dict[str, list[tuple[Row, int]]]:
    """Events as a batch: per table, in their order."""
    batch: dict[str, list[tuple[Row, int]]] = {}
    for table, row, times in events:
        batch.setdefault(table, []).append((row, times))
    return batch


def consolidated(rows: Iterable[tuple[Row, int]]) -> dict[Row, int]:
    """A change as one count per row; what comes and goes is not there."""
    total: dict[Row, int] = {}
    for row, times in rows:
        total[row] = total.get(row, 0) + times
    return {row: times for row, times in total.items() if times}
