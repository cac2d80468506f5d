"""Evaluating the logs of a view as a change.

A log of an inner bag sums, over equal rows, elements times rows. From it and the bag as it is now, the bag as it was
follows: ``m₀·B₀ = m₁·B₁ ⊖ log``, where m₀ and m₁ count the row before and after, together with all that it is in. The
same holds of the sum of several logs, and so a change can be read when others have followed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from nestling.calculus.types import Record, Scalar, Type
from nestling.database.change import Change, InnerChange, Stayed
from nestling.database.rows import Row
from nestling.transform.viewlet.watch import Watch
from nestling.values.bag import EMPTY, ZBag, add_all
from nestling.values.label import Label

#: Per level, what came and went, each with all around it; nothing that is there zero times.
Logs = Mapping[str, Mapping[Row, int]]
#: The same by what is around it.
Grouped = dict[str, dict[Row, dict[Row, int]]]


class WatchedLevels(tuple[Watch, ...]):
    """The levels of a watched view, outermost first, and how they hang together; none if no log can be kept."""

    @cached_property
    def below(self) -> dict[str, list[Watch]]:
        """Per level, those of the bags inside its elements."""
        return {outer.name: [level for level in self[1:] if level.outer == outer.name] for outer in self}

    @cached_property
    def around(self) -> dict[str, Watch]:
        """Per inner level, the one around it."""
        return {level.name: outer for level in self[1:] for outer in self if level.outer == outer.name}

    @cached_property
    def parts(self) -> dict[str, list[slice]]:
        """Per level, which of its columns are those of each level on the way to it, and its own."""
        found: dict[str, list[slice]] = {}
        for level in self:
            found[level.name] = [*found.get(level.outer, ()), slice(level.before, len(level.query.keys))]
        return found

    @cached_property
    def flat(self) -> dict[str, Callable[[Row], Any] | None]:
        """Per level, how columns become the element where no bag and no record is inside it."""
        return {level.name: _made(level.element) for level in self}


def _made(element: Type) -> Callable[[Row], Any] | None:
    if isinstance(element, Scalar):
        return itemgetter(0)
    is_flat = isinstance(element, Record) and all(isinstance(type_, Scalar) for type_ in element.types)
    return tuple if is_flat else None


class CurrentView(Protocol):
    """The current view, as the evaluation of a change reads it."""

    def total(self, watch: str, flat: Row) -> int:
        """How often a level has a row."""

    def nested(self, view: str, columns: Row, type_: Type) -> Any:
        """A flat row as the value that it stands for."""

    def rows_under(self, view: str, label: Label) -> Iterable[tuple[Row, int]]:
        """The flat rows of an inner bag."""


class Taken(NamedTuple):
    """What a commit did to a view: its logs, or, for a view without logs, its inserted and deleted rows.

    ``source``: the view as the commit left it, if it is known already.
    """

    logs: Logs
    rows: ZBag | None = None
    source: CurrentView | None = None


def is_change(levels: WatchedLevels, logs: Logs) -> bool | None:
    """Whether ``logs`` say that a view changed; None: they may cancel out, as rows that differ only in labels do."""
    unclear: set[str] = set()
    for level in levels:
        log = logs.get(level.name)
        if level.outer in unclear:
            unclear.add(level.name)
        elif log:
            if not levels.below[level.name] or sum(log.values()) != 0:
                return True
            unclear.add(level.name)
    return None if unclear else False


def added(parts: Iterable[Logs]) -> Logs:
    """The sum of logs."""
    total: dict[str, dict[Row, int]] = {}
    for logs in parts:
        for name, log in logs.items():
            mine = total.setdefault(name, {})
            for key, times in log.items():
                mine[key] = mine.get(key, 0) + times
    return total


class Reader:
    """What ``logs`` say of a view that ``source`` knows; ``later``: what was logged since, and is not to be seen."""

    __slots__ = (
        "changed",
        "inner_levels",
        "later",
        "levels",
        "logs",
        "past_logs",
        "root",
        "source",
        "view",
        "width",
    )

    def __init__(
        self, source: CurrentView, view: str, levels: WatchedLevels, logs: Logs, later: Logs | None = None
    ) -> None:
        self.source, self.view, self.levels = source, view, levels
        self.root, self.inner_levels = levels[0], levels[1:]
        self.width = len(self.root.query.keys)
        self.logs = _grouped(levels, logs)
        self.later = _grouped(levels, later) if later else None
        #: What separates the view as it is from the view as it was before.
        self.past_logs = _grouped(levels, added((logs, later))) if later else self.logs
        self.changed = self.logs.get(self.root.name, {}).get((), {})

    # -- rows

    def rows(self) -> ZBag:
        """The rows that came or went, or that come another number of times and have changed inside."""
        if not self.changed:
            return EMPTY
        if not self.levels.below[self.root.name]:
            return self.elements(self.root, self.changed, 1)
        return add_all(self.difference(self.root, (), flat, n) for flat, n in self.changed.items())

    def stayed(self) -> dict[Row, None]:
        """The rows that have changed only inside."""
        prefixes = (prefix for level in self.inner_levels for prefix in self.logs.get(level.name, ()))
        found = dict.fromkeys(prefix[: self.width] for prefix in prefixes)
        return {flat: None for flat in found if flat not in self.changed}

    def stayed_rows(self) -> Stayed:
        """The rows that have changed only inside: as they were, as they are, and how many are equal."""
        found: Stayed = {}
        for flat in self.stayed():
            here, now = self.copies(self.root, (), flat)
            was = self.at(self.past_logs, self.root, (), flat, here, now)
            found[flat] = was, self.at(self.later, self.root, (), flat, here, now), now
        return found

    def row(self, flat: Row, after: bool) -> Any:
        """A row that stayed, as it is or as it was."""
        here, now = self.copies(self.root, (), flat)
        return self.at(self.later if after else self.past_logs, self.root, (), flat, here, now)

    # -- now and then

    def copies(self, level: Watch, prefix: Row, columns: Row) -> tuple[int, int]:
        """How often an element and all around it are there, and were after this change."""
        here = self.source.total(level.name, prefix + columns)
        if self.later is None:
            return here, here
        return here, here - self.later.get(level.name, {}).get(prefix, {}).get(columns, 0)

    def difference(self, level: Watch, prefix: Row, columns: Row, times: int) -> ZBag:
        """An element as it is, less as it was, as often as that was."""
        here, now = self.copies(level, prefix, columns)
        before = now - times
        came = [(self.at(self.later, level, prefix, columns, here, now), now)] if now else []
        went = [(self.at(self.past_logs, level, prefix, columns, here, before), -before)] if before else []
        return ZBag([*came, *went])

    def at(self, logs: Grouped | None, level: Watch, prefix: Row, columns: Row, here: int, then: int) -> Any:
        """An element before ``logs``, when it and all around it made ``then`` copies, and make ``here``."""
        if not logs:
            return self.source.nested(self.view, columns, level.element)
        whole = prefix + columns
        bags = {
            inner.position: self.bag_at(logs, inner, whole, columns[inner.position], here, then)
            for inner in self.levels.below[level.name]
        }
        return _tree(iter(enumerate(columns)), level.element, bags)

    def bag_at(self, logs: Grouped, level: Watch, prefix: Row, label: Label, here: int, then: int) -> ZBag:
        """``then·B₀ = here·B₁ ⊖ log``."""
        rows, log = self.under(label) if here else {}, logs.get(level.name, {}).get(prefix, {})
        pairs = []
        for columns in {**rows, **log}:
            copies = here * rows.get(columns, 0)
            past = copies - log.get(columns, 0)
            if past:
                pairs.append((self.at(logs, level, prefix, columns, copies, past), past // then))
        return ZBag(pairs)

    def under(self, label: Label) -> dict[Row, int]:
        """The flat rows of an inner bag as it is."""
        found: dict[Row, int] = {}
        for row, times in self.source.rows_under(self.view, label):
            found[row] = found.get(row, 0) + times
        return found

    # -- inside rows that stayed

    def inner(self, change: Change) -> Iterator[InnerChange]:
        """The changes inside rows that stayed, outer bags first."""
        told: set[Row] = set(self.changed)
        below = self.levels.below
        for level in self.inner_levels:
            for prefix, log in self.logs.get(level.name, {}).items():
                # Elements that came or went whole are not told again level by level.
                known = prefix in told
                if below[level.name]:
                    told |= {prefix + columns for columns in log}
                if not known and (inner := self.one(change, level, prefix, log)) is not None:
                    yield inner

    def one(self, change: Change, level: Watch, prefix: Row, log: Mapping[Row, int]) -> InnerChange | None:
        # The bag is there as often as the rows and elements around it, multiplied.
        outer = self.levels.around[level.name]
        _, copies = self.copies(outer, prefix[: outer.before], prefix[outer.before :])
        if self.levels.below[level.name]:
            parts = add_all(self.difference(level, prefix, columns, n) for columns, n in log.items())
            elements = ZBag((value, times // copies) for value, times in parts.items())
        else:
            elements = self.elements(level, log, copies)
        if not elements:
            return None
        id_ = tuple([prefix[part] for part in self.levels.parts[outer.name]])
        rows = copies if len(id_) == 1 else self.copies(self.root, (), id_[0])[1]
        return InnerChange(change, id_, level.path, level.element, elements, rows)

    def elements(self, level: Watch, log: Mapping[Row, int], copies: int) -> ZBag:
        """What a log of elements without bags says of one copy of their bag."""
        make, view, element = self.levels.flat[level.name], self.view, level.element
        if make is not None:
            return ZBag([(make(columns), n // copies) for columns, n in log.items()])
        return ZBag([(self.source.nested(view, columns, element), n // copies) for columns, n in log.items()])


def _grouped(levels: WatchedLevels, logs: Logs) -> Grouped:
    found: Grouped = {}
    for level in levels:
        if log := logs.get(level.name):
            groups = found[level.name] = {}
            before = level.before
            for key, times in log.items():
                if times:
                    groups.setdefault(key[:before], {})[key[before:]] = times
    return found


def _tree(columns: Iterator[tuple[int, Any]], type_: Type, bags: dict[int, ZBag]) -> Any:
    """Columns back to a value, with bags for its labels."""
    if isinstance(type_, Record):
        return tuple(_tree(columns, field, bags) for _, field in type_.fields)
    position, value = next(columns)
    return bags.get(position, value)
