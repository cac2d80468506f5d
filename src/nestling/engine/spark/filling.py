"""Maps filled from the tables: each by one query, from what it is the sum of, smaller maps first.

The program says which statements fill a map (``transform/viewlet/fill``). A map that nobody keeps, and that one
statement reads, is a part of the query of that statement; one that several read is computed once.

Law (8): what is filled is the meaning of the map's query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Set
from dataclasses import replace
from itertools import count

from nestling.calculus.terms import Var
from nestling.engine.spark import limits
from nestling.engine.spark.columns import layouts
from nestling.engine.spark.jobs import described_jobs
from nestling.engine.spark.relations import UNCOUNTED, difference
from nestling.engine.spark.session import python_errors
from nestling.engine.spark.stage import Sink, arrow
from nestling.engine.spark.state import LakeState, SourceRows, register_frame
from nestling.engine.spark.statements import StatementWriter
from nestling.program.statements import Assign, Check, Find, Program, Statement
from nestling.program.steps import reads, trigger_statements
from nestling.progress import say

#: The program that fills some maps of another from its tables alone, if there is one that Spark can run.
Filling = Callable[[Program, Set[str]], Program | None]

#: Adds the rows of a query to a map: its name, its text, and about how many rows it goes through.
Keep = Callable[[str, str, int], object]


def no_filling(program: Program, maps: Set[str]) -> Program | None:
    """Maps are computed by their triggers."""
    return None


def filled(program: Program, moment: LakeState, maps: Set[str], sink: Sink | None) -> LakeState:
    """``moment`` with ``maps`` as ``program`` fills them from its tables: in files, or here where there is no sink."""
    # A map that serves the others alone has a layout of its own, also where one that is stored has its name.
    own = layouts(program)
    known = {**moment.layouts, **{name: own[name] for name in program.maps if name not in maps}}
    stored = moment.stored | {name: SourceRows() for name in (*program.maps, *maps)}
    now = replace(moment.next(), layouts=known, stored=stored)

    done = count(1)

    def keep(name: str, text: str, rows: int) -> None:
        say(f"map {next(done)} of {len(maps)}")
        with described_jobs(now.session, f"nestling: filling {name}"):
            now.add(name, arrow(now, text) if sink is None else sink.write(name, text, rows))

    try:
        fill(program, now, keep, maps)
    finally:
        now.drop_views(moment)
    after = moment.next()
    after.stored |= {name: now.stored[name] for name in maps}
    return after


def fill(program: Program, now: LakeState, keep: Keep, kept: Collection[str] = ()) -> None:
    """Fill the maps of ``program`` over the tables of ``now``, which has none of them yet.

    Those that are ``kept``, or that several statements read, are computed now; the others when they are read.
    """
    fillings = statements_by_map(program)
    #: The rows of the largest table that each is made from: what is summed becomes no more.
    rows: dict[str, int] = {}
    readers = Counter(source for found in fillings.values() for each in found for source in set(reads(each)))
    for name, statements in fillings.items():
        sources = {source for statement in statements for source in reads(statement)}
        rows[name] = max((rows.get(s, now.stored[s].rows) for s in sources), default=0)
        is_kept = name in kept or (bool(kept) and readers[name] > 1)
        here = now.driver.added(statements, now) if _is_little(now, statements) else {}
        if name in here:
            now.add(name, here[name])
        elif text := _query(now, name, statements, is_kept or gathers(program, statements)):
            if is_kept:
                keep(name, text, rows[name])
            else:
                with python_errors():
                    part = register_frame(now.session.sql(text), UNCOUNTED)
                now.stored[name] = SourceRows((part,))


def _query(now: LakeState, name: str, statements: list[Statement], is_summed: bool) -> str:
    """What fills a map; nothing where that reads what is empty.

    What is not kept need not be summed: whoever reads it does so where it needs sums, and where it does not, a join of
    all rows costs less than to sum them by keys of which most are there once. Where most are there several times, it is
    the other way round.
    """
    writer = StatementWriter(now, broadcast=False)
    layout = now.layouts[name]
    texts = [writer.statement(s, layout) for s in statements if not writer.finds_nothing(s)]
    rows = " UNION ALL ".join(texts)
    return writer.text(difference(rows, layout) if is_summed else rows) if texts else ""


def gathers(program: Program, statements: list[Statement]) -> bool:
    """Whether rows of keyed tables are added up by other columns than their key, so that most sums are of several."""
    for statement in statements:
        match [step for step in statement.steps if not isinstance(step, Check | Assign)]:
            case [Find(source, args)] if source in program.tables and program.tables[source].key:
                kept = {term.name for term in statement.keys if isinstance(term, Var)}
                found = [args[place] for place in program.tables[source].key]
                if all(isinstance(arg, Var) and arg.name in kept for arg in found):
                    return False
            case _:
                return False
    return bool(statements)


def _is_little(now: LakeState, statements: list[Statement]) -> bool:
    """Whether filling scans no more rows than a small change has."""
    sources = {source for statement in statements for source in reads(statement)}
    return sum(now.stored[source].rows for source in sources) <= limits.MAX_DRIVER_ROWS


def statements_by_map(program: Program) -> dict[str, list[Statement]]:
    """The statements that fill each map, in an order in which each comes after those it reads."""
    found: dict[str, list[Statement]] = {}
    for trigger in program.triggers.values():
        for statement in trigger_statements(trigger):
            found.setdefault(statement.target, []).append(statement)
    return found
