"""Checks at the end of every transaction: eager views are defined, and constraints are empty."""

from __future__ import annotations

from nestling.database.definitions import HIDDEN
from nestling.database.state import State
from nestling.database.violation import violation
from nestling.database.xml.definition import XQueryDef, view_of
from nestling.errors import ChangeError, NestlingError


def check_state(state: State) -> None:
    """Refuse the state that a transaction leads to."""
    constraints = state.views.constraints
    if not constraints and not state.views.checked:
        return
    if refused := state.refused():
        name, absent = refused
        if xquery := owner(state, name):
            raise ChangeError(f"{xquery.name} could not be computed: {absent}", hint="nothing was changed")
        kind = "constraint " if name in constraints else ""
        raise ChangeError(f"{kind}{name} could not be computed: {absent}", hint="nothing was changed")
    for name, definition in constraints.items():
        try:
            rows = state.offending(name)
        except NestlingError as error:
            raise ChangeError(f"constraint {error.what}", hint="nothing was changed") from error
        if rows:
            if (xquery := owner(state, name)) and (message := xquery.message(name)):
                raise ChangeError(message, hint="nothing was changed")
            raise violation(definition, rows)


def owner(state: State, hidden: str) -> XQueryDef | None:
    """The XQuery view that a hidden view belongs to."""
    if not hidden.startswith(HIDDEN):
        return None
    return state.xqueries.get(view_of(hidden))
