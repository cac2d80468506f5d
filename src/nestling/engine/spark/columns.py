"""The columns of a program's tables and maps as relations: keys ``k0, k1, …`` and measures ``m0, m1, …``."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

from nestling.calculus.types import INT, Record, Scalar, Type
from nestling.calculus.typing import term_type
from nestling.engine.protocol import is_inner
from nestling.engine.spark.labels import label_start
from nestling.engine.spark.orders import orders
from nestling.engine.spark.types import sql_type
from nestling.program.flat import Query
from nestling.program.statements import MapDecl, Program, TableDecl


@dataclass(frozen=True)
class Layout:
    """The columns of one relation."""

    keys: tuple[Type, ...]
    measures: tuple[Type, ...] = (INT,)
    #: A count of zero means that there is nothing, whatever a sum of floats says.
    positive: bool = True
    #: Columns that say which row of a table is meant.
    key: tuple[int, ...] = ()
    #: By which keys files are sorted, all of them; as they stand if it is empty.
    order: tuple[int, ...] = ()
    #: What all labels in the first column begin with, as far as it is known.
    start: str = ""

    @cached_property
    def columns(self) -> list[tuple[str, Type]]:
        return [(f"k{i}", t) for i, t in enumerate(self.keys)] + [
            (f"m{i}", t) for i, t in enumerate(self.measures)
        ]

    @cached_property
    def sql(self) -> list[tuple[str, str]]:
        return [(name, sql_type(type_)) for name, type_ in self.columns]

    @cached_property
    def key_names(self) -> list[str]:
        return [f"k{i}" for i in range(len(self.keys))]

    @cached_property
    def sorted_names(self) -> list[str]:
        """The keys in the order by which files are sorted."""
        return [f"k{i}" for i in self.order] or self.key_names

    @cached_property
    def sort_texts(self) -> list[str]:
        """The same as SQL that Spark sorts by: by the first bytes of texts, which labels of one site have in common."""
        begin = f"substring(k0, {len(self.start) + 1})"
        return [begin if self.start and name == "k0" else name for name in self.sorted_names]

    def in_order(self, places: Collection[int]) -> list[int]:
        """``places`` in the order by which files are sorted."""
        return [place for place in self.order or range(len(self.keys)) if place in places]

    def is_sorted_by(self, places: Collection[int]) -> bool:
        """Whether files are sorted first by one of these keys."""
        return bool(self.keys) and (self.order or (0,))[0] in places

    @cached_property
    def names(self) -> list[str]:
        return [name for name, _ in self.columns]

    @property
    def there(self) -> str:
        """The condition that summed measures ``m0, m1, …`` are those of an entry."""
        if self.positive:
            return "m0 <> 0"
        return " OR ".join(f"m{i} <> 0" for i in range(len(self.measures)))


def layouts(program: Program) -> dict[str, Layout]:
    """The layouts of all tables and maps, and of deferred changes."""
    found = {name: table_layout(decl) for name, decl in program.tables.items()}
    found |= {name: map_layout(decl) for name, decl in program.maps.items()}
    found = {name: replace(found[name], order=order) for name, order in orders(program).items()}
    return found | {deferred_name(name): replace(found[name], positive=False) for name in program.deferred}


#: Before the name of a map in a lake: what changed in it, and has not been passed on.
DEFERRED = "postponed "


def deferred_name(map_: str) -> str:
    """The name of the relation of a map's deferred changes."""
    return f"·{DEFERRED}{map_}"


def table_layout(table: TableDecl) -> Layout:
    start = label_start(table.name) if is_inner(table) else ""
    return Layout(tuple(column.type for column in table.columns), key=table.key, start=start)


def map_layout(decl: MapDecl) -> Layout:
    keys = tuple(_of_keys(decl.query, i) for i in range(len(decl.columns)))
    measures = tuple(_of_weights(decl.query, i) for i in range(decl.width))
    return Layout(keys, measures, decl.positive)


def _of_keys(query: Query, i: int) -> Type:
    """The type of a key; it may be null if it may in some monomial."""
    types = [term_type(monomial.keys[i]) for monomial in query.monomials]
    return joined_type(types) if types else query.keys[i].type


def _of_weights(query: Query, i: int) -> Scalar:
    joined = joined_type([term_type(monomial.weights[i]) for monomial in query.monomials] or [INT])
    return Scalar(joined.name) if isinstance(joined, Scalar) else INT


def joined_type(types: list[Type]) -> Type:
    """The type that holds the values of all."""
    first = types[0]
    if isinstance(first, Record):
        records = [type_.types for type_ in types if isinstance(type_, Record)]
        fields = zip(first.names, zip(*records, strict=True), strict=True)
        return Record(tuple((name, joined_type(list(parts))) for name, parts in fields))
    scalars = [type_ for type_ in types if isinstance(type_, Scalar)]
    if len(scalars) < len(types):
        return first
    name = next((n for n in ("float", "decimal") if any(s.name == n for s in scalars)), scalars[0].name)
    sizes = {scalar.size for scalar in scalars}
    return Scalar(name, any(s.nullable for s in scalars), sizes.pop() if len(sizes) == 1 else ())
