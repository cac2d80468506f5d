"""The native engine's account of itself: its entries, their indexes, and their bytes, which are counted."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from nestling._native import Machine
from nestling.engine.described import HasEntries, Places, Plain
from nestling.engine.native.layout import Layouts
from nestling.program.statements import Program
from nestling.program.steps import maps_of


class NativeDescription(Plain):
    """What the native engine says of itself."""

    def __init__(self, engine: HasEntries, core: Machine, layouts: Layouts) -> None:
        super().__init__(engine)
        self._core, self._layouts = core, layouts

    def bytes(self, name: str, indexes: Iterable[Places]) -> int:
        layout = self._layouts.stored[name]
        own, sizes = self._core.bytes(layout.number)
        wanted = [sizes[layout.patterns.index(known)][0] for known in indexes if known in layout.patterns]
        return own + sum(wanted)

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


def view_bytes(description: NativeDescription, program: Program, view: str) -> int:
    """The bytes of the maps that a view is read from and kept by."""
    return sum(description.bytes(name, description.indexes(name)) for name in maps_of(program, view))
