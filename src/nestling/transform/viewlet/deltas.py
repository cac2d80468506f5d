"""Deltas of monomials: what a change adds.

A change ΔR of rows changes a product of atoms by the sum, over the non-empty subsets of the atoms on R, of the product
with those atoms on ΔR; all else is read as it was. Two chosen atoms may be two rows of the change, so each has an
occurrence of ΔR of its own. The same holds of a nested map: the change of its keys is a relation too, and two
aggregates in one product may change at two keys.

Law (1), flat: the change of a query is the sum of what these monomials mean on the state before the change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

from nestling.calculus.build import call
from nestling.calculus.terms import Term, Var
from nestling.calculus.traverse import Names
from nestling.calculus.types import INT
from nestling.program.batches import GROUPS, change_of
from nestling.program.flat import Atom, Bound, Factor, Lift, Monomial, Pointwise, Test
from nestling.program.statements import Combine, Find, MapDecl, MapEvent, NewAndOld, Range, Step, TableDecl
from nestling.transform.lower.unify import unify
from nestling.transform.viewlet.handles import MapHandle
from nestling.transform.viewlet.references import adds_nothing, follows_updates
from nestling.transform.viewlet.schedule import TIMES

T = TypeVar("T")

#: A factor that reads a nested map, and where in the map stands what it reads.
Nested = tuple[Lift | Pointwise, MapHandle]


@dataclass(frozen=True)
class Delta:
    """``monomial`` for every solution of the steps ``first``, which bind what changed.

    The first ``arity`` keys of the monomial are those of what it is added to; the steps use the others. What rows add
    that come or go may differ from what those add that change under their key: ``on_rows``, ``on_updates``.
    """

    monomial: Monomial
    first: tuple[Step, ...]
    arity: int
    on_rows: bool = True
    on_updates: bool = False


def row_deltas(
    monomial: Monomial, table: TableDecl, tables: Mapping[str, TableDecl], names: Names, one_by_one: bool
) -> Iterator[Delta]:
    """What the change of ``table`` adds to ``monomial``; ``one_by_one``: updates, and rows in order of references."""
    atoms = [f for f in monomial.factors if isinstance(f, Atom) and f.name == table.name]
    for chosen in subsets(atoms):
        on_rows = not adds_nothing(monomial, chosen, tables, one_by_one)
        on_updates = one_by_one and follows_updates(monomial, chosen, tables)
        if not (on_rows or on_updates):
            continue
        rows = [table.columns, *(_apart(table.columns, names) for _ in chosen[1:])]
        times = [TIMES, *_apart([TIMES] * len(chosen[1:]), names)]
        matches = [(atom.args, row) for atom, row in zip(chosen, rows, strict=True)]
        delta = replaced(monomial, chosen, matches, times)
        if delta is not None:
            source = change_of(table.name)
            first = tuple(Find(source, row, (), (n,)) for row, n in zip(rows, times, strict=True))
            yield Delta(delta, first, len(monomial.keys), on_rows, on_updates)


def key_deltas(
    monomial: Monomial, decl: MapDecl, read: Sequence[Nested], names: Names
) -> Iterator[tuple[MapEvent, Delta]]:
    """What the change of a nested map adds to ``monomial``, which reads it in ``read``; and the event at one key."""
    if decl.order == "sums" and isinstance(read[0][0], Lift):
        yield from _range_delta(monomial, decl, *read[0], names)
        return
    for chosen in subsets(read):
        first: list[Step] = []
        matches, times = [], list[Var]()
        for number, (factor, found) in enumerate(chosen):
            event = event_of(decl, factor)
            if number:
                keys, old, new = (_apart(part, names) for part in (event.keys, event.old, event.new))
                event = MapEvent(keys, old, new, event.aggregate)
            times.append(fresh("flip" if isinstance(factor, Pointwise) else "sign", names))
            first.append(
                Find(change_of(decl.name, event.aggregate), event.keys, (), (*event.old, *event.new))
            )
            first.append(_flipped(factor, found, event, times[-1]))
            matches.append((found.arranged(factor.args), event.keys))
        factors = [factor for factor, _ in chosen]
        computed = frozenset(factor.var.name for factor in factors if isinstance(factor, Lift))
        delta = replaced(monomial, factors, matches, times, computed)
        if delta is not None:
            yield event_of(decl, factors[0]), Delta(delta, tuple(first), len(monomial.keys))


def _range_delta(
    monomial: Monomial, decl: MapDecl, lift: Lift | Pointwise, found: MapHandle, names: Names
) -> Iterator[tuple[MapEvent, Delta]]:
    """What the changed keys of a map add where ``lift`` sums it within bounds.

    A range may hold many of the keys that change at once, and is then one change and not many. So the statement
    starts from the groups in which something changed; what a range was is read off the map, and what changed in it
    is summed in the same way.
    """
    assert isinstance(lift, Lift)
    event = event_of(decl, lift)
    groups, sign = event.keys[:-1], fresh("sign", names)
    # What the range is read by goes along with the keys, and is renamed as they are.
    carried = (*monomial.keys, *lift.args, *(bound.term for bound in lift.bounds))
    whole = Monomial(carried, monomial.weights, monomial.factors)
    matches = [(found.arranged(lift.args), groups)]
    delta = replaced(whole, (lift,), matches, (sign,), frozenset({lift.var.name}))
    if delta is None:
        return
    args, limits = _split(delta.keys[len(monomial.keys) :], len(lift.args))
    group = found.arranged(args)
    bounds = tuple(Bound(b.operator, term) for b, term in zip(lift.bounds, limits, strict=True))
    totals = tuple(fresh("n", names) for _ in found.weights)
    before = tuple[Term, ...](totals[i] for i in found.measures)
    after = tuple[Term, ...](
        call("+", totals[i], call("-", event.new[i], event.old[i])) for i in found.measures
    )
    steps: list[Step] = [Find(change_of(decl.name, GROUPS), groups, (), ())] if groups else []
    steps.append(Range(change_of(decl.name), group, bounds, (*event.old, *event.new)))
    steps.append(Range(decl.name, group, bounds, totals))
    steps.append(NewAndOld(lift.var, sign, lift.aggregate, after, before))
    yield event, Delta(delta, tuple(steps), len(monomial.keys))


def _split(items: tuple[Term, ...], at: int) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    return items[:at], items[at:]


def event_of(decl: MapDecl, factor: Lift | Pointwise) -> MapEvent:
    """What changes in a map, at one key, for ``factor``, which reads it."""
    name = decl.name
    if decl.order == "values" and isinstance(factor, Lift):
        keys = tuple(Var(f"·{name}_k{i}", k.type) for i, k in enumerate(decl.columns[:-1]))
        # Several aggregates may read one map, each with its own before and after.
        read = f"·{name}_{factor.aggregate}"
        old, new = (Var(f"{read}_{when}", factor.var.type) for when in ("old", "new"))
        return MapEvent(keys, (old,), (new,), factor.aggregate)
    keys = tuple(Var(f"·{name}_k{i}", k.type) for i, k in enumerate(decl.columns))
    old_cells = tuple(Var(f"·{name}_old{i}", INT) for i in range(decl.width))
    new_cells = tuple(Var(f"·{name}_new{i}", INT) for i in range(decl.width))
    return MapEvent(keys, old_cells, new_cells)


def _flipped(factor: Lift | Pointwise, found: MapHandle, event: MapEvent, times: Var) -> Step:
    """The step that turns an event into a change of ``factor``, with ``times`` for what it multiplies by."""
    places = (0,) if event.aggregate else found.measures
    new, old = (tuple[Term, ...](cells[i] for i in places) for cells in (event.new, event.old))
    if isinstance(factor, Pointwise):
        return Combine(times, factor.operator, new, old)
    return NewAndOld(factor.var, times, factor.aggregate, new, old)


def fresh(like: str, names: Names) -> Var:
    """A variable for a number of a statement, apart from every name that a query can have."""
    return Var(names.fresh(f"·{like}"), INT)


def _apart(variables: Sequence[Var], names: Names) -> tuple[Var, ...]:
    """``variables`` under names of their own: those of the first entry of a change are taken, and nobody says so."""
    return tuple(Var(names.fresh(f"·{var.name.lstrip('·')}_2"), var.type) for var in variables)


def subsets(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """The non-empty subsets of ``items``, smallest first."""
    for size in range(1, len(items) + 1):
        yield from combinations(items, size)


def replaced(
    monomial: Monomial,
    gone: Sequence[Factor],
    matches: Sequence[tuple[tuple[Term, ...], tuple[Var, ...]]],
    times: Sequence[Term],
    computed: frozenset[str] = frozenset(),
) -> Monomial | None:
    """``monomial`` without ``gone``, where each pair of ``matches`` is equal, its weights multiplied by ``times``.

    ``computed`` variables are bound by what takes the place of ``gone``: they are tested, not solved for.
    """
    rest = tuple(f for f in monomial.factors if not any(f is g for g in gone))
    tests = tuple(
        Test(call("==", arg, value))
        for args, values in matches
        for arg, value in zip(args, values, strict=True)
    )
    weights = monomial.weights
    for factor in times:
        weights = tuple(call("*", factor, weight) for weight in weights)
    fixed = computed | frozenset(value.name for _, values in matches for value in values)
    return unify(Monomial(monomial.keys, weights, (*rest, *tests)), fixed)
