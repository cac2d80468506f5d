"""What a change did, and what it took."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Refresh(NamedTuple):
    """The result of one change or transaction.

    ``version`` counts committed changes; ``events`` the flat rows that came or went, ``tables`` by table;
    ``statements`` the maintenance statements of the triggers that ran; ``changes`` holds what changed in each
    view that is watched.
    """

    version: int
    seconds: float
    events: int
    statements: int
    tables: Mapping[str, int] = _NOTHING
    changes: Mapping[str, Any] = _NOTHING
