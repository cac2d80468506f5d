"""Conditions that compare one term with many constants: whether it is among them.

``x = 1 or x = 2 or …`` is one look into a set, and ``x != 1 and x != 2 and …`` is its opposite. The calculus has no
sets: what writes code asks here whether a condition is such a one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from nestling.calculus.once import once
from nestling.calculus.terms import Call, Const, Term
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type

#: Fewer are compared one by one.
LEAST = 8
#: Kinds of which equal values are one element of a set, and that are written as literals.
_KINDS = ("int", "str", "bytes")


@dataclass(frozen=True)
class Membership:
    """``term`` is one of ``values``, or is none of them unless ``inside``; ``strict``: null where the term is."""

    term: Term
    values: tuple[Any, ...]
    inside: bool
    strict: bool


@once
def membership(test: Term) -> Membership | None:
    """``test`` as a membership among ``LEAST`` constants or more, if it is one.

    Law: ``test`` has the value that the membership says, of every value of its term.
    """
    match test:
        case Call("or" | "and" as name, _):
            found = [compared(part, name == "or") for part in joined(test, name)]
            terms = {(one.term, one.strict) for one in found if one is not None}
            if len(found) >= LEAST and None not in found and len(terms) == 1:
                ((term, strict),) = terms
                values = dict.fromkeys(one.values[0] for one in found if one is not None)
                return Membership(term, tuple(values), name == "or", strict)
        case Call("not", (inner,)):
            opposite = membership(inner)
            return opposite and replace(opposite, inside=not opposite.inside)
    return None


def joined(test: Term, name: str) -> list[Term]:
    """What ``name``, an ``and`` or ``or``, joins in ``test``, in order."""
    found, pending = [], [test]
    while pending:
        here = pending.pop()
        if isinstance(here, Call) and here.function == name:
            pending.extend(reversed(here.args))
        else:
            found.append(here)
    return found


def compared(test: Term, inside: bool) -> Membership | None:
    """An equality with a constant that is not null, or the opposite of one unless ``inside``."""
    match test:
        case Call("not", (Call("=" | "==", sides),)) | Call("!=", sides) if not inside:
            pass
        case Call("=" | "==", sides) if inside:
            pass
        case _:
            return None
    term, other = sides if isinstance(sides[1], Const) else sides[::-1]
    if not isinstance(other, Const) or other.value is None or isinstance(term, Const):
        return None
    type_, result = term_type(term), term_type(test)
    assert isinstance(result, Scalar)
    alike = isinstance(type_, Scalar) and type_.name == other.type.name and type_.name in _KINDS
    return Membership(term, (other.value,), inside, result.nullable) if alike else None
