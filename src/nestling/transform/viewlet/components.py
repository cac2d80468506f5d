"""Which components of a monomial to store as maps.

Given the variables that are known, atoms that share an unknown variable belong together; components that share none
are independent, so a product over them is a product of look-ups. A component is read directly from its tables if that
finds no superfluous rows: one atom whose columns are all used, or a chain of look-ups by declared keys. Otherwise it
becomes a map, keyed by the variables that the rest of the statement uses, with its own conditions and weights summed
inside.

Law (9): whether a component is stored or read from its tables does not change what the statement adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from nestling.calculus.build import call, const
from nestling.calculus.partial import is_total
from nestling.calculus.terms import Call, Const, Term, Var
from nestling.calculus.traverse import walk
from nestling.calculus.types import INT, Scalar
from nestling.calculus.typing import term_type
from nestling.program.flat import Atom, Bound, Factor, Lift, Monomial, Query, Test
from nestling.program.signs import is_exact
from nestling.program.statements import TableDecl
from nestling.program.traverse import factor_terms, factor_vars, is_known, term_vars
from nestling.transform.cost.statistics import Statistics
from nestling.transform.lower.bounds import bound_of, one_range
from nestling.transform.viewlet.computed import found_by, has_known, linked, not_null, opened, with_values
from nestling.transform.viewlet.storing import EVERY, Rule, Storing

Tables = Mapping[str, TableDecl]
Names = frozenset[str]

#: So many rows of a table are as good as a map: the orders of a customer, the lines of an order.
FAN_OUT = 16

#: What the column of a map in order is called, where it is computed.
AT = "·at"


@dataclass(frozen=True)
class StoredComponent:
    """A component worth a map: its query, and which measure each weight of the monomial takes from it.

    It is read at the terms ``at``, one per key.
    With ``bounds``: of the entries whose last key is within them, summed; with ``where``: of those for whose last key
    a test holds of what lies beyond it.
    """

    query: Query
    measures: tuple[int, ...]
    why: str
    at: tuple[Term, ...]
    bounds: tuple[Bound, ...] = ()
    where: tuple[Lift, Test] | None = None


@dataclass(frozen=True)
class Split:
    """A monomial in parts: components to store, factors to solve as they stand, and what remains of the weights.

    ``differently``: of the rules that store more or fewer than declared keys do, those that may split it otherwise.
    """

    stored: tuple[StoredComponent, ...]
    factors: tuple[Factor, ...]
    weights: tuple[Term, ...]
    differently: frozenset[Rule] = frozenset()


def split(
    monomial: Monomial, known: Names, tables: Tables, storing: Storing, moving: Names = frozenset(),
    *, compares: bool = False,
) -> Split:  # fmt: skip
    """The components of ``monomial`` once ``known`` are bound, those to store by the rule of ``storing``.

    ``moving`` are the variables that hold an aggregate. ``compares``: whether other rules are asked about.
    """
    monomial, values = opened(monomial, known)
    # Frozen: with a view of keys it becomes a set, and what is found on the way to a verdict stays in it.
    known |= frozenset(values)
    atoms = [factor for factor in monomial.factors if isinstance(factor, Atom)]
    rest = [factor for factor in monomial.factors if not isinstance(factor, Atom)]
    weights = [_product_factors(weight) for weight in monomial.weights]
    stored: list[StoredComponent] = []
    direct: list[Atom] = []
    groups = linked(components(atoms, known), rest, known)
    moving |= frozenset(factor.var.name for factor in rest if isinstance(factor, Lift))
    bounding: Names = frozenset()
    differently: set[Rule] = set()
    for group in groups:
        others = [factor for other in groups if other is not group for factor in other]
        own = factor_vars(*group)
        tests: list[Factor] = [
            f for f in rest if isinstance(f, Test) and factor_vars(f) <= own and factor_vars(f) - known
        ]
        outside = [factor for factor in rest if factor not in tests]
        around = known | factor_vars(*others) | term_vars(*monomial.keys) | bounding
        ranged = None
        if not _finds_anyhow(storing, group, known, tables):
            ranged = _ranged(group, tests, outside, around, weights, known, moving) or _divided(
                group, tests, outside, around, weights, known
            )
        if ranged is not None:
            made, weights, gone = ranged
            rest = [factor for factor in outside if factor not in gone]
            bounding |= term_vars(*(bound.term for bound in made.bounds))
            bounding |= factor_vars(*made.where) if made.where is not None else frozenset()
            stored.append(made)
            continue
        by = found_by(outside, own - known, known) if storing.computes else {}
        if by and _is_found(storing, group, known, tables):
            by = {}
        outside = [factor for factor in outside if factor not in by]
        used = around | factor_vars(*outside)
        needed = used | _weight_vars(weights)
        if not by and _reads_tables(storing, group, bool(tests), known, needed, tables):
            if not _reads_tables(EVERY, group, bool(tests), known, needed, tables):
                differently.add("every")
            direct += group
            continue
        tests += [null for test, (inside, _) in by.items() for null in not_null(test, inside)]
        made, weights = _store(group, tests, own, used, weights, [inside for inside, _ in by.values()])
        at = (*made.at[: len(made.at) - len(by)], *(value for _, value in by.values()))
        rest = outside
        stored.append(replace(made, at=at))
    stored = [replace(made, at=with_values(made.at, values)) for made in stored]
    direct = [Atom(atom.name, with_values(atom.args, values)) for atom in direct]
    if stored and compares and any(_finds_few(g, known, tables, storing.statistics) for g in groups):
        differently.add("slices")
    return Split(tuple(stored), (*direct, *rest), tuple(map(_product, weights)), frozenset(differently))


def _ranged(
    group: list[Atom], tests: Sequence[Factor], outside: Sequence[Factor], around: Names,
    weights: list[list[Term]], known: Names, moving: Names,
) -> tuple[StoredComponent, list[list[Term]], list[Factor]] | None:  # fmt: skip
    """``group`` summed below or above a bound, where nothing but one comparison uses some column."""
    own = factor_vars(*group)
    by_column: dict[Term, list[tuple[Factor, Bound]]] = {}
    for factor in outside:
        if isinstance(factor, Test) and (found := bound_of(factor.test, own - known)) is not None:
            by_column.setdefault(found[0], []).append((factor, found[1]))
    for column, pairs in by_column.items():
        bounds = one_range([bound for _, bound in pairs])
        gone: list[Factor] = [factor for factor, _ in pairs]
        kept = [factor for factor in outside if factor not in gone]
        used = around | factor_vars(*kept)
        if bounds is None:
            continue
        null = [Test(call("not", call("is_null", column)))] if _may_be_null(column) else []
        made, left = _store(group, [*tests, *null], own, used, weights, [column])
        # A column that anything else uses is among these, and is not known.
        groups = term_vars(*made.query.keys[:-1])
        # A slice that a moving bound divides is gone through only between where the bound was and is.
        slides = groups and term_vars(*(bound.term for bound in bounds)) & moving
        if groups <= known and not slides:
            return replace(made, bounds=bounds), left, gone
    return None


def _divided(
    group: list[Atom], tests: Sequence[Factor], outside: Sequence[Factor], around: Names,
    weights: list[list[Term]], known: Names,
) -> tuple[StoredComponent, list[list[Term]], list[Factor]] | None:  # fmt: skip
    """``group`` summed over the keys whose suffix (or prefix) sum passes a test; nothing else uses the key (VWAP)."""
    own = factor_vars(*group)
    for lift in outside:
        if not isinstance(lift, Lift) or not _is_beyond(lift, own - known, known):
            continue
        users = [f for f in outside if f is not lift and lift.var.name in factor_vars(f)]
        if len(users) != 1 or not isinstance(users[0], Test) or not _turns_once(users[0], lift, own - known):
            continue
        column = lift.bounds[0].term
        gone: list[Factor] = [lift, users[0]]
        used = around | factor_vars(*(f for f in outside if f not in gone))
        if term_vars(column) & used or lift.var.name in used or _may_be_null(column):
            continue
        made, left = _store(group, tests, own, used, weights, [column])
        if term_vars(*made.query.keys[:-1]) <= known and not term_vars(column) & _weight_vars(left):
            return replace(made, where=(lift, users[0])), left, gone
    return None


def _is_beyond(lift: Lift, free: Names, known: Names) -> bool:
    """Whether ``lift`` sums exactly, over the entries beyond a column of ``free`` variables, in one direction."""
    exact = lift.aggregate in ("sum", "count", "float_sum") and all(map(is_exact, lift.query.monomials))
    used = term_vars(*(bound.term for bound in lift.bounds))
    return exact and len(lift.bounds) == 1 and bool(used) and used <= free and term_vars(*lift.args) <= known


def _turns_once(test: Test, lift: Lift, free: Names) -> bool:
    """Whether ``test`` is monotone in the variable that ``lift`` binds, and uses no ``free`` variable."""
    found = bound_of(test.test, frozenset({lift.var.name}))
    return found is not None and factor_vars(test).isdisjoint(free) and _grows(found[0])


def _grows(term: Term) -> bool:
    """Whether ``term`` grows with its variables."""
    match term:
        case Var():
            return True
        case Call("+", (left, right)):
            return _grows(left) and _grows(right)
        case Call("-", (left, Const())):
            return _grows(left)
        case Call("*", (Const(value), other)) | Call("*", (other, Const(value))):
            return bool(value > 0) and _grows(other)
    return isinstance(term, Const)


def _finds_anyhow(storing: Storing, group: list[Atom], known: Names, tables: Tables) -> bool:
    """Whether the statement looks the rows of ``group`` up in their tables in any case."""
    few = storing.rule == "slices" and _finds_few(group, known, tables, storing.statistics)
    return storing.rule == "none" or few or _chained(group, known, tables)


def _is_found(storing: Storing, group: list[Atom], known: Names, tables: Tables) -> bool:
    """Whether the rows of ``group`` are found without what is computed of them."""
    return has_known(group, known) or _finds_anyhow(storing, group, known, tables)


def _may_be_null(term: Term) -> bool:
    type_ = term_type(term)
    return isinstance(type_, Scalar) and type_.nullable


def _reads_tables(
    storing: Storing, group: list[Atom], tested: bool, known: Names, needed: Names, tables: Tables
) -> bool:
    match storing.rule:
        case "none":
            return True
        case "every":
            # A row that its whole key finds is in the table, as good as in a map.
            is_found = len(group) == 1 and _has_key(group[0], known, tables)
            return not tested and (is_found or (len(group) == 1 and factor_vars(*group) <= needed))
        case "keys":
            return reads_directly(group, tested, known, needed, tables)
        case "slices":
            return reads_directly(group, tested, known, needed, tables) or _finds_few(
                group, known, tables, storing.statistics
            )
        case _:
            assert_never(storing.rule)


def _finds_few(group: list[Atom], known: Names, tables: Tables, statistics: Statistics) -> bool:
    """Whether few rows of ``group`` match the known variables: no more than a foreign key selects.

    If so, a map saves little on this event, and must be maintained on every other.
    """
    pending, bound, found = list(group), known, 1.0
    while pending:
        slices = [(statistics.slice(tables[a.name], _positions(a, bound)), a) for a in pending]
        rows, best = min(slices, key=lambda entry: entry[0])
        found *= max(rows, 1.0)
        bound |= factor_vars(best)
        pending = [atom for atom in pending if atom is not best]
    return found <= FAN_OUT


def _positions(atom: Atom, bound: Names) -> tuple[int, ...]:
    return tuple(i for i, arg in enumerate(atom.args) if is_known(arg, bound))


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
    group: list[Atom],
    tests: Sequence[Factor],
    own: Names,
    used: Names,
    weights: list[list[Term]],
    columns: Sequence[Term] = (),
) -> tuple[StoredComponent, list[list[Term]]]:
    """A map of ``group``, by what is ``used`` of it and then by ``columns``, which are computed."""
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
    last = tuple(Var(f"{AT}{i or ''}", term_type(column)) for i, column in enumerate(columns))
    measures = list(dict.fromkeys(_product(factors) for factors in inside))
    if any(term_type(measure) != INT for measure in measures) and const(1) not in measures:
        measures.insert(0, const(1))
    indexes = tuple(measures.index(_product(factors)) for factors in inside)
    monomial = Monomial((*keys, *columns), tuple(measures), (*group, *tests))
    query = Query((*keys, *last), (monomial,), len(measures))
    return StoredComponent(query, indexes, _why(group, tests), query.keys), left


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
