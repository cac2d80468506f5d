"""Names, paths, casts and definitions: what an expression reaches."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches

from nestling.calculus.types import Record
from nestling.calculus.typing import term_type
from nestling.errors import QueryError
from nestling.frontend import paths
from nestling.frontend.catalog import waiting
from nestling.frontend.oql.context import OqlDefinition, OqlEnv, Ordered
from nestling.frontend.oql.convert import applied, shown, type_of
from nestling.frontend.oql.tree import Cast, Dot, FromClause, Name, NewObject, Nil, Query
from nestling.frontend.paths import identity
from nestling.frontend.values import Many, Null, One, Perhaps, Row, Value

#: Attributes of dates and timestamps, and the functions that they are.
PARTS = {
    "year": "year", "month": "month", "monthIndex": "month", "day": "day", "hour": "hour", "minute": "minute",
    "second": "second",
}  # fmt: skip


def of_nil(node: Nil, env: OqlEnv) -> Value:
    return Null()


def of_name(node: Name, env: OqlEnv) -> Value:
    """A variable, an attribute of an element without a name, a definition, or an extent."""
    if node.text in env.names:
        return env.names[node.text]
    for one in reversed(env.anonymous):
        if node.text in paths.attributes(env.run.catalog, type_of(one)):
            return member(one, node.text, node, env)
    if node.text in env.definitions:
        found = env.definitions[node.text]
        if found.definition.parameters:
            raise env.error(node, *_arity(found, 0))
        return expanded(found, (), node, env)
    if node.text in env.run.catalog:
        return extent(node.text, env)
    waits = waiting(node.text, env.run.catalog)
    raise env.error(node, *(waits or (f"there is no {node.text!r} here", _hint(node.text, env))))


def extent(name: str, env: OqlEnv) -> Many:
    """The objects of a class, or the rows of a view or of a table without a key."""
    catalog = env.run.catalog
    is_class = identity(paths.row_type(catalog, name)) is not None and not isinstance(catalog, dict)
    return Many(paths.extent(env.run, name), "set" if is_class else "list")


def _hint(name: str, env: OqlEnv) -> str:
    if name in env.ended:
        return f"the condition on {name} ends before and, or: put it in parentheses: (… and …)"
    if name in env.expanding:
        return "a definition does not use itself"
    if name == "partition":
        return "only group by makes partitions; all of a collection are counted by count(…)"
    fields = [a for one in env.anonymous for a in paths.attributes(env.run.catalog, type_of(one))]
    known = [*env.names, *fields, *env.definitions, *env.run.catalog]
    close = get_close_matches(name, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"there are {', '.join(known[:12])}" if known else "there is none yet: declare a table first"


# -- paths


def of_dot(node: Dot, env: OqlEnv) -> Value:
    """``a.b.c``: a collection behind what is absent is empty, so such a path never ends the row."""
    steps: list[Dot] = []
    base: Query = node
    while isinstance(base, Dot):
        steps.append(base)
        base = base.base
    steps.reverse()
    if env.run.skips_absent:
        with env.run.skipping(False):
            # Only what it leads to is looked at: what is bound on the way is dropped.
            kept, joined = list(env.run.pending), dict(env.run.joined)
            is_collection = isinstance(_followed(base, steps, env), Many)
            env.run.pending[:], env.run.joined = kept, joined
        with env.run.skipping(not is_collection):
            return _followed(base, steps, env)
    return _followed(base, steps, env)


def _followed(base: Query, steps: list[Dot], env: OqlEnv) -> Value:
    found = env.value(base)
    for step in steps:
        found = member(found, step.name, step, env)
    return found


def member(value: Value, name: str, node: Query, env: OqlEnv) -> Value:
    """``value.name``."""
    if isinstance(value, Many | Ordered):
        what = f"a path does not go through a collection: .{name}"
        raise env.error(node, what, f"select x.{name} from x in {_base(node, env)}")
    if isinstance(value, Null):
        raise env.error(node, f"nil has no attribute {name}")
    part = _part_of_moment(value, name, node, env)
    found = part if part is not None else paths.member(env.run, value, name)
    if found is None:
        type_ = type_of(value)
        is_moment = getattr(type_, "name", "") in ("date", "datetime")
        names = list(PARTS) if is_moment else paths.attributes(env.run.catalog, type_)
        close = get_close_matches(name, names, n=1)
        hint = (
            f"did you mean {close[0]!r}?"
            if close
            else f"it has {', '.join(names)}"
            if names
            else f"drop .{name}"
        )
        raise env.error(node, f"{shown(value)} has no attribute {name!r}", hint)
    return found


def _base(node: Query, env: OqlEnv) -> str:
    return env.written(node.base) if isinstance(node, Dot) else "…"


def _part_of_moment(value: Value, name: str, node: Query, env: OqlEnv) -> Value | None:
    if name not in PARTS or getattr(type_of(value), "name", "") not in ("date", "datetime"):
        return None
    match value:
        case One(term):
            return One(applied(PARTS[name], [term], node, env, name))
        case Perhaps(expr):
            return paths.inside(
                env.run, expr, lambda found: One(applied(PARTS[name], [found.term], node, env, name))
            )
    return None


def of_cast(node: Cast, env: OqlEnv) -> Value:
    """``(class) e``: absent where e is no object of that class."""
    return as_class(env.value(node.operand), node.name, node, env)


def as_class(value: Value, name: str, node: Query | FromClause, env: OqlEnv) -> Value:
    table = paths.classes(env.run.catalog).get(name)
    if table is None:
        known = ", ".join(paths.classes(env.run.catalog)) or "none with a key"
        raise env.error(node, f"there is no class {name!r}", f"there are {known}")
    of = None if isinstance(value, Null) else identity(type_of(value))
    if of is None:
        raise env.error(node, f"objects are of a class, not {shown(value)}", "leave the class out")
    if paths.common_class(env.run.catalog, of.table, table) is None:
        raise env.error(node, f"an object of {of.table} is never one of {name}", "leave the class out")
    found = paths.cast(env.run, value, table)
    assert found is not None
    return found


def of_new(node: NewObject, env: OqlEnv) -> Value:
    raise env.error(node, "a query creates no objects", "write struct(…), or insert it: db.insert(…)")


# -- definitions


def expanded(found: OqlDefinition, values: tuple[Value, ...], node: Query, env: OqlEnv) -> Value:
    """The body of a definition, in the scope of those before it, its parameters bound to values."""
    definition = found.definition
    if len(values) != len(definition.parameters):
        raise env.error(node, *_arity(found, len(values)))
    inner = replace(
        env,
        names=dict(zip(definition.parameters, values, strict=True)),
        anonymous=(),
        definitions=found.scope,
        expanding=(*env.expanding, definition.name),
    )
    try:
        return inner.value(definition.query)
    except QueryError as error:
        if not error.hint:
            error.hint = f"it stands in the definition of {definition.name}"
        raise


def _arity(found: OqlDefinition, given: int) -> tuple[str, str]:
    parameters = found.definition.parameters
    what = (
        f"{found.definition.name} takes {len(parameters)} argument{'s' * (len(parameters) != 1)}, not {given}"
    )
    return what, f"{found.definition.name}({', '.join(parameters)})"


def fields(value: Value, env: OqlEnv) -> tuple[tuple[str, Value], ...] | None:
    """The fields of a struct, absent or not; ``None`` of an object and of anything else."""
    match value:
        case Row(found):
            return found
        case One() | Perhaps():
            type_ = term_type(value.term) if isinstance(value, One) else type_of(value)
            if isinstance(type_, Record) and identity(type_) is None:
                parts = [(name, paths.member(env.run, value, name)) for name in type_.names]
                return tuple((name, part) for name, part in parts if part is not None)
    return None
