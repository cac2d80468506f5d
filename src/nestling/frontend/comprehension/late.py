"""Names that are bound later than the function that reads them.

``f = lambda x: x + n`` reads ``n`` when it is called: if ``n`` is assigned again before, Python computes with that.
A function inside a view is inlined with the names as they are where it stands, so such an assignment is refused.

Law: where ``refuse_late`` refuses nothing, every name that a function reads is what it was where the function stands.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from nestling.frontend.comprehension.context import PythonEnv

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def refuse_late(statement: ast.stmt, rest: Sequence[ast.stmt], env: PythonEnv) -> None:
    """Refuse a function in ``statement`` that reads a name which a statement of the ``rest`` binds."""
    functions = [node for node in ast.walk(statement) if isinstance(node, _SCOPES)]
    if not functions:
        return
    later = {name for other in rest for name in _bound(other)}
    for function in functions:
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id in later - _own(function):
                raise env.error(
                    node,
                    f"{node.id!r} is assigned after the function that reads it",
                    "assign it before, once, or make it a parameter of the function",
                )


def own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What stands in the body of ``function``, and not in one that is defined in it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _SCOPES):
            pending += ast.iter_child_nodes(node)


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that ``statement`` binds where it stands."""
    if isinstance(statement, ast.FunctionDef):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _own(function: ast.AST) -> frozenset[str]:
    """The names that a function, or one inside it, binds itself: parameters, assignments, loops."""
    parameters = (node.arg for node in ast.walk(function) if isinstance(node, ast.arg))
    stored = (n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return frozenset([*parameters, *stored])
