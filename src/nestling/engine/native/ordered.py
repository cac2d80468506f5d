"""Steps over maps in order, as byte code: sums within bounds, first and last values, entries between two bounds.

Law: they bind what the steps of the embedded engine bind (``local/loops``, ``python/where``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack

from nestling.calculus.terms import Call, Term, Var
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type
from nestling.engine.native.bytecode import Assembler, Cut, Register, Stretch
from nestling.engine.native.layout import Layouts
from nestling.engine.native.terms import Env, Terms
from nestling.engine.native.values import Unsupported, places_of
from nestling.engine.python.terms import is_nullable
from nestling.program.flat import Bound
from nestling.program.statements import Measure, Where
from nestling.program.traverse import term_vars

#: Less, and more, than every word.
LEAST, MOST = -(2**100), 2**100


class OrderedMaps:
    """Maps in order in one program being written."""

    def __init__(self, out: Assembler, layouts: Layouts, terms: Terms) -> None:
        self.out, self.layouts, self.terms = out, layouts, terms

    # -- groups

    def group(self, source: str, args: Sequence[Term], env: Env) -> Stretch:
        """All entries of a group."""
        return self.group_at(source, [self.terms.value(arg, env) for arg in args])

    def group_at(self, source: str, part: Sequence[Register]) -> Stretch:
        least, most = (Cut(self.terms.number(value), False) for value in (LEAST, MOST))
        return self.range(source, tuple(range(len(part) + 1)), part, least, most)

    def range(
        self, source: str, columns: tuple[int, ...], part: Sequence[Register], low: Cut, high: Cut
    ) -> Stretch:
        """What is between two cuts, in the order of some columns, all but the last of which are known."""
        layout = self.layouts.stored[source]
        if [each.kind for each in part] != [layout.kinds[i] for i in columns[:-1]]:
            raise Unsupported(f"a group of another type than those of {source}")
        return Stretch(layout.number, layout.order_by(columns), tuple(part), low, high)

    def word(self, source: str, entry: Register, column: int) -> Register:
        layout = self.layouts.stored[source]
        return self.out.computed("WORD", layout.kinds[column], layout.number, entry, layout.place[column])

    # -- bounds

    def cut(self, value: Register, is_above: bool, kind: str) -> Cut:
        """Below what has a value, or above it, in a column of a kind."""
        has, places = places_of(value.kind), places_of(kind)
        if value.kind == "f" and places is not None:
            return Cut(self.terms.whole(value, not is_above, places), is_above)
        if has is not None and places is not None:
            fitting = (
                self.terms.shrunk(value, not is_above, kind)
                if has > places
                else self.terms.scaled(value, kind)
            )
            return Cut(fitting, is_above)
        if value.kind != kind:
            raise Unsupported("a bound of another type than the column")
        return Cut(value, is_above)

    def within(self, group: Stretch, source: str, bounds: Sequence[Bound], env: Env) -> Stretch:
        """What of a group is within bounds, which are not null."""
        low, high, kind = group.low, group.high, self.layouts.stored[source].kinds[-1]
        for bound in bounds:
            value = self.terms.value(bound.term, env)
            cut = self.cut(value, bound.operator in ("<=", ">"), kind)
            if bound.operator.startswith("<"):
                high = cut
            else:
                low = cut
        return Stretch(group.map, group.order, group.part, low, high)

    def summed(
        self,
        source: str,
        args: Sequence[Term],
        bounds: Sequence[Bound],
        measures: Iterable[int],
        env: Env,
    ) -> list[Register]:
        """Measures of a group summed within bounds: zeros where a bound is null."""
        group, wanted = self.group(source, args, env), list(measures)
        nullable = [bound.term for bound in bounds if is_nullable(bound.term)]
        if not nullable:
            among = self.within(group, source, bounds, env)
            return [self.sum(among, source, i) for i in wanted]
        sums = self.zeros(source, wanted)
        with ExitStack() as blocks:
            for term in nullable:
                is_null = self.out.computed("IS_NULL", "b", self.terms.value(term, env))
                blocks.enter_context(self.out.only_if(self.out.computed("NOT", "b", is_null)))
            among = self.within(group, source, bounds, env)
            for result, i in zip(sums, wanted, strict=True):
                self.out.emit("MOV", result, self.out.sum(among, i))
        return sums

    def sum(self, among: Stretch, source: str, measure: int) -> Register:
        return self.out.sum(among, measure, self.layouts.stored[source].numbers[measure])

    def zeros(self, source: str, measures: Iterable[int]) -> list[Register]:
        numbers, zero = self.layouts.stored[source].numbers, self.terms.number(0)
        return [self.out.computed("MOV", numbers[i], zero) for i in measures]

    # -- values

    def value(self, aggregate: str, source: str, part: Sequence[Register]) -> Register:
        """An aggregate of the values of a group."""
        group, kind = self.group_at(source, part), self.layouts.stored[source].kinds[-1]
        if aggregate == "count_distinct":
            return self.out.sum(group, -1)
        if aggregate not in ("min", "max"):
            raise Unsupported(f"the aggregate {aggregate}")
        result = self.out.computed("MOV", kind, self.terms.constant(kind, None))
        with self.out.edge(group, aggregate == "max") as entry:
            self.out.emit("MOV", result, self.word(source, entry, len(part)))
        return result

    # -- sums over the keys that pass a test on a sum

    def where(self, step: Where, wanted: Sequence[int], env: Env) -> list[Register]:
        """Measures of a group, summed over the last keys that pass."""
        measure, sums = step.measure, self.zeros(step.source, wanted)
        if measure.aggregate not in ("sum", "count"):
            raise Unsupported(f"the aggregate {measure.aggregate} of what is beyond each key")
        if self.layouts.stored[step.source].kinds[-1] != self.layouts.stored[measure.source].kinds[-1]:
            raise Unsupported("a bound of another type than the column")
        outer, inner = self.group(step.source, step.args, env), self.group(measure.source, measure.args, env)
        test, env = self._computed(step.test, measure.var, env)

        def holds(value: Register) -> Register:
            return self.terms.truth(test, {**env, measure.var.name: value})

        is_negative = self.out.computed("WAS_NEGATIVE", "b", inner.map, inner.order)
        with self.out.only_if(is_negative):
            self._one_by_one(step, outer, inner, holds, list(zip(sums, wanted, strict=True)))
        with self.out.only_if(self.out.computed("NOT", "b", is_negative)):
            self._bisected(step, outer, inner, holds, list(zip(sums, wanted, strict=True)))
        return sums

    def _one_by_one(
        self,
        step: Where,
        outer: Stretch,
        inner: Stretch,
        holds: Callable[[Register], Register],
        sums: Sequence[tuple[Register, int]],
    ) -> None:
        """Sums are not monotone where a measure is negative: every key is tested."""
        with self.out.range(outer) as entry:
            key = self.word(step.source, entry, len(outer.part))
            within = self._beyond(step.measure, inner, key)
            beyond = self.sum(within, step.measure.source, step.measure.measures[-1])
            with self.out.only_if(holds(beyond)):
                for result, i in sums:
                    amount = self.out.computed("MEASURE", "i", outer.map, entry, i)
                    self.out.emit("ADD", result, result, amount)

    def _beyond(self, measure: Measure, inner: Stretch, key: Register) -> Stretch:
        operator = measure.bounds[0].operator
        cut = Cut(key, operator in ("<=", ">"))
        low, high = (inner.low, cut) if operator.startswith("<") else (cut, inner.high)
        return Stretch(inner.map, inner.order, inner.part, low, high)

    def _bisected(
        self,
        step: Where,
        outer: Stretch,
        inner: Stretch,
        holds: Callable[[Register], Register],
        sums: Sequence[tuple[Register, int]],
    ) -> None:
        """The test holds on one side of some key: that is found, and what is on that side summed."""
        out, operator, index = self.out, step.measure.bounds[0].operator, step.measure.measures[-1]
        above, total = operator.startswith(">"), self.sum(inner, step.measure.source, index)
        nothing = Register(self.terms.number(0).number, total.kind)
        start, end = (holds(value) for value in ((total, nothing) if above else (nothing, total)))

        def flipped(upto: Register) -> Register:
            value = (
                out.computed("SUB", total.kind, total, upto) if above else Register(upto.number, total.kind)
            )
            return out.computed("NE", "b", holds(value), start)

        def assigned(low: Cut, high: Cut) -> None:
            among = Stretch(outer.map, outer.order, outer.part, low, high)
            for result, i in sums:
                out.emit("MOV", result, out.sum(among, i))

        is_same = out.computed("EQ", "b", start, end)
        with out.only_if(is_same), out.only_if(start):
            assigned(outer.low, outer.high)
        with out.only_if(out.computed("NOT", "b", is_same)):
            entry = out.descend(inner, index, flipped)
            # With > and <= a key belongs to what comes after it, with >= and < to what comes before.
            cut = Cut(self.word(step.measure.source, entry, len(inner.part)), operator not in (">", "<="))
            with out.only_if(start):
                assigned(outer.low, cut)
            with out.only_if(end):
                assigned(cut, outer.high)

    def _computed(self, test: Term, var: Var, env: Env) -> tuple[Term, Env]:
        """``test`` with a name for each side of it that does not depend on ``var``: it is asked of many sums."""
        if not isinstance(test, Call):
            return test, env
        args = list[Term]()
        for i, arg in enumerate(test.args):
            type_ = term_type(arg)
            if isinstance(arg, Call) and isinstance(type_, Scalar) and var.name not in term_vars(arg):
                side = Var(f"·{var.name}·side{i}", type_)
                env = {**env, side.name: self.terms.value(arg, env)}
                arg = side
            args.append(arg)
        return Call(test.function, tuple(args)), env
