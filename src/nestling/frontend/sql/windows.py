"""Window functions: for each row, a fold over the rows of its partition that its frame holds.

::

    rank() OVER (PARTITION BY p ORDER BY o)   =   1 + count(rows with the same p and a lesser o)
    sum(x) OVER (PARTITION BY p ORDER BY o)   =   sum of x over the rows with the same p and an o that is not greater

Rows of equal keys are peers and share their value, so copies of a row need not be told apart. What would tell them
apart (``row_number``, a frame of ROWS) is accepted where the keys of the window hold the declared key of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from nestling.calculus.build import FALSE, TRUE, call, conjunction, const, for_, where
from nestling.calculus.terms import Expr, Term, Var
from nestling.frontend.catalog import Catalog
from nestling.frontend.sql.aggregates import Folds, is_aggregate, read_call
from nestling.frontend.sql.columns import same
from nestling.frontend.sql.conditions import YES
from nestling.frontend.sql.context import Env, Scope, only
from nestling.frontend.sql.convert import is_nullable, operands, scalar
from nestling.frontend.sql.joins import held, record_of
from nestling.frontend.sql.tables import row_of
from nestling.frontend.sql.values import One, Value, singleton

_RANKS = ("rank", "dense_rank", "row_number")


def windows(nodes: Sequence[Any]) -> list[Any]:
    """The window functions in ``nodes``; not those of queries inside."""
    found: list[Any] = []

    def visit(part: Any) -> None:
        if isinstance(part, exp.Window):
            found.append(part)
        elif not isinstance(part, exp.Query):
            for child in part.iter_expressions():
                visit(child)

    for node in nodes:
        visit(node)
    return found


def with_windows(
    select: Any,
    found: Sequence[Any],
    source: Callable[[Callable[[Env], Expr]], Expr],
    env: Env,
    rest: Callable[[Env], Expr],
) -> Expr:
    """What ``rest`` yields for every row of ``source``, with the values of the window functions known."""
    scope: list[Scope] = []

    def whole(inner: Env) -> Expr:
        scope.append(inner.scopes[0])
        return singleton(record_of(inner.scopes[0]), env.run.site)

    rows = env.run.let("rows", env.run.enclosed(lambda: source(whole)))
    row = env.run.var("w", rows)

    def body() -> Expr:
        here = env.inside(held(scope[0], row))
        values = {id(node): _Window(node, select, rows, scope[0], here, env).value() for node in found}
        return env.run.enclosed(lambda: rest(replace(here, settled={**env.settled, **values})))

    return for_(row, rows, env.run.enclosed(body))


class _Window:
    """One window function: its partition, its order and its frame."""

    def __init__(self, node: Any, select: Any, rows: Expr, scope: Scope, here: Env, env: Env) -> None:
        only(node, env, "this", "partition_by", "order", "spec", "over", what="OVER")
        self.node, self.select, self.rows, self.scope, self.here, self.env = (
            node,
            select,
            rows,
            scope,
            here,
            env,
        )
        self.partition = list(node.args.get("partition_by") or ())
        order = node.args.get("order")
        self.order = list(order.expressions) if order is not None else []
        for part in self.order:
            only(part, env, "this", "desc", "nulls_first", what="ORDER BY")
        self.call = node.this.this if isinstance(node.this, exp.Filter) else node.this

    def value(self) -> Value:
        name = self.call.name.lower() if isinstance(self.call, exp.Anonymous) else ""
        if name in _RANKS:
            return self._rank(name)
        if is_aggregate(self.call):
            return self._aggregate()
        what = f"the window function {name or self.call.key}"
        raise self.env.error(
            self.node, f"{what} is not supported", "rank, dense_rank, row_number and aggregates are"
        )

    def _rank(self, name: str) -> Value:
        if not self.order or self.node.args.get("spec") is not None or self.call.expressions:
            raise self.env.error(self.node, f"{name}() needs OVER (… ORDER BY …)", "say what comes first")
        if name == "row_number":
            self._check_unique("row_number()", "rank()")
        run = self.env.run
        if name != "dense_rank":
            before = self._each(lambda there: self._before(there, False), lambda there: YES)
            return One(call("+", run.fold("count", before), const(1)))

        def keys(there: Env) -> Expr:
            parts = [(f"k{i}", there.value(part.this)) for i, part in enumerate(self.order)]
            return singleton(row_of(parts), run.site)

        before = self._each(lambda there: self._before(there, False), keys)
        return One(call("+", run.fold("count_distinct", before), const(1)))

    def _aggregate(self) -> Value:
        bounds = self._frame()
        held_parts: list[Any] = []

        def element(there: Env) -> Expr:
            aggregate = read_call(self.call, there)
            held_parts.append(aggregate)
            value = [("a", aggregate.value)] if aggregate.value is not None else []
            test: list[tuple[str, Value]] = (
                [("f", One(aggregate.filter))] if aggregate.filter is not None else []
            )
            return singleton(row_of([*value, *test]), self.env.run.site)

        test = (lambda there: self._before(there, True)) if bounds == "running" else (lambda there: TRUE)
        rows = self.env.run.let("frame", self._each(test, element))
        aggregate = held_parts[-1]
        folds = Folds(rows, True, self.node, self.env)  # a row is in its own frame
        return folds.value(aggregate, "a", "f" if aggregate.filter is not None else "")

    def _frame(self) -> str:
        """``running`` up to the row and its peers, or the ``whole`` partition."""
        spec = self.node.args.get("spec")
        if spec is None:
            return "running" if self.order else "whole"
        only(spec, self.env, "kind", "start", "start_side", "end", "end_side", what="a frame")
        kind = str(spec.args.get("kind")).upper()
        ends = [str(spec.args.get(key) or "").upper() for key in ("start", "start_side", "end", "end_side")]
        if ends == ["UNBOUNDED", "PRECEDING", "UNBOUNDED", "FOLLOWING"]:
            return "whole"
        if ends[:2] != ["UNBOUNDED", "PRECEDING"] or ends[2] not in ("", "CURRENT ROW") or not self.order:
            hint = "write UNBOUNDED PRECEDING AND CURRENT ROW, or AND UNBOUNDED FOLLOWING"
            raise self.env.error(self.node, "this frame is not supported", hint)
        if kind == "ROWS":
            self._check_unique("a frame of ROWS", "RANGE")
        return "running"

    def _check_unique(self, what: str, instead: str) -> None:
        names = [
            part.name
            for part in (*self.partition, *(o.this for o in self.order))
            if isinstance(part, exp.Column)
        ]
        key = self._key()
        if not key or not all(any(same(part, name) for name in names) for part in key):
            hint = f"add the key of the table to ORDER BY, or write {instead}"
            raise self.env.error(self.node, f"{what} leaves open which of two equal rows comes first", hint)

    def _key(self) -> tuple[str, ...]:
        """The declared key of the table, if the query reads one table alone."""
        source, catalog = self.select.args.get("from_"), self.env.run.catalog
        alone = (
            source is not None and not self.select.args.get("joins") and not self.select.args.get("laterals")
        )
        if not alone or not isinstance(source.this, exp.Table) or not isinstance(catalog, Catalog):
            return ()
        name = source.this.name
        if (
            name.lower() in self.env.common
            or source.this.args.get("joins")
            or source.this.args.get("laterals")
        ):
            return ()
        return next((catalog.key(known) for known in catalog if same(known, name)), ())

    def _each(self, test: Callable[[Env], Term], body: Callable[[Env], Expr]) -> Expr:
        """``body`` for each row of the partition that passes ``test``."""
        var: Var = self.env.run.var("v", self.rows)
        there = self.env.inside(held(self.scope, var))
        tests = [self._equal(part, there) for part in self.partition]
        last = test(there)
        found = body(there)
        tests += [last] if last is not TRUE else []
        return for_(var, self.rows, where(conjunction(tests), found) if tests else found)

    def _pair(self, node: Any, there: Env) -> list[Term]:
        return operands([One(scalar(node, there)), One(scalar(node, self.here))], node, self.env)

    def _equal(self, node: Any, there: Env) -> Term:
        """The same key: nulls are one partition."""
        return call("==", *self._pair(node, there))

    def _before(self, there: Env, peers: bool) -> Term:
        """Whether a row comes before this one, or is among its ``peers``."""
        *others, last = self.order
        found = self._comes_first(last, there, peers)
        for part in reversed(others):
            first = self._comes_first(part, there, False)
            found = call("or", first, call("and", self._equal(part.this, there), found))
        return found

    def _comes_first(self, part: Any, there: Env, peers: bool) -> Term:
        theirs, ours = self._pair(part.this, there)
        less = (">" if part.args.get("desc") else "<") + ("=" if peers else "")
        found: Term = call(less, theirs, ours)
        if not is_nullable(theirs):
            return found
        found = call("coalesce", found, FALSE)
        early, late = (theirs, ours) if part.args.get("nulls_first") else (ours, theirs)
        apart = call("and", call("is_null", early), call("not", call("is_null", late)))
        found = call("or", apart, found)
        both = call("and", call("is_null", theirs), call("is_null", ours))
        return call("or", found, both) if peers else found
