"""Windows: for each row, the rows of its partition, in an order.

::

    rank() OVER (PARTITION BY p ORDER BY o)   =   1 + count(rows with the same p and a lesser o)
    sum(x) OVER (PARTITION BY p ORDER BY o)   =   sum of x over the rows with the same p and an o that is not greater

Rows of equal keys are peers and share their value, so copies of a row need not be told apart. What tells them apart
(``row_number``, ``lag``, a frame of ROWS) needs a place for each row, the number of rows before it: among peers, those
that the key of the tables puts first come first, or where there is none, those that all their columns put first. Rows
that are the same in all columns have no order, and a change that would make two is refused.

A key that may be null is two: whether it is there, and what it is. So each key of an order is never null, and the
number of rows before a row is a sum of counts within bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from sqlglot import exp

from nestling.calculus.build import FALSE, TRUE, call, conjunction, const, countwise, for_
from nestling.calculus.terms import Const, Expr, Field, Term, Var
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type
from nestling.frontend.catalog import Catalog
from nestling.frontend.sql.columns import same
from nestling.frontend.sql.context import YES, Scope, SqlEnv, only, where
from nestling.frontend.sql.convert import is_nullable, operands, scalar, scalar_of, scalar_type
from nestling.frontend.sql.ignored import ignores_nulls, present_rows, without_flag
from nestling.frontend.sql.joins import held, record_of
from nestling.frontend.sql.statistics import DEFAULTS
from nestling.frontend.values import One, Row, Value, as_term, fields_of, of_term, singleton

_PLACE = "·n"
#: What a window function comes to.
Compute = Callable[["Window"], Value]


#: Window functions that tell peers apart.
_BY_PLACE = (
    "row_number", "ntile", "lag", "lead", "first_value", "first", "last_value", "last", "nth_value",
)  # fmt: skip


@dataclass(frozen=True)
class WindowKey:
    """One key of an order, never null: how it is read in a row, and whether the greater comes first."""

    read: Callable[[SqlEnv], Term]
    descending: bool = False

    def less(self, left: Term, right: Term) -> Term:
        return call(">" if self.descending else "<", left, right)


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
    bags = [_looked_at(node, bag, rows, env) for node in found]
    placed = [
        env.run.let("placed", _placed(node, own, rows, env)) for node, own in zip(found, bags, strict=True)
    ]
    row = env.run.var("w", bag)

    def body() -> Expr:
        here = rows.place(row)
        parts = zip(found, bags, placed, strict=True)
        seen = [Window(node, own, rows, row, env, there) for node, own, there in parts]
        values: dict[int, Value] = {}
        for window in seen:
            with env.run.reading(window.node):
                values[id(window.node)] = compute(window)
        return env.run.enclosed(lambda: rest(replace(here, settled={**here.settled, **values})))

    return for_(row, bag, env.run.enclosed(body))


def _looked_at(node: Any, bag: Expr, rows: WindowInput, env: SqlEnv) -> Expr:
    """The rows that a window function looks at: all, or with IGNORE NULLS those whose value is there."""
    return env.run.let("present", present_rows(node, bag, rows.place, env)) if ignores_nulls(node) else bag


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
        self.seen: dict[int, Var] = {}  # the rows that places are of
        self.places: list[SqlEnv] = []
        self.here, self.placed = rows.place(row), placed
        self.partition = list(node.args.get("partition_by") or ())
        order = node.args.get("order")
        self.order = list(order.expressions) if order is not None else []
        for part in self.order:
            only(part, env, "this", "desc", "nulls_first", what="ORDER BY")
        self.call = node.this.this if isinstance(node.this, exp.Filter) else node.this
        if isinstance(self.call, exp.IgnoreNulls | exp.RespectNulls):
            self.call = self.call.this
        self.call, self.ignores_nulls = without_flag(self.call), ignores_nulls(node)
        self.keys = [key for part in self.order for key in self._written(part)]
        self.ties = self._ties() if self.order and _tells_apart(node, self.call) else []

    def _written(self, part: Any) -> list[WindowKey]:
        """The keys that a part of ORDER BY stands for."""
        descending = bool(part.args.get("desc"))
        return _never_null(
            lambda there: scalar(part.this, there),
            self.here,
            descending,
            bool(part.args.get("nulls_first")),
        )

    def _ties(self) -> list[WindowKey]:
        """What puts peers in an order: the rest of the key of the rows, or all their columns."""
        written = [as_term(self.here.value(n)) for n in (*self.partition, *(o.this for o in self.order))]
        key = [as_term(value) for value in self.rows.key(self.row)]
        if key and all(term in written for term in key):
            return []
        number = len(self.rows.key(self.row)) if key else len(self._columns(self.row))
        found: list[WindowKey] = []
        for i in range(number):
            terms = key if key else [as_term(value) for value in self._columns(self.row)]
            if terms[i] not in written:
                found += _never_null(self._tie(i, bool(key)), self.here, False, True)
        return found

    def _tie(self, i: int, by_key: bool) -> Callable[[SqlEnv], Term]:
        def read(there: SqlEnv) -> Term:
            row = self.row if there is self.here else self.seen[id(there)]
            value = self.rows.key(row)[i] if by_key else self._columns(row)[i]
            return scalar_of(value, self.node, self.env)

        return read

    def _columns(self, row: Var) -> list[Value]:
        """The scalar columns of a row."""
        found = [value for _, value in fields_of(of_term(row)) or ()]
        return [v for v in found if isinstance(v, One) and isinstance(term_type(v.term), Scalar)]

    def place_of(self, row: Var) -> SqlEnv:
        """Where the columns of ``row`` are read."""
        there = self.rows.place(row)
        self.seen[id(there)] = row
        self.places.append(there)
        return there

    def each(self, test: Callable[[SqlEnv], Term], body: Callable[[SqlEnv], Expr]) -> Expr:
        """``body`` for each row of the partition that passes ``test``."""
        return self._each(self.bag, lambda var: test(self.place_of(var)), body)

    def each_placed(self, test: Callable[[Term], Term], body: Callable[[SqlEnv], Expr]) -> Expr:
        """``body`` for each row of the partition whose place passes ``test``."""
        return self._each(self.placed, lambda var: test(Field(var, _PLACE)), body)

    def _each(self, bag: Expr, test: Callable[[Var], Term], body: Callable[[SqlEnv], Expr]) -> Expr:
        var = self.env.run.var("v", bag)
        there = self.place_of(var)
        tests = [self.equal(part, there) for part in self.partition]
        last = test(var)
        tests += [last] if last is not TRUE else []
        found = body(there)
        return for_(var, bag, where(conjunction(tests), found) if tests else found)

    def number_before(self, peers_apart: bool = True) -> Term:
        """How many rows of the partition come before this one: its place, where no two are peers.

        Those that differ in the first column of the order, and beside them those that differ in the next one only: each
        is a count within bounds, and can be maintained; a count of what differs in the one or the other could not.
        """
        ties = self.ties if peers_apart else []
        keys = [*self.keys, *ties]
        counts = [self._before_by(keys[: i + 1]) for i in range(len(keys))]
        found = reduce(lambda left, right: call("+", left, right), counts)
        if not ties or self.rows.key(self.row):
            return found
        return call("if", call("only", self._copies()), found, const(0))

    def _before_by(self, keys: Sequence[WindowKey]) -> Term:
        """How many come before this row by the last of ``keys``, and are the same in those before it."""
        *alike, last = keys

        def test(there: SqlEnv) -> Term:
            equal = [call("==", key.read(there), key.read(self.here)) for key in alike]
            return conjunction([*equal, last.less(last.read(there), last.read(self.here))])

        return self.env.run.fold("count", self.each(test, lambda there: YES))

    def number_of_peers(self) -> Term:
        """How many rows have the keys of this one, itself among them."""

        def test(there: SqlEnv) -> Term:
            return conjunction([call("==", key.read(there), key.read(self.here)) for key in self.keys])

        return self.env.run.fold("count", self.each(test, lambda there: YES))

    def _copies(self) -> Term:
        """How many rows are the same as this one in all columns: two have no order."""
        var = self.env.run.var("v", self.bag)
        pairs = zip(self._columns(var), self._columns(self.row), strict=True)
        tests = [call("==", *(scalar_of(v, self.node, self.env) for v in pair)) for pair in pairs]
        return self.env.run.fold("count", for_(var, self.bag, where(conjunction(tests), YES)))

    def keys_before(self) -> Term:
        """How many keys of the order come before that of this row, peers counted once."""
        run, var = self.env.run, self.env.run.var("v", self.bag)

        def read(place: SqlEnv) -> list[Term]:
            return [
                *(scalar(node, place) for node in self.partition),
                *(key.read(place) for key in self.keys),
            ]

        ours = read(self.here)
        row = Row(tuple((f"k{i}", One(term)) for i, term in enumerate(read(self.place_of(var)))))
        keys = run.let("keys", countwise("distinct", for_(var, self.bag, singleton(row, run.site))))

        def before_by(place: int) -> Term:
            key, last = run.var("d", keys), len(self.partition) + place
            theirs = [Field(key, f"k{i}") for i in range(last + 1)]
            equal = [call("==", *pair) for pair in zip(theirs[:-1], ours[:last], strict=True)]
            tests = [*equal, self.keys[place].less(theirs[-1], ours[last])]
            return run.fold("count", for_(key, keys, where(conjunction(tests), YES)))

        return reduce(lambda left, right: call("+", left, right), map(before_by, range(len(self.keys))))

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


def _tells_apart(node: Any, function: Any) -> bool:
    """Whether a window function asks which of two peers comes first."""
    if isinstance(function, exp.Anonymous) and function.name.lower() in _BY_PLACE:
        return True
    spec = node.args.get("spec")
    if spec is None or str(spec.args.get("kind")).upper() != "ROWS":
        return False
    ends = (spec.args.get("start"), spec.args.get("end"))
    return any(str(end).upper() != "UNBOUNDED" for end in ends)


def _never_null(
    read: Callable[[SqlEnv], Term], here: SqlEnv, descending: bool, nulls_first: bool
) -> list[WindowKey]:
    """A key as keys that are never null: whether it is there comes before what it is."""
    type_ = scalar_type(read(here))
    if not type_.nullable:
        return [WindowKey(read, descending)]
    default = Const(DEFAULTS[type_.name], replace(type_, nullable=False))
    null, full = (const(0), const(1)) if nulls_first else (const(1), const(0))
    return [
        WindowKey(lambda there: call("if", call("is_null", read(there)), null, full)),
        WindowKey(lambda there: call("coalesce", read(there), default), descending),
    ]


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
