"""Frames: which rows of its partition a row looks at.

``ROWS`` counts rows from the row, ``RANGE`` goes by the value of the one key of the order. Without a frame, a
window with an order reaches up to the row and its peers, and one without it over the whole partition.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from sqlglot import exp

from nestling.calculus.build import TRUE, call, const, union
from nestling.calculus.functions import ABSENT
from nestling.calculus.partial import undefined_where
from nestling.calculus.terms import Call, Const, Expr, Term
from nestling.calculus.types import Scalar
from nestling.calculus.typing import element_type
from nestling.frontend.sql.context import SqlEnv, only
from nestling.frontend.sql.convert import is_nullable, scalar, scalar_of, scalar_type
from nestling.frontend.sql.intervals import interval_of
from nestling.frontend.sql.scalars import arithmetic, moved
from nestling.frontend.sql.windows import Window, first_of
from nestling.frontend.values import One


@dataclass(frozen=True)
class FrameBound:
    """An end of a frame: the row itself, the end of the partition, or so far before or after the row."""

    node: Any = None  # how far: a number or an interval
    forward: bool = False
    unbounded: bool = False

    @property
    def is_row(self) -> bool:
        return self.node is None and not self.unbounded

    @property
    def rows(self) -> int:
        """How many rows after the row."""
        return (1 if self.forward else -1) * int(self.node.this) if self.node is not None else 0


#: The first and the last value of a type that has them: a frame reaches no farther.
_ENDS = {"date": (date.min, date.max), "datetime": (datetime.min, datetime.max)}
HERE, FIRST, LAST = FrameBound(), FrameBound(unbounded=True), FrameBound(forward=True, unbounded=True)


@dataclass(frozen=True)
class Frame:
    """From ``start`` to ``end``, by places or by values."""

    by_rows: bool
    start: FrameBound
    end: FrameBound

    @property
    def holds_row(self) -> bool:
        """Whether a row is always in its own frame."""
        ahead = self.start.node is not None and self.start.forward
        behind = self.end.node is not None and not self.end.forward
        return not ahead and not behind


def frame_of(window: Window) -> Frame:
    """The frame that ``window`` says, or the one it has without saying."""
    spec, env = window.node.args.get("spec"), window.env
    if spec is None:
        return Frame(False, FIRST, HERE if window.order else LAST)
    only(spec, env, "kind", "start", "start_side", "end", "end_side", what="a frame")
    by_rows = str(spec.args.get("kind")).upper() == "ROWS"
    start = _bound(spec.args.get("start"), spec.args.get("start_side"), by_rows, window)
    end = _bound(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"), by_rows, window)
    frame = Frame(by_rows, start, end)
    whole = start.unbounded and end.unbounded
    if start == LAST or end == FIRST:
        raise env.error(window.node, "this frame is empty", "it goes from PRECEDING to FOLLOWING")
    if not window.order and not whole:
        raise env.error(window.node, "a frame needs an order", "write OVER (… ORDER BY … ROWS …)")
    if not by_rows and (start.node is not None or end.node is not None) and len(window.order) != 1:
        raise env.error(window.node, "RANGE goes by one key", "order by one column, or write ROWS")
    return frame


def _bound(end: Any, side: Any, by_rows: bool, window: Window) -> FrameBound:
    forward = str(side or "").upper() == "FOLLOWING"
    word = str(end).upper() if isinstance(end, str) else ""
    if word == "UNBOUNDED":
        return LAST if forward else FIRST
    if word == "CURRENT ROW":
        return HERE
    if by_rows and not (isinstance(end, exp.Literal) and str(end.this).isdigit()):
        raise window.env.error(window.node, "ROWS takes a number", "write ROWS BETWEEN 2 PRECEDING AND …")
    if by_rows and not int(end.this):
        return HERE
    return FrameBound(end, forward)


def framed(window: Window, frame: Frame, body: Any) -> Expr:
    """``body`` for each row of the frame."""
    start, end = frame.start, frame.end
    by_value = not frame.by_rows and (start.node is not None or end.node is not None)
    if window.order and not by_value and (frame.by_rows or len(window.keys) > 1):
        # Peers have the same number of rows before them: of several keys, one number is the place of all.
        place = window.number_before()
        tests = [] if start.unbounded else [(">=", start.rows)]
        tests += [] if end.unbounded else [("<=", end.rows)]

        def by_place(other: Term) -> Term:
            return _all([call(sign, other, call("+", place, const(n))) for sign, n in tests])

        return window.each_placed(by_place, body)

    def test(there: SqlEnv) -> Term:
        return _all([*_after(window, start, there), *_until(window, end, there)])

    return window.each(test, body)


def framed_apart(window: Window, frame: Frame, body: Any) -> tuple[Term, Expr, Expr] | None:
    """Whether the key of the row is NULL, and ``body`` for each row of the frame where it is, and where it is not.

    RANGE over a key that may be NULL: the frame of a row without it are the rows without it, and the others if it
    reaches to where they are; of a row with it, rows within bounds, and the rows without it if it reaches to those.
    Each is found by itself, where one test for all would not be.
    """
    start, end = frame.start, frame.end
    if frame.by_rows or (start.node is None and end.node is None):
        return None
    (part,) = window.order
    ours = scalar(part.this, window.here)
    if not is_nullable(ours):
        return None
    nulls_first, element = bool(part.args.get("nulls_first")), element_type(body(window.here))

    def is_absent(there: SqlEnv) -> Term:
        return call("is_null", scalar(part.this, there))

    def is_present(there: SqlEnv) -> Term:
        return call("not", is_absent(there))

    def within(there: SqlEnv) -> Term:
        theirs, down = scalar(part.this, there), bool(part.args.get("desc"))
        tests = [is_present(there)]
        for bound, sign, away in (
            (start, "<=" if down else ">=", not start.forward), (end, ">=" if down else "<=", end.forward),
        ):  # fmt: skip
            if not bound.unbounded:
                tests.append(call(sign, theirs, ours if bound.is_row else _moved(window, bound, away)))
        return _all(tests)

    nulls = window.each(is_absent, body)
    reaches_nulls = start.unbounded if nulls_first else end.unbounded
    reaches_rest = end.unbounded if nulls_first else start.unbounded
    absent = union(element, nulls, *([window.each(is_present, body)] if reaches_rest else []))
    present = union(element, window.each(within, body), *([nulls] if reaches_nulls else []))
    return call("is_null", ours), absent, present


def _all(tests: list[Term]) -> Term:
    found = tests[0] if tests else TRUE
    for test in tests[1:]:
        found = call("and", found, test)
    return found


def _after(window: Window, start: FrameBound, there: SqlEnv) -> list[Term]:
    """That a row is not before the start."""
    if start.unbounded:
        return []
    if start.is_row:
        return [call("not", window.before(there, False))]
    (part,) = window.order
    return [
        call("not", first_of(part, scalar(part.this, there), _moved(window, start, not start.forward), False))
    ]


def _until(window: Window, end: FrameBound, there: SqlEnv) -> list[Term]:
    """That a row is not after the end."""
    if end.unbounded:
        return []
    if end.is_row:
        return [window.before(there, True)]
    (part,) = window.order
    return [call("not", first_of(part, _moved(window, end, end.forward), scalar(part.this, there), False))]


def _moved(window: Window, bound: FrameBound, outward: bool) -> Term:
    """The key of the row, moved by what the frame says; a descending order runs the other way.

    ``outward``: whether a start lies before the row, or an end after it.
    """
    (part,) = window.order
    env, ours = window.env, scalar(part.this, window.here)
    sign = "+" if bound.forward != bool(part.args.get("desc")) else "-"
    span = interval_of(bound.node, env)
    if span is not None:
        ahead = span >= 0 if isinstance(span, int) else span >= timedelta()
        return _reached(moved(ours, span, sign, bound.node, env), sign, outward and ahead)
    far = env.value(bound.node)
    if not isinstance(far, One) or not isinstance(far.term, Const):
        raise env.error(
            window.node, "RANGE takes a number or an INTERVAL", "write RANGE BETWEEN 2 PRECEDING AND …"
        )
    place = scalar_of(arithmetic(sign, One(ours), far, window.node, env), window.node, env)
    return _reached(place, sign, outward and far.term.value is not None and far.term.value >= 0)


def _reached(place: Term, sign: str, outward: bool) -> Term:
    """``place``, or the last day or moment there is where it is beyond: an end that is ``outward`` of the row has all.

    The other ends have none then, and no value says so: there ``place`` is left without one.
    """
    type_ = scalar_type(place)
    has_end = outward and type_.name in _ENDS
    if not has_end or not isinstance(place, Call) or undefined_where(place) is None:
        return place
    first, last = _ENDS[type_.name]
    end = Const(last if sign == "+" else first, Scalar(type_.name))
    return call(f"some_{ABSENT.get(place.function, place.function)}", end, *place.args)
