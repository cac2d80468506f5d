"""Partial functions made total, and beside the query another one that says where it has no value.

``total(h)`` puts some value where a division has none, so it can be computed in any order and kept through any states
in between. ``undefined(h)`` is the bag of the texts of the terms that have no value, each where the reference would ask
for it: behind the guards that stand before it, for every element that leads there. Both are queries like any other, and
are maintained like any other: whether a view has a value is then known after a change from the change alone.

Law (19): ``h`` has a value iff ``undefined(h)`` is empty, and then ``total(h)`` has the same. Both always have one.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, assert_never

from nestling.calculus.aggregates import AGGREGATES
from nestling.calculus.build import FALSE, TRUE, call, const, countwise, empty, for_, let, union, where
from nestling.calculus.functions import FUNCTIONS, total_name
from nestling.calculus.once import once
from nestling.calculus.partial import disjuncts, undefined_where
from nestling.calculus.show import show
from nestling.calculus.terms import (
    BagVar,
    Call,
    Const,
    CountWise,
    Empty,
    Expr,
    First,
    Flatten,
    Fold,
    For,
    Group,
    Guard,
    InputChange,
    Let,
    Lookup,
    Negate,
    Product,
    Relation,
    Sing,
    SingBag,
    Term,
    Union,
    Var,
)
from nestling.calculus.traverse import children, is_term, map_children, walk
from nestling.calculus.types import BOOL, STR, Scalar
from nestling.calculus.typing import element_type, term_type

#: Comparisons seen from the other side.
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}

#: What is said where ``only`` has no value: nobody wrote it.
ONLY = "the element of a collection of none or several"

#: Conditions that hold where an expression is asked for.
Known = frozenset[Term]


@once
def total(node: Any) -> Any:
    """``node`` with a value wherever it is asked: some value where there is none."""
    inner = map_children(node, total)
    if isinstance(inner, Fold) and _may_be_absent(inner):
        return Fold(inner.var, f"some_{inner.aggregate}", inner.source, inner.body)
    absent = undefined_where(inner) if isinstance(inner, Call) else None
    if absent is None:
        return inner
    # What was made total itself is not written once more: divisions inside one another would double with each.
    made = [new for new, old in zip(inner.args, node.args, strict=True) if new is not old]
    if made and any(part is new for part in walk(absent) for new in made):
        return Call(total_name(inner.function), (_some(inner), *inner.args))
    return call("if", absent, _some(inner) if inner.args[0] is not node.args[0] else _instead(inner), inner)


def _may_be_absent(fold: Fold) -> bool:
    """Whether a mean or variance may be too large for a float: that of ints of any length, or of such decimals."""
    element = element_type(fold.source)
    if not isinstance(element, Scalar) or element.size or f"no_{fold.aggregate}" not in AGGREGATES:
        return False
    return element.name == "int" or (element.name == "decimal" and fold.aggregate != "avg")


#: A value of each type, which nobody sees.
SOME: dict[str, Any] = {
    "bool": False, "int": 0, "float": 0.0, "decimal": Decimal(0), "str": "", "bytes": b"",
    "date": date.min, "datetime": datetime.min, "time": time(), "timedelta": timedelta(0),
}  # fmt: skip


def _instead(term: Call) -> Term:
    """A value of the type of ``term``; of a division what is divided, which is null where the whole is."""
    type_, first = term_type(term), term_type(term.args[0])
    assert isinstance(type_, Scalar) and isinstance(first, Scalar)
    # Not an int in place of a float: it may be too large for one.
    if (FUNCTIONS[term.function].precedence or term.function == "quotient") and first.name == type_.name:
        return term.args[0]
    return _some(term)


def _some(term: Call) -> Const:
    """A value of the type of ``term``."""
    type_ = term_type(term)
    assert isinstance(type_, Scalar)
    return Const(SOME[type_.name], Scalar(type_.name))


def undefined(query: Expr) -> Expr:
    """The texts of the terms of ``query`` that have no value; ``∅`` where that cannot be.

    >>> from nestling.calculus.parse import parse, parse_type
    >>> R = {"R": parse_type("Bag(⟨a: int, b: int⟩)")}
    >>> print(show(undefined(parse("for x in R where x.a > 0 union sng(x.a // x.b)", R))))
    exists(for x in R where x.a > 0 union for _ in [x.b == 0] union sng('x.a // x.b'))
    >>> print(show(undefined(parse("for x in R where x.b != 0 union sng(x.a // x.b)", R))))
    ∅[str]
    """
    return countwise("exists", _in(query, frozenset()))


def _in(expr: Expr, known: Known) -> Expr:
    match expr:
        case Relation() | InputChange() | BagVar() | Empty():
            return empty(STR)
        case Sing(term) | Guard(term) | Lookup(_, term):
            return _in_term(term, known)
        case For(var, source, body):
            holds = known | _conjuncts(total(source.test)) if isinstance(source, Guard) else known
            inside = for_(var, _support(source), _in(body, holds))
            return union(STR, _in(source, known), inside)
        case Fold(var, aggregate, source, body):
            inside = _in(body, known)
            if not isinstance(inside, Empty):
                given = f"some_{aggregate}" if _may_be_absent(expr) else aggregate
                inside = Fold(var, given, total(source), inside)
            return union(STR, _in(source, known), _too_large(expr), inside)
        case Let(var, bound, body):
            inside = let(var, total(bound), _in(body, known))
            return union(STR, _in(bound, known), inside)
        case Group(var, source, key, key_var, rows, body):
            keys = for_(var, _support(source), _in_term(key, known))
            inside = _in(body, known)
            if not isinstance(inside, Empty):
                inside = Group(var, total(source), total(key), key_var, rows, inside)
            return union(STR, _in(source, known), keys, inside)
        case Product() | Union() | Negate() | Flatten() | CountWise() | First() | SingBag():
            return union(STR, *(_in(child, known) for child in children(expr)))
        case _:
            assert_never(expr)


def _too_large(fold: Fold) -> Expr:
    """The text of an aggregate that has no value."""
    if not _may_be_absent(fold):
        return empty(STR)
    text = f"{fold.aggregate}({show(fold.source, width=1000)})"
    absent = Var(f"{fold.var.name}·absent", BOOL)
    return Fold(absent, f"no_{fold.aggregate}", total(fold.source), where(absent, Sing(const(text))))


def _support(source: Expr) -> Expr:
    """What is gone through: elements of a negative count too, which must not cancel others."""
    made: Expr = total(source)
    return countwise("exists", made) if any(isinstance(node, Negate) for node in walk(made)) else made


def _in_term(term: Term, known: Known) -> Expr:
    found = [(_text(node), absent) for node, absent in _absences(term, TRUE)]
    # Conditions of different variables stay apart: each then changes with few.
    texts: dict[tuple[str, frozenset[str]], Term] = {}
    for text, absent in found:
        if not _excluded(absent, known):
            place = text, frozenset(node.name for node in walk(absent) if isinstance(node, Var))
            texts[place] = _or(texts.get(place, FALSE), absent)
    return union(STR, *(where(absent, Sing(const(text))) for (text, _), absent in texts.items()))


def _text(term: Term) -> str:
    """What has no value, for its reader: as it is written, or the element that is not the only one."""
    return ONLY if isinstance(term, Call) and term.function == "only" else show(term, width=1000)


def _absences(term: Any, asked: Term) -> list[tuple[Term, Term]]:
    """The calls in ``term`` that may have no value, each with the condition under which it is asked and has none."""
    match term:
        case Call("if", (test, then, otherwise)):
            holds = _is(total(test), True)
            return [
                *_absences(test, asked),
                *_absences(then, _and(asked, holds)),
                *_absences(otherwise, _and(asked, call("not", holds))),
            ]
        case Call("and" | "or" as name, (left, right)):
            decided = _is(total(left), name == "or")
            return [*_absences(left, asked), *_absences(right, _and(asked, call("not", decided)))]
    inner = [found for child in children(term) if is_term(child) for found in _absences(child, asked)]
    absent = undefined_where(map_children(term, total)) if isinstance(term, Call) else None
    return [
        *inner,
        *((term, _and(asked, part)) for part in (disjuncts(absent) if absent is not None else ())),
    ]


def _is(test: Term, value: bool) -> Term:
    """Whether ``test``, which may be null, is ``value``."""
    type_ = term_type(test)
    if isinstance(type_, Scalar) and type_.nullable:
        test = call("coalesce", test, const(not value))
    return test if value else call("not", test)


def _and(left: Term, right: Term) -> Term:
    return right if left == TRUE else call("and", left, right)


def _or(left: Term, right: Term) -> Term:
    return right if left == FALSE else call("or", left, right)


def _excluded(absent: Term, known: Known) -> bool:
    """Whether a condition that holds says that ``absent`` does not: a divisor is guarded by what excludes zero."""
    return any(_never_with(part, known | (_conjuncts(absent) - {part})) for part in _conjuncts(absent))


def _never_with(part: Term, known: Known) -> bool:
    if call("not", part) in known:
        return True
    match part:
        case Call("==", (divisor, Const(0))):
            return any(_is_not_zero(test, divisor) for test in known)
    return False


def _is_not_zero(test: Term, divisor: Term) -> bool:
    match test:
        case Call("not", (Call("==" | "=", sides),)) | Call("!=", sides):
            return divisor in sides and any(isinstance(side, Const) and side.value == 0 for side in sides)
        case Call(name, (Const(bound), other)) if other == divisor:
            return _excludes_zero(_MIRRORED.get(name, ""), bound)
        case Call(name, (other, Const(bound))) if other == divisor:
            return _excludes_zero(name, bound)
    return False


def _excludes_zero(name: str, bound: Any) -> bool:
    """Whether zero does not compare with ``bound`` like this."""
    if bound is None:
        return False
    test = {"<": bound > 0, "<=": bound >= 0, ">": bound < 0, ">=": bound <= 0, "==": bound == 0}
    return not test.get(name, True)


def _conjuncts(test: Term) -> frozenset[Term]:
    match test:
        case Call("and", (left, right)):
            return _conjuncts(left) | _conjuncts(right)
        case Call("not", (Call("or", (left, right)),)):
            return _conjuncts(call("not", left)) | _conjuncts(call("not", right))
        case Call("not", (Call("not", (inner,)),)):
            return _conjuncts(inner)
    return frozenset({test})
