"""Steps as Python: each opens a block that the steps after it stand in.

What a step means is written here, once. How a source is read is left to the shape: the embedded engine has nested
loops over dictionaries of its own (``local/loops``), the driver of Spark looks up what all rows ask for at once, and
goes on with what it found (``spark/driver/write``).

Law: what a writer of this kind writes adds what ``solve.added`` yields.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import assert_never

from nestling.calculus.terms import Call, Term, Tuple, Var
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type
from nestling.engine.python.reading import combined, read_cell
from nestling.engine.python.source import SourceWriter
from nestling.engine.python.terms import Scope, is_nullable, python, python_key, truth, tuple_of
from nestling.program.flat import Bound
from nestling.program.statements import (
    Assign,
    Check,
    Combine,
    Each,
    Find,
    Measure,
    NewAndOld,
    Range,
    Step,
    Total,
    Where,
)
from nestling.program.steps import uses
from nestling.program.traverse import term_vars


class Steps(ABC):
    """Steps being written; ``ordered``, ``cell`` and ``NOTHING`` are names of its own."""

    def __init__(self, out: SourceWriter, scope: Scope) -> None:
        self.out, self.scope = out, scope

    # -- how a source is read

    @abstractmethod
    def find(self, step: Find, later: frozenset[str]) -> None:
        """Open a block for every entry that ``step`` finds."""

    @abstractmethod
    def group(self, source: str, args: Sequence[Term]) -> str:
        """The entries of a group, as an ``OrderedMap`` of the last key; ``None`` where there are none."""

    @abstractmethod
    def measured(self, step: Measure) -> str:
        """The aggregate of a whole group."""

    @abstractmethod
    def width(self, source: str) -> int:
        """How many measures ``source`` has."""

    @abstractmethod
    def total(self, step: Total) -> None:
        """Bind what the statements of ``step`` add up to."""

    # -- what a step means

    def needs(self, step: Step) -> tuple[Term, ...]:
        """The terms whose variables are bound before ``step``."""
        return uses(step)

    def open(self, steps: Sequence[Step], used_at_end: frozenset[str]) -> None:
        """Write ``steps``; what is written next runs once per solution."""
        for i, step in enumerate(steps):
            later = used_at_end | term_vars(*(t for s in steps[i + 1 :] for t in self.needs(s)))
            self.step(step, later)

    def step(self, step: Step, later: frozenset[str]) -> None:  # noqa: C901 - one arm per step
        """Write one step; what it binds is used ``later``, or not at all."""
        match step:
            case Find():
                self.find(step, later)
            case Check(test):
                self.out.open(f"if {self.truth(test)}:")
            case Assign(var, term):
                self.out.line(f"{self.scope.name(var)} = {python_key(term, self.scope)}")
            case Each(bag, pattern, count):
                self.out.open(
                    f"for {self.pattern(pattern)}, {self.scope.name(count)} in {self.text(bag)}.items():"
                )
            case Range(source, args, bounds, counts):
                self.bind(counts, self.summed(source, args, bounds))
            case Where():
                self.where(step)
            case Measure():
                self.measure(step)
            case Total():
                self.total(step)
            case Combine():
                self.combine(step)
            case NewAndOld():
                self.both(step)
            case _:
                assert_never(step)

    def text(self, term: Term) -> str:
        return python(term, self.scope)

    def truth(self, test: Term) -> str:
        return truth(test, self.scope)

    def pattern(self, term: Term) -> str:
        if isinstance(term, Tuple):
            return tuple_of([self.pattern(item) for _, item in term.fields])
        return self.text(term)

    def bind(self, variables: Sequence[Var], value: str) -> None:
        names = [self.scope.name(var) for var in variables]
        self.out.line(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {value}")

    def measure(self, step: Measure) -> None:
        if step.bounds:
            self.out.line(f"cell = {self.summed(step.source, step.args, step.bounds)}")
            value = read_cell(step.aggregate, [f"cell[{i}]" for i in step.measures])
        else:
            value = self.measured(step)
        self.out.line(f"{self.scope.name(step.var)} = {value}")

    def summed(self, source: str, args: Sequence[Term], bounds: Sequence[Bound]) -> str:
        """The measures of a group within ``bounds``: zeros where there is no group, or a bound is null."""
        self.out.line(f"ordered = {self.group(source, args)}")
        nulls = [f"{self.text(b.term)} is None" for b in bounds if is_nullable(b.term)]
        nothing = f"NOTHING[:{self.width(source)}]"
        return f"{nothing} if {' or '.join(['ordered is None', *nulls])} else ordered.{self.within(bounds)}"

    def within(self, bounds: Sequence[Bound]) -> str:
        included = [bound.operator.endswith("=") for bound in bounds]
        texts = [self.text(bound.term) for bound in bounds]
        if len(bounds) == 1:
            method = "prefix" if bounds[0].operator.startswith("<") else "suffix"
            return f"{method}({texts[0]}{', True' * included[0]})"
        low = 0 if bounds[0].operator.startswith(">") else 1
        return f"between({texts[low]}, {texts[1 - low]}, {included[low]}, {included[1 - low]})"

    def where(self, step: Where) -> None:
        measure = step.measure
        self.out.line(f"ordered = {self.group(step.source, step.args)}")
        # The test is asked of many sums: what does not depend on them is computed before.
        test = self.computed(step.test, measure.var)
        holds = f"lambda {self.scope.name(measure.var)}: {self.truth(test)}"
        if measure.aggregate == "float_sum":
            holds = f"lambda units: ({holds})(rounded_float(units))"
        beyond = self.group(measure.source, measure.args)
        asked = f"{measure.bounds[0].operator!r}, {measure.measures[-1]}, {holds}"
        self.bind(step.counts, "(")
        self.out.line(f"    NOTHING[:{self.width(step.source)}] if ordered is None")
        self.out.line(f"    else summed_where(ordered, {beyond}, {asked})")
        self.out.line(")")

    def computed(self, test: Term, var: Var) -> Term:
        """``test`` with a name for each side of it that does not depend on ``var``."""
        if not isinstance(test, Call):
            return test
        args: list[Term] = []
        for i, arg in enumerate(test.args):
            type_ = term_type(arg)
            if isinstance(arg, Call) and isinstance(type_, Scalar) and var.name not in term_vars(arg):
                name = Var(f"·{var.name}·side{i}", type_)
                self.out.line(f"{self.scope.name(name)} = {self.text(arg)}")
                arg = name
            args.append(arg)
        return Call(test.function, tuple(args))

    def combine(self, step: Combine) -> None:
        name = self.scope.name(step.var)
        value = combined(step.operator, [self.text(count) for count in step.counts])
        if step.minus:
            value = f"({value}) - ({combined(step.operator, [self.text(c) for c in step.minus])})"
        self.out.line(f"{name} = {value}")
        self.out.open(f"if {name}:")

    def both(self, step: NewAndOld) -> None:
        var, sign = self.scope.name(step.var), self.scope.name(step.sign)
        new = read_cell(step.aggregate, [self.text(term) for term in step.new])
        old = read_cell(step.aggregate, [self.text(term) for term in step.old])
        now, before = self.scope.beside(var, "new"), self.scope.beside(var, "old")
        self.out.line(f"{now}, {before} = {new}, {old}")
        self.out.open(f"if {now} != {before}:")
        self.out.open(f"for {var}, {sign} in (({now}, 1), ({before}, -1)):")
