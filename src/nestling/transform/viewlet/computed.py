"""Look-ups by what is computed: ``R(x) · S(x + 1)``, ``R(x) · S(y) · [lower(x) == lower(y)]``.

Once a row of R is known, the rows of S are found by a value, ``x + 1``: a map over S is keyed by its column and read at
that value. Once a row of S is known, those of R are found by what is computed of them: a map over R is keyed by
``lower(x)``, as an index on an expression is.

Law (9): a statement adds the same by whatever its rows are found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nestling.calculus.build import call
from nestling.calculus.partial import is_total
from nestling.calculus.terms import Call, Const, Term, Var
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type
from nestling.program.flat import Atom, Factor, Monomial, Test
from nestling.program.traverse import factor_vars, term_vars

Names = frozenset[str]

#: What a key is called that is computed: no column and no variable of a query has such a name.
BY = "·by"


def opened(monomial: Monomial, known: Names) -> tuple[Monomial, dict[str, Term]]:
    """``monomial`` with a variable for each computed column that uses what is ``known``, and the values of these.

    A value that is not known by then is compared with the column.
    """
    if not any(_is_computed(arg) for f in monomial.factors if isinstance(f, Atom) for arg in f.args):
        return monomial, {}
    found: dict[Term, Var] = {}
    factors: list[Factor] = []
    for factor in monomial.factors:
        if isinstance(factor, Atom):
            for arg in factor.args:
                if _is_computed(arg) and term_vars(arg) & known and arg not in found:
                    found[arg] = Var(f"{BY}{len(found)}", term_type(arg))
            factor = Atom(factor.name, tuple(found.get(arg, arg) for arg in factor.args))
        factors.append(factor)
    compared = [Test(call("==", var, arg)) for arg, var in found.items() if not term_vars(arg) <= known]
    values = {var.name: arg for arg, var in found.items() if term_vars(arg) <= known}
    return Monomial(monomial.keys, monomial.weights, (*factors, *compared)), values


def _is_computed(arg: Term) -> bool:
    return not isinstance(arg, Var | Const) and bool(term_vars(arg))


def linked(groups: list[list[Atom]], tests: Sequence[Factor], known: Names) -> list[list[Atom]]:
    """``groups`` with those together that an equality of what is computed of their rows joins."""
    for test in tests:
        if not isinstance(test, Test) or _sides(test.test) is None:
            continue
        free = factor_vars(test) - known
        touched = [group for group in groups if free & factor_vars(*group)]
        if len(touched) > 1 and factor_vars(test) <= factor_vars(*(a for group in touched for a in group)):
            apart = [group for group in groups if group not in touched]
            groups = [*apart, [atom for group in touched for atom in group]]
    return groups


def found_by(tests: Sequence[Factor], free: Names, known: Names) -> dict[Test, tuple[Term, Term]]:
    """The equalities in ``tests`` of what is computed of ``free`` variables and what is ``known``: both sides."""
    found: dict[Test, tuple[Term, Term]] = {}
    for test in (factor for factor in tests if isinstance(factor, Test)):
        sides = _sides(test.test)
        for inside, value in (sides, sides[::-1]) if sides else ():
            used = term_vars(inside)
            if used and used <= free and term_vars(value) <= known:
                found[test] = inside, value
                break
    return found


def not_null(test: Test, inside: Term) -> list[Test]:
    """What ``test`` says of a null in ``inside`` beside what a look-up says: two nulls are not equal by ``=``."""
    type_ = term_type(inside)
    is_strict = isinstance(test.test, Call) and test.test.function == "="
    may_be = isinstance(type_, Scalar) and type_.nullable
    return [Test(call("not", call("is_null", inside)))] if is_strict and may_be else []


def has_known(group: Sequence[Atom], known: Names) -> bool:
    """Whether some column of ``group`` is known already, to find rows by."""
    return any(term_vars(arg) and term_vars(arg) <= known for atom in group for arg in atom.args)


def _sides(test: Term) -> tuple[Term, Term] | None:
    """The sides of an equality of values that are told apart alike, and total."""
    match test:
        case Call("==" | "=", (left, right)) if is_total(test) and _alike(left, right):
            return left, right
    return None


def _alike(left: Term, right: Term) -> bool:
    one, two = term_type(left), term_type(right)
    return isinstance(one, Scalar) and isinstance(two, Scalar) and one.name == two.name


def with_values(terms: Sequence[Term], values: Mapping[str, Term]) -> tuple[Term, ...]:
    """``terms`` with what is computed in the place of the variables that stand for it."""
    return tuple(values.get(term.name, term) if isinstance(term, Var) else term for term in terms)
