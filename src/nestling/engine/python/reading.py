"""Count-wise operators of counts, and aggregates off the measures of a group, as Python writes them.

Law: the text of an operator computes what ``calculus/countwise`` says of the counts, and that of an aggregate what
``calculus/aggregates`` reads off the measures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nestling.engine.python.terms import tuple_of
from nestling.program.flat import is_ordered

#: The operators, each with how it is written.
COUNTWISE: dict[str, Callable[[Sequence[str]], str]] = {
    "distinct": lambda n: f"1 if {n[0]} > 0 else 0",
    "exists": lambda n: f"1 if {n[0]} else 0",
    "clip": lambda n: f"{n[0]} if {n[0]} > 0 else 0",
    "monus": lambda n: f"{n[0]} - {n[1]} if {n[0]} > {n[1]} else 0",
    "min": lambda n: f"{n[0]} if {n[0]} < {n[1]} else {n[1]}",
    "max": lambda n: f"{n[0]} if {n[0]} > {n[1]} else {n[1]}",
    "differ": lambda n: f"1 if {n[0]} != {n[1]} else 0",
    "exceed": lambda n: f"1 if {n[0]} > {n[1]} else 0",
    "restrict": lambda n: f"{n[-1]} if {' or '.join(n[:-1])} else 0",
}


def combined(operator: str, counts: Sequence[str]) -> str:
    """A count-wise operator of counts."""
    return COUNTWISE[operator]([operand(count) for count in counts])


def operand(text: str) -> str:
    """``text`` as one operand of whatever stands around it."""
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def read_cell(aggregate: str, cell: Sequence[str]) -> str:
    """An aggregate read off its measures."""
    match aggregate:
        case "count":
            return cell[0]
        case "sum":
            return cell[-1]
        case "float_sum":
            return f"rounded_float({cell[-1]})"
        case "float_avg":
            return f"(mean_float({cell[1]}, {cell[0]}) if {operand(cell[0])} else None)"
        case "avg":
            return f"mean({cell[1]}, {cell[0]})"
    if is_ordered(aggregate):
        return cell[0]  # the event has the value itself
    return f"read_{aggregate}({tuple_of(cell)})"
