"""Checks at the end of every transaction: eager views are defined, and constraints are empty."""

from __future__ import annotations

from nestling.database.definitions import ViewDef
from nestling.database.state import State
from nestling.database.xml.definition import HIDDEN, XQueryDef
from nestling.errors import ChangeError, ConstraintError, NestlingError
from nestling.frontend.schema import python_value
from nestling.values.bag import ZBag


def check_state(state: State) -> None:
    """Refuse the state that a transaction leads to."""
    constraints = state.views.constraints
    if refused := state.refused():
        name, absent = refused
        if xquery := owner(state, name):
            raise ChangeError(f"{xquery.name} could not be computed: {absent}", hint="nothing was changed")
        kind = "constraint " if name in constraints else ""
        raise ChangeError(f"{kind}{name} could not be computed: {absent}", hint="nothing was changed")
    for name, definition in constraints.items():
        try:
            rows = state.read(name)
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
    return state.xqueries.get(hidden[3:].rpartition(" ")[0])


def violation(definition: ViewDef, rows: ZBag) -> ConstraintError:
    """The refusal of rows that a constraint forbids."""
    shown = tuple(python_value(definition.element, row) for row in rows)
    some = ", ".join(map(str, shown[:3])) + (", …" if len(shown) > 3 else "")
    return ConstraintError(
        f"constraint {definition.name} would be broken by {some}",
        constraint=definition.name,
        rows=shown,
        hint="nothing was changed",
    )
