"""What a database asks of the running state: tables, the views over them, and the engine that stores both.

``RowState`` is the one of engines in this process, ``SparkState`` the one over a lake. Neither is derived from the
other: what is done with a state is written once, over what stands here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from nestling.calculus.traverse import relations
from nestling.database.answer import answer
from nestling.database.declaring import Asked
from nestling.database.definitions import TableDef, ViewDef
from nestling.database.objects import Objects
from nestling.database.rows import Row, RowEvent
from nestling.database.view_state import Views
from nestling.database.xml.definition import XQueryDef, listed, public
from nestling.depth import room
from nestling.engine.described import Described
from nestling.engine.protocol import Engine
from nestling.errors import UNDEFINED, ChangeError, NestlingError, brief
from nestling.program.statements import TableDecl
from nestling.values.bag import ZBag
from nestling.values.label import Label

NOTHING_KEPT = 'store="none": nothing is kept of it'
EXCLUDE = "exclude the value in the view (… if y != 0), or delete the row"


class Defined(Protocol):
    """What is defined."""

    tables: dict[str, TableDef]
    views: Views
    #: The XQuery views, each of which is kept by several hidden ones.
    xqueries: dict[str, XQueryDef]
    #: Tables that wait for the class that they refer to, by name.
    waiting: dict[str, Asked]

    @property
    def objects(self) -> Objects:
        """What the tables say together."""

    @property
    def definitions(self) -> dict[str, ViewDef]:
        """What the views are, by name."""

    def declarations(self) -> dict[str, TableDecl]:
        """The flat tables of all tables."""


class State(Defined, Protocol):
    """Tables, the views over them, and the engine that stores both."""

    #: What all views may take, in bytes; and how many rows there were when that was last looked at.
    memory: int | None
    looked_at: int
    #: How many rows come and go before plans are looked at again; and the version at which they are.
    patience: float
    version: int
    #: The events of an open transaction that the engine has.
    uncommitted: list[RowEvent]

    @property
    def engine(self) -> Engine:
        """What stores tables, and the maps of all views that are not lazy."""

    @property
    def is_waiting(self) -> bool:
        """Whether tables were declared since anybody asked the engine anything."""

    # -- definitions

    def table(self, name: str) -> TableDef:
        """The table that a change names."""

    def checkpoint(self) -> dict[str, Any]:
        """All there is now, to go back to: an engine that is replaced is not changed."""

    def go_back_to(self, checkpoint: dict[str, Any]) -> None:
        """Be as at ``checkpoint``."""

    def add_table(self, table: TableDef) -> None:
        """Have one more table."""

    def add_view(self, view: ViewDef, constraint: bool = False, strict: bool | None = False) -> None:
        """Compile ``view`` and bring its maps up to date with the rows that are there; a constraint has none."""

    def drop_view(self, name: str) -> None:
        """Have one view less."""

    def drop_table(self, name: str) -> None:
        """Have one table less."""

    # -- reading

    def read(self, name: str) -> ZBag:
        """The answer of a view, nested."""

    def find(self, name: str, first: Any) -> ZBag:
        """The rows of a view whose first column is ``first``."""

    def rows(self, name: str) -> ZBag:
        """The rows of a table, nested."""

    def selected(self, name: str, where: Any, is_changed: bool) -> list[tuple[Row, int]] | None:
        """The rows of a table for which ``where`` holds; None where they are found by going through all.

        ``is_changed``: the transaction that asks has changed something.
        """

    def under(self, dictionary: str, label: Label) -> dict[Row, int]:
        """The rows of an inner bag of a table."""

    def evaluate(self, name: str) -> ZBag:
        """The reference meaning of a view on the tables as they are."""

    def nested_tables(self) -> dict[str, ZBag]:
        """Every table, its inner bags in their rows."""

    def computing(self, name: str) -> AbstractContextManager[None]:
        """What is read of a view that has no value is not its answer."""

    def held(self) -> AbstractContextManager[None]:
        """A block in which this thread sees one state, of an engine that has snapshots."""

    def is_behind(self, name: str) -> bool:
        """Whether a view has changes to see before a snapshot has its answer."""

    def refresh(self, name: str) -> None:
        """Let a view see them; the caller holds the lock."""

    # -- changes

    def refused(self) -> tuple[str, str] | None:
        """A view that is kept eagerly and has no value now, and the term that has none."""

    def offending(self, constraint: str) -> ZBag:
        """Rows that a constraint forbids."""

    def committed(self, events: Sequence[RowEvent]) -> None:
        """Tell the views that are refreshed later."""

    def statements(self, tables: Mapping[str, int]) -> int:
        """How many maintenance statements so many rows of ``tables`` set off."""

    def rebuild(self) -> bool:
        """Build what is in memory anew. Whether it was read from what is stored."""

    # -- what is kept

    def engine_of(self, name: str) -> Engine:
        """The engine that answers for a view, up to date."""

    def serving(self, name: str) -> Engine:
        """The same, whether it is up to date or not."""

    def described(self, name: str) -> Described:
        """What the engine of a view says of itself."""

    def total(self, name: str) -> int | None:
        """How many rows a view has; None where it has no value."""

    def notes(self, name: str) -> list[str]:
        """What else there is to say of how a view is kept now."""


class Holder(Protocol):
    """Who has a state, and may have another one later."""

    @property
    def _state(self) -> State:
        """The state as it is now."""

    @property
    def version(self) -> int:
        """How many changes were committed."""


# -- what every state does alike


def table_of(state: Defined, name: str) -> TableDef:
    """The table that a change names."""
    try:
        return state.tables[public(name)]
    except (KeyError, TypeError):
        if isinstance(name, str) and name in state.waiting:
            raise ChangeError(state.waiting[name].why, hint=state.waiting[name].hint) from None
        raise ChangeError(
            f"there is no table {brief(name)}", hint=f"tables: {listed(state.tables)}"
        ) from None


def parts_of(state: object) -> dict[str, Any]:
    """The fields of a state, to go back to: dictionaries are copied, all else is replaced when it changes."""
    return {name: dict(part) if type(part) is dict else part for name, part in vars(state).items()}


@room()
def evaluated(state: State, name: str) -> ZBag:
    """The reference meaning of a view on the tables as they are."""
    query = state.definitions[name].query
    with computing(name):
        return answer(query, {table: state.rows(table) for table in relations(query)})


@contextmanager
def computing(name: str) -> Iterator[None]:
    """Say of an error inside which view it happened in."""
    try:
        yield
    except UNDEFINED as error:
        raise NestlingError(f"{name} cannot be computed: {error}", hint=EXCLUDE) from error


def guard_of(name: str) -> str:
    """What the query that says where a view has no value is called in programs."""
    return f"·undefined {name}"
