"""Conditions as guards of a bag, and those that ask a query: EXISTS, IN, ANY, ALL.

A guard takes null for false by itself. A conjunct that asks whether a query has a row guards what follows by that
query; every other one is a term. As a term, ``x op ANY (query)`` has three values, for which three counts are kept:
the rows that match, the rows that are null, and, where ``x`` may be null, all rows. ``x IN (query)`` and ``x NOT IN
(query)`` are never null, as they are not in Spark: what is not known is false.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from sqlglot import exp

from nestling.calculus.build import balanced, call, conjunction, const, countwise, for_
from nestling.calculus.terms import Const, Expr, Field, Sing, Term, Var
from nestling.calculus.types import UNIT, Record, Scalar
from nestling.calculus.typing import element_type
from nestling.frontend.sql.codes import has_code, nullable_code
from nestling.frontend.sql.comparing import DECLARE, column_by_column, compared
from nestling.frontend.sql.context import YES, QueryRows, SqlEnv, only, where
from nestling.frontend.sql.convert import NULL_BOOL, alike, condition, is_nullable
from nestling.frontend.sql.scalars import negated
from nestling.frontend.sql.values import shown
from nestling.frontend.values import Null, One, Row, Value, bag_of, fields_of, of_term, singleton, type_of

Rest: TypeAlias = Callable[[SqlEnv], Expr]
QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
_OPERATORS = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def guarded(node: Any, env: SqlEnv, rest: Rest) -> Expr:
    """What ``rest`` yields, where ``node`` is true."""
    match node:
        case exp.Paren():
            return guarded(node.this, env, rest)
        case exp.And():
            return guarded(node.this, env, lambda inner: guarded(node.expression, inner, rest))
        case exp.Not():
            return _guarded_by_negation(node, _bare(node.this), env, rest)
        case exp.Exists():
            return present(_exists(node, env), env, rest)
        case exp.In() if node.args.get("query") is not None:
            return env.run.enclosed(lambda: present(_Matches(node, env).true, env, rest))
        case exp.Or() if (parts := _factored(node)) is not None:
            return _guarded_by_cases(*parts, env, rest)
    return env.run.enclosed(lambda: where(condition(node, env), _inner(env, rest)))


def _factored(node: Any) -> tuple[list[Any], list[list[Any]]] | None:
    """``(a AND x) OR (a AND y)`` as ``a AND (x OR y)``: what all cases share may be looked up by."""
    cases = [
        list(case.flatten()) if isinstance(case, exp.And) else [case] for case in map(_bare, node.flatten())
    ]
    shared = [part for part in cases[0] if all(part in case for case in cases[1:])]
    return (shared, [[part for part in case if part not in shared] for case in cases]) if shared else None


def _guarded_by_cases(shared: list[Any], cases: list[list[Any]], env: SqlEnv, rest: Rest) -> Expr:
    if shared:
        return guarded(shared[0], env, lambda inner: _guarded_by_cases(shared[1:], cases, inner, rest))
    if not all(cases):
        return rest(env)

    def test() -> Term:
        return balanced("or", [conjunction([condition(part, env) for part in case]) for case in cases])

    return env.run.enclosed(lambda: where(test(), _inner(env, rest)))


def _guarded_by_negation(node: Any, inner: Any, env: SqlEnv, rest: Rest) -> Expr:
    match inner:
        case exp.Exists():
            return absent(_exists(inner, env), env, rest, inner)
        case exp.In() if inner.args.get("query") is not None:
            return env.run.enclosed(lambda: where(_never(inner, env), _inner(env, rest)))
        case exp.Not():
            return guarded(_bare(inner.this), env, rest)
    return env.run.enclosed(lambda: where(condition(node, env), _inner(env, rest)))


def _bare(node: Any) -> Any:
    return _bare(node.this) if isinstance(node, exp.Paren) else node


def _inner(env: SqlEnv, rest: Rest) -> Expr:
    return env.run.enclosed(lambda: rest(env))


def present(expr: Expr, env: SqlEnv, rest: Rest) -> Expr:
    """What ``rest`` yields, where ``expr`` has an element."""
    return for_(Var("_", UNIT), countwise("exists", unit(expr, env)), _inner(env, rest))


def absent(expr: Expr, env: SqlEnv, rest: Rest, node: Any) -> Expr:
    """What ``rest`` yields, where ``expr``, read at ``node``, has no element."""

    def guard() -> Expr:
        with env.run.reading(node):
            number = env.run.fold("count", unit(expr, env))
        return where(call("==", number, const(0)), _inner(env, rest))

    return env.run.enclosed(guard)


def unit(expr: Expr, env: SqlEnv) -> Expr:
    """``⟨⟩`` for every element of ``expr``."""
    return expr if element_type(expr) == UNIT else for_(env.run.var("e", expr), expr, YES)


def of_exists(node: Any, env: SqlEnv) -> Value:
    """``EXISTS (query)``, which is never null."""
    return One(call("!=", env.run.fold("count", unit(_exists(node, env), env)), const(0)))


def _never(node: Any, env: SqlEnv) -> Term:
    with env.run.reading(node):
        return _Matches(node, env).never()


def _exists(node: Any, env: SqlEnv) -> Expr:
    if not isinstance(node.this, QUERIES):
        raise env.error(node, "EXISTS takes a query or an array with a lambda", "write EXISTS (SELECT …)")
    return env.query(node.this).expr


def of_in(node: Any, env: SqlEnv) -> Value:
    """``x IN (a, b, …)`` or ``x IN (query)``."""
    if node.args.get("query") is not None:
        return One(_Matches(node, env).found())
    only(node, env, "this", "expressions")
    value = env.value(node.this)
    return One(
        balanced("or", [compared("=", value, env.value(part), part, env) for part in node.expressions])
    )


def of_not(node: Any, env: SqlEnv) -> Value:
    """``NOT x``, and ``x NOT IN (query)``; over AND and OR it goes inwards, to where a query is asked."""
    inner = _bare(node.this)
    match inner:
        case exp.In() if inner.args.get("query") is not None:
            return One(_never(inner, env))
        case exp.And() | exp.Or() if any(part.args.get("query") for part in inner.find_all(exp.In)):
            sides = [condition(exp.Not(this=side), env) for side in (inner.this, inner.expression)]
            return One(call("or" if isinstance(inner, exp.And) else "and", *sides))
        case exp.Not():
            return One(condition(inner.this, env))
    return negated(node, env)


def of_comparison(node: Any, env: SqlEnv) -> Value:
    """``a < b``, and ``a < ANY (query)`` or ``a < ALL (query)``."""
    operator, right = _OPERATORS[type(node)], node.expression
    match right:
        case exp.Any():
            return One(_Matches(node, env, right.this, operator).value())
        case exp.All():
            found = _Matches(node, env, right.this, _OPPOSITE[operator]).value()
            return One(call("not", found))
    return One(compared(operator, env.value(node.this), env.value(right), node, env))


class _Matches:
    """The rows of a query that stand in a relation to a value, and those of which that is not known."""

    def __init__(self, node: Any, env: SqlEnv, query: Any = None, operator: str = "=") -> None:
        self.node, self.env, self.operator = node, env, operator
        query = node.args["query"] if query is None else query
        if not isinstance(query, QUERIES):
            raise env.error(node, "a query is needed here", "write (SELECT …)")
        self.left = env.value(node.this)
        self.rows = env.query(query)
        if bag_of(self.left) is not None and len(self.rows.names) == 1:
            self._by_code(query)
        width, own = len(self.rows.names), fields_of(self.left)
        if width != (1 if own is None else len(own)):
            raise env.error(
                query, f"the query has {width} columns, and {shown(self.left)} is compared with it"
            )

    def _by_code(self, query: Any) -> None:
        """An array and those of the query, as texts that are equal where they are."""
        env, var = self.env, self.env.run.var("y", self.rows.expr)
        column = _row(var).fields[0][1]
        for side in (self.left, column):
            if bag_of(side) is None or not has_code(type_of(side)):
                raise env.error(query, f"{shown(self.left)} is compared with {shown(side)}", DECLARE)
        left, right = alike([self.left, column], self.node, env)
        self.left = One(nullable_code(left, self.node, env))

        def coded() -> Expr:
            return singleton(Row((("c", One(nullable_code(right, self.node, env))),)), env.run.site)

        self.rows = QueryRows(for_(var, self.rows.expr, env.run.enclosed(coded)), self.rows.names)

    @property
    def true(self) -> Expr:
        """``⟨⟩`` for each row that matches."""
        return self._where(self._test)

    def _where(self, test: Callable[[Var], Term]) -> Expr:
        var = self.env.run.var("y", self.rows.expr)
        return for_(var, self.rows.expr, self.env.run.enclosed(lambda: where(test(var), YES)))

    def _test(self, row: Var) -> Term:
        found = _row(row) if fields_of(self.left) is not None else _row(row).fields[0][1]
        return column_by_column(self.operator, self.left, found, self.node, self.env)

    def _unknown(self) -> list[Term]:
        """Tests one of which holds where some row is not known to match."""
        var = Var("·", element_type(self.rows.expr))
        if not is_nullable(self._test(var)):
            return []
        if fields_of(self.left) is not None or isinstance(self.left, Null):
            return [self._some(lambda row: call("is_null", self._test(row)))]
        found: list[Term] = []
        column = _row(var).fields[0]
        assert isinstance(self.left, One)
        if is_nullable(_scalar(column[1])):
            found.append(self._some(lambda row: call("is_null", _scalar(_row(row).fields[0][1]))))
        if is_nullable(self.left.term):
            some = call("!=", self.env.run.fold("count", unit(self.rows.expr, self.env)), const(0))
            found.append(call("and", call("is_null", self.left.term), some))
        return found

    def _some(self, test: Callable[[Var], Term]) -> Term:
        return call("!=", self.env.run.fold("count", self._where(test)), const(0))

    def found(self) -> Term:
        """Whether some row is known to match."""
        return call("!=", self.env.run.fold("count", self.true), const(0))

    def value(self) -> Term:
        """Whether some row matches: true, false or null."""
        true = self.found()
        unknown = self._unknown()
        if not unknown:
            return true
        null = Scalar("bool", True)
        otherwise = call("if", balanced("or", unknown), NULL_BOOL, Const(False, null))
        return call("if", true, Const(True, null), otherwise)

    def never(self) -> Term:
        """Whether it is known that no row matches."""
        none = call("==", self.env.run.fold("count", self.true), const(0))
        return conjunction([none, *(call("not", test) for test in self._unknown())])


def _row(var: Var) -> Row:
    type_ = element_type(Sing(var))
    assert isinstance(type_, Record)
    return Row(tuple((name, of_term(Field(var, name))) for name in type_.names))


def _scalar(value: Value) -> Term:
    assert isinstance(value, One)
    return value.term
