"""Aggregates and window functions of a plan as SQL."""

from __future__ import annotations

from collections.abc import Callable

from nestling.frontend.dataframe.expressions import (
    WRITERS,
    PlanTranslation,
    Reach,
    check_mode,
    expression,
    listed,
    operand,
    unknown,
)
from nestling.frontend.dataframe.functions import AGGREGATES, WINDOW_FUNCTIONS
from nestling.frontend.dataframe.literals import WHOLE
from nestling.frontend.dataframe.places import refused
from nestling.frontend.dataframe.plan import Node

#: What Spark computes of doubles alone; the front end of SQL takes whole numbers as they are.
_OF_DOUBLES = ("StddevPop", "StddevSamp", "VariancePop", "VarianceSamp")


def is_aggregate(node: Node) -> bool:
    """Whether an aggregate of the query itself is in ``node``."""
    return node.kind == "AggregateExpression" or any(map(is_aggregate, node.children))


def _aggregate(node: Node, reach: Reach, run: PlanTranslation) -> str:
    function = node.child
    check_mode(function)
    if function.kind not in AGGREGATES:
        raise unknown(function)
    name = AGGREGATES[function.kind]
    arguments = [_as_it_is(part) if function.kind in _OF_DOUBLES else part for part in function.children]
    inner = listed(arguments, reach, run)
    if name == "count" and len(arguments) == 1 and arguments[0].kind == "Literal":
        inner = "*" if arguments[0].fields["value"] is not None else inner
    text = f"{name}({'DISTINCT ' * bool(node.fields['isDistinct'])}{inner})"
    test = node.children[1:]
    return f"{text} FILTER (WHERE {expression(test[0], reach, run)})" if test else text


def _as_it_is(node: Node) -> Node:
    """A whole number before it was made a double."""
    made = node.kind == "Cast" and node.fields["dataType"] == "double"
    return node.child if made and node.child.fields.get("dataType") in WHOLE else node


def _window(node: Node, reach: Reach, run: PlanTranslation) -> str:
    function, spec = node.children
    ranks = function.kind in WINDOW_FUNCTIONS
    if ranks:
        # The order of a rank is its window's; Spark repeats it as arguments.
        name, own = WINDOW_FUNCTIONS[function.kind], function.kind in ("NTile", "Lag", "Lead", "NthValue")
        text = f"{name}({listed(function.children, reach, run) if own else ''})"
    else:
        text = expression(function, reach, run)
    keys = len(spec.fields.get("partitionSpec") or ())
    *parts, frame = spec.children
    partition, order = parts[:keys], parts[keys:]
    clauses = [f"PARTITION BY {listed(partition, reach, run)}"] if partition else []
    clauses += [f"ORDER BY {', '.join(sort_key(part, reach, run) for part in order)}"] if order else []
    bounds = "" if ranks else _frame(frame, bool(order))
    return f"{text} OVER ({' '.join([*clauses, bounds]).strip()})"


def sort_key(node: Node, reach: Reach, run: PlanTranslation) -> str:
    """One part of ORDER BY."""
    ways = [str(node.fields[name]["object"]) for name in ("direction", "nullOrdering")]
    direction = "DESC" if "Descending" in ways[0] else "ASC"
    return f"{operand(node.child, reach, run)} {direction} NULLS {'FIRST' if 'NullsFirst' in ways[1] else 'LAST'}"


def _frame(node: Node, ordered: bool) -> str:
    """The rows around a row; nothing where it is what SQL takes anyway."""
    if node.kind != "SpecifiedWindowFrame":
        raise unknown(node)
    kind = "ROWS" if "RowFrame" in str(node.fields["frameType"]["object"]) else "RANGE"
    low, high = (_bound(part) for part in node.children)
    whole = (low, high) == ("UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING")
    running = (kind, low, high) == ("RANGE", "UNBOUNDED PRECEDING", "CURRENT ROW")
    return "" if (running if ordered else whole) else f"{kind} BETWEEN {low} AND {high}"


def _bound(node: Node) -> str:
    match node.kind.rstrip("$"):
        case "UnboundedPreceding":
            return "UNBOUNDED PRECEDING"
        case "UnboundedFollowing":
            return "UNBOUNDED FOLLOWING"
        case "CurrentRow":
            return "CURRENT ROW"
        case "Literal" if node.fields["dataType"] in WHOLE:
            rows = int(node.fields["value"])
            return f"{abs(rows)} {'PRECEDING' if rows < 0 else 'FOLLOWING'}" if rows else "CURRENT ROW"
    raise refused(node, "this frame is not supported", "use Window.unboundedPreceding and Window.currentRow")


OVER_ROWS: dict[str, Callable[[Node, Reach, PlanTranslation], str]] = {
    "AggregateExpression": _aggregate,
    "WindowExpression": _window,
}
WRITERS.update(OVER_ROWS)
