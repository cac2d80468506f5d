"""Reading the logs of a watched view as a change.

A log of an inner bag sums, over equal rows, elements times rows. From it and the bag as it is now, the bag as it was
follows: ``m₀·B₀ = m₁·B₁ ⊖ log``, where m₀ and m₁ count the row before and after.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nestling.calculus.types import Bag, Path, Record, Type
from nestling.database.change import Change, Inner
from nestling.database.rows import Row
from nestling.engine.local.engine import LocalEngine
from nestling.transform.viewlet.watch import Watch
from nestling.values.bag import ZBag
from nestling.values.label import Label


def read_change(engine: LocalEngine, view: str, version: int, levels: list[Watch]) -> Change:
    """What the logs of ``view`` say, emptied."""
    logs = {level.path: engine.drain(level.name) for level in levels}
    rows = {row: times for row, times in logs[()].items() if times}
    reader = _Reader(engine, view, levels, logs)
    changed = ZBag((reader.row(flat, times), times) for flat, times in rows.items())
    inner = tuple(reader.inner(set(rows)))
    return Change(view, version, engine.program.views[view].element, changed, inner)


class _Reader:
    def __init__(
        self, engine: LocalEngine, view: str, levels: list[Watch], logs: dict[Path, dict[Row, int]]
    ) -> None:
        self.engine, self.view, self.levels, self.logs = engine, view, levels, logs
        self.element = levels[0].element

    def row(self, flat: Row, times: int) -> Any:
        """A row that came, as it is; a row that went, as it was."""
        if times > 0:
            return self.engine.nested(self.view, flat, self.element)
        return self.past(iter(flat), self.element, flat, (), -times)

    def past(self, columns: Iterator[Any], type_: Type, prefix: Row, path: Path, times: int) -> Any:
        match type_:
            case Record(fields):
                return tuple(
                    self.past(columns, field, prefix, (*path, name), times) for name, field in fields
                )
            case Bag(element, False):
                next(columns)
                return self.past_bag(element, prefix, path, times)
        return next(columns)

    def past_bag(self, element: Type, prefix: Row, path: Path, times: int) -> ZBag:
        """The bag of a row that went: what its log lost, shared among the copies of the row."""
        lost = [(key[len(prefix) :], -n) for key, n in self.under(path, prefix) if n]
        return ZBag((self.past(iter(row), element, (*prefix, *row), path, n), n // times) for row, n in lost)

    def under(self, path: Path, prefix: Row) -> list[tuple[Row, int]]:
        width = len(prefix)
        return [(key, n) for key, n in self.logs[path].items() if key[:width] == prefix]

    def inner(self, changed: set[Row]) -> Iterator[Inner]:
        """The changes inside rows that stayed."""
        root = len(self.levels[0].query.keys)
        done: set[Row] = set(changed)
        for level in self.levels[1:]:
            groups: dict[Row, list[tuple[Row, int]]] = {}
            for key, times in self.logs[level.path].items():
                if times and key[:root] not in changed and key[: level.before] not in done:
                    groups.setdefault(key[: level.before], []).append((key[level.before :], times))
            for prefix, elements in groups.items():
                yield self.one(level, prefix, root, elements)
                # Elements that came or went whole are not told again level by level.
                done |= {(*prefix, *columns) for columns, _ in elements}

    def one(self, level: Watch, prefix: Row, root: int, elements: list[tuple[Row, int]]) -> Inner:
        flat = prefix[:root]
        copies = self.engine.row_count(self.view, flat)
        pairs = [
            (self.element_of(level, prefix, columns, times), times // copies) for columns, times in elements
        ]
        return Inner(
            _scalars(flat), level.path, level.element, ZBag(pairs), _scalars(prefix[root:]),
            lambda: self.engine.nested(self.view, flat, self.element), self.element,
        )  # fmt: skip

    def element_of(self, level: Watch, prefix: Row, columns: Row, times: int) -> Any:
        if times > 0:
            return self.engine.nested(self.view, columns, level.element)
        return self.past(iter(columns), level.element, (*prefix, *columns), level.path, -times)


def _scalars(columns: Row) -> Row:
    return tuple(value for value in columns if not isinstance(value, Label))
