"""Maps filled from the tables in bulk, which is faster than running every trigger on every row.

A map is a sum over the rows of one of its tables of what a trigger adds for such a row, read on the state as it is
rather than as it was: the other factors are components, and each of these is a map again, over fewer tables. So one
pass over a table per map and monomial fills them all, smaller maps first, and no table is ever scanned inside a scan
of another. A component that the program does not store is stored until all maps are filled.

A view with ``store="none"`` is read by such passes alone: each reading fills its maps, and no statement maintains
them.

Law (8): what is filled is the meaning of the map's query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from graphlib import TopologicalSorter

from nestling.calculus.terms import Var
from nestling.calculus.traverse import Names
from nestling.calculus.types import INT
from nestling.program.flat import Atom, Monomial
from nestling.program.statements import Add, Find, MapDecl, Program, Statement, TableDecl, Trigger, Write
from nestling.program.steps import reads
from nestling.program.traverse import parts
from nestling.transform.lower import FlatView
from nestling.transform.viewlet.compile import Compiler
from nestling.transform.viewlet.deltas import replaced
from nestling.transform.viewlet.drafts import Drafts
from nestling.transform.viewlet.handles import Identity, MapHandle
from nestling.transform.viewlet.naming import rename_apart
from nestling.transform.viewlet.reading import compile_batches
from nestling.transform.viewlet.schedule import TIMES


def fill(program: Program, wanted: Iterable[str], taken: Iterable[str] = ()) -> Program:
    """A program whose triggers fill the ``wanted`` maps of ``program``, each under the name ``filling`` gives it.

    They stand in an order in which each map comes after those it is filled from. The tables, and the maps that are
    not filled, are there already. What is stored until then has none of the names that are ``taken``.
    """
    pending, statements = list(wanted), dict[str, list[Statement]]()
    # What a map waits for before it passes it on is not in that map.
    compiler = _filling(program, taken, program.deferred - {*pending})
    there = program.maps.keys() - set(pending)
    while pending:
        name = pending.pop()
        if name not in statements:
            monomials = compiler.maps[name].query.monomials
            statements[name] = [s for m in monomials if (s := _pass_over(compiler, name, m)) is not None]
            sources = (source for statement in statements[name] for source in reads(statement))
            pending += [source for source in sources if source in compiler.maps and source not in there]
    sorter = TopologicalSorter(
        {name: {s for each in found for s in reads(each)} for name, found in statements.items()}
    )
    order = [name for name in sorter.static_order() if statements.get(name)]
    used = {name for found in statements.values() for each in found for name in reads(each)} | set(statements)
    tables = {name: decl for name, decl in program.tables.items() if name in used}
    maps = {name: decl for name, decl in compiler.maps.items() if name in used}
    triggers = {name: Trigger(name, decl.columns, TIMES, (Write(name),)) for name, decl in tables.items()}
    triggers |= {filling(n): Trigger(filling(n), (), TIMES, tuple(map(Add, statements[n]))) for n in order}
    return Program(
        tables | {filling(name): TableDecl(filling(name), ()) for name in order}, maps, triggers, {}
    )


def fill_on_read(tables: Mapping[str, TableDecl], views: Mapping[str, FlatView]) -> Program:
    """The program that reads ``views`` and maintains nothing: its triggers fill maps, in the order they stand in."""
    program = compile_batches(tables, views, follows="nothing")
    filled = fill(program, program.maps)
    return replace(filled, tables=dict(tables), views=program.views)


def filling(name: str) -> str:
    """The name of the trigger that fills a map: no table has it."""
    return f"·fill {name}"


def _filling(program: Program, taken: Iterable[str], late: Set[str]) -> Compiler:
    columns = [column.name for table in program.tables.values() for column in table.columns]
    names = Names(frozenset([*columns, *program.tables, *program.maps, *taken, "times"]))
    compiler = Compiler(
        dict(program.tables), Drafts(program.tables, names, maintained=False), names=names, maintains=False
    )
    for name, decl in program.maps.items():
        if decl.role != "watch":
            compiler.maps[name] = decl
        if decl.role != "watch" and name not in late:
            compiler.by_identity.setdefault(_identity(decl), []).append(
                MapHandle(name, parts(decl.query).measures)
            )
    compiler.most = 10 * (len(program.maps) + compiler.most)
    return compiler


def _identity(decl: MapDecl) -> Identity:
    return parts(decl.query).body, decl.order, False, len(decl.query.keys)


def _pass_over(compiler: Compiler, target: str, monomial: Monomial) -> Statement | None:
    """What fills ``target`` with ``monomial``: a pass over its first table, or over what is nested in it."""
    monomial = rename_apart(monomial, (), compiler.drafts.names)
    driver = next((factor for factor in monomial.factors if isinstance(factor, Atom)), None)
    if driver is None:
        return compiler.statement(target, monomial, (), "aux")
    table = compiler.tables[driver.name]
    times = () if table.key else (Var(compiler.fresh("n"), INT),)
    rest = replaced(monomial, [driver], [(driver.args, table.columns)], times)
    if rest is None:
        return None
    statement = compiler.statement(target, rest, (*table.columns, *times), "aux")
    first = Find(table.name, table.columns, (), times)
    return Statement(target, statement.keys, statement.amounts, (first, *statement.steps))
