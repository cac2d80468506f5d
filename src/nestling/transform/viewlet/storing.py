"""What is stored of a view: the materialisation knob, spelled out.

Every choice is right (law 9), because each map equals its query; they differ in what a change, a read and memory cost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from nestling.program.flat import Shape
from nestling.transform.cost.statistics import ASSUMED, Statistics
from nestling.transform.lower import FlatView

#: The knob as a user turns it; ``"none"`` has no program, and does not come here.
Store: TypeAlias = Literal["auto", "full", "counts"]

#: Which components of a statement become maps. ``keys``: those that declared keys do not answer as well; ``slices``:
#: those that would visit many rows; ``every``: all that are not a table as it stands; ``none``: tables are read.
Rule: TypeAlias = Literal["keys", "slices", "every", "none"]


@dataclass(frozen=True)
class Storing:
    """``rows``: the answer is a map. ``bags``: the shapes of labels whose bags are stored whole.

    ``computes``: maps may be keyed by what is computed of rows, to find them by it.
    """

    rule: Rule
    rows: bool = False
    bags: frozenset[Shape] = frozenset()
    statistics: Statistics = field(default=ASSUMED, compare=False)
    computes: bool = True


BY_KEYS, EVERY = Storing("keys"), Storing("every")


def storing(knob: Store | Storing, view: FlatView) -> Storing:
    """What ``knob`` stands for; ``"auto"`` by declared keys alone, where nobody counted rows."""
    match knob:
        case "auto":
            return BY_KEYS
        case "full":
            return Storing("every", rows=True, bags=frozenset(view.definitions))
        case "counts":
            return Storing("none")
    return knob
