"""Whether a trigger program is one: what every engine may rely on.

Everything that is named is declared, with as many columns and measures as it is given. Every variable is
bound once, before it is used. There is a trigger per table, its actions in the order that ``order`` asks for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from nestling.calculus.aggregates import EVERY
from nestling.calculus.countwise import OPERATORS
from nestling.calculus.terms import Term, Var
from nestling.calculus.types import INT
from nestling.program.batches import changes, is_change
from nestling.program.flat import Atom, Bound, Lift, Monomial, Pointwise, Query, first_of, is_ordered
from nestling.program.kept import kept_columns
from nestling.program.order import check_order, refuse
from nestling.program.phrases import Phrases
from nestling.program.show import event_vars, show_query, show_statement
from nestling.program.statements import (
    Add,
    Assign,
    Check,
    Combine,
    Each,
    Find,
    MapDecl,
    MapEvent,
    Measure,
    NewAndOld,
    Order,
    Plan,
    Program,
    Propagate,
    Range,
    RowUpdate,
    Statement,
    Step,
    TableDecl,
    Total,
    Trigger,
    Where,
    Write,
)
from nestling.program.steps import binds, plans, reads, uses
from nestling.program.traverse import exact_columns, is_safe, term_vars

NESTED = ("lift", "count")
ROLES = ("rows", "bags", "aux", *NESTED, "watch")


def check_program(program: Program) -> None:
    """Raise unless ``program`` keeps the rules."""
    _Checker(program).check()


def _same(found: int, wanted: int, what: str) -> None:
    if found != wanted:
        refuse(f"{what}: {found} where there are {wanted}")


class _Checker:
    def __init__(self, program: Program) -> None:
        self.program, self.changes = program, changes(program)

    def check(self) -> None:
        for name, decl in self.program.maps.items():
            self.definition(name, decl)
        if self.program.triggers.keys() != self.program.tables.keys():
            odd = self.program.triggers.keys() ^ self.program.tables.keys()
            refuse(f"tables and triggers differ in {', '.join(sorted(odd))}")
        for name, trigger in self.program.triggers.items():
            _same(len(trigger.columns), len(self.program.tables[name].columns), f"columns of on {name}")
            self.trigger(name, trigger, (*trigger.columns, trigger.times))
            check_order(trigger)
        for name, update in self.program.updates.items():
            self.update(name, update)
            check_order(update)
        for view in self.program.views.values():
            for plan in plans(view):
                self.plan(view.name, plan)
        for name in self.program.deferred:
            if self.map(name).role not in NESTED:
                refuse(f"{name} waits, but nothing is passed on from it")
        for name, plan in self.program.totals.items():
            _same(len(plan.params), len(exact_columns(self.map(name).query)), f"what {name} is asked by")
            self.plan(name, plan)

    # -- maps

    def definition(self, name: str, decl: MapDecl) -> None:
        if decl.role not in ROLES:
            refuse(f"{name} has the role {decl.role!r}")
        if name in self.program.tables:
            refuse(f"{name} is a table and a map")
        self.query(name, decl.query)
        if not is_safe(decl.query):
            refuse(f"{name} is not bound by what it reads: {show_query(decl.query)}")

    def query(self, name: str, query: Query) -> None:
        for monomial in query.monomials:
            _same(len(monomial.keys), len(query.keys), f"keys of {name}")
            _same(len(monomial.weights), query.width, f"weights of {name}")
            self.factors(name, monomial)

    def factors(self, name: str, monomial: Monomial) -> None:
        for factor in monomial.factors:
            match factor:
                case Atom(table, args):
                    _same(len(args), len(self.table(table).columns), f"columns of {table} in {name}")
                case Lift(_, aggregate, query, args, bounds):
                    extra = is_ordered(aggregate) or bool(bounds)
                    _same(len(args) + extra, len(query.keys), f"{aggregate} in {name}")
                    self.query(name, query)
                case Pointwise(operator, query, args):
                    _same(len(args), len(query.keys), f"{operator} in {name}")
                    self.query(name, query)

    def table(self, name: str) -> TableDecl:
        return self.program.tables.get(name) or refuse(f"there is no table {name}")

    def map(self, name: str) -> MapDecl:
        return self.program.maps.get(name) or refuse(f"there is no map {name}")

    # -- statements

    def update(self, name: str, update: RowUpdate) -> None:
        table = self.table(name)
        for columns in (update.old, update.columns):
            _same(len(columns), len(table.columns), f"columns of an update of {name}")
        same = {i for i, old in enumerate(update.old) if old == update.columns[i]}
        if not table.key or same != kept_columns(table):
            refuse(f"an update of {name} keeps the columns {sorted(same)}")
        self.trigger(name, update, dict.fromkeys((*update.old, *update.columns)))

    def trigger(self, name: str, trigger: Trigger | RowUpdate, row: Iterable[Var]) -> None:
        for action in trigger.actions:
            match action:
                case Add(statement):
                    self.statement(statement, row)
                case Write(table):
                    if table != name:
                        refuse(f"on {name} writes to {table}")
                case Propagate(target, events):
                    for event, adds in events:
                        self.event(self.map(target), event)
                        for add in adds:
                            self.statement(add.statement, event_vars(event))
                case _:
                    assert_never(action)

    def event(self, decl: MapDecl, event: MapEvent) -> None:
        if decl.role not in NESTED:
            refuse(f"{decl.name} is passed on, but no aggregate or count-wise operator reads it")
        of_group = decl.order == "values"
        if of_group != bool(event.aggregate):
            refuse(f"an event of {decl.name} has the aggregate {event.aggregate!r}")
        _same(len(event.keys), len(decl.columns) - of_group, f"keys of an event of {decl.name}")
        width = 1 if of_group else decl.width
        _same(len(event.old), width, f"old measures of {decl.name}")
        _same(len(event.new), width, f"new measures of {decl.name}")

    def statement(self, statement: Statement, given: Iterable[Var]) -> None:
        target = self.map(statement.target)
        _same(len(statement.keys), len(target.columns), f"keys of {statement.target}")
        _same(len(statement.amounts), target.width, f"amounts of {statement.target}")
        # A statement for batches starts from all rows that changed, and not from one.
        self.steps(statement, () if any(map(is_change, reads(statement))) else given)

    def plan(self, view: str, plan: Plan) -> None:
        for statement in plan.statements:
            _same(len(statement.amounts), 1, f"amounts of the rows of {view}")
            _same(len(statement.keys), len(plan.statements[0].keys), f"columns of the rows of {view}")
            if statement.keys[: plan.skipped] != plan.params[: plan.skipped]:
                refuse(f"the rows of {view} do not start with what they are asked for")
            self.steps(statement, plan.params)

    def steps(self, statement: Statement, given: Iterable[Var]) -> None:
        bound = {var.name for var in given}
        for step in statement.steps:
            self.shape(step)
            if isinstance(step, Total):
                for inner in step.statements:
                    self.steps(inner, [Var(name, INT) for name in bound])
            self.bound(uses(step), bound, statement)
            if isinstance(step, Find):
                self.known(step, bound)
            for var in binds(step):
                if var.name in bound:
                    refuse(f"{var.name} is bound twice in {show_statement(statement)}")
                bound.add(var.name)
        self.bound((*statement.keys, *statement.amounts), bound, statement)

    def bound(self, terms: Iterable[Term], bound: set[str], statement: Statement) -> None:
        unbound = term_vars(*terms) - bound
        if unbound:
            refuse(f"{', '.join(sorted(unbound))} is used before it is bound in {show_statement(statement)}")

    def known(self, step: Find, bound: set[str]) -> None:
        for position, arg in enumerate(step.args):
            if position not in step.known and (not isinstance(arg, Var) or arg.name in bound):
                text = Phrases({}).term(arg)
                refuse(f"column {position} of {step.source} is {text}, known and not looked up by")

    def shape(self, step: Step) -> None:  # noqa: C901 - one arm per step
        match step:
            case Find():
                self.find(step)
            case Measure():
                self.measure(step)
            case Range():
                self.range(step)
            case Where(source, args, counts, key, measure):
                self.range(Range(source, args, (Bound("<", key),), counts))
                self.measure(measure)
                if [bound.term for bound in measure.bounds] != [key]:
                    refuse(f"{measure.source} is not summed beyond {key.name}")
            case Total(_, aggregate, statements):
                for statement in statements:
                    _same(len(statement.keys), int(is_ordered(aggregate)), f"keys of a {aggregate}")
            case Combine(_, operator, counts, minus):
                arity = OPERATORS[operator].arity if operator in OPERATORS else refuse(f"no {operator}")
                _same(len(counts), arity or len(counts), f"counts of {operator}")
                _same(len(minus), len(counts) if minus else 0, f"old counts of {operator}")
            case NewAndOld(_, _, aggregate, new, old):
                _same(len(new), len(old), f"measures of {aggregate} before and after")
            case Check() | Each() | Assign():
                pass
            case _:
                assert_never(step)

    def find(self, step: Find) -> None:
        if is_change(step.source):
            columns, width = self.change(step.source)
        elif step.source in self.program.tables:
            table = self.table(step.source)
            columns, width = len(table.columns), 0 if table.key else 1
        else:
            decl = self.map(step.source)
            if decl.ordered or decl.role == "watch":
                refuse(f"the entries of {step.source} are looked through")
            columns, width = len(decl.columns), decl.width
        _same(len(step.args), columns, f"columns of {step.source}")
        _same(len(step.counts), width, f"measures of {step.source}")
        if list(step.known) != sorted(set(step.known)) or not set(step.known) <= set(range(columns)):
            refuse(f"known columns {step.known} of {step.source}")

    def change(self, source: str) -> tuple[int, int]:
        """The number of keys and measures of what changes in a table or map."""
        return self.changes.get(source) or refuse(f"there is no change {source}")

    def measure(self, step: Measure) -> None:
        decl = self.map(step.source)
        if not (step.aggregate in EVERY or first_of(step.aggregate)) or decl.role not in NESTED:
            refuse(f"{step.aggregate} reads {step.source}")
        if decl.order != _order_for(step):
            refuse(f"{step.aggregate} reads {step.source}, which is {'not ' * (not decl.ordered)}in order")
        self.bounds(step.source, step.bounds)
        _same(len(step.args), len(decl.columns) - decl.ordered, f"columns of {step.source}")
        if not set(step.measures) <= set(range(decl.width)):
            refuse(f"{step.aggregate} reads measures {step.measures} of {step.source}")

    def range(self, step: Range) -> None:
        if is_change(step.source):
            columns, width = self.change(step.source)
        else:
            decl = self.map(step.source)
            if decl.order != "sums":
                refuse(f"{step.source} is summed by its last column, which is not in order")
            columns, width = len(decl.columns), decl.width
        self.bounds(step.source, step.bounds)
        _same(len(step.args), columns - 1, f"columns of {step.source}")
        _same(len(step.counts), width, f"measures of {step.source}")

    def bounds(self, source: str, bounds: tuple[Bound, ...]) -> None:
        """One below at most, one above at most."""
        sides = [bound.operator[:1] for bound in bounds]
        if len(set(sides)) < len(sides) or not {b.operator for b in bounds} <= {"<", "<=", ">", ">="}:
            refuse(f"the bounds {' '.join(b.operator for b in bounds)} of {source}")


def _order_for(step: Measure) -> Order:
    if step.bounds:
        return "sums"
    return "values" if is_ordered(step.aggregate) else ""
