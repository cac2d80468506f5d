"""Views that laws share: drawn afresh, compiled once, run under many changes.

A law over compiled views draws a view, and then what happens to its tables. To compile is dear and to run is not, so
the quick profile takes a view from a pool, where each is compiled when it is first asked for. A law keeps its number
of examples, and meets more views that were drawn afresh than if it drew its own: Hypothesis mostly varies what it has.
The profile ``laws`` has no pool. It draws a new view every time, and makes one that fails small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TypeVar

from hypothesis import assume, settings
from hypothesis import strategies as st

from nestling.calculus.terms import Expr
from nestling.calculus.traverse import relations
from nestling.calculus.types import Record
from nestling.engine.local.engine import LocalEngine
from nestling.program.flat import Query
from nestling.program.statements import Program
from nestling.program.traverse import inputs
from nestling.transform.lower import FlatView
from nestling.transform.lower.view import CannotLower
from nestling.transform.viewlet import compile_batches, compile_views
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.patient import patient
from nestling.transform.viewlet.storing import Store, Storing
from tests.draws import AFRESH, draws
from tests.engines.flat import joins
from tests.engines.worlds import Stored, World, flat_view
from tests.strategies import queries

T = TypeVar("T")

#: How many views of a world there are, and how many joins, which are dearer to compile.
VIEWS, JOINS = 100, 80


def pooled(strategy: st.SearchStrategy[T], size: int) -> st.SearchStrategy[T]:
    """``strategy``, or the first ``size`` of its values in the profile that draws the same every time."""
    if not settings().derandomize:
        return strategy

    @cache
    def some(number: int) -> list[T]:
        return draws(strategy, AFRESH, number)

    return st.integers(0, size - 1).map(lambda i: some(i // AFRESH)[i % AFRESH])


@cache
def shared_queries(world: World) -> st.SearchStrategy[Expr]:
    """Queries over a world."""
    return pooled(queries("full", schema=world.schema), VIEWS)


@cache
def shared_joins(world: World) -> st.SearchStrategy[Query]:
    """Flat joins over a world."""
    return pooled(joins(world.tables), JOINS)


def as_view(query: Query) -> FlatView:
    """A flat query as a view."""
    return FlatView(query, {}, Record(tuple((key.name, key.type) for key in query.keys)))


# What a view is compiled to is the same for every example. The caches hold a few pools; ``forget`` empties them for
# those who exchange the compiler.
_MOST = 2000


@dataclass(frozen=True)
class For:
    """What programs are for: ``batches``, or rows; not ``exact``, Spark; ``alone``, tables without references.

    A ``patient`` one lets updates wait.
    """

    batches: bool = False
    exact: bool = True
    alone: bool = False
    patient: bool = False


ROWS = For()


@lru_cache(_MOST)
def program_of(
    world: World, query: Expr | Query, store: Store | Storing = "auto", use: For = ROWS
) -> Program | None:
    """The program that maintains ``query`` as view ``v``; ``None`` where there is none."""
    compile_: Callable[..., Program] = compile_batches if use.batches else compile_views
    tables = world.unreferred if use.alone else world.tables
    try:
        view = as_view(query) if isinstance(query, Query) else flat_view(query, use.exact)
        program = compile_(tables, {"v": view}, store={"v": store})
    except (CannotLower, CannotCompile):
        return None
    return patient(program, {"v"}) if use.patient else program


def compiled(world: World, query: Expr | Query, store: Store | Storing = "auto", use: For = ROWS) -> Program:
    """As ``program_of``, for a law: it goes on with another query where there is no program."""
    program = program_of(world, query, store, use)
    assume(program is not None)
    assert program is not None
    return program


_FIRST: dict[int, LocalEngine] = {}


def engine_of(program: Program) -> LocalEngine:
    """An engine with nothing in it; the functions of the first are those of all that run the same program."""
    if len(_FIRST) > _MOST:
        _FIRST.clear()
    # The engine has the program, so that no other gets its number.
    if id(program) not in _FIRST:
        _FIRST[id(program)] = LocalEngine(program)
    return LocalEngine(program, before=_FIRST[id(program)])


def empty(world: World, query: Expr | Query) -> Stored:
    """The tables of a world without rows, and what happens, happens to what ``query`` reads."""
    names = inputs(query) if isinstance(query, Query) else relations(query)
    return Stored(world, world.with_parents(frozenset(name.split(".")[0] for name in names)))


def forget() -> None:
    """Compile everything anew."""
    program_of.cache_clear()
    _FIRST.clear()
