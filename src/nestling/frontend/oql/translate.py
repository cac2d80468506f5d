"""OQL to the calculus.

Law: for every database whose references are good, ``evaluate(translate(text, catalog), db)`` is the bag of what the
query of ``text`` yields over the objects of ``db``, by loops over them; see ``docs/decisions/0021-oql.md`` for what
differs from ODMG.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nestling.calculus.terms import Expr
from nestling.calculus.traverse import number_sites
from nestling.calculus.types import Type
from nestling.calculus.typing import check
from nestling.depth import room
from nestling.errors import QueryError
from nestling.frontend.oql import bags, compare, conditions, names, order, scalars, tree
from nestling.frontend.oql.context import OqlConstruct, OqlDefinition, OqlEnv, OqlTranslation, Ordered
from nestling.frontend.oql.convert import answer, collection_of, element, scalar
from nestling.frontend.oql.parse import parse
from nestling.frontend.oql.select import of_select
from nestling.frontend.oql.tokens import span
from nestling.frontend.paths import classes
from nestling.frontend.values import Many, Value
from nestling.frontend.view_query import OrderKey, ViewQuery, sort_key

_CALLS: dict[str, OqlConstruct] = {
    "avg": bags.of_aggregate,
    "count": bags.of_aggregate,
    "distinct": bags.of_distinct,
    "element": bags.of_element,
    "exists": conditions.of_exists,
    "first": order.of_end,
    "flatten": bags.of_flatten,
    "is_defined": conditions.of_undefined,
    "is_undefined": conditions.of_undefined,
    "last": order.of_end,
    "listtoset": bags.of_distinct,
    "max": bags.of_aggregate,
    "min": bags.of_aggregate,
    "nvl": scalars.of_nvl,
    "sum": bags.of_aggregate,
    "unique": bags.of_unique,
}


#: What to write in the place of functions that a view has no use for.
_INSTEAD = {
    "nth": "a list has positions: (select … order by …)[1]",
    "dictionary": "a table has keys, a bag has elements: bag(struct(key: …, value: …))",
}


def _of_invoke(node: tree.Invoke, env: OqlEnv) -> Value:
    """A definition with parameters, a function of OQL, or one of scalars."""
    if node.name in env.definitions and node.name not in _CALLS:
        return names.expanded(env.definitions[node.name], tuple(map(env.loose, node.args)), node, env)
    if node.name in _CALLS:
        return _CALLS[node.name](node, env)
    if node.name in scalars.FUNCTIONS:
        return scalars.of_function(node.name, [scalar(arg, env) for arg in node.args], node, env)
    if node.name in env.expanding:
        raise env.error(node, f"{node.name} uses itself", "a definition uses those before it")
    if node.name in env.run.catalog:
        raise env.error(node, f"{node.name} is no function", f"write {node.name} alone")
    parameters = ", ".join("xyzuvw"[: len(node.args)]) or "x"
    hint = _INSTEAD.get(node.name, f"define {node.name}({parameters}) as …; before the query")
    raise env.error(node, f"there is no function {node.name!r}", hint)


def _of_binary(node: tree.Binary, env: OqlEnv) -> Value:
    if node.operator in ("and", "or", "andthen", "orelse"):
        return conditions.of_connective(node, env)
    if node.operator in ("union", "intersect", "except"):
        return bags.of_operator(node, env)
    if node.operator in ("=", "!=", "<", "<=", ">", ">="):
        return compare.of_comparison(node, env)
    return scalars.of_arithmetic(node, env)


def _of_unary(node: tree.Unary, env: OqlEnv) -> Value:
    return conditions.of_not(node, env) if node.operator == "not" else scalars.of_sign(node, env)


CONSTRUCTS: dict[type, Callable[[Any, OqlEnv], Value]] = {
    tree.Among: conditions.of_among,
    tree.Between: conditions.of_between,
    tree.Binary: _of_binary,
    tree.Cast: names.of_cast,
    tree.Collect: bags.of_collect,
    tree.Constant: scalars.of_constant,
    tree.Dot: names.of_dot,
    tree.Index: order.of_index,
    tree.Interval: bags.of_interval,
    tree.Invoke: _of_invoke,
    tree.Like: conditions.of_like,
    tree.Name: names.of_name,
    tree.NewObject: names.of_new,
    tree.Nil: names.of_nil,
    tree.Quantifier: conditions.of_quantifier,
    tree.Select: of_select,
    tree.Slice: order.of_slice,
    tree.StructOf: scalars.of_struct,
    tree.Unary: _of_unary,
    tree.Versus: conditions.of_versus,
}


def translate(text: str, catalog: Mapping[str, Type]) -> ViewQuery:
    """A view: the elements of a collection, or the one value that the query is; and the order that it ends with.

    >>> from nestling.calculus.show import show
    >>> from nestling.calculus.types import INT, STR, record
    >>> catalog = {"orders": record(customer=STR, qty=INT)}
    >>> text = "select o.customer, twice: o.qty * 2 from o in orders where o.qty > 1"
    >>> print(show(translate(text, catalog).expr))
    for o in orders where o.qty > 1 union sng⟨customer: o.customer, twice: o.qty * 2⟩
    """
    program = parse(text, classes(catalog))
    run = OqlTranslation(catalog, text, CONSTRUCTS)
    order: list[OrderKey] = []
    try:
        with room():
            env = OqlEnv(run, definitions=_definitions(program, text))
            expr = run.enclosed(lambda: _whole(env.value(program.query), program.query, env, order))
            check(expr)
            return ViewQuery(number_sites(expr), (((), tuple(order)),) if order else ())
    except RecursionError:
        raise QueryError(
            "the query is nested too deeply", hint="split it into views that read each other"
        ) from None


def _definitions(program: tree.OqlProgram, text: str) -> dict[str, OqlDefinition]:
    known: dict[str, OqlDefinition] = {}
    for found in program.definitions:
        if isinstance(found, tree.UndefineQuery):
            if found.name not in known:
                hint = f"there are {', '.join(known)}" if known else "there is none"
                raise QueryError(f"nothing is defined as {found.name!r}", at=span(text, found.at), hint=hint)
            known = {name: other for name, other in known.items() if name != found.name}
        else:
            known = {**known, found.name: OqlDefinition(found, known)}
    return known


def _whole(value: Value, node: tree.Query, env: OqlEnv, order: list[OrderKey]) -> Expr:
    """The bag that a view is; a query that is no collection is the view of its one value."""
    if isinstance(value, Ordered):
        pairs = list(zip(value.paths, value.descending, strict=True))
        known = [sort_key(path, descends) for path, descends in pairs if path is not None]
        if len(known) == len(pairs):
            order += known
        elif value.is_sorted:
            what = "a view is read in the order of what it selects"
            raise env.error(node, what, "select what it is ordered by, too")
        return collection_of(value, node, env).expr
    return value.expr if isinstance(value, Many) else element(answer(value, node, env), env)
