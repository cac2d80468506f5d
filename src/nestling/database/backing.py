"""Where a database is stored, whatever it is: what a commit and a definition ask of it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from itertools import count
from typing import Protocol

from nestling.calculus.fixpoint import Fixpoint
from nestling.database.definitions import TableDef, ViewDef
from nestling.database.journal import Journal
from nestling.database.state import State
from nestling.database.xml.definition import XQueryDef

Definition = TableDef | ViewDef | XQueryDef | Fixpoint


class Backing(Protocol):
    """Where a database is stored: a file, or a folder."""

    @property
    def version(self) -> int:
        """How many changes were stored, as far as is known."""

    @property
    def numbers(self) -> count[int]:
        """The names of the bags that no key names."""

    @property
    def edits(self) -> int:
        """How often definitions in it have changed."""

    def take_up(self) -> None:
        """Go on from where it is: it was read again."""

    def doubting(self) -> AbstractContextManager[None]:
        """A block in which definitions change, here and there."""

    def append(self, journal: Journal) -> None:
        """Store a change; it survives whatever happens next once this returns."""

    def has_stored(self, version: int) -> bool:
        """Whether it has a change after ``version`` that was cut off and can be told of as if it had not been."""

    def tidy(self, state: State) -> None:
        """Do what is due after a commit."""

    def define(self, kind: str, definition: TableDef | ViewDef, state: State) -> None:
        """Store a definition."""

    def define_again(self, names: Iterable[str], state: State) -> None:
        """Store how some views are stored from now on."""

    def redefine(
        self, new: Iterable[tuple[str, Definition]], gone: Iterable[tuple[str, str]], state: State
    ) -> None:
        """Store definitions, each with its kind, and forget others, all at once."""

    def close(self) -> None:
        """End its use."""
