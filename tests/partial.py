"""Random queries that do not have a value on every state: divisions, some of them behind guards."""

from typing import Any

from hypothesis import strategies as st

from nestling.calculus.build import call, const, where
from nestling.calculus.evaluate import evaluate
from nestling.calculus.terms import Call, Const, Empty, Expr, Field, For, Relation, Sing, Term, Var
from nestling.calculus.traverse import is_term, map_children
from nestling.calculus.types import INT
from nestling.calculus.typing import term_type
from nestling.errors import NoValue
from nestling.transform.defined import undefined
from nestling.values.bag import ZBag
from tests.strategies import MAYBE, Draw, Schema, queries


@st.composite
def partial_queries(draw: Draw, schema: Schema, fuel: int = 3) -> Expr:
    """A query some of whose terms are divided by others; about half of what is divided is guarded."""
    query = _divided(draw(queries("full", schema=schema, fuel=fuel)), draw)
    if not isinstance(undefined(query), Empty):
        return query
    # Nothing in it lacks a value: whether it is asked at all depends on a quotient.
    pair = Var("pair", schema.catalog["T"].element)
    quotient = call("//", const(6), Field(pair, "b"))
    asked = where(call(draw(st.sampled_from(["==", "!=", "<"])), quotient, Field(pair, "a")), query)
    asked = where(call("!=", Field(pair, "a"), const(1)), asked) if draw(st.booleans()) else asked
    return For(pair, Relation("T", schema.catalog["T"]), asked)


def _divided(node: Any, draw: Draw) -> Any:
    if is_term(node):
        return _term(node, draw, [])
    if isinstance(node, Sing):
        divisors: list[Term] = []
        made = Sing(_term(node.element, draw, divisors))
        # Guards that exclude what is divided by, and guards of which this is not so plain.
        for divisor in divisors:
            tests = [None, None, ("!=", 0), (">", 0), ("<", 2), ("==", 1)]
            chosen = draw(st.sampled_from(tests))
            if chosen is not None:
                return where(call(chosen[0], divisor, const(chosen[1])), made)
        return made
    return map_children(node, lambda child: _divided(child, draw))


def _term(term: Any, draw: Draw, divisors: list[Term]) -> Any:
    match term:
        case Var() | Field() if term_type(term) in (INT, MAYBE) and draw(st.booleans()):
            divisors.append(term)
            name = draw(st.sampled_from(["//", "%"]))
            division = call(name, draw(st.sampled_from([const(6), term])), term)
            return division if draw(st.booleans()) else _guarded(term, division, draw)
    if isinstance(term, Field | Const):
        return term
    return map_children(term, lambda child: _term(child, draw, divisors))


def _guarded(divisor: Term, division: Term, draw: Draw) -> Call:
    test = call(draw(st.sampled_from(["==", "==", ">"])), divisor, const(0))
    first, second = draw(st.permutations([divisor, division]))
    return call("if", test, first, second)


def meant(query: Expr, database: dict[str, Any]) -> ZBag | None:
    """What the reference says of ``query``; ``None`` where it has no value."""
    try:
        return evaluate(query, database)
    except NoValue:
        return None
