"""Statements as SQL: each step is a query over the results of the steps before it.

The change comes first and is the small side of every join. Amounts are linear in the measures of the entries found,
so entries need not be summed first; where a step needs a count, or a term may be undefined, they are, for the keys
that the change touches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from nestling.calculus.terms import Term, Tuple, Var
from nestling.calculus.types import INT, Bag, Record
from nestling.engine.spark.aggregates import combined, none_of, ordered, ordered_type, read_cell, taken
from nestling.engine.spark.chain import Chain
from nestling.engine.spark.chain import ChainWriter as Chains
from nestling.engine.spark.columns import Layout, joined_type
from nestling.engine.spark.linear import is_linear, product
from nestling.engine.spark.ranges import Probes, holds, sums_within
from nestling.engine.spark.relations import UNCOUNTED, cleaned, nothing, summed, sums, touched, zero
from nestling.engine.spark.terms import Sql, equal, is_partial, joins, sql
from nestling.engine.spark.totals import finds_one
from nestling.engine.spark.types import sql_type
from nestling.program.batches import is_change
from nestling.program.flat import Bound, first_of, is_ordered
from nestling.program.statements import (
    Assign,
    Check,
    Combine,
    Each,
    Find,
    Measure,
    NewAndOld,
    Range,
    Statement,
    Step,
    Total,
    Where,
)
from nestling.program.steps import free_vars, uses
from nestling.program.traverse import term_vars


@dataclass(frozen=True)
class PlanStart:
    """The start of a plan: a relation whose columns are its parameters."""

    relation: str
    params: tuple[Var, ...]


class StatementWriter(Chains):
    """Statements of one query."""

    def statement(self, statement: Statement, target: Layout, given: PlanStart | None = None) -> str:
        """What ``statement`` adds, in the columns of ``target``: one row per solution."""
        return _Steps(self, statement, given).run(target)


class _Steps(Chain):
    """One statement being written."""

    def __init__(self, writer: Chains, statement: Statement, given: PlanStart | None) -> None:
        super().__init__(writer)
        self.body, self.given = statement, given
        self.guards: list[Term] = []
        self.partial = is_partial(*self.ends(), *self.later(0))
        self.done: set[int] = set()

    def ends(self) -> tuple[Term, ...]:
        return (*self.body.keys, *self.body.amounts)

    def later(self, start: int) -> list[Term]:
        return [term for step in self.body.steps[start:] for term in uses(step)]

    def run(self, target: Layout) -> str:
        self.solved()
        return self.final(target)

    def solved(self) -> list[Sql]:
        """The amounts of every solution."""
        if self.given is not None:
            self.current, self.rows = self.given.relation, UNCOUNTED
            params = {p.name: Sql(f"k{i}", p.type) for i, p in enumerate(self.given.params)}
            self.select([], params)
            self.rest_here()
        for i, step in enumerate(self.body.steps):
            if i in self.done:
                continue
            # Where a term may be undefined, what was tested before it stays at hand to guard it.
            later = term_vars(*self.ends(), *self.later(0 if self.partial else i + 1))
            if isinstance(step, Measure):
                self.measured(i, step, later)
            else:
                self.step(step, later)
            if isinstance(step, Find | Each | NewAndOld):
                self.rest_here()
        return [self.scaled(self.sql(term)) for term in self.body.amounts]

    def final(self, target: Layout) -> str:
        """The keys and amounts of every solution."""
        keys = [
            (f"k{i}", self.sql(term), type_)
            for i, (term, type_) in enumerate(zip(self.body.keys, target.keys, strict=True))
        ]
        amounts = [
            (f"m{i}", self.scaled(self.sql(term)), type_)
            for i, (term, type_) in enumerate(zip(self.body.amounts, target.measures, strict=True))
        ]
        columns = [
            f"{value.text} AS {name}"
            if sql_type(value.type) == sql_type(type_)
            else f"CAST({value.text} AS {sql_type(type_)}) AS {name}"
            for name, value, type_ in (*keys, *amounts)
        ]
        source = f" FROM {self.current}" if self.current else ""
        return f"SELECT {', '.join(columns)}{source}"

    def scaled(self, amount: Sql) -> Sql:
        for name in self.times:
            amount = product(amount, self.scope[name])
        return amount

    def step(self, step: Step, later: frozenset[str]) -> None:  # noqa: C901 - one arm per step
        match step:
            case Find():
                self.find(step, later)
            case Range():
                self.range(step, later)
            case Check(test):
                self.check(test, later)
            case Assign(var, term):
                self.select(later, {var.name: self.sql(term)})
            case Measure():
                self.measure([step], later)
            case Combine(var, operator, counts, minus):
                value = combined(operator, [self.sql(c).text for c in counts])
                if minus:
                    value = f"({value}) - ({combined(operator, [self.sql(c).text for c in minus])})"
                self.select(later, {var.name: Sql(value, INT)}, where=f"({value}) <> 0")
            case NewAndOld():
                self.both(step, later)
            case Where():
                self.where(step, later)
            case Total():
                self.total(step, later)
            case Each(bag, pattern, count):
                self.each(self.sql(bag), pattern, count, later)
            case _:
                assert_never(step)

    def check(self, test: Term, later: frozenset[str]) -> None:
        condition = self.sql(test).text
        if is_partial(test) and self.guards:
            # A query may test in any order; what a test relies on is said with it.
            guards = " AND ".join(self.sql(guard).text for guard in self.guards)
            condition = f"CASE WHEN {guards} THEN {condition} ELSE false END"
        self.guards.append(test)
        self.select(later, {}, where=condition)

    def both(self, step: NewAndOld, later: frozenset[str]) -> None:
        new = read_cell(step.aggregate, [self.sql(t) for t in step.new])
        old = read_cell(step.aggregate, [self.sql(t) for t in step.old])
        value = Sql(f"CASE WHEN sign > 0 THEN {new.text} ELSE {old.text} END", new.type)
        self.select(
            later, {step.var.name: value, step.sign.name: Sql("sign", INT)},
            f"FROM {self.current} c LATERAL VIEW explode(array(1L, -1L)) signs AS sign",
            f"NOT ({new.text} <=> {old.text})",
        )  # fmt: skip

    def find(self, step: Find, later: frozenset[str]) -> None:
        layout = self.sources.layout(step.source)
        here = [Sql(f"a.k{i}", type_) for i, type_ in enumerate(layout.keys)]
        conditions = [joins(here[i], self.sql(step.args[i])) for i in step.known]
        new: dict[str, Sql] = {}
        for i, arg in enumerate(step.args):
            if i not in step.known and isinstance(arg, Var):
                if arg.name in new:
                    conditions.append(equal(new[arg.name], here[i]))
                new.setdefault(arg.name, here[i])
        counts = {count.name: Sql(f"a.m{i}", layout.measures[i]) for i, count in enumerate(step.counts)}
        if is_change(step.source):
            free = {
                arg.name: i for i, arg in enumerate(step.args) if isinstance(arg, Var) and arg.name in new
            }
            self.origins |= {name: (step.source, i) for name, i in free.items()}
        rows = self.pruned(step.source, {i: step.args[i] for i in step.known})
        merged = not is_linear(self.body, step)
        if merged:
            rows = self.merged(rows, layout, step)
        elif not step.counts and not (layout.key and self.sources.is_summed(step.source)):
            self.times.append(f"times of {len(self.times)}")
            counts[self.times[-1]] = Sql("a.m0", INT)
        used = {n: v for n, v in (new | counts).items() if n in later or n in self.times}
        on = " AND ".join(conditions)
        so_far, there = self.rows, self.sources.rows(step.source)
        self.rows = so_far if self.current and finds_one(step, layout) else max(so_far, there)
        if not self.current:
            self.select(later, used, f"FROM ({rows}) a", on)
        elif on:
            joined = f"FROM {self.current} c JOIN ({rows}) a ON {on}"
            self.select(later, used, joined, "", self.writer.join_hint(so_far, there))
        else:
            self.select(later, used, f"FROM {self.current} c CROSS JOIN ({rows}) a", "", self.hint("c"))

    def range(self, step: Range, later: frozenset[str]) -> None:
        """The entries within bounds: unsummed where their sum is a factor of the amounts, else summed."""
        layout = self.sources.layout(step.source)
        counts = {c.name: value for c, value in zip(step.counts, cell_of(layout), strict=True)}
        used = {name: value for name, value in counts.items() if name in later}
        if not self.writer.is_met or not self.current or not is_linear(self.body, step):
            self.attach(*self.within(step.source, step.args, step.bounds), used, later)
            return
        here = [Sql(f"a.k{i}", type_) for i, type_ in enumerate(layout.keys)]
        conditions = [joins(key, self.sql(arg)) for key, arg in zip(here, step.args, strict=False)]
        conditions += [holds(bound.operator, here[-1], self.sql(bound.term)) for bound in step.bounds]
        source = f"FROM {self.current} c JOIN ({self.sources.raw(step.source)}) a"
        self.select(later, used, f"{source} ON {' AND '.join(conditions)}", "", self.hint("c"))

    def within(
        self, source: str, args: Sequence[Term], bounds: Sequence[Bound]
    ) -> tuple[str, list[tuple[Sql, Sql]]]:
        """The measures of a source within bounds, and where they belong."""
        groups = tuple(map(self.sql, args))
        limits = tuple((bound.operator, self.sql(bound.term)) for bound in bounds)
        probes = Probes(self.probes(args, bounds), groups, limits)
        layout, rows = self.sources.layout(source), self.pruned(source, dict(enumerate(args)))
        found = sums_within(probes, rows, layout, self.writer.is_met, self.hint("d"))
        names = [*probes.names, *(f"{m} AS m{i}" for i, m in enumerate(cleaned(layout)))]
        values = [*groups, *(value for _, value in limits)]
        pairs = [
            (Sql(f"a.{name}", value.type), value) for name, value in zip(probes.names, values, strict=True)
        ]
        return f"SELECT {', '.join(names)} FROM ({found})", pairs

    def where(self, step: Where, later: frozenset[str]) -> None:
        """The entries that pass a test on the sum beyond them: all entries of the group, each with its own sum."""
        known = tuple(range(len(step.args)))
        find = Find(step.source, (*step.args, step.key), known, step.counts)
        statement = Statement("", (), step.counts, (find, step.measure, Check(step.test)))
        found, pairs, cell = self.added([statement])
        new = {c.name: v for c, v in zip(step.counts, cell, strict=True) if c.name in later}
        self.attach(found, pairs, new, later)

    def total(self, step: Total, later: frozenset[str]) -> None:
        if is_ordered(step.aggregate):
            rows, layout, pairs = self.summands(step.statements)
            found = self.of_values([step.aggregate], layout, sums(rows, layout))
            type_ = ordered_type(step.aggregate, layout)
            value = Sql(none_of(step.aggregate, "a.m0", type_), type_)
        else:
            found, pairs, cell = self.added(step.statements)
            value = read_cell(step.aggregate, cell)
        self.attach(found, pairs, {step.var.name: value}, later)

    def added(self, statements: Sequence[Statement]) -> tuple[str, list[tuple[Sql, Sql]], list[Sql]]:
        """What ``statements`` add up to for every assignment of what they use; the measures of its rows."""
        rows, layout, pairs = self.summands(statements)
        return sums(rows, layout), pairs, cell_of(layout)

    def summands(self, statements: Sequence[Statement]) -> tuple[str, Layout, list[tuple[Sql, Sql]]]:
        """What ``statements`` add for every assignment of what they use, by that and by their keys."""
        names = dict.fromkeys(var.name for statement in statements for var in free_vars(statement))
        params = tuple(Var(name, self.scope[name].type) for name in names)
        given = (
            PlanStart(self.asked({f"k{i}": var for i, var in enumerate(params)}), params) if params else None
        )
        chains = [
            _Steps(self.writer, replace(statement, keys=(*params, *statement.keys)), given)
            for statement in statements
        ]
        solved = [chain.solved() for chain in chains]
        types = [joined_type([amount.type for amount in column]) for column in zip(*solved, strict=True)]
        keys = [
            joined_type([chain.sql(key).type for chain, key in zip(chains, column, strict=True)])
            for column in zip(*(statement.keys for statement in statements), strict=True)
        ]
        layout = Layout((*(var.type for var in params), *keys), tuple(types or [INT]), positive=False)
        rows = " UNION ALL ".join(chain.final(layout) for chain in chains) or nothing(layout)
        pairs = [(Sql(f"a.k{i}", var.type), self.sql(var)) for i, var in enumerate(params)]
        return rows, layout, pairs

    def pairs(self, layout: Layout, positions: Sequence[int], args: Sequence[Term]) -> list[tuple[Sql, Sql]]:
        return [
            (Sql(f"a.k{p}", layout.keys[p]), Sql(f"d.g{i}", self.sql(arg).type))
            for i, (p, arg) in enumerate(zip(positions, args, strict=True))
        ]

    def merged(self, rows: str, layout: Layout, step: Find) -> str:
        """``rows`` summed by key, of the keys that are asked for."""
        if step.known and self.current:
            rows = self.touched(rows, layout, step.known, [step.args[i] for i in step.known])
        return rows if self.sources.is_summed(step.source) else summed(rows, layout)

    def touched(self, rows: str, layout: Layout, positions: Sequence[int], args: Sequence[Term]) -> str:
        """The rows with the keys that are asked for, where these are few."""
        if not self.writer.broadcast or not args:
            return rows
        return touched(rows, self.groups(args), self.pairs(layout, positions, args), self.hint("d"))

    def measured(self, place: int, step: Measure, later: frozenset[str]) -> None:
        """``step`` and all that read the same group of the same map: it is looked up once."""
        alike = [step]
        for i, other in enumerate(self.body.steps[place + 1 :], place + 1):
            if isinstance(other, Measure) and _goes_with(step, other):
                alike.append(other)
                self.done.add(i)
        self.measure(alike, later)

    def measure(self, steps: Sequence[Measure], later: frozenset[str]) -> None:
        step = steps[0]
        layout, args = self.sources.layout(step.source), step.args
        if step.bounds:
            found, pairs = self.within(step.source, args, step.bounds)
        else:
            rows = self.pruned(step.source, dict(enumerate(args)))
            rows = self.touched(rows, layout, range(len(args)), args)
            found = (
                self.values(steps, layout, rows)
                if is_ordered(step.aggregate)
                else self.cells(step, layout, rows)
            )
            here = [Sql(f"a.k{i}", layout.keys[i]) for i in range(len(args))]
            pairs = list(zip(here, map(self.sql, args), strict=True))
        new: dict[str, Sql] = {}
        for i, each in enumerate(steps):
            if is_ordered(each.aggregate):
                type_ = ordered_type(each.aggregate, layout)
                new[each.var.name] = Sql(none_of(each.aggregate, f"a.m{i}", type_), type_)
            else:
                cell = cell_of(layout)
                new[each.var.name] = read_cell(each.aggregate, [cell[m] for m in each.measures])
        self.attach(found, pairs, new, later)

    def cells(self, step: Measure, layout: Layout, rows: str) -> str:
        """The measures of every group."""
        names = [*layout.key_names, *(f"{m} AS m{i}" for i, m in enumerate(cleaned(layout)))]
        return f"SELECT {', '.join(names)} FROM ({self.once_each(step.source, layout, rows)})"

    def once_each(self, source: str, layout: Layout, rows: str) -> str:
        """``rows`` of a source, summed by key where they are not."""
        return rows if self.sources.is_summed(source) else sums(rows, layout)

    def values(self, steps: Sequence[Measure], layout: Layout, rows: str) -> str:
        """The least, the first or the number of the values of every group."""
        each = self.once_each(steps[0].source, layout, rows)
        return self.of_values([step.aggregate for step in steps], layout, each)

    def of_values(self, aggregates: Sequence[str], layout: Layout, rows: str) -> str:
        """Aggregates of the values of every group, of ``rows`` that are summed by key."""
        *group, value = layout.key_names
        found = taken(aggregates[0], rows, layout, ("m0",))
        columns = [f"{ordered(name, value, 'm0')} AS m{i}" for i, name in enumerate(aggregates)]
        by = f" GROUP BY {', '.join(group)}" if group else ""
        return f"SELECT {', '.join([*group, *columns])} FROM ({found}){by}"

    def each(self, bag: Sql, pattern: Term, count: Var, later: frozenset[str]) -> None:
        """One row per element of a bag, how often it is there beside it."""
        assert isinstance(bag.type, Bag)
        new: dict[str, Sql] = {}
        conditions = list(self.matched(pattern, Sql("e.v", bag.type.element), new))
        used = {name: value for name, value in (new | {count.name: Sql("e.n", INT)}).items() if name in later}
        source = f"FROM {self.current} c LATERAL VIEW explode({bag.text}) elements AS e"
        self.select(later, used, source, " AND ".join(conditions))

    def matched(self, pattern: Term, value: Sql, new: dict[str, Sql]) -> Iterator[str]:
        """What must hold for ``value`` to be as ``pattern`` says, and the variables that it names."""
        match pattern:
            case Var(name) if name not in self.scope and name not in new:
                new[name] = value
            case Tuple(fields):
                assert isinstance(value.type, Record)
                for i, ((_, item), type_) in enumerate(zip(fields, value.type.types, strict=True)):
                    yield from self.matched(item, Sql(f"{value.text}.f{i}", type_), new)
            case _:
                yield equal(value, sql(pattern, {**self.scope, **new}))


def cell_of(layout: Layout) -> list[Sql]:
    """The measures of an attached row; of none, zeros."""
    return [Sql(f"coalesce(a.m{i}, {zero(t)})", t) for i, t in enumerate(layout.measures)]


def _goes_with(one: Measure, other: Measure) -> bool:
    """Whether both are read off the same rows."""
    same = (one.source, one.args, one.bounds) == (other.source, other.args, other.bounds)
    if not is_ordered(one.aggregate) or one.aggregate == other.aggregate:
        return same
    return same and first_of(one.aggregate) is None and first_of(other.aggregate) is None
