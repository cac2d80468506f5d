"""Checks of the names that users give.

A name is shown in errors, reports and terminals, stored in files in UTF-8, and told apart from the names that the
compiler makes. Everything else may be in it, and it works on both engines: see ``quoting`` for how.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from nestling.calculus.lists import is_list, item_type
from nestling.calculus.maps import entry_types, is_map
from nestling.calculus.optional import held, is_optional
from nestling.calculus.terms import Expr
from nestling.calculus.types import Bag, Record, Type
from nestling.calculus.typing import element_type
from nestling.database.definitions import TableDef
from nestling.errors import QueryError

#: Characters; what can be read at a glance is far shorter.
LONGEST = 255
#: Of a name that is part of a path, in bytes: file systems take 255, and a suffix may follow.
LONGEST_IN_PATH = 200

_UNSEEN = {
    "Cc": "a control character", "Cs": "half a character (a lone surrogate)",
    "Zl": "a line separator", "Zp": "a paragraph separator",
}  # fmt: skip
_OURS = {"·": "the compiler's own names", "Δ": "changes", "§": "what documents are kept in"}


def check_name(name: object, of: str, first: str = "·") -> None:
    """Refuse what cannot be the name of a table, a view or a column; ``first``: what it must not start with."""
    if not isinstance(name, str):
        raise QueryError(f"the name of {of} is a string, not {name!r:.60}", hint='db.table("orders", …)')
    if not name:
        raise QueryError(f"the name of {of} is empty", hint="give it a name")
    if len(name) > LONGEST:
        raise QueryError(
            f"the name of {of} has {len(name):,} characters: {name[:20]!r}…", hint=f"{LONGEST} at most"
        )
    for sign in name:
        unseen = _UNSEEN.get(unicodedata.category(sign))
        if unseen:
            raise QueryError(
                f"the name {name!r:.80} of {of} contains {unseen}, {sign!r}", hint="leave it out, or write _"
            )
    if name[0] in first:
        raise QueryError(
            f"the name {name!r} of {of} starts with {name[0]}",
            hint=f"that is for {_OURS[name[0]]}: rename it",
        )


def check_table_names(table: TableDef) -> None:
    """The names of a table, its columns, and what is inside them."""
    check_name(table.name, "a table", "·Δ")
    for name in _fields(table.record):
        check_name(name, f"a column of {table.name}")


def check_view_names(name: str, query: Expr) -> None:
    """The names of a view, its columns, and what is inside them."""
    check_name(name, "a view", "·Δ")
    for field in _fields(element_type(query)):
        check_name(field, f"a column of {name}")


def check_path_name(name: object, of: str) -> None:
    """Refuse what cannot be the name of a file or a folder of ours, or would be another one."""
    check_name(name, of)
    assert isinstance(name, str)
    if name.startswith(".") or any(sign in '/\\:*?"<>|' for sign in name):
        raise QueryError(
            f"{name!r} names {of}, and no file can be called so", hint="use letters, digits, - and _"
        )
    if len(name.encode()) > LONGEST_IN_PATH:
        raise QueryError(
            f"{name[:20]!r}… is too long a name for {of}", hint=f"{LONGEST_IN_PATH} bytes at most"
        )


def _fields(type_: Type) -> Iterator[str]:
    if is_optional(type_):
        yield from _fields(held(type_))  # its flag is ours
        return
    if is_map(type_):
        for inner in entry_types(type_):
            yield from _fields(inner)
        return
    if is_list(type_):
        yield from _fields(item_type(type_))
        return
    match type_:
        case Record(fields):
            for name, field in fields:
                yield name
                yield from _fields(field)
        case Bag(element):
            yield from _fields(element)
