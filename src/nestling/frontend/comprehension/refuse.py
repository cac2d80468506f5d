"""What is not supported, by the name Python gives it, and what to write instead."""

from __future__ import annotations

import ast

from nestling.errors import QueryError

EXPRESSIONS: dict[type[ast.AST], tuple[str, str]] = {
    ast.NamedExpr: ("an assignment expression (:=)", "bind it with an inner loop: for y in [f(x)]"),
    ast.Await: ("await", "a view is computed from its tables alone"),
    ast.Yield: ("yield", "return a comprehension"),
    ast.YieldFrom: ("yield from", "return a comprehension"),
    ast.Starred: ("* in this place", "name the parts one by one"),
    ast.Slice: ("a slice", "a bag has no order; take the first k of sorted(…)[:k]"),
}
STATEMENTS: dict[type[ast.AST], tuple[str, str]] = {
    ast.For: ("a for statement", "write a comprehension: [… for x in …]"),
    ast.While: ("a while statement", "write a comprehension: [… for x in …]"),
    ast.If: ("an if statement", "write a conditional expression: a if test else b"),
    ast.Match: ("a match statement", "write a conditional expression: a if test else b"),
    ast.With: ("a with statement", "a view is computed from its tables alone"),
    ast.Try: ("a try statement", "test for the case that fails: a if test else b"),
    ast.Raise: ("raise", "db.constraint(…) refuses changes"),
    ast.Assert: ("assert", "db.constraint(…) refuses changes"),
    ast.AugAssign: ("an augmented assignment", "bind a new name: y = x + …"),
    ast.Delete: ("del", "leave the name unused"),
    ast.Global: ("global", "pass it as a parameter"),
    ast.Nonlocal: ("nonlocal", "pass it as a parameter"),
    ast.Import: ("import", "import outside the view"),
    ast.ImportFrom: ("import", "import outside the view"),
    ast.ClassDef: ("a class", "define it outside the view"),
    ast.AsyncFunctionDef: ("an async function", "define it with def"),
    ast.Expr: ("an expression statement", "bind it to a name, or return it"),
    ast.Pass: ("pass", "return a comprehension"),
}
OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Pow: ("**", "multiply: x * x"),
    ast.MatMult: ("@", ""),
    ast.LShift: ("<<", "multiply by a power of two"),
    ast.RShift: (">>", "divide by a power of two: x // 2"),
    ast.Invert: ("~", "write not x for a bool"),
}


def refusal(node: ast.AST) -> QueryError:
    """The error for a construct that is not supported, without its place."""
    for table in (EXPRESSIONS, STATEMENTS, OPERATORS):
        if type(node) in table:
            what, hint = table[type(node)]
            return QueryError(f"{what} is not supported", hint=hint)
    return QueryError(f"{type(node).__name__} is not supported", hint="write a comprehension")
