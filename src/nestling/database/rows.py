"""Shredding nested rows into events on flat tables, and nesting them again.

Law (5): what ``insertion`` makes of a row, ``nested`` reads back; ``deletion`` of a stored row is the exact
opposite of the events that brought it here, its inner bags as they are now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple

from nestling.calculus.types import ELEMENT, Bag, Path, Record, Scalar, Type, dictionary_name
from nestling.database.definitions import TableDef
from nestling.database.nesting import InnerBags, nester
from nestling.values.bag import ZBag
from nestling.values.columns import columns
from nestling.values.label import Label

Row = tuple[Any, ...]

_BAGS = (ZBag, Label)


class RowEvent(NamedTuple):
    """``times`` copies of a row are inserted into a flat table; negative: deleted."""

    table: str
    row: Row
    times: int


class Shredder:
    """Shreds the rows of one table into events. ``numbers`` labels the bags of rows without a key."""

    def __init__(self, table: TableDef, numbers: count[int]) -> None:
        self.table, self.numbers = table, numbers

    def insertion(self, value: Row, times: int) -> list[RowEvent]:
        """The events that add a nested row: the rows of its inner bags, then its flat row.

        In this order a row never stands there with bags that are yet to be filled: an average of one has a value.
        """
        if self.table.is_flat:
            return [RowEvent(self.table.name, value, times)]
        key = tuple(value[i] for i in self.table.key_positions) or None
        events: list[RowEvent] = []
        flat = tuple(self._flat(value, self.table.record, (), key, events))
        return [*events, RowEvent(self.table.name, flat, times)]

    def elements(self, path: Path, label: Label, bag: ZBag) -> list[RowEvent]:
        """The events that add the elements of ``bag`` to the inner bag ``label`` at ``path``."""
        events: list[RowEvent] = []
        self._fill(path, self.table.levels[path].element, label, bag, events)
        return events

    def _flat(
        self, value: Any, type_: Type, path: Path, key: Row | None, events: list[RowEvent]
    ) -> Iterator[Any]:
        match type_:
            case Record(fields):
                for inner, (name, field) in zip(value, fields, strict=True):
                    yield from self._flat(inner, field, (*path, name), key, events)
            case Bag(element):
                here = path or (ELEMENT,)
                label = self._label(dictionary_name(self.table.name, here), key)
                self._fill(here, element, label, value, events)
                yield label
            case _:
                yield value

    def _label(self, site: str, key: Row | None) -> Label:
        return Label(site, key if key is not None else (f"#{next(self.numbers)}",))

    def _fill(self, path: Path, element: Type, label: Label, bag: ZBag, events: list[RowEvent]) -> None:
        name = dictionary_name(self.table.name, path)
        if isinstance(element, Scalar):
            events += [RowEvent(name, (label, value), times) for value, times in bag.items()]
            return
        below = (*path, ELEMENT) if isinstance(element, Bag) else path
        for value, times in bag.items():
            # Elements have no key of their own, so bags inside them are numbered.
            columns = tuple(self._flat(value, element, below, None, events))
            events.append(RowEvent(name, (label, *columns), times))

    def deletion(self, flat: Row, times: int, stored: InnerBags) -> list[RowEvent]:
        """The events that remove a stored flat row ``times`` times, and all under it with the last copy."""
        events = [RowEvent(self.table.name, flat, -times)]
        events += (RowEvent(e.table, e.row, -e.times) for e in self._below(flat, stored))
        return events

    def update(
        self, flat: Row, values: Mapping[str, Any], stored: InnerBags, known: Row | None = None
    ) -> list[RowEvent]:
        """The events that give columns of a stored flat row new values, under the key that it has.

        Elements come before others go, so that no bag is empty in between. The row is there as it was, then as it is.
        ``known``: the nested row that it is, where somebody has read it.
        """
        if self.table.is_flat:
            row = tuple([values.get(name, old) for name, old in zip(self.table.places, flat, strict=True)])
            return (
                []
                if row == flat
                else [RowEvent(self.table.name, flat, -1), RowEvent(self.table.name, row, 1)]
            )
        names, places, types = self.table.record.names, self.table.places, dict(self.table.record.fields)
        new = list(flat)
        come: list[RowEvent] = []
        gone: list[RowEvent] = []
        for name, value in values.items():
            before, type_ = tuple([flat[i] for i in places[name]]), types[name]
            if isinstance(type_, Scalar):
                new[places[name][0]] = value
            elif isinstance(type_, Bag):
                was = nested(iter(before), type_, stored) if known is None else known[names.index(name)]
                self._refill((name,), before[0], value - was, stored, come, gone)
            elif nested(iter(before), type_, stored) != value:
                parts = [(types[each], iter([flat[i] for i in places[each]])) for each in self.table.key]
                key = tuple(nested(part, of, stored) for of, part in parts)
                after = tuple(self._flat(value, type_, (name,), key, come))
                gone += self._below(before, stored)
                for i, column in zip(places[name], after, strict=True):
                    new[i] = column
        row = tuple(new)
        return [
            *_difference(come, gone),
            *(
                (RowEvent(self.table.name, flat, -1), RowEvent(self.table.name, row, 1))
                if row != flat
                else ()
            ),
        ]

    def _refill(
        self,
        path: Path,
        label: Label,
        change: ZBag,
        stored: InnerBags,
        come: list[RowEvent],
        gone: list[RowEvent],
    ) -> None:
        """Let a bag change by ``change``: elements that stay are as they are stored, with the bags inside them."""
        name, element = dictionary_name(self.table.name, path), self.table.levels[path].element
        left = dict(change.negative().items())
        if left:
            nest, scalars = self.table.nest_element[path], {_scalars(value) for value in left}
            for row, times in stored.under(name, label).items():
                # Reading the bags inside an element costs more than a look at its scalars.
                if tuple([part for part in row if not isinstance(part, _BAGS)]) in scalars and (
                    wanted := left.get(value := nest(row, stored), 0)
                ):
                    taken = min(wanted, times)
                    left[value] = wanted - taken
                    gone.append(RowEvent(name, (label, *row), taken))
                    gone += self._below(row, stored) if taken == times else ()
        if come_now := change.positive():
            self._fill(path, element, label, come_now, come)

    def _below(self, columns: Row, stored: InnerBags) -> Iterator[RowEvent]:
        for value in columns:
            if isinstance(value, Label):
                for row, times in stored.under(str(value.site), value).items():
                    yield RowEvent(str(value.site), (value, *row), times)
                    yield from self._below(row, stored)


def _difference(come: list[RowEvent], gone: list[RowEvent]) -> list[RowEvent]:
    """What comes, less what goes; then what goes beyond that."""
    total: dict[tuple[str, Row], int] = {}
    for table, row, times in come:
        total[table, row] = total.get((table, row), 0) + times
    for table, row, times in gone:
        total[table, row] = total.get((table, row), 0) - times
    found = [RowEvent(table, row, times) for (table, row), times in total.items() if times]
    return sorted(found, key=lambda event: event.times < 0)


def _scalars(value: Any) -> Row:
    """The scalars of an element, as they stand in its flat row."""
    return tuple([part for part in columns(value) if not isinstance(part, _BAGS)])


def nested_row(table: TableDef, flat: Row, stored: InnerBags) -> Row:
    """A flat row of ``table`` as the row that it stands for."""
    if table.is_flat:
        return flat
    row: Row = table.nest(flat, stored)
    return row


def nested(flat: Iterator[Any], type_: Type, stored: InnerBags) -> Any:
    """Flat columns back to a nested value."""
    return nester(type_)(tuple(flat), stored)
