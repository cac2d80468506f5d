"""Statements and atoms that declared references make superfluous.

A row of a child table is only inserted if the parent row that it refers to exists, and a row of an append-only parent
table never changes. So a child has exactly one parent, which need not be looked up if none of its columns is used; and
a new parent has no children yet, so that it adds nothing to a join with them.

Law (8): under these declarations the statements left out would have added nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nestling.calculus.terms import Var
from nestling.program.flat import Atom, Monomial
from nestling.program.statements import TableDecl
from nestling.program.traverse import factor_vars, term_vars

Tables = Mapping[str, TableDecl]


def refers(child: Atom, parent: Atom, tables: Tables) -> bool:
    """Whether ``child`` is joined with the row it refers to, ``parent``, which never changes."""
    declared = tables[parent.name]
    return declared.append_only and any(
        table == parent.name
        and tuple(child.args[i] for i in positions) == tuple(parent.args[i] for i in declared.key)
        for positions, table in tables[child.name].references
    )


def adds_nothing(monomial: Monomial, chosen: Sequence[Atom], tables: Tables) -> bool:
    """Whether a row for ``chosen`` joins with no rows: another atom refers to it, and cannot have rows for it yet."""
    others = [f for f in monomial.factors if isinstance(f, Atom) and not any(f is c for c in chosen)]
    return any(refers(child, parent, tables) for parent in chosen for child in others)


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
    if not any(isinstance(f, Atom) and refers(f, parent, tables) for f in others):
        return False
    used = known | factor_vars(*others) | term_vars(*monomial.keys, *monomial.weights)
    own = [arg for i, arg in enumerate(parent.args) if i not in tables[parent.name].key]
    names = [arg.name for arg in own if isinstance(arg, Var)]
    return len(names) == len(own) == len(set(names)) and used.isdisjoint(names)
