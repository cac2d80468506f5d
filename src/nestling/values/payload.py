"""Payload rings: what a map keeps per key so that an aggregate can be maintained.

Every payload carries an integer count first: a group exists iff its count is non-zero, never because its
sum is (a group whose values cancel is still a group, and float dust is not one).

``Moments(k)`` is the ring of truncated moments ``(n, Σx, …, Σx^k)``: count and sum for k = 1 (``sum``,
``avg``), and the second moment for k = 2 (``var``, ``stdev``). Its product is chosen such that
``lift(x)·lift(y) = lift(x + y)``, which is what makes a sum distribute over a join.
``Counted`` is the free module on values, ``value ↦ count``: what ``min``, ``max`` and ``count distinct``
need, because they have no inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, TypeAlias

from nestling.values.bag import EMPTY, ZBag

Payload: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class Moments:
    """``(n, s₁, …, s_k)`` with ``(a·b)_j = Σ_i C(j, i)·a_i·b_{j−i}``.

    Law: a commutative ring with ``one = (1, 0, …)``; ``lift`` turns addition of values into product.

    >>> Moments(2).lift(3)
    (1, 3, 9)
    """

    degree: int

    @property
    def zero(self) -> Payload:
        return (0,) * (self.degree + 1)

    @property
    def one(self) -> Payload:
        return (1,) + (0,) * self.degree

    def lift(self, value: Any, times: int = 1) -> Payload:
        powers: list[Any] = [times]
        for _ in range(self.degree):
            powers.append(powers[-1] * value)
        return tuple(powers)

    def add(self, left: Payload, right: Payload) -> Payload:
        return tuple(a + b for a, b in zip(left, right, strict=True))

    def scale(self, payload: Payload, factor: int) -> Payload:
        return tuple(part * factor for part in payload)

    def multiply(self, left: Payload, right: Payload) -> Payload:
        return tuple(
            sum(comb(j, i) * left[i] * right[j - i] for i in range(j + 1)) for j in range(self.degree + 1)
        )


@dataclass(frozen=True)
class Counted:
    """``(n, value ↦ count)``; a Z-module.

    Law: ``add`` is commutative and associative with inverse ``scale(·, −1)``.
    """

    @property
    def zero(self) -> Payload:
        return (0, EMPTY)

    def lift(self, value: Any, times: int = 1) -> Payload:
        return (times, ZBag([(value, times)]))

    def add(self, left: Payload, right: Payload) -> Payload:
        return (left[0] + right[0], left[1] + right[1])

    def scale(self, payload: Payload, factor: int) -> Payload:
        return (payload[0] * factor, payload[1] * factor)


Module: TypeAlias = Moments | Counted


def sum_payloads(module: Module, payloads: Sequence[Payload]) -> Payload:
    """``Σ`` of payloads."""
    total = module.zero
    for payload in payloads:
        total = module.add(total, payload)
    return total
