"""Functions, inlined where they are called: assignments, then one ``return``."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nestling.errors import QueryError
from nestling.frontend.comprehension.bags import targets
from nestling.frontend.comprehension.capture import capture
from nestling.frontend.comprehension.context import PythonEnv
from nestling.frontend.comprehension.convert import bag_of, refuse_generator, scalar_of
from nestling.frontend.comprehension.late import own_nodes, refuse_late
from nestling.frontend.comprehension.read import PythonDefinition, read_function
from nestling.frontend.comprehension.records import arguments
from nestling.frontend.comprehension.refuse import EXPRESSIONS, refusal
from nestling.frontend.comprehension.values import Helper, Items
from nestling.frontend.values import Barred, Many, One, Row, Some, Value, as_term

_ITSELF = "a function that calls itself is not supported"
_ONCE = "a view is one comprehension over its tables; write the steps out"


def call_function(function: object, node: ast.Call, env: PythonEnv) -> Value:
    """A call of a captured function."""
    found = read_function(function)
    if not isinstance(found.node, ast.FunctionDef | ast.Lambda):
        raise env.error(node, "only a function is called")
    home = PythonEnv(env.run, found.source)
    return call_helper(Helper(found.node, home), node, env, defaults_of(found, node, env))


def defaults_of(found: PythonDefinition, node: ast.AST, env: PythonEnv) -> dict[str, Value]:
    """The defaults of a captured function, as constants."""
    return {name: capture(value, node, env) for name, value in found.defaults.items()}


def call_helper(
    helper: Helper, node: ast.Call, env: PythonEnv, defaults: Mapping[str, Value] | None = None
) -> Value:
    """What ``helper`` returns for the arguments of ``node``."""
    function, home = helper.node, helper.env
    name = getattr(function, "name", "the lambda")
    place = (home.source.file, function.lineno, function.col_offset)
    if place in env.run.inlined:
        raise env.error(node, _ITSELF, _ONCE)
    if defaults is None:
        defaults = _written_defaults(function.args, home)
    bound = arguments(parameters(function.args, home), node, defaults, name, env)
    settled = {name: settle(name, value, node, env) for name, value in bound.items()}
    env.run.inlined.append(place)
    try:
        return result(function, replace(home, names={**home.names, **settled}, known=env.known))
    finally:
        env.run.inlined.pop()


def parameters(given: ast.arguments, env: PythonEnv) -> list[str]:
    """The names of all parameters."""
    for extra in (given.vararg, given.kwarg):
        if extra is not None:
            raise env.error(
                extra, f"the parameter *{extra.arg} is not supported", "name the parameters one by one"
            )
    return [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _written_defaults(given: ast.arguments, env: PythonEnv) -> dict[str, Value]:
    positional = [*given.posonlyargs, *given.args]
    tail = positional[len(positional) - len(given.defaults) :]
    pairs = [*zip(tail, given.defaults, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return {arg.arg: env.value(node) for arg, node in pairs if node is not None}


def settle(name: str, value: Value, node: ast.expr, env: PythonEnv) -> Value:
    """``value`` under a name: in a form that may be used more than once."""
    refuse_generator(value, node, env, "used up after one pass")
    match value:
        case Many():
            return env.named(name, value)
        case Some():
            return One(scalar_of(value, node, env))
        case Row(fields):
            return replace(value, fields=tuple((own, settle(own, field, node, env)) for own, field in fields))
        case Items(values) if any(as_term(item) is None for item in values):
            return env.named(name, bag_of(value, node, env))
    return value


def result(function: ast.FunctionDef | ast.Lambda, env: PythonEnv) -> Value:
    """What the body of ``function`` returns."""
    if isinstance(function, ast.Lambda):
        return env.value(function.body)
    _refuse_yield(function, env)
    return _statements(function.body, function, env)


def _refuse_yield(function: ast.FunctionDef, env: PythonEnv) -> None:
    """A call of a function that yields, wherever it does, returns a generator and not what it returns."""
    for node in own_nodes(function):
        if isinstance(node, ast.Yield | ast.YieldFrom):
            raise refusal(node).located(env.source.span(node))


def _statements(statements: Sequence[ast.stmt], function: ast.FunctionDef, env: PythonEnv) -> Value:
    for place, statement in enumerate(statements):
        try:
            refuse_late(statement, statements[place + 1 :], env)
            if isinstance(statement, ast.Return) and statement.value is not None:
                return env.value(statement.value)
            env = _after(statement, env)
        except QueryError as error:
            error.located(env.source.span(statement))
            raise
    raise env.error(function, f"{function.name} returns nothing", "return a comprehension")


def _after(statement: ast.stmt, env: PythonEnv) -> PythonEnv:
    """The names in scope after ``statement``."""
    match statement:
        case ast.Expr(ast.Constant(str())) | ast.Pass():
            return env
        case ast.Assign(names, value):
            return _assigned(names, value, env)
        case ast.AnnAssign(ast.Name() as name, _, ast.expr() as value):
            return _assigned([name], value, env)
        case ast.FunctionDef(name, decorator_list=[]):
            return env.binding({name: Helper(statement, env.binding({name: Barred(_ITSELF, _ONCE)}))})
        case ast.FunctionDef(decorator_list=[decorator, *_]):
            raise env.error(
                decorator, "a decorator is not supported here", "define the function outside the view"
            )
        case ast.Return():
            raise env.error(statement, "None is returned here", "return a comprehension")
        case ast.Expr(value) if type(value) in EXPRESSIONS:
            raise refusal(value)
    raise refusal(statement)


def _assigned(names: Sequence[ast.expr], node: ast.expr, env: PythonEnv) -> PythonEnv:
    first = names[0]
    name = first.id if isinstance(first, ast.Name) else "x"
    value = settle(name, env.value(node), node, env)
    for target in names:
        env = env.binding(targets(target, value, env))
    return env
