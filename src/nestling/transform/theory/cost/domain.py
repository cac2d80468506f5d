"""Cost domains: a number for every bag level of a type.

``Scalar° = Label° = {1}``, ``⟨A, …⟩° = ⟨A°, …⟩`` and ``Bag(C)° = N⁺{C°}``: how many elements, and the
least bound on what one of them costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from nestling.calculus.types import Bag, Dict, LabelType, Record, Scalar, Type
from nestling.transform.theory.cost.cardinality import Cardinality, Symbolic, greater, plus, times
from nestling.values.bag import ZBag

Cost: TypeAlias = "ScalarCost | RecordCost | BagCost"


@dataclass(frozen=True, slots=True)
class ScalarCost:
    """The cost of a scalar or a label."""


@dataclass(frozen=True, slots=True)
class RecordCost:
    """``⟨c₁, …, cₙ⟩`` — of a record, field by field."""

    fields: tuple[Cost, ...]


@dataclass(frozen=True, slots=True)
class BagCost:
    """``n{c}`` — of a bag: a cardinality and a bound for its elements."""

    count: Cardinality
    each: Cost


ONE = ScalarCost()


def bottom(type_: Type) -> Cost:
    """``1_A``, the least cost of a type: every bag has one element."""
    match type_:
        case Scalar() | LabelType() | Dict():
            return ONE
        case Record(fields):
            return RecordCost(tuple(bottom(field) for _, field in fields))
        case Bag(element):
            return BagCost(1, bottom(element))
        case _:
            assert_never(type_)


def size(value: Any, type_: Type) -> Cost:
    """``size_A(value)``: multiplicities count by absolute value, an empty bag as one.

    >>> from nestling.calculus.types import STR, record
    >>> genres = ZBag.of(("Comedy", ZBag.of("Carnage")), ("Animation", ZBag.of("Up", "Shrek", "Cars")))
    >>> print(show_cost(size(genres, Bag(record(genre=STR, movies=Bag(STR))))))
    2{⟨1, 3{1}⟩}
    """
    match type_:
        case Scalar() | LabelType() | Dict():
            return ONE
        case Record(fields):
            return RecordCost(tuple(size(v, field) for v, (_, field) in zip(value, fields, strict=True)))
        case Bag(element):
            each = bottom(element)
            for inner in value:
                each = sup(each, size(inner, element))
            return BagCost(max(1, value.size if isinstance(value, ZBag) else len(value)), each)
        case _:
            assert_never(type_)


def symbolic_size(name: str, type_: Type) -> Cost:
    """The size of a relation as a formula: ``|M|``, and ``|M.items|`` for the bags at a path."""
    match type_:
        case Scalar() | LabelType() | Dict():
            return ONE
        case Record(fields):
            return RecordCost(tuple(symbolic_size(f"{name}.{field}", type_) for field, type_ in fields))
        case Bag(element):
            inner = f"{name}.*" if isinstance(element, Bag) else name
            return BagCost(Symbolic.size_of(name), symbolic_size(inner, element))
        case _:
            assert_never(type_)


def sup(left: Cost, right: Cost) -> Cost:
    """The least upper bound."""
    match left, right:
        case RecordCost(a), RecordCost(b):
            return RecordCost(tuple(sup(x, y) for x, y in zip(a, b, strict=True)))
        case BagCost(m, x), BagCost(n, y):
            return BagCost(greater(m, n), sup(x, y))
    return ONE


def less(left: Cost, right: Cost) -> bool:
    """``left ≺ right``: strictly fewer at the top, no more below. Numbers only."""
    match left, right:
        case RecordCost(a), RecordCost(b):
            return all(less(x, y) for x, y in zip(a, b, strict=True))
        case BagCost(int() as m, x), BagCost(int() as n, y):
            return m < n and at_most(x, y)
    return False


def at_most(left: Cost, right: Cost) -> bool:
    """``left ⪯ right``. Numbers only."""
    match left, right:
        case RecordCost(a), RecordCost(b):
            return all(at_most(x, y) for x, y in zip(a, b, strict=True))
        case BagCost(int() as m, x), BagCost(int() as n, y):
            return m <= n and at_most(x, y)
    return True


def tcost(cost: Cost) -> Cardinality:
    """The running time a cost stands for, up to a constant: every element of every level, once.

    >>> print(tcost(BagCost(Symbolic.size_of("M"), RecordCost((ONE, BagCost(Symbolic.size_of("M"), ONE))))))
    |M| + |M|·|M|
    """
    match cost:
        case ScalarCost():
            return 1
        case RecordCost(fields):
            total: Cardinality = 0
            for field in fields:
                total = plus(total, tcost(field))
            # The unit tuple still takes a step to make.
            return total if fields else 1
        case BagCost(count, each):
            return times(count, tcost(each))
        case _:
            assert_never(cost)


def show_cost(cost: Cost) -> str:
    """As the paper writes it: ``n{c}``, and ``{c}`` for ``1{c}``."""
    match cost:
        case ScalarCost():
            return "1"
        case RecordCost(fields):
            return f"⟨{', '.join(map(show_cost, fields))}⟩"
        case BagCost(count, each):
            return f"{'' if count == 1 else _show_count(count)}{{{show_cost(each)}}}"
        case _:
            assert_never(cost)


def _show_count(count: Cardinality) -> str:
    text = str(count)
    return f"({text})" if " + " in text and not text.startswith("max(") else text
