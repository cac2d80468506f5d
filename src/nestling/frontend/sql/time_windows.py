"""Windows of time as keys of GROUP BY: hopping windows and sessions are short for something else.

::

    GROUP BY window(t, size, slide)     a row is in every window that holds it: its own by the slide, and those before
    GROUP BY k, session_window(t, gap)  a session goes on while the next row comes within the gap; its rows are numbered
                                        by how many sessions of ``k`` have begun until then

Rows whose time is NULL are in none. What is written out consists of counts within bounds, which are maintained.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from nestling.frontend.sql.context import SqlEnv

_SECONDS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_STEP, _TIME, _NUMBER = "·step", "·time", "·session"
#: What moves a time back, as a function of no text.
EARLIER = "·earlier"


def length(text: str) -> int:
    """The microseconds of ``'1 hour 30 minutes'``; 0 where it is none.

    >>> length("1 hour 30 minutes"), length("soon")
    (5400000000, 0)
    """
    words, total = text.lower().removeprefix("interval ").split(), 0
    if len(words) % 2:
        return 0
    for number, word in zip(words[::2], words[1::2], strict=True):
        unit = _SECONDS.get(word.removesuffix("s"), 0)
        if not number.isdigit() or not unit:
            return 0
        total += int(number) * unit
    return total * 1_000_000


def with_time_windows(node: Any, env: SqlEnv) -> Any:
    """``node`` with windows of time written out; the same node where it has none."""
    group = node.args.get("group")
    keys = group.expressions if group is not None else ()
    if any(_is_call(key, "session_window") for key in keys):
        return _with_session(node, env)
    if any(_is_call(key, "window") and len(key.expressions) == 3 for key in keys):
        return _with_hops(node, env)
    plain = [key for key in keys if _is_call(key, "window") and key.expressions]
    if not plain:
        return node
    found = node.copy()
    _and_where(found, [_present(key.expressions[0]) for key in plain])
    return found


def _is_call(node: Any, name: str) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() == name


def _seconds(node: Any, call: Any, env: SqlEnv) -> int:
    """The seconds of a length that is written out."""
    micros = length(str(node.this)) if isinstance(node, exp.Literal) and node.is_string else 0
    if not micros:
        raise env.error(
            call, f"a length of {call.name} is written out", "write '10 minutes', '1 hour 30 minutes'"
        )
    return micros // 1_000_000


def _interval(seconds: int) -> Any:
    return exp.Interval(this=exp.Literal.string(str(seconds)), unit=exp.Var(this="SECOND"))


def _micros(seconds: int) -> Any:
    number = exp.Literal.number(str(abs(seconds) * 1_000_000))
    return exp.Neg(this=number) if seconds < 0 else number


def _hidden(name: str, table: str = "") -> Any:
    return exp.column(exp.to_identifier(name), table=exp.to_identifier(table) if table else None)


# -- windows that overlap


def _with_hops(node: Any, env: SqlEnv) -> Any:
    """``window(t, size, slide)`` as ``window(t, size, slide, step)``, for each step back of a slide."""
    found = node.copy()
    (call, *others) = [
        key
        for key in found.args["group"].expressions
        if _is_call(key, "window") and len(key.expressions) == 3
    ]
    if others:
        raise env.error(node, "GROUP BY takes one window of time", "group by one of them")
    moment = call.expressions[0]
    size, slide = (_seconds(part, call, env) for part in call.expressions[1:])
    if slide > size:
        raise env.error(call, "windows overlap or follow each other", "write a slide that is not longer")
    steps = [exp.Tuple(expressions=[_micros(-i * slide)]) for i in range(-(-size // slide))]
    alias = exp.TableAlias(this=exp.to_identifier("·hops"), columns=[exp.to_identifier(_STEP)])
    joins = [
        *(found.args.get("joins") or ()),
        exp.Join(this=exp.Values(expressions=steps, alias=alias), kind="CROSS"),
    ]
    found.set("joins", joins)
    tests = [_present(moment)]
    if size % slide:
        end = exp.Dot(this=_hop(call), expression=exp.to_identifier("end"))
        tests.append(exp.GT(this=end, expression=moment.copy()))
    _and_where(found, tests)
    for part in list(found.find_all(exp.Anonymous)):
        if _is_call(part, "window") and len(part.expressions) == 3:
            part.append("expressions", _hidden(_STEP, "·hops"))
    return found


def _hop(call: Any) -> Any:
    found = call.copy()
    found.append("expressions", _hidden(_STEP, "·hops"))
    return found


def _present(moment: Any) -> Any:
    return exp.Not(this=exp.Is(this=moment.copy(), expression=exp.Null()))


def _and_where(select: Any, tests: list[Any]) -> None:
    where = select.args.get("where")
    found = exp.Paren(this=where.this) if where is not None else None
    for test in tests:
        found = test if found is None else exp.And(this=found, expression=test)
    select.set("where", exp.Where(this=found))


# -- sessions


def _with_session(node: Any, env: SqlEnv) -> Any:
    """Each row with the number of its session, and groups by that number."""
    found = node.copy()
    keys = found.args["group"].expressions
    (call, *others) = [key for key in keys if _is_call(key, "session_window")]
    if others or len(call.expressions) != 2:
        raise env.error(
            node, "session_window takes a timestamp and a gap, once", "write session_window(t, '5 minutes')"
        )
    source = found.args["from_"].this if found.args.get("from_") is not None else None
    if source is None or found.args.get("joins") or found.args.get("laterals"):
        hint = "write the rest as FROM (SELECT … JOIN …) AS t"
        raise env.error(node, "session_window groups the rows of one table", hint)
    gap, moment = _seconds(call.expressions[1], call, env), call.expressions[0]
    partition = [_written(key, found) for key in keys if key is not call]
    table = source.alias_or_name or "·rows"
    if not source.alias:
        source.set("alias", exp.TableAlias(this=exp.to_identifier(table)))
    numbered = _numbered(found, source, table, partition, moment, gap)
    found.set("from_", exp.From(this=numbered))
    found.set("where", None)
    start = exp.Anonymous(this="min", expressions=[_hidden(_TIME, table)])
    end = exp.Add(
        this=exp.Anonymous(this="max", expressions=[_hidden(_TIME, table)]), expression=_interval(gap)
    )
    _replace_session(found, start, end, env)
    others = [key for key in keys if key is not call]
    found.args["group"].set("expressions", [*others, _hidden(_NUMBER, table)])
    return found


def _written(key: Any, select: Any) -> Any:
    """A key of GROUP BY that is a place or a name in the select list, as what stands there."""
    if isinstance(key, exp.Literal) and not key.is_string and str(key.this).isdigit():
        item = select.expressions[int(key.this) - 1] if int(key.this) <= len(select.expressions) else key
        return item.unalias()
    if isinstance(key, exp.Column) and len(key.parts) == 1:
        for item in select.expressions:
            if isinstance(item, exp.Alias) and item.alias.lower() == key.name.lower():
                return item.this
    return key


def _numbered(select: Any, source: Any, table: str, partition: list[Any], moment: Any, gap: int) -> Any:
    """The rows of ``source`` where WHERE holds, each with its time and the number of its session."""
    keys = [f"·key{i}" for i in range(len(partition))]
    epoch = exp.Cast(this=exp.Literal.string("1970-01-01 00:00:00"), to=exp.DataType.build("timestamp"))
    time = exp.Anonymous(this="coalesce", expressions=[moment.copy(), epoch])
    named = [_as(part.copy(), key) for part, key in zip(partition, keys, strict=True)]
    timed = _select([_star(table), *named, _as(time, _TIME)], source.copy(), [])
    if select.args.get("where") is not None:
        timed.set("where", select.args["where"].copy())
    _and_where(timed, [_present(moment)])

    def alike(one: str, other: str) -> list[Any]:
        return [exp.NullSafeEQ(this=_hidden(key, one), expression=_hidden(key, other)) for key in keys]

    before = exp.LT(this=_hidden(_TIME, "·b"), expression=_hidden(_TIME, "·a"))
    earliest = exp.Anonymous(this=EARLIER, expressions=[_hidden(_TIME, "·a"), _micros(gap)])
    within = exp.GTE(this=_hidden(_TIME, "·b"), expression=earliest)
    near = _select([exp.Literal.number(1)], _named(timed, "·b"), [*alike("·b", "·a"), before, within])
    columns = [_hidden(name, "·a") for name in (*keys, _TIME)]
    begins = _select(columns, _named(timed, "·a"), [exp.Not(this=exp.Exists(this=near))])
    begins.set("distinct", exp.Distinct())
    until = exp.LTE(this=_hidden(_TIME, "·s"), expression=_hidden(_TIME, table))
    rows = exp.Anonymous(this="count", expressions=[exp.Star()])
    number = _select([rows], _named(begins, "·s"), [*alike("·s", table), until])
    return _named(
        _select([_star(table), _as(exp.Subquery(this=number), _NUMBER)], _named(timed, table), []), table
    )


def _select(items: list[Any], source: Any, tests: list[Any]) -> Any:
    found = exp.Select(expressions=items, from_=exp.From(this=source))
    if tests:
        _and_where(found, tests)
    return found


def _star(table: str) -> Any:
    return exp.Column(this=exp.Star(), table=exp.to_identifier(table))


def _as(node: Any, name: str) -> Any:
    return exp.Alias(this=node, alias=exp.to_identifier(name))


def _named(query: Any, table: str) -> Any:
    return exp.Subquery(this=query.copy(), alias=exp.TableAlias(this=exp.to_identifier(table)))


def _replace_session(select: Any, start: Any, end: Any, env: SqlEnv) -> None:
    """``session_window.start`` and the rest by what they are; not inside FROM."""
    struct = exp.Anonymous(
        this="named_struct",
        expressions=[exp.Literal.string("start"), start.copy(), exp.Literal.string("end"), end.copy()],
    )
    ends = {"start": start, "end": end}
    for place in ("expressions", "having", "order"):
        part = select.args.get(place)
        roots = part if isinstance(part, list) else [part] if part is not None else []
        for node in [node for root in roots for node in root.walk()]:
            if _is_end(node):
                if node.name.lower() not in ends:
                    raise env.error(node, f"a session has no {node.name}", "it has start and end")
                node.replace(ends[node.name.lower()].copy())
            elif _is_session(node) and not _is_end(node.parent):
                node.replace(struct.copy())


def _is_end(node: Any) -> bool:
    """Whether ``node`` is ``session_window.start`` or ``session_window(…).start``."""
    if isinstance(node, exp.Column):
        return bool(node.table.lower() == "session_window")
    return isinstance(node, exp.Dot) and _is_session(node.this)


def _is_session(node: Any) -> bool:
    named = isinstance(node, exp.Column) and not node.table and node.name.lower() == "session_window"
    return named or _is_call(node, "session_window")
