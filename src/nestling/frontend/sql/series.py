"""Arrays that a scalar makes: ``sequence`` and ``split``.

Each is ``numbers`` (``calculus/functions``) up to a term, with an element for each. It is in order, and null where
an argument is.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from nestling.calculus import standard
from nestling.calculus.build import call, conjunction, const, elements, for_
from nestling.calculus.library.texts import compiled
from nestling.calculus.lists import list_type
from nestling.calculus.optional import ITEMS, THERE
from nestling.calculus.terms import Const, Term
from nestling.calculus.types import INT, STR
from nestling.frontend.sql.context import SqlEnv, where
from nestling.frontend.sql.convert import (
    as_text,
    is_nullable,
    is_text,
    null_of,
    operands,
    scalar_of,
    scalar_type,
    without_null,
)
from nestling.frontend.sql.intervals import interval_of
from nestling.frontend.sql.positions import entry
from nestling.frontend.sql.values import shown
from nestling.frontend.values import Many, Null, One, Row, Value

DAY = timedelta(days=1)
MICROSECOND = timedelta(microseconds=1)


def numbered(count: Term, item: Callable[[Term], Value], env: SqlEnv) -> Many:
    """The array of ``item(i)`` for each number ``i`` below ``count``."""
    source = elements(call("numbers", count))
    var = env.run.var("i", source)
    return Many(for_(var, source, env.run.enclosed(lambda: entry(var, item(var), env))))


def of_sequence(node: Any, env: SqlEnv) -> Value:
    """``sequence(start, stop)``, ``sequence(start, stop, step)``."""
    parts = node.expressions
    if not 2 <= len(parts) <= 3:
        raise env.error(node, f"sequence takes a start, a stop and a step, not {len(parts)} arguments")
    span = interval_of(parts[2], env) if len(parts) == 3 else None
    values = [env.value(part) for part in (parts if span is None else parts[:2])]
    if any(isinstance(value, Null) for value in values):
        ends = [scalar_type(scalar_of(value, node, env)) for value in values if isinstance(value, One)]
        return null_of(list_type(ends[0] if ends else INT), node, env)
    terms = operands(values[:2], node, env)
    kind = scalar_type(terms[0]).name
    if kind == "int" and span is None:
        step = scalar_of(values[2], parts[2], env) if len(parts) == 3 else None
        if step is None or scalar_type(step).name == "int":
            return _whole(terms, step, env)
    if kind in ("date", "datetime") and (span is not None or len(parts) == 2):
        return _moments(terms, DAY if span is None else span, span is None, node, env)
    given = ", ".join(shown(value) for value in values) + (", INTERVAL" if span is not None else "")
    hint = "take whole numbers, or moments with a step that is written out: INTERVAL '1' DAY"
    raise env.error(node, f"sequence of {given} is not supported", hint)


def _whole(terms: list[Term], step: Term | None, env: SqlEnv) -> Value:
    def items(solid: list[Term]) -> Many:
        start, stop, by = (*solid, _one(*solid))[:3]
        size = call("sequence_size", start, stop, by)
        return numbered(size, lambda i: One(call("+", start, call("*", i, by))), env)

    return of_solid([*terms, *([step] if step is not None else [])], items)


def _one(start: Term, stop: Term, *_: Term) -> Term:
    """The step that leads from ``start`` to ``stop``."""
    return call("if", call("<=", start, stop), const(1), const(-1))


def _moments(terms: list[Term], span: int | timedelta, is_open: bool, node: Any, env: SqlEnv) -> Value:
    """Moments by months or by a span; ``is_open``: in the direction in which they lie."""
    is_date = scalar_type(terms[0]).name == "date"
    if isinstance(span, timedelta) and is_date and span % DAY:
        raise env.error(node, "DATEs come by whole days", "take TIMESTAMPs: CAST(… AS TIMESTAMP)")

    def items(solid: list[Term]) -> Many:
        start, stop = solid
        if isinstance(span, int):
            ends = [call("to_datetime", at) for at in solid] if is_date else solid
            size = call("months_size", *ends, const(span))
            return numbered(size, lambda i: One(call("add_months", start, call("*", i, const(span)))), env)
        apart = call("-", *(call("unix_micros", at) for at in (stop, start)))
        if is_date:
            apart = call("days_between", stop, start)
        by: Term = const(span // (DAY if is_date else MICROSECOND))
        if is_open:
            by = call("*", by, _one(start, stop))
        move = "add_days" if is_date else "shifted"
        size = call("sequence_size", const(0), apart, by)
        return numbered(size, lambda i: One(call(move, start, call("*", i, by))), env)

    return of_solid(terms, items)


def of_split(node: Any, env: SqlEnv) -> Value:
    """``split(text, pattern)``, ``split(text, pattern, limit)``."""
    parts = node.expressions
    if not 2 <= len(parts) <= 3:
        raise env.error(node, f"split takes a text, a pattern and a limit, not {len(parts)} arguments")
    text, pattern, limit = (*(env.value(part) for part in parts), One(const(-1)))[:3]
    if isinstance(text, Null):
        return null_of(list_type(STR), node, env)
    if not is_text(pattern) or not (isinstance(limit, One) and isinstance(limit.term, Const)):
        what = "split takes a pattern and a limit that are written out"
        raise env.error(
            node, what, "write split(text, ','); split_part takes any text: split_part(text, by, 1)"
        )
    assert isinstance(pattern, One) and isinstance(pattern.term, Const)
    try:
        found = const(standard.java_pattern(pattern.term.value))
    except ValueError as error:
        raise env.error(node, str(error), "write it with classes, groups and quantifiers") from None
    if found.value and compiled(found.value).match(""):
        # Of a character beyond 16 bits Spark's halves part there.
        what = f"split at '{pattern.term.value}' may find nothing, and Spark then parts within characters"
        raise env.error(node, what, "write '' for every character, or what has at least one: 'x+' for 'x*'")
    bound, term = limit.term, as_text(scalar_of(text, parts[0], env), parts[0], env, "split")

    def items(solid: list[Term]) -> Many:
        (whole,) = solid
        size = call("split_size", whole, found, bound)
        return numbered(size, lambda i: One(call("split_at", whole, found, bound, i)), env)

    return of_solid([term], items)


def of_solid(terms: list[Term], items: Callable[[list[Term]], Many]) -> Value:
    """The array that ``items`` makes of terms that are not null; null where one is."""
    nulls = [call("not", call("is_null", term)) for term in terms if is_nullable(term)]
    if not nulls:
        return items(terms)
    solid = [found.term for found in map(without_null, map(One, terms)) if isinstance(found, One)]
    flag = conjunction(nulls)
    return Row(((THERE, One(flag)), (ITEMS, Many(where(flag, items(solid).expr)))))


SERIES: dict[str, Callable[[Any, SqlEnv], Value]] = {"sequence": of_sequence, "split": of_split}
