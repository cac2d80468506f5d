"""Reading the logs of a watched view as a change.

A log of an inner bag sums, over equal rows, elements times rows. From it and the bag as it is now, the bag as it was
follows: ``m₀·B₀ = m₁·B₁ ⊖ log``, where m₀ and m₁ count the row before and after, together with all that it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, Protocol

from nestling.calculus.types import Record, Type
from nestling.database.change import Change, Inner
from nestling.database.rows import Row
from nestling.transform.viewlet.watch import Watch
from nestling.values.bag import EMPTY, ZBag, add_all
from nestling.values.label import Label


class Levels(tuple[Watch, ...]):
    """The levels of a watched view, outermost first, and how they hang together; none if no log can be kept."""

    @cached_property
    def below(self) -> dict[str, list[Watch]]:
        """Per level, those of the bags inside its elements."""
        return {outer.name: [level for level in self[1:] if level.outer == outer.name] for outer in self}


Answer = Callable[[], tuple[int, ZBag]]


class Logs(Protocol):
    """What the reader of changes asks of an engine."""

    def drain(self, watch: str) -> dict[Row, int]:
        """What was logged of a level."""

    def total(self, watch: str, flat: Row) -> int:
        """How often a level has a row now."""

    def nested(self, view: str, columns: Row, type_: Type) -> Any:
        """A flat row as the value that it stands for."""

    def rows_under(self, view: str, label: Label) -> Iterable[tuple[Row, int]]:
        """The flat rows of an inner bag."""


def read_change(engine: Logs, view: str, version: int, levels: Levels, answer: Answer) -> Change:
    """What the logs of ``view`` say, emptied."""
    reader = _Reader(engine, view, levels)
    rows = reader.rows() if reader.changed else EMPTY
    return Change(view, version, levels[0].element, rows, tuple(reader.inner()), answer, reader.moved)


class _Reader:
    __slots__ = ("below", "changed", "engine", "inner_levels", "logs", "root", "view", "width")

    def __init__(self, engine: Logs, view: str, levels: Levels) -> None:
        self.engine, self.view, self.root = engine, view, levels[0]
        self.below, self.inner_levels = levels.below, levels[1:]
        self.width = len(self.root.query.keys)
        #: Per level, what came and went in the bag that a prefix of columns leads to.
        self.logs: dict[str, dict[Row, dict[Row, int]]] = {}
        for level in levels:
            groups = self.logs[level.name] = {}
            before = level.before
            for key, times in engine.drain(level.name).items():
                if times:
                    groups.setdefault(key[:before], {})[key[before:]] = times
        self.changed = self.logs[self.root.name].get((), {})

    # -- rows

    def rows(self) -> ZBag:
        """The rows that came or went, or that come another number of times and have changed inside."""
        if not self.below[self.root.name]:
            return ZBag((self.now(self.root, flat), times) for flat, times in self.changed.items())
        return add_all(
            self.difference(self.root, (), flat, now, now - times)
            for flat, times in self.changed.items()
            for now in [self.engine.total(self.root.name, flat)]
        )

    def moved(self) -> ZBag:
        """The rows that stayed and have changed inside, as they are, less as they were."""
        stayed = {prefix[: self.width] for level in self.inner_levels for prefix in self.logs[level.name]}
        return add_all(
            self.difference(self.root, (), flat, copies, copies)
            for flat in stayed - self.changed.keys()
            for copies in [self.engine.total(self.root.name, flat)]
        )

    def difference(self, level: Watch, prefix: Row, columns: Row, now: int, before: int) -> ZBag:
        """An element ``now`` times as it is, less ``before`` times as it was."""
        came = ZBag([(self.now(level, columns), now)] if now else [])
        return came - ZBag([(self.past(level, prefix, columns, now, before), before)] if before else [])

    def now(self, level: Watch, columns: Row) -> Any:
        return self.engine.nested(self.view, columns, level.element)

    # -- as it was

    def past(self, level: Watch, prefix: Row, columns: Row, now: int, before: int) -> Any:
        """An element as it was, where it and all around it made ``before`` copies, and make ``now``."""
        whole = (*prefix, *columns)
        bags = {
            inner.position: self.past_bag(inner, whole, columns[inner.position], now, before)
            for inner in self.below[level.name]
        }
        return _tree(iter(enumerate(columns)), level.element, bags)

    def past_bag(self, level: Watch, prefix: Row, label: Label, now: int, before: int) -> ZBag:
        """``before·B₀ = now·B₁ ⊖ log``."""
        here, log = self.here(label) if now else {}, self.logs[level.name].get(prefix, {})
        pairs = []
        for columns in {**here, **log}:
            copies = now * here.get(columns, 0)
            past = copies - log.get(columns, 0)
            if past:
                pairs.append((self.past(level, prefix, columns, copies, past), past // before))
        return ZBag(pairs)

    def here(self, label: Label) -> dict[Row, int]:
        """The flat rows of an inner bag as it is."""
        found: dict[Row, int] = {}
        for row, times in self.engine.rows_under(self.view, label):
            found[row] = found.get(row, 0) + times
        return found

    # -- inside rows that stayed

    def inner(self) -> Iterator[Inner]:
        """The changes inside rows that stayed, outer bags first."""
        told: set[Row] = set(self.changed)
        for level in self.inner_levels:
            for prefix, log in self.logs[level.name].items():
                # Elements that came or went whole are not told again level by level.
                known = prefix in told
                if self.below[level.name]:
                    told |= {(*prefix, *columns) for columns in log}
                if not known:
                    yield self.one(level, prefix, log)

    def one(self, level: Watch, prefix: Row, log: dict[Row, int]) -> Inner:
        # The bag is there as often as the rows and elements around it, multiplied.
        flat, copies = prefix[: self.width], self.engine.total(level.outer, prefix)
        if self.below[level.name]:
            parts = (
                self.difference(level, prefix, columns, now, now - times)
                for columns, times in log.items()
                for now in [self.engine.total(level.name, (*prefix, *columns))]
            )
            elements = ZBag((value, times // copies) for value, times in add_all(parts).items())
        else:
            elements = ZBag([(self.now(level, columns), times // copies) for columns, times in log.items()])
        return Inner(
            _scalars(flat), level.path, level.element, elements, _scalars(prefix[self.width :]),
            lambda: self.engine.nested(self.view, flat, self.root.element), self.root.element,
        )  # fmt: skip


def _tree(columns: Iterator[tuple[int, Any]], type_: Type, bags: dict[int, ZBag]) -> Any:
    """Columns back to a value, with bags for its labels."""
    if isinstance(type_, Record):
        return tuple(_tree(columns, field, bags) for _, field in type_.fields)
    position, value = next(columns)
    return bags.get(position, value)


def _scalars(columns: Row) -> Row:
    return tuple([value for value in columns if not isinstance(value, Label)])
