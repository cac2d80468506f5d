"""The functions of windows: ranks, rows at a position, and aggregates over a frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sqlglot import exp

from nestling.calculus.build import call, const
from nestling.calculus.terms import Const, Expr, Term
from nestling.calculus.types import NUMERIC, Scalar, nullable
from nestling.calculus.typing import element_type, term_type
from nestling.frontend.sql.aggregates import Folds, is_aggregate, read_call
from nestling.frontend.sql.context import YES, SqlEnv, where
from nestling.frontend.sql.convert import (
    alike,
    is_nullable,
    scalar,
    scalar_of,
    scalar_type,
    without_null,
)
from nestling.frontend.sql.frames import FIRST, HERE, LAST, Frame, frame_of, framed, framed_apart
from nestling.frontend.sql.present import framed_place, shifted_place
from nestling.frontend.sql.tables import row_of
from nestling.frontend.sql.windows import Window
from nestling.frontend.values import One, Value, as_term, singleton


def value_of(window: Window) -> Value:
    """What the window function comes to for the row at hand."""
    name = window.call.name.lower() if isinstance(window.call, exp.Anonymous) else ""
    if name in _RANKS:
        _check_rank(window, name)
        return One(_RANKS[name](window))
    if name in _PLACES:
        return _PLACES[name](window)
    if is_aggregate(window.call):
        return _aggregate(window)
    hint = f"{', '.join((*_RANKS, *_PLACES))} and aggregates are"
    raise window.env.error(
        window.node, f"the window function {name or window.call.key} is not supported", hint
    )


def _check_rank(window: Window, name: str) -> None:
    wanted = 1 if name == "ntile" else 0
    if not window.order or window.node.args.get("spec") is not None or len(window.call.expressions) != wanted:
        raise window.env.error(window.node, f"{name}() needs OVER (… ORDER BY …)", "say what comes first")


def _row_number(window: Window) -> Term:
    return _rank(window)


def _rank(window: Window) -> Term:
    return call("+", window.number_before(), const(1))


def _dense_rank(window: Window) -> Term:
    return call("+", window.keys_before(), const(1))


def _percent_rank(window: Window) -> Term:
    """``(rank - 1) / (rows - 1)``; of one row 0."""
    others = call("-", window.size(), const(1))
    share = call("/", window.number_before(), others)
    return call("if", call("==", others, const(0)), Const(0.0, Scalar("float")), share)


def _cume_dist(window: Window) -> Term:
    until = framed(window, Frame(False, FIRST, HERE), lambda there: YES)
    size = window.size()
    share = call("/", window.env.run.fold("count", until), size)
    return call("if", call("==", size, const(0)), Const(0.0, Scalar("float")), share)


def _ntile(window: Window) -> Term:
    """Parts of equal size, the first of them one larger where that does not come out even."""
    parts = const(_number(window, window.call.expressions[0], "ntile"))
    size, place = window.size(), window.number_before()
    small, larger = call("quotient", size, parts), call("remainder", size, parts)
    big = call("+", small, const(1))
    edge = call("*", larger, big)
    early = call("quotient", place, big)
    late = call("+", larger, call("quotient", call("-", place, edge), small))
    found = call("if", call("==", small, const(0)), place, call("if", call("<", place, edge), early, late))
    return call("+", found, const(1))


_WRITTEN = {"ntile": "ntile(4)", "nth_value": "nth_value(x, 2)"}


def _number(window: Window, node: Any, name: str) -> int:
    if not isinstance(node, exp.Literal) or not str(node.this).isdigit() or not int(node.this):
        raise window.env.error(window.node, f"{name} takes a positive number", f"write {_WRITTEN[name]}")
    return int(node.this)


def _offset(window: Window, node: Any, name: str) -> int:
    """How many rows away: a number that is written out; a negative one goes the other way."""
    try:
        return int(node.sql())
    except ValueError:
        raise window.env.error(
            window.node, f"{name} goes a fixed number of rows", f"write the number: {name}(x, 2)"
        ) from None


_RANKS: dict[str, Callable[[Window], Term]] = {
    "rank": _rank, "dense_rank": _dense_rank, "row_number": _row_number, "percent_rank": _percent_rank,
    "cume_dist": _cume_dist, "ntile": _ntile,
}  # fmt: skip


def _shifted(sign: str) -> Callable[[Window], Value]:
    """``lag(x, n, default)`` and ``lead(x, n, default)``: the value so many rows before or after."""

    def build(window: Window) -> Value:
        name, args = window.call.name.lower(), window.call.expressions
        if not window.order or window.node.args.get("spec") is not None or not 1 <= len(args) <= 3:
            raise window.env.error(
                window.node, f"{name}(…) needs OVER (… ORDER BY …)", "say what comes first"
            )
        far = _offset(window, args[1], name) if len(args) > 1 else 1
        if far == 0:
            return One(scalar(args[0], window.here))
        if window.ignores_nulls:
            away, way = abs(far), name if far > 0 else {"lag": "lead", "lead": "lag"}[name]
            test = _at_place(shifted_place(window, way, away))
        else:
            test = _at_place(call(sign, window.number_before(), const(far)))

        found = _at(window, args[0], test)
        if len(args) < 3:
            return One(found)
        there = window.env.run.fold("count", window.each_placed(test, lambda _: YES))
        default = window.here.value(args[2])
        value, other = (
            scalar_of(v, args[2], window.env) for v in alike([One(found), default], args[2], window.env)
        )
        return One(call("if", call("==", there, const(0)), other, value))

    return build


def _at_place(wanted: Term) -> Callable[[Term], Term]:
    # An equation of two counts cannot be looked up, a range of one can.
    return lambda place: call("and", call(">=", place, wanted), call("<=", place, wanted))


def _at(window: Window, node: Any, test: Callable[[Term], Term]) -> Term:
    """The value of ``node`` in the row whose place passes ``test``; null where there is none."""

    def value(there: SqlEnv) -> Expr:
        term = scalar(node, there)
        found = singleton(without_null(One(term)), window.env.run.site)
        return where(call("not", call("is_null", term)), found) if is_nullable(term) else found

    # There is one such row at most: the sum of its values is its value, and the greatest of them.
    run, values = window.env.run, window.each_placed(test, value)
    element = element_type(values)
    assert isinstance(element, Scalar)
    if element.name not in NUMERIC:
        return run.fold("max", values)
    number, total = run.fold("count", values), run.fold("sum", values)
    null = Const(None, nullable(element))
    return call("if", call("==", number, const(0)), null, call("nullable", replace(total, type=element)))


def _first_value(window: Window) -> Value:
    """``first_value(x)`` of the frame."""
    frame = _frame(window, 1)
    return _present(window, False, 0) if window.ignores_nulls else _nth(window, frame, 0)


def _nth_value(window: Window) -> Value:
    """``nth_value(x, n)`` of the frame."""
    frame = _frame(window, 2)
    far = _number(window, window.call.expressions[1], "nth_value") - 1
    return _present(window, False, far) if window.ignores_nulls else _nth(window, frame, far)


def _present(window: Window, from_end: bool, far: int) -> Value:
    return framed_place(window, lambda node, place: _at(window, node, _at_place(place)), from_end, far)


def _nth(window: Window, frame: Frame, far: int) -> Value:
    node = window.call.expressions[0]
    if frame.start.is_row and frame.holds_row and not far and not _has_peers(window, frame):
        return One(scalar(node, window.here))
    wanted = call("+", _start(window, frame), const(far)) if not frame.start.unbounded else const(far)
    found = _at(window, node, _at_place(wanted))
    if frame.end.unbounded:
        return One(found)
    return _inside(window, found, call("<=", wanted, _stop(window, frame)))


def _last_value(window: Window) -> Value:
    """``last_value(x)`` of the frame."""
    frame, node = _frame(window, 1), window.call.expressions[0]
    if window.ignores_nulls:
        return _present(window, True, 0)
    if frame.end.is_row and frame.holds_row and not _has_peers(window, frame):
        return One(scalar(node, window.here))
    size = window.size()
    if frame.end.unbounded:
        found = _at(window, node, _at_place(call("-", size, const(1))))
        if frame.start.unbounded:
            return One(found)
        return _inside(window, found, call("<", _start(window, frame), size))
    end, last = _stop(window, frame), call("-", size, const(1))
    wanted = call("if", call(">", end, last), last, end)
    found = _at(window, node, _at_place(wanted))
    return _inside(window, found, call("<=", _start(window, frame), wanted))


def _frame(window: Window, arguments: int) -> Frame:
    name = window.call.name.lower()
    if len(window.call.expressions) != arguments:
        raise window.env.error(window.node, f"{name} takes {arguments} argument{'s' * (arguments > 1)}")
    frame = frame_of(window)
    if not frame.by_rows and (frame.start.node is not None or frame.end.node is not None):
        raise window.env.error(window.node, f"{name} by RANGE is not supported", "write a frame of ROWS")
    return frame


def _start(window: Window, frame: Frame) -> Term:
    """The place of the first row of the frame."""
    if frame.start.unbounded:
        return const(0)
    if _has_peers(window, frame):
        return window.number_before(peers_apart=False)
    start = call("+", window.number_before(), const(frame.start.rows))
    return call("if", call("<", start, const(0)), const(0), start)


def _stop(window: Window, frame: Frame) -> Term:
    """The place up to which the frame reaches; it may lie behind the last row."""
    if _has_peers(window, frame):
        return call(
            "-", call("+", window.number_before(peers_apart=False), window.number_of_peers()), const(1)
        )
    return call("+", window.number_before(), const(frame.end.rows))


def _has_peers(window: Window, frame: Frame) -> bool:
    """Whether the frame goes by values that several rows may share."""
    return bool(window.ties) and not frame.by_rows


def _inside(window: Window, found: Term, test: Term) -> Value:
    """``found``, if it is in the frame."""
    return One(call("if", test, found, Const(None, nullable(scalar_type(found)))))


_PLACES: dict[str, Callable[[Window], Value]] = {
    "lag": _shifted("-"), "lead": _shifted("+"), "first_value": _first_value, "first": _first_value,
    "last_value": _last_value, "last": _last_value, "nth_value": _nth_value,
}  # fmt: skip


def _aggregate(window: Window) -> Value:
    frame, parts = frame_of(window), []

    def element(there: SqlEnv) -> Expr:
        aggregate = read_call(window.call, there)
        parts.append(aggregate)
        value = [("a", aggregate.value)] if aggregate.value is not None else []
        test: list[tuple[str, Value]] = [("f", One(aggregate.filter))] if aggregate.filter is not None else []
        return singleton(row_of([*value, *test]), window.env.run.site)

    def folded(rows: Expr) -> Value:
        bag = window.env.run.let("frame", rows)
        folds = Folds(bag, frame.holds_row, window.node, window.env)
        return folds.value(parts[-1], "a", "f" if parts[-1].filter is not None else "")

    def whole() -> Term:
        value = folded(framed(window, Frame(False, FIRST, LAST), element))
        return scalar_of(value, window.node, window.env)

    if (own := _by_its_order(window, frame, whole)) is not None:
        return own
    apart = framed_apart(window, frame, element) if _is_counted(window.call) else None
    if apart is None:
        return folded(framed(window, frame, element))
    is_null, *cases = apart
    values = alike([folded(rows) for rows in cases], window.node, window.env)
    return One(call("if", is_null, *(scalar_of(value, window.node, window.env) for value in values)))


def _by_its_order(window: Window, frame: Frame, whole: Callable[[], Term]) -> Value | None:
    """``min(x)`` or ``max(x)`` up to the row, in the order of ``x``: that of the row, or of the ``whole`` partition.

    In ascending order the row has the greatest so far, and the least of all is among those before it; where ``x`` is
    NULL, there are nulls alone before it, or all that are not.
    """
    call_, name = window.call, str(window.call.name).lower()
    if frame.start != FIRST or not frame.end.is_row or len(window.order) != 1:
        return None
    (part,) = window.order
    if (
        name not in ("min", "max")
        or call_.expressions != [part.this]
        or isinstance(window.node.this, exp.Filter)
    ):
        return None
    ours = as_term(window.here.value(part.this))
    if ours is None or not isinstance(type_ := term_type(ours), Scalar):
        return None
    is_own = (name == "max") != bool(part.args.get("desc"))
    if not type_.nullable:
        return One(ours if is_own else whole())
    absent = Const(None, type_) if part.args.get("nulls_first") else whole()
    return One(call("if", call("is_null", ours), absent, ours if is_own else whole()))


def _is_counted(node: Any) -> bool:
    """Whether an aggregate is a scalar that is added up: what is not would be evaluated on read all the same."""
    name = node.name if isinstance(node, exp.Anonymous) else node.key
    return str(name).lower() in ("count", "sum", "avg", "mean", "count_if")
