"""Every writer of steps writes what steps mean: what it wrote adds what ``solve.added`` yields.

The two that write Python: nested loops over dictionaries, of the embedded engine, and look-ups for all rows at once, of
the driver of Spark. Spark's own queries are compared with the reference in ``tests/engines/spark``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.calculus.aggregates import EVERY
from nestling.calculus.build import call, const
from nestling.calculus.countwise import OPERATORS
from nestling.calculus.terms import Term, Tuple, Var
from nestling.calculus.types import FLOAT, INT, STR, Bag, Record, Scalar, Type, nullable
from nestling.engine.local.engine import LocalEngine
from nestling.engine.python.reading import combined, read_cell
from nestling.engine.python.terms import namespace, run_source
from nestling.engine.spark.columns import Layout, layouts
from nestling.engine.spark.driver.exact import is_exact
from nestling.engine.spark.driver.write import written
from nestling.engine.spark.support import change_layouts
from nestling.program.batches import is_change
from nestling.program.flat import Bound, Query, is_ordered
from nestling.program.meaning import Cells, meaning
from nestling.program.solve import added
from nestling.program.statements import (
    Assign,
    Check,
    Combine,
    Each,
    Find,
    MapDecl,
    Measure,
    NewAndOld,
    Order,
    Plan,
    Program,
    Range,
    Statement,
    Step,
    TableDecl,
    Total,
    Trigger,
    ViewPlan,
    Where,
    Write,
)
from nestling.program.steps import every_step, plans, reads, trigger_statements
from nestling.transform.lower.keyed import powers_of
from nestling.values.bag import ZBag
from tests.engines.shared import For, compiled, empty, shared_queries
from tests.engines.worlds import WORLDS, steps

pytestmark = pytest.mark.xdist_group("views")  # they share what is compiled

Sources: TypeAlias = Mapping[str, Cells]
Pairs: TypeAlias = list[tuple[Any, Any]]
#: Runs a statement over sources with these columns.
Writer: TypeAlias = Callable[[Statement, Mapping[str, Layout], Sources], Pairs]


def by_loops(statement: Statement, columns: Mapping[str, Layout], sources: Sources) -> Pairs:
    """The embedded engine: the statement is how a view is read, once for each of its amounts."""
    names = {name: f"S{i}" for i, name in enumerate(reads(statement))}
    keyed = [name for name in names if columns[name].key and not is_change(name)]
    tables = {names[n]: TableDecl(names[n], variables(columns[n]), columns[n].key) for n in keyed}
    maps = {names[n]: declared(names[n], n, columns[n], statement) for n in names if n not in keyed}
    each = []
    for amount in statement.amounts:
        one = renamed(replace(statement, amounts=(amount,)), names)
        view = ViewPlan("v", Record(()), Plan((), (one,)), None, {})
        triggers = {name: Trigger(name, decl.columns, n, (Write(name),)) for name, decl in tables.items()}
        engine = LocalEngine(Program(tables, maps, triggers, {"v": view}))
        for name, new in names.items():
            if name in keyed:
                engine.load_table(new, {row: times for row, (times,) in sources[name].items()})
            else:
                engine.load_map(new, sources[name])
        each.append(list(engine.functions.define("rows_of_v", engine.names)()))
    return [(parts[0][0], tuple(amount for _, amount in parts)) for parts in zip(*each, strict=True)]


def variables(layout: Layout) -> tuple[Var, ...]:
    return tuple(Var(f"k{i}", type_) for i, type_ in enumerate(layout.keys))


def declared(name: str, source: str, layout: Layout, statement: Statement) -> MapDecl:
    order: Order = ""
    for step in every_step(statement):
        if isinstance(step, Range | Where | Measure) and step.source == source:
            if not isinstance(step, Measure) or step.bounds:
                order = "sums"
            elif is_ordered(step.aggregate):
                order = "values"
    return MapDecl(
        name, Query(variables(layout), (), len(layout.measures)), "lift", "", order, layout.positive
    )


def renamed(statement: Statement, names: Mapping[str, str]) -> Statement:
    """``statement`` with other sources: those of a change are no map by their names."""

    def new(step: Any) -> Any:
        if isinstance(step, Where):
            step = replace(step, measure=new(step.measure))
        if isinstance(step, Total):
            return replace(step, statements=tuple(renamed(inner, names) for inner in step.statements))
        return replace(step, source=names[step.source]) if hasattr(step, "source") else step

    return replace(statement, steps=tuple(map(new, statement.steps)))


def by_lookups(statement: Statement, columns: Mapping[str, Layout], sources: Sources) -> Pairs:
    """The driver: what it looks up is found here."""
    function = written(statement, columns)

    def look(number: int, keys: set[Any]) -> Any:
        where, found = function.lookups[number], dict[Any, Any]()
        for key, cell in sources[where.source].items():
            part = tuple(key[p] for p in where.positions)
            if part in keys:
                found.setdefault(part, []).append((*key, *cell))
        return found

    return function.run(look, [()])


WRITERS: dict[str, Writer] = {"loops": by_loops, "look-ups": by_lookups}
every_writer = pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)


def summed(pairs: Any) -> dict[Any, Any]:
    """What pairs come to: an engine may add two amounts as one."""
    found: dict[Any, Any] = {}
    for key, amounts in pairs:
        before = found.get(key, (0,) * len(amounts))
        found[key] = tuple(a + b for a, b in zip(before, amounts, strict=True))
    return {key: amounts for key, amounts in found.items() if any(amounts)}


# -- one statement of every kind of step

a, b, n, m, v, w, at, sign, copies = (
    Var(name, INT) for name in ["a", "b", "n", "m", "v", "w", "at", "sign", "copies"]
)
c, s = Var("c", nullable(STR)), Var("s", nullable(INT))
PAIR, y = Record((("x", INT), ("y", STR))), Var("y", STR)
bag, pairs = Var("bag", Bag(INT, True)), Var("pairs", Bag(PAIR, True))
ROWS = Find("ΔR", (a, b, s, c), (), (n,))
COLUMNS = {
    "ΔR": Layout((INT, INT, nullable(INT), nullable(STR))),
    "M": Layout((INT, INT)),
    "L": Layout((INT,), (INT, INT)),
    "B": Layout((INT, INT), (INT, INT)),  # a book: how many, and how much, by group and price
    "D": Layout((INT, Scalar("decimal")), (INT, Scalar("decimal"))),
    "V": Layout((INT, INT)),
    "P": Layout((INT, PAIR)),
    "ΔN": Layout((INT,), (INT, INT)),
    "ΔV": Layout((INT,), (Bag(INT, True), Bag(INT, True))),
}


def gives(*steps: Step, keys: tuple[Term, ...] = (a,), amounts: tuple[Term, ...] = (n,)) -> Statement:
    return Statement("T", keys, amounts, (ROWS, *steps))


def beyond(operator: str) -> Measure:
    return Measure(w, "sum", "B", (a,), (0, 1), (Bound(operator, at),))


PLENTY = call("+", b, const(9))
INSIDE = Statement("", (), (v, call("*", v, m)), (Find("M", (a, m), (0,), (v,)), Check(call("<=", m, b))))
STATEMENTS = {
    "find": gives(
        Check(call(">", a, const(2))), Find("M", (a, m), (0,), (v,)), keys=(c, m), amounts=(call("*", n, v), n)
    ),
    "by its whole key": gives(Find("M", (a, a), (0, 1), (v,))),
    "twice the same": gives(Find("M", (m, m), (), (v,)), keys=(m,)),
    "by a pair": gives(keys=(a, Tuple((("x", b), ("y", c)))), amounts=(call("*", n, const(2)),)),
    "measure": gives(Measure(v, "sum", "L", (a,), (0, 1)), Assign(m, call("+", v, a)), keys=(v, m)),
    "least": gives(Measure(s, "min", "V", (b,), (0,)), keys=(a, s)),
    "how many": gives(Measure(v, "count_distinct", "V", (b,), (0,)), keys=(a, v)),
    "first": gives(Measure(bag, "first_2", "V", (a,), (0,)), Each(bag, m, copies), keys=(a, m), amounts=(copies,)),
    "last pairs": gives(
        Measure(pairs, "last_3", "P", (a,), (0,)), Each(pairs, Tuple((("x", m), ("y", y))), copies),
        keys=(m, y), amounts=(call("*", n, copies),),
    ),
    "below": gives(Range("B", (a,), (Bound("<", b),), (v, w)), amounts=(v, call("*", n, w))),
    "between": gives(Range("B", (a,), (Bound(">=", b), Bound("<", call("+", b, const(3)))), (v, w)), amounts=(w,)),
    "above what may be null": gives(Range("B", (a,), (Bound(">", s),), (v, w)), amounts=(v,)),
    "measured below": gives(Measure(v, "sum", "B", (a,), (0, 1), (Bound("<=", b),)), keys=(a, v)),
    **{
        f"where {operator} {compare}": gives(
            Where("B", (a,), (m, v), at, beyond(operator), call(compare, call("*", const(4), w), PLENTY)),
            amounts=(m, v),
        )
        for operator, compare in product(("<", "<=", ">", ">="), ("<", ">="))
    },
    "total": gives(Total(w, "sum", (INSIDE,)), keys=(a, w)),
    "total of two": gives(Total(w, "count", (INSIDE, replace(INSIDE, steps=INSIDE.steps[:1]))), keys=(a, w)),
    "total of sums": gives(
        Total(v, "sum", (Statement("", (), (m, w), (Range("B", (a,), (Bound("<", b),), (m, w)),)),)), keys=(v,)
    ),
    "combine": gives(Find("M", (a, m), (0,), (v,)), Combine(w, "distinct", (n,), (v,)), keys=(m,), amounts=(w,)),
    "both": Statement("T", (a, v), (sign,), (Find("ΔN", (a,), (), (n, m)), NewAndOld(v, sign, "sum", (n,), (m,)))),
    "both bags": Statement("T", (a, m), (call("*", sign, copies),), (
        Find("ΔV", (a,), (), (bag, Var("old", Bag(INT, True)))),
        NewAndOld(Var("now", Bag(INT, True)), sign, "first_2", (bag,), (Var("old", Bag(INT, True)),)),
        Each(Var("now", Bag(INT, True)), m, copies),
    )),
}  # fmt: skip


def value(random: Random, type_: Type) -> Any:
    match type_:
        case Scalar(_, True):
            return random.choice([None, value(random, Scalar(type_.name))])
        case Scalar("str"):
            return random.choice("xyz")
        case Record():
            return tuple(value(random, field) for field in type_.types)
        case Bag(element):
            return ZBag((value(random, element), random.choice([1, 2])) for _ in range(random.randrange(3)))
    return random.randrange(6)


def cells(random: Random, layout: Layout, signs: Sequence[int]) -> Cells:
    found = {}
    for _ in range(random.randrange(12)):
        measures = tuple(
            random.choice(signs) * (1 + random.randrange(3)) if isinstance(t, Scalar) else value(random, t)
            for t in layout.measures
        )
        found[tuple(value(random, t) for t in layout.keys)] = measures
    return found


def test_there_is_a_statement_of_every_step():
    taken = {type(step).__name__ for statement in STATEMENTS.values() for step in every_step(statement)}
    assert taken == {name.strip() for name in str(Step).split("|")}


@every_writer
@pytest.mark.parametrize("name", STATEMENTS)
def test_what_is_written_adds_what_the_steps_mean(name, writer):
    statement, random = STATEMENTS[name], Random(name)
    for _ in range(20):
        sources = {
            source: cells(random, layout, (1, -1) if is_change(source) else (1,))
            for source, layout in COLUMNS.items()
        }
        expected = summed(added(statement, sources.__getitem__))
        assert summed(writer(statement, COLUMNS, sources)) == expected


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_driver_takes_it(name):
    """every kind of step, of numbers and texts that both sides compute alike"""
    assert is_exact(STATEMENTS[name], COLUMNS, Layout((INT,)))


# -- statements of random programs


@every_writer
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
@given(data=st.data())
def test_statements_of_a_program_add_what_they_mean(world, writer, data):
    """on rows of a batch, and as views are read, over whatever the tables hold"""
    query = data.draw(shared_queries(world))
    use = For(batches=True, exact=False)
    program = compiled(world, query, data.draw(st.sampled_from(["auto", "full"])), use)
    columns = layouts(program) | change_layouts(program, layouts(program))
    stored = empty(world, query)
    for _ in range(4):
        stored.apply(data.draw(steps(stored)))
    sources: dict[str, Cells] = {
        name: {row: (times,) for row, times in rows.items()} for name, rows in stored.tables.items()
    }
    sources |= {name: meaning(decl.query, stored.tables) for name, decl in program.maps.items()}
    sources |= {f"Δ{name}": sources[name] for name in stored.tables}
    for statement in [
        *(s for trigger in program.triggers.values() for s in trigger_statements(trigger)),
        *(s for plan in plans(program.views["v"]) if not plan.params for s in plan.statements),
    ]:
        known = all(name in sources for name in reads(statement))
        if known and (writer is by_loops or is_exact(statement, columns, Layout((INT,)))):
            expected = summed(added(statement, sources.__getitem__))
            assert summed(writer(statement, columns, sources)) == expected


# -- the table of readings


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_of_counts_are_those_of_the_calculus(operator):
    names = "abc"[: OPERATORS[operator].arity or 3]
    found: dict[str, Any] = {}
    run_source(f"def run({', '.join(names)}):\n    return {combined(operator, names)}\n", "a test", found)
    for counts in product(range(-2, 3), repeat=len(names)):
        assert found["run"](*counts) == OPERATORS[operator].apply(*counts)


@pytest.mark.parametrize("aggregate", [name for name in EVERY if not is_ordered(name)])
def test_aggregates_are_read_as_the_calculus_does(aggregate):
    is_by_digits = aggregate.startswith("parts")
    width = len(powers_of(aggregate, FLOAT)) if is_by_digits else len(EVERY[aggregate].module.zero)
    names = [f"m{i}" for i in range(width)]
    found = namespace()
    run_source(f"def run({', '.join(names)}):\n    return {read_cell(aggregate, names)}\n", "a test", found)
    for cell in _cells(width):
        assert repr(found["run"](*cell)) == repr(EVERY[aggregate].read(cell))


def _cells(width: int) -> Iterator[tuple[int, ...]]:
    """All cells of small numbers; of many columns those in which two or fewer are not zero beside the count."""
    if width <= 5:
        yield from product((0, 1, 3), *[(0, 2, 9)] * (width - 1))
        return
    for count, (one, other), values in product(
        (0, 1, 3), combinations(range(1, width), 2), product((0, 2, 9), repeat=2)
    ):
        cell = [count] + [0] * (width - 1)
        cell[one], cell[other] = values
        yield tuple(cell)
