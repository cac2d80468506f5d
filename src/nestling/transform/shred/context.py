"""Contexts: the dictionaries that belong to a flat type.

::

    Scalar^F = Scalar            Scalar^Γ = –
    ⟨f: A, …⟩^F = ⟨f: A^F, …⟩     ⟨f: A, …⟩^Γ = ⟨f: A^Γ, …⟩
    Bag(C)^F = Label             Bag(C)^Γ = (Label ↦ Bag(C^F)) × C^Γ        shredded
    Bag(C)^F = Bag(C^F)          Bag(C)^Γ = C^Γ                             opaque
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from nestling.calculus.build import dict_union
from nestling.calculus.terms import DictEmpty, DictInput, Dictionary
from nestling.calculus.types import ELEMENT, Bag, Dict, LabelType, Path, Record, Scalar, Type, flat_type
from nestling.calculus.typing import dictionary_element

Context: TypeAlias = "NoContext | RecordContext | BagContext"


@dataclass(frozen=True, slots=True)
class NoContext:
    """Of a scalar or a label."""


@dataclass(frozen=True, slots=True)
class RecordContext:
    """Of a record, field by field."""

    fields: tuple[tuple[str, Context], ...]

    def __getitem__(self, name: str) -> Context:
        return dict(self.fields)[name]


@dataclass(frozen=True, slots=True)
class BagContext:
    """Of a bag: where its rows stand (``None`` for an opaque level), and the context of its elements."""

    dictionary: Dictionary | None
    element: Context


NONE = NoContext()


def input_context(relation: str, type_: Type, path: Path = ()) -> Context:
    """``R^Γ``: one input dictionary per shredded level, named by its path."""
    match type_:
        case Record(fields):
            return RecordContext(
                tuple((name, input_context(relation, field, (*path, name))) for name, field in fields)
            )
        case Bag(element, opaque):
            here = path or (ELEMENT,)
            inner = (*here, ELEMENT) if isinstance(element, Bag) else here
            rows = None if opaque else DictInput(relation, here, flat_type(element))
            return BagContext(rows, input_context(relation, element, inner))
        case Scalar() | LabelType() | Dict():
            return NONE
        case _:
            assert_never(type_)


def empty_context(type_: Type) -> Context:
    """The context of no elements."""
    match type_:
        case Record(fields):
            return RecordContext(tuple((name, empty_context(field)) for name, field in fields))
        case Bag(element, opaque):
            return BagContext(None if opaque else DictEmpty(flat_type(element)), empty_context(element))
        case Scalar() | LabelType() | Dict():
            return NONE
        case _:
            assert_never(type_)


def join(left: Context, right: Context) -> Context:
    """``Γ ∪ Γ'``, dictionary by dictionary."""
    match left, right:
        case RecordContext(fields), RecordContext():
            return RecordContext(tuple((name, join(inner, right[name])) for name, inner in fields))
        case BagContext(None, a), BagContext(_, b):
            return BagContext(None, join(a, b))
        case BagContext(d, a), BagContext(e, b) if d is not None and e is not None:
            return BagContext(dict_union(_element(d, e), [d, e]), join(a, b))
    return NONE


def _element(left: Dictionary, right: Dictionary) -> Type:
    """Their element type; ``[]`` on one side knows it as well as a definition on the other."""
    return dictionary_element(left if isinstance(left, DictEmpty) else right)


def dictionaries(context: Context, path: Path = ()) -> Iterator[tuple[Path, Dictionary]]:
    """The dictionaries of a context with the paths of their levels, parents first."""
    match context:
        case RecordContext(fields):
            for name, inner in fields:
                yield from dictionaries(inner, (*path, name))
        case BagContext(dictionary, element):
            here = path or (ELEMENT,)
            if dictionary is not None:
                yield here, dictionary
            yield from dictionaries(element, (*here, ELEMENT) if isinstance(element, BagContext) else here)
        case NoContext():
            return
        case _:
            assert_never(context)
