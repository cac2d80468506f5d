"""Payload rings: what a map keeps per key so that an aggregate can be maintained.

Every payload carries an integer count first: a group exists iff its count is non-zero, never because its
sum is (a group whose values cancel is still a group).

``Moments(k)`` is the ring of truncated moments ``(n, Σx, …, Σx^k)``: count and sum for k = 1 (``sum``,
``avg``), and the second moment for k = 2 (``var``, ``stdev``). Its product is chosen such that
``lift(x)·lift(y) = lift(x + y)``, which is what makes a sum distribute over a join.
``Counted`` is the free module on values, ``value ↦ count``: what ``min``, ``max`` and ``count distinct``
need, because they have no inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from math import comb
from typing import Any, TypeAlias

from nestling.values.bag import EMPTY, ZBag
from nestling.values.exact import EXACT, float_units

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
            powers.append(_product(powers[-1], value))
        return tuple(powers)

    def add(self, left: Payload, right: Payload) -> Payload:
        return tuple(_sum(a, b) for a, b in zip(left, right, strict=True))

    def scale(self, payload: Payload, factor: int) -> Payload:
        return tuple(_product(part, factor) for part in payload)

    def multiply(self, left: Payload, right: Payload) -> Payload:
        return tuple(
            reduce(_sum, (_product(comb(j, i), _product(left[i], right[j - i])) for i in range(j + 1)))
            for j in range(self.degree + 1)
        )


# Decimals keep all their digits, whatever the thread's context.


def _sum(left: Any, right: Any) -> Any:
    is_decimal = isinstance(left, Decimal) or isinstance(right, Decimal)
    return EXACT.add(left, right) if is_decimal else left + right


def _product(left: Any, right: Any) -> Any:
    is_decimal = isinstance(left, Decimal) or isinstance(right, Decimal)
    return EXACT.multiply(left, right) if is_decimal else left * right


@dataclass(frozen=True)
class Units(Moments):
    """The moments of floats, as ints: of the ``j``-th power in units of 2⁻¹⁰⁷⁴ʲ.

    Law: that of ``Moments``, exactly; no float is added to another.
    """

    def lift(self, value: Any, times: int = 1) -> Payload:
        return super().lift(float_units(value), times)


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
