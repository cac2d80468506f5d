"""Random flat queries: joins of few tables over few variables, with conditions, nested aggregates and counts."""

from collections.abc import Mapping
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from nestling.calculus.build import call, const
from nestling.calculus.terms import Term, Var
from nestling.calculus.types import FLOAT, INT, LABEL
from nestling.calculus.typing import term_type
from nestling.program.flat import Atom, Factor, Lift, Monomial, Pointwise, Query
from nestling.program.flat import Test as Condition
from nestling.program.statements import TableDecl
from nestling.program.traverse import factor_vars, is_safe
from nestling.transform.lower.unify import unify
from tests.strategies import MAYBE, Draw

Tables = Mapping[str, TableDecl]

INTS = tuple(Var(f"i{i}", INT) for i in range(4))
NULLS = tuple(Var(f"m{i}", MAYBE) for i in range(2))
FLOATS = tuple(Var(f"f{i}", FLOAT) for i in range(2))
#: What a lift computes has a variable of its own.
COMPUTED = Var("n0", INT)
VARS = (*INTS, *NULLS, COMPUTED)


def variables(column: Var) -> list[Var]:
    """What may stand in a column: few, so that rows meet; labels of one place only."""
    if column.type == LABEL:
        place = column.name.removesuffix(".label").replace(".", "_")
        return [Var(f"l_{place}{i}", LABEL) for i in range(2)]
    return [var for var in (*INTS, *NULLS, *FLOATS) if var.type == column.type]


@st.composite
def monomials(draw: Draw, tables: Tables, depth: int = 1, safe: bool = True, most: int = 3) -> Monomial:
    """Atoms that share variables, tests of these, and perhaps a nested aggregate or count.

    A ``safe`` one uses no variable that its atoms do not bind.
    """
    factors: list[Factor] = []
    few = draw(st.lists(st.sampled_from(sorted(tables)), min_size=1, max_size=2))
    for name in draw(st.lists(st.sampled_from(few), min_size=min(2, most - 1), max_size=most)):
        args = [draw(st.sampled_from(variables(column))) for column in tables[name].columns]
        factors.append(Atom(name, tuple(args)))
        factors += draw(parents(tables, tables[name], args)) if tables[name].references else []
    pool = [var for var in (*INTS, *NULLS) if not safe or var.name in factor_vars(*factors)]
    if depth and draw(st.booleans()):
        factors.append(draw(nested(tables, depth - 1, pool, safe)))
        pool += [COMPUTED] * isinstance(factors[-1], Lift)
    ints = [var for var in pool if var.type == INT]
    for _ in range(draw(st.integers(0, 3)) if ints else 0):
        factors.append(Condition(draw(equations(ints, pool))))
    keys = draw(st.lists(st.sampled_from(pool), max_size=2)) if pool else []
    return Monomial(tuple(keys), (const(draw(st.sampled_from([1, 1, -1, 2]))),), tuple(factors))


@st.composite
def joins(draw: Draw, tables: Tables) -> Query:
    """A flat query over all tables, dictionaries included, its equations solved."""
    solved = unify(draw(monomials(tables, depth=2, most=4)))
    assume(solved is not None and is_safe(keyed(solved)))
    assert solved is not None
    names = tuple(Var(f"c{i}", term_type(key)) for i, key in enumerate(solved.keys))
    return Query(names, (solved,))


@st.composite
def parents(draw: Draw, tables: Tables, child: TableDecl, args: list[Var]) -> list[Atom]:
    """The rows that a row refers to, perhaps: joins that follow a reference are compiled in a way of their own."""
    found = []
    for positions, name in child.references:
        if draw(st.booleans()):
            columns = [draw(st.sampled_from(variables(column))) for column in tables[name].columns]
            for own, place in zip(positions, tables[name].key, strict=True):
                columns[place] = args[own]
            found.append(Atom(name, tuple(columns)))
    return found


@st.composite
def equations(draw: Draw, ints: list[Var], pool: list[Var]) -> Term:
    left = draw(st.sampled_from([*ints, *pool]))
    sides: list[Term] = [*pool, *pool, const(0), const(1), *(call("+", var, const(1)) for var in ints)]
    return call(draw(st.sampled_from(["==", "==", "=", "<"])), left, draw(st.sampled_from(sides)))


@st.composite
def nested(draw: Draw, tables: Tables, depth: int, pool: list[Var], safe: bool) -> Factor:
    """A factor that reads a query of its own, at variables of ``pool``."""
    inner = draw(monomials(tables, depth, safe, 2))
    if not {key.type for key in vars_of(inner.keys)} <= {var.type for var in pool}:
        inner = Monomial((), inner.weights, inner.factors)
    named = tuple(Var(f"k{i}", key.type) for i, key in enumerate(vars_of(inner.keys)))
    args = tuple(draw(st.sampled_from([var for var in pool if var.type == key.type])) for key in named)
    if draw(st.booleans()):
        return Pointwise(draw(st.sampled_from(["distinct", "exists", "clip"])), Query(named, (inner,)), args)
    aggregate = draw(st.sampled_from(["count", "sum", "sum"]))
    values: list[Term] = [var for var in pool_of(inner) if var.type == INT]
    value = draw(st.sampled_from(values or [const(3)]))
    weights = (inner.weights[0], call("*", inner.weights[0], value))[: 2 if aggregate == "sum" else 1]
    return Lift(
        COMPUTED, aggregate, Query(named, (Monomial(inner.keys, weights, inner.factors),), len(weights)), args
    )


def pool_of(monomial: Monomial) -> list[Var]:
    """The variables that a monomial's atoms bind."""
    atoms = [factor for factor in monomial.factors if isinstance(factor, Atom)]
    return [var for var in (*INTS, *NULLS) if var.name in factor_vars(*atoms)]


def vars_of(terms: tuple[Term, ...]) -> list[Var]:
    return [term for term in terms if isinstance(term, Var)]


def keyed(*monomials: Monomial) -> Query:
    """Monomials of equally many keys as one query."""
    names = tuple(Var(f"k{i}", key.type) for i, key in enumerate(vars_of(monomials[0].keys)))
    return Query(names, monomials)


def scalar_tables(tables: Tables) -> dict[str, Any]:
    """The tables without labels."""
    return {
        name: decl for name, decl in tables.items() if all(column.type != LABEL for column in decl.columns)
    }
