"""Equations of the calculus, applied from left to right until none fires.

Law (18): ``evaluate(simplify(e)) = evaluate(e)``, and ``simplify`` never raises the degree. Each rule is one
equation; its docstring is the equation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nestling.calculus.build import FALSE, balanced, call, empty, for_, negate, union
from nestling.calculus.functions import FUNCTIONS, apply_function
from nestling.calculus.partial import undefined_where
from nestling.calculus.terms import (
    Call,
    Const,
    CountWise,
    Expr,
    Field,
    Flatten,
    For,
    Guard,
    Negate,
    Sing,
    SingBag,
    Term,
    Tuple,
    Union,
    Var,
)
from nestling.calculus.traverse import Rule, binders, free_vars, rewrite, substitute, walk
from nestling.calculus.types import BOOL, INT, Scalar
from nestling.calculus.typing import element_type, term_type
from nestling.errors import NoValue
from nestling.transform.normalize import rebuilt


def simplify(expr: Expr) -> Expr:
    """``expr`` in its simplest form under ``SIMPLIFICATIONS``.

    >>> from nestling.calculus.parse import parse, parse_type
    >>> from nestling.calculus.show import show
    >>> catalog = {"R": parse_type("Bag(int)"), "S": parse_type("Bag(int)")}
    >>> print(show(simplify(parse("S ⊎ (for x in R union sng(x)) ⊎ ⊖S", catalog))))
    R
    """
    simplified: Expr = rewrite(expr, SIMPLIFICATIONS)
    return simplified


def simplify_term(term: Term) -> Term:
    """``term`` in its simplest form."""
    simplified: Term = rewrite(term, SIMPLIFICATIONS)
    return simplified


def by_construction(node: Any) -> Any:
    """``∅`` absorbs and is neutral, ``⊖⊖e → e``, unions are flat: the smart constructors."""
    new = rebuilt(node)
    return None if new is node or new == node else new


def for_over_singleton(node: Any) -> Any:
    """``for x in sng(t) union b  →  b[x := t]``"""
    match node:
        case For(var, Sing(element), body):
            return substitute(body, {var.name: element})
    return None


def for_collecting(node: Any) -> Any:
    """``for x in e union sng(x)  →  e``"""
    match node:
        case For(var, source, Sing(Var(name))) if name == var.name and name != "_":
            return source
    return None


def for_under_negation(node: Any) -> Any:
    """``for x in ⊖e union b  →  ⊖(for x in e union b)``, and so for ``b``"""
    match node:
        case For(var, Negate(source), body):
            return negate(for_(var, source, body))
        case For(var, source, Negate(body)):
            return negate(for_(var, source, body))
    return None


def for_over_for(node: Any) -> Any:
    """``for x in (for y in e union b) union c  →  for y in e union for x in b union c``"""
    match node:
        case For(var, For(inner, source, body), rest) if _apart(inner, var, rest):
            return For(inner, source, For(var, body, rest))
    return None


def _apart(inner: Var, var: Var, rest: Expr) -> bool:
    """Whether moving ``var`` and ``rest`` under ``inner`` captures and shadows nothing."""
    bound = {name.name for node in walk(rest) for name in binders(node)}
    return inner.name == "_" or inner.name not in {var.name, *bound, *free_vars(rest)}


def negate_union(node: Any) -> Any:
    """``⊖(e₁ ⊎ …)  →  ⊖e₁ ⊎ …``"""
    match node:
        case Negate(Union(terms)):
            return union(element_type(node), *map(negate, terms))
    return None


def cancel_opposites(node: Any) -> Any:
    """``e ⊎ ⊖e ⊎ …  →  …``; sound because ⊎ adds integers: a term and its negation sum to zero."""
    match node:
        case Union(terms):
            for i, term in enumerate(terms):
                opposite = negate(term)
                if opposite in terms[i + 1 :]:
                    j = terms.index(opposite, i + 1)
                    rest = terms[:i] + terms[i + 1 : j] + terms[j + 1 :]
                    return union(element_type(node), *rest)
    return None


def flatten_singleton(node: Any) -> Any:
    """``flatten(sng_ι(e))  →  e``"""
    match node:
        case Flatten(SingBag(_, body)):
            return body
    return None


def flatten_union(node: Any) -> Any:
    """``flatten(e₁ ⊎ …)  →  flatten(e₁) ⊎ …``, and so for ``⊖``"""
    match node:
        case Flatten(Union(terms)):
            return Union(tuple(Flatten(term) for term in terms))
        case Flatten(Negate(body)):
            return Negate(Flatten(body))
    return None


def distinct_twice(node: Any) -> Any:
    """``f(f(e))  →  f(e)`` for f in distinct, exists, clip"""
    match node:
        case CountWise("distinct" | "exists" | "clip" as outer, (CountWise(inner) as arg,)):
            return arg if outer == inner else None
    return None


def guard_constant(node: Any) -> Any:
    """``[true]  →  sng⟨⟩``,  ``[false]  →  ∅``"""
    match node:
        case Guard(Const(value)):
            return Sing(Tuple(())) if value is True else empty(element_type(node))
    return None


def field_of_tuple(node: Any) -> Any:
    """``⟨…, f: t, …⟩.f  →  t``"""
    match node:
        case Field(Tuple(items), name):
            return dict(items)[name]
    return None


def connective_unit(node: Any) -> Any:
    """``t and true  →  t``, ``t or false  →  t``, ``t and false  →  false``, ``t or true  →  true``"""
    match node:
        case Call("and" | "or" as name, (left, right)):
            unit, type_ = name == "and", Scalar("bool", term_type(node) != BOOL)
            for one, other in ((left, right), (right, left)):
                if isinstance(one, Const) and one.value is (not unit):
                    return replace(one, type=type_)
                if isinstance(one, Const) and one.value is unit and term_type(other) == type_:
                    return other
    return None


def multiplied_constant(node: Any) -> Any:
    """``t * 1  →  t``, ``t * 0  →  0`` for integers that are not null"""
    match node:
        case Call("*", (left, right)) if term_type(left) == INT == term_type(right):
            one, zero = Const(1, INT), Const(0, INT)
            if zero in (left, right):
                return zero
            return right if left == one else left if right == one else None
    return None


def constant_call(node: Any) -> Any:
    """``fn(c, …)  →  the value of fn``, where it has one"""
    match node:
        case Call(name, args) if all(isinstance(arg, Const) for arg in args):
            type_ = term_type(node)
            values = [arg.value for arg in args if isinstance(arg, Const)]
            try:
                value = apply_function(FUNCTIONS[name], values)
            except NoValue:
                # Left for evaluation to report: the call may stand where it is never evaluated.
                return None
            return Const(value, type_) if isinstance(type_, Scalar) else None
    return None


def null_of_strict(node: Any) -> Any:
    """``is_null(fn(t, …))  →  is_null(t) or …`` of a strict fn that has a value, over the t that may be null

    Not of one that may be null of what is not: a part of a text that is no JSON.
    """
    match node:
        case Call("is_null", (Call(name, args) as inner,)):
            if FUNCTIONS[name].strict and undefined_where(inner) is None and not _makes_null(name, args):
                nulls = [call("is_null", arg) for arg in dict.fromkeys(args) if _is_nullable(arg)]
                return balanced("or", nulls) if nulls else FALSE
    return None


def of_nullable(node: Any) -> Any:
    """``is_null(nullable(t))  →  false``,  ``coalesce(nullable(t), c)  →  t`` of a t that is never null"""
    match node:
        case Call("is_null", (Call("nullable", (inner,)),)):
            if not _is_nullable(inner) and not any(isinstance(part, Call) for part in walk(inner)):
                return FALSE
        case Call("coalesce", (Call("nullable", (inner,)), Const())):
            if term_type(inner) == term_type(node):
                return inner
    return None


def _makes_null(name: str, args: tuple[Term, ...]) -> bool:
    """Whether a function may be null where none of ``args`` is."""
    types = [type_ for arg in args if isinstance(type_ := term_type(arg), Scalar)]
    found = FUNCTIONS[name].result([replace(type_, nullable=False) for type_ in types])
    return found is not None and found.nullable


def _is_nullable(term: Term) -> bool:
    type_ = term_type(term)
    return isinstance(type_, Scalar) and type_.nullable


def call_of_choice(node: Any) -> Any:
    """``fn(if(t, a, b), c, …)  →  if(t, fn(a, c, …), fn(b, c, …))`` of constants a, b, c, …"""
    match node:
        case Call(name, args) if name != "if":
            chosen = [i for i, arg in enumerate(args) if _is_choice(arg)]
            if len(chosen) != 1 or not all(isinstance(arg, Const) or _is_choice(arg) for arg in args):
                return None
            (at,), choice = chosen, args[chosen[0]]
            assert isinstance(choice, Call)
            test, *branches = choice.args
            ends = [constant_call(Call(name, (*args[:at], end, *args[at + 1 :]))) for end in branches]
            type_ = term_type(node)
            if all(isinstance(end, Const) for end in ends) and isinstance(type_, Scalar):
                return Call("if", (test, *(Const(end.value, type_) for end in ends)))
    return None


def _is_choice(term: Term) -> bool:
    return (
        isinstance(term, Call) and term.function == "if" and all(isinstance(b, Const) for b in term.args[1:])
    )


def guard_choice(node: Any) -> Any:
    """``[if(t, true, false)]  →  [t]``, and so for null: a guard takes it for false"""
    match node:
        case Guard(Call("if", (test, Const(True), Const(False | None)))):
            return Guard(test)
    return None


SIMPLIFICATIONS: tuple[Rule, ...] = (
    by_construction,
    for_over_singleton,
    for_collecting,
    for_under_negation,
    for_over_for,
    negate_union,
    cancel_opposites,
    flatten_singleton,
    flatten_union,
    distinct_twice,
    guard_constant,
    guard_choice,
    field_of_tuple,
    connective_unit,
    multiplied_constant,
    constant_call,
    null_of_strict,
    of_nullable,
    call_of_choice,
)
