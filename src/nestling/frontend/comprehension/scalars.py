"""Scalars: constants, arithmetic, conditional expressions and f-strings."""

from __future__ import annotations

import ast

from nestling.calculus.build import call, const
from nestling.calculus.functions import FUNCTIONS
from nestling.calculus.terms import Call, Const, Term
from nestling.calculus.types import NUMERIC, Scalar, show_type
from nestling.frontend.comprehension.bags import chosen, combined
from nestling.frontend.comprehension.capture import capture
from nestling.frontend.comprehension.conditions import of_not, test
from nestling.frontend.comprehension.context import PythonEnv
from nestling.frontend.comprehension.convert import applied, scalar, scalar_of, scalar_type
from nestling.frontend.comprehension.nulls import facts, is_nullable, narrowed, negated
from nestling.frontend.comprehension.refuse import refusal
from nestling.frontend.comprehension.values import Items, article, shown
from nestling.frontend.values import Many, Null, One, Row, Some, Value, fields_of

_ARITHMETIC: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip


def of_constant(node: ast.Constant, env: PythonEnv) -> Value:
    """A literal."""
    return capture(node.value, node, env)


def of_binop(node: ast.BinOp, env: PythonEnv) -> Value:
    """Arithmetic of scalars, or an operator on bags."""
    left, right = env.value(node.left), env.value(node.right)
    if isinstance(left, Many | Items) or isinstance(right, Many | Items):
        return combined(node, left, right, env)
    if type(node.op) not in _ARITHMETIC:
        if isinstance(node.op, ast.BitOr | ast.BitAnd | ast.BitXor):
            raise env.error(node, "bits are not combined", "write and, or, != for bools")
        raise refusal(node.op)
    terms = [scalar_of(left, node.left, env), scalar_of(right, node.right, env)]
    return One(applied(_ARITHMETIC[type(node.op)], terms, node, env))


def of_unary(node: ast.UnaryOp, env: PythonEnv) -> Value:
    """``-x``, ``+x``, ``not x``."""
    match node.op:
        case ast.Not():
            return of_not(node, env)
        case ast.USub():
            return One(_negative(applied("neg", [scalar(node.operand, env)], node, env, "-")))
        case ast.UAdd():
            term = scalar(node.operand, env)
            applied("neg", [term], node, env, "+")
            return One(term)
    raise refusal(node.op)


def _negative(term: Term) -> Term:
    """``-t``; of a literal it is one."""
    match term:
        case Call("neg", (Const(value, type_),)):
            return Const(-value, type_)
    return term


def of_conditional(node: ast.IfExp, env: PythonEnv) -> Value:
    """``a if test else b``: of scalars a term, of records field by field, of bags two guarded bags."""
    holds = test(node.test, env)
    yes, no = env.knowing(facts(holds)), env.knowing(facts(holds, False))
    then = env.run.lazily(holds, lambda: narrowed(_branch(node.body, yes), yes.known))
    otherwise = env.run.lazily(negated(holds), lambda: narrowed(_branch(node.orelse, no), no.known))
    return choice(holds, then, otherwise, node, env)


def _branch(node: ast.expr, env: PythonEnv) -> Value:
    value = env.value(node)
    return One(scalar_of(value, node, env)) if isinstance(value, Some) else value


def choice(holds: Term, then: Value, otherwise: Value, node: ast.expr, env: PythonEnv) -> Value:
    """``then`` where ``holds``, else ``otherwise``."""
    if isinstance(then, Many | Items) or isinstance(otherwise, Many | Items):
        return chosen(holds, then, otherwise, node, env)
    one, two = fields_of(then), fields_of(otherwise)
    if one is not None and two is not None and len(one) == len(two):
        pairs = zip(one, two, strict=True)
        return Row(tuple((name, choice(holds, a, b, node, env)) for (name, a), (_, b) in pairs))
    if one is not None or two is not None:
        what = f"the branches differ: {shown(then)} and {shown(otherwise)}"
        raise env.error(node, what, "give both the same fields")
    if isinstance(then, Null) and isinstance(otherwise, Null):
        return then
    return One(_conditional(holds, *_both(then, otherwise, node, env), node, env))


def _both(then: Value, otherwise: Value, node: ast.expr, env: PythonEnv) -> tuple[Term, Term]:
    """Both branches as terms; ``None`` takes the type of the other."""
    if isinstance(then, Null):
        term = scalar_of(otherwise, node, env)
        return _none(term), term
    term = scalar_of(then, node, env)
    return term, _none(term) if isinstance(otherwise, Null) else scalar_of(otherwise, node, env)


def _none(term: Term) -> Const:
    return Const(None, Scalar(scalar_type(term).name, True))


def _conditional(holds: Term, then: Term, otherwise: Term, node: ast.expr, env: PythonEnv) -> Term:
    match holds, then:
        case Call("not", (Call("is_null", (term,)),)), Call("coalesce", (same, _)) if term == same:
            # x if x is not None else y
            function, args = "coalesce", [term, otherwise]
        case _:
            function, args = "if", [holds, then, otherwise]
    if FUNCTIONS[function].result([scalar_type(arg) for arg in args]) is None:
        types = f"{show_type(scalar_type(then))} and {show_type(scalar_type(otherwise))}"
        raise env.error(node, f"the branches have no type in common: {types}", "convert one of them")
    return call(function, *args)


def of_fstring(node: ast.JoinedStr, env: PythonEnv) -> Value:
    """``f"{a}-{b}"`` of strings, ints and bools: their texts, added up."""
    parts = [_formatted(part, env) for part in node.values]
    result = parts[0] if parts else const("")
    for part in parts[1:]:
        result = call("+", result, part)
    return One(result)


def _formatted(part: ast.expr, env: PythonEnv) -> Term:
    match part:
        case ast.FormattedValue(value, conversion, spec):
            if conversion not in (-1, ord("s")) or spec is not None:
                raise env.error(value, "a format in an f-string is not supported", "write {x} alone")
            return text(scalar(value, env), value, env)
    return scalar(part, env)


def text(term: Term, node: ast.expr, env: PythonEnv) -> Term:
    """``str(term)``, also of ``None``."""
    if scalar_type(term).name not in ("int", "bool", "str"):
        raise env.error(
            node,
            f"the text of {article(scalar_type(term).name)} is not supported",
            "show strings, ints and bools",
        )
    found = term if scalar_type(term).name == "str" else call("to_str", term)
    return call("coalesce", found, const("None")) if is_nullable(found) else found


def number(term: Term, function: str, node: ast.expr, env: PythonEnv) -> Term:
    """``int(term)`` or ``float(term)``; true is 1."""
    if scalar_type(term).name == "bool":
        term = call("if", term, const(1), const(0))
    if scalar_type(term).name not in NUMERIC:
        name = function.removeprefix("to_")
        raise env.error(
            node,
            f"{name} of {article(scalar_type(term).name)} is not supported",
            "convert it before it is stored",
        )
    return call(function, term)
