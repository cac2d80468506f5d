"""What an engine says of itself: how much it stores, what finds it, and who runs what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol, TypeAlias

from nestling.program.statements import Find, Program, Statement

#: Columns of a table, by their positions.
Places: TypeAlias = tuple[int, ...]


class Described(Protocol):
    """A program as an engine runs it."""

    @property
    def program(self) -> Program:
        """What it runs."""

    def entries(self, name: str) -> int:
        """How many entries a map has, or rows a table."""

    def bytes(self, name: str, indexes: Iterable[Places]) -> int:
        """Roughly, the bytes of a table or map, and of some of its indexes."""

    def indexes(self, source: str) -> Collection[Places]:
        """The columns that a table or map is indexed by."""

    def finds(self, source: str, known: Places) -> float:
        """How many entries have the same at ``known``, on average."""

    def between(self, statement: Statement) -> Sequence[Find]:
        """The slices of which it visits only what lies between two bounds."""

    def runs(self, statement: Statement) -> list[str]:
        """Who runs a statement on a small change, and what its sources cost there; nothing where that is plain."""

    def batch(self, table: str, maps: set[str]) -> str:
        """What a batch of a table takes, for some maps; nothing where that is plain."""

    def functions(self, view: str, tables: Iterable[str]) -> list[tuple[str, str]]:
        """The generated functions that serve a view, by name, those of the changes of ``tables`` first."""


class HasEntries(Protocol):
    """An engine of which nothing else is known."""

    @property
    def program(self) -> Program: ...
    def entries(self, name: str) -> int: ...


class Plain:
    """What can be said of any engine that has entries: it looks at all of them."""

    def __init__(self, engine: HasEntries) -> None:
        self._engine = engine
        self.program = engine.program

    def entries(self, name: str) -> int:
        return self._engine.entries(name)

    def bytes(self, name: str, indexes: Iterable[Places]) -> int:
        return 0

    def indexes(self, source: str) -> Collection[Places]:
        return ()

    def finds(self, source: str, known: Places) -> float:
        return float(self.entries(source))

    def between(self, statement: Statement) -> Sequence[Find]:
        return ()

    def runs(self, statement: Statement) -> list[str]:
        return []

    def batch(self, table: str, maps: set[str]) -> str:
        return ""

    def functions(self, view: str, tables: Iterable[str]) -> list[tuple[str, str]]:
        return []
