"""The linear hash of a bag: a scalar that stands for a bag's contents.

``digest(b) = Σ_v b(v)·h(v)  mod p`` is a group homomorphism, so a delta maintains it, and equal bags have
equal digests. Count-wise operators and grouping on nested values compare digests instead of labels.
"""

from __future__ import annotations

import hashlib
import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from nestling.values.bag import ZBag
from nestling.values.label import Label

#: A Mersenne prime: a modulus of 2^127 would lose the even multiplicities.
PRIME = (1 << 127) - 1


def digest(bag: ZBag) -> int:
    """The hash of ``bag``'s contents.

    Law: ``digest(a + b) = digest(a) + digest(b)  mod p`` and ``digest(n·a) = n·digest(a)  mod p``.
    """
    return sum(times * digest_of(value) for value, times in bag.items()) % PRIME


def digest_of(value: Any) -> int:
    """The hash of one element: equal values have equal hashes, also ``1``, ``1.0`` and ``True``."""
    text = hashlib.blake2b(_canonical(value).encode(), digest_size=16).digest()
    return int.from_bytes(text, "big") % PRIME


def _canonical(value: Any) -> str:
    match value:
        case ZBag():
            return f"bag:{digest(value)}"
        case Label(site, environment):
            return f"label:{site!r}:{_canonical(environment)}"
        case tuple():
            return "(" + ",".join(map(_canonical, value)) + ")"
        case int() | float() | Decimal():
            # Numbers compare across their types, so they hash by what they are: an exact ratio.
            if not math.isfinite(value):
                return f"{float(value)}"
            numerator, denominator = value.as_integer_ratio()
            return f"{numerator}/{denominator}"
        case datetime():
            # Moments compare across their zones, and without regard to fold.
            moment = value if value.utcoffset() is None else value.astimezone(UTC)
            return f"datetime:{moment.replace(fold=0)!r}"
        case _:
            return f"{type(value).__name__}:{value!r}"
