"""Whether generated code may meet a decimal: in a row, or from a literal or a function that makes one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nestling.calculus.once import once
from nestling.calculus.terms import Call, Const, Term, Var
from nestling.calculus.traverse import children
from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.engine.local.storage import statements
from nestling.program.statements import Program, Statement, Total, Where
from nestling.program.steps import uses

#: The functions that make a decimal of something else.
MAKERS = frozenset({"to_decimal", "read_decimal", "ratio"})


def meets_decimals(program: Program) -> bool:
    """Whether the code of ``program`` may meet one."""
    columns = [column for decl in program.tables.values() for column in decl.columns]
    return any(_holds(column.type) for column in columns) or any(
        _makes(term) for statement in statements(program) for term in _terms(statement)
    )


def _terms(statement: Statement) -> Iterator[Term]:
    """The terms that a statement computes."""
    for step in statement.steps:
        yield from uses(step)
        if isinstance(step, Where):
            yield step.test
        elif isinstance(step, Total):
            for inner in step.statements:
                yield from _terms(inner)
    yield from statement.keys
    yield from statement.amounts


@once
def _makes(term: Any) -> bool:
    """Whether a decimal stands in a term that none comes into."""
    if isinstance(term, Var):
        return False
    if isinstance(term, Const):
        return term.type.name == "decimal"
    makes = isinstance(term, Call) and term.function in MAKERS
    return makes or any(map(_makes, children(term)))


def _holds(type_: Type) -> bool:
    match type_:
        case Scalar(name):
            return name == "decimal"
        case Record(fields):
            return any(_holds(field) for _, field in fields)
        case Bag(element):
            return _holds(element)
    return False
