"""Names, attributes and subscripts: what an expression reaches without computing."""

from __future__ import annotations

import ast
from dataclasses import replace
from difflib import get_close_matches

from nestling.calculus.maps import is_map
from nestling.calculus.terms import Const
from nestling.calculus.types import Record, Scalar
from nestling.calculus.typing import element_type, term_type
from nestling.frontend import paths
from nestling.frontend.catalog import waiting
from nestling.frontend.comprehension.capture import attribute, capture
from nestling.frontend.comprehension.context import PythonEnv, PythonTranslation
from nestling.frontend.comprehension.convert import applied
from nestling.frontend.comprehension.ordering import first_of_sorted, is_sorted
from nestling.frontend.comprehension.values import Helper, Items, Object, article, shown
from nestling.frontend.values import Barred, Many, One, Perhaps, Value, fields_of, type_of

#: Attributes of dates and of datetimes; each is the function of that name.
_PARTS = {
    "date": ("year", "month", "day"),
    "datetime": ("year", "month", "day", "hour", "minute", "second"),
}


def relation(run: PythonTranslation, name: str) -> Many:
    """The table or view called ``name``."""
    return Many(paths.relation(run, name))


def of_name(node: ast.Name, env: PythonEnv) -> Value:
    """A name bound in the query, captured by the function, or built in."""
    if node.id in env.names:
        value = env.names[node.id]
        if isinstance(value, Barred):
            raise env.error(node, value.what, value.hint)
        return value
    try:
        found = env.source.names(node.id)
    except KeyError:
        waits = waiting(node.id, env.run.catalog)
        what = waits or (f"there is no {node.id!r} here", _name_hint(node.id, env))
        raise env.error(node, *what) from None
    value = capture(found, node, env)
    if isinstance(value, Object) and node.id in env.run.catalog:
        hint = f"make it a parameter: def view({node.id}): …"
        raise env.error(node, f"{node.id!r} is read from outside the view", hint)
    return value


def _name_hint(name: str, env: PythonEnv) -> str:
    if name in env.run.catalog:
        return f"make it a parameter: def view({name}): …"
    known = [other for other, value in env.names.items() if not isinstance(value, Barred)]
    close = get_close_matches(name, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"in scope: {', '.join(known)}" if known else "no name is in scope here"


def of_lambda(node: ast.Lambda, env: PythonEnv) -> Value:
    """A function to be inlined where it is called."""
    return Helper(node, env)


def of_attribute(node: ast.Attribute, env: PythonEnv) -> Value:
    """``x.f``: a field of a record, a part of a date, an attribute of an object; ``x.r.f``, through a reference."""
    return _settled(_followed(node, env), node, env)


def _followed(node: ast.Attribute, env: PythonEnv) -> Value:
    """``x.r.f`` as it is, perhaps absent: only the whole path is a value."""
    inner = node.value
    is_path = isinstance(inner, ast.Attribute) and not (env.given and ast.dump(inner) in env.given)
    base = _followed(inner, env) if is_path else env.value(inner)  # type: ignore[arg-type] # an attribute then
    return member(base, node.attr, node, env)


def _settled(value: Value, node: ast.expr, env: PythonEnv) -> Value:
    if not isinstance(value, Perhaps):
        return value
    found = paths.settled(env.run, value)
    if found is None:
        raise env.error(node, "a record that may be absent is no value", "take one of its fields")
    return found


def member(value: Value, name: str, node: ast.expr, env: PythonEnv) -> Value:
    """``value.name``."""
    if isinstance(value, Perhaps):
        found = paths.inside(env.run, value.expr, lambda one: member(one, name, node, env))
        assert found is not None
        return found
    if isinstance(value, One) and paths.identity(term_type(value.term)) is not None:
        return _of_object(value, name, node, env)
    fields = fields_of(value)
    if fields is not None:
        if name in dict(fields):
            return dict(fields)[name]
        raise env.error(node, f"field {name!r} is not in {shown(value)}", _field_hint(name, fields))
    match value:
        case Object():
            return attribute(value, name, node, env)
        case Many() | Items():
            raise env.error(
                node, f"a bag has no field {name!r}: {shown(value)}", f"iterate over it: x.{name} for x in …"
            )
        case One(term) if isinstance(type_ := term_type(term), Scalar):
            if name in _PARTS.get(type_.name, ()):
                return One(applied(name, [term], node, env))
            raise env.error(node, f"{article(type_.name)} has no field {name!r}", f"drop .{name}")
    raise env.error(node, f"{shown(value)} has no field {name!r}")


def _of_object(value: One, name: str, node: ast.expr, env: PythonEnv) -> Value:
    """An attribute of an object, of the one behind a reference, or the collection of those that refer to it."""
    found = paths.member(env.run, value, name)
    if found is None:
        type_ = term_type(value.term)
        names = paths.attributes(env.run.catalog, type_)
        close = get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"the fields are {', '.join(names)}"
        fields = fields_of(value)
        raise env.error(
            node, f"field {name!r} is not in {shown(value)}", _field_hint(name, fields) if fields else hint
        )
    return replace(found, form="list") if isinstance(found, Many) else found


def _field_hint(name: str, fields: tuple[tuple[str, Value], ...]) -> str:
    for outer, field in fields:
        if isinstance(field, Many):
            inner = element_type(field.expr)
            if isinstance(inner, Record) and name in inner.names:
                return f"{name} belongs to the elements of .{outer}"
    names = [name for name, _ in fields]
    close = get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"the fields are {', '.join(names)}"


#: What is written for ``d.get(key)``: a map that has no such key has no value there.
LOOKED_UP = "max([v for k, v in d.items() if k == …], default=None)"


def of_subscript(node: ast.Subscript, env: PythonEnv) -> Value:
    """``x[0]`` and ``x["f"]`` of a record; ``sorted(…)[:k]``."""
    if is_sorted(node.value, env):
        return first_of_sorted(node, env)
    value = env.value(node.value)
    fields = fields_of(value)
    if fields is None:
        raise env.error(node, f"{shown(value)} has no positions", _position_hint(value))
    match env.value(node.slice) if not isinstance(node.slice, ast.Slice) else None:
        case One(Const(str(name))):
            return member(value, name, node, env)
        case One(Const(int(place))) if -len(fields) <= place < len(fields):
            return fields[place][1]
    hint = f"a position is a number from 0 to {len(fields) - 1}, or the name of a field"
    raise env.error(node, f"there is no such field in {shown(value)}", hint)


def _position_hint(value: Value) -> str:
    if isinstance(value, Many) and (value.form == "dict" or is_map(type_of(value))):
        return f"join with it: [v for k, v in d.items() if k == …]; or one value: {LOOKED_UP}"
    if isinstance(value, Many | Items):
        return "a bag has no order; iterate over it"
    return "compare strings whole, or with startswith, endswith and in"
