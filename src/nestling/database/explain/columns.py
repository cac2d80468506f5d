"""What the columns of maps are: columns of tables, whatever variables a definition calls them by."""

from __future__ import annotations

from collections.abc import Mapping

from nestling.calculus.terms import Const, Term, Var
from nestling.calculus.traverse import walk
from nestling.program.flat import Atom, Monomial, Query
from nestling.program.phrases import Phrases
from nestling.program.show import column_vars
from nestling.program.statements import MapDecl, Program, TableDecl

Tables = Mapping[str, TableDecl]


def last(name: str) -> str:
    """The part behind the last dot."""
    return name.rpartition(".")[2]


def columns_of(program: Program, source: str) -> list[str]:
    """The columns of a table or map, each by the full name of the table's column it holds."""
    if source in program.tables:
        return [column.name for column in program.tables[source].columns]
    return key_columns(program.maps[source].query, program.tables)


def key_columns(query: Query, tables: Tables) -> list[str]:
    """The columns of ``query``; what comes from no table has the name its definition gives it."""
    if not query.monomials:
        return [key.name for key in query.keys]
    first = query.monomials[0]
    origins = _origins(first, tables)
    named = column_vars(query)
    return [
        origins.get(key.name, var.name) if isinstance(key, Var) else var.name
        for key, var in zip(first.keys, named, strict=True)
    ]


def _origins(monomial: Monomial, tables: Tables) -> dict[str, str]:
    """The table's column for every variable that an atom binds; of several, the first."""
    found: dict[str, str] = {}
    for factor in monomial.factors:
        if isinstance(factor, Atom):
            for arg, column in zip(factor.args, tables[factor.name].columns, strict=True):
                if isinstance(arg, Var):
                    found.setdefault(arg.name, column.name)
    return found


def measures(decl: MapDecl, tables: Tables) -> list[str]:
    """What each measure counts or sums."""
    return [_measure(decl.query, i, tables) for i in range(decl.width)]


def _measure(query: Query, position: int, tables: Tables) -> str:
    texts = []
    for monomial in query.monomials:
        weight = monomial.weights[position]
        if isinstance(weight, Const):
            texts += ["count"] if weight.value else []
        else:
            texts.append(f"sum of {_named(weight, _origins(monomial, tables))}")
    return " and ".join(dict.fromkeys(texts)) or "count"


def _named(term: Term, origins: Mapping[str, str]) -> str:
    found = [node for node in walk(term) if isinstance(node, Var) and node.name in origins]
    return Phrases({var.name: Var(last(origins[var.name]), var.type) for var in found}).product(term)
