"""What a front end makes of the text of a view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from nestling.calculus.terms import Expr
from nestling.frontend.catalog import FieldPath

#: By what stands at these paths in a row, each descending or not; an absent one is less than any other.
Order: TypeAlias = tuple[tuple[FieldPath, bool], ...]


@dataclass(frozen=True, slots=True)
class ViewQuery:
    """The bag that a view is, and the order that it is read in, if its text ends with one."""

    expr: Expr
    order: Order = ()
