"""Records: tuples, dict displays, ``dict(a=…)`` and calls of dataclasses and named tuples."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from nestling.frontend.comprehension.capture import capture, field_names
from nestling.frontend.comprehension.context import PythonEnv
from nestling.frontend.comprehension.values import shown
from nestling.frontend.values import Row, Value, fields_of


def of_tuple(node: ast.Tuple, env: PythonEnv) -> Row:
    """``(o.id, o["class"], n, sum(…))``: a field is called as what it reads, else ``_3`` by its place."""
    parts: list[tuple[str, Value]] = []
    for part in node.elts:
        if isinstance(part, ast.Starred):
            parts.extend(_spread(part, env))
        else:
            parts.append((_own_name(part), env.value(part)))
    names = field_names([name for name, _ in parts])
    return Row(tuple(zip(names, (value for _, value in parts), strict=True)))


def _own_name(node: ast.expr) -> str:
    match node:
        case ast.Name(name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(str(name))):
            return name
    return ""


def _spread(node: ast.Starred, env: PythonEnv) -> Sequence[tuple[str, Value]]:
    value = env.value(node.value)
    fields = fields_of(value)
    if fields is None:
        raise env.error(
            node, f"* in a tuple takes a record, not {shown(value)}", "name the fields one by one"
        )
    return fields


def of_dict(node: ast.Dict, env: PythonEnv) -> Row:
    """``{"a": …, "b": …}``."""
    fields: dict[str, Value] = {}
    for key, part in zip(node.keys, node.values, strict=True):
        match key:
            case ast.Constant(str(name)) if name not in fields:
                fields[name] = env.value(part)
            case ast.Constant(str(name)):
                raise env.error(key, f"field {name!r} stands twice", "rename one of them")
            case _:
                hint = "write names in quotes; for computed keys a dict comprehension: {k: v for …}"
                raise env.error(key or part, "the keys of a record are names", hint)
    if not fields:
        raise env.error(node, "a record has at least one field", 'write {"name": …}')
    return Row(tuple(fields.items()), named=True)


def of_dict_call(node: ast.Call, env: PythonEnv) -> Row:
    """``dict(a=…, b=…)``."""
    if node.args or not node.keywords or any(keyword.arg is None for keyword in node.keywords):
        raise env.error(node, "dict(…) takes fields by name", "write dict(a=…, b=…)")
    return Row(tuple((keyword.arg or "", env.value(keyword.value)) for keyword in node.keywords), named=True)


def is_record_class(found: Any) -> bool:
    """Whether ``found`` is a dataclass or a named tuple."""
    return isinstance(found, type) and (dataclasses.is_dataclass(found) or hasattr(found, "_fields"))


def of_record_class(class_: Any, node: ast.Call, env: PythonEnv) -> Row:
    """``Point(x=…, y=…)`` of a dataclass or a named tuple."""
    if hasattr(class_, "__post_init__"):
        hint = "return a tuple or a dict instead"
        raise env.error(node, f"{class_.__name__} computes something when it is made", hint)
    if dataclasses.is_dataclass(class_):
        declared = [field for field in dataclasses.fields(class_) if field.init]
        names = [field.name for field in declared]
        defaults = {f.name: f.default for f in declared if f.default is not dataclasses.MISSING}
    else:
        names, defaults = list(class_._fields), class_._field_defaults
    values = {name: capture(value, node, env) for name, value in defaults.items()}
    bound = arguments(names, node, values, class_.__name__, env)
    return Row(tuple((name, bound[name]) for name in names), named=dataclasses.is_dataclass(class_))


def arguments(
    names: Sequence[str], node: ast.Call, defaults: Mapping[str, Value], function: str, env: PythonEnv
) -> dict[str, Value]:
    """What a call binds each parameter to."""
    spread = [part for part in node.args if isinstance(part, ast.Starred)]
    for part in (*spread, *(keyword.value for keyword in node.keywords if keyword.arg is None)):
        hint = "pass the arguments one by one"
        raise env.error(part, f"{function}: * and ** are not supported in a call", hint)
    if len(node.args) > len(names):
        raise env.error(node, f"{function} takes {len(names)} arguments, not {len(node.args)}")
    bound: dict[str, Value] = {name: env.value(part) for name, part in zip(names, node.args, strict=False)}
    for keyword in node.keywords:
        name = keyword.arg or ""
        if name not in names or name in bound:
            what = "is given twice" if name in bound else "is not a parameter"
            raise env.error(
                keyword.value, f"{function}: {name!r} {what}", f"the parameters are {', '.join(names)}"
            )
        bound[name] = env.value(keyword.value)
    missing = [name for name in names if name not in bound and name not in defaults]
    if missing:
        raise env.error(
            node, f"{function}: {missing[0]!r} is missing", f"the parameters are {', '.join(names)}"
        )
    return {**defaults, **bound}
