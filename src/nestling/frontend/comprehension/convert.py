"""From what an expression stands for to what its place needs: a scalar, a bag, a value of a common type."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from nestling.calculus.build import call, const, countwise, for_, union
from nestling.calculus.functions import FUNCTIONS
from nestling.calculus.maps import KEY, is_map
from nestling.calculus.terms import Const, Expr, Field, Sing, Term, Var
from nestling.calculus.types import BOOL, Bag, Record, Scalar, Type, is_base, show_type
from nestling.calculus.typing import element_type, term_type
from nestling.errors import QueryError
from nestling.frontend.comprehension.context import PythonEnv
from nestling.frontend.comprehension.values import Items, Sorted, shown
from nestling.frontend.values import (
    Data,
    Many,
    Null,
    One,
    Row,
    Some,
    Value,
    data,
    fields_of,
    of_term,
    singleton,
    there,
    type_of,
    without_positions,
)


def scalar(node: ast.expr, env: PythonEnv) -> Term:
    """The scalar term of ``node``."""
    return scalar_of(env.value(node), node, env)


def scalar_of(value: Value, node: ast.expr, env: PythonEnv) -> Term:
    """``value`` as a scalar term; the truth of a bag becomes a count compared with 0."""
    match value:
        case One(term) if isinstance(term_type(term), Scalar):
            return term
        case Some(expr, holds):
            return call("!=" if holds else "==", env.run.fold("count", expr), const(0))
        case Null():
            raise env.error(
                node,
                "None has no type here",
                "compare with is None, or give it an alternative: x if … else None",
            )
        case Many() | Items():
            hint = "aggregate it: sum(…), len(…), min(…), max(…), any(…), all(…)"
            raise env.error(node, f"a scalar is needed here, not {shown(value)}", hint)
        case One() | Row():
            raise env.error(
                node, f"a scalar is needed here, not the record {shown(value)}", "pick one of its fields"
            )
    raise env.error(node, f"a value is needed here, not {shown(value)}", "call it, or use a column")


def scalar_type(term: Term) -> Scalar:
    """The type of a term known to be a scalar."""
    type_ = term_type(term)
    return type_ if isinstance(type_, Scalar) else BOOL


def bag(node: ast.expr, env: PythonEnv) -> Many:
    """The bag of ``node``."""
    return bag_of(env.value(node), node, env)


def bag_of(value: Value, node: ast.expr, env: PythonEnv) -> Many:
    """What iterating over ``value`` yields."""
    match value:
        case Many(expr, "dict"):
            var = Var(env.run.names.fresh("d"), element_type(expr))
            return Many(for_(var, expr, Sing(Field(var, "key"))), "set")
        case Many() if is_map(type_of(value)):
            entry = Var(env.run.names.fresh("d"), element_type(value.expr))
            return Many(for_(entry, value.expr, Sing(Field(entry, KEY))), "set")
        case Many():
            return without_positions(value, env.run.names, env.run.site)
        case One() | Row() if there(value) is not None and fields_of(value) is None:
            raise env.error(
                node, "this may be None", "write the view in SQL: there explode(…) of NULL has no rows"
            )
        case Sorted():
            raise _lost(node, env)
        case Items(values, form):
            return written_out([stored(item, node, env) for item in values], form, node, env)
        case Row(fields, False):
            return written_out([stored(field, node, env) for _, field in fields], "list", node, env)
        case One(term) if term_type(term) in (Scalar("str"), Scalar("str", True)):
            raise env.error(node, "a string is not a bag", "compare it, or look into it: 'a' in text")
        case One() | Row() if fields_of(value) is not None:
            raise env.error(
                node, f"a record is not a bag: {shown(value)}", "iterate over a table or an inner bag"
            )
    raise env.error(
        node,
        f"a bag is needed here, not {shown(value)}",
        "iterate over a table, an inner bag or a comprehension",
    )


def written_out(values: Sequence[Data], form: str, node: ast.expr, env: PythonEnv) -> Many:
    """The bag of ``values``, brought to one type; of a set each once."""
    if not values:
        raise env.error(
            node, "the type of an empty list is not known here", "[x for x in table if False] is empty, too"
        )
    type_ = type_of(values[0])
    for value in values[1:]:
        type_ = joined(type_, type_of(value), node, env)
    parts = [singleton(converted(value, type_, env), env.run.site) for value in values]
    expr = union(type_, *parts)
    return Many(distinct(expr, node, env), "set") if form == "set" else Many(expr)


def distinct(expr: Expr, node: ast.expr, env: PythonEnv) -> Expr:
    """``expr`` as a set; as in Python, its elements hold no lists."""
    if not is_base(element_type(expr)):
        raise env.error(
            node,
            f"the elements of a set hold no bags: {show_type(element_type(expr))}",
            "keep a list, or take the set of their scalar fields",
        )
    return countwise("distinct", expr)


def stored(value: Value, node: ast.expr, env: PythonEnv) -> Data:
    """``value`` as what may stand in a row."""
    refuse_generator(value, node, env, "not computed where it stands")
    match value:
        case One():
            return value
        case Row(fields):
            return replace(value, fields=tuple((name, stored(field, node, env)) for name, field in fields))
        case Many():
            return value
        case Items():
            return bag_of(value, node, env)
        case Sorted():
            raise _lost(node, env)
        case Some():
            return One(scalar_of(value, node, env))
        case Null():
            raise env.error(
                node, "the type of None is not known here", "write x if … else None, where x has the type"
            )
        case _:  # a function, a class, a module, or a name that must not be used
            raise env.error(node, f"a value is needed here, not {shown(value)}", "call it, or use a column")


def _lost(node: ast.expr, env: PythonEnv) -> QueryError:
    what = "an order is kept at the end of a view, or in a list inside its rows: here it would be lost"
    return env.error(
        node, what, "sort last: sorted([… for x in …], key=…), or take the first k: sorted(…)[:k]"
    )


def refuse_generator(value: Value, node: ast.expr, env: PythonEnv, what: str) -> None:
    """Raise where Python would take a generator for an object and not for its elements."""
    if isinstance(value, Many) and value.form == "generator":
        raise env.error(node, f"a generator is {what}", "write a list: […]")


def joined(left: Type, right: Type, node: ast.expr, env: PythonEnv) -> Type:
    """The type that holds values of both; the names of fields are those of ``left``."""
    found = _joined(left, right)
    if found is None:
        raise env.error(
            node,
            f"these have no type in common: {show_type(left)} and {show_type(right)}",
            "give both the same fields, in the same order",
        )
    return found


def _joined(left: Type, right: Type) -> Type | None:
    match left, right:
        case Scalar(), Scalar():
            return FUNCTIONS["if"].result([BOOL, left, right])
        case Bag(one), Bag(two):
            element = _joined(one, two)
            return Bag(element) if element is not None else None
        case Record(one_fields), Record(two_fields) if len(one_fields) == len(two_fields):
            pairs = zip(one_fields, two_fields, strict=True)
            parts = [(name, _joined(one, two)) for (name, one), (_, two) in pairs]
            found = tuple((name, part) for name, part in parts if part is not None)
            return Record(found) if len(found) == len(parts) else None
    return None


def converted(value: Data, type_: Type, env: PythonEnv) -> Data:
    """``value``, whose type joins with ``type_``, as one of ``type_``."""
    if type_of(value) == type_:
        return value
    fields = fields_of(value)
    if isinstance(type_, Record) and fields is not None:
        pairs = zip(type_.fields, fields, strict=True)
        return Row(tuple((name, converted(data(part), field, env)) for (name, field), (_, part) in pairs))
    if isinstance(type_, Bag) and isinstance(value, Many):
        return Many(elementwise(value.expr, type_.element, env), value.form)
    if isinstance(value, One) and isinstance(type_, Scalar):
        return One(_cast(value.term, type_))
    raise QueryError(f"{shown(value)} is not {show_type(type_)}")


def elementwise(expr: Expr, element: Type, env: PythonEnv) -> Expr:
    """``expr`` with every element as one of ``element``."""
    if element_type(expr) == element:
        return expr
    var = Var(env.run.names.fresh("x"), element_type(expr))
    part = converted(of_term(var), element, env)
    return for_(var, expr, singleton(part, env.run.site))


def _cast(term: Term, type_: Scalar) -> Term:
    if scalar_type(term).name != type_.name:
        zero = Const(Decimal(0), Scalar("decimal"))
        term = call("to_float", term) if type_.name == "float" else call("+", term, zero)
    return call("nullable", term) if type_.nullable and not scalar_type(term).nullable else term


def added(left: Value, right: Value, node: ast.expr, env: PythonEnv) -> Value:
    """``left + right`` of two lists."""
    if isinstance(left, Items) and isinstance(right, Items):
        return Items((*left.values, *right.values))
    for empty, other in ((left, right), (right, left)):
        if isinstance(empty, Items) and not empty.values:
            return other
    one, two = bag_of(left, node, env).expr, bag_of(right, node, env).expr
    type_ = joined(element_type(one), element_type(two), node, env)
    return Many(union(type_, elementwise(one, type_, env), elementwise(two, type_, env)))


def applied(function: str, terms: Sequence[Term], node: ast.expr, env: PythonEnv, name: str = "") -> Term:
    """``function(terms)``, checked; ``name`` is what the user wrote for it."""
    types = [scalar_type(term) for term in terms]
    if FUNCTIONS[function].result(types) is None:
        got = " and ".join(show_type(type_) for type_ in types)
        raise env.error(
            node, f"{name or function} takes {FUNCTIONS[function].takes}, not {got}", "convert one side first"
        )
    return call(function, *terms)
