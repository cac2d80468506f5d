"""What words of other dialects mean: written in Spark's words where these say the same, refused where none do.

Law: what is accepted has the rows that the dialect says. Types are not known here; what depends on them is asked by
hidden functions (``typed_meanings``), once they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from nestling.errors import QueryError
from nestling.frontend.sql.typed_meanings import DAYS_APART, HALF_UP, MOMENT, WHOLE

#: Where a position of a text before its first letter means what it means to Spark.
_POSITIONS = ("databricks", "snowflake", "bigquery")
_LOG_OF_TEN = ("postgres", "duckdb", "redshift", "sqlite")
#: Where a cast of a number to a whole one cuts it, and where a date less another is a span.
_CUTS = ("databricks", "tsql", "sqlite", "redshift")
_SPANS = ("databricks", "trino")
#: Where a date moved by an interval is a timestamp.
_MOMENTS = ("postgres", "duckdb", "redshift", "bigquery")
_ROUNDS_EVEN = ("postgres", "redshift", "mysql")
_SHORT_NAMES = ("databricks", "snowflake")
#: Where a backslash in a pattern is a sign like another.
_NO_ESCAPE = ("duckdb", "trino", "sqlite", "snowflake", "tsql")
_WEEKDAYS = ("dow", "dayofweek", "weekday", "dow_iso", "dayofweekiso", "dayofweek_iso", "dw")
_WEEKDAY_CALLS = ("weekday", "isodow", "day_of_week", "dow")


def with_meanings(tree: Any, dialect: str) -> Any:
    """``tree`` of ``dialect`` in words that mean the same to Spark."""
    if dialect == "databricks":
        return tree
    # From the inside out: what is put in a place holds what is done below it.
    for node in reversed(list(tree.walk(bfs=True))):
        for kinds, rule in _RULES:
            if isinstance(node, kinds):
                found = rule(node, dialect)
                if found is not None:
                    node.replace(found)
                break
    return tree


def _refused(node: Any, dialect: str, what: str, hint: str) -> QueryError:
    return QueryError(f"{node.sql(dialect=dialect):.60} {what} in {dialect}, and not in Spark", hint=hint)


def _hidden(name: str, *args: Any) -> Any:
    return exp.Anonymous(this=name, expressions=[arg.copy() for arg in args])


def _number(node: Any) -> float | None:
    """The number that is written out."""
    if isinstance(node, exp.Neg):
        inner = _number(node.this)
        return None if inner is None else -inner
    return float(node.this) if isinstance(node, exp.Literal) and not node.is_string else None


def _substring(node: Any, dialect: str) -> Any:
    start = _number(node.args.get("start"))
    if dialect not in _POSITIONS and (start is None or start < 1):
        hint = "write a place from 1 on, or right(s, 2) for the last two"
        raise _refused(node, dialect, "counts places before the first letter otherwise", hint)


def _end(node: Any, dialect: str) -> Any:
    length = _number(node.expression)
    if length is None or length < 0:
        raise _refused(node, dialect, "may leave letters out", "write a length that is not below zero")


def _log(node: Any, dialect: str) -> Any:
    if node.expression is not None:
        return None
    if dialect in _LOG_OF_TEN:
        return exp.Anonymous(this="log10", expressions=[node.this.copy()])
    return exp.Ln(this=node.this.copy())


def _extremes(node: Any, dialect: str) -> Any:
    """Where one NULL makes the greatest NULL."""
    if node.args.get("ignore_nulls") is not False:
        return None
    parts = [node.this, *node.expressions]
    tests = [exp.Is(this=part.copy(), expression=exp.Null()) for part in parts]
    test = tests[0]
    for other in tests[1:]:
        test = exp.Or(this=test, expression=other)
    plain = node.copy()
    plain.set("ignore_nulls", None)
    return exp.Case(ifs=[exp.If(this=test, true=exp.Null())], default=plain)


def _cast(node: Any, dialect: str) -> Any:
    wanted = node.to.this if isinstance(node.to, exp.DataType) else None
    if dialect in _CUTS or wanted not in exp.DataType.INTEGER_TYPES:
        return None
    if isinstance(node.this, exp.Round | exp.Floor | exp.Ceil | exp.Literal | exp.Count):
        return None
    if isinstance(node.this, exp.Anonymous) and node.this.name == WHOLE:
        return None
    node.set("this", _hidden(WHOLE, node.this))
    return None


def _round(node: Any, dialect: str) -> Any:
    if dialect in _ROUNDS_EVEN:
        node.set("this", _hidden(HALF_UP, node.this))


def _minus(node: Any, dialect: str) -> Any:
    if any(isinstance(side, exp.Interval) for side in (node.this, node.expression)):
        return _moved(node, dialect)
    if dialect in _SPANS or any(_number(side) is not None for side in (node.this, node.expression)):
        return None
    return _hidden(DAYS_APART, node.this, node.expression)


def _moved(node: Any, dialect: str) -> Any:
    if dialect in _MOMENTS and isinstance(node.expression, exp.Interval):
        node.set("this", _hidden(MOMENT, node.this))


def _weekday(node: Any, dialect: str) -> Any:
    part = node.this.name if isinstance(node, exp.Extract) else ""
    if isinstance(node, exp.Extract) and part.lower() not in _WEEKDAYS:
        return None
    if isinstance(node, exp.DayOfWeek) and dialect in ("bigquery", "mysql"):
        return None
    hint = "write date_format(t, 'EEEE'), or count from a day that is known"
    raise _refused(node, dialect, "counts the days of the week otherwise", hint)


def _called(node: Any, dialect: str) -> Any:
    name = node.name.lower()
    word = node.expressions[0].name.lower() if node.expressions else ""
    if name in _WEEKDAY_CALLS or (name == "date_part" and word in _WEEKDAYS):
        raise _refused(node, dialect, "counts the days of the week otherwise", "write date_format(t, 'EEEE')")
    if name == "bit_count" and dialect == "duckdb":
        raise _refused(node, dialect, "counts bits of another width", "take the bits with &")


def _apart(node: Any, dialect: str) -> Any:
    if node.args.get("date_part_boundary") and str(node.args.get("unit") or "DAY").upper() not in (
        "DAY",
        "DAYS",
    ):
        hint = "write a difference of years and months, or truncate both sides first"
        raise _refused(node, dialect, "counts the ends of units that lie between", hint)


def _replaced(node: Any, dialect: str) -> Any:
    modifiers = node.args.get("modifiers")
    if node.args.get("single_replace") and (modifiers is None or "g" not in modifiers.name):
        raise _refused(node, dialect, "replaces the first match alone", "add 'g', which replaces all")


def _not_a_number(node: Any, dialect: str) -> Any:
    test = exp.Is(this=node.this.copy(), expression=exp.Null())
    return exp.Case(ifs=[exp.If(this=test, true=exp.Null())], default=node.copy())


def _code(node: Any, dialect: str) -> Any:
    if dialect == "duckdb":
        raise _refused(node, dialect, "is another number of the empty text", "write ascii(s)")


def _name(node: Any, dialect: str) -> Any:
    if dialect not in _SHORT_NAMES:
        raise _refused(node, dialect, "has all letters of the name", "write strftime or date_format")


def _quotient(node: Any, dialect: str) -> Any:
    """DuckDB divides DOUBLEs; what others divide exactly, with more places than Spark has, is divided so as well."""
    exact = any(_is_exact(side) for side in (node.this, node.expression))
    done = isinstance(node.this, exp.Cast) and node.this.to.this in exp.DataType.FLOAT_TYPES
    if dialect == "snowflake" or (dialect != "duckdb" and not exact) or done:
        return None
    node.set("this", exp.Cast(this=_bare(node.this.copy()), to=exp.DataType.build("double")))
    return None


def _bare(node: Any) -> Any:
    return node.this if isinstance(node, exp.Paren) else node


def _is_exact(node: Any) -> bool:
    """Whether ``node`` is evidently a decimal number."""
    if isinstance(node, exp.Literal):
        return not node.is_string and "." in str(node.this)
    if isinstance(node, exp.Cast):
        return bool(node.to.this == exp.DataType.Type.DECIMAL)
    return any(_is_exact(part) for part in node.iter_expressions()) and isinstance(
        node, exp.Paren | exp.Neg | exp.Binary
    )


def _collected(node: Any, dialect: str) -> Any:
    around = node.parent
    filtered = isinstance(around, exp.Filter) and any(
        isinstance(n, exp.Not) and isinstance(n.this, exp.Is) for n in around.expression.walk()
    )
    if dialect != "snowflake" and not filtered:
        hint = "write array_agg(x) FILTER (WHERE x IS NOT NULL)"
        raise _refused(node, dialect, "has the NULLs, too", hint)


def _grand_total(node: Any, dialect: str) -> Any:
    """Of no rows other dialects have a row with the grand total."""
    if isinstance(node, exp.GroupingSets) and not any(
        isinstance(n, exp.Tuple) and not n.expressions for n in node.expressions
    ):
        return None
    select = node.find_ancestor(exp.Select)
    having = select.args.get("having") if select is not None else None
    if having is not None and any(
        isinstance(n, exp.GT | exp.GTE) and isinstance(n.this, exp.Count) for n in having.walk()
    ):
        return None
    hint = "add HAVING count(*) > 0, or write the total as a query of its own"
    raise _refused(node, dialect, "has a total of no rows", hint)


def _asked(node: Any, dialect: str) -> Any:
    """``x IN (query)`` as a value, which may be NULL."""
    if node.args.get("query") is None:
        return None
    around = node.parent
    while isinstance(around, exp.And | exp.Or | exp.Not | exp.Paren):
        around = around.parent
    if isinstance(around, exp.Where | exp.Having | exp.Qualify | exp.Join):
        return None
    raise _refused(node, dialect, "may be NULL", "ask it in WHERE, or write EXISTS (…)")


def _pattern(node: Any, dialect: str) -> Any:
    pattern = node.expression
    if dialect in _NO_ESCAPE and isinstance(pattern, exp.Literal) and "\\" in pattern.name:
        raise _refused(node, dialect, "has a backslash that stands for itself", "write LIKE '…' ESCAPE '!'")


Rule = Callable[[Any, str], Any]
_RULES: tuple[tuple[Any, Rule], ...] = (
    (exp.Substring, _substring),
    ((exp.Left, exp.Right), _end),
    (exp.Log, _log),
    ((exp.Greatest, exp.Least), _extremes),
    ((exp.Cast, exp.TryCast), _cast),
    (exp.Round, _round),
    (exp.Sub, _minus),
    (exp.Add, _moved),
    ((exp.DayOfWeek, exp.DayOfWeekIso, exp.Extract), _weekday),
    (exp.Anonymous, _called),
    ((exp.DateDiff, exp.TimestampDiff, exp.DatetimeDiff), _apart),
    (exp.RegexpReplace, _replaced),
    (exp.IsNan, _not_a_number),
    (exp.Unicode, _code),
    ((exp.Dayname, exp.Monthname), _name),
    (exp.Div, _quotient),
    (exp.ArrayAgg, _collected),
    ((exp.Rollup, exp.Cube, exp.GroupingSets), _grand_total),
    (exp.In, _asked),
    (exp.Like, _pattern),
)
