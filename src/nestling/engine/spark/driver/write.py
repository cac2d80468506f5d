"""A statement as a Python function over rows that are here: what a step looks up is looked up for all rows at once.

``rows`` are values of a plan's parameters; a statement of a trigger starts from one row of none.

    def run(look, rows):
        found_0 = look(0, {() for () in rows})
        found = []
        for () in rows:
            for (_, cust, _, qty, n) in found_0.get((), ()):
                if qty > 2:
                    found.append((cust, qty, n))
        rows = found
        found_1 = look(1, {(cust,) for (cust, qty, n) in rows})
        …

Law: it returns the keys and amounts that ``solve.added`` yields, if ``look`` finds what is in the sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from nestling.calculus.terms import Call, Term, Var
from nestling.engine.protocol import Row
from nestling.engine.python.reading import read_cell
from nestling.engine.python.source import SourceWriter
from nestling.engine.python.steps import Steps
from nestling.engine.python.terms import Scope, namespace, run_source, tuple_of
from nestling.engine.python.where import summed_where
from nestling.engine.spark.driver.exact import Types, arithmetic
from nestling.engine.spark.driver.lookup import Found
from nestling.engine.spark.driver.values import HELPERS, ordered_function
from nestling.program.flat import is_ordered
from nestling.program.statements import Check, Find, Measure, Range, Statement, Step, Total, Where
from nestling.program.steps import binds, free_vars, uses
from nestling.program.traverse import term_vars

#: Finds entries for the look-up of a number, at keys.
Look = Callable[[int, set[Row]], Found]

#: Words of generated functions.
RESERVED = ("run", "look", "rows", "found", "cell", "ordered", "NOTHING", "summed_where", *HELPERS)


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
    text = _Text(layouts)
    text.function("run", statement, params)
    source = "\n\n\n".join(text.functions) + "\n"
    names = {**namespace(), **HELPERS, "NOTHING": (0,) * 64, "summed_where": summed_where}
    run_source(source, f"nestling, to {statement.target}", names)
    return Written(text.lookups, source, names["run"])


@dataclass
class _Text:
    """The functions of one statement: its own, and those of what is added up inside it."""

    layouts: Types
    scope: Scope = field(default_factory=lambda: Scope(RESERVED))
    lookups: list[LookUp] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)

    def function(self, name: str, statement: Statement, params: Sequence[Var]) -> None:
        out = SourceWriter()
        with out.block(f"def {name}(look, rows):"):
            writer = _Gathered(out, self, [param.name for param in params])
            writer.open(statement.steps, term_vars(*statement.keys, *statement.amounts))
            writer.add(statement)
        self.functions.append(out.text())


class _Gathered(Steps):
    """Steps over rows: blocks until something is looked up, then rows of the variables that are still needed."""

    def __init__(self, out: SourceWriter, text: _Text, live: list[str]) -> None:
        super().__init__(out, text.scope)
        self.whole, self.live, self.base = text, live, out.depth
        self.bound: list[str] = []
        self.is_open = False
        #: What the step at hand looked up: by source and arguments, the name it has.
        self.names: dict[tuple[str, tuple[Term, ...]], str] = {}

    def step(self, step: Step, later: frozenset[str]) -> None:
        self.check_bits(*_computed(step))
        self.look_up(step, later | term_vars(*uses(step)))
        self.begin()
        super().step(step, later)
        if isinstance(step, Range | Where | Total) or (isinstance(step, Measure) and step.bounds):
            self.out.line(f"fits({', '.join(self.scope.name(var) for var in binds(step))})")
        self.bound += [var.name for var in binds(step)]

    def add(self, statement: Statement) -> None:
        """What the solutions add, as the value of the function."""
        self.check_bits(*statement.keys, *statement.amounts)
        self.begin()
        keys, amounts = (self.key(terms) for terms in (statement.keys, statement.amounts))
        self.out.line(f"found.append(({keys}, {amounts}))")
        self.out.close_to(self.base)
        self.out.line("return found")

    # -- rows

    def begin(self) -> None:
        """Go through the rows, if we do not yet."""
        if not self.is_open:
            self.out.line("found = []")
            self.out.open(f"for {self.row()} in rows:")
            self.is_open = True

    def gather(self, wanted: frozenset[str]) -> None:
        """Bring what was found so far into rows of the variables that are still wanted."""
        if self.is_open:
            self.live = [name for name in dict.fromkeys((*self.live, *self.bound)) if name in wanted]
            self.out.line(f"found.append({self.row()})")
            self.out.close_to(self.base)
            self.out.line("rows = found")
            self.is_open, self.bound = False, []

    def row(self) -> str:
        return tuple_of([self.scope.name(name) for name in self.live])

    def key(self, terms: Sequence[Term]) -> str:
        return tuple_of([self.text(term) for term in terms])

    def check_bits(self, *terms: Term) -> None:
        """Spark has 64 bits: what has more is an error, here too."""
        parts = dict.fromkeys(self.text(part) for term in terms for part in arithmetic(term))
        if parts:
            self.begin()
            self.out.line(f"in_64_bits({', '.join(parts)})")

    def truth(self, test: Term) -> str:
        parts = dict.fromkeys(self.text(part) for part in arithmetic(test))
        text = super().truth(test)
        return f"in_64_bits({', '.join(parts)}) and ({text})" if parts else text

    # -- look-ups

    def look_up(self, step: Step, wanted: frozenset[str]) -> None:
        """Look up what ``step`` asks for, for all rows at once."""
        self.names = {}
        for source, positions, args, is_in_order in _asked(step):
            self.gather(wanted)
            number = len(self.whole.lookups)
            self.whole.lookups.append(LookUp(source, positions))
            name = self.names[source, args] = self.scope.beside("found", str(number))
            text = f"look({number}, {{{self.key(args)} for {self.row()} in rows}})"
            if is_in_order:
                text = f"in_order({text}, {self.width(source)})"
            self.out.line(f"{name} = {text}")
        if isinstance(step, Total):
            self.gather(wanted)
            self.add_up(step)

    def width(self, source: str) -> int:
        return len(self.whole.layouts[source].measures)

    def group(self, source: str, args: Sequence[Term]) -> str:
        return f"{self.names[source, tuple(args)]}.get({self.key(args)})"

    def find(self, step: Find, later: frozenset[str]) -> None:
        args, layout = tuple(step.args[i] for i in step.known), self.whole.layouts[step.source]
        names, same = ["_"] * len(layout.columns), []
        for i, arg in enumerate(step.args):
            if i not in step.known and isinstance(arg, Var):
                name = self.scope.name(arg)
                if name in names:
                    names[i] = self.scope.beside(name, f"again{i}")
                    same.append(f"{name} == {names[i]}")
                else:
                    names[i] = name
        for i, count in enumerate(step.counts):
            names[len(layout.keys) + i] = self.scope.name(count)
        entries = f"{self.names[step.source, args]}.get({self.key(args)}, ())"
        self.out.open(f"for {tuple_of(names)} in {entries}:")
        if same:
            self.out.open(f"if {' and '.join(same)}:")

    def measured(self, step: Measure) -> str:
        entries = self.group(step.source, step.args)
        if is_ordered(step.aggregate):
            return ordered_function(step.aggregate, f"{entries} or ()")
        self.out.line(f"cell = measures({entries}, {self.width(step.source)})")
        return read_cell(step.aggregate, [f"cell[{i}]" for i in step.measures])

    def add_up(self, step: Total) -> None:
        """Run the statements of ``step`` for every assignment of what they use, and add up what they add."""
        params = tuple(dict.fromkeys(var for statement in step.statements for var in free_vars(statement)))
        name = self.names["", ()] = self.scope.beside("sums", str(len(self.whole.functions)))
        self.out.line(f"{name} = {{{self.key(params)}: () for {self.row()} in rows}}")
        for statement in step.statements:
            function = self.scope.beside("added", str(len(self.whole.functions)))
            self.whole.function(function, replace(statement, keys=params), params)
            self.out.line(f"add_up({name}, {function}(look, list({name})))")

    def total(self, step: Total) -> None:
        params = tuple(dict.fromkeys(var for statement in step.statements for var in free_vars(statement)))
        width = max((len(statement.amounts) for statement in step.statements), default=1)
        self.out.line(f"cell = {self.names['', ()]}[{self.key(params)}] or NOTHING")
        value = read_cell(step.aggregate, [f"cell[{i}]" for i in range(width)])
        self.out.line(f"{self.scope.name(step.var)} = {value}")


def _asked(step: Step) -> Iterator[tuple[str, tuple[int, ...], tuple[Term, ...], bool]]:
    """Where ``step`` looks: the source, by which columns, for what, and whether its entries are wanted in order."""
    match step:
        case Find(source, args, known):
            yield source, known, tuple(args[i] for i in known), False
        case Range(source, args) | Measure(_, _, source, args):
            is_summed = isinstance(step, Range) or bool(step.bounds)
            yield source, tuple(range(len(args))), args, is_summed
        case Where(source, args, _, _, measure):
            yield source, tuple(range(len(args))), args, True
            if (measure.source, measure.args) != (source, args):
                yield measure.source, tuple(range(len(measure.args))), measure.args, True


def _computed(step: Step) -> Iterable[Term]:
    """The terms that ``step`` computes for a row; a test says so itself."""
    match step:
        case Check():
            return ()
        case Where(_, args, _, _, measure, Call(_, sides)):
            return (*args, *measure.args, *(s for s in sides if measure.var.name not in term_vars(s)))
    return uses(step)
