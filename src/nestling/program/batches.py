"""Trigger programs for batches: the change of a source is a source of its own.

Where a batch of rows arrives at once, a statement does not start from one row but from the relation of all of them.
``ΔR`` holds the rows of the batch with how often each comes. ``ΔN`` of a map that is passed on holds the keys that
changed, each with its measures before and after; of an ordered map, ``ΔN·min`` holds the groups whose least value
changed, each with the value before and after.
"""

from __future__ import annotations

CHANGE = "Δ"


def change_of(source: str, aggregate: str = "") -> str:
    """The name of what changes in ``source``.

    >>> change_of("M"), change_of("L1", "min")
    ('ΔM', 'ΔL1·min')
    """
    return f"{CHANGE}{source}·{aggregate}" if aggregate else f"{CHANGE}{source}"


def is_change(source: str) -> bool:
    """Whether ``source`` is what changes in another."""
    return source.startswith(CHANGE)
