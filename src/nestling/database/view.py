"""``View``: the handle of a view that users have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from nestling.calculus.types import Type, show_type
from nestling.database import export
from nestling.database.arguments import defined, flag_argument
from nestling.database.change import Change
from nestling.database.core import Core
from nestling.database.definitions import ViewDef
from nestling.database.document.follow import Document
from nestling.database.in_order import in_order
from nestling.database.markup import tag
from nestling.database.notebook import rows_html
from nestling.database.subscription import OnError, Subscription, Told
from nestling.depth import room
from nestling.errors import NestlingError, QueryError, brief
from nestling.frontend.schema import copies, length, python_schema, python_values
from nestling.values.bag import ZBag


class View:
    """A named query that is always up to date. Iterating gives rows as named tuples, inner bags as lists."""

    def __init__(self, database: Core, name: str) -> None:
        self._database, self.name = database, name

    @property
    def element(self) -> Type:
        """The type of a row."""
        return self._definition.element

    @property
    def columns(self) -> list[str]:
        """The names of the columns; of rows that are no records, ``value``, as ``to_arrow`` calls it."""
        return list(export.as_record(self.element).names)

    @property
    def schema(self) -> dict[str, Any]:
        """The types by column, as ``db.table`` takes them."""
        return python_schema(export.as_record(self.element))

    @property
    def _definition(self) -> ViewDef:
        return defined(self._database._state.definitions, "view", self.name)

    def bag(self) -> ZBag:
        """``{value: multiplicity}``, the values as the calculus has them."""
        return self._database._read(self._definition.name)

    def rows(self) -> list[Any]:
        """All rows, as often as they occur; in the order of the query, if it ends with one.

        Rows with equal keys are ordered by their other scalars, from left to right, null first and NaN last; backwards
        where all keys descend.
        """
        found = None if self._definition.orders else self._database._rows(self._definition.name)
        return self._listed(self._counted()) if found is None else found

    def _listed(self, pairs: Iterable[tuple[Any, int]]) -> list[Any]:
        definition = self._definition
        if definition.orders:
            return in_order(pairs, definition.element, definition.orders, self.name)
        return python_values(definition.element, copies(pairs, self.name))

    def _counted(self) -> list[tuple[Any, int]]:
        pairs = list(self.bag().items())
        if any(times < 0 for _, times in pairs):
            raise NestlingError(f"{self.name} holds negative counts", hint="read it with bag()")
        return pairs

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows())

    def __len__(self) -> int:
        return length([times for _, times in self._counted()], self.name)

    def __getitem__(self, first: Any) -> Any:
        """The row whose first column is ``first``; of a tuple, its first columns."""
        found = self._listed(self._database._find(self._definition.name, first).items())
        if len(found) == 1:
            return found[0]
        if not found:
            raise KeyError(first)
        raise QueryError(
            f"{len(found)} rows of {self.name} have {brief(first)} in their first column",
            hint="read rows() and choose",
        )

    def __contains__(self, first: Any) -> bool:
        """Whether ``view[first]`` is there: rows whose first columns these are."""
        return bool(self._database._find(self._definition.name, first))

    def to_pandas(self) -> Any:
        """The answer as a pandas DataFrame."""
        return export.to_pandas(self.element, self.rows())

    def to_arrow(self) -> Any:
        """The answer as an Arrow table."""
        return export.to_arrow(self.element, self.rows())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The answer for any library that takes Arrow's stream: ``polars.DataFrame(it)``, ``pyarrow.table(it)``."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_polars(self) -> Any:
        """The answer as a Polars DataFrame."""
        return export.to_polars(self.element, self.rows())

    def to_df(self, spark: Any) -> Any:
        """The answer as a DataFrame of a Spark session."""
        return export.to_df(self.element, self.rows(), spark)

    def subscribe(self, function: Told, *, history: int = 0, on_error: OnError | None = None) -> Subscription:
        """Call ``function`` with the change of this view after every commit from now on that changes it.

        It is called after the commit, with no lock held; what it writes is committed, and told after. What it raises is
        logged and handed to ``on_error(error, change)``. ``history``: how many changes are kept for ``changes``.
        """
        return self._database._subscribers.subscribe(self._definition.name, function, history, on_error)

    def changes(self, since: int | None = None, *, history: int | None = None) -> list[Change]:
        """The changes after version ``since``, or all that are kept.

        The first call starts the keeping, of the last 1000 changes, or as many as ``history``; 0 ends it.
        """
        return self._database._subscribers.changes_since(self._definition.name, since, history)

    def document(self) -> Document:
        """The answer as lists and dicts, in the order that ``change.to_json_patch()`` addresses.

        Rows and elements are ordered as the query says, if it ends with an order, and by their scalars, from left to
        right, null first and NaN last; those with equal scalars keep their order while they stay. It is a list with a
        ``version``: the patches of the changes after that version apply to it one after the other.
        """
        return self._database._subscribers.document(self._definition.name)

    def verify(self, maps: bool = False) -> None:
        """Compute the view anew from its tables and compare; raises with the difference.

        With ``maps``, so for every map that is stored for it, by the slow and obvious way.
        """
        self._database._verify([self._definition.name], flag_argument(maps, "maps"))

    @room()
    def explain(self, format: str = "text", code: bool = False) -> str:
        """How the view is kept, and what that costs: as ``"text"``, ``"json"`` or a page in ``"html"``.

        With ``code``, also the generated functions that serve it.
        """
        return self._database._explain_view(self._definition.name, format, flag_argument(code, "code"))

    def __repr__(self) -> str:
        return f"View({self.name}: {show_type(self.element)})"

    def _repr_html_(self) -> str:
        """The first rows, for a notebook; on Spark, where reading is a job, what it is."""
        if self._database._state.engine.is_remote:
            return tag("p", repr(self))
        return rows_html(self.name, self.element, self.rows())
