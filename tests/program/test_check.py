"""Programs keep their rules, and those that do not are refused."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nestling.calculus.build import const
from nestling.calculus.terms import Var
from nestling.calculus.types import INT
from nestling.errors import NestlingError
from nestling.program.check import check_program
from nestling.program.flat import Atom
from nestling.program.statements import (
    Add,
    Combine,
    Find,
    MapEvent,
    Measure,
    Plan,
    Program,
    Propagate,
    Statement,
    Write,
)
from tests.engines.shared import program_of
from tests.engines.worlds import WORLDS
from tests.program.programs import (
    BY_GENRE,
    COLLECT,
    COUNT,
    DIRECT,
    FLIP,
    GEN,
    GENRES,
    NAME,
    ONE,
    PASS_ON,
    PK,
    PROGRAMS,
    QUANTITIES,
    READ_TOTAL,
    SLICE,
    TAGGED,
    TIMES,
    sums,
)
from tests.strategies import queries

every_world = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_written_out(name):
    check_program(PROGRAMS[name])


@every_world
@given(data=st.data())
def test_programs_that_are_compiled(world, data):
    program = program_of(world, data.draw(queries("full", schema=world.schema)))
    assume(program is not None)
    assert program is not None
    check_program(program)


# mutations


def acting(program: Program, *actions: Any) -> Program:
    """``program``, its one trigger with other actions."""
    [(name, trigger)] = program.triggers.items()
    return replace(program, triggers={name: replace(trigger, actions=actions)})


def without(program: Program, name: str) -> Program:
    return replace(program, maps={n: decl for n, decl in program.maps.items() if n != name})


def with_map(program: Program, name: str, **changes: Any) -> Program:
    return replace(program, maps={**program.maps, name: replace(program.maps[name], **changes)})


def reading(program: Program, statement: Statement, **changes: Any) -> Program:
    """``program``, its one view read by ``statement`` alone."""
    [(name, view)] = program.views.items()
    return replace(program, views={name: replace(view, rows=Plan((), (statement,), **changes))})


def measuring(step: Any) -> Program:
    """QUANTITIES, its view read by ``step``, which binds FLAG."""
    return reading(QUANTITIES, Statement("", (FLAG,), (ONE,), (step,)))


def passing_on(event: MapEvent, *adds: Add) -> Program:
    """QUANTITIES, its event another."""
    return acting(QUANTITIES, COLLECT, DIRECT, Write("L"), Propagate("L1", ((event, adds),)))


def starting(**changes: Any) -> Program:
    """GENRES, its first statement changed."""
    first, *rest = GENRES.triggers["M"].actions
    assert isinstance(first, Add)
    return acting(GENRES, Add(replace(first.statement, **changes)), *rest)


def finding(**changes: Any) -> Program:
    """GENRES, its first step changed."""
    return starting(steps=(replace(SLICE, **changes),))


MEASURE = Measure(Var("flag", INT), "sum", "L0", (), (0, 1))
JOIN, SCAN, KEEP, WRITE = GENRES.triggers["M"].actions
FLAG, UNKNOWN, NEW = Var("flag", INT), Var("unknown", INT), Var("new", INT)
COLLECT_COUNT, COLLECT_TAGS, WRITE_TAGS, FLIP_COUNT, FLIP_TAGS = TAGGED.triggers["P"].actions
OUTER = Add(replace(FLIP, target="L1", keys=(Var("k", INT),)), later=True)
SELF = Add(Statement("A1", (GEN, NAME), (TIMES,), (Find("A1", (GEN, NAME), (0, 1), (COUNT,)),)))
EVENT = PASS_ON.events[0][0]
ROW, LATER = (NAME, GEN), Add(Statement("A1", (GEN, NAME), (TIMES,), ()), later=True)

MUTATIONS: dict[str, tuple[Program, str]] = {
    "a map that is not declared": (without(GENRES, "A1"), "there is no map A1"),
    "a table that is not declared": (
        with_map(GENRES, "A1", query=sums((), (Atom("X", ()),))), "there is no table X"
    ),
    "a name for two": (replace(GENRES, maps={"M": GENRES.maps["A1"]}), "M is a table and a map"),
    "a map that waits for nothing": (replace(GENRES, deferred=frozenset({"A1"})), "A1 waits"),
    "a total of no map": (replace(GENRES, totals={"X": Plan((), ())}), "there is no map X"),
    "a total asked for by too little": (
        replace(GENRES, totals={"A1": Plan((), ())}), "what A1 is asked by: 0 where there are 2"
    ),
    "an unknown role": (with_map(GENRES, "A1", role="spare"), "has the role 'spare'"),
    "a definition without a key": (
        with_map(GENRES, "A1", query=replace(BY_GENRE, keys=(GEN,))), "keys of A1: 2 where there are 1"
    ),
    "a definition without a weight": (
        with_map(GENRES, "A1", query=replace(BY_GENRE, width=2)), "weights of A1: 1 where there are 2"
    ),
    "a definition with an unbound key": (
        with_map(GENRES, "A1", query=sums((NAME,), ())), "not bound by what it reads"
    ),
    "a row too short": (
        with_map(GENRES, "A1", query=sums((NAME,), (Atom("M", (NAME,)),))),
        "columns of M in A1: 1 where there are 2",
    ),
    "no trigger": (replace(GENRES, triggers={}), "tables and triggers differ in M"),
    "a trigger for nothing": (
        replace(GENRES, tables={}, maps={}, views={}), "tables and triggers differ in M"
    ),
    "a trigger with other columns": (
        replace(GENRES, triggers={"M": replace(GENRES.triggers["M"], columns=(NAME,))}), "columns of on M"
    ),
    "too few keys": (starting(keys=(NAME,)), "keys of R0"),
    "too many amounts": (starting(amounts=(TIMES, TIMES)), "amounts of R0"),
    "an argument too few": (finding(args=(GEN,)), "columns of A1: 1 where there are 2"),
    "a measure too many": (finding(counts=(COUNT, FLAG)), "measures of A1: 2 where there are 1"),
    "a position beyond the last": (finding(known=(2,)), "known columns"),
    "a position twice": (finding(known=(0, 0)), "known columns"),
    "known, but not bound": (finding(known=(0, 1)), "x_name is used before it is bound"),
    "bound, but not known": (finding(known=()), "column 0 of A1"),
    "an unbound amount": (starting(amounts=(UNKNOWN,)), "unknown is used before it is bound"),
    "an unbound key": (starting(keys=(NAME, UNKNOWN)), "unknown is used before it is bound"),
    "a variable bound twice": (finding(counts=(TIMES,)), "times is bound twice"),
    "no step to bind it": (starting(steps=()), "n, x_name is used before it is bound"),
    "writer first": (acting(GENRES, KEEP, JOIN, SCAN, WRITE), "A1 was added to before R0"),
    "the row first": (acting(GENRES, WRITE, JOIN, SCAN, KEEP), "M was added to before R0"),
    "a map that reads itself": (acting(GENRES, JOIN, SCAN, SELF, WRITE), "A1 was added to before A1"),
    "no row": (acting(GENRES, JOIN, SCAN, KEEP), "does not write its row"),
    "the row twice": (acting(GENRES, JOIN, SCAN, KEEP, WRITE, WRITE), "writes its row twice"),
    "another table's row": (acting(GENRES, JOIN, SCAN, KEEP, Write("N")), "writes to N"),
    "a change of what no aggregate reads": (
        acting(GENRES, JOIN, SCAN, LATER, WRITE, Propagate("A1", ((MapEvent(ROW, (COUNT,), (NEW,)), ()),))),
        "A1 is passed on, but",
    ),
    "a change that is not passed on": (
        acting(QUANTITIES, COLLECT, DIRECT, Write("L")), "collected for L1 is not passed on"
    ),
    "a change passed on twice": (
        acting(QUANTITIES, COLLECT, DIRECT, Write("L"), PASS_ON, PASS_ON), "passed on twice"
    ),
    "a change passed on too soon": (
        acting(QUANTITIES, PASS_ON, COLLECT, DIRECT, Write("L")), "before it is collected"
    ),
    "a row after the changes": (
        acting(QUANTITIES, COLLECT, Write("L"), PASS_ON, DIRECT), "after changes are passed on"
    ),
    "added to at once": (
        acting(QUANTITIES, COLLECT, replace(COLLECT, later=False), Write("L"), PASS_ON), "added to at once"
    ),
    "a cycle": (
        passing_on(EVENT, OUTER),
        "a cycle: L1 changes after its change was passed on",
    ),
    "a cycle through a map that is not collected": (
        passing_on(EVENT, Add(FLIP), Add(Statement("L0", (), (ONE, ONE), (MEASURE,)))),
        "a cycle: L0 changes while it is read for L1",
    ),
    "an event without its key": (
        passing_on(replace(EVENT, keys=())),
        "keys of an event of L1",
    ),
    "an event with half its measures": (
        passing_on(replace(EVENT, old=(COUNT,))),
        "old measures of L1",
    ),
    "an event of an aggregate of what has no order": (
        passing_on(replace(EVENT, aggregate="max")),
        "has the aggregate 'max'",
    ),
    "an aggregate of what has no order": (
        measuring(Measure(FLAG, "max", "L0", (), (0,))), "not in order"
    ),
    "an aggregate of another role": (
        reading(TAGGED, Statement("", (FLAG,), (ONE,), (Measure(FLAG, "count", "R2", (const(1),), (0,)),))),
        "count reads R2",
    ),
    "an aggregate of another group": (
        measuring(Measure(FLAG, "avg", "L1", (), (0, 1))), "columns of L1"
    ),
    "an aggregate of measures that are not there": (
        measuring(replace(MEASURE, measures=(0, 2))), "measures (0, 2)"
    ),
    "an operator that does not exist": (
        measuring(Combine(FLAG, "almost", (ONE,))), "no almost"
    ),
    "an operator of one count too many": (
        measuring(Combine(FLAG, "distinct", (ONE, ONE))), "counts of distinct"
    ),
    "an ordered map looked through": (
        reading(TAGGED, Statement("", (FLAG,), (ONE,), (Find("L1", (FLAG, NEW), (), (COUNT,)),))),
        "looked through",
    ),
    "rows of two amounts": (
        reading(QUANTITIES, replace(READ_TOTAL, amounts=(ONE, ONE))), "amounts of the rows"
    ),
    "rows that do not start with what is asked for": (
        reading(QUANTITIES, replace(READ_TOTAL, keys=(PK,)), skipped=1), "do not start with"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_broken_program_is_refused(name):
    program, message = MUTATIONS[name]
    with pytest.raises(NestlingError) as error:
        check_program(program)
    assert message in str(error.value)
    assert "not a trigger program" in str(error.value)


def test_readers_may_come_in_any_order():
    check_program(acting(GENRES, SCAN, JOIN, KEEP, WRITE))
    check_program(acting(TAGGED, COLLECT_TAGS, COLLECT_COUNT, WRITE_TAGS, FLIP_TAGS, FLIP_COUNT))
