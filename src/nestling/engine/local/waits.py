"""Updates that wait, as generated functions have them: noted by key, and run when something needs it."""

from __future__ import annotations

from collections.abc import Sequence

from nestling.engine.local.loops import key_of
from nestling.engine.local.storage import Store
from nestling.engine.local.writes import rewrite_row
from nestling.engine.python.source import SourceWriter


def run_first(out: SourceWriter, stores: Sequence[Store]) -> None:
    """What waits for these tables is run before what follows."""
    for store in stores:
        with out.block(f"if {store.waits}:"):
            out.line(f"settle_{store.python}()")


def note_update(
    out: SourceWriter, store: Store, columns: Sequence[str], old: Sequence[str], kept: bool
) -> None:
    """Put the new row in its place, and note what maps have seen last of it."""
    if kept:
        rewrite_row(out, store, columns, old)
    out.line(f"key = {key_of([columns[i] for i in store.key])}")
    out.line(f"change = {store.waits}.pop(key, None)")
    with out.block("if change is not None:"):
        out.line("old = change[0]")
    with out.block("if old != row:"):
        out.line(f"{store.waits}[key] = old, row")
