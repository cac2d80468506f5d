"""Windows: for each row, the rows of its partition, in an order.

::

    rank() OVER (PARTITION BY p ORDER BY o)   =   1 + count(rows with the same p and a lesser o)
    sum(x) OVER (PARTITION BY p ORDER BY o)   =   sum of x over the rows with the same p and an o that is not greater

Rows of equal keys are peers and share their value, so copies of a row need not be told apart. What would tell them
apart (``row_number``, ``lag``, a frame of ROWS) is accepted where the keys of the window hold a key of the rows: then a
row has a place, the number of rows before it, and the row before it is the one whose place is one less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from sqlglot import exp

from nestling.calculus.build import FALSE, TRUE, call, conjunction, countwise, for_
from nestling.calculus.terms import Expr, Field, Term, Var
from nestling.frontend.catalog import Catalog
from nestling.frontend.sql.columns import same
from nestling.frontend.sql.conditions import YES
from nestling.frontend.sql.context import Scope, SqlEnv, only, where
from nestling.frontend.sql.convert import is_nullable, operands, scalar
from nestling.frontend.sql.joins import held, record_of
from nestling.frontend.values import One, Row, Value, as_term, fields_of, of_term, singleton

_PLACE = "·n"
#: What a window function comes to.
Compute = Callable[["Window"], Value]


@dataclass(frozen=True)
class WindowInput:
    """The rows of a query before its select list: each as one record, and where its columns are read again."""

    source: Callable[[Callable[[SqlEnv], Expr]], Expr]
    record: Callable[[SqlEnv], Value]
    place: Callable[[Var], SqlEnv]
    #: Values that no two rows share; none where rows may be the same.
    key: Callable[[Var], Sequence[Value]]


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


def table_rows(select: Any, source: Callable[[Callable[[SqlEnv], Expr]], Expr], env: SqlEnv) -> WindowInput:
    """The rows of FROM and WHERE."""
    scope: list[Scope] = []

    def record(inner: SqlEnv) -> Value:
        scope.append(inner.scopes[0])
        return record_of(inner.scopes[0])

    def place(row: Var) -> SqlEnv:
        return env.inside(held(scope[0], row))

    return WindowInput(source, record, place, lambda row: _declared_key(select, place(row)))


def _declared_key(select: Any, env: SqlEnv) -> list[Value]:
    """The keys of the tables that the columns in scope are of, if each of them has one."""
    first, catalog = select.args.get("from_"), env.run.catalog
    parts = [first.this if first is not None else None, *(j.this for j in select.args.get("joins") or ())]
    tables = {p.alias_or_name: p for p in parts if isinstance(p, exp.Table) and not p.args.get("joins")}
    found: list[Value] = []
    for alias in dict.fromkeys(column.table for column in env.scopes[0]):
        table = tables.get(alias)
        if table is None or not isinstance(catalog, Catalog) or table.name.lower() in env.common:
            return []
        key = next((catalog.key(known) for known in catalog if same(known, table.name)), ())
        columns = [c for c in env.scopes[0] if c.table == alias and any(same(c.name, part) for part in key)]
        if not key or len(columns) != len(key):
            return []
        found += [column.value for column in columns]
    return found


def with_windows(
    found: Sequence[Any], rows: WindowInput, compute: Compute, env: SqlEnv, rest: Callable[[SqlEnv], Expr]
) -> Expr:
    """What ``rest`` yields for every row, with the values of the window functions known."""
    whole = env.run.enclosed(lambda: rows.source(lambda inner: singleton(rows.record(inner), env.run.site)))
    bag = env.run.let("rows", whole)
    placed = [env.run.let("placed", _placed(node, bag, rows, env)) for node in found]
    row = env.run.var("w", bag)

    def body() -> Expr:
        here = rows.place(row)
        seen = [Window(node, bag, rows, row, env, there) for node, there in zip(found, placed, strict=True)]
        values: dict[int, Value] = {}
        for window in seen:
            with env.run.reading(window.node):
                values[id(window.node)] = compute(window)
        return env.run.enclosed(lambda: rest(replace(here, settled={**here.settled, **values})))

    return for_(row, bag, env.run.enclosed(body))


def _placed(node: Any, bag: Expr, rows: WindowInput, env: SqlEnv) -> Expr:
    """The rows, each with its place behind its columns."""
    var = env.run.var("u", bag)
    window = Window(node, bag, rows, var, env, bag)
    if not window.order:
        return bag

    def row() -> Expr:
        columns = fields_of(of_term(var))
        assert columns is not None
        return singleton(Row((*columns, (_PLACE, One(window.number_before())))), env.run.site)

    return for_(var, bag, env.run.enclosed(row))


class Window:
    """One window: its partition and its order, seen from one ``row``; ``placed`` are the rows with their places."""

    def __init__(self, node: Any, bag: Expr, rows: WindowInput, row: Var, env: SqlEnv, placed: Expr) -> None:
        only(node, env, "this", "partition_by", "order", "spec", "over", what="OVER")
        self.node, self.bag, self.rows, self.row, self.env = node, bag, rows, row, env
        self.here, self.placed = rows.place(row), placed
        self.partition = list(node.args.get("partition_by") or ())
        order = node.args.get("order")
        self.order = list(order.expressions) if order is not None else []
        for part in self.order:
            only(part, env, "this", "desc", "nulls_first", what="ORDER BY")
        self.call = node.this.this if isinstance(node.this, exp.Filter) else node.this

    def check_unique(self, what: str, instead: str) -> None:
        """Refuse a window whose keys leave open which of two rows comes first."""
        parts = [as_term(self.here.value(n)) for n in (*self.partition, *(o.this for o in self.order))]
        key = [as_term(value) for value in self.rows.key(self.row)]
        if not key or any(term not in parts for term in key):
            hint = f"add the key of the table to ORDER BY, or write {instead}"
            raise self.env.error(self.node, f"{what} leaves open which of two equal rows comes first", hint)

    def each(self, test: Callable[[SqlEnv], Term], body: Callable[[SqlEnv], Expr]) -> Expr:
        """``body`` for each row of the partition that passes ``test``."""
        return self._each(self.bag, lambda var: test(self.rows.place(var)), body)

    def each_placed(self, test: Callable[[Term], Term], body: Callable[[SqlEnv], Expr]) -> Expr:
        """``body`` for each row of the partition whose place passes ``test``."""
        return self._each(self.placed, lambda var: test(Field(var, _PLACE)), body)

    def _each(self, bag: Expr, test: Callable[[Var], Term], body: Callable[[SqlEnv], Expr]) -> Expr:
        var = self.env.run.var("v", bag)
        there = self.rows.place(var)
        tests = [self.equal(part, there) for part in self.partition]
        last = test(var)
        tests += [last] if last is not TRUE else []
        found = body(there)
        return for_(var, bag, where(conjunction(tests), found) if tests else found)

    def number_before(self) -> Term:
        """How many rows of the partition come before this one: its place, where no two are peers.

        Those that differ in the first column of the order, and beside them those that differ in the next one only: each
        is a count within bounds, and can be maintained; a count of what differs in the one or the other could not.
        """
        counts = [self._before_by(i) for i in range(len(self.order))]
        return reduce(lambda left, right: call("+", left, right), counts)

    def _before_by(self, place: int) -> Term:
        """How many come before this row by one column of the order, and are the same in those before it."""
        *alike, last = self.order[: place + 1]

        def test(there: SqlEnv) -> Term:
            theirs, ours = self._pair(last.this, there)
            equal = [self.equal(part.this, there) for part in alike]
            return conjunction([*equal, first_of(last, theirs, ours, False)])

        return self.env.run.fold("count", self.each(test, lambda there: YES))

    def keys_before(self) -> Term:
        """How many keys of the order come before that of this row, peers counted once."""
        run, nodes = self.env.run, [*self.partition, *(part.this for part in self.order)]
        var = run.var("v", self.bag)
        there, ours = self.rows.place(var), [scalar(node, self.here) for node in nodes]
        row = Row(tuple((f"k{i}", One(scalar(node, there))) for i, node in enumerate(nodes)))
        keys = run.let("keys", countwise("distinct", for_(var, self.bag, singleton(row, run.site))))

        def before_by(place: int) -> Term:
            key, last = run.var("d", keys), len(self.partition) + place
            theirs = [Field(key, f"k{i}") for i in range(last + 1)]
            equal = [call("==", *pair) for pair in zip(theirs[:-1], ours[:last], strict=True)]
            tests = [*equal, first_of(self.order[place], theirs[-1], ours[last], False)]
            return run.fold("count", for_(key, keys, where(conjunction(tests), YES)))

        return reduce(lambda left, right: call("+", left, right), map(before_by, range(len(self.order))))

    def size(self) -> Term:
        """How many rows the partition has."""
        return self.env.run.fold("count", self.each(lambda there: TRUE, lambda there: YES))

    def equal(self, node: Any, there: SqlEnv) -> Term:
        """The same key: nulls are one partition, and peers."""
        return call("==", *self._pair(node, there))

    def _pair(self, node: Any, there: SqlEnv) -> list[Term]:
        return operands([One(scalar(node, there)), One(scalar(node, self.here))], node, self.env)

    def before(self, there: SqlEnv, peers: bool) -> Term:
        """Whether a row comes before this one, or is among its ``peers``."""
        *others, last = self.order
        theirs, ours = self._pair(last.this, there)
        found = first_of(last, theirs, ours, peers)
        for part in reversed(others):
            theirs, ours = self._pair(part.this, there)
            first = first_of(part, theirs, ours, False)
            found = call("or", first, call("and", self.equal(part.this, there), found))
        return found


def first_of(part: Any, left: Term, right: Term, peers: bool) -> Term:
    """Whether ``left`` comes before ``right`` in the order of ``part``, or is the same and ``peers`` count."""
    less = (">" if part.args.get("desc") else "<") + ("=" if peers else "")
    found: Term = call(less, left, right)
    if not is_nullable(left) and not is_nullable(right):
        return found
    found = call("coalesce", found, FALSE)
    early, late = (left, right) if part.args.get("nulls_first") else (right, left)
    apart = call("and", call("is_null", early), call("not", call("is_null", late)))
    found = call("or", apart, found)
    both = call("and", call("is_null", left), call("is_null", right))
    return call("or", found, both) if peers else found
