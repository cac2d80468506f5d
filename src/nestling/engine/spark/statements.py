"""Statements as SQL: every step a query over what the steps before it found.

A step is a common table expression with one column per variable that is still needed. The change comes first and is
the small side of every join. Amounts are linear in the measures of what is found, so its rows need not be summed
first; where a count is looked at, or a term may be undefined, they are, for the keys that are touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from nestling.calculus.terms import Call, Const, Term, Var
from nestling.calculus.types import INT
from nestling.engine.spark.aggregates import combined, in_order, ordered, read_cell
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.relations import Sources, cleaned, pruned, summed, sums, touched, zero
from nestling.engine.spark.terms import Sql, equal, is_partial, joins, sql
from nestling.engine.spark.types import sql_type
from nestling.errors import QueryError
from nestling.program.batches import is_change
from nestling.program.flat import Bound, is_ordered
from nestling.program.statements import (
    Assign,
    Both,
    Check,
    Combine,
    Each,
    Find,
    Measure,
    Range,
    Statement,
    Step,
    Total,
    Where,
)
from nestling.program.steps import uses
from nestling.program.traverse import term_vars


@dataclass(frozen=True)
class Given:
    """Where a plan starts: a relation whose columns are its parameters."""

    relation: str
    params: tuple[Var, ...]


@dataclass
class Writer:
    """Statements of one query. ``broadcast``: what steps have found is small and goes to the data."""

    sources: Sources
    broadcast: bool = True
    ctes: dict[str, str] = field(default_factory=dict)

    def hint(self, *aliases: str) -> str:
        return f"/*+ BROADCAST({', '.join(aliases)}) */ " if self.broadcast else ""

    def cte(self, text: str) -> str:
        """The name of a query; one that was named before keeps its name."""
        return self.ctes.setdefault(text, f"c{len(self.ctes)}")

    def finds_nothing(self, statement: Statement) -> bool:
        """Whether it looks through something that has no rows."""
        finds = (step.source for step in statement.steps if isinstance(step, Find))
        return any(self.sources.is_empty(source) for source in finds)

    def statement(self, statement: Statement, target: Layout, given: Given | None = None) -> str:
        """What ``statement`` adds, in the columns of ``target``: one row per solution."""
        return _Chain(self, statement, given).run(target)

    def text(self, body: str) -> str:
        """``body`` with all that it names."""
        named = ", ".join(f"{name} AS ({text})" for text, name in self.ctes.items())
        return f"WITH {named} {body}" if named else body


class _Chain:
    """One statement being written. ``scope`` has a column of the last step for every variable that is still needed."""

    def __init__(self, writer: Writer, statement: Statement, given: Given | None) -> None:
        self.writer, self.sources, self.given = writer, writer.sources, given
        self.body = statement
        self.scope: dict[str, Sql] = {}
        self.current = ""
        self.guards: list[Term] = []
        self.times: list[str] = []  # multiplicities that the statement leaves out, since they are one
        self.partial = is_partial(*self.ends(), *self.later(0))
        self.columns = 0
        self.origins: dict[str, tuple[str, int]] = {}  # which column of which change a variable comes from

    def ends(self) -> tuple[Term, ...]:
        return (*self.body.keys, *self.body.amounts)

    def later(self, start: int) -> list[Term]:
        return [term for step in self.body.steps[start:] for term in uses(step)]

    def run(self, target: Layout) -> str:
        if self.given is not None:
            self.current = self.given.relation
            params = {p.name: Sql(f"k{i}", p.type) for i, p in enumerate(self.given.params)}
            self.select([], params)
        for i, step in enumerate(self.body.steps):
            # Where a term may be undefined, what was tested before it stays at hand to guard it.
            terms = [*self.ends(), *self.later(0 if self.partial else i + 1)]
            self.step(step, term_vars(*terms))
        return self.final(target)

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

    def sql(self, term: Term) -> Sql:
        return sql(term, self.scope)

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
                self.measure(step, later)
            case Combine(var, operator, counts, minus):
                value = combined(operator, [self.sql(c).text for c in counts])
                if minus:
                    value = f"({value}) - ({combined(operator, [self.sql(c).text for c in minus])})"
                self.select(later, {var.name: Sql(value, INT)}, where=f"({value}) <> 0")
            case Both():
                self.both(step, later)
            case Where() | Total():
                raise QueryError(
                    "an aggregate that no map holds is not on Spark yet",
                    hint="correlate it by equality, or keep the view embedded",
                )
            case Each():
                raise QueryError(
                    "an opaque bag is looked through",
                    hint="Spark keeps inner bags as rows: leave it shredded",
                )
            case _:
                assert_never(step)

    def select(
        self, later: Iterable[str], new: Mapping[str, Sql], source: str = "", where: str = "", hint: str = ""
    ) -> None:
        """The next step: the columns needed ``later``, and ``new`` ones, from where a condition holds."""
        wanted = {*later, *self.times}
        scope = {n: value for n, value in self.scope.items() if n in wanted and n not in new}
        columns = [value.text for value in scope.values()]
        for name, value in new.items():
            self.columns += 1
            scope[name] = Sql(f"x{self.columns}", value.type)
            columns.append(f"{value.text} AS x{self.columns}")
        origin = source or (f"FROM {self.current} c" if self.current else "")
        condition = f" WHERE {where}" if where else ""
        text = f"SELECT {hint}{', '.join(columns) or '1 AS one'} {origin}{condition}"
        self.current, self.scope = self.writer.cte(text), scope

    def check(self, test: Term, later: frozenset[str]) -> None:
        condition = self.sql(test).text
        if is_partial(test) and self.guards:
            # A query may test in any order; what a test relies on is said with it.
            guards = " AND ".join(self.sql(guard).text for guard in self.guards)
            condition = f"CASE WHEN {guards} THEN {condition} ELSE false END"
        self.guards.append(test)
        self.select(later, {}, where=condition)

    def both(self, step: Both, later: frozenset[str]) -> None:
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
        first = step.args[0] if 0 in step.known else None
        rows, merged = self.pruned(step.source, first), not is_linear(self.body, step)
        if merged:
            rows = self.merged(rows, layout, step)
        elif not step.counts:
            self.times.append(f"times of {len(self.times)}")
            counts[self.times[-1]] = Sql("a.m0", INT)
        used = {n: v for n, v in (new | counts).items() if n in later or n in self.times}
        on = " AND ".join(conditions)
        if not self.current:
            self.select(later, used, f"FROM ({rows}) a", on)
        elif on:
            self.select(later, used, f"FROM {self.current} c JOIN ({rows}) a ON {on}", "", self.hint("c"))
        else:
            self.select(later, used, f"FROM {self.current} c CROSS JOIN ({rows}) a", "", self.hint("c"))

    def range(self, step: Range, later: frozenset[str]) -> None:
        """The entries within bounds, one by one: their sum is a factor of the amounts."""
        if not is_linear(self.body, step):
            raise QueryError(
                "a condition on a sum of what lies within bounds", hint="Spark has no index of such sums"
            )
        layout, rows = self.sources.layout(step.source), self.sources.raw(step.source)
        conditions = [joins(Sql(f"a.k{i}", layout.keys[i]), self.sql(arg)) for i, arg in enumerate(step.args)]
        conditions += [self.within(bound, layout, self.sql(bound.term)) for bound in step.bounds]
        counts = {c.name: Sql(f"a.m{i}", layout.measures[i]) for i, c in enumerate(step.counts)}
        source = f"FROM {self.current} c JOIN ({rows}) a" if self.current else f"FROM ({rows}) a"
        on = f" ON {' AND '.join(conditions)}" if self.current else ""
        used = {name: value for name, value in counts.items() if name in later}
        where = "" if self.current else " AND ".join(conditions)
        self.select(later, used, source + on, where, self.hint("c") if self.current else "")

    def within(self, bound: Bound, layout: Layout, limit: Sql) -> str:
        """Whether the last key of ``a`` is within a bound."""
        last = Sql(f"a.k{len(layout.keys) - 1}", layout.keys[-1])
        test = Call(bound.operator, (Var("last", last.type), Var("limit", limit.type)))
        return sql(test, {"last": last, "limit": limit}).text

    def pruned(self, source: str, first: Term | None) -> str:
        """The rows of a source; where its first key is ``first``, a column of a small change, only those."""
        rows = self.sources.raw(source)
        origin = self.origins.get(first.name) if isinstance(first, Var) else None
        if origin is None or is_change(source):
            return rows
        return pruned(rows, "k0", self.sources.near(*origin))

    def hint(self, alias: str) -> str:
        return self.writer.hint(alias)

    def groups(self, args: Sequence[Term]) -> str:
        """The distinct values of ``args`` so far."""
        columns = [f"{self.sql(arg).text} AS g{i}" for i, arg in enumerate(args)]
        source = f" FROM {self.current}" if self.current else ""
        return self.writer.cte(f"SELECT DISTINCT {', '.join(columns)}{source}")

    def pairs(self, layout: Layout, positions: Sequence[int], args: Sequence[Term]) -> list[tuple[Sql, Sql]]:
        return [
            (Sql(f"a.k{p}", layout.keys[p]), Sql(f"d.g{i}", self.sql(arg).type))
            for i, (p, arg) in enumerate(zip(positions, args, strict=True))
        ]

    def merged(self, rows: str, layout: Layout, step: Find) -> str:
        """``rows`` summed by key, of the keys that are asked for."""
        if not step.known or not self.current:
            return summed(rows, layout)
        args = [step.args[i] for i in step.known]
        groups, pairs = self.groups(args), self.pairs(layout, step.known, args)
        return summed(touched(rows, groups, pairs, self.hint("d")), layout)

    def measure(self, step: Measure, later: frozenset[str]) -> None:
        layout, width = self.sources.layout(step.source), len(step.args)
        rows = self.pruned(step.source, step.args[0] if step.args else None)
        groups = self.groups(step.args) if width else ""
        if width:
            rows = touched(rows, groups, self.pairs(layout, range(width), step.args), self.hint("d"))
        if step.bounds:
            raise QueryError(
                "a sum of what lies within bounds",
                hint="Spark has no index of such sums: keep the view embedded",
            )
        read = self.ordered if is_ordered(step.aggregate) else self.cells
        found, value = read(step, layout, rows, groups)
        if not self.current:
            self.select(later, {step.var.name: value}, f"FROM ({found}) a")
            return
        args = map(self.sql, step.args)
        on = " AND ".join(joins(Sql(f"a.k{i}", layout.keys[i]), arg) for i, arg in enumerate(args))
        join = f"JOIN ({found}) a ON {on}" if on else f"CROSS JOIN ({found}) a"
        self.select(later, {step.var.name: value}, f"FROM {self.current} c {join}")

    def cells(self, step: Measure, layout: Layout, rows: str, groups: str) -> tuple[str, Sql]:
        """The measures of every group that is asked for, zero where there is nothing."""
        zeros = [f"{zero(t)} AS m{i}" for i, t in enumerate(layout.measures)]
        keys = [f"g{i} AS k{i}" for i in range(len(layout.keys))]
        empty = f"SELECT {', '.join([*keys, *zeros])}{f' FROM {groups}' if groups else ''}"
        every = sums(f"{empty} UNION ALL {rows}", layout)
        names = [*layout.key_names, *(f"{m} AS m{i}" for i, m in enumerate(cleaned(layout)))]
        cell = [Sql(f"a.m{i}", layout.measures[i]) for i in step.measures]
        return f"SELECT {', '.join(names)} FROM ({every})", read_cell(step.aggregate, cell)

    def ordered(self, step: Measure, layout: Layout, rows: str, groups: str) -> tuple[str, Sql]:
        """The least, the greatest or the number of the values of every group that is asked for."""
        type_ = in_order(layout)
        width = len(layout.keys) - 1
        last = f"CAST(NULL AS {sql_type(type_)}) AS k{width}, 0L AS m0"
        keys = "".join(f"g{i} AS k{i}, " for i in range(width))
        empty = f"SELECT {keys}{last}{f' FROM {groups}' if groups else ''}"
        value = ordered(step.aggregate, f"k{width}", "m0 > 0", type_)
        by = f" GROUP BY {', '.join(layout.key_names[:-1])}" if width else ""
        selected = ", ".join([*layout.key_names[:-1], f"{value.text} AS m0"])
        every = sums(f"{empty} UNION ALL SELECT {', '.join(layout.names)} FROM ({rows})", layout)
        return f"SELECT {selected} FROM ({every}){by}", Sql("a.m0", value.type)


def is_linear(statement: Statement, step: Find | Range) -> bool:
    """Whether rows may stay unsummed: their measures are factors of the amounts, and nothing else."""
    if is_change(step.source):
        return True
    counts = {count.name for count in step.counts}
    others = [term for other in statement.steps if other is not step for term in uses(other)]
    if is_partial(*statement.keys, *statement.amounts, *others, *uses(step)):
        return False
    if counts & term_vars(*others, *statement.keys):
        return False
    return all(_is_factor(counts, amount) for amount in statement.amounts) if counts else True


def product(left: Sql, right: Sql) -> Sql:
    """An amount times a multiplicity."""
    scope = {"a": left, "b": right}
    types = [v.type for v in (left, right)]
    return sql(Call("*", (Var("a", types[0]), Var("b", types[1]))), scope)


def _is_factor(counts: set[str], amount: Term) -> bool:
    """Whether exactly one factor of ``amount`` is one of ``counts``, and no other uses them."""
    factors = list(_factors(amount))
    if any(isinstance(f, Const) and f.value == 0 for f in factors):
        return True
    own = [f for f in factors if term_vars(f) & counts]
    return len(own) == 1 and isinstance(own[0], Var)


def _factors(term: Term) -> Iterator[Term]:
    match term:
        case Call("*", (left, right)):
            yield from _factors(left)
            yield from _factors(right)
        case _:
            yield term
