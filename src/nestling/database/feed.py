"""Changes given to ``apply``: Z-bags, or rows with a ``_change_type``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from nestling.calculus.types import Type
from nestling.errors import ChangeError, brief, shown
from nestling.frontend.schema import tabular_rows
from nestling.values.bag import ZBag

#: The columns of a change feed that are not the row's own.
FEED_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")
#: What Spark's change feed calls the ways a row can change.
SIGNS = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
_WAYS = "_change_type is insert, delete, update_preimage or update_postimage"
_NONE: Mapping[str, Type] = MappingProxyType({})


class Pairs:
    """Rows with their multiplicities; the rows need not be hashable."""

    def __init__(self, pairs: Iterable[tuple[Any, int]]) -> None:
        self._pairs = list(pairs)

    def items(self) -> list[tuple[Any, int]]:
        return self._pairs


def z_bag(changes: Any, types: Mapping[str, Type] = _NONE) -> Any:
    """``changes`` with ``items()``: a Z-bag as it is, rows with ``_change_type`` as pairs.

    ``types`` are those of the columns, as far as they are known.
    """
    if isinstance(changes, Mapping | ZBag | Pairs):
        return changes
    rows = tabular_rows(changes, types)
    if rows is None and not isinstance(changes, Iterable):
        raise ChangeError(
            f"a change is a Z-bag or rows that say what happened, not {shown(changes)}", hint=_WAYS
        )
    return Pairs(_signed(row) for row in (changes if rows is None else rows))


def _signed(row: Any) -> tuple[dict[str, Any], int]:
    if not isinstance(row, Mapping) or "_change_type" not in row:
        raise ChangeError(f"a change is a Z-bag or has a column _change_type, not {shown(row)}", hint=_WAYS)
    kind = row["_change_type"]
    if not isinstance(kind, str) or kind not in SIGNS:
        raise ChangeError(f"_change_type {brief(kind)} is unknown", hint=f"one of {', '.join(SIGNS)}")
    # The feed's own columns are not the row's.
    return {name: v for name, v in row.items() if name not in FEED_COLUMNS}, SIGNS[kind]
