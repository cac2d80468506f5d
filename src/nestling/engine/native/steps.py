"""Steps as byte code: each is a block that the steps after it stand in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, assert_never

from nestling.calculus.terms import Term, Var
from nestling.engine.native.bytecode import Assembler, Cut, PythonFunctions, Register
from nestling.engine.native.layout import Layouts, every_own_step, is_by_key, own_steps
from nestling.engine.native.ordered import OrderedMaps
from nestling.engine.native.terms import Env, Terms
from nestling.engine.native.values import Unsupported, is_in_order
from nestling.engine.ranges import BetweenStep, FlipStep, PassedStep, ShiftStep
from nestling.program.flat import first_of, is_ordered
from nestling.program.statements import (
    Add,
    Assign,
    Check,
    Combine,
    Each,
    Find,
    MapDecl,
    Measure,
    NewAndOld,
    Program,
    Range,
    Statement,
    Step,
    TableDecl,
    Total,
    Where,
)
from nestling.program.steps import uses
from nestling.program.traverse import term_vars


def used_in(statements: Sequence[Statement]) -> frozenset[str]:
    """The variables that some step, key or amount looks at."""
    terms = [
        term
        for statement in statements
        for each in (statement.keys, statement.amounts, *map(_looked_at, own_steps(statement)))
        for term in each
    ]
    return term_vars(*terms)


def _looked_at(step: Any) -> tuple[Term, ...]:
    match step:
        case FlipStep(both, term) | ShiftStep(both, term):
            return *uses(both), term
        case BetweenStep(find):
            return uses(find)
        case PassedStep(range_):
            return range_.args
    return uses(step)


def sources(statement: Statement) -> set[str]:
    """The tables and maps that a statement looks into."""
    found = set[str]()
    for step in every_own_step(statement):
        for part in (step, *(getattr(step, name, None) for name in ("find", "range", "measure"))):
            found.add(getattr(part, "source", ""))
    return found - {""}


#: Variables that no query has: where a bound was and where it is, the lesser first.
_LOW, _HIGH = "·low", "·high"


class StepWriter:
    """Steps in one program being written."""

    def __init__(
        self, out: Assembler, functions: PythonFunctions, program: Program, layouts: Layouts
    ) -> None:
        self.out, self.layouts = out, layouts
        self.decls: dict[str, TableDecl | MapDecl] = {**program.tables, **program.maps}
        self.terms = Terms(out, functions)
        self.ordered = OrderedMaps(out, layouts, self.terms)

    @contextmanager
    def nest(self, statement: Statement, env: Env) -> Iterator[Iterator[Env]]:
        """All steps of a statement; what is written for each of the solutions runs once per solution."""
        yield self._solutions(own_steps(statement), env, used_in([statement]))

    def _solutions(self, steps: Sequence[Any], env: Env, used: frozenset[str]) -> Iterator[Env]:
        if not steps:
            yield env
            return
        with self.repeated(steps[0], env, used) as solutions:
            for solution in solutions:
                yield from self._solutions(steps[1:], solution, used)

    @contextmanager
    def repeated(self, step: Any, env: Env, used: frozenset[str]) -> Iterator[Iterator[Env]]:
        """One step: the code that goes on is written once for each environment. They are one, or of a change two."""
        if isinstance(step, NewAndOld):
            yield self._new_and_old(step, env)
            return
        if isinstance(step, FlipStep):
            yield self._flipped(step, env)
            return
        with ExitStack() as blocks:
            yield iter([self._own_step(step, env, used, blocks)])

    def add(self, add: Add, env: Env) -> None:
        """``target[keys] += amounts``, or to what is collected for it."""
        statement = add.statement
        layout = (self.layouts.collected if add.later else self.layouts.stored)[statement.target]
        keys = [self.terms.value(key, env) for key in statement.keys]
        if [key.kind for key in keys] != [*layout.kinds]:
            raise Unsupported(f"keys of another type than those of {statement.target}")
        amounts = [
            self.terms.scaled(self.terms.value(amount, env), kind)
            for amount, kind in zip(statement.amounts, layout.numbers, strict=True)
        ]
        self.out.emit("ADD_TO", layout.number, *keys, *amounts)

    # -- one step

    def _own_step(self, step: Any, env: Env, used: frozenset[str], blocks: ExitStack) -> Env:
        match step:
            case ShiftStep():
                return self._shifted(step, env, blocks)
            case PassedStep():
                return self._passed(step, env, blocks)
            case BetweenStep(find, position, included):
                part = [self._argument(find, i, env) for i in find.known]
                return self._between(find, position, part, included, env, used, blocks)
        return self._step(step, env, used, blocks)

    def _step(self, step: Step, env: Env, used: frozenset[str], blocks: ExitStack) -> Env:  # noqa: C901 - one arm each
        match step:
            case Find():
                return self._find(step, env, used, blocks)
            case Check(test):
                blocks.enter_context(self.out.only_if(self.terms.truth(test, env)))
                return env
            case Assign(var, term):
                return {**env, var.name: self.terms.value(term, env)}
            case Measure():
                return {**env, step.var.name: self._measure(step, env)}
            case Total():
                return {**env, step.var.name: self._total(step, env)}
            case Combine(var, operator, counts, minus):
                total = self._combined(operator, counts, env)
                if minus:
                    total = self.out.computed("SUB", "i", total, self._combined(operator, minus, env))
                blocks.enter_context(self.out.only_if(total))
                return {**env, var.name: total}
            case Each():
                raise Unsupported("the elements of a bag that is one value")
            case Range(source, args, bounds, counts):
                at = [i for i, count in enumerate(counts) if count.name in used]
                sums = self.ordered.summed(source, args, bounds, at, env)
                return {**env, **{counts[i].name: each for i, each in zip(at, sums, strict=True)}}
            case Where(counts=counts):
                at = [i for i, count in enumerate(counts) if count.name in used]
                sums = self.ordered.where(step, at, env)
                return {**env, **{counts[i].name: each for i, each in zip(at, sums, strict=True)}}
            case NewAndOld():
                raise AssertionError("it is written for two environments")
            case _:
                assert_never(step)

    def _find(self, step: Find, env: Env, used: frozenset[str], blocks: ExitStack) -> Env:
        out, layout = self.out, self.layouts.stored[step.source]
        place, decl = layout.place, self.decls[step.source]
        if is_by_key(step, decl):
            key = [self._argument(step, i, env) for i in layout.key]
            entry = blocks.enter_context(out.probe(layout.number, key))
            for i in step.known:
                if i not in layout.key:
                    word = out.computed("WORD", layout.kinds[i], layout.number, entry, place[i])
                    is_same = out.computed("EQ", "b", word, self._argument(step, i, env))
                    blocks.enter_context(out.only_if(is_same))
        elif step.known:
            part = [self._argument(step, i, env) for i in step.known]
            index = layout.patterns.index(step.known)
            entry = blocks.enter_context(out.slice(layout.number, index, part))
        else:
            entry = blocks.enter_context(out.scan(layout.number))
        return self._bound(step, env, used, entry, blocks)

    def _argument(self, step: Find, position: int, env: Env) -> Register:
        """What is known at a position, of the kind that stands there."""
        found = self.terms.value(step.args[position], env)
        if found.kind != self.layouts.stored[step.source].kinds[position]:
            raise Unsupported(
                f"a value of another type than the column of {step.source} that it is looked up in"
            )
        return found

    def _bound(self, step: Find, env: Env, used: frozenset[str], entry: Register, blocks: ExitStack) -> Env:
        out, layout = self.out, self.layouts.stored[step.source]
        place, found = layout.place, dict[str, Register]()
        free = [(i, arg) for i, arg in enumerate(step.args) if i not in step.known]
        for i, arg in free:
            if not isinstance(arg, Var):
                raise Unsupported("a pattern that is not a variable")
            again = sum(other == arg for _, other in free) > 1
            if arg.name not in used and not again:
                continue
            word = out.computed("WORD", layout.kinds[i], layout.number, entry, place[i])
            if arg.name in found:
                blocks.enter_context(out.only_if(out.computed("EQ", "b", found[arg.name], word)))
            else:
                found[arg.name] = word
        for i, count in enumerate(step.counts):
            if count.name in used:
                found[count.name] = out.computed("MEASURE", layout.numbers[i], layout.number, entry, i)
        return {**env, **found}

    def _measure(self, step: Measure, env: Env) -> Register:
        if first_of(step.aggregate) is not None:
            raise Unsupported("a bag that is one value: the first or last of a group")
        if is_ordered(step.aggregate):
            part = [self.terms.value(arg, env) for arg in step.args]
            return self.ordered.value(step.aggregate, step.source, part)
        if step.bounds:
            cell = self.ordered.summed(step.source, step.args, step.bounds, step.measures, env)
            return self.terms.aggregate(step.aggregate, cell, step.var.type)
        layout = self.layouts.stored[step.source]
        key = [self.terms.value(arg, env) for arg in step.args]
        if [each.kind for each in key] != [*layout.kinds]:
            raise Unsupported(f"a group of another type than those of {step.source}")
        wanted = step.measures
        if step.aggregate in ("count", "sum"):
            wanted = wanted[:1] if step.aggregate == "count" else wanted[-1:]
        cell = [self.out.computed("GET", layout.numbers[i], layout.number, i, *key) for i in wanted]
        return self.terms.aggregate(step.aggregate, cell, step.var.type)

    def _total(self, step: Total, env: Env) -> Register:
        if is_ordered(step.aggregate):
            raise Unsupported("an aggregate of values that are made from a row")
        width = max((len(statement.amounts) for statement in step.statements), default=1)
        sums = [self.out.computed("MOV", "i", self.terms.number(0)) for _ in range(width)]
        kinds: list[set[str]] = [set() for _ in sums]
        for statement in step.statements:
            with self.nest(statement, env) as solutions:
                for solution in solutions:
                    for total, amount, found in zip(sums, statement.amounts, kinds, strict=True):
                        value = self.terms.value(amount, solution)
                        found.add(value.kind)
                        self.out.emit("ADD", total, total, value)
        if any(len(found) > 1 for found in kinds):
            raise Unsupported("a sum of numbers of different places")
        cell = [Register(s.number, (*found, "i")[0]) for s, found in zip(sums, kinds, strict=True)]
        return self.terms.aggregate(step.aggregate, cell, step.var.type)

    def _now_and_before(self, step: NewAndOld, env: Env) -> list[Register]:
        if first_of(step.aggregate) is not None:
            raise Unsupported("a bag that is one value: the first or last of a group")
        if is_ordered(step.aggregate):  # the event has the value itself
            return [self.terms.value(cell[0], env) for cell in (step.new, step.old)]
        return [
            self.terms.aggregate(step.aggregate, [self.terms.value(t, env) for t in cell], step.var.type)
            for cell in (step.new, step.old)
        ]

    def _flipped(self, step: FlipStep, env: Env) -> Iterator[Env]:
        """What follows runs where the test has another outcome than before: with 1 if it holds now."""
        name, values = step.both.var.name, self._now_and_before(step.both, env)
        is_true, was_true = (self.terms.truth(step.test, {**env, name: value}) for value in values)
        with self.out.only_if(self.out.computed("NE", "b", is_true, was_true)):
            one, minus_one = self.terms.number(1), self.terms.number(-1)
            yield {**env, step.both.sign.name: self.out.computed("SELECT", "i", is_true, one, minus_one)}

    # -- entries between two bounds

    def _shifted(self, step: ShiftStep, env: Env, blocks: ExitStack) -> Env:
        """What follows runs where the bound has moved: with 1 if it takes in what lies between."""
        out, name = self.out, step.both.var.name
        new, old = (
            self.terms.value(step.bound, {**env, name: value})
            for value in self._now_and_before(step.both, env)
        )
        blocks.enter_context(out.only_if(out.computed("NE", "b", new, old)))
        is_up = out.computed("GT", "b", new, old)
        low, high = (
            out.computed("SELECT", new.kind, is_up, old, new),
            out.computed("SELECT", new.kind, is_up, new, old),
        )
        up, down = (1, -1) if step.operator.startswith("<") else (-1, 1)
        sign = out.computed("SELECT", "i", is_up, self.terms.number(up), self.terms.number(down))
        return {**env, _LOW: low, _HIGH: high, step.both.sign.name: sign}

    def _cuts(self, source: str, position: int, upper_included: bool, env: Env) -> tuple[Cut, Cut]:
        kind = self.layouts.stored[source].kinds[position]
        if not is_in_order(kind):
            raise Unsupported("a bound on a column that has no order in words")
        low, high = (self.ordered.cut(env[name], upper_included, kind) for name in (_LOW, _HIGH))
        return low, high

    def _passed(self, step: PassedStep, env: Env, blocks: ExitStack) -> Env:
        of = step.range
        group = self.ordered.group(of.source, of.args, env)
        cuts = self._cuts(of.source, len(of.args), step.upper_included, env)
        among = self.ordered.range(of.source, tuple(range(len(of.args) + 1)), group.part, *cuts)
        sums = [self.ordered.sum(among, of.source, i) for i in range(len(of.counts))]
        some = self.out.computed("MOV", "b", self.terms.number(0))
        for each in sums:
            with self.out.only_if(each):
                self.out.emit("MOV", some, self.terms.number(1))
        blocks.enter_context(self.out.only_if(some))
        return {**env, **{count.name: each for count, each in zip(of.counts, sums, strict=True)}}

    def _between(
        self,
        find: Find,
        position: int,
        part: Sequence[Register],
        upper_included: bool,
        env: Env,
        used: frozenset[str],
        blocks: ExitStack,
    ) -> Env:
        cuts = self._cuts(find.source, position, upper_included, env)
        among = self.ordered.range(find.source, (*find.known, position), part, *cuts)
        return self._bound(find, env, used, blocks.enter_context(self.out.range(among)), blocks)

    def _new_and_old(self, step: NewAndOld, env: Env) -> Iterator[Env]:
        now, before = self._now_and_before(step, env)
        with self.out.only_if(self.out.computed("NE", "b", now, before)):
            for value, sign in ((now, 1), (before, -1)):
                yield {**env, step.var.name: value, step.sign.name: self.terms.number(sign)}

    def _combined(self, operator: str, terms: Sequence[Term], env: Env) -> Register:
        """A count-wise operator, as ``calculus/countwise`` says."""
        out, counts = self.out, [self.terms.value(term, env) for term in terms]
        zero, one, a, b = self.terms.number(0), self.terms.number(1), counts[0], counts[-1]
        if operator == "restrict":
            some = zero
            for count in counts[:-1]:
                some = out.computed("SELECT", "i", out.computed("NE", "b", count, zero), one, some)
            return out.computed("SELECT", "i", some, b, zero)
        test = {
            "distinct": ("GT", a, zero), "exists": ("NE", a, zero), "clip": ("GT", a, zero),
            "monus": ("GT", a, b), "min": ("LT", a, b), "max": ("GT", a, b), "differ": ("NE", a, b),
            "exceed": ("GT", a, b),
        }  # fmt: skip
        operation, left, right = test[operator]
        holds = out.computed(operation, "b", left, right)
        if operator == "monus":
            return out.computed("SELECT", "i", holds, out.computed("SUB", "i", a, b), zero)
        then, otherwise = {"clip": (a, zero), "min": (a, b), "max": (a, b)}.get(operator, (one, zero))
        return out.computed("SELECT", "i", holds, then, otherwise)
