"""Statements and atoms that kept references make superfluous.

Rows come parents first and go children first (``program/kept``), and a row that others refer to keeps its key. So:

* a child has exactly one parent, which need not be looked up if nothing of it but its being there is used;
* a parent that comes or goes has no children, so it adds nothing to a join with them. One that changes does;
* unless all that is used of it is fixed. Then no map of its children is needed either.

Where parent and children come in one batch the second holds of rows that never go: the batch has no order.

Law (8): under these declarations the statements left out would have added nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nestling.calculus.terms import Var
from nestling.calculus.types import Scalar
from nestling.program.flat import Atom, Monomial
from nestling.program.kept import Tables, is_in_order, kept_columns
from nestling.program.traverse import factor_vars, term_vars


def refers(child: Atom, parent: Atom, tables: Tables) -> bool:
    """Whether ``child`` is joined with the row it refers to, ``parent``."""
    return any(_referring(child, parent, tables))


def _always_refers(child: Atom, parent: Atom, tables: Tables) -> bool:
    """Whether there is such a row for every row of ``child``: the reference is never null."""
    columns = tables[child.name].columns
    return any(
        not any(_may_be_null(columns[i]) for i in positions)
        for positions in _referring(child, parent, tables)
    )


def _referring(child: Atom, parent: Atom, tables: Tables) -> Iterator[tuple[int, ...]]:
    """The columns by which ``child`` refers to ``parent`` and is joined with it."""
    key = tuple(parent.args[i] for i in tables[parent.name].key)
    for positions, table in tables[child.name].references:
        if table == parent.name and tuple(child.args[i] for i in positions) == key:
            yield positions


def _may_be_null(column: Var) -> bool:
    return isinstance(column.type, Scalar) and column.type.nullable


def adds_nothing(monomial: Monomial, chosen: Sequence[Atom], tables: Tables, one_by_one: bool) -> bool:
    """Whether a row for ``chosen`` that comes or goes joins with no rows: another atom refers to it."""
    others = [f for f in monomial.factors if isinstance(f, Atom) and not any(f is c for c in chosen)]
    return any(
        refers(child, parent, tables)
        and (tables[parent.name].append_only or (one_by_one and is_in_order(child.name, parent.name, tables)))
        for parent in chosen
        for child in others
    )


def follows_updates(monomial: Monomial, chosen: Sequence[Atom], tables: Tables) -> bool:
    """Whether a row for ``chosen`` that changes under its key may add anything: of each atom, what is used may change.

    A product is linear in each of its atoms, so one whose used columns stay as they are takes away what it adds.
    """
    table = tables[chosen[0].name]
    if not table.key or table.append_only:
        return False
    return all(_changes(atom, monomial, tables) for atom in chosen)


def _changes(atom: Atom, monomial: Monomial, tables: Tables) -> bool:
    stay = kept_columns(tables[atom.name])
    changing = [arg for i, arg in enumerate(atom.args) if i not in stay]
    return not _is_unused(atom, changing, monomial, frozenset())


def without_implied(monomial: Monomial, tables: Tables, known: frozenset[str] = frozenset()) -> Monomial:
    """``monomial`` without parent atoms that are joined only for existence: the foreign key guarantees it.

    A column whose value is ``known`` is used: only parents that have this value join.
    """
    for atom in monomial.factors:
        if isinstance(atom, Atom) and _is_implied(atom, monomial, tables, known):
            rest = tuple(f for f in monomial.factors if f is not atom)
            return without_implied(Monomial(monomial.keys, monomial.weights, rest), tables, known)
    return monomial


def _is_implied(parent: Atom, monomial: Monomial, tables: Tables, known: frozenset[str]) -> bool:
    others = [f for f in monomial.factors if f is not parent]
    if not any(isinstance(f, Atom) and _always_refers(f, parent, tables) for f in others):
        return False
    own = [arg for i, arg in enumerate(parent.args) if i not in tables[parent.name].key]
    return _is_unused(parent, own, monomial, known)


def _is_unused(atom: Atom, args: Sequence[object], monomial: Monomial, known: frozenset[str]) -> bool:
    """Whether ``args`` of ``atom`` are variables of which nothing is asked, neither elsewhere nor by each other."""
    others = [f for f in monomial.factors if f is not atom]
    used = known | factor_vars(*others) | term_vars(*monomial.keys, *monomial.weights)
    names = [arg.name for arg in args if isinstance(arg, Var)]
    every = [name for arg in atom.args for name in term_vars(arg)]
    return (
        len(names) == len(args) and used.isdisjoint(names) and all(every.count(name) == 1 for name in names)
    )
