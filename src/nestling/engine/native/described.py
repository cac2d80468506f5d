"""The native engine's account of itself: its entries, their indexes, and their bytes, which are counted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property

from nestling._native import Machine
from nestling.engine.described import Described, HasEntries, Places, Plain
from nestling.engine.native.layout import Layouts
from nestling.engine.ranges import found_between
from nestling.program.statements import Find, Statement
from nestling.program.steps import maps_of


class NativeDescription(Plain):
    """What the native engine says of itself; ``in_python`` is what the engine says that it would move to."""

    def __init__(
        self, engine: HasEntries, core: Machine, layouts: Layouts, in_python: Callable[[], Described]
    ) -> None:
        super().__init__(engine)
        self._core, self._layouts, self._in_python = core, layouts, in_python

    def bytes(self, name: str, indexes: Iterable[Places]) -> int:
        layout = self._layouts.stored[name]
        own, sizes = self._core.bytes(layout.number)
        wanted = [sizes[layout.patterns.index(known)][0] for known in indexes if known in layout.patterns]
        return own + sum(wanted)

    def view_bytes(self, view: str) -> int:
        """Of the maps that a view is read from and kept by."""
        return sum(self.bytes(name, self.indexes(name)) for name in maps_of(self.program, view))

    def indexes(self, source: str) -> Collection[Places]:
        return self._layouts.stored[source].patterns

    def finds(self, source: str, known: Places) -> float:
        layout, total = self._layouts.stored[source], self.entries(source)
        if set(layout.key) <= set(known):
            return float(min(total, 1))
        if known not in layout.patterns:
            return float(total)
        _, sizes = self._core.bytes(layout.number)
        return round(total / max(sizes[layout.patterns.index(known)][1], 1), 1)

    def between(self, statement: Statement) -> Sequence[Find]:
        return self._between.get(id(statement), [])

    @cached_property
    def _between(self) -> dict[int, list[Find]]:
        return found_between(self.program)

    def functions(self, view: str, tables: Iterable[str]) -> list[tuple[str, str]]:
        """What it runs, as functions of Python: byte code is not for people, and does what these do."""
        return [(name, f"{AS_BYTE_CODE}\n{text}") for name, text in self._in_python().functions(view, tables)]


AS_BYTE_CODE = "# Run as byte code, which does what this does."
