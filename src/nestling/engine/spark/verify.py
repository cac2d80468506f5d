"""Verification on Spark: stored maps compared with maps recomputed from the tables.

Every map is recomputed in bulk from the tables, where it can be by another derivation than its triggers, and compared
with the stored map.
Maintained sums of floats round in other places than recomputed ones.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any, Protocol

from nestling.calculus.types import FLOAT, Type
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.relations import summed
from nestling.engine.spark.state import LakeState

TOLERANCE = "1e-6D"


class Computing(Protocol):
    """An engine that computes maps from its tables, in bulk."""

    @property
    def now(self) -> LakeState: ...

    layouts: dict[str, Layout]

    def computed(self, moment: LakeState, maps: Set[str]) -> LakeState: ...
    def arrow(self, text: str) -> Any: ...
    def discard(self) -> None: ...


def wrong_maps(engine: Computing, maps: Set[str]) -> list[str]:
    """Those of ``maps`` that differ from their queries."""
    if not maps:
        return []
    scratch = engine.computed(engine.now, maps)
    names = sorted(maps)
    counts = [
        f"SELECT {number} AS map, count(*) AS n FROM"
        f" ({differing(engine.now.raw(name), scratch.raw(name), engine.layouts[name])})"
        for number, name in enumerate(names)
    ]
    found = engine.arrow(" UNION ALL ".join(counts)).to_pylist()
    engine.discard()
    return [names[row["map"]] for row in found if row["n"]]


def differing(stored: str, meant: str, layout: Layout) -> str:
    """The keys whose measures are not the same."""
    width = range(len(layout.measures))
    types = [type_ for _, type_ in layout.sql[-len(layout.measures) :]]
    here = ", ".join(f"m{i} AS a{i}, CAST(0 AS {type_}) AS b{i}" for i, type_ in enumerate(types))
    there = ", ".join(f"CAST(0 AS {type_}) AS a{i}, m{i} AS b{i}" for i, type_ in enumerate(types))
    before = "".join(f"{name}, " for name in layout.key_names)
    both = (
        f"SELECT {before}{here} FROM ({summed(stored, layout)})"
        f" UNION ALL SELECT {before}{there} FROM ({summed(meant, layout)})"
    )
    sums = ", ".join(f"SUM({side}{i}) AS {side}{i}" for side in "ab" for i in width)
    tests = " OR ".join(_apart(f"a{i}", f"b{i}", measure) for i, measure in enumerate(layout.measures))
    by = f" GROUP BY {', '.join(layout.key_names)}" if layout.keys else ""
    grouped = f"SELECT {before}{sums} FROM ({both}){by}"
    return f"SELECT 1 AS one FROM ({grouped}) WHERE {tests}"


def _apart(left: str, right: str, measure: Type) -> str:
    if measure != FLOAT:
        return f"{left} <> {right}"
    size = f"greatest(1.0D, abs({left}), abs({right}))"
    return f"({left} <> {right} AND NOT coalesce(abs({left} - {right}) <= {TOLERANCE} * {size}, false))"
