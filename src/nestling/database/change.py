"""What changed in a view, element by element.

Law (10): rows and elements are consolidated: nothing is both added and removed, and what is removed was there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from nestling.calculus.types import UNIT, Bag, Path, Type
from nestling.database.patch import diff, document
from nestling.errors import NestlingError
from nestling.frontend.schema import listed, python_value
from nestling.values.bag import EMPTY, ZBag


@dataclass(frozen=True, slots=True)
class Inner:
    """Elements that came to and went from one inner bag of a row that stayed.

    ``key`` holds the scalar columns of that row; ``path`` leads to the bag; ``within`` holds the scalar columns of
    the elements on the way there, for a bag inside a bag. ``row`` reads the whole row, and costs what it holds.
    """

    key: tuple[Any, ...]
    path: Path
    element: Type
    elements: ZBag
    within: tuple[Any, ...] = ()
    read: Callable[[], Any] = field(default=lambda: None, repr=False, compare=False)
    row_type: Type = UNIT

    @property
    def row(self) -> Any:
        """The row as it is now, nested."""
        return python_value(self.row_type, self.read())

    @property
    def inserted(self) -> list[Any]:
        """The elements that came."""
        return _listed(self.element, self.elements.positive())

    @property
    def deleted(self) -> list[Any]:
        """The elements that went."""
        return _listed(self.element, self.elements.negative())


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one view by one commit: rows that came and went, and what changed inside those that stayed."""

    view: str
    version: int
    element: Type
    rows: ZBag
    inner: tuple[Inner, ...] = ()
    answer: Callable[[], tuple[int, ZBag]] = field(default=lambda: (0, EMPTY), repr=False, compare=False)
    moved: Callable[[], ZBag] = field(default=lambda: EMPTY, repr=False, compare=False)

    def __bool__(self) -> bool:
        return bool(self.rows) or bool(self.inner)

    @property
    def inserted(self) -> list[Any]:
        """The rows that came, nested."""
        return _listed(self.element, self.rows.positive())

    @property
    def deleted(self) -> list[Any]:
        """The rows that went, nested, as they were."""
        return _listed(self.element, self.rows.negative())

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """``("insert", row)``, ``("delete", row)`` and ``("change", inner)``, deletions first."""
        yield from (("delete", row) for row in self.deleted)
        yield from (("insert", row) for row in self.inserted)
        yield from (("change", inner) for inner in self.inner)

    def before(self, after: ZBag) -> ZBag:
        """The view's answer before this change, given the one after it; nothing may have changed since."""
        return after - self.rows - self.moved()

    def to_json_patch(self) -> list[dict[str, Any]]:
        """The change as a JSON Patch of the view's document; see ``patch``."""
        version, after = self.answer()
        if version != self.version:
            raise NestlingError(
                f"{self.view} has changed again since version {self.version}",
                hint="take the patch where the change is delivered: view.subscribe(lambda c: c.to_json_patch())",
            )
        before = document(self.element, self.before(after))
        return diff(Bag(self.element), before, document(self.element, after))


def _listed(element: Type, bag: ZBag) -> list[Any]:
    return [python_value(element, value) for value in listed(element, bag)]
