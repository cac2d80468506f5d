"""Python objects as constants of a query: what a closure, a global or a literal holds."""

from __future__ import annotations

import ast
import enum
from collections.abc import Sequence
from dataclasses import is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from types import ModuleType, SimpleNamespace
from typing import Any

from nestling.calculus.terms import Const
from nestling.calculus.types import SCALARS, Scalar
from nestling.errors import brief
from nestling.frontend.comprehension.context import PythonEnv
from nestling.frontend.comprehension.values import Items, Object
from nestling.frontend.schema import in_utc
from nestling.frontend.values import Null, One, Row, Value

_CLASSES = (bool, int, float, Decimal, str, bytes, date, datetime, time, timedelta)
#: Bits of an int that Python writes in decimal digits, whatever its settings: about 4,000 digits.
LONGEST = 13_000
SCALAR_OF: dict[type, Scalar] = {class_: Scalar(name) for class_, name in zip(_CLASSES, SCALARS, strict=True)}


def capture(value: Any, node: ast.AST, env: PythonEnv) -> Value:
    """The constant that ``value`` is, or the object itself where it is no data."""
    if value is None:
        return Null()
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = _in_utc(value, node, env)
    if type(value) in SCALAR_OF:
        _check_scalar(value, node, env)
        return One(Const(value, SCALAR_OF[type(value)]))
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None) or field_names([""] * len(value))
        return Row(tuple(zip(names, (capture(part, node, env) for part in value), strict=True)))
    if isinstance(value, list):
        return Items(tuple(capture(part, node, env) for part in value))
    if isinstance(value, set | frozenset):
        return Items(tuple(capture(part, node, env) for part in sorted(value, key=_order)), "set")
    if value is Ellipsis or isinstance(value, complex):
        raise env.error(node, f"{value!r} is not a scalar", f"a scalar is one of {', '.join(SCALARS)}")
    return Object(value)


def _in_utc(value: datetime, node: ast.AST, env: PythonEnv) -> datetime:
    """A moment with a time zone, as columns hold it."""
    found = in_utc(value)
    if found is None:
        raise env.error(node, f"{brief(value, 100)} is no moment in UTC", "years are 1 to 9999")
    return found


def _check_scalar(value: Any, node: ast.AST, env: PythonEnv) -> None:
    """A constant is a value that a column could hold, and that can be written down."""
    if isinstance(value, int) and value.bit_length() > LONGEST:
        raise env.error(
            node, f"an int of {value.bit_length()} bits is too long for a constant", "keep it in a table"
        )


def _order(value: object) -> str:
    """An order for the elements of a set, the same in every run."""
    return brief(value, 10_000)


def attribute(found: Object, name: str, node: ast.expr, env: PythonEnv) -> Value:
    """An attribute of an object that is no data: of a module, a class, an enumeration, a settings object."""
    holder = found.value
    plain = ModuleType, type, enum.Enum, SimpleNamespace
    if not isinstance(holder, plain) and not is_dataclass(holder):
        hint = "make a table or view a parameter of the function, and a constant a scalar"
        raise env.error(node, f"an object of type {type(holder).__name__} is no data", hint)
    if not hasattr(holder, name):
        raise env.error(node, f"{getattr(holder, '__name__', holder)!s} has no {name!r}")
    return capture(getattr(holder, name), node, env)


def field_names(wanted: Sequence[str]) -> list[str]:
    """``wanted`` as names of fields, by the rule of ``namedtuple``: what cannot be one is ``_0``, ``_1``, …

    >>> field_names(["name", "", "name", "_x"])
    ['name', '_1', '_2', '_3']
    """
    return [
        name if name.isidentifier() and not name.startswith("_") and name not in wanted[:i] else f"_{i}"
        for i, name in enumerate(wanted)
    ]
