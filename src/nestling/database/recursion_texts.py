"""Recursions as text in a file, and back; as ``texts`` does it for tables and views."""

from __future__ import annotations

import json

from nestling.calculus.fixpoint import Fixpoint
from nestling.calculus.show import show
from nestling.calculus.traverse import relations
from nestling.calculus.types import Record
from nestling.calculus.typing import element_type
from nestling.database.definitions import TableDef
from nestling.database.recursion import RECURSION, Recursion, recursion
from nestling.database.row_state import RowState
from nestling.database.texts import WIDTH, read_query, read_table, table_text
from nestling.errors import QueryError, StoreError

_MEMBERS = {"table": str, "query": str, "distinct": bool, "reads_views": list}


def fixpoint_text(fixpoint: Fixpoint) -> str:
    """What a file has of a recursion."""
    return json.dumps(
        {
            "table": table_text(TableDef(fixpoint.name, fixpoint.record)),
            "query": show(fixpoint.query, width=WIDTH),
            "distinct": fixpoint.distinct,
            "reads_views": sorted(fixpoint.reads_views),
        }
    )


def read_recursion(name: str, text: str, state: RowState) -> Recursion:
    """The recursion that ``text`` defines over the tables of ``state``."""
    fixpoint = _read(name, text, state)
    try:
        return recursion(fixpoint, state.tables, state.engines)
    except QueryError as error:
        raise StoreError(error.what) from error


def _read(name: str, text: str, state: RowState) -> Fixpoint:
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"it is no JSON: {error}") from error
    if not name.startswith(RECURSION) or not isinstance(stored, dict) or stored.keys() != _MEMBERS.keys():
        raise StoreError("it is no recursion")
    if any(not isinstance(stored[member], type_) for member, type_ in _MEMBERS.items()):
        raise StoreError("a part of a recursion is none")
    table = read_table(name, stored["table"])
    query = read_query(stored["query"], {**state.tables, name: table})
    views = stored["reads_views"]
    if not all(isinstance(view, str) for view in views):
        raise StoreError("it reads a view without a name")
    if element_type(query) != table.record or not isinstance(table.record, Record):
        raise StoreError("its rows are not those of its query")
    if missing := relations(query) - {name} - state.tables.keys():
        raise StoreError(f"it reads {min(missing)}, which is defined nowhere")
    return Fixpoint(name, table.record, query, stored["distinct"], frozenset(views))
