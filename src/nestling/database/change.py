"""What changed in a view, element by element.

Law (10): rows and elements are consolidated: nothing is both added and removed, and what is removed was there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from nestling.calculus.types import Bag, Path, Type
from nestling.frontend.schema import python_value
from nestling.values.bag import ZBag


@dataclass(frozen=True)
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

    @property
    def row(self) -> Any:
        """The row as it is now, nested."""
        return self.read()

    @property
    def inserted(self) -> list[Any]:
        """The elements that came."""
        return _listed(self.element, self.elements.positive())

    @property
    def deleted(self) -> list[Any]:
        """The elements that went."""
        return _listed(self.element, self.elements.negative())


@dataclass(frozen=True)
class Change:
    """The change of one view by one commit: rows that came and went, and what changed inside those that stayed."""

    view: str
    version: int
    element: Type
    rows: ZBag
    inner: tuple[Inner, ...] = ()

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


def _listed(element: Type, bag: ZBag) -> list[Any]:
    rows: list[Any] = python_value(Bag(element), bag)
    return rows
