"""A program for batches, of one row at a time.

Where one row arrives, ``ΔR`` is that row: a step that finds rows of the batch finds the row at hand, and a step that
finds keys of a map that changed finds the key at hand. What remains are tests, where a step asked for a row with some
value, and sums of what changed within bounds are those of one entry.

Law (17): ``specialise(p)(row) = p({row})``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nestling.calculus.build import call
from nestling.calculus.terms import Term, Var
from nestling.program.batches import GROUPS, change_of
from nestling.program.statements import (
    Action,
    Add,
    Check,
    Find,
    MapEvent,
    Program,
    Propagate,
    Range,
    Statement,
    Step,
    Trigger,
    Write,
)
from nestling.transform.lower.unify import decided
from nestling.transform.plan import Keys, plan
from nestling.transform.viewlet.naming import Columns, renamed

#: Changes of one entry each: its key, and its measures.
Changes = Mapping[str, tuple[tuple[Var, ...], tuple[Var, ...]]]


def specialise(program: Program) -> Program:
    """``program``, its triggers for one row of a table each."""
    one = _One(
        {name: decl.columns for decls in (program.tables, program.maps) for name, decl in decls.items()},
        {name: table.key for name, table in program.tables.items()},
    )
    triggers = {
        name: replace(trigger, actions=tuple(one.actions(trigger)))
        for name, trigger in program.triggers.items()
    }
    return replace(program, triggers=triggers)


@dataclass(frozen=True)
class _One:
    """Statements on one entry of each change."""

    columns: Columns
    keys: Keys

    def actions(self, trigger: Trigger) -> Iterator[Action]:
        row = {change_of(trigger.table): (trigger.columns, (trigger.times,))}
        for action in trigger.actions:
            match action:
                case Add():
                    yield from self.adds([action], row)
                case Propagate(name, events):
                    passed = ((event, tuple(self.adds(adds, entries(name, event)))) for event, adds in events)
                    yield Propagate(name, tuple(passed))
                case Write():
                    yield action

    def adds(self, adds: Sequence[Add], changes: Changes) -> Iterator[Add]:
        for add in adds:
            found = self.statement(add.statement, changes)
            if found is not None:
                yield Add(found, add.later)

    def statement(self, statement: Statement, changes: Changes) -> Statement | None:
        """``statement`` where each change is its one entry; ``None`` where it then adds nothing."""
        given = [var for keys, measures in changes.values() for var in (*keys, *measures)]
        columns = {**self.columns, **{name: keys for name, (keys, _) in changes.items()}}
        found = renamed(statement, given, columns, bound(statement, changes))
        steps: list[Step] = []
        for step in found.steps:
            for new in left(step, changes):
                verdict = decided(new.test) if isinstance(new, Check) else None
                if verdict is False:
                    return None
                if verdict is None and not (isinstance(new, Check) and new in steps):
                    steps.append(new)
        # What the entry binds is known from the start, so that tests may come earlier.
        return replace(found, steps=plan(steps, {var.name for var in given}, self.keys))


def entries(name: str, event: MapEvent) -> Changes:
    """The changes of a map of which ``event`` is the one entry."""
    found = {change_of(name, event.aggregate): (event.keys, (*event.old, *event.new))}
    return found if event.aggregate else found | {change_of(name, GROUPS): (event.keys[:-1], ())}


def bound(statement: Statement, changes: Changes) -> dict[str, Term]:
    """The variables of ``statement`` that a change binds, and what they are of its one entry."""
    by: dict[str, Term] = {}
    for step in statement.steps:
        if isinstance(step, Find | Range) and step.source in changes:
            keys, measures = changes[step.source]
            by |= {count.name: measure for count, measure in zip(step.counts, measures, strict=False)}
            free = [i for i in range(len(step.args)) if isinstance(step, Find) and i not in step.known]
            for i, arg in ((i, step.args[i]) for i in free):
                if isinstance(arg, Var):
                    by.setdefault(arg.name, keys[i])
    return by


def left(step: Step, changes: Changes) -> Sequence[Step]:
    """What is left of ``step``: of one that reads a change, the tests that its one entry is what is asked for."""
    if not isinstance(step, Find | Range) or step.source not in changes:
        return (step,)
    keys, _ = changes[step.source]
    tests = [Check(call("==", arg, key)) for arg, key in zip(step.args, keys, strict=False)]
    if isinstance(step, Range):
        tests += [Check(call(bound.operator, keys[-1], bound.term)) for bound in step.bounds]
    return tests
