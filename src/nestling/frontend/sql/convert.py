"""From what an expression stands for to what its place needs: a scalar, a truth, values of one type.

Numbers widen from BIGINT over DECIMAL to DOUBLE, a DATE becomes the TIMESTAMP of its first moment, and a string
that is written out becomes what the other side is. Nothing else is converted without a CAST.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

from nestling.calculus import standard
from nestling.calculus.build import FALSE, TRUE, call, const, empty, for_
from nestling.calculus.functions import FUNCTIONS
from nestling.calculus.library.clocks import read_time
from nestling.calculus.lists import is_list, item_type
from nestling.calculus.optional import ITEMS, THERE, held, is_optional, optional
from nestling.calculus.sizes import decimal_size, widest
from nestling.calculus.terms import Const, Expr, Term
from nestling.calculus.types import BOOL, Bag, Record, Scalar, Type, nullable
from nestling.calculus.typing import element_type, term_type
from nestling.frontend.sql.context import SqlEnv
from nestling.frontend.sql.values import shown, spark_type
from nestling.frontend.values import (
    DEFAULTS,
    Barred,
    Many,
    Null,
    One,
    Row,
    Value,
    bag_of,
    fields_of,
    of_term,
    singleton,
    there,
    type_of,
    without_positions,
)

_WIDTH = {"int": 0, "decimal": 1, "float": 2}
_READ: dict[str, Any] = {
    "int": standard.read_int, "float": standard.read_float, "date": standard.read_date, "bool": standard.read_bool,
    "datetime": standard.read_moment, "time": read_time, "decimal": lambda text: Decimal(standard.digits(text)),
}  # fmt: skip
NULL_BOOL = Const(None, nullable(BOOL))


def scalar(node: Any, env: SqlEnv) -> Term:
    """The scalar term of ``node``."""
    return scalar_of(env.value(node), node, env)


def scalar_of(value: Value, node: Any, env: SqlEnv) -> Term:
    """``value`` as a scalar term."""
    match value:
        case One(term) if isinstance(term_type(term), Scalar):
            return term
        case Null():
            raise env.error(node, "NULL has no type here", "write CAST(NULL AS BIGINT), or the type you mean")
        case Many():
            raise env.error(node, f"a scalar is needed here, not {shown(value)}", "explode or aggregate it")
        case Barred(what, hint):
            raise env.error(node, what, hint)
    raise env.error(node, f"a scalar is needed here, not {shown(value)}", "pick one of its fields")


def scalar_type(term: Term) -> Scalar:
    """The type of a term known to be a scalar."""
    type_ = term_type(term)
    return type_ if isinstance(type_, Scalar) else BOOL


def is_nullable(term: Term) -> bool:
    """Whether ``term`` may be null."""
    return scalar_type(term).nullable


def condition(node: Any, env: SqlEnv) -> Term:
    """The truth of ``node``: true, false or null."""
    value = env.value(node)
    if isinstance(value, Null):
        return NULL_BOOL
    term = scalar_of(value, node, env)
    if scalar_type(term).name != "bool":
        raise env.error(node, f"a condition is a BOOLEAN, not {shown(value)}", "compare it: … <> 0")
    return term


def truth_of(value: Value, node: Any, env: SqlEnv) -> Term:
    """``value`` as a truth."""
    return NULL_BOOL if isinstance(value, Null) else scalar_of(value, node, env)


def stored(value: Value, node: Any, env: SqlEnv) -> Value:
    """``value`` as what may stand in a row."""
    match value:
        case Null():
            raise env.error(node, "NULL has no type here", "write CAST(NULL AS BIGINT), or the type you mean")
        case Barred(what, hint):
            raise env.error(node, what, hint)
        case Row(fields):
            return Row(tuple((name, stored(field, node, env)) for name, field in fields))
    return value


def joined(left: Type, right: Type) -> Type | None:
    """The type that holds values of both; the names of fields are those of ``left``."""
    if is_optional(left) or is_optional(right):
        one, two = (held(type_) if is_optional(type_) else type_ for type_ in (left, right))
        inside = joined(one, two)
        return None if inside is None or isinstance(inside, Scalar) else optional(inside)
    if is_list(left) != is_list(right):  # what is in order beside what is not is a bag
        left, right = (Bag(item_type(type_)) if is_list(type_) else type_ for type_ in (left, right))
    match left, right:
        case Scalar(), Scalar():
            return _joined_scalars(left, right)
        case Bag(one), Bag(two):
            element = joined(one, two)
            return Bag(element) if element is not None else None
        case Record(ours), Record(theirs) if len(ours) == len(theirs):
            pairs = zip(ours, theirs, strict=True)
            parts = [(name, joined(one, two)) for (name, one), (_, two) in pairs]
            fields = tuple((name, part) for name, part in parts if part is not None)
            return Record(fields) if len(fields) == len(parts) else None
    return None


def _joined_scalars(left: Scalar, right: Scalar) -> Scalar | None:
    null, names = left.nullable or right.nullable, {left.name, right.name}
    if len(names) == 1:
        return replace(cast(Scalar, widest([left, right])), nullable=null)
    if names <= _WIDTH.keys():
        return Scalar(max(names, key=_WIDTH.__getitem__), null)
    return Scalar("datetime", null) if names == {"date", "datetime"} else None


def operands(values: Sequence[Value], node: Any, env: SqlEnv) -> list[Term]:
    """Scalars of one type for an operator, each null or not as it was."""
    found = [scalar_of(value, node, env) for value in values if not isinstance(value, Null)]
    type_ = _common([One(term) for term in found], node, env) if found else BOOL
    assert isinstance(type_, Scalar)
    terms = iter(found)
    return [
        Const(None, nullable(type_))
        if isinstance(value, Null)
        else widened(term := next(terms), Scalar(type_.name, is_nullable(term)), node, env)
        for value in values
    ]


def alike(values: Sequence[Value], node: Any, env: SqlEnv) -> list[Value]:
    """``values`` as values of one type; a null gets the type of the others."""
    typed = [value for value in values if not isinstance(value, Null)]
    if not typed:
        raise env.error(node, "NULL has no type here", "write CAST(NULL AS BIGINT), or the type you mean")
    type_ = _common(typed, node, env)
    if len(typed) < len(values):
        type_ = optional(type_)
    return [converted(value, type_, node, env) for value in values]


def _common(values: Sequence[Value], node: Any, env: SqlEnv) -> Type:
    # A string that is written out takes the type of the others, if there are others.
    firm = [value for value in values if not is_text(value)] or list(values)
    type_ = type_of(stored(firm[0], node, env))
    for value in firm[1:]:
        found = joined(type_, type_of(stored(value, node, env)))
        if found is None:
            raise env.error(
                node, f"these have no type in common: {spark_type(type_)} and {shown(value)}", "write a CAST"
            )
        type_ = found
    return type_


def is_text(value: Value) -> bool:
    """Whether ``value`` is a string written out."""
    return isinstance(value, One) and isinstance(value.term, Const) and isinstance(value.term.value, str)


def converted(value: Value, type_: Type, node: Any, env: SqlEnv) -> Value:
    """``value`` as one of ``type_``, to which its own type widens."""
    if isinstance(value, Null):
        return null_of(type_, node, env)
    if type_of(value) == type_:
        return value
    fields = fields_of(value)
    if is_optional(type_):
        inside = converted(_held(value), held(type_), node, env)
        flag: tuple[str, Value] = (THERE, One(there(value) or TRUE))
        return Row(
            (flag, (ITEMS, inside)) if isinstance(inside, Many) else (flag, *(fields_of(inside) or ()))
        )
    match type_:
        case Record(wanted) if fields is not None and len(fields) == len(wanted):
            pairs = zip(wanted, fields, strict=True)
            return Row(tuple((name, converted(part, t, node, env)) for (name, t), (_, part) in pairs))
        case Bag(element) if isinstance(value, Many) and is_list(type_of(value)) and not is_list(type_):
            return converted(without_positions(value, env.run.names, env.run.site), type_, node, env)
        case Bag() if isinstance(value, Many) and is_list(type_) and not is_list(type_of(value)):
            raise env.error(node, "an array in order is needed here, and this one is a bag", "write array(…)")
        case Bag(element) if isinstance(value, Many):
            return Many(elementwise(value.expr, element, node, env))
        case Scalar() if isinstance(value, One):
            return One(widened(value.term, type_, node, env))
    raise env.error(node, f"{shown(value)} is not {spark_type(type_)}", "write a CAST")


def null_of(type_: Type, node: Any, env: SqlEnv) -> Value:
    """``NULL`` as a value of ``type_``."""
    match optional(type_):
        case Scalar() as scalar_:
            return One(Const(None, scalar_))
        case Record(fields) as record:
            inside = [(name, _empty(field, node, env)) for name, field in fields[1:]]
            assert is_optional(record)
            return Row(((THERE, One(FALSE)), *inside))
    raise env.error(node, f"a {spark_type(type_)} is never NULL")


def _empty(type_: Type, node: Any, env: SqlEnv) -> Value:
    return Many(empty(type_.element)) if isinstance(type_, Bag) else null_of(type_, node, env)


def _held(value: Value) -> Value:
    """What an optional value has where it is not null; of any other, itself."""
    if there(value) is None:
        return value
    return bag_of(value) or Row(fields_of(value) or ())


def elementwise(expr: Expr, element: Type, node: Any, env: SqlEnv) -> Expr:
    """``expr`` with every element as one of ``element``."""
    if element_type(expr) == element:
        return expr
    var = env.run.var("x", expr)
    return for_(var, expr, singleton(converted(of_term(var), element, node, env), env.run.site))


def widened(term: Term, type_: Scalar, node: Any, env: SqlEnv) -> Term:
    """``term`` as one of the wider ``type_``."""
    own = scalar_type(term)
    if own.name != type_.name:
        term = _renamed(term, type_.name, node, env)
    return call("nullable", term) if type_.nullable and not is_nullable(term) else term


def _renamed(term: Term, name: str, node: Any, env: SqlEnv) -> Term:
    own = scalar_type(term).name
    if isinstance(term, Const):
        return _constant(term, name, node, env)
    if name == "float" and own in _WIDTH:
        return call("to_float", term)
    if name == "decimal" and own == "int":
        return call("+", term, Const(Decimal(0), Scalar("decimal", size=(1, 0))))
    if name == "datetime" and own == "date":
        return call("to_datetime", term)
    what = f"a {spark_type(scalar_type(term))} is no {spark_type(Scalar(name))}"
    raise env.error(node, what, "write a CAST")


def _constant(term: Const, name: str, node: Any, env: SqlEnv) -> Term:
    type_, value = Scalar(name, term.type.nullable), term.value
    if value is None:
        return Const(None, type_)
    if isinstance(value, str):
        try:
            return Const(_READ[name](value), type_)
        except (ValueError, ArithmeticError, KeyError):
            raise env.error(node, f"{value!r} is no {spark_type(type_)}", "write it as one") from None
    make: dict[str, Any] = {"float": float, "decimal": Decimal, "datetime": standard.midnight}
    if name == "decimal":
        type_ = replace(type_, size=decimal_size(term.type))
    return Const(make[name](value), type_)


def applied(function: str, terms: Sequence[Term], node: Any, env: SqlEnv, name: str = "") -> Term:
    """``function(terms)``, checked; ``name`` is what the user wrote for it."""
    types = [scalar_type(term) for term in terms]
    if FUNCTIONS[function].result(types) is None:
        got = " and ".join(spark_type(type_) for type_ in types)
        raise env.error(
            node, f"{name or function} takes {FUNCTIONS[function].takes}, not {got}", "write a CAST"
        )
    return call(function, *terms)


def as_text(term: Term, node: Any, env: SqlEnv, name: str) -> Term:
    """``term`` as SQL writes it; a DECIMAL with all its places."""
    type_ = scalar_type(term)
    if type_.name == "str":
        return term
    if type_.name == "decimal" and type_.size:
        term = call("round", term, const(type_.size[1]))
    if type_.name == "time":
        return call("time_text", term)
    return applied("to_text", [term], node, env, name)


def without_null(value: Value) -> Value:
    """``value`` with a type that says what the test before it has found: it is not null."""
    if there(value) is not None:
        return bag_of(value) or Row(fields_of(value) or ())
    if isinstance(value, One) and (isinstance(type_ := term_type(value.term), Scalar) and type_.nullable):
        return One(call("coalesce", value.term, Const(DEFAULTS[type_.name], replace(type_, nullable=False))))
    return value
