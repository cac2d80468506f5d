"""From what ``db.table`` is given to a ``TableDef``: classes say by annotations what other schemas say by arguments.

A class stands for the table that was declared with it. Where a reference names a class without a table, its key is not
known, and neither is the type of the column: the table waits until that class is declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass

from nestling.calculus.types import Bag, Record, Type, bag_levels
from nestling.database.definitions import Reference, TableDef
from nestling.errors import QueryError
from nestling.frontend.catalog import FieldPath
from nestling.frontend.schema import Declared, Unresolved, declared, key_record, with_order

Tables = Mapping[str, TableDef]


@dataclass(frozen=True)
class Asked:
    """The arguments of ``db.table``, checked."""

    name: str
    schema: object
    key: tuple[str, ...] = ()
    references: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    append_only: bool = False
    inverses: Mapping[str, str] = field(default_factory=dict)
    extends: str | None = None
    on_delete: str | Mapping[tuple[str, ...], str] = field(default_factory=dict)
    fixed: bool | tuple[str, ...] | None = None
    ordered: tuple[str, ...] = ()
    #: The class without a table that it waits for.
    target: str = ""

    @property
    def class_name(self) -> str:
        """The class of the rows, if the schema is one."""
        return self.schema.__name__ if isinstance(self.schema, type) and is_dataclass(self.schema) else ""

    @property
    def why(self) -> str:
        """Why the table is not there yet."""
        return f"table {self.name} waits for the table of {self.target}, to whose objects it refers"

    @property
    def hint(self) -> str:
        return f"declare it: db.table(name, {self.target}, key=…)"


def table_def(asked: Asked, tables: Tables, waiting: Mapping[str, Asked]) -> TableDef:
    """The table that is asked for; ``Unresolved`` where it refers to a class without a table."""
    resolver = _Resolver(asked, tables, waiting)
    found = declared(asked.schema, resolver.known)
    found.record = with_order(found.record, asked.ordered, asked.name)
    parent = resolver.superclass()
    references = _references(asked, found, parent)
    inverses = {**(dict(parent.inverses) if parent else {}), **found.inverses, **asked.inverses}
    sets = dict.fromkeys([*(parent.sets if parent else ()), *found.sets])
    return TableDef(
        asked.name,
        found.record,
        asked.key,
        references,
        asked.append_only,
        parent.name if parent else asked.extends,
        tuple(inverses.items()),
        tuple(sets),
        _fixed(asked, found.record),
        asked.class_name,
    )


def paths(type_: Type, path: FieldPath = ()) -> Iterator[FieldPath]:
    """All that a path may lead to: fields, of records and of the elements of bags."""
    while isinstance(type_, Bag):
        type_ = type_.element
    if isinstance(type_, Record):
        for name, field in type_.fields:
            yield (*path, name)
            yield from paths(field, (*path, name))


def path_of(record: Record, text: str, table: str) -> FieldPath:
    """The path that is written with dots; a name may have dots too, and the shortest path is meant."""
    found = [path for path in paths(record) if ".".join(path) == text]
    if not found:
        raise QueryError(
            f"{table} has no column {text!r} to be a reference",
            hint=f"it has {', '.join('.'.join(path) for path in paths(record))}",
        )
    return min(found, key=len)


class _Resolver:
    def __init__(self, asked: Asked, tables: Tables, waiting: Mapping[str, Asked]) -> None:
        self.asked, self.tables, self.waiting = asked, tables, waiting

    def known(self, target: str) -> tuple[str, Record]:
        """The table of a class, or of this name, and its key."""
        return self._known(target, frozenset())

    def _known(self, target: str, under_way: frozenset[str]) -> tuple[str, Record]:
        if target in under_way:
            raise QueryError(f"the key of {target} refers to itself", hint="give it a key of its own")
        asked = self._waiting_for(target)
        if asked is not None:
            key = key_record(asked.schema, asked.key, lambda other: self._known(other, under_way | {target}))
            if not asked.key or key is None:
                raise _keyless(target, asked.name)
            return asked.name, key
        table = self._there(target)
        if not table.key:
            raise _keyless(target, table.name)
        return table.name, Record(tuple(zip(table.key, table.key_types, strict=True)))

    def _waiting_for(self, target: str) -> Asked | None:
        """The table that is being declared, or one that waits."""
        if target in (self.asked.class_name, self.asked.name):
            return self.asked
        return next((a for a in self.waiting.values() if target in (a.class_name, a.name)), None)

    def _there(self, target: str) -> TableDef:
        found = [table for table in self.tables.values() if table.class_name == target]
        if len(found) > 1:
            raise QueryError(
                f"{target} is the class of {' and '.join(table.name for table in found)}",
                hint='name the table: nl.Ref["table"]',
            )
        if not found and target not in self.tables:
            raise Unresolved(target)
        return found[0] if found else self.tables[target]

    def superclass(self) -> TableDef | None:
        """The table that this one extends: as it says, or that of the nearest base class with a table."""
        if self.asked.extends is not None:
            return self.tables.get(self.asked.extends)
        bases = self.asked.schema.__mro__[1:] if isinstance(self.asked.schema, type) else ()
        for base in bases:
            for table in self.tables.values():
                if is_dataclass(base) and table.class_name == base.__name__:
                    return table
        return None


def _keyless(target: str, table: str) -> QueryError:
    return QueryError(f"{target} cannot be referred to: {table} has no key", hint="declare it with key=…")


def _references(asked: Asked, found: Declared, parent: TableDef | None) -> tuple[Reference, ...]:
    """References by annotation, by argument, and those of the superclass, in this order of the paths."""
    record, name = found.record, asked.name
    inherited = {each.paths: each for each in parent.references} if parent else {}
    targets = {paths: each.table for paths, each in inherited.items()}
    targets |= {(path,): table for path, table in found.references.items()}
    targets |= {_paths(record, texts, name): table for texts, table in asked.references.items()}
    words = {paths: each.on_delete for paths, each in inherited.items()}
    if isinstance(asked.on_delete, str):
        words |= dict.fromkeys(targets, asked.on_delete)
    else:
        for texts, word in asked.on_delete.items():
            place = _paths(record, texts, name)
            if place not in targets:
                raise QueryError(
                    f"{', '.join(texts)} of {name} refers to nothing",
                    hint=f"on_delete is said of references: {_known_paths(targets)}",
                )
            words[place] = word
    return tuple(Reference(paths, table, words.get(paths, "refuse")) for paths, table in targets.items())


def _known_paths(targets: Mapping[tuple[FieldPath, ...], str]) -> str:
    return ", ".join(Reference(paths, table).text for paths, table in targets.items()) or "there are none"


def _paths(record: Record, texts: tuple[str, ...], table: str) -> tuple[FieldPath, ...]:
    return tuple(path_of(record, text, table) for text in texts)


def _fixed(asked: Asked, record: Record) -> tuple[str, ...]:
    """The fixed columns: those named, or all that hold no bag; a frozen dataclass says so by itself."""
    fixed = asked.fixed
    if fixed is None:
        # Of a class alone: a type of the calculus is an instance of a frozen one.
        params = (
            getattr(asked.schema, "__dataclass_params__", None) if isinstance(asked.schema, type) else None
        )
        fixed = bool(asked.key) and params is not None and params.frozen
    if isinstance(fixed, bool):
        return tuple(n for n, t in record.fields if fixed and not any(bag_levels(t)) and n not in asked.key)
    return fixed
