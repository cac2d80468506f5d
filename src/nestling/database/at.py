"""``At``: a place inside one row, for deep updates: ``orders.at(7).items.insert([...])``.

What a change at a place gives is up to who runs it: a database commits it and gives its ``Refresh``, a transaction
takes it and gives nothing until it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from nestling.database.arguments import NOT_GIVEN
from nestling.database.deep import Address
from nestling.errors import ChangeError, shown


class DeepChanges(Protocol):
    """What a change at a place asks of a transaction."""

    def insert_into(self, table: str, key: Any, path: Address, elements: Any) -> None: ...
    def delete_from(self, table: str, key: Any, path: Address, elements: Any) -> None: ...
    def update_in(self, table: str, key: Any, path: Address, set: Mapping[str, Any]) -> None: ...
    def update(
        self, table: str, *, key: Any = NOT_GIVEN, where: Any = None, set: Mapping[str, Any]
    ) -> None: ...


R = TypeVar("R")
#: Who runs a change, and what it gives.
Run = Callable[[Callable[[DeepChanges], None]], R]


class At(Generic[R]):
    """A place inside one row: attributes select fields, ``at`` an element of an inner bag. A reference leads on to the
    row that it is of: ``orders.at(10).customer``.

    ``insert`` and ``delete`` change the elements of a bag, or which rows refer to this one, where an inverse is named:
    ``customers.at(1).orders``. ``update`` changes the columns of an element or of a row.
    """

    __slots__ = ("_key", "_path", "_run", "_table")

    def __init__(self, run: Run[R], table: str, key: Any, path: Address = ()) -> None:
        self._run, self._table, self._key, self._path = run, table, key, path

    def __getattr__(self, name: str) -> At[R]:
        if name.startswith("__"):  # Python's own
            raise AttributeError(name)
        return At(self._run, self._table, self._key, (*self._path, name))

    def __getitem__(self, name: str) -> At[R]:
        if not isinstance(name, str):
            raise ChangeError(f"a bag is named by a str, not {shown(name)}", hint=".at(key).items")
        return At(self._run, self._table, self._key, (*self._path, name))

    def at(self, columns: Mapping[str, Any]) -> At[R]:
        """The one element whose columns have these values: ``orders.at(7).items.at({"pid": 1})``."""
        if not isinstance(columns, Mapping):
            raise ChangeError(
                f"an element is found by its columns, not by {shown(columns)}", hint=".at({column: value})"
            )
        return At(self._run, self._table, self._key, (*self._path, dict(columns)))

    def insert(self, elements: Iterable[object]) -> R:
        """Add elements; only they travel."""
        return self._run(lambda change: change.insert_into(self._table, self._key, self._path, elements))

    def delete(self, elements: Iterable[object]) -> R:
        """Remove elements; only they travel."""
        return self._run(lambda change: change.delete_from(self._table, self._key, self._path, elements))

    def update(self, set: Mapping[str, Any]) -> R:
        """Give columns new values; the bags of an element stay, and one element travels."""
        if self._path:
            return self._run(lambda change: change.update_in(self._table, self._key, self._path, set))
        return self._run(lambda change: change.update(self._table, key=self._key, set=set))
