"""The one NaN of each kind: Python finds a NaN in a dictionary only if it is the same object."""

from __future__ import annotations

from decimal import Decimal

NAN, DECIMAL_NAN = float("nan"), Decimal("NaN")
