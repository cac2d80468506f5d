"""How each map and table is stored: its dictionaries, their keys and their values.

The steps of a program say which positions are known where a source is read; each such pattern that is not the whole
key needs an index. Nothing else is stored.

====================  =============================================================================
table                 ``{row: times}``
table with a key      ``{key: row}``
map of one measure    ``{key: number}``
map with unique rows  ``{key: row}``, where some columns determine the others (``unique``)
                      ``{key: value}`` where one column beside the key is all there is to store
map of several        ``{key: [number, …]}``, the list shared by all dictionaries that hold it
map without keys      ``[number, …]``: one entry, always there
map in order          ``{group: OrderedMap of the last key, with the measures}``
map read by one part  ``{known part: {free part: …}}`` alone: what is never asked for by its key has no use for one
order                 ``{known part: [the one free column, …]}``, sorted
index                 ``{known part: {what the source's own dictionary has}}`` or ``{known: {free: …}}``
====================  =============================================================================

A key of one column is that column's value, otherwise a tuple. A part of an index is there as soon as something is put
into it (``defaultdict``), and goes with its last entry. An index of a table that nothing but look-ups by the
first column asks for is ``None`` until somebody looks up: many views are never asked that way, and an index costs
something with every row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from nestling.calculus.types import LABEL, Scalar
from nestling.engine.ranges import BetweenStep, PassedStep, SpanStep, every_local_step
from nestling.program.statements import (
    Find,
    MapDecl,
    Measure,
    Program,
    Propagate,
    Range,
    Statement,
    TableDecl,
    ViewPlan,
)
from nestling.program.steps import every_trigger, plans, trigger_statements
from nestling.quoting import identifier

Positions = tuple[int, ...]


@dataclass
class Store:
    """The dictionaries of one source."""

    name: str
    decl: TableDecl | MapDecl
    patterns: set[Positions] = field(default_factory=set)
    on_demand: set[Positions] = field(default_factory=set)  #: the indexes that look-ups alone ask for
    sorted: set[Positions] = field(default_factory=set)
    in_order: set[Positions] = field(default_factory=set)  #: the indexes whose keys are kept in order
    whole: bool = False  #: whether it is read by its key, or from beginning to end
    unique: Positions = ()  #: of a map, the columns that determine its rows

    @cached_property
    def slices(self) -> str:
        """The index that holds a map all by itself, if there is one: its only reader goes by this part."""
        own = self.is_table or self.is_ordered or self.whole or self.unique or len(self.patterns) != 1
        return "" if own else self.index(*self.patterns)

    @cached_property
    def dictionaries(self) -> list[str]:
        """The names of all it is kept in."""
        own = [] if self.slices else [self.python]
        return [*own, *map(self.index, sorted(self.patterns)), *map(self.order, sorted(self.sorted))]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Every word of the generated source that is made from its name."""
        return (
            *self.dictionaries,
            *map(self.index, self.on_demand),
            *map(self.index, self.in_order),
            f"change_{self.python}",
            self.waits,
            f"settle_{self.python}",
            *(f"{self.python}_k{i}" for i in range(self.arity)),
            *(f"{self.python}_change{i}" for i in range(self.width)),
        )

    @cached_property
    def python(self) -> str:
        """The name of its own dictionary in the generated source."""
        # Maps have names that no user can give, some after a dot.
        return f"T_{identifier(self.name)}" if self.is_table else identifier(self.name.lstrip("·"))

    @property
    def waits(self) -> str:
        """Where updates of a table are noted that wait."""
        return f"waits_{self.python}"

    @cached_property
    def arity(self) -> int:
        return len(self.decl.columns)

    @cached_property
    def is_table(self) -> bool:
        return isinstance(self.decl, TableDecl)

    @cached_property
    def is_ordered(self) -> bool:
        return isinstance(self.decl, MapDecl) and self.decl.ordered

    @cached_property
    def is_cell(self) -> bool:
        """Whether there is only one key, the empty one."""
        return not self.is_table and not self.is_ordered and self.arity == 0

    @cached_property
    def key(self) -> Positions:
        """The declared key of a table, or what determines the rows of a map; empty where nothing does."""
        return self.decl.key if isinstance(self.decl, TableDecl) else self.unique

    @cached_property
    def value(self) -> int | None:
        """Of a map with unique rows, its one column beside the key, if that is all that is stored under the key.

        What stands under a key is not ``None``, which says that there is nothing.
        """
        if self.is_table or self.arity - len(self.unique) != 1 or not self.is_itself:
            return None
        (position,) = self.free(self.unique)
        type_ = self.decl.columns[position].type
        return position if isinstance(type_, Scalar) and not type_.nullable else None

    @cached_property
    def is_itself(self) -> bool:
        """Whether a key that equals that of a row is written as it: two decimals or zeros may be equal and differ."""
        types = (self.decl.columns[i].type for i in self.key)
        return all(
            isinstance(type_, Scalar) and type_.name in ("int", "str", "bool", "date") for type_ in types
        )

    def rows(self, stored: Mapping[Any, Any]) -> Iterable[tuple[Any, ...]]:
        """The rows of a source whose rows are stored under keys."""
        if self.value is None:
            return stored.values()
        at, key = self.value, self.key
        if len(key) == 1:
            return [(k, v) if at else (v, k) for k, v in stored.items()]
        return [(*k[:at], v, *k[at:]) for k, v in stored.items()]

    @cached_property
    def width(self) -> int:
        return self.decl.width if isinstance(self.decl, MapDecl) else 1

    def made(self, names: Mapping[str, Any]) -> set[Positions]:
        """The indexes that there are: those that are always kept, and those that somebody asked for."""
        return self.patterns | {known for known in self.on_demand if names[self.index(known)] is not None}

    def index(self, known: Positions) -> str:
        return f"{self.python}_by_{'_'.join(map(str, known))}"

    @cached_property
    def by_first(self) -> str:
        """The index by the first column, which is the label in what holds inner bags."""
        return self.index((0,))

    def order(self, known: Positions) -> str:
        """The name of the dictionary that has, for each known part, its one free column in order."""
        return f"{self.python}_sorted_{'_'.join(map(str, known))}"

    def free(self, known: Positions) -> Positions:
        return tuple(i for i in range(self.arity) if i not in known)


def stores(
    program: Program, before: Mapping[str, Store] | None = None, unique: Mapping[str, Positions] | None = None
) -> dict[str, Store]:
    """A store for every table and map, with the patterns that the program's steps need; those ``before`` that stay.

    ``unique`` says which columns determine the rows of a map.
    """
    old = before or {}
    found = _stores(program, unique or {})
    return {name: old[name] if old.get(name) == store else store for name, store in found.items()}


def _stores(program: Program, unique: Mapping[str, Positions]) -> dict[str, Store]:
    found: dict[str, Store] = {name: Store(name, decl) for name, decl in program.tables.items()}
    # A map is read by its key where its change is passed on, a log where it is emptied.
    passed = {a.map for t in every_trigger(program) for a in t.actions if isinstance(a, Propagate)}
    found |= {
        name: Store(name, decl, whole=decl.role == "watch" or name in passed, unique=unique.get(name, ()))
        for name, decl in program.maps.items()
    }
    for name, decl in program.tables.items():
        if decl.columns and decl.columns[0].type == LABEL and "." in name:
            # The rows of an inner bag are found by its label: to read it, and to delete it with its row.
            found[name].patterns.add((0,))
    for statement in _statements(program, lookups=False):
        for step in every_local_step(statement):
            _read_by(step, found)
    for view in program.views.values():
        for statement in view.lookup.statements if view.lookup else ():
            for step in every_local_step(statement):
                _looked_up_by(step, found)
    return found


def _read_by(step: Any, found: Mapping[str, Store]) -> None:
    """Keep what ``step`` reads."""
    if isinstance(step, Find):
        _need(found[step.source], step.known)
    elif isinstance(step, Measure | Range):
        found[step.source].whole = True
    elif isinstance(step, SpanStep):
        found[step.source].in_order.add((step.position,))
    elif isinstance(step, PassedStep):
        found[step.range.source].whole = True
    elif isinstance(step, BetweenStep):
        _need(found[step.find.source], step.find.known)
        found[step.find.source].sorted.add(step.find.known)


def _looked_up_by(step: Any, found: Mapping[str, Store]) -> None:
    """The same of a look-up, but that an index of a table waits until somebody looks up."""
    store = found[step.source] if isinstance(step, Find) else None
    if store is None or not (store.is_table and _is_index(store, step.known)):
        _read_by(step, found)
    elif step.known not in store.patterns:
        store.on_demand.add(step.known)


def _need(store: Store, known: Positions) -> None:
    if _is_index(store, known):
        store.patterns.add(known)
    else:
        store.whole = True


def _is_index(store: Store, known: Positions) -> bool:
    """Whether it takes an index to find what has given values at ``known``."""
    by_key = store.key and set(store.key) <= set(known)
    return bool(known) and len(known) < store.arity and not by_key


def look_ups(view: ViewPlan) -> Iterator[Find]:
    """The steps by which the rows of a given first column are found."""
    for statement in view.lookup.statements if view.lookup else ():
        yield from (step for step in every_local_step(statement) if isinstance(step, Find))


def statements(program: Program) -> Iterator[Statement]:
    """Every statement of a program: of its triggers, its plans and its totals."""
    return _statements(program, lookups=True)


def _statements(program: Program, lookups: bool) -> Iterator[Statement]:
    for trigger in every_trigger(program):
        yield from trigger_statements(trigger)
    for view in program.views.values():
        for plan in plans(view):
            if lookups or plan is not view.lookup:
                yield from plan.statements
    for total in program.totals.values():
        yield from total.statements
