"""Deltas of monomials for a batch of rows at once.

A change ΔR of many rows changes a product of atoms by the sum, over the non-empty subsets of the atoms on R, of the
product with those atoms on ΔR; all else is read as it was. For one row two chosen atoms are that row both times, and
the statement for it says so: it would miss pairs of different rows of one batch. So the statements for batches are
derived on their own, with one occurrence of ΔR per chosen atom. The same holds where a nested map changes at many
keys: two aggregates in one product may change at two keys. The maps are those of the program for rows.

Tables change one after the other, those that others refer to first; of one table, rows that come and rows that go
are one change.

Law (1), flat: the change of a query is the sum of what these monomials mean on the state before the batch.
Law (9): the maps after a batch are those after its rows one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nestling.calculus.build import call
from nestling.calculus.terms import Term, Var
from nestling.calculus.types import INT
from nestling.program.batches import GROUPS, change_of
from nestling.program.flat import ORDERED, Atom, Bound, Lift, Monomial, Pointwise, Query
from nestling.program.statements import Both, Event, Find, Program, Range, Statement, Step, TableDecl
from nestling.transform.lower import FlatView
from nestling.transform.viewlet.compile import CannotCompile, Compiler, adds_zero, read_by
from nestling.transform.viewlet.events import replaced, subsets
from nestling.transform.viewlet.reading import compile_views
from nestling.transform.viewlet.references import adds_nothing
from nestling.transform.viewlet.storing import Store, Storing


def compile_batches(
    tables: Mapping[str, TableDecl],
    views: Mapping[str, FlatView],
    watched: Mapping[str, Query] | None = None,
    store: Mapping[str, Store | Storing] | None = None,
    taken: Iterable[str] = (),
) -> Program:
    """The program that maintains ``views`` by batches; its triggers start from ``ΔR`` and not from a row."""
    return compile_views(tables, views, watched, store, BatchCompiler, taken)


@dataclass
class BatchCompiler(Compiler):
    """Statements that start from relations of changes."""

    aggregates: set[str] = field(default_factory=lambda: {*ORDERED})  # those that pass a change on

    def row_statements(self, target: str, monomial: Monomial, table: TableDecl) -> Iterator[Statement]:
        atoms = [f for f in monomial.factors if isinstance(f, Atom) and f.name == table.name]
        for chosen in subsets(atoms):
            if not adds_nothing(monomial, chosen, self.tables):
                yield from self.changed_rows(target, monomial, chosen, table)

    def changed_rows(
        self, target: str, monomial: Monomial, chosen: Sequence[Atom], table: TableDecl
    ) -> Iterator[Statement]:
        """What the rows of a batch add where each of ``chosen`` is one of them."""
        rows = [tuple(Var(self.fresh(c.name), c.type) for c in table.columns) for _ in chosen]
        counts = [Var(self.fresh("times"), INT) for _ in chosen]
        matches = [(atom.args, row) for atom, row in zip(chosen, rows, strict=True)]
        delta = replaced(monomial, chosen, matches, counts)
        if delta is not None:
            source = change_of(table.name)
            first = [Find(source, row, (), (count,)) for row, count in zip(rows, counts, strict=True)]
            yield self.statement(target, delta, (), first, "aux")

    def follow(self, target: str, monomial: Monomial, name: str, factors: list[Lift | Pointwise]) -> None:
        if self.maps[name].ordered and len(factors) > 1:
            raise CannotCompile("min or max of one bag twice in one condition or row", CannotCompile.TWICE)
        if self.maps[name].order == "sums" and isinstance(factors[0], Lift):
            self.follow_range(target, monomial, name, factors[0])
            return
        for chosen in subsets(factors):
            statement = self.changed_keys(target, monomial, name, chosen)
            if statement is not None and not adds_zero(statement):
                self.events.setdefault(name, []).append((self.event(name, chosen[0]), statement))

    def event(self, name: str, factor: Lift | Pointwise) -> Event:
        found = super().event(name, factor)
        self.aggregates.add(found.aggregate)
        return found

    def changed_keys(
        self, target: str, monomial: Monomial, name: str, chosen: Sequence[Lift | Pointwise]
    ) -> Statement | None:
        """What the changed keys of a map add where each of ``chosen`` reads one of them."""
        first: list[Step] = []
        matches, times = [], []
        for factor in chosen:
            event = self.apart(self.event(name, factor))
            count = Var(self.fresh("flip"), INT)
            source = change_of(name, event.aggregate)
            first.append(Find(source, event.keys, (), (*event.old, *event.new)))
            first += self.flipped(factor, event, count, ())
            matches.append((self.nested_map(factor).arranged(factor.args), event.keys))
            times.append(count)
        computed = frozenset(factor.var.name for factor in chosen if isinstance(factor, Lift))
        delta = replaced(monomial, chosen, matches, times, computed)
        return None if delta is None else self.statement(target, delta, (), first, "aux")

    def follow_range(self, target: str, monomial: Monomial, name: str, lift: Lift) -> None:
        """What the changed keys of a map add where ``lift`` sums it within bounds.

        A range may hold many of the keys that change at once, and is then one change and not many. So the statement
        starts from the groups in which something changed; what a range was is read off the map, and what changed in it
        is summed in the same way.
        """
        found, width = self.nested_map(lift), self.maps[name].width
        groups = tuple(Var(self.fresh(c.name), c.type) for c in self.maps[name].columns[:-1])
        sign = Var(self.fresh("sign"), INT)
        whole = Monomial((*monomial.keys, *read_by(lift)), monomial.weights, monomial.factors)
        computed = frozenset({lift.var.name})
        delta = replaced(whole, (lift,), [(found.arranged(lift.args), groups)], (sign,), computed)
        if delta is None:
            return
        terms = delta.keys[len(monomial.keys) :]
        group = found.arranged(terms[: len(lift.args)])
        limits = zip(lift.bounds, terms[len(lift.args) :], strict=True)
        bounds = tuple(Bound(bound.operator, term) for bound, term in limits)
        totals = self.counts_of(found)
        moved = tuple(Var(self.fresh("n"), INT) for _ in range(2 * width))
        before = tuple[Term, ...](totals[i] for i in found.measures)
        after = tuple[Term, ...](
            call("+", totals[i], call("-", moved[width + i], moved[i])) for i in found.measures
        )
        steps: list[Step] = [Find(change_of(name, GROUPS), groups, (), ())] if groups else []
        steps.append(Range(change_of(name), group, bounds, moved))
        steps.append(Range(name, group, bounds, totals))
        steps.append(Both(lift.var, sign, lift.aggregate, after, before))
        statement = self.statement(target, delta, (), steps, "aux", len(monomial.keys))
        if not adds_zero(statement):
            self.events.setdefault(name, []).append((self.event(name, lift), statement))

    def apart(self, event: Event) -> Event:
        """``event`` under names of its own: several keys of one map may change at once."""

        def own(variables: tuple[Var, ...]) -> tuple[Var, ...]:
            return tuple(Var(self.fresh(var.name.lstrip("·")), var.type) for var in variables)

        return Event(own(event.keys), own(event.old), own(event.new), event.aggregate)

    def columns(self) -> dict[str, Sequence[Var]]:
        own = super().columns()
        changes = {change_of(name): columns for name, columns in own.items()}
        for name, decl in self.maps.items():
            if decl.order == "values":
                changes |= {change_of(name, a): decl.columns for a in self.aggregates}
            elif decl.order == "sums":
                changes[change_of(name, GROUPS)] = decl.columns
        return own | changes
