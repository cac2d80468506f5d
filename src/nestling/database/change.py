"""What changed in a view, element by element.

A change is evaluated on first access, from what its commit logged; see ``trail``.

Law (10): rows and elements are consolidated: none is both inserted and deleted, and deleted ones were present.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from nestling.calculus.types import Path, Type
from nestling.database.notebook import changed_html
from nestling.errors import NestlingError, brief
from nestling.frontend.schema import python_value
from nestling.frontend.schema.read import order_key
from nestling.values.bag import ZBag
from nestling.values.label import Label

Row = tuple[Any, ...]
#: Rows that stayed, by their flat columns: as they were, as they are, and how many are equal.
Stayed = dict[Row, tuple[Any, Any, int]]


class InnerChange:
    """Elements inserted into and deleted from one inner bag of a row that stayed.

    ``key`` holds the scalar columns of that row; ``path`` leads to the bag; ``within`` holds the scalar columns of
    the elements on the way there, for a bag inside a bag. Rows with equal scalars are told apart by ``id``, whose first
    part names the row and each further one an element on the way, in this change and in those that come while the row
    stays. ``was`` and ``row`` read the whole row, before and after, and cost what it holds.
    """

    __slots__ = ("_change", "copies", "element", "elements", "id", "path")

    def __init__(
        self, change: Change, id_: tuple[Row, ...], path: Path, element: Type, elements: ZBag, copies: int
    ) -> None:
        self._change = change
        #: How many equal rows there are: this happened in each of them.
        self.copies = copies
        self.id, self.path, self.element, self.elements = id_, path, element, elements

    @property
    def key(self) -> Row:
        """The scalar columns of the row."""
        return _scalars(self.id[0])

    @property
    def within(self) -> Row:
        """The scalar columns of the elements on the way to the bag."""
        return tuple([value for columns in self.id[1:] for value in _scalars(columns)])

    @property
    def row(self) -> Any:
        """The row as the change left it, nested."""
        return self._change._row(self.id[0], after=True)

    @property
    def was(self) -> Any:
        """The row as it was before the change, nested."""
        return self._change._row(self.id[0], after=False)

    @property
    def inserted(self) -> list[Any]:
        """The elements that came."""
        return _listed(self.element, self.elements, 1)

    @property
    def deleted(self) -> list[Any]:
        """The elements that went."""
        return _listed(self.element, self.elements, -1)

    def __repr__(self) -> str:
        return f"InnerChange({self.key}, {'.'.join(self.path)}: {self.elements!r})"


class Teller(Protocol):
    """What knows the commit that a change is of, as long as the view is logged."""

    def read(self, change: Change) -> tuple[ZBag, tuple[InnerChange, ...]]:
        """The rows that came and went, and what changed in those that stayed."""

    def read_locked(self, change: Change) -> tuple[ZBag, tuple[InnerChange, ...]]:
        """The same; the state is locked, be it by a commit."""

    def stayed(self) -> Stayed:
        """The rows that stayed and changed inside, by their flat columns."""

    def stayed_locked(self) -> Stayed:
        """The same; the state is locked, be it by a commit."""

    def row(self, flat: Row, after: bool) -> Any:
        """A row that stayed, after the commit or before it."""

    def patch(self) -> list[dict[str, Any]]:
        """The JSON Patch of the change."""

    def patch_locked(self) -> list[dict[str, Any]]:
        """The same; the state is locked, be it by a commit."""

    @property
    def known_patch(self) -> list[dict[str, Any]] | None:
        """The same, if it was made already."""


class Change:
    """The change of one view by one commit: inserted and deleted rows, and changes inside the rows that stayed."""

    __slots__ = ("__weakref__", "_inner", "_patch", "_rows", "_stayed", "_told", "element", "version", "view")

    def __init__(
        self,
        view: str,
        version: int,
        element: Type,
        rows: ZBag | None = None,
        told: Teller | None = None,
    ) -> None:
        self.view, self.version, self.element = view, version, element
        self._rows, self._told = rows, told
        self._inner: tuple[InnerChange, ...] | None = None if rows is None else ()
        self._patch: list[dict[str, Any]] | None = None
        self._stayed: Stayed | None = None

    @property
    def rows(self) -> ZBag:
        """The rows that came, and with negative counts those that went."""
        if self._rows is None:
            self._read()
        assert self._rows is not None
        return self._rows

    @property
    def inner(self) -> tuple[InnerChange, ...]:
        """What came to and went from inner bags of rows that stayed, outer bags first."""
        if self._inner is None:
            self._read()
        assert self._inner is not None
        return self._inner

    def _read(self) -> None:
        told = self._told
        if told is not None:  # else another thread has just read it
            self._rows, self._inner = told.read(self)

    def __bool__(self) -> bool:
        return bool(self.rows) or bool(self.inner)

    @property
    def inserted(self) -> list[Any]:
        """The rows that came, nested."""
        return _listed(self.element, self.rows, 1)

    @property
    def deleted(self) -> list[Any]:
        """The rows that went, nested, as they were."""
        return _listed(self.element, self.rows, -1)

    @property
    def replaced(self) -> list[tuple[Any, Any]]:
        """The rows that changed inside, as they were and as they are: with what came and went, all of the change.

        Costs what these rows hold.
        """
        return [
            (python_value(self.element, was), python_value(self.element, row))
            for was, row, copies in self._replaced()
            for _ in range(copies)
        ]

    def _replaced(self) -> list[tuple[Any, Any, int]]:
        if not self.inner:
            return []
        stayed = self._stayed
        if stayed is None:
            stayed = self._told_by().stayed()
        return [(was, row, copies) for was, row, copies in stayed.values() if was != row]

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """``("insert", row)``, ``("delete", row)`` and ``("change", inner)``, deletions first."""
        yield from (("delete", row) for row in self.deleted)
        yield from (("insert", row) for row in self.inserted)
        yield from (("change", inner) for inner in self.inner)

    def before(self, after: ZBag) -> ZBag:
        """The view's answer before this change, given the one after it."""
        return after - self.whole()

    def whole(self) -> ZBag:
        """The change as whole rows: the answer after it, less the answer before."""
        pairs = self._replaced()
        if not pairs:
            return self.rows
        return self.rows + ZBag(
            pair for was, row, copies in pairs for pair in ((row, copies), (was, -copies))
        )

    def to_json_patch(self) -> list[dict[str, Any]]:
        """The change as a JSON Patch (RFC 6902): it leads from ``view.document()`` before to the one after.

        The first one that is taken of a view costs what the view holds; then each costs what it says.
        """
        if self._patch is not None:
            patch: list[dict[str, Any]] = copied(self._patch)
            return patch
        return self._told_by().patch()

    def _row(self, flat: Row, after: bool) -> Any:
        if self._stayed is not None:
            return python_value(self.element, self._stayed[flat][after])
        return python_value(self.element, self._told_by().row(flat, after))

    def evaluate(self, whole: bool = False, patched: bool = False) -> None:
        """Evaluate the change for good: the view is not logged any more, or too many steps have followed.

        ``whole``: with the rows that changed inside, which costs what they hold; ``patched``: with its patch.
        """
        self.read_locked()
        if self._told is not None:
            if whole and self._inner:
                self._stayed = self._told.stayed_locked()
            self._patch = self._told.patch_locked() if patched else self._told.known_patch
        self._told = None

    def read_locked(self) -> None:
        """Read what is told; the state is locked."""
        if self._inner is None and self._told is not None:
            self._rows, self._inner = self._told.read_locked(self)

    def _told_by(self) -> Teller:
        told = self._told
        if told is None:
            raise NestlingError(
                f"{self.view} has changed too often since version {self.version}, or nobody reads its changes any more",
                hint="read whole rows and patches when the change is delivered, or keep a history",
            )
        return told

    def _repr_html_(self) -> str:
        """What came and went, for a notebook."""
        parts = [("inserted", self.element, self.inserted), ("deleted", self.element, self.deleted)]
        for inner in self.inner:
            where = f"{'.'.join(inner.path)} of {', '.join(map(brief, (*inner.key, *inner.within)))}"
            parts += [
                (f"into {where}", inner.element, inner.inserted),
                (f"from {where}", inner.element, inner.deleted),
            ]
        return changed_html(f"{self.view}, version {self.version}", parts)

    def __repr__(self) -> str:
        return f"Change({self.view}, version {self.version})"


def _scalars(columns: Row) -> Row:
    return tuple([value for value in columns if type(value) is not Label])


def _listed(element: Type, bag: ZBag, sign: int) -> list[Any]:
    """What came (``sign`` 1) or went (-1), in the order of the values."""
    pairs = [(value, sign * times) for value, times in bag.items() if sign * times > 0]
    if len(pairs) > 1:
        pairs.sort(key=lambda pair: order_key(element, pair[0]))
    return [python_value(element, value) for value, times in pairs for _ in range(times)]


def copied(value: Any) -> Any:
    """A patch of its own for whoever asks: who applies it may change it."""
    if isinstance(value, dict):
        return {name: copied(part) for name, part in value.items()}
    return [copied(part) for part in value] if isinstance(value, list) else value
