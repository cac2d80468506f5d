"""Types of the calculus.

::

    A, B, C ::= Scalar | ⟨f₁: A₁, …, fₙ: Aₙ⟩ | Bag(C) | Label | Dict(C)

Every inner bag level is either *shredded* (its place in the parent is a label, its rows stand in a
dictionary) or *opaque* (it is one value in its parent). The level of a bag says which; values do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

Type: TypeAlias = "Scalar | Record | Bag | LabelType | Dict"
Path: TypeAlias = tuple[str, ...]

SCALARS = ("bool", "int", "float", "decimal", "str", "bytes", "date", "datetime", "time", "timedelta")
NUMERIC = ("int", "float", "decimal")


@dataclass(frozen=True, slots=True)
class Identity:
    """Which object a value stands for: the one of ``table`` whose key it is, or whose row it is (``is_row``).

    ``is_kept``: that row is always there. What front ends read references by, and no part of a type.
    """

    table: str
    is_row: bool = False
    is_kept: bool = True


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type of the database domain; ``nullable`` admits ``None``.

    ``size`` is how much a number was declared to hold, and no part of the type; see ``sizes``. Nor is ``of``.
    """

    name: str
    nullable: bool = False
    size: tuple[int, ...] = field(default=(), compare=False, repr=False)
    of: Identity | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Record:
    """``⟨f: A, …⟩``; values are tuples in the order of the fields. ``⟨⟩`` is the unit type."""

    fields: tuple[tuple[str, Type], ...]
    of: Identity | None = field(default=None, compare=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.fields)

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(type_ for _, type_ in self.fields)

    def index(self, name: str) -> int | None:
        """The position of field ``name``."""
        return next((i for i, (other, _) in enumerate(self.fields) if other == name), None)


@dataclass(frozen=True, slots=True)
class Bag:
    """``Bag(C)``; ``opaque`` says how this level is shredded and never what its values are.

    ``is_set``: each element is there once, by declaration; no part of the type.
    """

    element: Type
    opaque: bool = False
    is_set: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LabelType:
    """The type of names of inner bags."""


@dataclass(frozen=True, slots=True)
class Dict:
    """``Label ↦ Bag(C)``."""

    element: Type


BOOL, INT, FLOAT, STR = Scalar("bool"), Scalar("int"), Scalar("float"), Scalar("str")
UNIT = Record(())
LABEL = LabelType()

#: The step from a bag to its elements where these are bags themselves and so have no field name.
ELEMENT = "*"


def record(**fields: Type) -> Record:
    """``⟨f: A, …⟩`` by keywords."""
    return Record(tuple(fields.items()))


def is_base(type_: Type) -> bool:
    """Whether ``type_`` is a TBase: scalars and tuples of scalars only."""
    match type_:
        case Scalar():
            return True
        case Record(fields):
            return all(is_base(field) for _, field in fields)
        case Bag() | LabelType() | Dict():
            return False
        case _:
            assert_never(type_)


def nullable(type_: Scalar) -> Scalar:
    """``type_`` with ``None`` admitted."""
    return replace(type_, nullable=True)


def with_opaque(type_: Type, opaque: bool) -> Type:
    """``type_`` with all its bag levels opaque, or all shredded."""
    match type_:
        case Record(fields):
            return Record(tuple((name, with_opaque(field, opaque)) for name, field in fields))
        case Bag(element):
            return Bag(with_opaque(element, opaque), opaque)
        case Scalar() | LabelType() | Dict():
            return type_
        case _:
            assert_never(type_)


def bag_levels(type_: Type, path: Path = ()) -> Iterator[tuple[Path, Bag]]:
    """The bag levels of an element type with their paths, parents first.

    >>> items = Bag(record(pid=INT))
    >>> [path for path, _ in bag_levels(record(id=INT, orders=Bag(record(day=INT, items=items))))]
    [('orders',), ('orders', 'items')]
    """
    match type_:
        case Record(fields):
            for name, field in fields:
                yield from bag_levels(field, (*path, name))
        case Bag(element):
            # An element that is itself a bag has no field to be named by; see ELEMENT.
            here = path or (ELEMENT,)
            yield here, type_
            inner = (*here, ELEMENT) if isinstance(element, Bag) else here
            yield from bag_levels(element, inner)
        case Scalar() | LabelType() | Dict():
            return
        case _:
            assert_never(type_)


def leaf_types(type_: Type, path: Path = ()) -> Iterator[tuple[Path, Type]]:
    """The columns that a value of ``type_`` is laid out in: their paths and types; a bag is one column.

    >>> [".".join(path) for path, _ in leaf_types(record(id=INT, at=record(x=INT, y=INT), tags=Bag(STR)))]
    ['id', 'at.x', 'at.y', 'tags']
    """
    if isinstance(type_, Record):
        for name, inner in type_.fields:
            yield from leaf_types(inner, (*path, name))
    else:
        yield path, type_


def flat_type(type_: Type) -> Type:
    """``A^F``: every shredded bag of ``A`` a label."""
    match type_:
        case Record(fields):
            return Record(tuple((name, flat_type(field)) for name, field in fields))
        case Bag(element, opaque):
            return Bag(flat_type(element), True) if opaque else LABEL
        case Scalar() | LabelType() | Dict():
            return type_
        case _:
            assert_never(type_)


def dictionary_name(relation: str, path: Path) -> str:
    """The name of the dictionary that holds the inner bags of ``relation`` at ``path``.

    >>> dictionary_name("orders", ("items",))
    'orders.items'
    """
    return ".".join((relation, *path))


def show_type(type_: Type) -> str:
    """The concrete syntax of a type.

    >>> show_type(record(id=INT, items=Bag(record(pid=nullable(STR)))))
    '⟨id: int, items: Bag(⟨pid: str?⟩)⟩'
    """
    match type_:
        case Scalar(name, null):
            return f"{name}?" if null else name
        case Record(fields):
            return "⟨" + ", ".join(f"{name}: {show_type(field)}" for name, field in fields) + "⟩"
        case Bag(element, opaque):
            return f"{'Opaque' if opaque else 'Bag'}({show_type(element)})"
        case LabelType():
            return "Label"
        case Dict(element):
            return f"Dict({show_type(element)})"
        case _:
            assert_never(type_)
