"""What the spec files of OQL apply: an answer as text, an answer after a change, a refusal.

An answer has one element per line: structs and rows in parentheses, collections in brackets, in some fixed order unless
the query says one.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from ast import literal_eval
from datetime import date
from typing import Any

import nestling as nl
from nestling.errors import NestlingError, QueryError
from tests.frontends.oql.oracle import Oracle, same
from tests.frontends.oql.worlds import MODELS, WAYS, seen


def answer(text: str, model: str) -> str:
    """The answer of a query, the same in every way of keeping it and as the oracle has it."""
    db = MODELS[model](nl.Database())
    wanted = Oracle(*seen(db)).run(text)
    views = _views(db, text, WAYS)
    for view in views:
        assert same(view.rows(), wanted), f"{view.rows()} {wanted}"
        view.verify()
    (only,) = {_lines(db, view) for view in views}
    return only


def after(text: str, model: str) -> str:
    """The answer after the change that the first line says; or the refusal of it."""
    change, _, query = text.partition("\n")
    db = MODELS[model](nl.Database())
    views = _views(db, query, [way for way in WAYS if way[0] != "lazy"])
    before = [_lines(db, view) for view in views]
    try:
        _change(db, change)
    except NestlingError as error:
        assert [_lines(db, view) for view in views] == before
        return str(error)
    (only,) = {_lines(db, view) for view in views}
    db.verify()
    assert same(views[0].rows(), Oracle(*seen(db)).run(query))
    return only


def refuse(text: str, model: str) -> str:
    """The message of a query that is refused."""
    try:
        MODELS[model](nl.Database()).view("v", text, language="oql")
    except QueryError as error:
        assert error.at is not None and error.hint
        return str(error)
    raise AssertionError("it was accepted")


def _views(db: Any, text: str, ways: Any) -> list[Any]:
    return [
        db.view(f"v{i}", text, language="oql", refresh=refresh, store=store, strict=False)
        for i, (refresh, store) in enumerate(ways)
    ]


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


def _lines(db: Any, view: Any) -> str:
    lines = [_shown(row) for row in view.rows()]
    return "\n".join(lines if db._state.definitions[view.name].orders else sorted(lines))


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
