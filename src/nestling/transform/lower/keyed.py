"""What a nested query is keyed by and sums: the powers of a value, its place in an order, a bounded column.

Law: an aggregate of a bag is read off the sums, or off the values in order, that these monomials add up to.
"""

from __future__ import annotations

from math import inf

from nestling.calculus.aggregates import BY_PARTS, OF_FLOATS
from nestling.calculus.build import call, const
from nestling.calculus.terms import Call, Const, Term, Tuple, Var
from nestling.calculus.traverse import Names
from nestling.calculus.types import BOOL, FLOAT, Scalar, Type
from nestling.calculus.typing import term_type
from nestling.program.flat import ORDERED, Bound, Factor, Monomial, Test
from nestling.program.traverse import factor_vars, term_vars
from nestling.transform.lower.bounds import bound_of, one_range
from nestling.values.digits import DIGITS, FAR, SQUARES, UNIT


def powers_of(aggregate: str, element: Type) -> tuple[int, ...]:
    """The powers of the value that an aggregate sums; the zeroth is the count.

    An exact sum needs no count: where it is zero, a missing entry says the same.
    """
    match aggregate, element:
        case "sum", Scalar("int" | "decimal"):
            return (1,)
        case "float_sum", _:
            return (1,)
        case (("parts_sum" | "parts_avg"), _):
            return (0, *[1] * (DIGITS + 6))
        case (("parts_var" | "parts_stdev"), _):
            return (0, *[1] * (DIGITS + 1), *[2] * (SQUARES + 5))
        case (("sum" | "avg" | "float_avg" | "no_avg" | "some_avg"), _):
            return (0, 1)
        case (("var" | "stdev" | "float_var" | "float_stdev"), _):
            return (0, 1, 2)
        case (("no_var" | "no_stdev" | "some_var" | "some_stdev"), _):
            return (0, 1, 2)
    return (0,)


def measured(
    aggregate: str, powers: tuple[int, ...], value: Term, sign: int, factors: tuple[Factor, ...]
) -> Monomial:
    """``value`` as ``aggregate`` wants it: itself a key, or its powers summed."""
    if aggregate in ORDERED:
        return Monomial((value,), (const(sign),), factors)
    if aggregate in BY_PARTS:
        return Monomial((), _squares(value, sign) if 2 in powers else _parts(value, sign), factors)
    if aggregate in OF_FLOATS:
        value = call("float_units", value)  # an int: sums of products of it with counts are exact
    weights: list[Term] = [const(sign)]
    for _ in range(max(powers)):
        weights.append(call("*", weights[-1], value))
    return Monomial((), tuple(weights[power] for power in powers), factors)


def _parts(value: Term, sign: int) -> tuple[Term, ...]:
    """One, the digits of ``value`` and what they leave, what has none, and whether it is infinite or no number."""
    above, below = Const(inf, FLOAT), Const(-inf, FLOAT)
    is_number = call("<=", below, value)
    one, none = const(1), const(0)
    parts = (
        *(call("float_digit", value, const(place)) for place in range(DIGITS)),
        call("float_low", value),
        *_large(value),
        call("if", call("==", value, above), one, none),
        call("if", call("==", value, below), one, none),
        call("if", is_number, none, one),
    )
    return _signed(parts, sign)


def _large(value: Term) -> tuple[Term, Term]:
    """Whether ``value`` has no digits, and what it is then."""
    large = call("float_large", value)
    return call("if", call("==", large, Const(0.0, FLOAT)), const(0), const(1)), large


def _squares(value: Term, sign: int) -> tuple[Term, ...]:
    """The same of ``value`` and of its square, of which what is not finite has no parts."""
    is_finite = call("and", call("<", Const(-inf, FLOAT), value), call("<", value, Const(inf, FLOAT)))
    some, large = _large(value)
    far = call("*", large, Const(2.0 ** (UNIT - FAR), FLOAT))
    parts = (
        *(call("float_digit", value, const(place)) for place in range(DIGITS)),
        call("float_low", value),
        *(call("square_digit", value, const(place)) for place in range(SQUARES)),
        call("square_low", value),
        some,
        far,
        call("*", far, far),
        call("if", is_finite, const(0), const(1)),
    )
    return _signed(parts, sign)


def _signed(parts: tuple[Term, ...], sign: int) -> tuple[Term, ...]:
    return (const(sign), *(call("*", const(sign), part) for part in parts))


def place_of(columns: list[Term]) -> Tuple:
    """``columns`` as Python compares them in our order: a column that may be null says first whether it is there."""
    parts: list[tuple[str, Term]] = []
    for i, column in enumerate(columns):
        type_ = term_type(column)
        if isinstance(type_, Scalar) and type_.nullable:
            parts.append((f"there{i}", call("not", call("is_null", column))))
        parts.append((f"column{i}", column))
    return Tuple(tuple(parts))


def place_pattern(columns: tuple[Var, ...], names: Names) -> Tuple:
    """The same of variables, to match it with."""
    fields = place_of(list(columns)).fields
    found = ((n, item if isinstance(item, Var) else Var(names.fresh(n), BOOL)) for n, item in fields)
    return Tuple(tuple(found))


def equated(test: Term, outer: frozenset[str]) -> tuple[str, Term, Term] | None:
    """The equality that ``test`` is, its side of inner variables, and that of ``outer`` ones, which is no variable."""
    match test:
        case Call("==" | "=" as name, (left, right)):
            for inside, outside in ((left, right), (right, left)):
                around = term_vars(outside)
                if around and around <= outer and outer.isdisjoint(term_vars(inside)):
                    return None if isinstance(outside, Var) else (name, inside, outside)
    return None


def within(monomial: Monomial, outer: frozenset[str]) -> tuple[Monomial, tuple[Bound, ...]] | None:
    """``monomial`` keyed by the column that its comparisons with ``outer`` variables bound, and the bounds."""
    inside = factor_vars(*monomial.factors) - outer
    tests = [f for f in monomial.factors if isinstance(f, Test)]
    pairs = [(f, bound_of(f.test, inside)) for f in tests if term_vars(f.test) & outer]
    found = [(test, *pair) for test, pair in pairs if pair is not None and term_vars(pair[1].term) & outer]
    columns = {column for _, column, _ in found}
    bounds = one_range([bound for _, _, bound in found])
    if len(columns) != 1 or bounds is None:
        return None
    (column,) = columns
    rest = [f for f in monomial.factors if not any(f is test for test, _, _ in found)]
    # A null is on neither side of a bound.
    type_ = term_type(column)
    if isinstance(type_, Scalar) and type_.nullable:
        rest.append(Test(call("not", call("is_null", column))))
    return Monomial((*monomial.keys, column), monomial.weights, tuple(rest)), bounds
