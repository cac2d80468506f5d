"""A subscriber that believes only what it is told: what it knew, with every change added, is what the view says.

Rows that came and went are added and taken away; what changed inside a row is found by the scalar columns of the row
and of the elements on the way. A JSON Patch is applied by a library that is not ours.
"""

import copy
from collections import Counter
from contextlib import suppress
from typing import Any

import jsonpatch

from nestling.errors import NestlingError
from tests.soak.values import Frozen, counted, difference, frozen

#: How often changes are asked for, besides being told: at every so many checks.
PULLED = 5


class Unclear(Exception):
    """Several elements have the scalar columns that a change names."""


class Follower:
    """What was known of a view, and every change since."""

    def __init__(self, view: Any, version: int) -> None:
        self.view, self.version = view, version
        self.rows: list[Any] = view.rows()
        self.document: Any = copy.deepcopy(list(view.document()))

    def follow(self, change: Any) -> None:
        assert change.version > self.version, "versions come in order"
        self.version = change.version
        self.rows = folded(self.rows, change)
        self.document = jsonpatch.apply_patch(self.document, change.to_json_patch())

    def wrong(self) -> str:
        """How what was told differs from what the view says; nothing if it does not."""
        found, wanted = counted(self.rows), counted(self.view.rows())
        if found != wanted:
            return f"told of {self.view.name}: {difference(found, wanted)}"
        now = list(self.view.document())
        database = self.view._database
        # Stored in another way, or gone and back, elements with equal scalars stand otherwise: the next patch tells.
        is_told = self.version == database.version and database._state.memory is None
        same = ordered if is_told else unordered
        if same(self.document) != same(now):
            return f"patched {self.view.name}: {self.document!r}, not {now!r}"
        return ""


class Watcher:
    """Follows one view by what it is told and, now and then, by what it asks for."""

    def __init__(self, database: Any, name: str, pulls: bool) -> None:
        view = database.views[name]
        self.told = Follower(view, database.version)
        self.asked = Follower(view, database.version) if pulls else None
        self.database, self.view = database, view
        self.checks, self.errors = 0, list[str]()
        if pulls:
            view.changes(since=database.version)
        self.subscription = view.subscribe(self.hear)

    def hear(self, change: Any) -> None:
        """One change, as it is delivered."""
        try:
            self.told.follow(change)
        except Exception as error:  # noqa: BLE001 - what a subscriber raises does not reach who made the change
            self.errors.append(f"told of {self.view.name}: {type(error).__name__}: {error}")

    def wrong(self) -> str:
        """What is wrong by now; nothing if all is well."""
        self.checks += 1
        if self.errors:
            return self.errors[0]
        if self.asked is None or self.checks % PULLED:
            return self.told.wrong()
        try:
            for change in self.view.changes(since=self.asked.version):
                self.asked.follow(change)
        except NestlingError:
            if self.database._state.memory is None:
                raise
            # Stored in another way meanwhile: what was not asked for is told no more, and it starts anew.
            self.asked = Follower(self.view, self.database.version)
        return self.told.wrong() or self.asked.wrong()


def folded(rows: list[Any], change: Any) -> list[Any]:
    """The rows after ``change``, by what it says alone."""
    left = without(rows, change.deleted)
    groups: dict[Any, list[Any]] = {}
    for inner in change.inner:
        groups.setdefault(inner.id[0], []).append(inner)
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
    old, new = [first.was] * first.copies, [first.row] * first.copies
    with suppress(Unclear):  # elements with equal scalars: the rows before and after must do
        assert counted(changed(old, group)) == counted(new), "a row is what its elements make of it"
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


def unordered(value: Any) -> Any:
    """A document whose order does not count."""
    if isinstance(value, dict):
        return tuple((name, unordered(part)) for name, part in value.items())
    return sorted(map(unordered, value), key=repr) if isinstance(value, list) else frozen(value)
