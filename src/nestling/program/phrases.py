"""Terms, steps and statements as text, variables under the shortest names that tell them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, count
from typing import assert_never

from nestling.calculus.functions import INFIX
from nestling.calculus.layout import Doc, DocBreak, bracket, group, nest
from nestling.calculus.show import show
from nestling.calculus.terms import Call, Term, Var
from nestling.calculus.traverse import walk
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
    Statement,
    Step,
    Total,
    Where,
)
from nestling.program.steps import binds, every_step, uses
from nestling.program.traverse import substitute_term, term_vars

#: A part of a line, set off from what stands before it.
PART = DocBreak("  ")
ENDLESS = 10**9
#: What a name starts with that no column can have.
APART = "·"


def phrases(statement: Statement, given: Iterable[Var] = ()) -> Phrases:
    """How to say ``statement``; the variables ``given`` to it choose their names first."""
    steps = [term for step in every_step(statement) for term in (*uses(step), *binds(step))]
    return Phrases.of([*given, *steps, *statement.keys, *statement.amounts])


class Phrases:
    """How to say things of one scope; ``names`` are the variables that go by another name."""

    def __init__(self, names: dict[str, Term]) -> None:
        self.names = names

    @classmethod
    def of(cls, terms: Iterable[Term]) -> Phrases:
        """Names for the variables of ``terms``: of a dotted one its last part, if it comes first with it."""
        found = {node.name: node for term in terms for node in walk(term) if isinstance(node, Var)}
        taken = {name for name in found if _is_plain(name)}
        names: dict[str, Term] = {}
        for name, var in found.items():
            if name not in taken:
                names[name] = Var(_short(name.strip(APART).split("."), taken), var.type)
        return cls(names)

    def term(self, term: Term) -> str:
        return show(substitute_term(term, self.names), ENDLESS)

    def terms(self, terms: Iterable[Term]) -> list[str]:
        return [self.term(term) for term in terms]

    def list(self, terms: Iterable[Term]) -> str:
        return ", ".join(self.terms(terms))

    def product(self, term: Term) -> str:
        """``a · b · c``."""
        factors = _factors(term)
        return " · ".join(map(self.factor, factors)) if len(factors) > 1 else self.term(term)

    def factor(self, term: Term) -> str:
        """``term`` as part of a product."""
        text = self.term(term)
        return f"({text})" if isinstance(term, Call) and term.function in INFIX else text

    def products(self, terms: Sequence[Term]) -> str:
        """One product, or several in parentheses."""
        texts = [self.product(term) for term in terms]
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"

    def statement(self, statement: Statement, later: bool = False, skipped: int = 0) -> Doc:
        """``target[keys] += amounts`` and its steps; the first ``skipped`` keys go without saying."""
        steps = [
            self.step(step, used) for step, used in zip(statement.steps, used_after(statement), strict=True)
        ]
        name = f"{'Δ' * later}{statement.target or 'answer'}["
        target = bracket(
            name, self.terms(statement.keys[skipped:]), f"] += {self.products(statement.amounts)}"
        )
        return group(target, nest(*((PART, text) for text in steps)))

    def step(self, step: Step, later: frozenset[str]) -> str:  # noqa: C901 - one arm per step
        """What ``step`` does, as far as ``later`` variables are concerned."""
        match step:
            case Find():
                return self._find(step, later)
            case Check(test):
                return f"where {self.term(test)}"
            case Each(bag, pattern, count):
                return f"for {self.term(pattern)} ↦ {self.term(count)} in {self.term(bag)}"
            case Range(source, args, bounds, counts):
                named = self.list(count for count in counts if count.name in later)
                return f"with {named} := sum of {source}[{self.within(args, bounds)}]"
            case Measure(var, aggregate, source, args, _, bounds):
                return f"with {self.term(var)} := {aggregate} {source}[{self.within(args, bounds)}]"
            case Where(source, args, counts, _, measure, test):
                named = self.list(count for count in counts if count.name in later)
                tested = self.step(measure, frozenset()).removeprefix("with ")
                place = self.list((*args, step.key))
                return f"with {named} := sum of {source}[{place}] where {tested}, {self.term(test)}"
            case Total(var, aggregate, statements):
                parts = " + ".join(self.total(statement) for statement in statements)
                return f"with {self.term(var)} := {aggregate} of {parts or '0'}"
            case Combine(var, operator, counts, minus):
                less = f" - {operator}({self.list(minus)})" if minus else ""
                return f"with {self.term(var)} := {operator}({self.list(counts)}){less} ≠ 0"
            case Assign(var, term):
                return f"with {self.term(var)} := {self.term(term)}"
            case NewAndOld(var, sign, aggregate, new, old):
                values = f"{aggregate}({self.list(new)}) ↦ 1, {aggregate}({self.list(old)}) ↦ -1"
                return f"for {self.term(var)} ↦ {self.term(sign)} in {values} if they differ"
            case _:
                assert_never(step)

    def total(self, statement: Statement) -> str:
        """``amounts  steps``, in one line."""
        used = used_after(statement)
        steps = [self.step(step, later) for step, later in zip(statement.steps, used, strict=True)]
        amount = self.products(statement.amounts)
        value = f"{self.list(statement.keys)} × {amount}" if statement.keys else amount
        return f"({'  '.join([value, *steps])})"

    def within(self, args: Sequence[Term], bounds: Sequence[Bound]) -> str:
        """``t, …, > u``: a group, and which of its last keys."""
        limits = " and ".join(f"{bound.operator} {self.term(bound.term)}" for bound in bounds)
        return ", ".join([*self.terms(args), *([limits] if limits else [])])

    def _find(self, step: Find, later: frozenset[str]) -> str:
        times = Counter(arg for i, arg in enumerate(step.args) if i not in step.known)
        columns = [
            self.term(arg) if i in step.known or times[arg] > 1 else "·" for i, arg in enumerate(step.args)
        ]
        place = f"{step.source}[{', '.join(columns)}]"
        counts = self.list(count for count in step.counts if count.name in later)
        if len(step.known) == len(step.args):
            return f"with {counts} := {place}" if counts else f"if {place}"
        bound = [var for var in binds(step) if var not in step.counts and var.name in later]
        return f"for {self.list(bound) or '_'}{' ↦ ' * bool(counts)}{counts} in {place}"


def _is_plain(name: str) -> bool:
    return "." not in name and not name.startswith(APART)


def _short(parts: Sequence[str], taken: set[str]) -> str:
    """The last of ``parts``, or as many as make a name that is not ``taken``, and from now on it is."""
    *suffixes, whole = ("_".join(parts[i:]) for i in reversed(range(len(parts))))
    named = [suffix for suffix in suffixes if suffix.isidentifier()]
    numbered = (f"{whole}{i}" for i in count(2))
    short = next(name for name in chain(named, [whole], numbered) if name not in taken)
    taken.add(short)
    return short


def used_after(statement: Statement) -> list[frozenset[str]]:
    """For each step, the variables that are used behind it."""
    used = [term_vars(*statement.keys, *statement.amounts)]
    for step in reversed(statement.steps[1:]):
        used.append(used[-1] | term_vars(*uses(step)))
    return used[::-1][: len(statement.steps)]


def _factors(term: Term) -> list[Term]:
    match term:
        case Call("*", (left, right)):
            return [*_factors(left), *_factors(right)]
    return [term]
