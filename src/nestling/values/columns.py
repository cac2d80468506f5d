"""A value in flat columns: records are laid out, everything else is one column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def columns(value: Any) -> Iterator[Any]:
    """The columns of a value, left to right; ``calculus.types.leaf_types`` are their types.

    >>> list(columns((1, ("a", ()), (2, ("b",)))))
    [1, 'a', 2, 'b']
    """
    if type(value) is tuple:
        for part in value:
            yield from columns(part)
    else:
        yield value
