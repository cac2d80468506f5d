"""The refusal of rows that a constraint forbids."""

from __future__ import annotations

from nestling.database.definitions import ViewDef
from nestling.database.document.sorting import columns_of, key_of, places
from nestling.errors import ConstraintError
from nestling.frontend.schema import python_value
from nestling.values.bag import ZBag


def violation(definition: ViewDef, rows: ZBag) -> ConstraintError:
    """The refusal of rows that a constraint forbids, in the order of documents: no engine's own is seen."""
    element = definition.element
    compared = places(element)
    in_order = sorted(rows, key=lambda row: key_of(columns_of(element, row), compared))
    shown = tuple(python_value(element, row) for row in in_order)
    some = ", ".join(map(str, shown[:3])) + (", …" if len(shown) > 3 else "")
    return ConstraintError(
        f"constraint {definition.name} would be broken by {some}",
        constraint=definition.name,
        rows=shown,
        hint="nothing was changed",
    )
