"""Changes as data, so that a failure can be printed, shortened and run again.

A step is a tuple: what is done, to which table, with what. ``run`` does it to a database or inside a transaction;
``written`` is the line of Python that does the same.
"""

from collections.abc import Callable
from typing import Any

from tests.soak.schema import Table

Step = tuple[Any, ...]
#: Called inside a transaction with the name of a view and what was done so far.
Peek = Callable[[str, list[Step]], None]
Rows = list[tuple[Any, ...]]


class Abandoned(Exception):
    """The user thinks better of it."""


def run(  # noqa: C901 - one arm per kind of step
    step: Step, target: Any, database: Any, named: dict[str, Table], peek: Peek = lambda view, steps: None
) -> None:
    """Do ``step`` to ``target``: a database, or a transaction of ``database``; ``peek`` reads a view inside one."""
    match step:
        case ("insert", table, rows):
            target.insert(table, rows)
        case ("insert_dicts", table, rows):
            names = [column.name for column in named[table].columns]
            target.insert(table, [dict(zip(names, row, strict=True)) for row in rows])
        case ("delete", table, rows):
            target.delete(table, rows)
        case ("delete_key", table, key):
            target.delete(table, key=one(key))
        case ("delete_where", table, column, value):
            target.delete(table, where=lambda row: getattr(row, column) == value)
        case ("update", table, key, columns):
            target.update(table, key=one(key), set=columns)
        case ("apply", changes):
            target.apply({table: Pairs(pairs) for table, pairs in changes})
        case ("feed", table, pairs):
            target.apply({table: fed(named[table], pairs)})
        case ("sync", table, rows):
            database.sync(table, rows)
        case ("deep_insert" | "deep_delete" | "deep_update", *_):
            deep(step, target, database)
        case ("transaction", steps, ending):
            transact(steps, ending, database, named, peek)
        case _:
            raise ValueError(step)


def deep(step: Step, target: Any, database: Any) -> None:
    """A change inside one row."""
    kind, table, key, path, what = step
    if target is not database:
        method = {"deep_insert": "insert_into", "deep_delete": "delete_from", "deep_update": "update_in"}[
            kind
        ]
        getattr(target, method)(table, one(key), path, what)
        return
    place = database.table(table).at(*key)
    for part in path:
        place = getattr(place, part) if isinstance(part, str) else place.at(part)
    getattr(place, kind.removeprefix("deep_"))(what)


def transact(steps: list[Step], ending: str, database: Any, named: dict[str, Table], peek: Peek) -> None:
    """Several steps at once; reading goes on inside, and the end may be a change of mind."""
    with database.transaction() as change:
        for number, step in enumerate(steps, 1):
            run(step, change, database, named)
            if ending.startswith("read "):
                peek(ending.removeprefix("read "), steps[:number])
        if ending == "abandon":
            raise Abandoned


class Pairs(dict[Any, int]):
    """A Z-bag whose rows need not be hashable: rows have lists for bags."""

    def __init__(self, pairs: list[tuple[Any, int]]) -> None:
        super().__init__()
        self._pairs = pairs

    def items(self) -> Any:
        return self._pairs

    def __len__(self) -> int:
        return len(self._pairs)


def fed(table: Table, pairs: list[tuple[Any, str]]) -> list[dict[str, Any]]:
    """Rows of a change feed."""
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) | {"_change_type": kind} for row, kind in pairs]


def one(key: tuple[Any, ...]) -> Any:
    return key[0] if len(key) == 1 else key


def written(  # noqa: C901 - one arm per kind of step
    step: Step, indent: str = "", target: str = "db"
) -> list[str]:
    """The lines of Python that do ``step``."""
    match step:
        case ("insert" | "insert_dicts", table, rows):
            lines = [f"{target}.insert({table!r}, {rows!r})"]
        case ("delete", table, rows):
            lines = [f"{target}.delete({table!r}, {rows!r})"]
        case ("delete_key", table, key):
            lines = [f"{target}.delete({table!r}, key={one(key)!r})"]
        case ("delete_where", table, column, value):
            lines = [f"{target}.delete({table!r}, where=lambda row: row.{column} == {value!r})"]
        case ("update", table, key, columns):
            lines = [f"{target}.update({table!r}, key={one(key)!r}, set={columns!r})"]
        case ("apply", changes):
            inside = ", ".join(f"{table!r}: Pairs({pairs!r})" for table, pairs in changes)
            lines = [f"{target}.apply({{{inside}}})"]
        case ("feed", table, pairs):
            lines = [f"{target}.apply({{{table!r}: fed({table}, {pairs!r})}})"]
        case ("sync", table, rows):
            lines = [f"db.sync({table!r}, {rows!r})"]
        case ("transaction", steps, ending):
            lines = ["with db.transaction() as t:"]
            lines += [line for inner in steps for line in written(inner, "    ", "t")]
            lines += [f"    # {ending}"]
        case ("deep_insert" | "deep_delete" | "deep_update" as kind, table, key, path, what):
            parts = "".join(f".{part}" if isinstance(part, str) else f".at({part!r})" for part in path)
            keys = ", ".join(map(repr, key))
            lines = [f"db.table({table!r}).at({keys}){parts}.{kind.removeprefix('deep_')}({what!r})"]
        case _:
            lines = [f"# {step!r}"]
    return [indent + line for line in lines]
