"""What all workloads share: events, tables as plain Python sees them, and the face of a baseline."""

from __future__ import annotations

import random
from collections import Counter, namedtuple
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from inspect import signature
from operator import itemgetter
from typing import Any, ClassVar, Protocol, TypeAlias, get_args, get_origin

Row: TypeAlias = tuple[Any, ...]
Event: TypeAlias = tuple[str, Row, int]
Schema: TypeAlias = dict[str, dict[str, Any]]
Keys: TypeAlias = dict[str, str | tuple[str, ...]]
View: TypeAlias = Callable[..., list[Any]]
Trigger: TypeAlias = Callable[[Row, int], None]


class Tables:
    """The present content of every table; ``tables[name]`` is a list of named tuples, as a view reads it.

    Refuses an event that does not fit: a key that is there already, a row or element that is not there.
    """

    def __init__(self, schema: Schema, keys: Keys) -> None:
        self._schema = schema
        self.row = {table: _row_type(table, columns) for table, columns in schema.items()}
        self._key = {table: _key_of(list(schema[table]), keys[table]) for table in schema}
        self._rows: dict[str, dict[Any, Any]] = {table: {} for table in schema}

    def __getitem__(self, table: str) -> list[Any]:
        return list(self._rows[table].values())

    def apply(self, table: str, row: Row, sign: int) -> None:
        """Make the change of one event."""
        outer, _, field = table.partition(".")
        if field:
            self._apply_deep(outer, field, row, sign)
            return
        rows, key = self._rows[table], self._key[table](row)
        if sign > 0:
            if key in rows:
                raise ValueError(f"{table} has a row with key {key!r} already")
            rows[key] = self._typed_row(table, row)
        else:
            if key not in rows or freeze(rows[key]) != freeze(self._typed_row(table, row)):
                raise ValueError(f"{table} does not contain {row!r}")
            del rows[key]

    def _typed_row(self, table: str, row: Row) -> Any:
        return self.row[table](*map(_typed, self._schema[table].values(), row))

    def _apply_deep(self, table: str, field: str, row: Row, sign: int) -> None:
        key, element = row
        (element_type,) = get_args(self._schema[table][field])
        element = _typed(element_type, element)
        inner = getattr(self._rows[table][key], field)
        if sign > 0:
            inner.append(element)
        else:
            inner.remove(element)


def _row_type(table: str, columns: Mapping[str, Any]) -> Callable[..., Any]:
    return namedtuple(table, list(columns))


def _key_of(columns: list[str], key: str | tuple[str, ...]) -> Callable[[Row], Any]:
    names = (key,) if isinstance(key, str) else key
    return itemgetter(*map(columns.index, names))


def _typed(type_: Any, value: Any) -> Any:
    """``value`` with its inner bags copied and its inner records given their names."""
    if get_origin(type_) is list:
        (element,) = get_args(type_)
        return [_typed(element, each) for each in value]
    return type_(*value) if isinstance(type_, type) and is_dataclass(type_) else value


def freeze(value: Any) -> Any:
    """``value`` as something hashable, in which the order inside a list carries no meaning."""
    if isinstance(value, list):
        return frozenset(Counter(map(freeze, value)).items())
    return tuple(map(freeze, value)) if isinstance(value, tuple) else value


def as_bag(rows: Iterable[Any]) -> Counter[Any]:
    """How often each row occurs; two lists are the same bag when this is equal."""
    return Counter(map(freeze, rows))


def run(view: View, tables: Mapping[str, Any] | Tables) -> list[Any]:
    """``view`` as plain Python: its parameters are the names of the tables it reads."""
    return view(*(tables[name] for name in signature(view).parameters))


class Baseline(Protocol):
    """One view kept by hand: a trigger for each table it reads, and its present content."""

    on: dict[str, Trigger]

    def result(self) -> list[Any]: ...


class HandWritten:
    """The baselines of some views (all, if none is named) of one workload, fed together.

    The rule for every baseline: after each event it holds what the view needs, and reading it costs no more
    than its size; no sum and no filter over more than the result is left to the read.
    """

    PARTS: ClassVar[dict[str, Callable[[], Baseline]]]

    def __init__(self, *views: str) -> None:
        self.parts = {view: self.PARTS[view]() for view in views or self.PARTS}
        self.on = _together([part.on for part in self.parts.values()])

    def apply(self, table: str, row: Row, sign: int) -> None:
        """Make the change of one event; a table that no view reads is passed over."""
        if table in self.on:
            self.on[table](row, sign)

    def result(self, view: str | None = None) -> list[Any]:
        """The rows of ``view``, which may be left out where there is only one."""
        if view is None:
            (view,) = self.parts
        return self.parts[view].result()


def _together(parts: list[dict[str, Trigger]]) -> dict[str, Trigger]:
    """One trigger for each table; a lone trigger stands for itself, so that it costs one call."""
    triggers: dict[str, list[Trigger]] = {}
    for on in parts:
        for table, trigger in on.items():
            triggers.setdefault(table, []).append(trigger)
    return {table: each[0] if len(each) == 1 else _all_of(each) for table, each in triggers.items()}


def _all_of(triggers: list[Trigger]) -> Trigger:
    def trigger(row: Row, sign: int) -> None:
        for each in triggers:
            each(row, sign)

    return trigger


def relevant(events: Iterable[Event], on: Mapping[str, Trigger]) -> list[Event]:
    """The events of the tables that have a trigger: only these count for a view."""
    return [event for event in events if event[0] in on]


def feed(on: Mapping[str, Trigger], events: Iterable[Event]) -> None:
    """Call the trigger of each event: the loop that is timed."""
    for table, row, sign in events:
        on[table](row, sign)


def take(rng: random.Random, items: list[Any]) -> Any:
    """Remove and return a random item, in constant time; the order of the rest changes."""
    at = rng.randrange(len(items))
    items[at], items[-1] = items[-1], items[at]
    return items.pop()


def grows(rng: random.Random, live: int, target: int) -> bool:
    """Whether the next event inserts: always when nothing is live, every second time at ``target``."""
    return rng.random() * 2 * target >= live


def group(rows: Iterable[Any], column: str) -> dict[Any, list[Any]]:
    """A hash index: value of ``column`` → its rows."""
    index: dict[Any, list[Any]] = {}
    for row in rows:
        index.setdefault(getattr(row, column), []).append(row)
    return index


def by_key(rows: Iterable[Any], column: str) -> dict[Any, Any]:
    """A unique hash index: value of ``column`` → its row."""
    return {getattr(row, column): row for row in rows}
