"""Steps as nested loops over the dictionaries of the embedded engine, and the steps that only it has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from nestling.calculus.show import show
from nestling.calculus.terms import Term, Var
from nestling.engine.local.storage import Store
from nestling.engine.python.reading import read_cell
from nestling.engine.python.source import SourceWriter
from nestling.engine.python.steps import Steps
from nestling.engine.python.terms import Scope, is_float, python_key, truth, tuple_of
from nestling.engine.ranges import BetweenStep, FlipStep, PassedStep, ShiftStep, SpanStep
from nestling.program.flat import first_of, is_ordered
from nestling.program.statements import Add, Find, Measure, Statement, Step, TableDecl, Total
from nestling.program.steps import uses
from nestling.program.traverse import term_vars

#: Tables, each with the terms of one of its rows.
Rows: TypeAlias = Iterable[tuple[str, tuple[Term, ...]]]
OwnStep: TypeAlias = ShiftStep | FlipStep | BetweenStep | PassedStep | SpanStep


def key_of(parts: Sequence[str]) -> str:
    """A key as it stands in a dictionary: one column is its value, more are a tuple."""
    return parts[0] if len(parts) == 1 else tuple_of(parts)


class Loops(Steps):
    """One loop nest being written."""

    def __init__(self, out: SourceWriter, scope: Scope, stores: dict[str, Store], rows: Rows = ()) -> None:
        """``rows`` are at hand: what they refer to is there, as far as their tables keep their references."""
        super().__init__(out, scope)
        self.stores = stores
        self.rows = [*rows]

    def needs(self, step: Step | OwnStep) -> tuple[Term, ...]:
        return needs(step)

    def step(self, step: Step | OwnStep, later: frozenset[str]) -> None:
        match step:
            case ShiftStep():
                self.shift(step)
            case FlipStep():
                self.flip(step)
            case BetweenStep():
                self.between(step)
            case PassedStep():
                self.passed(step)
            case SpanStep(source, position, column, included):
                index = self.stores[source].index((position,))
                self.out.open(f"for {self.text(column)} in {index}.between(low, high, {included}):")
            case _:
                super().step(step, later)

    def key(self, terms: Sequence[Term]) -> str:
        return key_of([self.text(term) for term in terms])

    def width(self, source: str) -> int:
        return self.stores[source].width

    def group(self, source: str, args: Sequence[Term]) -> str:
        return f"{self.stores[source].python}.get({self.key(args)})"

    def measured(self, step: Measure) -> str:
        return read_group(self.stores[step.source], step.aggregate, self.key(step.args), step.measures)

    def find(self, step: Find, later: frozenset[str]) -> None:
        store = self.stores[step.source]
        read = self.in_keyed if store.key else self.in_table if store.is_table else self.in_map
        read(step, store, later)
        self.rows.append((step.source, step.args))

    def bound_names(self, step: Find, later: frozenset[str]) -> tuple[list[str], list[str]]:
        """A target per position (``_`` where it is known or unused), and tests for variables that come twice."""
        names: list[str] = []
        tests: list[str] = []
        for i, arg in enumerate(step.args):
            name = "_"
            if i not in step.known and isinstance(arg, Var):
                name = self.scope.name(arg)
                if name in names:
                    again = self.scope.beside(name, f"again{i}")
                    tests.append(f"{name} == {again}")
                    name = again
                elif arg.name not in later and arg not in step.args[i + 1 :]:
                    name = "_"
            names.append(name)
        return names, tests

    def in_table(self, step: Find, store: Store, later: frozenset[str]) -> None:
        """``{row: times}``."""
        count = self.scope.name(step.counts[0])
        if len(step.known) == store.arity:
            self.out.line(f"{count} = {store.python}.get({tuple_of([self.text(a) for a in step.args])})")
            self.out.open(f"if {count}:")
            return
        names, tests = self.bound_names(step, later)
        self.loop(f"{_row(names)}, {count}", f"{self.place(step, store)}.items()", tests)

    def in_keyed(self, step: Find, store: Store, later: frozenset[str]) -> None:
        """``{key: row}``."""
        names, tests = self.bound_names(step, later)
        if set(store.key) <= set(step.known):
            self.by_key(step, store, names, tests)
        elif all(name == "_" or i in store.key for i, name in enumerate(names)) and store.is_itself:
            # Rows lie all over the memory, and their keys beside each other.
            self.loop(key_of([names[i] for i in store.key]), self.place(step, store), tests)
        elif store.value is not None:
            key = [names[i] for i in store.key]
            target = f"{key[0] if len(key) == 1 else _row(key)}, {names[store.value]}"
            self.loop(target, f"{self.place(step, store)}.items()", tests)
        else:
            self.loop(_row(names), f"{self.place(step, store)}.values()", tests)
        for count in step.counts:
            if count.name in later:
                self.out.line(f"{self.scope.name(count)} = 1")

    def by_key(self, step: Find, store: Store, names: list[str], tests: list[str]) -> None:
        row, key = self.scope.beside("row", store.python), self.key([step.args[i] for i in store.key])
        if store.value is not None:
            if (name := names[store.value]) != "_":
                row = name
            rest = [f"{row} == {self.text(step.args[i])}" for i in step.known if i == store.value]
            self.out.line(f"{row} = {store.python}.get({key})")
            self.out.open(f"if {' and '.join([f'{row} is not None', *rest])}:")
            return
        rest = [self.same(row, i, step) for i in step.known if i not in store.key]
        taken = [i for i, name in enumerate(names) if name != "_"]
        if not self.is_kept(step, store):
            self.out.line(f"{row} = {store.python}.get({key})")
            self.out.open(f"if {' and '.join([f'{row} is not None', *rest])}:")
        elif rest or len(taken) != 1:
            self.referred(row, f"{store.python}[{key}]")
            self.tested(rest)
        else:
            self.referred(names[taken[0]], f"{store.python}[{key}][{taken.pop()}]")
        for i in taken:
            self.out.line(f"{names[i]} = {row}[{i}]")
        self.tested(tests)

    def is_kept(self, step: Find, store: Store) -> bool:
        """Whether a row at hand refers to the one that ``step`` finds, by a reference that is kept."""
        key = tuple(step.args[i] for i in store.key)
        return any(
            parent == step.source and tuple(args[i] for i in positions) == key
            for table, args in self.rows
            if isinstance(decl := self.stores[table].decl, TableDecl)
            for positions, parent in decl.references
        )

    def referred(self, name: str, value: str) -> None:
        """Bind what is surely there, by the shortest way; should it be missing, there is nothing to join with."""
        with self.out.block("try:"):
            self.out.line(f"{name} = {value}")
        with self.out.block("except KeyError:"):
            self.out.line("pass")
        self.out.open("else:")

    def same(self, row: str, position: int, step: Find) -> str:
        return f"{row}[{position}] == {self.text(step.args[position])}"

    def in_map(self, step: Find, store: Store, later: frozenset[str]) -> None:
        """``{key: measures}``."""
        counts = [self.scope.name(c) if c.name in later else "_" for c in step.counts]
        cell = counts[0] if store.width == 1 else f"({', '.join(counts)})"
        if len(step.known) == store.arity:
            self.probe(step, store, counts)
            return
        names, tests = self.bound_names(step, later)
        free = [names[i] for i in store.free(step.known)]
        key = free[0] if len(free) == 1 else _row(free)
        self.loop(f"{key}, {cell}", f"{self.place(step, store)}.items()", tests)

    def probe(self, step: Find, store: Store, counts: list[str]) -> None:
        if store.is_cell:
            names = [self.scope.name(count) for count in step.counts]
            self.out.line(f"{', '.join(names)}{',' if store.width == 1 else ''} = {store.python}")
            self.out.open(f"if {' or '.join(names)}:")
            return
        single = store.width == 1
        cell = self.scope.name(step.counts[0]) if single else self.scope.beside("cell", store.python)
        self.out.line(f"{cell} = {store.python}.get({self.key(step.args)})")
        self.out.open(f"if {cell} is not None:")
        if store.width > 1:
            self.out.line(f"{', '.join(counts)} = {cell}")

    def place(self, step: Find, store: Store) -> str:
        """The dictionary to go through: all of it, or the slice of an index."""
        if not step.known:
            return store.python
        return f"{store.index(step.known)}.get({self.key([step.args[i] for i in step.known])}, EMPTY)"

    def loop(self, target: str, source: str, tests: list[str]) -> None:
        self.out.open(f"for {target} in {source}:")
        self.tested(tests)

    def tested(self, tests: list[str]) -> None:
        if tests:
            self.out.open(f"if {' and '.join(tests)}:")

    def total(self, step: Total) -> None:
        """A loop nest of its own, summed into variables."""
        name, depth = self.scope.name(step.var), self.out.depth
        if is_ordered(step.aggregate):
            self.total_of_values(step, name, depth)
            return
        width = max((len(statement.amounts) for statement in step.statements), default=1)
        sums = [self.scope.beside(name, f"{i}") for i in range(width)]
        self.out.line(f"{' = '.join(sums)} = 0")
        for statement in step.statements:
            self.open(statement.steps, term_vars(*statement.amounts))
            for total, amount in zip(sums, statement.amounts, strict=True):
                self.out.line(f"{total} += {self.text(amount)}")
            self.out.close_to(depth)
        self.out.line(f"{name} = {read_cell(step.aggregate, sums)}")

    def total_of_values(self, step: Total, name: str, depth: int) -> None:
        pairs, taken = self.scope.beside(name, "values"), first_of(step.aggregate)
        self.out.line(f"{pairs} = []")
        for statement in step.statements:
            (value,), (amount,) = statement.keys, statement.amounts
            self.open(statement.steps, term_vars(value, amount))
            self.out.line(f"{pairs}.append(({python_key(value, self.scope)}, {self.text(amount)}))")
            self.out.close_to(depth)
        read = f"read_{step.aggregate}(values_of({pairs}))"
        self.out.line(
            f"{name} = {read if taken is None else f'first_values({pairs}, {taken[0]}, {taken[1]})'}"
        )

    def flip(self, step: FlipStep) -> None:
        both = step.both
        var, sign = self.scope.name(both.var), self.scope.name(both.sign)
        for cells, name in ((both.new, "is_true"), (both.old, "was_true")):
            self.out.line(f"{var} = {read_cell(both.aggregate, [self.text(term) for term in cells])}")
            self.out.line(f"{name} = {truth(step.test, self.scope)}")
        self.out.open("if is_true != was_true:")
        self.out.line(f"{sign} = 1 if is_true else -1")

    def shift(self, step: ShiftStep) -> None:
        both = step.both
        var, sign = self.scope.name(both.var), self.scope.name(both.sign)
        for cells, name in ((both.new, "bound_new"), (both.old, "bound_old")):
            self.out.line(f"{var} = {read_cell(both.aggregate, [self.text(term) for term in cells])}")
            self.out.line(f"{name} = {self.text(step.bound)}")
            if is_float(step.bound):
                with self.out.block(f"if {name} != {name}:"):
                    self.out.line(f"{name} = {'BELOW' if step.operator in ('<', '<=') else 'ABOVE'}")
        up, down = (1, -1) if step.operator in ("<", "<=") else (-1, 1)
        self.out.open("if bound_new != bound_old:")
        with self.out.block("if bound_new > bound_old:"):
            self.out.line(f"{sign}, low, high = {up}, bound_old, bound_new")
        with self.out.block("else:"):
            self.out.line(f"{sign}, low, high = {down}, bound_new, bound_old")

    def passed(self, step: PassedStep) -> None:
        store, names = self.stores[step.range.source], [self.scope.name(count) for count in step.range.counts]
        self.out.line(f"ordered = {store.python}.get({self.key(step.range.args)})")
        self.out.open("if ordered is not None:")
        upper = step.upper_included
        self.out.line(f"{', '.join(names)}, = ordered.between(low, high, {not upper}, {upper})")
        self.out.open(f"if {' or '.join(names)}:")

    def between(self, step: BetweenStep) -> None:
        find, store = step.find, self.stores[step.find.source]
        known = self.key([find.args[i] for i in find.known])
        bisect = "bisect_right" if step.upper_included else "bisect_left"
        column = self.text(find.args[step.position])
        self.out.line(f"keys = {store.order(find.known)}.get({known}, ())")
        # Most often the bound moves past nothing.
        self.out.line(f"at = {bisect}(keys, low)")
        self.out.open(f"if at < len(keys) and keys[at] {'<=' if step.upper_included else '<'} high:")
        self.out.line(f"part = {store.index(find.known)}[{known}]")
        self.out.open(f"for {column} in keys[at : {bisect}(keys, high)]:")
        names = [self.scope.name(count) for count in find.counts]
        self.out.line(f"{', '.join(names)} = part[{column}]")


def _row(names: list[str]) -> str:
    return "_" if all(name == "_" for name in names) else tuple_of(names)


def needs(step: Step | OwnStep) -> tuple[Term, ...]:
    """The terms whose variables are bound before ``step``."""
    match step:
        case FlipStep(both, test):
            return (*both.new, *both.old, test)
        case ShiftStep(both, bound):
            return (*both.new, *both.old, bound)
        case BetweenStep(find):
            return uses(find)
        case PassedStep(range_):
            return range_.args
        case SpanStep():
            return ()
        case _:
            return uses(step)


def read_group(store: Store, aggregate: str, key: str, measures: Sequence[int] = (0,)) -> str:
    """An aggregate of one group of a map, whether or not it has rows."""
    taken = first_of(aggregate)
    if taken is not None:
        return f"read_{'last' if taken[1] else 'first'}({store.python}.get({key}), {taken[0]})"
    if store.is_ordered:
        return f"read_ordered_{aggregate}({store.python}.get({key}))"
    if store.is_cell:
        return read_cell(aggregate, [f"{store.python}[{i}]" for i in measures])
    is_sum = aggregate in ("count", "sum", "float_sum")
    if store.width == 1:
        # One measure may be several of an aggregate's: the count and the sum of ones, or of nothing.
        cell = f"{store.python}.get({key}, 0)"
        return read_cell(aggregate, [cell]) if is_sum else f"read_{aggregate}([{cell}] * {len(measures)})"
    cell = f"{store.python}.get({key}, NOTHING)"
    if is_sum:
        return read_cell(aggregate, [f"{cell}[{measures[-1]}]"])
    return f"read_{aggregate}([{cell}[i] for i in {tuple(measures)}])"


def used_after(adds: Sequence[Add], taken: int) -> frozenset[str]:
    """The variables that ``adds`` use after their first ``taken`` steps."""
    used: frozenset[str] = frozenset()
    for add in adds:
        rest = add.statement.steps[taken:]
        terms = (*add.statement.keys, *add.statement.amounts, *(t for step in rest for t in needs(step)))
        used |= term_vars(*terms)
    return used


def describe(statement: Statement) -> str:
    """``target[keys] += amounts`` in the calculus' words."""
    keys = ", ".join(show(key, width=1000) for key in statement.keys)
    amounts = ", ".join(show(amount, width=1000) for amount in statement.amounts)
    sources = ", ".join(dict.fromkeys(s.source for s in statement.steps if hasattr(s, "source")))
    text = f"{statement.target or 'answer'}[{keys}] += {amounts}{f'  from {sources}' if sources else ''}"
    # A comment is for reading: names need no quotes there.
    return re.sub(r"`·?([\w.]+)`", r"\1", text)
