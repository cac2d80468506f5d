"""Trigger programs as byte code.

Per table a program for one row, and one that passes on the changes that rows collected; of a table with a key the same
for a row that takes the place of another; per plan a program that emits rows; and one that passes on what waits.

Law (17): they do to the tables and maps what the statements say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nestling._native import BadCode, Machine, Unfit
from nestling.engine.native.bytecode import Assembler, Code, PythonFunctions, Register, Specification
from nestling.engine.native.layout import Layouts, layouts, own_steps
from nestling.engine.native.steps import StepWriter, sources, used_in
from nestling.engine.native.terms import Env
from nestling.engine.native.values import Unsupported, kind_of
from nestling.engine.ranges import ranged
from nestling.program.flat import Shape
from nestling.program.statements import (
    Action,
    Add,
    Plan,
    Program,
    Propagate,
    RowUpdate,
    Trigger,
    Write,
)
from nestling.program.steps import waiting


@dataclass(frozen=True)
class Lowered:
    """What the core is made of, and the numbers of its parts."""

    layouts: Layouts
    functions: list[Specification]
    programs: list[Code]
    triggers: list[tuple[int, int, int, bool]]
    inserts: dict[str, int]
    updates: dict[str, int]
    rows: dict[str, int]
    lookups: dict[str, int]
    bags: dict[tuple[str, Shape], int]
    totals: dict[str, int]
    settle: int


def lowered(program: Program) -> Lowered:
    """``program`` as byte code; raises ``Unsupported`` where it has something that there is no code for."""
    return _Lowering(ranged(program)).all()


def machine(code: Lowered) -> Machine:
    """What runs ``code``; raises ``Unsupported`` where it is not to be had."""
    try:
        return Machine(code.layouts.specifications, code.functions, code.programs, code.triggers)
    except (BadCode, Unfit) as error:
        raise Unsupported(str(error)) from error


class _Lowering:
    """One program being lowered."""

    def __init__(self, program: Program) -> None:
        self.program, self.layouts = program, layouts(program)
        self.functions, self.programs = PythonFunctions(), list[Code]()
        self.triggers: list[tuple[int, int, int, bool]] = []

    def all(self) -> Lowered:
        program = self.program
        inserts = {name: self.trigger(trigger) for name, trigger in program.triggers.items()}
        updates = {name: self.trigger(update) for name, update in program.updates.items()}
        views = program.views.items()
        return Lowered(
            self.layouts,
            self.functions.specifications,
            self.programs,
            self.triggers,
            inserts,
            updates,
            {name: self.plan(view.rows) for name, view in views},
            {name: self.plan(view.lookup) for name, view in views if view.lookup is not None},
            {
                (name, shape): self.plan(plan)
                for name, view in views
                for shape, plan in view.definitions.items()
            },
            {name: self.plan(plan) for name, plan in program.totals.items()},
            self.add(self.passing(waiting(program))) if program.deferred else -1,
        )

    def add(self, out: Assembler) -> int:
        self.programs.append(out.finished())
        return len(self.programs) - 1

    def writer(self, out: Assembler) -> StepWriter:
        return StepWriter(out, self.functions, self.program, self.layouts)

    # -- triggers

    def trigger(self, trigger: Trigger | RowUpdate) -> int:
        layout = self.layouts.stored[trigger.table]
        kinds = [layout.kinds[i] for i in layout.order]
        if isinstance(trigger, Trigger):
            out = Assembler([*kinds, "i"])
            env = {trigger.columns[i].name: out.inputs[n] for n, i in enumerate(layout.order)}
            env[trigger.times.name] = out.inputs[-1]
        else:
            out = Assembler([*kinds, *kinds])
            env = {trigger.old[i].name: out.inputs[n] for n, i in enumerate(layout.order)}
            # Columns that an update leaves as they are have one name, and one value.
            env |= {trigger.columns[i].name: out.inputs[n + len(kinds)] for n, i in enumerate(layout.order)}
        self.actions(out, trigger, env)
        row = self.add(out)
        passed = [
            a for a in trigger.actions if isinstance(a, Propagate) and a.map not in self.program.deferred
        ]
        pass_on = self.add(self.passing(passed)) if passed else -1
        self.triggers.append((layout.number, row, pass_on, isinstance(trigger, RowUpdate)))
        return len(self.triggers) - 1

    def actions(self, out: Assembler, trigger: Trigger | RowUpdate, env: Env) -> None:
        writer, number = self.writer(out), self.layouts.stored[trigger.table].number
        for group in together(trigger.actions):
            if isinstance(group[0], Write):
                width = len(trigger.columns)
                if isinstance(trigger, RowUpdate):
                    out.emit("PUT", number, out.constant("i", -1), *out.inputs[:width])
                    out.emit("PUT", number, out.constant("i", 1), *out.inputs[width:])
                else:
                    out.emit("PUT", number, out.inputs[-1], *out.inputs[:-1])
            elif isinstance(group[0], Add):
                self.adds(writer, [add for add in group if isinstance(add, Add)], 0, env)

    def adds(self, writer: StepWriter, adds: Sequence[Add], taken: int, env: Env) -> None:
        """Statements whose first ``taken`` steps are written; those that begin alike share a loop."""
        while adds:
            steps = own_steps(adds[0].statement)
            if len(steps) == taken:
                writer.add(adds[0], env)
                adds = adds[1:]
                continue
            same = [add for add in adds if own_steps(add.statement)[: taken + 1] == steps[: taken + 1]]
            used = used_in([add.statement for add in same])
            with writer.repeated(steps[taken], env, used) as solutions:
                for solution in solutions:
                    self.adds(writer, same, taken + 1, solution)
            adds = [add for add in adds if add not in same]

    # -- changes of maps

    def passing(self, actions: Sequence[Propagate]) -> Assembler:
        """A program that passes on what was collected, map by map."""
        out = Assembler([])
        for action in actions:
            self.propagate(out, action)
        return out

    def propagate(self, out: Assembler, action: Propagate) -> None:
        change, layout = self.layouts.collected[action.map], self.layouts.stored[action.map]
        writer, width = self.writer(out), range(len(layout.wide))
        if any(event.aggregate for event, _ in action.events):
            self.propagate_groups(out, action, writer)
            return
        with out.scan(change.number) as entry:
            keys = [
                out.computed("WORD", kind, change.number, entry, i) for i, kind in enumerate(layout.kinds)
            ]
            kinds = layout.numbers
            changes = [out.computed("MEASURE", kinds[i], change.number, entry, i) for i in width]
            old = [out.computed("GET", kinds[i], layout.number, i, *keys) for i in width]
            new = [out.computed("ADD", kinds[i], old[i], changes[i]) for i in width]
            for event, adds in action.events:
                env: dict[str, Register] = {}
                for names, registers in ((event.keys, keys), (event.old, old), (event.new, new)):
                    env |= {var.name: each for var, each in zip(names, registers, strict=True)}
                self.set_off(writer, adds, env)
            out.emit("ADD_TO", layout.number, *keys, *changes)
        out.emit("CLEAR", change.number)

    def propagate_groups(self, out: Assembler, action: Propagate, writer: StepWriter) -> None:
        """A map in order of its values: the aggregates of the groups that change, each when its first change comes."""
        change, layout = self.layouts.collected[action.map], self.layouts.stored[action.map]
        *of_group, last = range(len(layout.kinds))
        with out.scan(change.number) as entry:
            group = [out.computed("WORD", layout.kinds[i], change.number, entry, i) for i in of_group]
            with out.only_if(out.computed("IS_FIRST", "b", change.number, entry, 0)):
                old = [writer.ordered.value(event.aggregate, action.map, group) for event, _ in action.events]
                with out.slice(change.number, 0, group) as other:
                    value = out.computed("WORD", layout.kinds[last], change.number, other, last)
                    times = out.computed("MEASURE", "i", change.number, other, 0)
                    out.emit("ADD_TO", layout.number, *group, value, times)
                for (event, adds), before in zip(action.events, old, strict=True):
                    env = {var.name: each for var, each in zip(event.keys, group, strict=True)}
                    now = writer.ordered.value(event.aggregate, action.map, group)
                    self.set_off(writer, adds, {**env, event.old[0].name: before, event.new[0].name: now})
        out.emit("CLEAR", change.number)

    def set_off(self, writer: StepWriter, adds: Sequence[Add], env: Env) -> None:
        """What the change of a map sets off."""
        for each in together(adds):
            self.adds(writer, [add for add in each if isinstance(add, Add)], 0, env)

    # -- readings

    def plan(self, plan: Plan) -> int:
        out = Assembler([kind_of(param.type) for param in plan.params])
        env = {param.name: out.inputs[i] for i, param in enumerate(plan.params)}
        writer = self.writer(out)
        for statement in plan.statements:
            with writer.nest(statement, env) as solutions:
                for solution in solutions:
                    keys = [writer.terms.value(key, solution) for key in statement.keys[plan.skipped :]]
                    kinds = "".join(key.kind for key in keys)
                    if out.outputs not in (None, kinds):
                        raise Unsupported("a reading whose statements emit different columns")
                    out.outputs = kinds
                    out.emit("EMIT", writer.terms.value(statement.amounts[0], solution), *keys)
        return self.add(out)


def together(actions: Sequence[Action]) -> list[list[Action]]:
    """Actions in order, in groups whose statements may share steps: none adds to what another reads."""
    groups: list[list[Action]] = []
    for action in actions:
        if isinstance(action, Add) and groups and _fits(groups[-1], action):
            groups[-1].append(action)
        else:
            groups.append([action])
    return groups


def _fits(group: Sequence[Action], add: Add) -> bool:
    adds = [each for each in (*group, add) if isinstance(each, Add)]
    written = {each.statement.target for each in adds if not each.later}
    return len(adds) > 1 and written.isdisjoint(s for each in adds for s in sources(each.statement))
