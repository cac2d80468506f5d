"""What a program costs: operations on dictionaries per change and per read, and bytes.

An operation is a look-up, or an entry gone through. To write one takes ``WRITE`` of them: its key is made, its old
value read, the new one tested for zero and put in its place; and as much again in every index. Only what a view adds
is counted: the row itself is stored with or without it.

The bytes of an entry were measured on CPython: a number under a number takes 106, under a key of k columns
130 + 32·k; an index takes about as much again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log2
from typing import assert_never

from nestling.calculus.terms import InL
from nestling.calculus.types import LABEL
from nestling.program.flat import Query, Shape
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
    Plan,
    Program,
    Propagate,
    Range,
    Statement,
    Step,
    Total,
    Trigger,
    ViewPlan,
    Where,
)
from nestling.program.steps import every_trigger, plans, trigger_statements
from nestling.transform.cost.sizes import Sizes, passed
from nestling.transform.cost.statistics import FEW, Positions
from nestling.transform.lower.view import shape_of

WRITE = 3.0
#: Bytes of an entry under one column; of one under several, and for each of these; of a label; of an index entry.
ONE_COLUMN, COLUMNS, COLUMN, LABELS, INDEXED = 106, 130, 32, 150, 130
#: Bytes of the list that several measures stand in, and of a measure in it; of an entry of a tree.
CELL, MEASURE, ORDERED = 56, 40, 100


@dataclass(frozen=True)
class Estimate:
    """What one view costs: ``change`` and ``read`` in operations, ``bytes`` with all indexes it asks for.

    ``change`` is of a row of any of its tables, each as often as it has rows; ``by_table`` tells them apart. ``read``
    is of one row with its inner bags, among those of its first column where they can be found by that, else among all.
    """

    change: float
    read: float
    entries: int
    bytes: int
    by_table: Mapping[str, float]


def estimate(program: Program, view: str, sizes: Sizes, rows: Query) -> Estimate:
    """What ``program`` costs, which serves ``view`` alone; its answer is that of ``rows``."""
    return _Work(program, sizes, rows).estimate(program.views[view])


@dataclass
class _Work:
    program: Program
    sizes: Sizes
    rows: Query
    #: Per map, how many of its keys one row changes; of the trigger at hand.
    changed: dict[str, float] = field(default_factory=dict)

    @cached_property
    def indexes(self) -> dict[str, set[Positions]]:
        """By source, the columns it is looked up by that are not its key."""
        found: dict[str, set[Positions]] = {}
        statements = [s for trigger in every_trigger(self.program) for s in trigger_statements(trigger)]
        for view in self.program.views.values():
            statements += [s for plan in plans(view) for s in plan.statements]
        for step in (step for statement in statements for step in statement.steps):
            if isinstance(step, Find) and step.known and not self._is_probe(step):
                found.setdefault(step.source, set()).add(step.known)
        for name, decl in self.program.tables.items():
            # An inner bag is found by its label whatever the views are.
            if decl.columns and decl.columns[0].type == LABEL:
                found.get(name, set()).discard((0,))
        return found

    def _is_probe(self, step: Find) -> bool:
        table = self.program.tables.get(step.source)
        return len(step.known) == len(step.args) or bool(
            table is not None and table.key and set(table.key) <= set(step.known)
        )

    # -- all of it

    def estimate(self, view: ViewPlan) -> Estimate:
        statistics, tables = self.sizes.statistics, self.program.tables
        by_table = {name: self.trigger(self.program.triggers[name]) for name in self.sizes.tables}
        rows = {name: statistics.size(tables[name]) for name in by_table}
        change = sum(cost * rows[name] for name, cost in by_table.items()) / max(sum(rows.values()), 1.0)
        entries = {name: self.sizes.entries(decl.query) for name, decl in self.program.maps.items()}
        size = sum(self.bytes(decl, entries[name]) for name, decl in self.program.maps.items())
        size += sum(INDEXED * rows[name] * len(self.indexes[name]) for name in rows if name in self.indexes)
        return Estimate(change, self.reading(view), round(sum(entries.values())), round(size), by_table)

    def bytes(self, decl: MapDecl, entries: float) -> float:
        """The bytes of a map and its indexes."""
        labels = sum(column.type == LABEL for column in decl.columns)
        each = ONE_COLUMN if len(decl.columns) <= 1 else COLUMNS + COLUMN * len(decl.columns)
        each += LABELS * labels + ORDERED * decl.ordered
        each += CELL + MEASURE * decl.width if decl.width > 1 else 0
        return entries * (each + INDEXED * len(self.indexes.get(decl.name, ())))

    # -- a change

    def trigger(self, trigger: Trigger) -> float:
        """The operations that one row sets off, beside that it is stored."""
        self.changed = {}
        total = WRITE * len(self.indexes.get(trigger.table, ()))
        for action in trigger.actions:
            if isinstance(action, Add):
                total += self.add(action, 1.0)
            elif isinstance(action, Propagate):
                times = self.changed.get(action.map, 0.0)
                total += times * (1 + self.write(action.map))
                total += sum(self.add(add, times, action.map) for _, adds in action.events for add in adds)
        return total

    def add(self, add: Add, times: float, event: str = "") -> float:
        """``times`` runs of a statement, set off by a row or the change of map ``event``."""
        statement = add.statement
        operations, solutions = self.steps(statement.steps, event)
        if add.later:
            # Collected: written when the change is passed on.
            self.changed[statement.target] = self.changed.get(statement.target, 0.0) + times * solutions
            return times * operations
        return times * (operations + solutions * self.write(statement.target))

    def write(self, target: str) -> float:
        """One entry of a map, and of its indexes."""
        decl = self.program.maps[target]
        if decl.ordered:
            return WRITE + log2(2 + self.sizes.entries(decl.query))
        return WRITE * (1 + len(self.indexes.get(target, ())))

    # -- a read

    def reading(self, view: ViewPlan) -> float:
        if view.lookup is not None:
            return self.plan(view.lookup, view) / max(self.sizes.slice(self.rows, (0,)), 1.0)
        return self.plan(view.rows, view) / max(self.sizes.entries(self.rows), 1.0)

    def plan(self, plan: Plan, view: ViewPlan) -> float:
        """What is found by ``plan``, and the inner bags of each."""
        total = 0.0
        for statement in plan.statements:
            operations, solutions = self.steps(statement.steps)
            shapes = self.held(statement, view)
            total += operations + solutions * sum(self.plan(view.definitions[s], view) for s in shapes)
        return total

    def held(self, statement: Statement, view: ViewPlan) -> list[Shape]:
        """The shapes of the labels that the rows of ``statement`` hold."""
        made = [key for key in statement.keys if isinstance(key, InL)]
        read = [
            key
            for step in statement.steps
            if isinstance(step, Find) and step.source in self.program.maps
            for key in self.labels(step.source)
        ]
        return [shape for shape in dict.fromkeys(map(shape_of, (*made, *read))) if shape in view.definitions]

    def labels(self, source: str) -> Iterable[InL]:
        """One label for every column of a map that holds labels."""
        query = self.program.maps[source].query
        columns = zip(*(monomial.keys for monomial in query.monomials), strict=True)
        return [labels[0] for keys in columns if (labels := [key for key in keys if isinstance(key, InL)])]

    # -- a loop nest

    def steps(self, steps: Sequence[Step], event: str = "") -> tuple[float, float]:
        """Operations and solutions."""
        operations, found = 0.0, 1.0
        for step in steps:
            match step:
                case Find():
                    entries = 1.0 if self._is_probe(step) else self.slice(step)
                    operations += found * (1.0 if self._is_probe(step) else 1.0 + entries)
                    found *= entries
                case Each():
                    operations += found * (1 + FEW)
                    found *= FEW
                case Range() | Where() | Measure():
                    decl = self.program.maps[step.source]
                    operations += found * (log2(2 + self.sizes.entries(decl.query)) if decl.ordered else 1.0)
                case Total(_, _, statements):
                    operations += found * sum(self.steps(statement.steps)[0] for statement in statements)
                case Check(test):
                    found *= passed(test)
                case Combine(_, _, _, minus):
                    # A change of one count among many seldom makes a bag empty, or the first of its kind.
                    found /= self.sizes.group(self.program.maps[event].query) if minus and event else 1.0
                case NewAndOld():
                    found *= 2
                case Assign():
                    pass
                case _:
                    assert_never(step)
        return operations, found

    def slice(self, step: Find) -> float:
        if step.source in self.program.tables:
            return self.sizes.statistics.slice(self.program.tables[step.source], step.known)
        return self.sizes.slice(self.program.maps[step.source].query, step.known)
