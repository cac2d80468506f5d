"""How rows and elements that come and go become events: each checked against the stored rows with the events before it.

A method adds the events of one row, or of one inner bag, to ``events``; ``Transaction`` has what users call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

from nestling.calculus.types import Path, bag_levels, dictionary_name
from nestling.database import arguments
from nestling.database.deep import Address, bag_at
from nestling.database.definitions import TableDef
from nestling.database.fed import ONCE
from nestling.database.images import differing
from nestling.database.merging import KeyedRow, Merging, check_memory, no_memory
from nestling.database.objects import Objects
from nestling.database.overlay import Overlay
from nestling.database.prefetch import prefetch_keys
from nestling.database.refused import (
    check_identity,
    check_removable,
    key_parts,
    key_taken,
    key_twice,
    keyless,
    no_key,
    no_row,
    not_in,
)
from nestling.database.rows import Row, RowEvent, Shredder, nested, nested_row
from nestling.database.state import State
from nestling.errors import ChangeError
from nestling.frontend.schema import element_value, field_value, python_value
from nestling.values.bag import ZBag
from nestling.values.columns import columns
from nestling.values.label import Label

Shredders = Callable[[str], Shredder]


class Changing:
    """The events of one change so far, over ``state``."""

    state: State
    objects: Objects
    shredder: Shredders
    events: list[RowEvent]
    _stored: Overlay | None  # one row that comes looks nothing up

    @property
    def stored(self) -> Overlay:
        """The rows as this transaction sees them."""
        if self._stored is None:
            self._stored = Overlay(self.state, self.events)
        return self._stored

    def _table(self, name: str) -> TableDef:
        return self.state.table(name)

    def _insert(self, table: TableDef, value: Row, times: int) -> None:
        if table.key:
            self._check_new(table, value, times, set())
        if table.is_flat:
            self.events.append(RowEvent(table.name, value, times))
        else:
            self._run(self.shredder(table.name).insertion(value, times))

    def _insert_all(self, table: TableDef, values: Sequence[tuple[Row, int]]) -> None:
        """Rows as one batch: all of an inner bag's rows, then all rows that have them."""
        if len(values) == 1:
            self._insert(table, *values[0])
            return
        batches: dict[str, list[RowEvent]] = {name: [] for name in reversed(table.declarations)}
        shredder, keys = self.shredder(table.name), set[Row]()
        for value, times in values:
            self._check_new(table, value, times, keys)
            for event in shredder.insertion(value, times):
                batches[event.table].append(event)
        for events in batches.values():
            self._run(events)

    def _check_new(self, table: TableDef, value: Row, times: int, keys: set[Row]) -> None:
        """Refuse a row whose key is taken, in its family and also by ``keys``; its own key is taken then."""
        if table.key:
            key = tuple([value[i] for i in table.key_positions])
            if times > 1 or key in keys or self._by_key(table, key) is not None:
                raise key_taken(table, key)
            if self.objects.families:
                self._check_family(table, key)
            keys.add(key)

    def _check_family(self, table: TableDef, key: Row) -> None:
        for name in self.objects.families.get(table.name, ()):
            if self._by_key(self.state.tables[name], key) is not None:
                raise key_taken(self.state.tables[name], key)

    def _by_key(self, table: TableDef, key: Row) -> Row | None:
        """The flat row with this key, whose columns may be records."""
        flat = tuple(columns(key)) if tuple in map(type, key) else key
        return self._at_key(table.name, flat)

    def _at_key(self, table: str, key: Row) -> Row | None:
        """The flat row with a flat key; the first change of a transaction needs no view of it of its own."""
        return self.stored.by_key(table, key) if self.events else self.state.engine.by_key(table, key)

    def _row_of(self, table: TableDef, key: Any) -> Row:
        if not table.key:
            raise keyless(table)
        if table.is_plain_key(own_parts := (key,)):
            if (found := self._at_key(table.name, own_parts)) is None:
                raise no_key(table, own_parts)
            return found
        if isinstance(key, tuple) or is_dataclass(key):
            own = self.objects.extent(table.name).key_of(key)
            key = key if own is None else own
        parts = key_parts(table, key)
        try:
            flat = self._by_key(table, tuple(map(element_value, table.key_types, parts)))
        except ChangeError:
            flat = None  # a value of another type is the key of no row
        if flat is None or len(parts) != len(table.key_types):
            raise no_key(table, parts)
        return flat

    def _delete(self, table: TableDef, value: Row, times: int) -> None:
        for flat, available in self._copies(table, value):
            taken = min(times, available)
            self._remove(table, flat, taken)
            times -= taken
            if not times:
                return
        raise no_row(table, value, times)

    def _copies(self, table: TableDef, value: Row) -> list[tuple[Row, int]]:
        """The stored flat rows that stand for ``value``; several where equal rows have bags of their own."""
        if table.key:
            flat = self._by_key(table, tuple(value[i] for i in table.key_positions))
            candidates = {} if flat is None else {flat: 1}
        elif table.levels:
            candidates = self.stored.table(table.name)
        else:
            flat = tuple(columns(value))
            times = self.stored.count(table.name, flat)
            return [(flat, times)] if times else []
        return [
            (flat, times)
            for flat, times in candidates.items()
            if nested_row(table, flat, self.stored) == value
        ]

    def _remove(self, table: TableDef, flat: Row, times: int) -> None:
        check_removable(table)
        stays = self.stored.count(table.name, flat) > times
        if stays:
            self._run([RowEvent(table.name, flat, -times)])
        else:
            self._run(self.shredder(table.name).deletion(flat, times, self.stored))

    def _check_columns(self, table: TableDef, set: Any) -> None:
        for name in arguments.set_argument(set):
            if name not in table.places:
                raise ChangeError(
                    f"{table.name} has no column {name!r}", hint=f"it has {', '.join(table.record.names)}"
                )

    def _new_columns(self, table: TableDef, set: Any) -> dict[str, Any]:
        """New values by column, as they are stored."""
        self._check_columns(table, set)
        links = self.objects.links.get(table.name, {})
        return {
            name: field_value(name, type_, set[name], links.get(name))
            for name, type_ in table.record.fields
            if name in set
        }

    def _new_values(self, table: TableDef, set: Any) -> Callable[[Callable[[], Row]], dict[str, Any]]:
        """From a row its new values by column: those given, or what the functions among them say of it. A row is made
        where there is one."""
        if not any(map(callable, arguments.set_argument(set).values())):
            new = self._new_columns(table, set)
            return lambda value: new
        self._check_columns(table, set)

        def of_row(value: Callable[[], Row]) -> dict[str, Any]:
            row = python_value(table.record, value())
            return self._new_columns(
                table, {name: new(row) if callable(new) else new for name, new in set.items()}
            )

        return of_row

    def _upsert(self, table: TableDef, values: Sequence[Row]) -> None:
        if not table.key:
            raise keyless(table)
        come, keys = list[tuple[Row, int]](), set[Row]()
        for value in values:
            key = tuple([value[i] for i in table.key_positions])
            if key in keys:
                raise key_twice(table, key)
            keys.add(key)
            flat = self._by_key(table, key)
            if flat is None:
                come.append((value, 1))
            elif new := differing(table, old := nested_row(table, flat, self.stored), value):
                self._set(table, flat, new, old)
        self._insert_all(table, come)

    def _merge(self, merging: Merging) -> None:
        """Leave of each key what its last row says; see ``merging``."""
        table, rows, memory = merging.table, merging.rows, self._memory(merging)
        if self.state.engine.is_remote:
            prefetch_keys(self.stored, table, [row.key for row in rows], deep=True)
            if memory is not None:
                prefetch_keys(self.stored, memory, [row.key for row in rows])
        if memory is not None:
            rows = [row for row in rows if self._is_later(memory, row)]
        for row in rows:
            if row.value is None and (flat := self._by_key(table, row.key)) is not None:
                self._remove(table, flat, 1)
        self._upsert(table, [row.value for row in rows if row.value is not None])
        if memory is not None:
            self._upsert(memory, [(*row.key, *row.place) for row in rows])

    def _memory(self, merging: Merging) -> TableDef | None:
        """The table that remembers the sequence."""
        wanted = merging.memory
        if wanted is None:
            return None
        stored = self.state.tables.get(wanted.name)
        if stored is None:
            raise no_memory(merging.table)
        check_memory(merging.table, stored, wanted)
        return stored

    def _is_later(self, memory: TableDef, row: KeyedRow) -> bool:
        flat = self._by_key(memory, row.key)
        return flat is None or nested_row(memory, flat, self.stored)[len(row.key) :] < row.place

    def _is_new(self, once: tuple[str, int]) -> bool:
        """Note a batch of a job; whether it was not there yet."""
        last = self._by_key(ONCE, once[:1])
        if last is None or last[1] < once[1]:
            self._upsert(ONCE, [once])
            return True
        return False

    def _set_all(self, table: TableDef, value: Row, times: int, new: Mapping[str, Any]) -> None:
        """Give all equal rows new columns."""
        if table.key:
            self._set(table, self._row_of(table, _own_key(table, value)), new)
        elif (changed := _with(table, value, new)) != value:
            self._delete(table, value, times)
            self._insert(table, changed, times)

    def _set_image(self, table: TableDef, old: Row, new: Row) -> None:
        """Put ``new`` in the place of ``old``, which is stored and has its key."""
        for flat, _ in self._copies(table, old):
            return self._set(table, flat, differing(table, old, new), old)
        raise no_row(table, old, 1)

    def _set(self, table: TableDef, flat: Row, new: Mapping[str, Any], old: Row | None = None) -> None:
        """Give one row with a key new columns; while its key stays, so does all that they leave as it is.

        ``old``: the nested row that it is, where somebody has read it.
        """
        check_removable(table)
        places = table.places
        own = {name: columns((new[name],)) for name in table.key if name in new}
        if not own or all(
            tuple(flat[i] for i in places[name]) == tuple(parts) for name, parts in own.items()
        ):
            self._run(self.shredder(table.name).update(flat, new, self.stored, old))
            return
        old = nested_row(table, flat, self.stored) if old is None else old
        changed = _with(table, old, new)
        if changed != old:
            if _own_key(table, old) != _own_key(table, changed):
                check_identity(self.objects, table, key_parts(table, _own_key(table, old)))
            self._remove(table, flat, 1)
            self._insert(table, changed, 1)

    def _bag_of(self, table: TableDef, row: Row, address: Address) -> tuple[TableDef, Path, Label]:
        """The inner bag of one row that is to be changed."""
        check_removable(table)
        return table, *bag_at(self.stored, table, row, address)

    def _insert_elements(
        self, table: TableDef, level: Path, label: Label, elements: Sequence[tuple[Any, int]]
    ) -> None:
        element, links = table.levels[level].element, self.objects.links_in(table.name, level)
        is_plain = table.plain_elements.get(level) if links is None else None
        if is_plain is not None and len(elements) == 1 and is_plain(elements[0][0]):
            ((value, times),) = elements
            self.events.append(RowEvent(dictionary_name(table.name, level), (label, *value), times))
            return
        bag = ZBag([(element_value(element, value, links), times) for value, times in elements])
        self._run(self.shredder(table.name).elements(level, label, bag))

    def _delete_elements(
        self, table: TableDef, level: Path, label: Label, elements: Iterable[tuple[Any, int]], key: Row
    ) -> None:
        element, links = table.levels[level].element, self.objects.links_in(table.name, level)
        shredder = self.shredder(table.name)
        name = dictionary_name(table.name, level)
        for value, times in elements:
            wanted = element_value(element, value, links)
            while times:
                found = self._element(name, label, wanted, element)
                if found is None:
                    raise not_in(name, element, wanted, key)
                available = self.stored.count(name, (label, *found))
                taken = min(times, available)
                gone = [RowEvent(name, (label, *found), -taken)]
                if taken == available:
                    # The last of equal elements takes its bags along.
                    gone += shredder.deletion(found, taken, self.stored)[1:]
                self._run(gone)
                times -= taken

    def _element(self, name: str, label: Label, wanted: Any, element: Any) -> Row | None:
        if not any(bag_levels(element)):
            plain = tuple(columns((wanted,)))
            return plain if self.stored.count(name, (label, *plain)) > 0 else None
        rows = self.stored.under(name, label)
        return next((row for row in rows if nested(iter(row), element, self.stored) == wanted), None)

    def _run(self, events: Sequence[RowEvent]) -> None:
        self.events += events


def _own_key(table: TableDef, value: Row) -> Any:
    """The key of a nested row, as it is given to ``at``."""
    parts = tuple([value[i] for i in table.key_positions])
    return parts[0] if len(parts) == 1 else parts


def _with(table: TableDef, value: Row, new: Mapping[str, Any]) -> Row:
    """A nested row with new columns."""
    named = zip(table.record.names, value, strict=True)
    return tuple([new.get(name, old) for name, old in named])
