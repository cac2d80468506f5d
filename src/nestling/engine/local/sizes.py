"""How many entries there are and, roughly, how many bytes they take: the containers, and a sample of what they hold.

What several hold is counted once. The values of rows belong to their table: of a sample that has the same object
again and again, as many as there may be in all. To a map belongs what nobody else refers to: its keys, its numbers, but
not the values that it took from rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from operator import itemgetter
from sys import getrefcount, getsizeof
from typing import Any, Protocol, TypeVar

from nestling.calculus.types import LABEL
from nestling.engine.local.storage import Positions, Store
from nestling.engine.ranges import BetweenStep, every_local_step, ranged
from nestling.program.statements import Find, Program
from nestling.program.steps import every_trigger, needed, plans, reads, trigger_statements

T = TypeVar("T")

#: How many entries of a dictionary are looked at, here and there in it.
SAMPLE = 512


def entries(store: Store, stored: Any) -> int:
    """How many entries a map has, or rows a table (equal rows once)."""
    if store.is_cell:
        return 1
    return sum(map(len, stored.values())) if store.is_ordered or store.slices else len(stored)


class Sized(Protocol):
    """What an engine stores, and where."""

    program: Program
    stores: dict[str, Store]
    stored: dict[str, Any]
    names: dict[str, Any]


def rough_bytes(engine: Sized, name: str, indexes: Iterable[Positions]) -> int:
    """The bytes of a table or map and of some of its indexes."""
    store, stored = engine.stores[name], engine.stored[name]
    own = 0
    if store.is_table:
        own = _table(store, stored)
    elif store.is_ordered:
        own = _ordered(stored)
    elif not store.slices:
        own = _map(stored, _holders(store))
    return own + sum(_index(engine, store, known) for known in indexes if known in store.made(engine.names))


def view_bytes(engine: Sized, view: str) -> int:
    """The bytes that a view adds: of its maps, and of the indexes that it asks of tables."""
    program = engine.program
    if view not in program.views:
        return 0
    read = [
        s for plan in plans(program.views[view]) for statement in plan.statements for s in reads(statement)
    ]
    sources = needed(program, read)
    asked = _patterns(ranged(program), view, set(sources))
    total = 0
    for source in sources:
        store = engine.stores[source]
        if not store.is_table:
            total += rough_bytes(engine, source, store.patterns)
        else:
            found = asked.get(source, set()) & store.made(engine.names)
            # An inner bag is found by its label whatever the views are.
            total += sum(
                _index(engine, store, known) for known in found - ({(0,)} if _is_inner(store) else set())
            )
    return total


def _patterns(program: Program, view: str, sources: set[str]) -> dict[str, set[Positions]]:
    """By table, the positions by which a view looks for rows, and the maps that it needs."""
    found: dict[str, set[Positions]] = {}
    triggered = (s for trigger in every_trigger(program) for s in trigger_statements(trigger))
    own = [statement for plan in plans(program.views[view]) for statement in plan.statements]
    for statement in (*own, *(s for s in triggered if s.target in sources)):
        for step in every_local_step(statement):
            find = step.find if isinstance(step, BetweenStep) else step
            if isinstance(find, Find):
                found.setdefault(find.source, set()).add(find.known)
    return found


def slice_size(engine: Sized, name: str, known: Positions) -> float:
    """How many entries agree with given values at ``known``, on average over the values there are."""
    store = engine.stores[name]
    total = entries(store, engine.stored[name])
    if len(known) == store.arity or (store.key and set(store.key) <= set(known)):
        return float(min(total, 1))
    groups = 1.0
    if known in store.made(engine.names):
        groups = len(engine.names[store.index(known)])
    elif known in store.on_demand and total:
        groups = _groups(store, engine.stored[name], known)
    return round(total / max(groups, 1), 1) if known else float(total)


def _groups(store: Store, stored: dict[Any, Any], known: Positions) -> float:
    """Roughly, how many entries an index of a table would have."""
    part, rows = itemgetter(*known), stored.values() if store.key else stored
    return _how_many(list(map(part, _spread(rows, len(stored)))), len(stored))


def _table(store: Store, stored: dict[Any, Any]) -> int:
    total, rows = len(stored), _spread(stored.values() if store.key else stored, len(stored))
    if not rows:
        return getsizeof(stored)
    size = getsizeof(stored) + total * getsizeof(rows[0])
    if len(store.key) > 1:
        size += total * getsizeof(store.key)
    for i in range(1 if _is_inner(store) else 0, store.arity):  # the label is that of the row outside
        objects = {id(row[i]): row[i] for row in rows}
        each = sum(_own(value, 2) for value in objects.values()) / len(objects)
        size += round(each * _how_many([id(row[i]) for row in rows], total))
    return size


def _how_many(sample: list[Any], total: int) -> float:
    """How many different ones there are among ``total``, of which these are a sample (the estimator Duj1).

    >>> round(_how_many([1, 2, 3, 4], 1000)), round(_how_many([7, 7, 8, 8], 1000))
    (1000, 2)
    """
    times = Counter(sample)
    once, share = sum(n == 1 for n in times.values()), len(sample) / total
    return min(len(times) / (1 - (1 - share) * once / len(sample)), float(total))


def _map(stored: Any, holders: int) -> int:
    return _own(stored, 1) if isinstance(stored, list) else getsizeof(stored) + _held(stored, holders)


def _held(stored: dict[Any, Any], holders: int) -> int:
    """The bytes of the keys and values of a dictionary that nobody else holds."""
    sample = _spread(stored.items(), len(stored))
    return _scaled((_inside(entry, holders) for entry in sample), len(sample), len(stored))


def _ordered(stored: dict[Any, Any]) -> int:
    groups, size = _spread(stored.items(), len(stored)), 0
    for group in groups:
        tree = group[1]
        some = _spread(((key, *cell) for key, cell in tree.items()), len(tree))
        size += getsizeof(tree) + _scaled((_inside(entry, 1) for entry in some), len(some), len(tree))
        size += _inside(group[:1], 2)
    return getsizeof(stored) + _scaled([size], len(groups), len(stored))


def _index(engine: Sized, store: Store, known: Positions) -> int:
    index, holders = engine.names[store.index(known)], _holders(store)
    groups, size = _spread(index.items(), len(index)), 0
    for group in groups:
        # A table's index holds the rows that are there anyway; a map's has keys of its own.
        size += getsizeof(group[1]) + (0 if store.is_table or store.key else _held(group[1], holders))
        size += _inside(group[:1], 2)
    order = engine.names.get(store.order(known), {})
    lists = _spread(order.values(), len(order))
    return (
        getsizeof(index)
        + _scaled([size], len(groups), len(index))
        + getsizeof(order)
        + _scaled(map(getsizeof, lists), len(lists), len(order))
    )


def _scaled(sizes: Iterable[int], sampled: int, total: int) -> int:
    """What a sample takes, for all."""
    return round(sum(sizes) / max(sampled, 1) * total)


def _holders(store: Store) -> int:
    """By how many dictionaries of a map a value of its own may be held."""
    return len(store.dictionaries)


def _is_inner(store: Store) -> bool:
    columns = store.decl.columns
    return store.is_table and bool(columns) and columns[0].type == LABEL and "." in store.name


def _spread(entries: Iterable[T], total: int) -> list[T]:
    """A sample, taken at equal distances."""
    return list(islice(entries, 0, None, 1 + total // SAMPLE))


def _own(value: Any, holders: int) -> int:
    """The bytes of a value, and of what is inside and held ``holders`` times at most."""
    inside = _inside(value, holders - 1, holders) if isinstance(value, tuple | list) else 0
    return getsizeof(value) + inside


def _inside(entry: Any, holders: int, deeper: int | None = None) -> int:
    """The bytes of what an entry is made of, and ``holders`` hold beside it at most: all others count it as theirs."""
    inner = holders if deeper is None else deeper
    # Of all that refer to it, one is the argument and one the entry.
    return sum(_own(entry[i], inner) for i in range(len(entry)) if getrefcount(entry[i]) - 2 <= holders)
