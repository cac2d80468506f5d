"""What a change adds, before the maps that it reads are made.

A program is compiled in rounds: which measures a map has is known when all that reads it was seen. What a map's body is
and into which parts a change of it falls does not depend on that; it is found once and serves every round.

Law (9): a statement adds the same in whichever round its draft was made.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from nestling.calculus.traverse import Names
from nestling.program.flat import Atom, Lift, Monomial, Pointwise, Query, is_ordered
from nestling.program.statements import NewAndOld, Order, Step, TableDecl
from nestling.program.steps import binds
from nestling.program.traverse import Parts, in_order, nested_factors, parts
from nestling.transform.cost.statistics import Statistics
from nestling.transform.viewlet.components import Split, split
from nestling.transform.viewlet.deltas import Delta, row_deltas
from nestling.transform.viewlet.handles import Identity, Weights
from nestling.transform.viewlet.naming import rename_apart
from nestling.transform.viewlet.references import without_implied
from nestling.transform.viewlet.storing import Rule, Storing

NESTED = ("lift", "count")


@dataclass(frozen=True)
class Identified:
    """A query that is to be a map: what tells this from others, the query in parts, and its keys in their order."""

    key: Identity
    parts: Parts
    query: Query
    order: tuple[int, ...]


@dataclass(frozen=True)
class Drafted:
    """What a change of ``table`` adds to a monomial, and into which parts that falls."""

    table: str
    delta: Delta
    monomial: Monomial
    pieces: Split


@dataclass
class Drafts:
    """Bodies and changes as they were found, for all rounds."""

    tables: Mapping[str, TableDecl]
    names: Names
    #: Whether rows come one by one, parents first, and change under their key; else many of all tables at once.
    one_by_one: bool = False
    #: Whether somebody asks which rules would store other components than those of declared keys.
    compares: bool = False
    #: Whether maps are kept up to date, not only filled.
    maintained: bool = True
    #: Those that were found since somebody emptied it.
    differently: set[Rule] = field(default_factory=set)
    _identified: dict[Hashable, Identified] = field(default_factory=dict)
    _deltas: dict[Hashable, tuple[Monomial, list[tuple[str, Delta]]]] = field(default_factory=dict)
    #: By place and rule; what was counted is held, since nothing else tells it from other counts.
    _of_rows: dict[Hashable, tuple[Statistics, list[Drafted]]] = field(default_factory=dict)

    def identified(self, query: Query, role: str, order_: Order = "") -> Identified:
        """What tells the map of ``query`` from others."""
        # A nested map is added to late in a trigger and a component early, so the two are one only if both are filled.
        is_apart = self.maintained and role in NESTED
        asked = query, is_apart, order_
        if asked not in self._identified:
            reduced = tuple(without_implied(monomial, self.tables) for monomial in query.monomials)
            sorted_, order = in_order(Query(query.keys, reduced, query.width), bool(order_))
            split_ = parts(sorted_)
            key = (split_.body, order_, is_apart, len(query.keys))
            self._identified[asked] = Identified(key, split_, sorted_, order)
        return self._identified[asked]

    def foreseen(self, queries: Iterable[Query]) -> dict[Identity, tuple[Weights, ...]]:
        """What the aggregates and count-wise operators in ``queries`` will want of their maps."""
        found: dict[Identity, tuple[Weights, ...]] = {}
        for query in queries:
            for factor in nested_factors(query):
                asked = self.identified(*asked_of(factor))
                found[asked.key] = tuple(dict.fromkeys((*found.get(asked.key, ()), *asked.parts.measures)))
        return found

    def of_rows(
        self, place: Hashable, monomial: Monomial, storing: Storing
    ) -> tuple[Monomial, list[Drafted]]:
        """``monomial``, at ``place`` of a map, under names of its own; and what rows that change add to it."""
        if place is None:
            apart, deltas = self.changed(monomial)
            return apart, self.drafted(deltas, storing)
        if place not in self._deltas:
            self._deltas[place] = self.changed(monomial)
        apart, deltas = self._deltas[place]
        at = place, storing.rule, id(storing.statistics)
        if at not in self._of_rows:
            self._of_rows[at] = storing.statistics, self.drafted(deltas, storing)
        return apart, self._of_rows[at][1]

    def changed(self, monomial: Monomial) -> tuple[Monomial, list[tuple[str, Delta]]]:
        """``monomial`` under names of its own, and what the rows of each table add to it."""
        apart = rename_apart(monomial, (), self.names)
        tables = dict.fromkeys(f.name for f in apart.factors if isinstance(f, Atom))
        return apart, [
            (table, delta)
            for table in tables
            for delta in row_deltas(apart, self.tables[table], self.tables, self.names, self.one_by_one)
        ]

    def drafted(self, deltas: Iterable[tuple[str, Delta]], storing: Storing) -> list[Drafted]:
        """``deltas`` in parts."""
        return [
            Drafted(table, delta, *self.in_parts(delta.monomial, frozenset(), delta.first, storing))
            for table, delta in deltas
        ]

    def in_parts(
        self, monomial: Monomial, known: frozenset[str], before: Sequence[Step], storing: Storing
    ) -> tuple[Monomial, Split]:
        """What is left of ``monomial`` to solve after ``before``, and into which parts it falls."""
        bound = known | frozenset(var.name for step in before for var in binds(step))
        monomial = without_implied(monomial, self.tables, bound)
        moving = frozenset(s.var.name for s in before if isinstance(s, NewAndOld))
        return monomial, split(monomial, bound, self.tables, storing, moving, compares=self.compares)


def drafts_over(
    tables: Mapping[str, TableDecl], taken: Iterable[str] = (),
    *, one_by_one: bool = True, compares: bool = True,
) -> Drafts:  # fmt: skip
    """Drafts under names that neither columns nor tables have, nor what is ``taken``; for rows one by one."""
    return Drafts(tables, Names(names_in(tables, taken)), one_by_one, compares)


def names_in(tables: Mapping[str, TableDecl], taken: Iterable[str] = ()) -> frozenset[str]:
    """The names that no variable and no map of a program over ``tables`` has."""
    columns = frozenset(column.name for table in tables.values() for column in table.columns)
    return columns.union(tables, taken, ["times"])


def asked_of(factor: Lift | Pointwise) -> tuple[Query, str, Order]:
    """The query that ``factor`` reads as a map, in which role, and in which order."""
    if isinstance(factor, Pointwise):
        return factor.query, "count", ""
    return factor.query, "lift", "sums" if factor.bounds else "values" if is_ordered(factor.aggregate) else ""


def is_shared(key: Identity, measures: tuple[Weights, ...]) -> bool:
    """Whether some map that maintains this one surely is wanted with one of the ``measures``, and with several."""
    return len(measures) > 1 and any(
        sum(isinstance(factor, Atom) for factor in monomial.factors) > 2 for monomial in key[0]
    )
