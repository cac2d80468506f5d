"""Types of terms and expressions, and the check that they are well formed.

``type_of`` trusts its argument; ``check`` trusts nothing. Both speak of one node at a time, so a front end
that checks while it builds can attach the place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, assert_never

from nestling.calculus.aggregates import AGGREGATES
from nestling.calculus.countwise import OPERATORS
from nestling.calculus.functions import FUNCTIONS
from nestling.calculus.once import once
from nestling.calculus.show import brief
from nestling.calculus.sizes import call_size, of_total, widest
from nestling.calculus.terms import (
    BagVar,
    Call,
    Const,
    CountWise,
    DictEmpty,
    DictInput,
    Dictionary,
    DictLit,
    DictUnion,
    Empty,
    Expr,
    Field,
    First,
    Flatten,
    Fold,
    For,
    Group,
    Guard,
    InL,
    InputChange,
    Let,
    Lookup,
    Negate,
    Node,
    Product,
    Relation,
    Sing,
    SingBag,
    Term,
    Tuple,
    Union,
    Var,
)
from nestling.calculus.traverse import binders, children, height, scopes, walk
from nestling.calculus.types import (
    LABEL,
    UNIT,
    Bag,
    Record,
    Scalar,
    Type,
    is_base,
    show_type,
)
from nestling.depth import MOST_LEVELS
from nestling.errors import QueryError


@once
def term_type(term: Term) -> Type:
    """The type of a well-formed term."""
    match term:
        case Var(_, type_):
            return type_
        case Const(_, type_):
            return type_
        case Field(record, name):
            return _field(record, name)
        case Tuple(items):
            return Record(tuple((name, term_type(item)) for name, item in items))
        case Call(function, args):
            return _call(function, args)
        case InL():
            return LABEL
        case _:
            assert_never(term)


def element_type(expr: Expr) -> Type:  # noqa: C901 - one arm per node
    """The type of the elements of a well-formed expression."""
    while isinstance(expr, For | Let | Fold | Negate | Group):  # that of the innermost body: loops stand deep
        expr = expr.body
    match expr:
        case Relation(_, type_) | InputChange(_, type_) | BagVar(_, type_) | Empty(type_):
            return type_.element
        case Sing(element):
            return term_type(element)
        case SingBag(_, body, opaque):
            return Bag(element_type(body), opaque)
        case Guard():
            return UNIT
        case Product(factors):
            return Record(tuple((name, element_type(factor)) for name, factor in factors))
        case Union(terms):
            return widest([element_type(term) for term in terms])
        case Flatten(body):
            return _inner(body)
        case CountWise(_, args):
            return widest([element_type(arg) for arg in args])
        case First(_, source):
            return element_type(source)
        case Lookup(dictionary, _):
            return dictionary_element(dictionary)
        case _:
            assert_never(expr)


def type_of(expr: Expr) -> Bag:
    """``Bag(C)`` for the element type C of ``expr``."""
    return Bag(element_type(expr))


def dictionary_element(dictionary: Dictionary) -> Type:
    """The element type C of a dictionary ``Label ↦ Bag(C)``."""
    match dictionary:
        case DictLit(_, _, body):
            return element_type(body)
        case DictInput(_, _, element) | DictEmpty(element):
            return element
        case DictUnion(parts):
            return dictionary_element(parts[0])
        case _:
            assert_never(dictionary)


def check(node: Any, scope: Mapping[str, Var | BagVar] | None = None) -> None:
    """Raise ``QueryError`` unless ``node`` is well typed, closed under ``scope``, and shadows nothing.

    Law: after ``check(e)``, ``evaluate(e, db)`` yields a bag of ``element_type(e)`` for every ``db`` that
    has the types of its relations (scalar functions may still refuse a value: a division by zero).
    """
    # A definition sees its label's environment and nothing else, so its body is closed under its parameters.
    scope = {} if isinstance(node, DictLit) else scope or {}
    if isinstance(node, Call):
        # It binds nothing: what holds of it holds in every scope that has its variables.
        for var in _checked_call(node).values():
            _bound(var, scope)
        return
    if isinstance(node, Var | BagVar):
        _bound(node, scope)
    if bound := binders(node):
        _check_binding(node, bound, scope)
    else:
        for child in children(node):
            check(child, scope)
    check_node(node)


def _check_binding(node: Any, bound: Sequence[Var | BagVar], scope: Mapping[str, Var | BagVar]) -> None:
    """The children of a node that binds, each in the scope it has."""
    _distinct_names([var.name for var in bound if var.name != "_"], node)
    own = {var.name: var for var in bound}
    for name in [name for name in own if name in scope and name != "_"]:
        raise QueryError(f"{name!r} is bound twice in {brief(node)}", hint="rename one of the two variables")
    for child, names in scopes(node):
        check(child, {**scope, **{name: own[name] for name in names}} if names else scope)


@once
def _checked_call(call: Call) -> Mapping[str, Var]:
    """The variables of ``call``, which is well formed where these are bound."""
    found: dict[str, Var] = {}
    for arg in call.args:
        if isinstance(arg, Call):
            _merge(found, _checked_call(arg))
        else:
            used = {node.name: node for node in walk(arg) if isinstance(node, Var)}
            check(arg, used)
            _merge(found, used)
    check_node(call)
    return found


def _merge(found: dict[str, Var], more: Mapping[str, Var]) -> None:
    for name, var in more.items():
        _bound(var, {name: found.setdefault(name, var)})


def check_node(node: Node) -> None:  # noqa: C901 - one arm per node
    """The rule of one node, its children taken as well formed."""
    match node:
        case Call():
            _ = term_type(node)
            _bounded(node)
        case Field():
            _ = term_type(node)
        case Flatten():
            _ = element_type(node)
        case Tuple(items) | Product(items):
            _distinct_names([name for name, _ in items], node)
        case Const():
            _constant(node)
        case Guard(test):
            _expect_bool(test)
        case Let(var, bound, _):
            _agree(var, Bag(element_type(bound)))
        case For(var, source, _):
            _agree(var, element_type(source))
        case Union(terms):
            _alike("⊎", [element_type(term) for term in terms])
        case CountWise(operator, args):
            _countwise(operator, args)
        case First(limit) if limit < 0:
            raise QueryError(f"first(k, …) needs k ≥ 0, not {limit}", hint="take 0 or more elements")
        case Fold(var, aggregate, source, _):
            _agree(var, fold_type(aggregate, source))
        case Group(var, source, key, key_var, rows, _):
            _group(var, source, key, key_var, rows)
        case Lookup(_, label):
            if term_type(label) != LABEL:
                raise QueryError(f"{brief(label)} is not a label", hint="look up labels only")
        case DictUnion(parts):
            _alike("∪", [dictionary_element(part) for part in parts])
        case Var() | InL() | Relation() | InputChange() | BagVar() | Empty() | Sing() | SingBag() | Negate():
            pass  # of any children
        case First() | DictLit() | DictInput() | DictEmpty():
            pass
        case _:
            assert_never(node)


def _bounded(term: Call) -> None:
    if height(term) > MOST_LEVELS:
        raise QueryError(
            f"nested too deeply: more than {MOST_LEVELS:,} levels",
            hint="split it into views that read each other",
        )


def fold_type(aggregate: str, source: Expr) -> Scalar:
    """The type of ``aggregate(source)``."""
    if aggregate not in AGGREGATES:
        raise QueryError(f"there is no aggregate {aggregate!r}", hint=f"one of {', '.join(AGGREGATES)}")
    element = element_type(source)
    result = AGGREGATES[aggregate].result(element)
    if result is None:
        raise QueryError(
            f"{aggregate} does not take elements of type {show_type(element)}",
            hint="aggregate one scalar per element, nulls left out: for x in … union sng(x.field)",
        )
    if aggregate == "sum" and isinstance(element, Scalar):
        return replace(result, size=of_total(element))
    return result


def _field(record: Term, name: str) -> Type:
    type_ = term_type(record)
    match type_:
        case Record(fields):
            found = dict(fields).get(name)
            if found is not None:
                return found
            raise QueryError(
                f"field {name!r} is not in {show_type(type_)}", hint=_field_hint(record, type_, name)
            )
        case Bag():
            raise QueryError(
                f"{brief(record)} is a bag and has no field {name!r}",
                hint=f"iterate over it: for x in flatten(sng({brief(record)})) union … x.{name}",
            )
        case _:
            raise QueryError(
                f"{brief(record)} is a {show_type(type_)} and has no fields", hint=f"drop .{name}"
            )


def _field_hint(record: Term, type_: Record, name: str) -> str:
    for outer, field in type_.fields:
        if isinstance(field, Bag) and isinstance(field.element, Record) and name in field.element.names:
            return f"{name} belongs to the elements of {brief(record)}.{outer}"
    close = get_close_matches(name, type_.names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"the fields are {', '.join(type_.names)}" if type_.names else "this record has no fields"


def _call(name: str, args: tuple[Term, ...]) -> Type:
    function = FUNCTIONS.get(name)
    if function is None:
        close = get_close_matches(name, FUNCTIONS, n=1)
        raise QueryError(
            f"there is no function {name!r}", hint=f"did you mean {close[0]!r}?" if close else ""
        )
    if len(args) < function.arity or (len(args) > function.arity and not function.many):
        raise QueryError(f"{name} takes {_count(function.arity, 'argument')}, not {len(args)}")
    types = [_scalar(name, arg) for arg in args]
    result = function.result(types)
    if result is None:
        got = " and ".join(show_type(type_) for type_ in types)
        raise QueryError(f"{name} takes {function.takes}, not {got}", hint="convert one side first")
    size = call_size(name, types, args)
    found = replace(result, size=size) if size != result.size else result
    return Bag(found, opaque=True) if function.bag else found


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _scalar(function: str, arg: Term) -> Scalar:
    match term_type(arg):
        case Scalar() as type_:
            return type_
        case Bag():
            hint = (
                "compare bags by content: fold n := count(differ(e₁, e₂)) in [n == 0]"
                if function in ("==", "!=", "=", "<", "<=", ">", ">=")
                else "aggregate the bag first: fold x := sum(…) in …"
            )
            raise QueryError(f"{brief(arg)} is a bag where {function} needs a scalar", hint=hint)
        case other:
            raise QueryError(
                f"{brief(arg)} is a {show_type(other)} where {function} needs a scalar",
                hint="pick one field of the record",
            )


def _inner(body: Expr) -> Type:
    match element_type(body):
        case Bag(element):
            return element
        case other:
            raise QueryError(
                f"flatten needs a bag of bags, but the elements of {brief(body)} are {show_type(other)}",
                hint="drop flatten, or flatten a field: flatten(for x in … union sng(x.items))",
            )


def _bound(var: Var | BagVar, scope: Mapping[str, Var | BagVar]) -> None:
    binder = scope.get(var.name) if var.name != "_" else None
    if binder is None:
        close = get_close_matches(var.name, scope, n=1)
        in_scope = f"in scope: {', '.join(scope)}" if scope else "no variable is in scope here"
        raise QueryError(
            f"{var.name!r} is not bound", hint=f"did you mean {close[0]!r}?" if close else in_scope
        )
    if binder != var:
        raise QueryError(
            f"{var.name!r} is bound as {show_type(binder.type)} but used as {show_type(var.type)}"
        )


def _agree(var: Var | BagVar, type_: Type) -> None:
    if var.type != type_:
        raise QueryError(f"{var.name!r} is declared as {show_type(var.type)} but bound to {show_type(type_)}")


def _constant(node: Const) -> None:
    if node.value is None and node.type.nullable:
        return
    if type(node.value) not in _CLASSES[node.type.name]:
        raise QueryError(f"{node.value!r} is not a value of type {show_type(node.type)}")


_CLASSES: dict[str, tuple[type, ...]] = {
    "bool": (bool,), "int": (int,), "float": (float, int), "decimal": (Decimal, int), "str": (str,),
    "bytes": (bytes,), "date": (date,), "datetime": (datetime,), "time": (time,), "timedelta": (timedelta,),
}  # fmt: skip


def _alike(operator: str, types: list[Type]) -> None:
    if not types:
        raise QueryError(f"{operator} of nothing has no type", hint="write ∅[T]")
    for other in types[1:]:
        if other != types[0]:
            raise QueryError(
                f"{operator} joins bags of one type, not {show_type(types[0])} and {show_type(other)}",
                hint="give both sides the same fields, in the same order",
            )


def _countwise(name: str, args: tuple[Expr, ...]) -> None:
    operator = OPERATORS.get(name)
    if operator is None:
        raise QueryError(f"there is no operator {name!r}", hint=f"one of {', '.join(OPERATORS)}")
    if len(args) != operator.arity if operator.arity else len(args) < 2:
        raise QueryError(f"{name} takes {operator.arity or 'two or more'} bags, not {len(args)}")
    _alike(name, [element_type(arg) for arg in args])


def _expect_bool(test: Term) -> None:
    match term_type(test):
        case Scalar("bool"):
            return
        case other:
            raise QueryError(
                f"a condition is a bool, but {brief(test)} is a {show_type(other)}",
                hint="compare it: … == …, … < …, is_null(…)",
            )


def _group(var: Var, source: Expr, key: Term, key_var: Var, rows: BagVar) -> None:
    _agree(var, element_type(source))
    _agree(key_var, term_type(key))
    _agree(rows, Bag(element_type(source)))
    if not is_base(key_var.type):
        raise QueryError(
            f"a group's key is made of scalars, but {brief(key)} is a {show_type(key_var.type)}",
            hint="group by the scalar fields",
        )


def _distinct_names(names: list[str], node: Any) -> None:
    if len(set(names)) == len(names):
        return
    for name in names:
        if names.count(name) > 1:
            raise QueryError(f"field {name!r} stands twice in {brief(node)}", hint="rename one of them")
