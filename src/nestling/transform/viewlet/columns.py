"""The types of a map's columns: what its tables bring, not what is asked of it.

``r.a NOT IN (SELECT u.b …)`` asks a count of u by b at a value that is never null, but a row of u may have no b: it is
counted under null, which nobody asks for. Its change is passed on all the same, and what tests the key must expect it.

Law: every value that a column of a map can hold is of the column's type.
"""

from __future__ import annotations

from collections.abc import Mapping

from nestling.calculus.terms import Term, Var
from nestling.calculus.types import Scalar, nullable
from nestling.calculus.typing import term_type
from nestling.program.flat import Atom, Monomial, Query
from nestling.program.statements import TableDecl
from nestling.program.traverse import term_vars

Tables = Mapping[str, TableDecl]


def stored_columns(query: Query, tables: Tables) -> tuple[Var, ...]:
    """The keys of ``query``, those that may hold a null with a type that says so."""
    return tuple(
        _nullable(column) if any(_may_be_null(m, m.keys[i], tables) for m in query.monomials) else column
        for i, column in enumerate(query.keys)
    )


def _nullable(column: Var) -> Var:
    return Var(column.name, nullable(column.type)) if isinstance(column.type, Scalar) else column


def _may_be_null(monomial: Monomial, key: Term, tables: Tables) -> bool:
    type_ = term_type(key)
    if isinstance(type_, Scalar) and type_.nullable:
        return True
    return any(_brings_null(monomial, name, tables) for name in term_vars(key))


def _brings_null(monomial: Monomial, name: str, tables: Tables) -> bool:
    """Whether the rows that bind variable ``name`` may have a null for it: all of them, or none match."""
    types = [
        column.type
        for factor in monomial.factors
        if isinstance(factor, Atom)
        for arg, column in zip(factor.args, tables[factor.name].columns, strict=True)
        if isinstance(arg, Var) and arg.name == name
    ]
    return bool(types) and all(isinstance(type_, Scalar) and type_.nullable for type_ in types)
