"""What is checked after each statement of a transaction, which is one call: its rows may refer to each other in any
order.

Law: after a statement each kept reference that it wrote is nil or leads to a row, and no set has an element twice.
References that lead to rows which go are the matter of the commit: see ``references``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nestling.database.changing import Changing
from nestling.database.definitions import Site
from nestling.database.objects import Objects
from nestling.database.overlay import Overlay
from nestling.database.refused import shown_key
from nestling.database.rows import Row, RowEvent
from nestling.errors import ChangeError
from nestling.values.label import Label


def check_statement(change: Changing, done: int) -> None:
    """Check the events of ``change`` after the first ``done``."""
    events = change.events[done:] if done else change.events
    objects, stored = change.state.objects, change.stored
    for site, keys in _new(objects, events):
        _prefetch(objects, stored, site, keys)
        for key in keys:
            if not is_there(objects, stored, site.reference.table, key):
                row = next(
                    event.row for event in events if event.table == site.flat and _key(site, event.row) == key
                )
                raise no_target(objects, site, key, where(stored, objects, site, row))
    if objects.sets:
        _check_sets(objects, stored, events)


def _new(objects: Objects, events: Sequence[RowEvent]) -> list[tuple[Site, list[Row]]]:
    """By reference the keys that more rows refer to than before; a nil refers to nothing."""
    found: dict[int, tuple[Site, dict[Row, int]]] = {}
    for table, row, times in events:
        for site in objects.sites.get(table, ()):
            key = _key(site, row)
            if not (site.is_nullable and None in key):
                _, counts = found.setdefault(id(site), (site, {}))
                counts[key] = counts.get(key, 0) + times
    return [(site, [key for key, times in counts.items() if times > 0]) for site, counts in found.values()]


def _key(site: Site, row: Row) -> Row:
    return tuple([row[i] for i in site.places])


def is_there(objects: Objects, stored: Overlay, table: str, key: Row) -> bool:
    """Whether a row of the extent of ``table`` has this key."""
    return any(stored.by_key(name, key) is not None for name in objects.extents.get(table, ()))


def _prefetch(objects: Objects, stored: Overlay, site: Site, keys: Iterable[Row]) -> None:
    if stored.state.engine.is_remote:
        for name in objects.extents.get(site.reference.table, ()):
            stored.prefetch(name, objects.tables[name].declarations[name].key, keys)


def _check_sets(objects: Objects, stored: Overlay, events: Sequence[RowEvent]) -> None:
    new = [event for event in events if event.times > 0 and event.table in objects.sets]
    if stored.state.engine.is_remote:
        for name in {event.table for event in new}:
            rows = [event.row for event in new if event.table == name]
            stored.prefetch(name, tuple(range(len(rows[0]))), rows)
    for table, row, _ in new:
        if stored.count(table, row) > 1:
            raise twice(table, row[1:])


# -- what is refused


def no_target(objects: Objects, site: Site, key: Row, at: str) -> ChangeError:
    """The refusal of a reference to what is not there."""
    reference = site.reference
    what = f"{reference.text} of {site.owner}{at} is {shown_key(key)}"
    if reference.table not in objects.tables:
        return ChangeError(
            f"{what}, but there is no table {reference.table} yet",
            hint=f"declare it: db.table({reference.table!r}, …)",
        )
    return ChangeError(
        f"{what}, but {reference.table} has no such row",
        hint=f"insert it into {reference.table} first, or in the same call",
    )


def twice(table: str, element: Row) -> ChangeError:
    """The refusal of an element that a set has already."""
    return ChangeError(
        f"{shown_key(element)} is in {table} already, and that is a set", hint="a set has each element once"
    )


def where(stored: Overlay, objects: Objects, site: Site, row: Row) -> str:
    """Which row of its table a flat row belongs to, as messages show it; nothing where it has no key."""
    table = objects.tables[site.owner]
    if not table.key:
        return ""
    if site.flat == table.name:
        return f" {shown_key(tuple([row[i] for i in table.declarations[table.name].key]))}"
    label = row[0]
    while not _is_keyed(label):
        outer = _outer(stored, objects, site.owner, label)
        if outer is None:
            return ""
        label = outer
    return f" {shown_key(label.environment)}"


def _is_keyed(label: Label) -> bool:
    first = label.environment[0] if label.environment else None
    return not (isinstance(first, str) and first.startswith("#"))


def _outer(stored: Overlay, objects: Objects, owner: str, label: Label) -> Label | None:
    """The label of the bag whose element has the bag ``label``."""
    for name in objects.tables[owner].declarations:
        if name != owner and str(label.site).startswith(f"{name}."):
            for row in stored.table(name):
                if label in row[1:]:
                    found: Label = row[0]
                    return found
    return None
