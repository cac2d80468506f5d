"""Definitions as text in a file, and back.

Law: what ``table_text`` and ``view_text`` write, ``read_table`` and ``read_view`` read as the same definition. Any
other text gives a definition that could have been made here, or a ``StoreError``: anybody may have written a file.
Nothing in a text is executed; queries are text of the calculus, which is parsed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from nestling.calculus.parse import parse
from nestling.calculus.show import show
from nestling.calculus.sizes import MOST
from nestling.calculus.terms import DictEmpty, DictInput, DictLit, DictUnion, Expr, InL, InputChange, Lookup
from nestling.calculus.traverse import walk
from nestling.calculus.types import SCALARS, Bag, Record, Scalar, Type
from nestling.calculus.typing import element_type
from nestling.database.accept import check_options, check_table
from nestling.database.decisions import check_decision
from nestling.database.definitions import ON_DELETE, Reference, TableDef, ViewDef
from nestling.database.names import check_table_names, check_view_names
from nestling.database.objects import Objects
from nestling.database.state import Defined
from nestling.database.storing import as_data
from nestling.errors import QueryError, StoreError
from nestling.frontend.catalog import Catalog, FieldPath
from nestling.frontend.paths import row_type
from nestling.frontend.view_query import OrderKey, Orders, are_orders

WIDTH = 1_000_000
#: How deep records and bags may nest in a table: far more than anybody writes, far below the end of the stack.
DEEPEST = 60
#: What passes make of a query, and no user writes.
INTERNAL = (InputChange, Lookup, InL, DictLit, DictInput, DictUnion, DictEmpty)
BITS = (8, 16, 32, 64)
#: What a table may say besides.
SAID = ("extends", "inverses", "sets", "fixed", "class")
_SCALAR = re.compile(r"([a-z]+)(?:\(([0-9]{1,4})(?:,([0-9]{1,4}))?\))?(\??)")


def table_text(table: TableDef) -> str:
    stored: dict[str, Any] = {
        "record": _type_json(table.record), "key": table.key,
        "references": [_reference_json(each) for each in table.references], "append_only": table.append_only,
    }  # fmt: skip
    said = {
        "extends": table.extends, "inverses": table.inverses, "sets": table.sets, "fixed": table.fixed,
        "class": table.class_name,
    }  # fmt: skip
    # What a table does not say is not written: an earlier version can open the file then.
    return json.dumps(stored | {name: value for name, value in said.items() if value})


def _reference_json(reference: Reference) -> Any:
    if reference.on_delete == "refuse" and all(len(path) == 1 for path in reference.paths):
        return [[path[0] for path in reference.paths], reference.table]
    return [reference.paths, reference.table, reference.on_delete]


def view_text(view: ViewDef, state: Defined) -> str:
    text = show(view.query, width=WIDTH)
    there = state.views.get(view.name)
    decision = there.decision if there is not None else None
    stored = as_data(decision) if decision else None
    parts: dict[str, Any] = {"query": text, "refresh": view.refresh, "store": view.store, "stored": stored}
    said = {
        "orders": view.orders,
        "written": show(view.written, width=WIDTH) if view.written is not None else None,
    }
    return json.dumps(parts | {name: value for name, value in said.items() if value})


def read_table(name: str, text: str, tables: Mapping[str, TableDef] | None = None) -> TableDef:
    """The table that ``text`` defines; ``tables`` are those before it."""
    stored = _members(text, ("record", "key", "references", "append_only"), SAID)
    record = _json_type(stored["record"], DEEPEST)
    if not isinstance(record, Record):
        raise StoreError("the rows of a table are records")
    if type(stored["append_only"]) is not bool:
        raise StoreError(f"append_only is {stored['append_only']!r:.40}")
    inverses = _pairs(stored.get("inverses", []), "inverses")
    table = TableDef(
        name,
        record,
        _names(stored["key"], "a key"),
        tuple(_json_reference(each) for each in _list(stored["references"], "references")),
        stored["append_only"],
        _name(stored["extends"]) if "extends" in stored else None,
        tuple((_name(inverse), _name(path)) for inverse, path in inverses),
        tuple(_path(path) for path in _list(stored.get("sets", []), "sets")),
        _names(stored.get("fixed", []), "fixed"),
        _name(stored.get("class", "")),
    )
    _accepted(lambda: check_table_names(table))
    if tables is not None:
        _accepted(lambda: check_table(table, {**tables, name: table}))
    return table


def _json_reference(stored: Any) -> Reference:
    match stored:
        case [list() as columns, table]:
            paths = tuple((column,) for column in _names(columns, "a reference"))
        case [list() as columns, table, str() as on_delete] if on_delete in ON_DELETE:
            found = tuple(_path(column) for column in columns)
            return Reference(found, _name(table), on_delete)
        case _:
            raise StoreError(f"no reference is written {stored!r:.60}")
    return Reference(paths, _name(table))


def read_view(name: str, text: str, state: Defined) -> tuple[ViewDef, dict[str, Any] | None]:
    """The view that ``text`` defines over the tables of ``state``, and how it was stored."""
    stored = _members(text, ("query", "refresh", "store"), ("stored", "orders", "written"))
    refresh, store = _name(stored["refresh"]), _name(stored["store"])
    _accepted(lambda: check_options(refresh, store))
    query = _query(_name(stored["query"]), state)
    _accepted(lambda: check_view_names(name, query))
    # A file from before views were stored by cost does not say how this one was.
    decision = stored.get("stored")
    check_decision(decision)
    written = _query(_name(stored["written"]), state, views=True) if "written" in stored else None
    orders = _orders(stored.get("orders", []), element_type(query))
    return ViewDef(name, query, refresh, store, orders, written), decision


def _orders(stored: Any, element: Type) -> Orders:
    """The orders of a view; a file from before views had any does not say them."""
    pairs = _pairs(stored, "orders")
    orders = tuple((_steps(level), tuple(map(_sort_key, _list(order, "keys")))) for level, order in pairs)
    if not are_orders(orders, element):
        raise StoreError(f"a view is not ordered so: {stored!r:.60}")
    return orders


def _sort_key(stored: Any) -> OrderKey:
    match stored:
        case [path, bool(descends), bool(nulls_first)]:
            return OrderKey(_steps(path), descends, nulls_first)
    raise StoreError(f"a view is not ordered by {stored!r:.60}")


def _steps(stored: Any) -> FieldPath:
    """A path that may be empty."""
    return _path(stored) if stored != [] else ()


def check_storable(definition: TableDef | ViewDef, text: str, state: Defined) -> None:
    """Refuse a definition whose ``text`` does not say it again: the file could not be opened any more."""
    try:
        if isinstance(definition, TableDef):
            again: TableDef | ViewDef = read_table(definition.name, text)
            same = again == definition and table_text(again) == text  # sizes are no part of a type
        else:
            again, _ = read_view(definition.name, text, state)
            same = repr(again) == repr(definition)  # a NaN equals nothing, but is written like another
    except StoreError as error:
        raise _unstorable(definition, error.what) from error
    if not same:
        raise _unstorable(definition, "its text would be read as something else")


def _unstorable(definition: TableDef | ViewDef, why: str) -> QueryError:
    return QueryError(
        f"{definition.name} cannot be kept in a file: {why}",
        hint="write it with other names and constants, or as several views",
    )


def relation_types(
    tables: Mapping[str, TableDef], views: Mapping[str, ViewDef] | None = None
) -> dict[str, Bag]:
    """The types that queries over these tables and views have for them."""
    known, objects = Catalog(), Objects(tables)
    for table in tables.values():
        known.declare(table.name, objects.entry(table))
    # What they refer to is no part of a query, but of the types in it.
    found = {name: Bag(row_type(known, name)) for name in known}
    return {name: Bag(view.element) for name, view in (views or {}).items()} | found


def _query(text: str, state: Defined, views: bool = False) -> Expr:
    return read_query(text, state.tables, state.definitions if views else None)


def read_query(text: str, tables: Mapping[str, TableDef], views: Mapping[str, ViewDef] | None = None) -> Expr:
    """The query that ``text`` is over ``tables`` and ``views``."""
    catalog = relation_types(tables, views)
    query: list[Expr] = []
    _accepted(lambda: query.append(parse(text, catalog)))
    if found := next((node for node in walk(query[0]) if isinstance(node, INTERNAL)), None):
        raise StoreError(f"no query has a {type(found).__name__}")
    return query[0]


def _accepted(check: Any) -> None:
    """What a user would be refused, a file is."""
    try:
        check()
    except QueryError as error:
        raise StoreError(error.what) from error
    except RecursionError as error:
        raise StoreError("it nests too deeply") from error


def _members(text: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """The members of the JSON object ``text``, each once and none that is unknown."""
    try:
        stored = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"it is no JSON: {error}") from error
    if not isinstance(stored, dict):
        raise StoreError("it is no JSON object")
    missing = [name for name in required if name not in stored]
    unknown = [name for name in stored if name not in (*required, *optional)]
    if missing or unknown:
        raise StoreError(f"it has no {missing[0]}" if missing else f"{unknown[0]!r:.40} is unknown")
    return stored


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has a member twice")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _name(stored: Any) -> str:
    if not isinstance(stored, str):
        raise StoreError(f"a text is expected, not {stored!r:.40}")
    return stored


def _names(stored: Any, what: str) -> tuple[str, ...]:
    if not isinstance(stored, list) or not all(isinstance(name, str) for name in stored):
        raise StoreError(f"{what} is a list of names, not {stored!r:.40}")
    if len(set(stored)) != len(stored):
        raise StoreError(f"{what} has a name twice: {', '.join(stored):.60}")
    return tuple(stored)


def _path(stored: Any) -> FieldPath:
    if not isinstance(stored, list) or not stored or not all(isinstance(name, str) for name in stored):
        raise StoreError(f"a path is a list of names, not {stored!r:.40}")
    return tuple(stored)


def _list(stored: Any, what: str) -> list[Any]:
    if not isinstance(stored, list):
        raise StoreError(f"{what} are a list, not {stored!r:.40}")
    return stored


def _pairs(stored: Any, what: str) -> list[tuple[Any, Any]]:
    if not isinstance(stored, list) or not all(isinstance(p, list) and len(p) == 2 for p in stored):
        raise StoreError(f"{what} are pairs, not {stored!r:.40}")
    return [(first, second) for first, second in stored]


def _type_json(type_: Type) -> Any:
    match type_:
        case Scalar(name, null, size):
            sized = f"{name}({','.join(map(str, size))})" if size else name
            return f"{sized}?" if null else sized
        case Record(fields):
            return {"record": [[name, _type_json(field)] for name, field in fields]}
        case Bag(element):
            return {"bag": _type_json(element)}
    raise StoreError(f"a table has no column of type {type_}")


def _json_type(stored: Any, deeper: int) -> Type:
    if not deeper:
        raise StoreError(f"it nests more than {DEEPEST} records and bags")
    match stored:
        case str():
            return _scalar(stored)
        case {"record": list() as fields, **rest} if not rest:
            return _record(fields, deeper)
        case {"bag": element, **rest} if not rest:
            return Bag(_json_type(element, deeper - 1))
    raise StoreError(f"no type is written {stored!r:.40}")


def _record(fields: list[Any], deeper: int) -> Record:
    named = _pairs(fields, "columns")
    _names([name for name, _ in named], "a record")
    return Record(tuple((name, _json_type(field, deeper - 1)) for name, field in named))


def _scalar(stored: str) -> Scalar:
    found = _SCALAR.fullmatch(stored)
    if found is None or found[1] not in SCALARS:
        raise StoreError(f"no type is written {stored!r:.40}")
    size = tuple(int(number) for number in found.group(2, 3) if number is not None)
    if size and not _is_size(found[1], size):
        raise StoreError(f"no type has the size of {stored!r:.40}")
    return Scalar(found[1], bool(found[4]), size)


def _is_size(name: str, size: tuple[int, ...]) -> bool:
    match name, size:
        case "int", (bits,):
            return bits in BITS
        case "decimal", (digits, places):
            return 0 <= places <= digits <= MOST and digits > 0
    return False
