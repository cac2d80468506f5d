"""The embedded engine's account of itself: its dictionaries, their indexes, and its generated functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Protocol

from nestling.engine.described import Places
from nestling.engine.local.codegen import bag_function
from nestling.engine.local.functions import Functions
from nestling.engine.local.sizes import Sized, rough_bytes, slice_size
from nestling.engine.ranges import found_between
from nestling.program.statements import Find, Propagate, Statement
from nestling.quoting import identifier


class HasSource(Sized, Protocol):
    """What is described: stores, and the functions over them."""

    functions: Functions

    def entries(self, name: str) -> int: ...


class LocalDescription:
    """What the embedded engine says of itself."""

    def __init__(self, engine: HasSource) -> None:
        self._engine, self.program = engine, engine.program

    def entries(self, name: str) -> int:
        return self._engine.entries(name)

    def bytes(self, name: str, indexes: Iterable[Places]) -> int:
        return rough_bytes(self._engine, name, indexes)

    def indexes(self, source: str) -> Collection[Places]:
        return self._engine.stores[source].made(self._engine.names)

    def finds(self, source: str, known: Places) -> float:
        return slice_size(self._engine, source, known)

    def between(self, statement: Statement) -> Sequence[Find]:
        return self._ranges.get(id(statement), [])

    @cached_property
    def _ranges(self) -> dict[int, list[Find]]:
        return found_between(self.program)

    def runs(self, statement: Statement) -> list[str]:
        return []  # its own functions do

    def batch(self, table: str, maps: set[str]) -> str:
        return ""  # each row by itself

    def functions(self, view: str, tables: Iterable[str]) -> list[tuple[str, str]]:
        """The triggers of ``tables``, which serve other views as well, and the readers of ``view``."""
        wanted = [f"on_{identifier(table)}{entry}" for table in tables for entry in self._entries(table)]
        wanted += [f"settle_T_{identifier(table)}" for table in tables]
        wanted += ["settle"]
        wanted += [f"{kind}_{identifier(view)}" for kind in ("rows_of", "rows_with")]
        wanted += [bag_function(view, shape) for shape in self.program.views[view].definitions]
        functions = self._engine.functions
        return [(name, functions.function(name).text.strip()) for name in wanted if name in functions.drafts]

    def _entries(self, table: str) -> tuple[str, ...]:
        """The entry points of a trigger; where nothing is passed on, a batch is a loop and not worth showing.

        Nor is an update that only puts the row in its place.
        """
        program, waits = self.program, self.program.deferred
        passes_on = any(
            isinstance(a, Propagate) and a.map not in waits for a in program.triggers[table].actions
        )
        changes = table in program.updates and len(program.updates[table].actions) > 1
        return ("", *["_batch"] * passes_on, *["_update"] * changes)
