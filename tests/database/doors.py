"""Every public method, and values that it does not want.

``calls`` finds the methods and properties by introspection: a new one is tried at once if its parameters have
defaults, and fails the tests until ``WANTED`` says what its other parameters want.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import nestling as nl
from nestling.database.at import At
from nestling.database.subscription import Subscription
from nestling.database.table import Table
from nestling.database.table_in import TableIn
from nestling.database.transaction import Transaction
from nestling.database.view import View


class UserError(Exception):
    """What a function or an iterator of the user's own raises."""


def _raises(*args: Any) -> Any:
    raise UserError


def _rows_that_raise() -> Iterator[Any]:
    yield (3, "c", [])
    raise UserError


def _deep() -> Any:
    value: Any = []
    for _ in range(10_000):
        value = [value]
    return value


class Unshowable:
    def __repr__(self) -> str:
        raise UserError


class Anything:
    def __init__(self, *args: Any) -> None:
        pass


#: What to try: each is made anew, since a generator is read once.
POOL: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "5": lambda: 5,
    "-1": lambda: -1,
    "1.5": lambda: 1.5,
    "True": lambda: True,
    "an empty str": lambda: "",
    "a str": lambda: "x",
    "bytes": lambda: b"x",
    "an empty list": list,
    "a list of an int": lambda: [5],
    "a list of None": lambda: [None],
    "an empty dict": dict,
    "a dict": lambda: {"x": 5},
    "a dict by int": lambda: {5: {"x": 1}},
    "a set": lambda: {1, "a"},
    "a tuple": lambda: (1, "a"),
    "an object": object,
    "one that cannot be shown": Unshowable,
    "a function": lambda: lambda row: 5,
    "a function that raises": lambda: _raises,
    "a class": lambda: Anything,
    "nan": lambda: float("nan"),
    "a huge int": lambda: 10**5_000,
    "a generator that raises": _rows_that_raise,
    "a list of 10,000 levels": _deep,
    "a list of such": lambda: [_deep()],
    "an iterator": lambda: iter([1, 2]),
}

#: What parameters without a default want, by class and method; ``*`` of all its methods.
WANTED: dict[str, dict[str, Any]] = {
    "Database.table": {"name": "new", "schema": {"a": int, "b": int}},
    "Database.view": {"name": "new", "query": "SELECT id FROM orders"},
    "Database.constraint": {"name": "new", "query": "SELECT id FROM orders WHERE id < 0"},
    "Database.sql": {"script": "SELECT id FROM orders"},
    "Database.drop": {"name": "spare"},
    "Database.document": {"name": "new", "source": "<a/>"},
    "Database.xquery": {"text": "delete node /a/b"},
    "Database.insert": {"table": "orders", "rows": [(9, "z", [(1, 1)])]},
    "Database.delete": {"table": "orders", "rows": [(1, "a", [(1, 2)])]},
    "Database.update": {"table": "orders", "key": 1, "set": {"customer": "b"}},
    "Database.apply": {"changes": {"orders": {}}},
    "Database.sync": {"table": "orders", "snapshot": [(1, "a", [(1, 2)])]},
    "Database.upsert": {"table": "orders", "rows": [(1, "z", [(1, 1)]), (9, "z", [])]},
    "Database.backup": {"path": "copy.nest"},
    "Database.export": {"name": "orders", "path": "rows.jsonl"},
    "Database.load": {"table": "orders", "path": "more.jsonl"},
    "Database.merge": {"table": "orders", "rows": [(1, "z", [(1, 1)]), (9, "z", [])]},
    "Table.merge": {"rows": [(1, "z", [(1, 1)]), (9, "z", [])]},
    "Transaction.merge": {"table": "orders", "rows": [(1, "z", [(1, 1)]), (9, "z", [])]},
    "Database.rename": {"old": "spare", "new": "other"},
    "Table.add_column": {"path": "items.note", "type": str | None},
    "Table.drop_column": {"path": "customer"},
    "Table.rename_column": {"path": "customer", "name": "client"},
    "Table.widen_column": {"path": "id", "type": int},
    "Table.__getitem__": {"key": 1},
    "Table.__contains__": {"row": 1},
    "Table.insert": {"rows": [(9, "z", [(1, 1)])]},
    "Table.delete": {"rows": [(1, "a", [(1, 2)])]},
    "Table.update": {"key": 1, "set": {"customer": "b"}},
    "Table.upsert": {"rows": [(1, "z", [(1, 1)]), (9, "z", [])]},
    "Table.sync": {"snapshot": [(1, "a", [(1, 2)])]},
    "Table.apply": {"changes": {}},
    "TableIn.insert": {"rows": [(9, "z", [(1, 1)])]},
    "TableIn.delete": {"rows": [(1, "a", [(1, 2)])]},
    "TableIn.update": {"key": 1, "set": {"customer": "b"}},
    "TableIn.upsert": {"rows": [(1, "z", [(1, 1)]), (9, "z", [])]},
    "TableIn.sync": {"snapshot": [(1, "a", [(1, 2)])]},
    "TableIn.apply": {"changes": {}},
    "At.__getitem__": {"name": "items"},
    "At.at": {"columns": {"pid": 1}},
    "At.insert": {"elements": [(7, 7)]},
    "At.delete": {"elements": [(1, 2)]},
    "At.update": {"set": {"qty": 5}},
    "View.__getitem__": {"first": 1},
    "View.__contains__": {"first": 1},
    "View.to_df": {"spark": None},
    "View.subscribe": {"function": lambda change: None},
    "Transaction.insert": {"table": "orders", "rows": [(9, "z", [(1, 1)])]},
    "Transaction.delete": {"table": "orders", "rows": [(1, "a", [(1, 2)])]},
    "Transaction.update": {"table": "orders", "key": 1, "set": {"customer": "b"}},
    "Transaction.upsert": {"table": "orders", "rows": [(1, "z", [(1, 1)]), (9, "z", [])]},
    "Transaction.sync": {"table": "orders", "snapshot": [(1, "a", [(1, 2)])]},
    "Transaction.table": {"name": "orders"},
    "Transaction.apply": {"changes": {"orders": {}}},
    "Transaction.insert_into": {"table": "orders", "key": 1, "path": ("items",), "elements": [(7, 7)]},
    "Transaction.delete_from": {"table": "orders", "key": 1, "path": ("items",), "elements": [(1, 2)]},
    "Transaction.update_in": {"table": "orders", "key": 1, "path": ("items", {"pid": 1}), "set": {"qty": 5}},
}

#: What parts of the library ask each other for; no part of the contract with users.
INTERNAL = {
    "Database": {"declare", "catalog", "read", "find", "table_df", "reading", "defining"},
    "Subscription": {"tell"},
    "Transaction": {"rollback", "using", "rows"},
}  # fmt: skip
#: Methods with names of Python's that are the user's too.
DUNDERS = ("__contains__", "__getitem__", "__iter__", "__len__", "__repr__")


@dataclass(frozen=True)
class Call:
    """A public method or property of a class."""

    class_: type
    name: str

    def __str__(self) -> str:
        return f"{self.class_.__name__}.{self.name}"

    @property
    def is_method(self) -> bool:
        return callable(getattr(self.class_, self.name))

    @property
    def parameters(self) -> list[inspect.Parameter]:
        if not self.is_method:
            return []
        return list(inspect.signature(getattr(self.class_, self.name)).parameters.values())[1:]

    def arguments(self) -> dict[str, Any]:
        """What it wants."""
        wanted = WANTED.get(str(self), {})
        for parameter in self.parameters:
            optional = parameter.default is not parameter.empty or parameter.kind is parameter.VAR_POSITIONAL
            assert optional or parameter.name in wanted, f"{self}: say in WANTED what {parameter.name} wants"
        return dict(wanted)

    def run(self, subject: Any, arguments: dict[str, Any]) -> Any:
        if not self.is_method:
            return getattr(subject, self.name)
        arguments = dict(arguments)
        several = [p.name for p in self.parameters if p.kind is p.VAR_POSITIONAL]
        rest = [arguments.pop(name) for name in several if name in arguments]
        return getattr(type(subject), self.name)(subject, *rest, **arguments)


def calls() -> list[Call]:
    found = []
    for class_ in (nl.Database, Table, TableIn, At, View, Subscription, Transaction):
        internal = INTERNAL.get(class_.__name__, set())
        names = [name for name in dir(class_) if not name.startswith("_") and name not in internal]
        names += [name for name in DUNDERS if name in vars(class_)]
        found += [
            Call(class_, name) for name in names if not inspect.ismemberdescriptor(getattr(class_, name))
        ]
    return found


def shop() -> nl.Database:
    db = nl.Database()
    db.table("orders", "id INT, customer STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>", key="id")
    db.table("spare", {"a": int | None, "b": float | None})
    db.document("notes", "<a><b/></a>")
    db.insert("orders", [(1, "a", [(1, 2)]), (2, "b", [(1, 1), (2, 5)])])
    db.insert("spare", [(1, 0.5), (None, None)])
    db.view("v", lambda orders: [(o.id, [i.qty for i in o.items if i.pid == 1]) for o in orders])
    db.constraint("c", "SELECT id FROM orders WHERE id > 1000000")
    return db


@contextmanager
def subject(call: Call, db: nl.Database) -> Iterator[Any]:
    """What has the method."""
    class_ = call.class_
    if class_ is Transaction:
        with db.transaction() as change:
            yield change
    elif class_ is TableIn:
        with db.transaction() as change:
            yield change.table("orders")
    elif class_ is nl.Database:
        yield db
    elif class_ is Table:
        yield db.table("orders")
    elif class_ is At:
        items = db.table("orders").at(1).items
        yield items.at({"pid": 1}) if call.name == "update" else items
    elif class_ is View:
        yield db.views["v"]
    else:
        yield db.views["v"].subscribe(lambda change: None)


def contents(db: nl.Database) -> Any:
    """All that can be read of it."""
    return (
        {name: sorted(table, key=str) for name, table in db.tables.items()},
        {name: view.bag() for name, view in db.views.items()},
        {name: (table.record, table.key) for name, table in db.tables.items()},
        set(db._constraints),
        db.version,
    )
