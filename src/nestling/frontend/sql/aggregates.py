"""Aggregates over the rows of a group.

Nulls are left out before anything is added up. Of nothing, a count is 0 and every other aggregate null; in a group
that has rows, whose argument is never null, nothing is missing and the type says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from nestling.calculus.build import FALSE, TRUE, call, conjunction, const, countwise, for_
from nestling.calculus.optional import is_optional
from nestling.calculus.sizes import of_average
from nestling.calculus.terms import Const, Expr, Field, Term, Var
from nestling.calculus.types import NUMERIC, Record, Scalar, Type, is_base, leaf_types, nullable
from nestling.calculus.typing import element_type, term_type
from nestling.frontend.sql.by_content import is_array
from nestling.frontend.sql.codes import is_sorted
from nestling.frontend.sql.comparing import DECLARE
from nestling.frontend.sql.context import YES, SqlEnv, only, where
from nestling.frontend.sql.convert import (
    condition,
    scalar_of,
    scalar_type,
    stored,
    without_null,
)
from nestling.frontend.sql.extremes import codes_of, extreme
from nestling.frontend.sql.statistics import DEFAULTS, SINGLE, STATISTICS, statistic
from nestling.frontend.sql.values import shown
from nestling.frontend.values import (
    Many,
    One,
    Row,
    Value,
    bag_of,
    fields_of,
    of_term,
    singleton,
    there,
    type_of,
)

NAMES = {
    "count": "count", "sum": "sum", "avg": "avg", "mean": "avg", "min": "min", "max": "max",
    "any_value": "min", "count_if": "count_if", "bool_and": "every", "every": "every", "bool_or": "some",
    "stddev": "stdev_samp", "stddev_samp": "stdev_samp", "std": "stdev_samp", "stddev_pop": "stdev",
    "variance": "var_samp", "var_samp": "var_samp", "var_pop": "var",
    "collect_list": "list", "array_agg": "list", "collect_set": "set", "some": "some", "any": "some",
    "approx_count_distinct": "count", "max_by": "max_by", "min_by": "min_by", **STATISTICS,
}  # fmt: skip
REFUSED = {
    "first": "a bag has no first row: write min(…)",
    "first_value": "a bag has no first row: write min(…)",
    "last": "a bag has no last row: write max(…)",
    "last_value": "a bag has no last row: write max(…)",
    "percentile_approx": "write percentile(…), which is exact",
    "approx_percentile": "write percentile(…), which is exact",
}
#: Not aggregates, but read where these are: of a group.
GROUPING = ("grouping", "grouping_id")


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """A call of an aggregate: what it adds up of each row, and which rows."""

    name: str
    value: Value | None
    distinct: bool
    filter: Term | None
    several: bool = False  # arguments: a row counts where none of them is null


def is_aggregate(node: Any) -> bool:
    """Whether ``node`` calls an aggregate, also one that is refused."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in (*NAMES, *REFUSED, *GROUPING)


def calls(node: Any) -> list[Any]:
    """The aggregates in ``node`` that belong to its query, with their FILTER; not those of queries inside."""
    found: list[Any] = []

    def visit(part: Any) -> None:
        if isinstance(part, exp.Window):
            for child in _window_parts(part):
                visit(child)
        elif isinstance(part, exp.Query) and part is not node:
            return
        elif is_aggregate(part):
            found.append(part)
        else:
            for child in part.iter_expressions():
                visit(child)

    visit(node)
    return found


def _window_parts(node: Any) -> list[Any]:
    over = node.this.this if isinstance(node.this, exp.Filter) else node.this
    over = over.this if isinstance(over, exp.IgnoreNulls | exp.RespectNulls) else over
    parts = [*over.iter_expressions(), *(node.args.get("partition_by") or ())]
    return parts + ([node.args["order"]] if node.args.get("order") is not None else [])


def read_call(node: Any, env: SqlEnv) -> AggregateCall:
    """The aggregate that ``node`` calls, its argument read in ``env``, the place of a single row."""
    name = node.name.lower()
    if name in GROUPING:
        raise env.error(node, f"{name} is known in a group only", "use it in the select list or in HAVING")
    if name in REFUSED:
        raise env.error(node, f"{name} is not supported", REFUSED[name])
    filter_ = _filter(node, env)
    args, distinct = node.expressions, False
    if len(args) == 1 and isinstance(args[0], exp.Distinct):
        only(args[0], env, "expressions")
        args, distinct = args[0].expressions, True
    kind = NAMES[name]
    if name == "approx_count_distinct":
        args, distinct = args[:1], True  # exact: the wanted deviation is met
    if name in STATISTICS or kind in _CHOOSING:
        value = statistic(node, args, env) if name in STATISTICS else _pair(node, args, env)
        return AggregateCall(kind, value, distinct, filter_, several=kind not in SINGLE)
    if kind == "count" and len(args) == 1 and isinstance(args[0], exp.Star):
        return AggregateCall(kind, None, False, filter_)
    if len(args) != 1 and not (kind == "count" and args):
        raise env.error(node, f"{name} takes one argument, not {len(args)}", _ORDERED if args else "")
    values = [_argument(part, kind, env) for part in args]
    if len(values) == 1:
        return AggregateCall(kind, values[0], distinct, filter_)
    row = Row(tuple((f"_{i}", value) for i, value in enumerate(values)))
    return AggregateCall(kind, row, distinct, filter_, several=True)


def _filter(node: Any, env: SqlEnv) -> Term | None:
    """Which rows count."""
    whole = node.parent if isinstance(node.parent, exp.WithinGroup) else node
    if not isinstance(whole.parent, exp.Filter):
        return None
    only(whole.parent, env, "this", "expression")
    return condition(whole.parent.expression.this, env)


_CHOOSING = ("max_by", "min_by")


def _pair(node: Any, args: list[Any], env: SqlEnv) -> Value:
    """What ``max_by(x, y)`` takes: scalars."""
    if len(args) != 2:
        raise env.error(
            node, f"{node.name} takes a value and what it is chosen by", f"write {node.name}(x, y)"
        )
    values = [stored(env.value(part), part, env) for part in args]
    return Row(tuple((f"_{i}", One(scalar_of(value, node, env))) for i, value in enumerate(values)))


_ORDERED = "name one column"


def _argument(node: Any, kind: str, env: SqlEnv) -> Value:
    if isinstance(node, exp.Order):
        raise env.error(node, "a collected array has no order: ORDER BY says nothing", "drop it")
    value = stored(env.value(node), node, env)
    type_ = type_of(value)
    if kind in ("list", "set", "count"):
        return value
    if kind in ("min", "max") and isinstance(type_, Record) and is_base(type_):
        return value
    if kind in ("min", "max") and bag_of(value) is not None:
        if is_array(type_) and is_sorted(type_):
            return value
        name = getattr(node.parent, "name", "") or kind
        if is_array(type_):
            raise env.error(node, f"{name} of {shown(value)} is not supported", "take one of its elements")
        raise env.error(node, f"{name} takes arrays in order, and this {shown(value)} has none", DECLARE)
    if not isinstance(type_, Scalar):
        raise env.error(node, f"an aggregate of {shown(value)} is not supported", "take a scalar field")
    if kind in ("every", "some", "count_if") and type_.name != "bool":
        raise env.error(node, f"{kind} takes conditions, not {shown(value)}", "compare it: … > 0")
    if kind not in ("every", "some", "count_if", "min", "max") and type_.name not in NUMERIC:
        raise env.error(node, f"numbers are added up, not {shown(value)}", "write a CAST")
    return value


class Folds:
    """The values of aggregates over ``rows``, whose elements hold the argument and filter of each."""

    def __init__(self, rows: Expr, full: bool, node: Any, env: SqlEnv) -> None:
        self.rows, self.full, self.node, self.env = rows, full, node, env

    def value(self, aggregate: AggregateCall, argument: str, filter_: str) -> Value:
        """What ``aggregate`` comes to; ``argument`` and ``filter_`` are the fields that hold its parts."""
        if aggregate.name in ("list", "set"):
            source = self._source(argument, filter_, aggregate)
            return Many(
                countwise("distinct", source) if aggregate.name == "set" or aggregate.distinct else source
            )
        value = aggregate.value
        if aggregate.name in ("min", "max") and value is not None:
            is_struct = fields_of(value) is not None
            if is_struct or bag_of(value) is not None:
                source = self._source(argument, filter_, aggregate)
                found = extreme(aggregate.name, source, self.full, self.node, self.env)
                return Row(fields_of(found) or ()) if is_struct and self._never_empty(aggregate) else found
        return One(self._term(aggregate, argument, filter_))

    def _term(self, aggregate: AggregateCall, argument: str, filter_: str) -> Term:
        name, run = aggregate.name, self.env.run
        if name == "count_if":
            holding = self._rows(filter_, lambda row: Field(row, argument))
            return run.fold("count", countwise("distinct", holding) if aggregate.distinct else holding)
        if aggregate.value is None:
            return run.fold("count", self._rows(filter_, None))
        if name in ("every", "some"):
            return self._quantified(name, argument, filter_, aggregate)
        if name == "count":
            return self._count(argument, filter_, aggregate)
        if name in _CHOOSING:
            return self._chosen(name.removesuffix("_by"), argument, filter_)
        source = self._source(argument, filter_, aggregate)
        if aggregate.distinct and name not in ("min", "max"):
            source = countwise("distinct", source)
        if name == "sum":
            total = run.fold("sum", source)
            return total if self._never_empty(aggregate) else self._or_null(total, source)
        if name in ("var_samp", "stdev_samp"):
            return self._sample(name, source)
        element = element_type(source)
        if name == "avg" and isinstance(element, Scalar) and element.name == "decimal" and element.size:
            return self._mean(source, element, aggregate)
        found = run.fold(name, source)
        return self._present(found) if self._never_empty(aggregate) else found

    def _chosen(self, extreme: str, argument: str, filter_: str) -> Term:
        """``max_by(x, y)``: of the rows where ``y`` is greatest, the greatest ``x``; nulls are passed over."""

        def part(row: Var, name: str) -> Term:
            return Field(Field(row, argument), name)

        def there(row: Var, name: str) -> list[Term]:
            term = part(row, name)
            return [call("not", call("is_null", term))] if _may_be_null(term_type(term)) else []

        def solid(row: Var, name: str) -> Term:
            found = without_null(One(part(row, name)))
            assert isinstance(found, One)
            return found.term

        run = self.env.run
        by = self._each(
            filter_,
            lambda row: conjunction(there(row, "_1")) if there(row, "_1") else TRUE,
            lambda row: singleton(One(solid(row, "_1")), run.site),
        )
        most = run.fold(extreme, by)
        values = self._each(
            filter_,
            lambda row: conjunction(
                [*there(row, "_1"), *there(row, "_0"), call("==", solid(row, "_1"), most)]
            ),
            lambda row: singleton(One(solid(row, "_0")), run.site),
        )
        return run.fold(extreme, values)

    def _mean(self, source: Expr, element: Scalar, aggregate: AggregateCall) -> Term:
        """The mean of DECIMALs has four places more than they have."""
        total, number = self.env.run.fold("sum", source), self.env.run.fold("count", source)
        size = of_average(element.size)
        found = call("ratio", total, number, *map(const, size))
        none = call("==", number, const(0))
        if self._never_empty(aggregate):
            return call("if", none, Const(DEFAULTS["decimal"], Scalar("decimal", False, size)), found)
        return call("if", none, Const(None, Scalar("decimal", True, size)), call("nullable", found))

    def _never_empty(self, aggregate: AggregateCall) -> bool:
        assert aggregate.value is not None
        parts = fields_of(aggregate.value) if aggregate.several else [("", aggregate.value)]
        never_null = not any(_may_be_null(type_of(value)) for _, value in parts or ())
        return self.full and aggregate.filter is None and never_null

    def _or_null(self, term: Term, source: Expr) -> Term:
        count = self.env.run.fold("count", source)
        null = nullable(scalar_type(term))
        return call("if", call("==", count, const(0)), Const(None, null), call("nullable", term))

    def _present(self, term: Term) -> Term:
        """``term``, which is not null in a group that has rows."""
        type_ = scalar_type(term)
        return call("coalesce", term, Const(DEFAULTS[type_.name], replace(type_, nullable=False)))

    def _count(self, argument: str, filter_: str, aggregate: AggregateCall) -> Term:
        assert aggregate.value is not None
        if not aggregate.distinct:
            return self.env.run.fold(
                "count", self._rows(filter_, lambda row: _is_present(row, argument, aggregate))
            )
        source = self._source(argument, filter_, aggregate)
        if is_array(element_type(source)):
            return self.env.run.fold("count", countwise("distinct", codes_of(source, self.node, self.env)))
        if not is_base(element_type(source)):
            hint = DECLARE if bag_of(aggregate.value) is not None else "name their scalar fields"
            raise self.env.error(
                self.node, "count(DISTINCT …) takes scalars, structs and arrays in order", hint
            )
        if any(_may_be_null(type_) for _, type_ in leaf_types(element_type(source))):
            return self.env.run.fold(
                "count", countwise("distinct", source)
            )  # a null inside has no place in an order
        return self.env.run.fold("count_distinct", source)

    def _quantified(self, name: str, argument: str, filter_: str, aggregate: AggregateCall) -> Term:
        """``every`` is false as soon as one is false, ``some`` true as soon as one is true."""
        run, decides = self.env.run, FALSE if name == "every" else TRUE
        some = run.fold("count", self._rows(filter_, lambda row: call("==", Field(row, argument), decides)))
        found = call("==" if name == "every" else "!=", some, const(0))
        if self._never_empty(aggregate):
            return found
        number = run.fold("count", self._rows(filter_, lambda row: _is_present(row, argument, aggregate)))
        null = Scalar("bool", True)
        return call("if", call("==", number, const(0)), Const(None, null), call("nullable", found))

    def _sample(self, name: str, source: Expr) -> Term:
        """The variance of a sample of n: n/(n-1) of that of a whole; null of fewer than two."""
        run = self.env.run
        number, whole = run.fold("count", source), run.fold("var", source)
        ratio = call("/", call("to_float", number), call("to_float", call("-", number, const(1))))
        found: Term = call("*", whole, ratio)
        if name == "stdev_samp":
            found = call("sqrt", found)
        return call("if", call("<=", number, const(1)), Const(None, Scalar("float", True)), found)

    def _rows(self, filter_: str, test: Callable[[Var], Term] | None) -> Expr:
        """``⟨⟩`` for each row of the group that counts."""
        return self._each(filter_, test, lambda row: YES)

    def _source(self, argument: str, filter_: str, aggregate: AggregateCall) -> Expr:
        """The argument of each row of the group that counts, without nulls."""
        return self._each(
            filter_,
            lambda row: _is_present(row, argument, aggregate),
            lambda row: singleton(_solid(row, argument, aggregate), self.env.run.site),
        )

    def _each(self, filter_: str, test: Callable[[Var], Term] | None, body: Callable[[Var], Expr]) -> Expr:
        row = self.env.run.var("r", self.rows)
        found = body(row)
        holds = test(row) if test is not None else TRUE
        if holds is not TRUE:
            found = where(holds, found)
        if filter_:
            found = where(Field(row, filter_), found)
        return for_(row, self.rows, found)


def _parts(row: Var, argument: str, aggregate: AggregateCall) -> list[tuple[str, Value]]:
    """The arguments of an aggregate, one or several."""
    value = of_term(Field(row, argument))
    return list(fields_of(value) or ()) if aggregate.several else [(argument, value)]


def _is_present(row: Var, argument: str, aggregate: AggregateCall) -> Term:
    """Whether no argument is null."""
    found: Term = TRUE
    for _, value in _parts(row, argument, aggregate):
        test = there(value)
        if test is None and isinstance(value, One) and _may_be_null(term_type(value.term)):
            test = call("not", call("is_null", value.term))
        if test is not None:
            found = test if found is TRUE else call("and", found, test)
    return found


def _solid(row: Var, argument: str, aggregate: AggregateCall) -> Value:
    """The arguments as values that are not null."""
    parts = [(name, without_null(value)) for name, value in _parts(row, argument, aggregate)]
    return Row(tuple(parts)) if aggregate.several else parts[0][1]


def _may_be_null(type_: Type) -> bool:
    return (isinstance(type_, Scalar) and type_.nullable) or is_optional(type_)
