"""Equations between variables, solved: a join is two atoms that share a variable.

Law: ``unify`` keeps the meaning of a monomial, and may find it to be zero.
"""

from __future__ import annotations

from collections.abc import Iterable

from nestling.calculus.build import call
from nestling.calculus.partial import is_total
from nestling.calculus.terms import Call, Const, Term, Var
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type
from nestling.program.flat import Atom, Factor, Lift, Monomial, Query, Test
from nestling.program.traverse import factor_vars, is_safe, substitute, substitute_term, term_vars
from nestling.transform.simplify import simplify_term


def unify(monomial: Monomial, fixed: frozenset[str] = frozenset()) -> Monomial | None:
    """``monomial`` with its equations solved for variables that are not ``fixed``; ``None`` where none can hold."""
    monomial = _solve_simple(monomial, fixed)
    changed = True
    while changed:
        changed = False
        for factor in monomial.factors:
            if isinstance(factor, Test):
                solved = _solve(monomial, factor, fixed)
                if solved is not None:
                    monomial, changed = solved, True
                    break
    return _without_trivial(_keyed_by_aggregates(monomial, fixed))


def _keyed_by_aggregates(monomial: Monomial, fixed: frozenset[str]) -> Monomial:
    """``monomial`` with what a lift computes in its keys, for a variable that equals it and stands nowhere else."""
    computed = _lifted(monomial.factors)
    for test in monomial.factors:
        match test:
            case Test(Call("==" | "=" as name, (left, right))):
                for var, value in ((left, right), (right, left)):
                    if not isinstance(var, Var) or var.name in computed | fixed | term_vars(value):
                        continue
                    if computed.isdisjoint(term_vars(value)) or not is_total(value) or not _alike(var, value):
                        continue
                    rest = tuple(f for f in monomial.factors if f is not test)
                    if var.name not in factor_vars(*rest):
                        by = {var.name: value}
                        keys, weights = (
                            tuple(substitute_term(term, by) for term in terms)
                            for terms in (monomial.keys, monomial.weights)
                        )
                        found = Monomial(keys, weights, (*rest, *_nulls_apart(name, var, value, rest, fixed)))
                        return _keyed_by_aggregates(found, fixed)
    return monomial


def _solve_simple(monomial: Monomial, fixed: frozenset[str]) -> Monomial:
    """``monomial`` with the equations of variables and constants solved, all at once: a row has many columns."""
    computed, found = _lifted(monomial.factors), dict[str, Term]()
    rest: list[Factor] = []
    for factor in monomial.factors:
        pair = _equation(factor, found, fixed, computed)
        if pair is None:
            rest.append(factor)
            continue
        (name, var, term) = pair
        found = {old: substitute_term(value, {var.name: term}) for old, value in found.items()}
        found[var.name] = term
        rest += _nulls_apart(name, var, term, monomial.factors, fixed)
    return substitute(Monomial(monomial.keys, monomial.weights, tuple(rest)), found) if found else monomial


def _equation(
    factor: Factor, found: dict[str, Term], fixed: frozenset[str], computed: frozenset[str]
) -> tuple[str, Var, Term] | None:
    match factor:
        case Test(Call("==" | "=" as name, (Var() | Const() as left, Var() | Const() as right))):
            left, right = substitute_term(left, found), substitute_term(right, found)
            for var, term in _either_way(left, right):
                if not isinstance(var, Var) or var == term or var.name in fixed:
                    continue
                if computed.isdisjoint(term_vars(var, term)) and _alike(var, term):
                    return name, var, term
    return None


def _solve(monomial: Monomial, test: Test, fixed: frozenset[str]) -> Monomial | None:
    match test.test:
        case Call("==" | "=" as name, (left, right)):
            computed = _lifted(monomial.factors)
            for var, term in _either_way(left, right):
                # What a lift computes may depend on the variable: it is tested, never put in its place.
                if not isinstance(var, Var) or var.name in fixed | term_vars(term) or not is_total(term):
                    continue
                if computed.isdisjoint(term_vars(var, term)) and _alike(var, term):
                    rest = tuple(f for f in monomial.factors if f is not test)
                    null = _nulls_apart(name, var, term, monomial.factors, fixed)
                    solved = substitute(
                        Monomial(monomial.keys, monomial.weights, (*rest, *null)), {var.name: term}
                    )
                    if isinstance(term, Var | Const) or not _unbinds(monomial, solved, fixed):
                        return solved
    return None


def _unbinds(monomial: Monomial, solved: Monomial, fixed: frozenset[str]) -> bool:
    """Whether a row no longer binds what it did: ``R(x, x + 1)`` waits for an x that ``R(x, y)`` binds."""
    return _is_bound(monomial, fixed) and not _is_bound(solved, fixed)


def _is_bound(monomial: Monomial, fixed: frozenset[str]) -> bool:
    return is_safe(Query((), (Monomial((), monomial.weights, monomial.factors),)), fixed)


def _lifted(factors: Iterable[Factor]) -> frozenset[str]:
    """The variables that lifts bind."""
    return frozenset(factor.var.name for factor in factors if isinstance(factor, Lift))


def _alike(var: Var, term: Term) -> bool:
    """Whether equal values of the two types have equal hashes and print alike: then one may stand for the other."""
    left, right = var.type, term_type(term)
    if isinstance(left, Scalar) and isinstance(right, Scalar):
        return left.name == right.name
    return left == right


def _either_way(left: Term, right: Term) -> list[tuple[Term, Term]]:
    """What may be solved for what; of two variables that which may be null goes, so that the other still says it."""
    return sorted([(left, right), (right, left)], key=lambda pair: not _may_be_null(pair[0]))


def _nulls_apart(
    name: str, var: Var, term: Term, factors: Iterable[Factor], fixed: frozenset[str]
) -> list[Factor]:
    """What the equation says of nulls, and putting ``term`` in the place of ``var`` does not.

    The strict equality does not hold of two nulls, and a variable that is never null equals none. A row that binds it
    says so itself; what is ``fixed`` is a row's column or a parameter, and is taken as it comes.
    """
    one, two = _may_be_null(var), _may_be_null(term)
    if not (one or two):
        return []
    certain, is_strict = term if one else var, name == "="
    if one and two:
        is_said = not is_strict
    elif isinstance(certain, Var) and not _is_null(term):
        is_said = _is_read(certain, factors) or not (is_strict or fixed.isdisjoint(term_vars(var, term)))
    else:
        is_said = not _is_null(term)
    return [] if is_said else [Test(call("not", call("is_null", term)))]


def _is_null(term: Term) -> bool:
    return isinstance(term, Const) and term.value is None


def _is_read(var: Var, factors: Iterable[Factor]) -> bool:
    """Whether a row binds ``var``."""
    return any(isinstance(f, Atom) and var in f.args for f in factors)


def _may_be_null(term: Term) -> bool:
    type_ = term_type(term)
    return isinstance(type_, Scalar) and type_.nullable


def _is_reflexive(test: Term) -> bool:
    """``t == t`` holds of everything, of a null too."""
    match test:
        case Call("==", (left, right)):
            return left == right
    return False


def _is_irreflexive(test: Term) -> bool:
    """``t < t`` holds of nothing; ``t != t`` neither: NaN is NaN."""
    match test:
        case Call("<" | ">" | "!=", (left, right)):
            return left == right
    return False


def decided(test: Term) -> bool | None:
    """What ``test`` is for every value of its variables, where that is known."""
    if _is_irreflexive(test):
        return False
    if isinstance(test, Const):
        return test.value is True
    return True if _is_reflexive(test) else None


def _without_trivial(monomial: Monomial) -> Monomial | None:
    factors: list[Factor] = []
    tests: set[Factor] = set()
    for factor in monomial.factors:
        if isinstance(factor, Test):
            factor = Test(simplify_term(factor.test))
            verdict = decided(factor.test)
            if verdict is False:
                return None
            if verdict is True or factor in tests:
                continue
            tests.add(factor)
        factors.append(factor)
    weights = tuple(simplify_term(weight) for weight in monomial.weights)
    return Monomial(monomial.keys, weights, tuple(factors))
