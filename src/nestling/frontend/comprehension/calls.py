"""Calls: builtins, methods of strings and dicts, constructors of constants, helper functions."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from types import FunctionType
from typing import Any

from nestling.calculus.build import FALSE, call
from nestling.calculus.terms import Const, Term
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type
from nestling.frontend.comprehension.aggregates import of_all, of_any, of_extreme, of_len, of_sum
from nestling.frontend.comprehension.bags import as_set
from nestling.frontend.comprehension.capture import attribute, capture
from nestling.frontend.comprehension.conditions import truth
from nestling.frontend.comprehension.context import PythonEnv
from nestling.frontend.comprehension.convert import applied, bag_of, scalar, scalar_of
from nestling.frontend.comprehension.dicts import as_dict, keys_of, values_of
from nestling.frontend.comprehension.inline import call_function, call_helper
from nestling.frontend.comprehension.names import LOOKED_UP
from nestling.frontend.comprehension.nulls import is_nullable
from nestling.frontend.comprehension.ordering import of_sorted
from nestling.frontend.comprehension.read import CACHED
from nestling.frontend.comprehension.records import is_record_class, of_dict_call, of_record_class
from nestling.frontend.comprehension.scalars import number, text
from nestling.frontend.comprehension.values import Helper, Items, Object, Ranked, Sorted, shown
from nestling.frontend.values import Many, One, Row, Value, fields_of

Builtin = Callable[[ast.Call, PythonEnv], Value]

_CONSTRUCTORS = (date, datetime, time, timedelta, Decimal)
#: Methods of scalars: the function, and how many arguments follow the receiver.
_METHODS: dict[str, dict[str, tuple[str, int]]] = {
    "str": {
        "lower": ("lower", 0), "upper": ("upper", 0), "strip": ("strip", 0), "replace": ("replace", 2),
        "startswith": ("starts_with", 1), "endswith": ("ends_with", 1),
    },
    "date": {"weekday": ("weekday", 0)},
    "datetime": {"weekday": ("weekday", 0), "date": ("to_date", 0)},
}  # fmt: skip
_HINTS = {
    "map": "write a comprehension: [f(x) for x in …]",
    "filter": "write a comprehension: [x for x in … if …]",
    "enumerate": "a bag has no order: number the elements in a column",
    "zip": "a bag has no order: join on a column",
    "reversed": "a bag has no order",
    "tuple": "write list(…), or a tuple of fields: (a, b)",
    "round": "compare with a tolerance, or keep whole units: int(x * 100)",
    "range": "write the numbers out: [0, 1, 2]",
    "isinstance": "a column has one type",
    "print": "read the view and print its rows",
    "next": "take min(…) or max(…)",
    "iter": "iterate in a comprehension",
    "pow": "multiply: x * x",
    "divmod": "write x // y and x % y",
    "getattr": "write the name of the field: x.name",
}


def of_call(node: ast.Call, env: PythonEnv) -> Value:
    """``f(…)`` or ``x.f(…)``."""
    if isinstance(node.func, ast.Attribute):
        receiver = env.value(node.func.value)
        if not isinstance(receiver, Object):
            return _method(receiver, node.func.attr, node, env)
        callee = attribute(receiver, node.func.attr, node.func, env)
    else:
        callee = env.value(node.func)
    match callee:
        case Helper():
            return call_helper(callee, node, env)
        case Object(found):
            return _object(found, node, env)
    raise env.error(node, f"only a function is called, not {shown(callee)}", "drop the parentheses")


def _object(found: Any, node: ast.Call, env: PythonEnv) -> Value:
    builtin = BUILTINS.get(id(found))
    if builtin is not None:
        return builtin(node, env)
    if any(found is constructor for constructor in _CONSTRUCTORS):
        return _constant(found, node, env)
    if is_record_class(found):
        return of_record_class(found, node, env)
    name = getattr(found, "__name__", type(found).__name__)
    module = str(getattr(found, "__module__", ""))
    if module.partition(".")[0] == "pyspark":
        hint = "import pyspark.sql.functions as F, so that Python's own keeps its name"
        raise env.error(node, f"{name} is pyspark's here, not Python's", hint)
    if isinstance(found, FunctionType | CACHED):
        return call_function(found, node, env)
    hint = _HINTS.get(name, "") if vars(builtins).get(name) is found else ""
    raise env.error(
        node, f"{name}(…) is not supported", hint or "write what it computes as a Python function"
    )


def _constant(class_: Any, node: ast.Call, env: PythonEnv) -> Value:
    """``date(2024, 1, 31)``: a constant, made while the query is read."""
    args = [_value(part, env) for part in node.args]
    named = {keyword.arg or "": _value(keyword.value, env) for keyword in node.keywords}
    try:
        return capture(class_(*args, **named), node, env)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise env.error(node, f"{class_.__name__}: {error}") from error


def _value(node: ast.expr, env: PythonEnv) -> Any:
    term = scalar(node, env)
    if not isinstance(term, Const):
        raise env.error(node, "a constant is needed here", "compute it from columns by arithmetic")
    return term.value


def _method(receiver: Value, name: str, node: ast.Call, env: PythonEnv) -> Value:
    receiver = as_dict(receiver, env)
    match receiver:
        case Many(expr, "dict") if name in ("items", "keys", "values") and not node.args:
            pairs = {"items": Many(expr, "set"), "keys": keys_of(expr, env), "values": values_of(expr, env)}
            return pairs[name]
        case One(term) if name in _methods(term):
            return One(_of_scalar(term, name, node, env))
        case Row() | One() if name in dict(fields_of(receiver) or ()):
            hint = f"drop the parentheses after .{name}"
            raise env.error(node, f"{name!r} is a field, not a function", hint)
    raise env.error(node, f"{shown(receiver)} has no method {name!r} here", _method_hint(receiver, name))


def _method_hint(receiver: Value, name: str) -> str:
    match receiver:
        case One(term) if methods := _methods(term):
            return f"there are {', '.join(methods)}"
        case Many(_, "dict"):
            hint = "dicts have items, keys, values"
            return f"{hint}; a value: {LOOKED_UP}" if name == "get" else hint
        case Many(_, "set"):
            return "sets have the operators | & - ^ <= =="
    return "write a comprehension or an operator instead"


def _methods(term: Term) -> dict[str, tuple[str, int]]:
    type_ = term_type(term)
    return _METHODS.get(type_.name, {}) if isinstance(type_, Scalar) else {}


def _of_scalar(term: Term, name: str, node: ast.Call, env: PythonEnv) -> Term:
    function, count = _methods(term)[name]
    if len(node.args) != count or node.keywords:
        raise env.error(node, f"{name} takes {count} arguments here, not {len(node.args)}")
    values = [env.value(part) for part in node.args]
    if values and isinstance(values[0], Row):
        options = [scalar_of(part, node, env) for _, part in values[0].fields]
        found = [_plain(applied(function, [term, option], node, env, name)) for option in options]
        return _either(found)
    terms = [term, *(scalar_of(value, part, env) for value, part in zip(values, node.args, strict=True))]
    found_one = applied(function, terms, node, env, name)
    return _plain(found_one) if count == 1 else found_one


def _plain(test: Term) -> Term:
    return call("coalesce", test, FALSE) if is_nullable(test) else test


def _either(tests: list[Term]) -> Term:
    result: Term = tests[0] if tests else FALSE
    for test in tests[1:]:
        result = call("or", result, test)
    return result


def _only(node: ast.Call, name: str, env: PythonEnv) -> ast.expr:
    if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
        raise env.error(node, f"{name} takes one argument here")
    return node.args[0]


def _scalar_function(name: str, build: Callable[[Term, ast.expr, PythonEnv], Term]) -> Builtin:
    def of_builtin(node: ast.Call, env: PythonEnv) -> Value:
        return One(build(scalar(_only(node, name, env), env), node, env))

    return of_builtin


def _of_bool(node: ast.Call, env: PythonEnv) -> Value:
    part = _only(node, "bool", env)
    return One(truth(env.value(part), part, env))


def _of_list(node: ast.Call, env: PythonEnv) -> Value:
    if not node.args and not node.keywords:
        return Items(())
    part = _only(node, "list", env)
    value = env.value(part)
    if isinstance(value, Sorted | Ranked):
        return value
    found = bag_of(value, part, env)
    return Many(found.expr, "list", found.term)


def _of_set(node: ast.Call, env: PythonEnv) -> Value:
    if not node.args and not node.keywords:
        return Items((), "set")
    part = _only(node, "set", env)
    return as_set(env.value(part), part, env)


#: By identity: a name may be bound to something else, and not every object can be hashed.
BUILTINS: dict[int, Builtin] = {
    id(function): of_builtin
    for function, of_builtin in (
        (sum, of_sum),
        (len, of_len),
        (min, of_extreme("min")),
        (max, of_extreme("max")),
        (any, of_any),
        (all, of_all),
        (sorted, of_sorted),
        (list, _of_list),
        (set, _of_set),
        (frozenset, _of_set),
        (dict, of_dict_call),
        (bool, _of_bool),
        (abs, _scalar_function("abs", lambda term, node, env: applied("abs", [term], node, env))),
        (int, _scalar_function("int", lambda term, node, env: number(term, "to_int", node, env))),
        (float, _scalar_function("float", lambda term, node, env: number(term, "to_float", node, env))),
        (str, _scalar_function("str", text)),
    )
}
