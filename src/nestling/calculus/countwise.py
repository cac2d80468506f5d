"""Count-wise operators: functions of multiplicities, one element at a time.

``f(e₁, …, eₙ)(x) = f(e₁(x), …, eₙ(x))`` with ``f(0, …, 0) = 0``, so the result is finite. They are what
the group structure cannot express: duplicates, difference, emptiness. ``restrict`` keeps its last
argument where any other is non-zero: the support of a change joined with what it touches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nestling.values.bag import ZBag


@dataclass(frozen=True, slots=True)
class Operator:
    """A function of counts; ``arity`` 0 stands for two or more."""

    name: str
    arity: int
    apply: Callable[..., int]


def _restrict(*counts: int) -> int:
    return counts[-1] if any(counts[:-1]) else 0


OPERATORS: dict[str, Operator] = {
    op.name: op
    for op in (
        Operator("distinct", 1, lambda a: int(a > 0)),
        Operator("exists", 1, lambda a: int(a != 0)),
        Operator("clip", 1, lambda a: max(a, 0)),
        Operator("monus", 2, lambda a, b: max(a - b, 0)),
        Operator("min", 2, min),
        Operator("max", 2, max),
        Operator("differ", 2, lambda a, b: int(a != b)),
        Operator("exceed", 2, lambda a, b: int(a > b)),
        Operator("restrict", 0, _restrict),
    )
}


def apply_countwise(operator: str, bags: list[ZBag]) -> ZBag:
    """``x ↦ f(b₁(x), …, bₙ(x))``.

    >>> apply_countwise("monus", [ZBag.of("a", "a", "b"), ZBag.of("a", "c")])
    {'a': 1, 'b': 1}
    """
    f = OPERATORS[operator].apply
    support = {value: None for bag in bags for value in bag}
    return ZBag((value, f(*(bag[value] for bag in bags))) for value in support)
