"""References of a file that lead nowhere: found when it is opened, and not relied on.

Earlier versions let rows go that others referred to. Such a file opens, so that it can be mended; but programs leave
out parents that a kept reference promises, and then would answer for rows that have none.

Law: after opening, every reference that ``declarations`` lists leads somewhere in every row.
"""

from __future__ import annotations

import warnings
from pathlib import Path

from nestling.database.row_state import RowState
from nestling.database.rows import Row
from nestling.errors import DanglingReference
from nestling.program.statements import TableDecl


def without_dangling(state: RowState, path: Path) -> None:
    """Compute the views of ``state`` anew without the references that lead nowhere; if there are such, tell."""
    decls = state.declarations()
    found = {
        (name, places): row
        for name, decl in decls.items()
        for places, parent in decl.references
        if (row := _first(state, name, places, parent)) is not None
    }
    if not found:
        return
    state.dangling = frozenset(found)
    state.reinstall()
    state.rebuild()
    for (name, places), row in found.items():
        columns = ", ".join(_column(decls[name], place) for place in places)
        key = ", ".join(repr(row[place]) for place in places)
        warnings.warn(
            DanglingReference(
                f"{columns} of {name} leads nowhere in some rows of {path}: {key:.60} is one such key\n"
                "hint: delete or update these rows and open the file again; until then views do not rely on it"
            ),
            stacklevel=2,
        )


def _first(state: RowState, name: str, places: tuple[int, ...], parent: str) -> Row | None:
    """The first row of a table whose reference leads nowhere."""
    by_key = state.engine.by_key
    return next(
        (row for row in state.engine.rows(name) if by_key(parent, tuple([row[i] for i in places])) is None),
        None,
    )


def _column(decl: TableDecl, place: int) -> str:
    return decl.columns[place].name.removeprefix(f"{decl.name}.")
