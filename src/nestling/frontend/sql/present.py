"""IGNORE NULLS: window functions that look at the rows whose value is there, and count places among them.

::

    lag(x, n) IGNORE NULLS    =   x of the row with place p - n        p: rows with a value before this one
    lead(x, n) IGNORE NULLS   =   x of the row with place q + n - 1    q: these, and this row if it has a value
    first, last, nth          =   x of the rows with places from s to e - 1, where the frame begins and ends

The ``window`` of these functions is over the rows with a value, seen from a row that may have none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nestling.calculus.build import call, const
from nestling.calculus.terms import Const, Term
from nestling.calculus.types import nullable
from nestling.frontend.sql.convert import is_nullable, scalar, scalar_type
from nestling.frontend.sql.frames import frame_of
from nestling.frontend.sql.windows import Window
from nestling.frontend.values import One, Value


def shifted_place(window: Window, name: str, far: int) -> Term:
    """The place of the row that ``lag`` or ``lead`` looks for."""
    before = window.number_before()
    if name == "lag":
        return call("-", before, const(far))
    return call("+", call("+", before, _own(window)), const(far - 1))


def framed_place(window: Window, at: Callable[[Any, Term], Term], from_end: bool, far: int) -> Value:
    """The value at place ``far`` of the frame, counted from its start or its end; ``at`` finds the value at a place."""
    frame = frame_of(window)
    if any(bound.node is not None for bound in (frame.start, frame.end)):
        hint = "write ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW, or another frame of these words"
        raise window.env.error(window.node, "IGNORE NULLS takes no frame that counts rows", hint)
    by_peers = bool(window.ties) and not frame.by_rows
    before = window.number_before(peers_apart=not by_peers) if window.order else const(0)
    start = const(0) if frame.start.unbounded else before
    if frame.end.unbounded:
        end = window.size()
    else:
        end = call("+", before, window.number_of_peers() if by_peers else _own(window))
    wanted = call("-", end, const(1 + far)) if from_end else call("+", start, const(far))
    found = at(window.call.expressions[0], wanted)
    inside = call(">=", wanted, start) if from_end else call("<", wanted, end)
    return One(call("if", inside, found, Const(None, nullable(scalar_type(found)))))


def _own(window: Window) -> Term:
    """1 where the row at hand has a value, and 0 where it has none."""
    value = scalar(window.call.expressions[0], window.here)
    return call("if", call("is_null", value), const(0), const(1)) if is_nullable(value) else const(1)
