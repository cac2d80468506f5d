"""The row that an inner bag is in, by the bag's label: a label of a keyed table is made from the key.

So a look-up by label is one by key, and reads the groups of rows that may have the key.

Law: every row that has one of the labels has one of the keys as its first column.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from nestling.calculus.types import INT, LABEL, STR
from nestling.engine.protocol import Row
from nestling.engine.spark.columns import Layout

#: Types of keys that Python and Spark write alike into a label; the others are numbered by Spark.
_WRITTEN = (INT, STR)


def is_labelled(layout: Layout, positions: Sequence[int]) -> bool:
    """Whether one of the columns says what the first one is."""
    return _label(layout, positions) is not None


def first_keys(layout: Layout, positions: Sequence[int], wanted: Set[Row]) -> list[Any] | None:
    """The first column of all rows that have one of ``wanted`` at ``positions``; ``None`` where that is not known."""
    at = _label(layout, positions)
    if at is None:
        return None
    place, width = layout.key.index(0), len(layout.key)
    found = [part[at].environment for part in wanted]
    return [values[place] for values in found] if all(len(values) == width for values in found) else None


def labelled_keys(layout: Layout, place: int, labels: Any) -> Any:
    """The same for a column of labels, where the first column is an int and the whole key."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if layout.key != (0,) or layout.keys[0] != INT or not is_labelled(layout, (place,)):
        return None
    found = pc.extract_regex(labels, r"^s\d+:.*\(i(?P<key>-?\d+);\)$")
    return None if found.null_count else pc.struct_field(found, 0).cast(pa.int64())


def _label(layout: Layout, positions: Sequence[int]) -> int | None:
    if 0 in positions or 0 not in layout.key or not all(layout.keys[p] in _WRITTEN for p in layout.key):
        return None
    return next((i for i, p in enumerate(positions) if layout.keys[p] == LABEL), None)
