"""Definitions: tables with their flat form, and views with their query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from nestling.calculus.optional import is_optional
from nestling.calculus.terms import Expr, Var
from nestling.calculus.traverse import Names, relations
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
from nestling.database.nesting import Nester, nester
from nestling.database.plain import plain
from nestling.frontend.catalog import FieldPath
from nestling.frontend.schema import Links, row_value, typed_row
from nestling.frontend.view_query import Orders
from nestling.program.statements import TableDecl

#: What names begin with that users may not give: those of tables and views that keep others.
HIDDEN = "§"
#: What becomes of a reference when the object goes; see ``references``.
ON_DELETE = ("refuse", "nil", "cascade", "dangle")


@dataclass(frozen=True, slots=True)
class Reference:
    """The key of a row of ``table``, at one path, or in several columns where the key has several."""

    paths: tuple[FieldPath, ...]
    table: str
    on_delete: str = "refuse"

    @property
    def is_kept(self) -> bool:
        """Whether the row is always there, unless the reference is nil."""
        return self.on_delete != "dangle"

    @property
    def text(self) -> str:
        """The reference as users write it."""
        return ", ".join(".".join(path) for path in self.paths)


@dataclass(frozen=True, slots=True)
class Site:
    """Where a reference of the table ``owner`` stands in flat tables: in ``flat``, at ``places``.

    ``is_element``: an element of a bag of references, which is nothing but the key.
    """

    owner: str
    reference: Reference
    flat: str
    places: tuple[int, ...]
    is_nullable: bool
    is_element: bool


@dataclass(frozen=True)
class TableDef:
    """A table: the type of its rows, its key (by name), and the flat tables that store it.

    ``extends``: the table of the superclass. ``inverses``: names of derived collections, each with the path of the
    references that it is the inverse of, as it was written. ``sets``: bags that have each element once. ``fixed``:
    columns that never change in a row that stays. ``class_name``: the class that it was declared with.
    """

    name: str
    record: Record
    key: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    append_only: bool = False
    extends: str | None = None
    inverses: tuple[tuple[str, str], ...] = ()
    sets: tuple[FieldPath, ...] = ()
    fixed: tuple[str, ...] = ()
    class_name: str = field(default="", compare=False)

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
    def is_plain(self) -> Callable[[Any], bool]:
        """Whether a row that comes is a value of this table as it is."""
        return plain(self.record)

    @cached_property
    def is_plain_key(self) -> Callable[[Any], bool]:
        """Whether the values of a key that come, as a tuple, are those of a flat row."""
        return plain(Record(tuple(zip(self.key, self.key_types, strict=True))))

    @cached_property
    def plain_elements(self) -> dict[Path, Callable[[Any], bool]]:
        """By inner bag, whether an element that comes is a value of it as it is, which is a flat row."""
        elements = {path: level.element for path, level in self.levels.items()}
        return {
            path: plain(element)
            for path, element in elements.items()
            if isinstance(element, Record) and not is_optional(element)
        }

    @cached_property
    def reached(self) -> dict[str, int]:
        """Where in a flat row the labels of inner bags stand that ``deep`` was led to, and let change."""
        return {}

    @cached_property
    def nest(self) -> Nester:
        """From a flat row, and the bags of an engine, the row that it stands for."""
        return nester(self.record)

    @cached_property
    def nest_element(self) -> dict[Path, Nester]:
        """The same of the elements of its inner bags, by their paths."""
        return {path: nester(level.element) for path, level in self.levels.items()}

    @cached_property
    def _typed(self) -> Callable[[object], tuple[Any, ...] | None]:
        return typed_row(self.record)

    def reader(self, links: Links) -> Callable[[object], tuple[Any, ...]]:
        """What a row that comes is as a value of this table; ``ChangeError`` where it is none."""
        record, typed = self.record, self._typed
        if links is not None:
            return lambda row: row_value(record, row, links)

        def read(row: object) -> tuple[Any, ...]:
            value = typed(row)
            return row_value(record, row) if value is None else value

        return read

    @cached_property
    def places(self) -> dict[str, tuple[int, ...]]:
        """Where in a flat row the columns of each field stand."""
        return leaf_positions(self.record)

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
        fixed = tuple(sorted(place for name in self.fixed for place in places[name]))
        found = {
            self.name: TableDecl(self.name, columns, key, self._always(self.name), self.append_only, fixed)
        }
        for path, level in self.levels.items():
            name = dictionary_name(self.name, path)
            label = Var(f"{name}.label", LABEL)
            columns = (label, *flat_columns(flat_type(level.element), name))
            found[name] = TableDecl(name, columns, references=self._always(name))
        return found

    def _always(self, flat: str) -> tuple[tuple[tuple[int, ...], str], ...]:
        """The references of a flat table that are never nil, and kept."""
        return tuple(
            (site.places, site.reference.table)
            for site in self.sites
            if site.flat == flat and site.reference.is_kept and not site.is_nullable
        )

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        """Where the references stand."""
        return tuple(self._site(reference) for reference in self.references)

    def _site(self, reference: Reference) -> Site:
        found = [located(self.record, path) for path in reference.paths]
        leaves = [leaf for place in found for leaf in leaf_types(place.type)]
        flat = dictionary_name(self.name, found[0].level) if found[0].level else self.name
        return Site(
            self.name, reference, flat,
            tuple(i for place in found for i in place.places),
            any(isinstance(type_, Scalar) and type_.nullable for _, type_ in leaves),
            found[0].is_element,
        )  # fmt: skip

    @cached_property
    def set_levels(self) -> frozenset[str]:
        """The dictionaries of bags that are sets."""
        return frozenset(dictionary_name(self.name, located(self.record, path).level) for path in self.sets)


@dataclass(frozen=True, slots=True)
class Located:
    """What a path leads to: in the elements of which bag, its type, and which columns of their flat rows it has."""

    level: Path
    type: Type
    places: tuple[int, ...]
    is_element: bool


def located(record: Record, path: FieldPath) -> Located:
    """Where ``path`` leads, through records and the elements of bags; ``KeyError`` where there is no such field.

    >>> from nestling.calculus.types import INT, record
    >>> located(record(no=INT, lines=Bag(record(product=INT, n=INT))), ("lines", "product"))
    Located(level=('lines',), type=Scalar(name='int', nullable=False), places=(1,), is_element=False)
    """
    type_: Type = record
    outer: Type = record
    level: Path = ()
    here: Path = ()
    inside: Path = ()
    for name in path:
        if not isinstance(type_, Record) or name not in type_.names:
            raise KeyError(name)
        type_ = dict(type_.fields)[name]
        here, inside = (*here, name), (*inside, name)
        while isinstance(type_, Bag):
            outer = type_ = type_.element
            level, inside = here, ()
            here = (*here, ELEMENT) if isinstance(type_, Bag) else here
    leaves = [leaf for leaf, _ in leaf_types(outer)]
    places = (i + bool(level) for i, leaf in enumerate(leaves) if leaf[: len(inside)] == inside)
    return Located(level, type_, tuple(places), bool(level) and not inside)


@dataclass(frozen=True)
class ViewDef:
    """A view: its query over tables, how it is stored and refreshed, and the order that it is read in.

    ``written``: its query over tables and views, where it reads views.
    """

    name: str
    query: Expr
    refresh: str = "eager"
    store: str = "auto"
    orders: Orders = ()
    written: Expr | None = field(default=None, compare=False)

    @cached_property
    def reads_views(self) -> frozenset[str]:
        """The tables and views that its text names, where it reads views."""
        return relations(self.written) if self.written is not None else frozenset()

    @cached_property
    def element(self) -> Type:
        return element_type(self.query)

    @property
    def is_hidden(self) -> bool:
        """Whether it keeps another view: nobody asks for its rows by a column."""
        return self.name.startswith(HIDDEN)


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
