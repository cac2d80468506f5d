"""SQL scripts: each statement calls the method of the database that it stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol

from nestling.calculus.fixpoint import Fixpoint
from nestling.calculus.optional import optional
from nestling.calculus.terms import Expr
from nestling.calculus.traverse import relations
from nestling.calculus.types import INT, Scalar, Type
from nestling.calculus.typing import element_type
from nestling.database.answer import answer
from nestling.database.definitions import TableDef, located
from nestling.database.in_order import in_order
from nestling.database.inline import inline_views
from nestling.database.languages import sql
from nestling.database.recursion import RECURSION, rows_once
from nestling.database.state import State, computing
from nestling.database.table import Table
from nestling.database.transaction import Transaction
from nestling.database.view import View
from nestling.errors import QueryError
from nestling.frontend.catalog import Catalog, FieldPath
from nestling.frontend.schema import copies
from nestling.frontend.view_query import ViewQuery
from nestling.values.bag import ZBag


class Scripted(Protocol):
    """What the statements of a script ask of a database."""

    @property
    def _state(self) -> State: ...
    @property
    def views(self) -> Mapping[str, View]: ...
    def _catalog(self) -> Catalog: ...
    def table(self, name: str) -> Table: ...
    def _declare(self, definition: TableDef) -> Table: ...
    def view(
        self, name: str, query: ViewQuery, *, refresh: str = ..., store: str = ..., replace: bool = ...
    ) -> View: ...
    def drop(self, name: str) -> None: ...
    def rename(self, old: str, new: str) -> None: ...
    def _reading(self) -> AbstractContextManager[None]: ...
    def transaction(self) -> AbstractContextManager[Transaction]: ...


def run_script(db: Scripted, text: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> Any:
    """What the last statement yields: the rows of a query, the ``Refresh`` of a change, a table or a view."""
    script = sql().script
    result: Any = None
    for statement in script.read(text, params):
        match statement:
            case script.MakeTable(name, record, key, if_missing):
                there = if_missing and name in db._state.tables
                result = db.table(name) if there else db._declare(TableDef(name, record, key))
            case script.MakeView():
                result = _made(db, statement)
            case script.AlterTable(name, action):
                result = _altered(db, name, action)
            case script.MergeRows(changes):
                result = _merged(db, changes(db._catalog()))
            case script.Drop(name, if_there):
                if not if_there or name in db._state.tables or name in db._state.views:
                    db.drop(name)
                result = None
            case script.Ask(query, limit):
                result = _asked(db, query(db._catalog()), limit)
            case _:
                result = _changed(db, statement)
    return result


def _made(db: Scripted, statement: Any) -> Any:
    """A view; the one of this name stays where the new one is refused."""
    name, query = statement.name, statement.query(db._catalog())
    old = db._state.definitions.get(name)
    if old is None or not (statement.replaces or statement.if_missing):
        return db.view(name, query)
    if statement.if_missing:
        return db.views[name]
    return db.view(name, query, replace=True)


def _altered(db: Scripted, name: str, action: Any) -> Any:
    """The table, or what is called otherwise now."""
    alter = sql().alter
    match action:
        case alter.AlterTo(new):
            db.rename(name, new)
            return db.table(new) if new in db._state.tables else db.views[new]
        case _:
            table = db.table(name)
    match action:
        case alter.AlterAdd(path, type_):
            table.add_column(path, type_)
        case alter.AlterDrop(path):
            table.drop_column(path)
        case alter.AlterName(path, new):
            table.rename_column(path, new)
        case alter.AlterType(path, type_):
            table.widen_column(path, _widened(db._state.tables[name], path, type_))
    return table


def _widened(table: TableDef, path: FieldPath, type_: Type | None) -> Type:
    """The type that a column is to have: NULL stays as it is, or is all that is new."""
    try:
        old = located(table.record, path).type
    except KeyError:
        return type_ or INT  # the change says which columns there are
    if type_ is None:
        return optional(old)
    return (
        replace(type_, nullable=old.nullable)
        if isinstance(type_, Scalar) and isinstance(old, Scalar)
        else type_
    )


def _merged(db: Scripted, merged: Any) -> Any:
    _check_table(db, merged.table)
    with db.transaction() as change:
        pairs, gone, come = (_rows(db, expr) for expr in (merged.pairs, merged.gone, merged.come))
        there = change.rows(merged.table)
        for row, times in Counter([*(old for old, _ in pairs), *gone]).items():
            if times > there[row]:
                hint = "make the rows of the source distinct by what ON compares"
                raise QueryError(
                    f"a row of {merged.table} matches several rows of the source: {row}", hint=hint
                )
        change.delete(merged.table, [*(old for old, _ in pairs), *gone])
        change.insert(merged.table, [*(new for _, new in pairs), *come])
    return change.refresh


def _check_table(db: Scripted, table: str) -> None:
    if table not in db._state.tables:
        raise QueryError(f"{table} is a view: its rows follow from its tables", hint="change the tables")


def _changed(db: Scripted, statement: Any) -> Any:
    script = sql().script
    changes = statement.pairs if isinstance(statement, script.UpdateRows) else statement.rows
    table, expr = changes(db._catalog())
    _check_table(db, table)
    with db.transaction() as change:
        rows = _rows(db, expr)
        match statement:
            case script.InsertRows():
                change.insert(table, rows)
            case script.DeleteRows():
                change.delete(table, rows)
            case _:
                change.delete(table, [old for old, _ in rows])
                change.insert(table, [new for _, new in rows])
    return change.refresh


def _rows(db: Scripted, expr: Expr) -> list[Any]:
    """The rows of a query on the tables as they are."""
    return copies(_bag(db, expr).items(), "the query")


def _bag(db: Scripted, expr: Expr, fixpoints: Sequence[Fixpoint] = ()) -> ZBag:
    if missing := [name for name in relations(expr) if name.startswith(RECURSION)][len(fixpoints) :]:
        raise QueryError(
            f"rows are changed by the recursion {missing[0].removeprefix(RECURSION)}",
            hint="make a view of it, and change the rows by a query that reads the view",
        )
    with db._reading(), computing("the query"):
        tables = db._state.nested_tables()
        for fixpoint in fixpoints:
            tables[fixpoint.name] = rows_once(fixpoint, db._state.definitions, tables)
        return answer(inline_views(expr, db._state.definitions), tables)


def _asked(db: Scripted, query: ViewQuery, limit: int | None) -> list[Any]:
    pairs = _bag(db, query.expr, query.fixpoints).items()
    return in_order(pairs, element_type(query.expr), query.orders, "the query")[:limit]
