"""A subscriber that believes only what it is told: what it knew, with every change added, is what the view says.

Rows that came and went are added and taken away; what changed inside a row is found by the scalar columns of the row
and of the elements on the way. A JSON Patch is applied by a library that is not ours.
"""

import copy
from collections import Counter
from typing import Any

import jsonpatch

from tests.soak.values import Frozen, counted, difference, frozen


class Unclear(Exception):
    """Several rows have the scalar columns that a change names."""


class Watcher:
    """Follows one view."""

    def __init__(self, database: Any, name: str, history: bool) -> None:
        self.view = database.views[name]
        self.rows: list[Any] = self.view.rows()
        self.document = copy.deepcopy(self.view.document()) if hasattr(self.view, "document") else None
        self.unclear = False
        self.told = 0
        self.version = database.version
        self.pulled = history
        if history:
            self.view.changes(since=self.version)
        self.subscription = self.view.subscribe(self.hear)

    def hear(self, change: Any) -> None:
        """One change, as it is delivered."""
        assert change.version > self.version, "versions come in order"
        self.version, self.told = change.version, self.told + 1
        try:
            self.rows = folded(self.rows, change)
        except Unclear:
            self.unclear = True
        if self.document is not None:
            self.document = jsonpatch.apply_patch(self.document, change.to_json_patch())

    def wrong(self) -> str:
        """How what was told differs from what the view says; nothing if it does not."""
        now = self.view.rows()
        if self.unclear:
            self.rows, self.unclear = now, False
        found, wanted = counted(self.rows), counted(now)
        if found != wanted:
            return f"told of {self.view.name}: {difference(found, wanted)}"
        if self.document is not None and ordered(self.document) != ordered(self.view.document()):
            return f"patched {self.view.name}: {self.document!r}, not {self.view.document()!r}"
        return ""


def folded(rows: list[Any], change: Any) -> list[Any]:
    """The rows after ``change``, by what it says alone."""
    left = without(rows, change.deleted)
    groups: dict[Any, list[Any]] = {}
    for inner in change.inner:
        groups.setdefault(getattr(inner, "id", (inner.key,))[0], []).append(inner)
    for group in groups.values():
        left = changed_inside(left, group)
    return left + list(change.inserted)


def without(rows: list[Any], gone: list[Any]) -> list[Any]:
    """Rows less some of them; every one that goes must be there."""
    due: Counter[Frozen] = counted(gone)
    left = []
    for row in rows:
        if due[frozen(row)]:
            due[frozen(row)] -= 1
        else:
            left.append(row)
    assert not +due, f"what goes was not there: {dict(+due)!r}"
    return left


def changed_inside(rows: list[Any], group: list[Any]) -> list[Any]:
    """The rows with bags of one row changed, or of several rows that are equal."""
    first = group[0]
    if not hasattr(first, "was"):
        fits = [row for row in rows if scalars(row) == frozen(tuple(first.key))]
        if len(fits) != 1:
            raise Unclear
        return [*without(rows, fits), *changed(fits, group)]
    old = [first.was] * first.copies
    new = changed(old, group)
    assert counted(new) == counted([first.row] * first.copies), "a row is what its elements make of it"
    return [*without(rows, old), *new]


def changed(rows: list[Any], group: list[Any]) -> list[Any]:
    for inner in group:
        rows = [inside(row, inner.path, tuple(inner.within), inner) for row in rows]
    return rows


def inside(row: Any, path: tuple[str, ...], within: tuple[Any, ...], inner: Any) -> Any:
    """A record with the bag that ``path`` leads to changed."""
    bag = getattr(row, path[0])
    if len(path) == 1:
        new = without(bag, inner.deleted) + list(inner.inserted)
        return row._replace(**{path[0]: new})
    width = len(scalars(bag[0])) if bag else 0
    fits = [place for place, element in enumerate(bag) if scalars(element) == frozen(within[:width])]
    if len(fits) != 1:
        raise Unclear
    element = inside(bag[fits[0]], path[1:], within[width:], inner)
    new = [*bag[: fits[0]], element, *bag[fits[0] + 1 :]]
    return row._replace(**{path[0]: new})


def scalars(row: Any) -> tuple[Any, ...]:
    """The columns of a row that are no bags."""
    return tuple(frozen(part) for part in row if not isinstance(part, list))


def ordered(value: Any) -> Any:
    """A document whose order counts, with NaN equal to itself."""
    if isinstance(value, list):
        return [ordered(part) for part in value]
    if isinstance(value, dict):
        return {name: ordered(part) for name, part in value.items()}
    return frozen(value)
