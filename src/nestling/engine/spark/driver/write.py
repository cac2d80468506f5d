"""A statement as a Python function over rows that are here: a step is a clause, a look-up the start of a new loop.

``rows`` are values of a plan's parameters; a statement of a trigger starts from one row of none.

    def run(look, rows):
        found0 = look(0, {() for () in rows})
        rows = [(cust, qty, n) for () in rows for (_, cust, _, qty, n) in found0.get((), ()) if qty > 2]
        found1 = look(1, {(cust,) for (cust, qty, n) in rows})
        return [((region,), (n * qty * c,)) for (cust, qty, n) in rows for (_, region, c) in found1.get((cust,), ())]

Law: it returns the keys and amounts that ``solve.added`` yields, if ``look`` finds what is in the sources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from nestling.calculus.countwise import OPERATORS
from nestling.calculus.terms import Term, Var
from nestling.engine.protocol import Row
from nestling.engine.python.terms import Scope, namespace, python, run_source, truth, tuple_of
from nestling.engine.spark import limits
from nestling.engine.spark.driver.exact import Types, arithmetic
from nestling.engine.spark.driver.lookup import Found
from nestling.errors import NoValue
from nestling.program.flat import is_ordered
from nestling.program.statements import Assign, Both, Check, Combine, Find, Measure, Statement, Step
from nestling.program.steps import binds, uses
from nestling.program.traverse import term_vars

#: Finds entries for the look-up of a number, at keys.
Look = Callable[[int, set[Row]], Found]


@dataclass(frozen=True)
class LookUp:
    """Where a step looks, and by which columns."""

    source: str
    positions: tuple[int, ...]


@dataclass
class Written:
    """A statement to be run, and what it looks up."""

    lookups: list[LookUp]
    source: str
    run: Callable[[Look, Sequence[Row]], list[tuple[Row, Row]]]


def written(statement: Statement, layouts: Types, params: Sequence[Var] = ()) -> Written:
    """``statement`` as a function of ``look`` and of values for ``params``."""
    writer = _Writer(statement, layouts, live=[param.name for param in params])
    source = writer.text()
    names = namespace() | _HELPERS
    run_source(source, f"nestling, to {statement.target}", names)
    return Written(writer.lookups, source, names["run"])


@dataclass
class _Writer:
    statement: Statement
    layouts: Types
    scope: Scope = field(default_factory=lambda: Scope(("run", "look", "rows", *_HELPERS)))
    lookups: list[LookUp] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    clauses: list[str] = field(default_factory=list)
    bound: list[str] = field(default_factory=list)
    live: list[str] = field(default_factory=list)

    def text(self) -> str:
        for i, step in enumerate(self.statement.steps):
            if isinstance(step, Find | Measure):
                self.gather(i)
            self.within(*uses(step))
            self.step(step)
            self.bound += [var.name for var in binds(step)]
        ends = (self.statement.keys, self.statement.amounts)
        for terms in ends:
            self.within(*terms)
        keys, amounts = (tuple_of([self.python(term) for term in terms]) for terms in ends)
        self.lines.append(f"return [({keys}, {amounts}) {self.loop()}]")
        return "def run(look, rows):\n" + "".join(f"    {line}\n" for line in self.lines)

    def python(self, term: Term) -> str:
        return python(term, self.scope)

    def key(self, terms: Sequence[Term]) -> str:
        return tuple_of([self.python(term) for term in terms])

    def loop(self) -> str:
        return " ".join([f"for {self.row()} in rows", *self.clauses])

    def row(self) -> str:
        return tuple_of([self.scope.name(name) for name in self.live])

    def gather(self, step: int) -> None:
        """Bring what was found so far into rows of the variables that are still needed."""
        if not self.clauses:
            return
        rest = (term for later in self.statement.steps[step:] for term in uses(later))
        wanted = term_vars(*rest, *self.statement.keys, *self.statement.amounts)
        loop = self.loop()
        self.live = [name for name in dict.fromkeys((*self.live, *self.bound)) if name in wanted]
        self.lines.append(f"rows = [{self.row()} {loop}]")
        self.clauses, self.bound = [], []

    def within(self, *terms: Term) -> None:
        """Spark has 64 bits: what has more is an error, here too."""
        parts = dict.fromkeys(self.python(part) for term in terms for part in arithmetic(term))
        if parts:
            self.clauses.append(f"if in_64_bits({', '.join(parts)})")

    def look(self, source: str, positions: Sequence[int], args: Sequence[Term]) -> tuple[str, str]:
        number, key = len(self.lookups), self.key(args)
        self.lookups.append(LookUp(source, tuple(positions)))
        self.gather_within()
        self.lines.append(f"found{number} = look({number}, {{{key} for {self.row()} in rows}})")
        return f"found{number}", key

    def gather_within(self) -> None:
        """A test of what is looked up comes before the look-up."""
        if self.clauses:
            self.lines.append(f"rows = [{self.row()} {self.loop()}]")
            self.clauses = []

    def step(self, step: Step) -> None:
        match step:
            case Find():
                self.find(step)
            case Measure():
                self.measure(step)
            case Check(test):
                self.clauses.append(f"if {truth(test, self.scope)}")
            case Assign(var, term):
                self.clauses.append(f"for {self.scope.name(var)} in ({self.python(term)},)")
            case Combine(var, operator, counts, minus):
                value = f"apply_{operator}({', '.join(map(self.python, counts))})"
                if minus:
                    value += f" - apply_{operator}({', '.join(map(self.python, minus))})"
                self.clauses.append(f"for {self.scope.name(var)} in ({value},) if {self.scope.name(var)}")
            case Both(var, sign, aggregate, new, old):
                now, before = (self.cell(aggregate, cell) for cell in (new, old))
                names = f"{self.scope.name(var)}, {self.scope.name(sign)}"
                self.clauses.append(f"for {names} in both({now}, {before})")
            case _:
                raise AssertionError(f"not for the driver: {step}")

    def cell(self, aggregate: str, terms: Sequence[Term]) -> str:
        if is_ordered(aggregate):
            return self.python(terms[0])
        return f"read_{aggregate}({self.key(terms)})"

    def find(self, step: Find) -> None:
        layout = self.layouts[step.source]
        found, key = self.look(step.source, step.known, [step.args[i] for i in step.known])
        names, same = ["_"] * len(layout.columns), []
        for i, arg in enumerate(step.args):
            if i not in step.known and isinstance(arg, Var):
                name = self.scope.name(arg)
                if name in names:
                    names[i] = self.scope.beside(name, f"{i}")
                    same.append(f"if {name} == {names[i]}")
                else:
                    names[i] = name
        for i, count in enumerate(step.counts):
            names[len(layout.keys) + i] = self.scope.name(count)
        self.clauses += [f"for {tuple_of(names)} in {found}.get({key}, ())", *same]

    def measure(self, step: Measure) -> None:
        layout, args = self.layouts[step.source], step.args
        found, key = self.look(step.source, range(len(args)), args)
        width = len(layout.keys)
        if is_ordered(step.aggregate):
            value = f"of_{step.aggregate}({found}.get({key}, ()))"
        else:
            at = tuple_of([str(width + i) for i in step.measures])
            value = f"read_{step.aggregate}(cell({found}.get({key}), {at}))"
        self.clauses.append(f"for {self.scope.name(step.var)} in ({value},)")


def in_64_bits(*numbers: Any) -> bool:
    """True, or no answer."""
    for number in numbers:
        if isinstance(number, int) and not limits.MIN_INT64 <= number <= limits.MAX_INT64:
            raise NoValue("a number has more than 64 bits")
    return True


def both(new: Any, old: Any) -> tuple[tuple[Any, int], ...]:
    """A value as it is and as it was, where that is not the same."""
    return () if new == old else ((new, 1), (old, -1))


def cell(found: Sequence[Row] | None, at: Sequence[int]) -> Row:
    """Some measures of the one entry that was found, or zeros."""
    return tuple([found[0][i] for i in at]) if found else (0,) * len(at)


def there(entries: Sequence[Row]) -> list[Any]:
    """The last keys of the entries whose count is not negative."""
    return [entry[-2] for entry in entries if entry[-1] > 0]


#: Aggregates of the entries of one group of a map in order.
ORDERED: dict[str, Callable[[Sequence[Row]], Any]] = {
    "min": lambda entries: min(there(entries), default=None),
    "max": lambda entries: max(there(entries), default=None),
    "count_distinct": lambda entries: len(there(entries)),
}

_HELPERS: dict[str, Any] = {
    "in_64_bits": in_64_bits, "both": both, "cell": cell,
    **{f"of_{name}": function for name, function in ORDERED.items()},
    **{f"apply_{operator.name}": operator.apply for operator in OPERATORS.values()},
}  # fmt: skip
