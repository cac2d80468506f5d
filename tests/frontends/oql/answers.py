"""What the spec files of OQL apply: an answer as text, an answer after a change, a refusal.

An answer has one element per line: structs and rows in parentheses, collections in brackets, in some fixed order unless
the query says one.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from ast import literal_eval
from datetime import date
from typing import Any

from nestling.database.in_order import in_order
from nestling.errors import NestlingError, QueryError
from nestling.frontend.oql import translate
from nestling.frontend.schema import copies, python_value
from tests.frontends.oql.oracle import Oracle, same
from tests.frontends.oql.worlds import WAYS, WORLDS, database, named


def answer(text: str, world: str) -> str:
    """The answer of a query, the same in every way of keeping it and as the oracle has it."""
    catalog, rows = WORLDS[world]
    found, db = translate(text, catalog), database(catalog, rows)
    wanted = Oracle(catalog, named(catalog, rows)).run(text)
    shown = set()
    for i, (refresh, store) in enumerate(WAYS):
        view = db.view(f"v{i}", found.expr, refresh=refresh, store=store, strict=False)
        assert same(view.rows(), wanted), f"{view.rows()} {wanted}"
        view.verify()
        shown.add(_lines(view, found.order))
    (only,) = shown
    return only


def after(text: str, world: str) -> str:
    """The answer after the change that the first line says; or the refusal of it."""
    change, _, query = text.partition("\n")
    catalog, rows = WORLDS[world]
    found, db = translate(query, catalog), database(catalog, rows)
    views = [
        db.view(f"v{i}", found.expr, refresh=refresh, store=store, strict=False)
        for i, (refresh, store) in enumerate(WAYS)
        if refresh != "lazy"
    ]
    before = [_lines(view, found.order) for view in views]
    try:
        _change(db, change)
    except NestlingError as error:
        assert [_lines(view, found.order) for view in views] == before
        return str(error)
    (only,) = {_lines(view, found.order) for view in views}
    db.verify()
    return only


def refuse(text: str, world: str) -> str:
    """The message of a query that is refused."""
    try:
        translate(text, WORLDS[world][0])
    except QueryError as error:
        assert error.at is not None and error.hint
        return str(error)
    raise AssertionError("it was accepted")


def _change(db: Any, line: str) -> None:
    """``update table key {…}``, ``insert table (…)``, ``delete table key``, ``add table key bag (…)``."""
    word, table, rest = line.split(" ", 2)
    match word:
        case "update":
            key, _, columns = rest.partition(" ")
            db.update(table, key=literal_eval(key), set=literal_eval(columns))
        case "insert":
            db.insert(table, [literal_eval(rest)])
        case "delete":
            db.delete(table, key=literal_eval(rest))
        case "add":
            key, bag, element = rest.split(" ", 2)
            getattr(db.tables[table].at(literal_eval(key)), bag).insert([literal_eval(element)])
        case _:
            raise AssertionError(line)


def _lines(view: Any, order: Any) -> str:
    rows = [row for row, times in view.bag().items() for _ in range(times)]
    element = view.element
    if order:
        return "\n".join(_shown(python_value(element, row)) for row in in_order(rows, element, order))
    return "\n".join(sorted(_shown(python_value(element, row)) for row in copies(view.bag().items(), "v")))


def _shown(value: Any) -> str:
    match value:
        case None:
            return "nil"
        case bool():
            return "true" if value else "false"
        case tuple():
            return f"({', '.join(map(_shown, value))})"
        case list():
            return f"[{', '.join(sorted(map(_shown, value)))}]"
        case date():
            return value.isoformat()
    return str(value)


DOORS = {"answer": answer, "after": after, "refuse": refuse}
