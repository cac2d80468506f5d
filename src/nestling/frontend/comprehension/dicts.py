"""Dict comprehensions: the set of records ⟨key, value⟩, where every key has one value.

In Python the last pair of a key wins, and a bag has no last. So the value must follow from the key: it uses
the loop variables only through the expressions of the key, or the key contains the declared key of the one
table it iterates over. In the first case the keys are made distinct, and the value is computed once for each.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from nestling.calculus.build import countwise, for_
from nestling.calculus.maps import KEY, VALUE, is_map
from nestling.calculus.terms import Expr, Field, Relation, Sing, Var
from nestling.calculus.types import is_base
from nestling.calculus.typing import element_type
from nestling.frontend.catalog import Catalog
from nestling.frontend.comprehension.bags import element, loops
from nestling.frontend.comprehension.context import KnownValue, PythonEnv
from nestling.frontend.comprehension.values import shown
from nestling.frontend.values import Barred, Data, Many, Row, Value, fields_of, of_term, singleton, type_of

_LAST = "in Python the last one would win, and a bag has no last: aggregate, or list the pairs"


def of_dict_comprehension(node: ast.DictComp, env: PythonEnv) -> Many:
    """``{k: v for …}``."""
    if _iterates_keys(node, env):
        return Many(
            loops(node.generators, env, lambda inner: _pair(_key(node, inner), node.value, inner)), "dict"
        )
    keys = loops(node.generators, env, lambda inner: singleton(_key(node, inner), env.run.site))
    var = Var(env.run.names.fresh("key"), element_type(keys))
    return Many(for_(var, countwise("distinct", keys), _of_key(var, node, env)), "dict")


def _of_key(var: Var, node: ast.DictComp, env: PythonEnv) -> Expr:
    """The pair of one key; the loop variables are out of reach but through it."""
    barred = {name: _barred(name, node.key) for gen in node.generators for name in _names(gen.target)}
    whole = of_term(var)
    values: list[Value] = [whole, *(field for _, field in fields_of(whole) or ())]
    parts = zip(_parts(node.key), values, strict=False)
    given = {ast.dump(part): KnownValue(value, frozenset(_names(part))) for part, value in parts}
    inner = env.binding(barred)
    inner = replace(inner, given={**inner.given, **given})
    return env.run.enclosed(lambda: _pair(whole, node.value, inner))


def _pair(key: Data, value: ast.expr, env: PythonEnv) -> Expr:
    return singleton(Row((("key", key), ("value", element(value, env)))), env.run.site)


def _key(node: ast.DictComp, env: PythonEnv) -> Data:
    key = element(node.key, env)
    if not is_base(type_of(key)):
        raise env.error(node.key, f"a key is made of scalars, not {shown(key)}", "use its fields")
    return key


def _parts(key: ast.expr) -> list[ast.expr]:
    """The key and, of a tuple, its components."""
    plain = isinstance(key, ast.Tuple) and not any(isinstance(part, ast.Starred) for part in key.elts)
    return [key, *(key.elts if isinstance(key, ast.Tuple) and plain else ())]


def _iterates_keys(node: ast.DictComp, env: PythonEnv) -> bool:
    """Whether the key holds the declared key of the one table that is iterated over."""
    match node.generators:
        case [ast.comprehension(ast.Name(var), ast.Name() as source, _, 0)] if source.id in env.names:
            table = env.names[source.id]
            if isinstance(table, Many) and isinstance(table.expr, Relation):
                given = {ast.unparse(part) for part in _parts(node.key)}
                key = _declared_key(table.expr.name, env)
                return bool(key) and all(f"{var}.{column}" in given for column in key)
    return False


def _declared_key(table: str, env: PythonEnv) -> tuple[str, ...]:
    catalog = env.run.catalog
    return catalog.key(table) if isinstance(catalog, Catalog) else ()


def _barred(name: str, key: ast.expr) -> Barred:
    return Barred(
        f"the value of a dict must follow from its key, {ast.unparse(key)}, and {name!r} does not", _LAST
    )


def _names(node: ast.AST) -> Iterator[str]:
    return (part.id for part in ast.walk(node) if isinstance(part, ast.Name))


def as_dict(value: Value, env: PythonEnv) -> Value:
    """A map as the dict of its entries; any other value as it is."""
    if not isinstance(value, Many) or not is_map(type_of(value)):
        return value
    entry = Var(env.run.names.fresh("d"), element_type(value.expr))
    pair = Row((("key", of_term(Field(entry, KEY))), ("value", of_term(Field(entry, VALUE)))))
    return Many(for_(entry, value.expr, singleton(pair, env.run.site)), "dict")


def keys_of(expr: Expr, env: PythonEnv) -> Many:
    """``d.keys()``."""
    return Many(_column(expr, "key", env), "set")


def values_of(expr: Expr, env: PythonEnv) -> Many:
    """``d.values()``."""
    return Many(_column(expr, "value", env))


def _column(expr: Expr, name: str, env: PythonEnv) -> Expr:
    var = Var(env.run.names.fresh("d"), element_type(expr))
    return for_(var, expr, Sing(Field(var, name)))
