"""Views of which nothing is stored: a program that fills maps from the tables, run by every reading.

The maps are those by which the view would be maintained. Each is filled by one pass over a table, and finds its
partners in indexes, so that a reading costs what it reads, where the reference would try every combination of rows.
They are gone when it has been answered.

Law (9): a reading gives what the reference gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias
from weakref import WeakKeyDictionary

from nestling.database.definitions import ViewDef
from nestling.database.native import in_python
from nestling.depth import room
from nestling.engine.local.engine import LocalEngine
from nestling.engine.protocol import RowEngine
from nestling.program.statements import Program, TableDecl, Trigger, Write
from nestling.program.steps import plans, reads, trigger_statements
from nestling.transform.lower.view import CannotLower
from nestling.transform.pipeline import EMBEDDED, flat_form
from nestling.transform.viewlet import fill_on_read
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.schedule import TIMES

Tables: TypeAlias = Mapping[str, TableDecl]


class Computations:
    """What computes each view of which nothing is kept; it is made when the view is first read."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[ViewDef, tuple[Tables, LocalEngine | None]] = WeakKeyDictionary()

    def over(self, source: RowEngine, view: ViewDef, tables: Tables) -> LocalEngine | None:
        """What answers once for ``view``, from the tables of ``source``; None where it has no program."""
        source = in_python(source)
        if source.is_remote or source.is_torn:
            return None
        empty = self._made(view, tables)
        return None if empty is None else _filled(empty, source)

    def cost(self, view: ViewDef, tables: Tables) -> str:
        """What a reading costs, in words."""
        if self._made(view, tables) is None:
            return "a reading evaluates the query by loops over whole tables: it costs the product of what it joins"
        return "a reading fills maps by passes over its tables, and drops them: it costs what it reads, and its answer"

    @room()
    def _made(self, view: ViewDef, tables: Tables) -> LocalEngine | None:
        declared, empty = self._known.get(view, (None, None))
        if declared != tables:
            empty = _empty(view, tables)
            self._known[view] = tables, empty
        return empty


def _empty(view: ViewDef, tables: Tables) -> LocalEngine | None:
    try:
        found = fill_on_read(tables, {view.name: flat_form(view.query, EMBEDDED)})
    except (CannotLower, CannotCompile):
        return None
    return LocalEngine(_reduced(found, view.name))


def _filled(empty: LocalEngine, source: RowEngine) -> LocalEngine:
    """The engine that ``empty`` is, over the rows of ``source``, which shares its tables if it is in Python too."""
    engine = LocalEngine(empty.program, before=empty)
    fillings = [name for name in engine.program.tables if name not in source.program.tables]
    for name in engine.program.tables.keys() - fillings:
        if isinstance(source, LocalEngine):
            engine.take(name, source)
        else:
            engine.load_table(name, source.table(name))
    for name in engine.program.maps:
        engine.load_map(name, {})  # an engine starts with what depends on no row, and that is filled in too
    for name in fillings:
        engine.apply(name, (), 1)
    return engine


def _reduced(program: Program, view: str) -> Program:
    """``program`` over the tables alone that it reads, and those whose triggers fill its maps, in their order."""
    statements = [s for trigger in program.triggers.values() for s in trigger_statements(trigger)]
    statements += [s for plan in plans(program.views[view]) for s in plan.statements]
    read = {source for statement in statements for source in reads(statement)}
    # A row that is passed on whole is read with its inner bags, which no statement mentions.
    below = {name for name in program.tables if any(name.startswith(f"{outer}.") for outer in read)}
    tables = {name: decl for name, decl in program.tables.items() if name in read | below}
    fillings = {name: TableDecl(name, ()) for name in program.triggers if name not in program.tables}
    writes = {name: Trigger(name, decl.columns, TIMES, (Write(name),)) for name, decl in tables.items()}
    triggers = writes | {name: program.triggers[name] for name in fillings}
    return replace(program, tables=tables | fillings, triggers=triggers)
