"""The refusal of rows that a constraint forbids."""

from __future__ import annotations

from nestling.database.definitions import ViewDef
from nestling.errors import ConstraintError
from nestling.frontend.schema import python_value
from nestling.values.bag import ZBag


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
