"""The arrays of a document, kept in order, and followed by what is logged.

A model is built from a view once and knows its logs from then on: where an element stands is found in it, and what
comes is told by the log alone. It can go back the same way.

Law: the operations that ``follow`` gives, applied to the document before, give the document after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from nestling.database.document.positions import Positions
from nestling.database.document.shape import Inside, Shape
from nestling.database.rows import Row
from nestling.database.watching import Logs
from nestling.errors import NestlingError
from nestling.values.label import Label

Operation = dict[str, Any]
Counted = Iterable[tuple[Row, int]]
Under = Callable[[Label], Counted]


class Listing:
    """One array: the keys of its elements, and of those that have arrays inside their columns and these arrays."""

    __slots__ = ("inside", "keys")

    def __init__(self, keys: Positions, inside: dict[Any, tuple[Row, tuple[Listing, ...]]]) -> None:
        self.keys, self.inside = keys, inside


class Model:
    """The document of a view."""

    def __init__(self, shape: Shape, rows: Counted, under: Under) -> None:
        self.shape, self.root = shape, listed(shape, rows, under)

    def document(self) -> list[Any]:
        """The document, made anew."""
        return _rendered(self.shape, self.root)

    def follow(self, logs: Logs, times: int = 1) -> list[Operation]:
        """What was logged happens; with ``times`` -1, it is undone."""
        return _Following(self.shape, logs, times).all(self.root)


def listed(shape: Shape, rows: Counted, under: Under) -> Listing:
    """The array of some rows."""
    return _listing(
        shape,
        rows,
        lambda columns, copies, inner: listed(inner.shape, under(columns[inner.position]), under),
    )


def _listing(shape: Shape, rows: Counted, inside: Callable[[Row, int, Inside], Listing]) -> Listing:
    counts: dict[Any, int] = {}
    columns_by: dict[Any, Row] = {}
    key_of = shape.key
    for columns, times in rows:
        key = key_of(columns)
        counts[key] = counts.get(key, 0) + times
        if shape.inside:
            columns_by[key] = columns
    if any(times < 0 for times in counts.values()):
        raise NestlingError("a bag with negative counts has no document", hint="read it with bag()")
    kept = {
        key: (columns, tuple([inside(columns, counts[key], inner) for inner in shape.inside]))
        for key, columns in columns_by.items()
        if counts[key]
    }
    keys = sorted(key for key, times in counts.items() if times)
    if any(times > 1 for times in counts.values()):
        keys = [key for key in keys for _ in range(counts[key])]
    return Listing(Positions(keys), kept)


def _rendered(shape: Shape, listing: Listing) -> list[Any]:
    return [_element(shape, listing, key) for key in listing.keys]


def _element(shape: Shape, listing: Listing, key: Any) -> Any:
    arrays: dict[int, list[Any]] = {}
    if shape.inside:
        _, listings = listing.inside[key]
        arrays = {
            inner.position: _rendered(inner.shape, within)
            for inner, within in zip(shape.inside, listings, strict=True)
        }
    return shape.value(key, arrays)


class _Following:
    """One step of a model.

    Where an array and all around it are there ``before`` times before the step and ``after`` times after it, its log
    says of each element ``after·c₁ ⊖ before·c₀``, and the array c₀: so c₁ follows.
    """

    def __init__(self, shape: Shape, logs: Logs, times: int) -> None:
        self.shape, self.operations = shape, list[Operation]()
        #: Per level, by what is around it: what was logged, and the elements in which something was.
        self.logs: dict[str, dict[Row, dict[Row, int]]] = {}
        self.touched: dict[str, dict[Row, dict[Row, None]]] = {}
        self._group(shape, (), logs, times)

    def _group(self, shape: Shape, widths: tuple[int, ...], logs: Logs, times: int) -> None:
        before = sum(widths)
        for key, n in logs.get(shape.name, {}).items():
            if n:
                self.logs.setdefault(shape.name, {}).setdefault(key[:before], {})[key[before:]] = times * n
        for inner in shape.inside:
            self._group(inner.shape, (*widths, len(shape.places)), logs, times)
            for around in (*self.logs.get(inner.shape.name, ()), *self.touched.get(inner.shape.name, ())):
                self.touched.setdefault(shape.name, {}).setdefault(around[:before], {})[around[before:]] = (
                    None
                )

    def all(self, root: Listing) -> list[Operation]:
        self.array(root, self.shape, (), 1, 1, [""])
        return self.operations

    def array(
        self, listing: Listing, shape: Shape, prefix: Row, before: int, after: int, paths: list[str]
    ) -> None:
        """Follow one array, which stands at ``paths``."""
        found = sorted(self.counted(listing, shape, prefix, before, after), key=lambda each: each[0])
        for key, _, old, new in reversed(found):
            if new < old:
                self.remove(listing, key, old, new, paths)
        for key, columns, old, new in found if shape.inside else ():
            if old and new:
                self.stay(
                    listing, shape, key, prefix + columns, (before * old, after * new), min(old, new), paths
                )
        for key, columns, old, new in found:
            if old < new:
                if not old and shape.inside:
                    listing.inside[key] = columns, self.born(shape, prefix + columns, after * new)
                self.add(listing, shape, key, new - old, paths)

    def counted(
        self, listing: Listing, shape: Shape, prefix: Row, before: int, after: int
    ) -> Iterator[tuple[Any, Row, int, int]]:
        """The elements that may change, with key, columns, and how often they are there before and after."""
        log = self.logs.get(shape.name, {}).get(prefix, {})
        wanted: Mapping[Any, Row] = {
            shape.key(columns): columns
            for columns in (*log, *self.touched.get(shape.name, {}).get(prefix, ()))
        }
        if before != after:
            columns_of = {key: columns for key, (columns, _) in listing.inside.items()}
            wanted = {**{key: columns_of.get(key, ()) for key in listing.keys}, **wanted}
        by_key = {shape.key(columns): n for columns, n in log.items()} if log else {}
        for key, columns in wanted.items():
            _, old = listing.keys.find(key)
            new, rest = divmod(before * old + by_key.get(key, 0), after)
            if rest or new < 0:
                raise NestlingError(f"the document of {self.shape.name} is not what its changes started from")
            yield key, columns, old, new

    def remove(self, listing: Listing, key: Any, old: int, new: int, paths: list[str]) -> None:
        position = listing.keys.remove(key, old - new)
        if not new:
            listing.inside.pop(key, None)
        self.operations += [
            {"op": "remove", "path": f"{path}/{position}"} for path in paths for _ in range(old - new)
        ]

    def stay(
        self, listing: Listing, shape: Shape, key: Any, whole: Row, around: tuple[int, int], copies: int,
        paths: list[str],
    ) -> None:  # fmt: skip
        position, _ = listing.keys.find(key)
        _, listings = listing.inside[key]
        for inner, within in zip(shape.inside, listings, strict=True):
            places = [f"{path}/{position + i}{inner.pointer}" for path in paths for i in range(copies)]
            self.array(within, inner.shape, whole, *around, places)

    def add(self, listing: Listing, shape: Shape, key: Any, copies: int, paths: list[str]) -> None:
        position = listing.keys.add(key, copies)
        # Each operation has a value of its own: who applies it may keep and change it.
        self.operations += [
            {"op": "add", "path": f"{path}/{position}", "value": _element(shape, listing, key)}
            for path in paths
            for _ in range(copies)
        ]

    def born(self, shape: Shape, whole: Row, copies: int) -> tuple[Listing, ...]:
        """The arrays inside an element that came: all of them is logged."""
        return tuple([self._born(inner.shape, whole, copies) for inner in shape.inside])

    def _born(self, shape: Shape, prefix: Row, copies: int) -> Listing:
        log = self.logs.get(shape.name, {}).get(prefix, {})
        rows = [(columns, n // copies) for columns, n in log.items()]
        return _listing(
            shape,
            rows,
            lambda columns, times, inner: self._born(inner.shape, prefix + columns, copies * times),
        )
