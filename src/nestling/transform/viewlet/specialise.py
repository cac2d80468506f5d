"""A program for batches, of one row at a time.

Where one row arrives, ``ΔR`` is that row: a step that finds rows of the batch finds the row at hand, and a step that
finds keys of a map that changed finds the key at hand. What remains are tests, where a step asked for a row with some
value, and sums of what changed within bounds are those of one entry.

Where a row changes under its key, ``ΔR`` is two rows: the old one goes and the new one comes. A statement that finds
rows of the batch once becomes two, one that finds them twice becomes four; and where the columns that it uses of one of
these rows are the same in both, its parts cancel.

Law (17): ``specialise(p)(row) = p({row})``, and of updates ``specialise(p)(old, new) = p({-old, +new})``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import product

from nestling.calculus.build import call, const
from nestling.calculus.terms import Call, Const, Term, Var
from nestling.calculus.types import INT
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
    RowUpdate,
    Statement,
    Step,
    Trigger,
    Write,
)
from nestling.program.steps import binds, uses
from nestling.program.traverse import term_vars
from nestling.transform.lower.unify import decided
from nestling.transform.plan import Keys, plan
from nestling.transform.viewlet.naming import Columns, renamed

#: Changes of one entry each: its key, and its measures.
Changes = Mapping[str, tuple[tuple[Var, ...], Sequence[Term]]]

#: What an update takes away, in the place of an aggregate.
OLD = "old"


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
    updates = {
        name: replace(update, actions=tuple(_collected(one.changed(update))))
        for name, update in program.updates.items()
    }
    return replace(program, triggers=triggers, updates=updates)


def _collected(actions: Iterator[Action]) -> Iterator[Action]:
    """``actions`` without those that pass on a change of which nothing is left to collect."""
    collected: set[str] = set()
    for action in actions:
        adds = [action] if isinstance(action, Add) else []
        if isinstance(action, Propagate):
            if action.map not in collected:
                continue
            adds = [add for _, found in action.events for add in found]
        collected.update(add.statement.target for add in adds if add.later)
        yield action


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
                case Propagate():
                    yield self.passed(action)
                case Write():
                    yield action

    def changed(self, update: RowUpdate) -> Iterator[Action]:
        """The actions of an update."""
        for action in update.actions:
            match action:
                case Add(statement, later):
                    yield from (Add(found, later) for found in self.both(statement, update))
                case Propagate():
                    yield self.passed(action)
                case Write():
                    yield action

    def both(self, statement: Statement, update: RowUpdate) -> Iterator[Statement]:
        """What ``statement`` adds for the old row and for the new one, where what it uses of each differs."""
        new = change_of(update.table)
        old = change_of(update.table, OLD)
        places = [i for i, s in enumerate(statement.steps) if isinstance(s, Find) and s.source == new]
        stay = [i for i, column in enumerate(update.columns) if update.old[i] == column]
        used = [_used(statement, place, stay) for place in places]
        if not all(used):
            return
        checks = [
            Check(reduce(partial(call, "or"), [call("!=", update.old[i], update.columns[i]) for i in at]))
            for at in used
        ]
        rows: Changes = {new: (update.columns, (const(1),)), old: (update.old, (const(-1),))}
        for names in product((old, new), repeat=len(places)):
            by_place = dict(zip(places, names, strict=True))
            steps = tuple(
                replace(s, source=by_place[i]) if isinstance(s, Find) and i in by_place else s
                for i, s in enumerate(statement.steps)
            )
            found = self.statement(replace(statement, steps=steps), rows)
            if found is not None:
                amounts = tuple(map(_multiplied, found.amounts))
                yield replace(found, steps=(*dict.fromkeys(checks), *found.steps), amounts=amounts)

    def passed(self, action: Propagate) -> Propagate:
        return Propagate(
            action.map,
            tuple(
                (event, tuple(self.adds(adds, entries(action.map, event)))) for event, adds in action.events
            ),
        )

    def adds(self, adds: Sequence[Add], changes: Changes) -> Iterator[Add]:
        for add in adds:
            found = self.statement(add.statement, changes)
            if found is not None:
                yield Add(found, add.later)

    def statement(self, statement: Statement, changes: Changes) -> Statement | None:
        """``statement`` where each change is its one entry; ``None`` where it then adds nothing."""
        entry = [term for keys, measures in changes.values() for term in (*keys, *measures)]
        given = [term for term in entry if isinstance(term, Var)]
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


def _used(statement: Statement, place: int, stay: Collection[int]) -> list[int]:
    """The columns of the changed row found at ``place`` that ``statement`` uses, but for those that ``stay``."""
    find = statement.steps[place]
    assert isinstance(find, Find)
    others = [term for i, s in enumerate(statement.steps) if i != place for term in _terms(s)]
    elsewhere = term_vars(*others, *statement.keys, *statement.amounts)
    names = [term.name if isinstance(term, Var) else "" for term in find.args]
    return [
        i
        for i, name in enumerate(names)
        if i not in stay and (not name or i in find.known or name in elsewhere or names.count(name) > 1)
    ]


def _terms(step: Step) -> tuple[Term, ...]:
    return (*uses(step), *binds(step), *(step.args if isinstance(step, Find) else ()))


def _multiplied(amount: Term) -> Term:
    """``amount`` without factors of one; those of minus one are multiplied in front."""
    sign, rest = _signed(amount)
    if rest is None:
        return const(sign)
    if sign == 1:
        return rest
    return const(-rest.value) if isinstance(rest, Const) and rest.type == INT else call("*", const(-1), rest)


def _signed(term: Term) -> tuple[int, Term | None]:
    """The sign of a product, and what is left of it."""
    match term:
        case Const(1 | -1 as sign, type_) if type_ == INT:
            return sign, None
        case Call("*", (left, right)):
            (one, first), (other, second) = _signed(left), _signed(right)
            if first is None or second is None:
                return one * other, second if first is None else first
            return one * other, call("*", first, second)
    return 1, term
