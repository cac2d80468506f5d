"""``explain`` on Spark: the maps of a view, and for every statement what it scans, prunes and broadcasts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nestling.calculus.types import show_type
from nestling.database.spark.on_read import OnReadView
from nestling.database.spark.state import SparkState
from nestling.engine.spark import limits
from nestling.engine.spark.choice import tables_of
from nestling.engine.spark.columns import deferred_name
from nestling.engine.spark.linear import is_linear
from nestling.engine.spark.on_read import fillings
from nestling.engine.spark.support import change_layouts
from nestling.errors import QueryError
from nestling.program.batches import is_change
from nestling.program.show import show_query, show_statement
from nestling.program.statements import Find, Measure, Propagate, Range, Statement, Total, Trigger, Where
from nestling.program.steps import maps_of, needed, plans, reads, trigger_statements


def explain(state: SparkState, view: str, format: str, code: bool) -> str:
    """A report in plain text."""
    if format != "text" or code:
        raise QueryError("on Spark, explain writes plain text", hint="leave format and code out")
    computed = state.computed(view)
    lines = _computed(state, computed) if computed is not None else _lines(state, view)
    return "\n".join(lines) + "\n"


def _computed(state: SparkState, view: OnReadView) -> Iterator[str]:
    """What it takes to read a view of which nothing is kept."""
    name, program = view.view.name, view.program
    plan = program.views[name]
    yield f"{name}: Bag({show_type(plan.element)}), computed on Spark on every read"
    on_read = state.views.on_read[name]
    yield f"  because {on_read.reason} ({on_read.code}); a batch costs it nothing"
    yield ""
    yield "Read from"
    for table in view.tables:
        yield f"  {table}: {state.running.now.stored[table].rows} rows; a table"
    for source, statements in fillings(program).items():
        yield ""
        yield f"Computed first: {source}, {show_query(program.maps[source].query)}  ({program.maps[source].why})"
        yield from _accessed(statements)
    yield ""
    yield "Reading"
    yield from _accessed(plan.rows.statements)
    for (site, _), inner in plan.definitions.items():
        yield ""
        yield f"Inner bag {site}, for all labels at once"
        yield from _accessed(inner.statements)


def _lines(state: SparkState, view: str) -> Iterator[str]:
    running, program = state.running, state.program_of(view)
    layouts = running.layouts | change_layouts(program, running.layouts)
    plan = program.views[view]
    read = [s for p in plans(plan) for statement in p.statements for s in reads(statement)]
    sources = [name for name in needed(program, read) if not is_change(name)]
    yield f"{view}: Bag({show_type(plan.element)}), kept on Spark"
    if view in state.lazy_programs:
        later = state.lazy_programs[view]
        yield (
            f"lazy: {later.waiting} rows wait, and are run as one batch when it is read"
            if later.is_started
            else "lazy: computed when it is first read"
        )
    late = [name for name in maps_of(program, view) if name in program.deferred]
    if late:
        rows = sum(state.running.now.stored[deferred_name(name)].rows for name in late)
        yield f"hybrid: what changes in {', '.join(late)} is passed on when it is read; {rows} rows wait"
    maps = maps_of(program, view)
    if maps and view not in state.lazy_programs:
        tables = sorted(tables_of(program, maps))
        share = f"1 in {limits.CHANGED_ROW_COST}"
        yield f"recomputed where a large change has more than {share} rows of {', '.join(tables)}"
    yield ""
    yield "Stored"
    for name in sources:
        rows = running.now.stored[name].rows
        decl = program.maps.get(name)
        what = f"{show_query(decl.query)}  ({decl.why})" if decl is not None else "a table"
        yield f"  {name}: {rows} rows; {what}"
    for table, trigger in program.triggers.items():
        statements = [s for s in trigger_statements(trigger) if s.target in sources]
        if statements:
            yield ""
            queries = _jobs(trigger, set(sources) - program.deferred)
            yield f"A batch of {table}, by Spark at least {queries} queries"
            for statement in statements:
                yield f"  {show_statement(statement)}"
                yield f"    {running.driver.takes(statement, running.now, layouts)}"
                yield from (f"    {line}" for line in access(statement))
    yield ""
    yield "Reading"
    yield from _accessed(plan.rows.statements)


def _accessed(statements: Iterable[Statement]) -> Iterator[str]:
    for statement in statements:
        yield f"  {show_statement(statement)}"
        yield from (f"    {line}" for line in access(statement))


def _jobs(trigger: Trigger, sources: set[str]) -> int:
    passed = [a for a in trigger.actions if isinstance(a, Propagate) and a.map in sources]
    return 1 + len(passed)


def access(statement: Statement) -> Iterator[str]:
    """What each source costs by Spark, which has no index: what is not the change is scanned."""
    for number, step in enumerate(statement.steps):
        match step:
            case Find(source) if is_change(source):
                yield f"{source}: the change, broadcast"
            case Find(source, _, known, _):
                how = "scanned, met by what was found before" if number else "scanned"
                how = f"{how} on column {', '.join(map(str, known))}" if known else f"{how}, every row"
                how += ", pruned by the statistics of its files" * (0 in known and number > 0)
                yield f"{source}: {how}{'' if is_linear(statement, step) else '; summed by key first'}"
            case Measure(_, _, source, _, _, ()):
                yield f"{source}: scanned; summed for the groups that are touched"
            case Range(source) | Measure(_, _, source):
                yield f"{source}: scanned; what lies within bounds is summed: there is no order to look up in"
            case Where(source, _, _, _, measure):
                yield f"{source}: scanned; each entry with its own sum of {measure.source}"
            case Total(_, aggregate, statements):
                for inner in statements:
                    yield from (f"{line}; for {aggregate}" for line in access(inner))
