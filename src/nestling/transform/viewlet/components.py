"""What to store for the rest of a monomial: its components, and which of them are worth a map.

Given the variables that are known, atoms that share an unknown variable belong together; components that share none
are independent, so a product over them is a product of look-ups. A component is read straight from its tables
where that finds no more than it must: one atom that is used as it stands, or a chain of look-ups by declared keys.
Otherwise it becomes a map, keyed by what the rest of the statement uses of it, with conditions and weights that
concern it alone summed inside.

Law (9): whether a component is stored or read from its tables does not change what the statement adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from nestling.calculus.build import call, const
from nestling.calculus.partial import is_total
from nestling.calculus.terms import Call, Term, Var
from nestling.calculus.traverse import walk
from nestling.calculus.types import INT
from nestling.calculus.typing import term_type
from nestling.program.flat import Atom, Factor, Monomial, Query, Test
from nestling.program.statements import TableDecl
from nestling.program.traverse import factor_terms, factor_vars, term_vars

Tables = Mapping[str, TableDecl]
Names = frozenset[str]
Store: TypeAlias = Literal["auto", "full", "counts"]


@dataclass(frozen=True)
class Stored:
    """A component worth a map: its query, and which measure each weight of the monomial takes from it."""

    query: Query
    measures: tuple[int, ...]
    why: str


@dataclass(frozen=True)
class Split:
    """A monomial in parts: components to store, factors to solve as they stand, and what remains of the weights."""

    stored: tuple[Stored, ...]
    factors: tuple[Factor, ...]
    weights: tuple[Term, ...]


def split(monomial: Monomial, known: Names, tables: Tables, store: Store = "auto") -> Split:
    """The components of ``monomial`` once ``known`` are bound; ``store`` is the materialisation knob.

    ``"auto"`` stores what its tables do not answer as well, ``"full"`` stores every component that is not a table as
    it stands, ``"counts"`` none: it reads the tables, and only aggregates and counts have maps.
    """
    atoms = [factor for factor in monomial.factors if isinstance(factor, Atom)]
    rest = [factor for factor in monomial.factors if not isinstance(factor, Atom)]
    weights = [_product_factors(weight) for weight in monomial.weights]
    stored: list[Stored] = []
    direct: list[Factor] = []
    groups = components(atoms, known)
    for group in groups:
        others = [factor for other in groups if other is not group for factor in other]
        own = factor_vars(*group)
        tests = [f for f in rest if isinstance(f, Test) and factor_vars(f) <= own and factor_vars(f) - known]
        outside = [factor for factor in rest if factor not in tests]
        used = known | factor_vars(*others, *outside) | term_vars(*monomial.keys)
        needed = used | _weight_vars(weights)
        if _reads_tables(store, group, bool(tests), known, needed, tables):
            direct += group
            continue
        made, weights = _store(group, tests, own, used, weights)
        rest = outside
        stored.append(made)
    return Split(tuple(stored), (*direct, *rest), tuple(map(_product, weights)))


def _reads_tables(
    store: Store, group: list[Atom], tested: bool, known: Names, needed: Names, tables: Tables
) -> bool:
    match store:
        case "counts":
            return True
        case "full":
            return len(group) == 1 and not tested and factor_vars(*group) <= needed
        case "auto":
            return reads_directly(group, tested, known, needed, tables)


def components(atoms: Sequence[Atom], known: Names) -> list[list[Atom]]:
    """Atoms that share a variable which is not ``known``, together."""
    groups: list[list[Atom]] = []
    for atom in atoms:
        free = factor_vars(atom) - known
        touching = [group for group in groups if free & (factor_vars(*group) - known)]
        apart = [group for group in groups if group not in touching]
        groups = [*apart, [*(other for group in touching for other in group), atom]]
    return groups


def reads_directly(group: list[Atom], tested: bool, known: Names, used: Names, tables: Tables) -> bool:
    """Whether the tables themselves answer as well as a map would."""
    if _chained(group, known, tables):
        return True
    if tested:
        return False
    if len(group) == 1:
        return factor_vars(*group) <= used or _keeps_key(group[0], used, tables)
    return any(
        _keeps_key(driver, used, tables)
        and _chained([a for a in group if a is not driver], known | factor_vars(driver), tables)
        for driver in group
    )


def _chained(group: list[Atom], known: Names, tables: Tables) -> bool:
    """Whether every atom is found by its table's declared key, one after the other."""
    pending, bound = list(group), known
    while pending:
        ready = [atom for atom in pending if _has_key(atom, bound, tables)]
        if not ready:
            return False
        bound |= factor_vars(*ready)
        pending = [atom for atom in pending if atom not in ready]
    return True


def _has_key(atom: Atom, bound: Names, tables: Tables) -> bool:
    key = tables[atom.name].key
    return bool(key) and term_vars(*(atom.args[i] for i in key)) <= bound


def _keeps_key(atom: Atom, used: Names, tables: Tables) -> bool:
    """Whether what is used of a row still tells it from every other."""
    return _has_key(atom, used, tables)


def _store(
    group: list[Atom], tests: Sequence[Factor], own: Names, used: Names, weights: list[list[Term]]
) -> tuple[Stored, list[list[Term]]]:
    inside = [
        [
            f
            for f in factors
            if term_vars(f) and term_vars(f) <= own and not term_vars(f) <= used and is_total(f)
        ]
        for factors in weights
    ]
    left = [[f for f in factors if f not in i] for factors, i in zip(weights, inside, strict=True)]
    keys = _vars_of(group, own & (used | _weight_vars(left)))
    measures = list(dict.fromkeys(_product(factors) for factors in inside))
    if any(term_type(measure) != INT for measure in measures) and const(1) not in measures:
        measures.insert(0, const(1))
    indexes = tuple(measures.index(_product(factors)) for factors in inside)
    monomial = Monomial(keys, tuple(measures), (*group, *tests))
    return Stored(Query(keys, (monomial,), len(measures)), indexes, _why(group, tests)), left


def _why(group: list[Atom], tests: Sequence[Factor]) -> str:
    names = " ⋈ ".join(atom.name for atom in group)
    return f"{names}{' filtered' if tests else ''}, summed by what is used of it"


def _vars_of(group: list[Atom], names: Names) -> tuple[Var, ...]:
    found: dict[str, Var] = {}
    for atom in group:
        for term in factor_terms(atom):
            for node in walk(term):
                if isinstance(node, Var) and node.name in names:
                    found[node.name] = node
    return tuple(found.values())


def _weight_vars(weights: list[list[Term]]) -> Names:
    return term_vars(*(factor for factors in weights for factor in factors))


def _product_factors(weight: Term) -> list[Term]:
    match weight:
        case Call("*", (left, right)):
            return [*_product_factors(left), *_product_factors(right)]
    return [weight]


def _product(factors: Sequence[Term]) -> Term:
    result: Term = const(1)
    for factor in factors:
        if factor != const(1):
            result = factor if result == const(1) else call("*", result, factor)
    return result
