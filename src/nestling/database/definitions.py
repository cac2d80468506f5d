"""Definitions: tables with their flat form, and views with their query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from nestling.calculus.terms import Expr, Var
from nestling.calculus.traverse import Names
from nestling.calculus.types import (
    ELEMENT,
    LABEL,
    Bag,
    Path,
    Record,
    Scalar,
    Type,
    bag_levels,
    dictionary_name,
    flat_type,
    leaf_types,
)
from nestling.calculus.typing import element_type
from nestling.frontend.view_query import Order
from nestling.program.statements import TableDecl


@dataclass(frozen=True)
class TableDef:
    """A table: the type of its rows, its key (by name), and the flat tables that store it."""

    name: str
    record: Record
    key: tuple[str, ...] = ()
    references: tuple[tuple[tuple[str, ...], str], ...] = ()
    append_only: bool = False

    @cached_property
    def key_positions(self) -> tuple[int, ...]:
        """Where the key stands in a row."""
        return tuple(self.record.names.index(name) for name in self.key)

    @cached_property
    def is_flat(self) -> bool:
        """Whether a row is stored as it is: all its columns are scalars."""
        # Rows that are not records occur where no column has a name: in relations of scalars or bags.
        return isinstance(self.record, Record) and all(isinstance(t, Scalar) for t in self.record.types)

    @cached_property
    def key_types(self) -> tuple[Type, ...]:
        """The types of the key's columns."""
        return tuple(self.record.types[i] for i in self.key_positions)

    @cached_property
    def labels(self) -> dict[Path, int]:
        """Where in a flat row the labels of its inner bags stand; bags inside elements have theirs there."""
        columns = self.declarations[self.name].columns
        names = {dictionary_name(self.name, path): path for path in self.levels}
        return {names[column.name]: i for i, column in enumerate(columns) if column.type == LABEL}

    @cached_property
    def levels(self) -> dict[Path, Bag]:
        """The inner bags by path, parents first."""
        return dict(bag_levels(self.record))

    @cached_property
    def declarations(self) -> dict[str, TableDecl]:
        """The flat table of the rows, and one per inner bag."""
        columns = flat_columns(flat_type(self.record), self.name)
        places = leaf_positions(self.record)
        key = tuple(place for name in self.key for place in places[name])
        references = tuple(
            (tuple(place for name in names for place in places[name]), table)
            for names, table in self.references
        )
        found = {self.name: TableDecl(self.name, columns, key, references, self.append_only)}
        for path, level in self.levels.items():
            name = dictionary_name(self.name, path)
            label = Var(f"{name}.label", LABEL)
            found[name] = TableDecl(name, (label, *flat_columns(flat_type(level.element), name)))
        return found


@dataclass(frozen=True)
class ViewDef:
    """A view: its query over tables, how it is stored and refreshed, and the order that it is read in."""

    name: str
    query: Expr
    refresh: str = "eager"
    store: str = "auto"
    order: Order = ()

    @cached_property
    def element(self) -> Type:
        return element_type(self.query)


def flat_columns(type_: Type, prefix: str) -> tuple[Var, ...]:
    """The columns of a flat type, named by their paths."""
    names = Names()
    return tuple(Var(names.fresh(f"{prefix}.{_named(path, leaf)}"), leaf) for path, leaf in leaf_types(type_))


def _named(path: Path, leaf: Type) -> str:
    # A column of labels is called like the dictionary that its labels are looked up in.
    return ".".join(path) or (ELEMENT if leaf == LABEL else "value")


def leaf_positions(record: Record) -> dict[str, tuple[int, ...]]:
    """Where in a flat row the columns of each field stand."""
    places: dict[str, tuple[int, ...]] = {}
    at = 0
    for name, type_ in record.fields:
        width = len(list(leaf_types(type_)))
        places[name] = tuple(range(at, at + width))
        at += width
    return places
