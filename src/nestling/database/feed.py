"""Changes given to ``apply``: Z-bags, or rows with a ``_change_type``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from nestling.calculus.types import Type
from nestling.errors import ChangeError, brief, shown
from nestling.frontend.schema import tabular_rows
from nestling.values.bag import ZBag

#: The columns of a change feed that are not the row's own: Delta's, and what Iceberg's has beside the first.
FEED_COLUMNS = (
    "_change_type",
    "_commit_version",
    "_commit_timestamp",
    "_change_ordinal",
    "_commit_snapshot_id",
)
#: What Delta's change feed calls the ways a row can change, and Iceberg's. Rows of several commits add up to what they
#: change together, in whatever order they come.
SIGNS = {
    "insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1,
    "INSERT": 1, "UPDATE_AFTER": 1, "DELETE": -1, "UPDATE_BEFORE": -1,
}  # fmt: skip
_WAYS = "_change_type is insert, delete, update_preimage or update_postimage; of Iceberg INSERT, DELETE and UPDATE_…"
_NONE: Mapping[str, Type] = MappingProxyType({})


def check_feed(name: str, columns: Iterable[str]) -> None:
    """Refuse a feed of what has columns with names of a feed's: which of both a value is of, nobody can say."""
    if clash := set(columns) & set(FEED_COLUMNS):
        raise ChangeError(
            f"{name} has a column {min(clash)} of its own, and so has a change feed",
            hint="give a Z-bag, {row: times}, or rename the column",
        )


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
