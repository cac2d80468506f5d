"""Expressions of a plan as SQL.

Law: Spark's SQL, in ANSI mode, evaluates the text to what the expression evaluates to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from nestling.errors import QueryError
from nestling.frontend.dataframe.block import Id, Scope, indented
from nestling.frontend.dataframe.functions import ADVICE, BINARY, COMPARISONS, FUNCTIONS, REPLACED
from nestling.frontend.dataframe.literals import DAY, WHOLE, check_zone, literal, type_sql
from nestling.frontend.dataframe.places import place_of, refused
from nestling.frontend.dataframe.plan import Node
from nestling.quoting import plain_sql_text, sql_name

if TYPE_CHECKING:
    from nestling.frontend.dataframe.block import Block


@dataclass(frozen=True, slots=True)
class Reach:
    """Which columns an expression may name: those of its own query, and of those around it."""

    scope: Scope
    outer: Reach | None = None

    def find(self, id_: Id) -> str | None:
        """How a column is written, innermost query first."""
        found = self.scope.get(id_)
        return found if found is not None or self.outer is None else self.outer.find(id_)


@dataclass
class PlanTranslation:
    """What all parts of one translation share: names given out, and how the plan of a subquery is translated."""

    zone: str
    subquery: Callable[[Node, Reach], Block]
    names: Iterator[int] = field(default_factory=lambda: count(1))
    parameters: dict[Id, str] = field(default_factory=dict)
    common: dict[str, str] = field(default_factory=dict)  # expressions with a name

    def alias(self) -> str:
        """A name for a table."""
        return f"t{next(self.names)}"

    def parameter(self, node: Node) -> str:
        """The name of a parameter of a lambda."""
        return self.parameters.setdefault(id_of(node), f"x{len(self.parameters) + 1}")


def id_of(node: Node) -> Id:
    """The number of a column."""
    return int(node.fields["exprId"]["id"])


def references(*nodes: Node) -> set[Id]:
    """The columns that expressions read, also from inside of subqueries; columns of those are among them."""
    found = set()
    for node in nodes:
        for part in node.walk():
            if part.kind == "AttributeReference":
                found.add(id_of(part))
            elif part.kind == "OuterReference":
                found.add(id_of(part.fields["e"]))
    return found


def expression(node: Node, reach: Reach, run: PlanTranslation) -> str:
    """``node`` as SQL; an error in it is located by the nearest part that knows where it was written."""
    try:
        return _written(node, reach, run)
    except QueryError as error:
        if error.at is None:
            error.located(place_of(node))
        raise


def _written(node: Node, reach: Reach, run: PlanTranslation) -> str:
    check_mode(node)
    if node.kind in BINARY:
        left, right = (operand(part, reach, run) for part in _sides(node))
        return f"{left} {BINARY[node.kind]} {right}"
    if node.kind in FUNCTIONS:
        return f"{FUNCTIONS[node.kind]}({listed(node.children, reach, run)})"
    if node.kind in REPLACED and len(node.children) == 1:
        return expression(node.child, reach, run)
    if node.kind not in WRITERS:
        raise unknown(node)
    return WRITERS[node.kind](node, reach, run)


def operand(node: Node, reach: Reach, run: PlanTranslation) -> str:
    """``node`` as SQL, in parentheses where it has parts that could be torn apart."""
    text = expression(node, reach, run)
    inner = node
    while inner.kind in REPLACED:
        inner = inner.child
    negative = inner.kind == "Literal" and text.startswith("-")
    return f"({text})" if inner.kind in BINARY or inner.kind in _LOOSE or negative else text


def _sides(node: Node) -> list[Node]:
    """The operands, without the casts that widen whole numbers where SQL does so itself.

    A join by an equation of columns is looked up; one of casts is not.
    """
    if node.kind in COMPARISONS:
        return [_bare(part) for part in node.children]
    widened = [part for part in node.children if _widens(part)]
    if node.kind in ("Add", "Subtract", "Multiply") and len(widened) == 1:
        return [part.child if part in widened else part for part in node.children]
    return node.children


def _bare(node: Node) -> Node:
    """A whole number without its size: it compares the same in any."""
    inner = node.child if _widens(node) else node
    if inner.kind == "Literal" and inner.fields["dataType"] in WHOLE and inner.fields["value"] is not None:
        return Node("Literal", {**inner.fields, "dataType": "integer"}, [], inner.find)
    return inner


def _widens(node: Node) -> bool:
    """Whether ``node`` makes a whole number of more bits out of one of fewer."""
    if node.kind != "Cast" or node.fields["dataType"] not in WHOLE:
        return False
    own = node.child.fields.get("dataType") or str(node.child.jvm.dataType().typeName())
    return own in WHOLE and WHOLE.index(own) < WHOLE.index(node.fields["dataType"])


def listed(nodes: list[Node], reach: Reach, run: PlanTranslation) -> str:
    return ", ".join(expression(node, reach, run) for node in nodes)


def unknown(node: Node) -> Exception:
    """The refusal of a class that is not on the list."""
    name = node.kind.rstrip("$")
    hint = ADVICE.get(name, "write it with operators and functions that SQL views have")
    return refused(node, f"{name} is not supported in a view", hint)


def check_mode(node: Node) -> None:
    """Refuse what was analysed to go on where a view has no value; only a cast may be tried."""
    mode = mode_of(node)
    if mode == "TRY" and node.kind != "Cast":
        raise refused(node, f"try_{node.kind.lower()} is not supported", "write the operator without try_")
    if mode != "LEGACY":
        return
    raise refused(
        node,
        "this was built without ANSI mode: it would overflow silently, or be NULL where a view has no value",
        'spark.conf.set("spark.sql.ansi.enabled", "true"), and build the DataFrame again',
    )


def mode_of(node: Node) -> str:
    """ANSI, TRY or LEGACY; nothing of what Spark computes in one way only."""
    if "evalContext" in node.fields:
        return str(node.jvm.evalContext().evalMode())
    if "evalMode" in node.fields:
        return str(node.jvm.evalMode())
    return "LEGACY" if node.fields.get("failOnError") is False else ""


def _column(node: Node, reach: Reach, run: PlanTranslation) -> str:
    found = reach.find(id_of(node))
    if found is None:
        raise refused(node, f"column {node.fields['name']} is not found in the plan", "name it by its table")
    return found


def _outer(node: Node, reach: Reach, run: PlanTranslation) -> str:
    return _column(node.fields["e"], reach.outer or reach, run)


def _cast(node: Node, reach: Reach, run: PlanTranslation) -> str:
    to, own = node.fields["dataType"], node.child.fields.get("dataType")
    text = expression(node.child, reach, run)
    if isinstance(to, dict):
        if _alike(to, own):
            return text
        raise refused(node, f"a cast to {to.get('type')} is not supported", "cast its fields one by one")
    if to == "timestamp":
        check_zone(node.fields.get("timeZoneId") or run.zone, node)
    return f"{'TRY_' * (mode_of(node) == 'TRY')}CAST({text} AS {type_sql(to, node)})"


def _alike(left: Any, right: Any) -> bool:
    """Whether two types differ in what may be null, in names, or in the width of whole numbers only."""
    if not isinstance(left, dict) or not isinstance(right, dict):
        return left == right or (left in WHOLE and right in WHOLE)
    if left.get("type") == right.get("type") == "array":
        return _alike(left["elementType"], right["elementType"])
    if left.get("type") == right.get("type") == "struct":
        pairs = zip(left["fields"], right["fields"], strict=False)
        return len(left["fields"]) == len(right["fields"]) and all(
            a["name"] == b["name"] and _alike(a["type"], b["type"]) for a, b in pairs
        )
    return False


def _field(node: Node, reach: Reach, run: PlanTranslation) -> str:
    name = node.fields.get("name") or str(node.jvm.extractFieldName())
    text = expression(node.child, reach, run)
    named = node.child.kind in (
        "AttributeReference",
        "OuterReference",
        "NamedLambdaVariable",
        "GetStructField",
    )
    return f"{text if named else f'({text})'}.{sql_name(name)}"


def _field_of_each(node: Node, reach: Reach, run: PlanTranslation) -> str:
    return f"transform({expression(node.child, reach, run)}, x -> x.{sql_name(node.fields['field']['name'])})"


def _lambda(node: Node, reach: Reach, run: PlanTranslation) -> str:
    body, *parameters = node.children
    names = ", ".join(run.parameter(part) for part in parameters)
    return f"{f'({names})' if len(parameters) > 1 else names} -> {expression(body, reach, run)}"


def _fold(node: Node, reach: Reach, run: PlanTranslation) -> str:
    result = node.children[3].child
    if result.kind != "NamedLambdaVariable":
        raise refused(node, "aggregate with a last step is not supported", "do it to the result")
    return f"aggregate({listed(node.children[:3], reach, run)})"


def _case(node: Node, reach: Reach, run: PlanTranslation) -> str:
    parts = [expression(part, reach, run) for part in node.children]
    pairs = zip(parts[:-1:2], parts[1::2], strict=False)
    branches = "".join(f"WHEN {test} THEN {value} " for test, value in pairs)
    return f"CASE {branches}{f'ELSE {parts[-1]} ' * (len(parts) % 2)}END"


def _struct(node: Node, reach: Reach, run: PlanTranslation) -> str:
    names, values = node.children[::2], node.children[1::2]
    pairs = zip(names, values, strict=True)
    inner = [f"{literal(name, run.zone)}, {expression(value, reach, run)}" for name, value in pairs]
    return f"named_struct({', '.join(inner)})"


def _like(node: Node, reach: Reach, run: PlanTranslation) -> str:
    text, pattern = (operand(part, reach, run) for part in node.children)
    escape, word = str(node.jvm.escapeChar()), node.kind.upper()
    return f"{text} {word} {pattern}" + (f" ESCAPE {plain_sql_text(escape)}" if escape != "\\" else "")


def _in(node: Node, reach: Reach, run: PlanTranslation) -> str:
    value, *others = node.children
    return f"{operand(value, reach, run)} IN ({listed([_bare(part) for part in others], reach, run)})"


def _in_query(node: Node, reach: Reach, run: PlanTranslation) -> str:
    *values, query = node.children
    texts = [operand(value, reach, run) for value in values]
    left = texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
    return f"{left} IN {_query(query, reach, run)}"


def _query(node: Node, reach: Reach, run: PlanTranslation) -> str:
    block = run.subquery(node.fields["plan"], reach)
    return f"({indented(block.text)})"


def _present(node: Node, reach: Reach, run: PlanTranslation) -> str:
    """``dropna``: at least so many of the columns are there."""
    if any(part.fields.get("dataType") in ("float", "double", None) for part in node.children):
        raise refused(node, "dropna takes NaN for a null, which a view does not", "filter with isNotNull()")
    word = {len(node.children): " AND ", 1: " OR "}.get(int(node.fields["n"]))
    if word is None:
        raise refused(node, "dropna with a threshold is not supported", "filter with isNotNull()")
    return "(" + word.join(f"{operand(part, reach, run)} IS NOT NULL" for part in node.children) + ")"


def _trim(side: str) -> Callable[[Node, Reach, PlanTranslation], str]:
    def write(node: Node, reach: Reach, run: PlanTranslation) -> str:
        text, *signs = (expression(part, reach, run) for part in node.children)
        return f"TRIM({side} {signs[0] if signs else plain_sql_text(' ')} FROM {text})"

    return write


def _locate(node: Node, reach: Reach, run: PlanTranslation) -> str:
    part, text, start = node.children
    if start.fields.get("value") != "1":
        raise refused(node, "locate with a start is not supported", "write instr(text, part)")
    return f"instr({listed([text, part], reach, run)})"


def _days(node: Node, reach: Reach, run: PlanTranslation) -> str:
    if node.child.kind != "Literal":
        raise refused(node, "an interval that is computed is not supported", "write date_add(date, days)")
    return str(int(node.child.fields["value"]) // DAY)


def _with(node: Node, reach: Reach, run: PlanTranslation) -> str:
    """What is named once and used several times is written as often."""
    body, *definitions = node.children
    for part in definitions:
        run.common[str(part.jvm.id())] = operand(part.child, reach, run)
    return expression(body, reach, run)


def condition(node: Node, reach: Reach, run: PlanTranslation) -> str:
    """One of the conditions that must hold."""
    text = expression(node, reach, run)
    return f"({text})" if node.kind == "Or" else text


def _template(text: str) -> Callable[[Node, Reach, PlanTranslation], str]:
    """An operator of its children, each in parentheses where it needs them."""
    return lambda node, reach, run: text.format(*(operand(part, reach, run) for part in node.children))


#: Operators that are not BINARY and whose text has parts.
_LOOSE = (
    "Not",
    "IsNull",
    "IsNotNull",
    "Like",
    "ILike",
    "RLike",
    "In",
    "InSubquery",
    "UnaryMinus",
    "LambdaFunction",
)

WRITERS: dict[str, Callable[[Node, Reach, PlanTranslation], str]] = {
    "Alias": lambda node, reach, run: expression(node.child, reach, run),
    "ArrayAggregate": _fold,
    "ArrayExists": lambda node, reach, run: f"exists({listed(node.children, reach, run)})",
    "ArrayFilter": lambda node, reach, run: f"filter({listed(node.children, reach, run)})",
    "ArrayForAll": lambda node, reach, run: f"forall({listed(node.children, reach, run)})",
    "ArrayTransform": lambda node, reach, run: f"transform({listed(node.children, reach, run)})",
    "AtLeastNNonNulls": _present,
    "AttributeReference": _column,
    "CaseWhen": _case,
    "Cast": _cast,
    "CommonExpressionRef": lambda node, reach, run: run.common[str(node.jvm.id())],
    "CreateNamedStruct": _struct,
    "Exists": lambda node, reach, run: f"EXISTS {_query(node, reach, run)}",
    "ExtractANSIIntervalDays": _days,
    "GetArrayItem": _template("{0}[{1}]"),
    "GetArrayStructFields": _field_of_each,
    "GetStructField": _field,
    "If": lambda node, reach, run: f"if({listed(node.children, reach, run)})",
    "In": _in,
    "InSubquery": _in_query,
    "IsNotNull": _template("{0} IS NOT NULL"),
    "IsNull": _template("{0} IS NULL"),
    "LambdaFunction": _lambda,
    "ILike": _like,
    "Like": _like,
    "ListQuery": _query,
    "Literal": lambda node, reach, run: literal(node, run.zone),
    "NamedLambdaVariable": lambda node, reach, run: run.parameter(node),
    "Not": _template("NOT {0}"),
    "NullIfResult": _template("if({0}, NULL, {1})"),
    "OuterReference": _outer,
    "RLike": _template("{0} RLIKE {1}"),
    "ScalarSubquery": _query,
    "StringTrim": _trim("BOTH"),
    "StringTrimLeft": _trim("LEADING"),
    "StringTrimRight": _trim("TRAILING"),
    "StringLocate": _locate,
    "UnaryMinus": _template("-{0}"),
    "UnaryPositive": lambda node, reach, run: expression(node.child, reach, run),
    "With": _with,
}
