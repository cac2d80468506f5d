"""What the statements of a program do for one view, and what each step costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import assert_never

from nestling.calculus.terms import Var
from nestling.database.explain.columns import columns_of, last
from nestling.database.explain.report import BatchReport, StepReport, TriggerReport, WorkReport
from nestling.engine.described import Described, Places
from nestling.program import statements as program
from nestling.program.batches import is_change
from nestling.program.phrases import phrases, used_after
from nestling.program.show import event_vars, show_event, show_statement
from nestling.program.statements import (
    Add,
    Assign,
    Check,
    Combine,
    Each,
    Find,
    Measure,
    NewAndOld,
    Propagate,
    Range,
    Total,
    Where,
)

#: A statement is shown inside a list inside a list.
WIDTH = 92


class Workbook:
    """Statements of a running program, described."""

    def __init__(self, engine: Described) -> None:
        self.engine, self.program = engine, engine.program

    def trigger(self, table: str, targets: set[str]) -> TriggerReport:
        """What a row of ``table`` sets off in ``targets``."""
        trigger = self.program.triggers[table]
        given = (*trigger.columns, trigger.times)
        adds = [action for action in trigger.actions if isinstance(action, Add)]
        batches = [BatchReport("for the row", self.all_of(adds, given, targets))]
        for action in trigger.actions:
            if isinstance(action, Propagate):
                for event, then in action.events:
                    works = self.all_of(then, event_vars(event), targets)
                    batches.append(BatchReport(show_event(action.map, event), works))
        columns = [last(column.name) for column in trigger.columns]
        batches = [batch for batch in batches if batch.statements]
        costs = [work.cost for batch in batches for work in batch.statements]
        takes = self.engine.batch(table, targets) if batches else ""
        return TriggerReport(table, columns, _sum_of(costs), batches, takes)

    def all_of(self, adds: Iterable[Add], given: Sequence[Var], targets: set[str]) -> list[WorkReport]:
        wanted = [add for add in adds if add.statement.target in targets]
        return [self.statement(add.statement, given, later=add.later) for add in wanted]

    def statement(
        self, statement: program.Statement, given: Sequence[Var], *, later: bool = False, skipped: int = 0
    ) -> WorkReport:
        """One statement, started from ``given``."""
        text = show_statement(statement, given, later=later, skipped=skipped, width=WIDTH)
        say = phrases(statement, given)
        used = used_after(statement)
        between = self.engine.between(statement)
        steps = [
            self.step(step, say.step(step, later_used), step in between)
            for step, later_used in zip(statement.steps, used, strict=True)
        ]
        factors = [_factor(step) for step in steps if step.access in ("slice", "range", "scan", "bag")]
        target = self.program.maps.get(statement.target)
        ordered = [step.source for step in steps if step.access == "sum"]
        ordered += [target.name] if target is not None and target.ordered else []
        factors += [f"log |{name}|" for name in dict.fromkeys(ordered)][:1]
        finds = round(prod(step.finds for step in steps), 1)
        cost = f"O({' · '.join(factors) or '1'})"
        return WorkReport(text, statement.target, cost, finds, steps, self.engine.runs(statement))

    def step(self, step: program.Step, text: str, between: bool = False) -> StepReport:
        match step:
            case Find(source) if is_change(source):
                return StepReport(text, "change", source)
            case Find(source, args, known, _):
                by = self.attributes(source, known)
                access = "range" if between else self.access(source, known, len(args))
                return StepReport(text, access, source, by, self.engine.finds(source, known))
            case Where(_, args) | Range(_, args) | Measure(_, _, _, args, _, (_, *_)):
                by = self.attributes(step.source, tuple(range(len(args) + 1)))
                return StepReport(text, "sum", step.source, by)
            case Measure(_, _, source, args):
                return StepReport(text, "probe", source, self.attributes(source, tuple(range(len(args)))))
            case Total():
                return StepReport(text, "total")
            case Check():
                return StepReport(text, "test")
            case Each():
                return StepReport(text, "bag")
            case Combine() | Assign() | NewAndOld():
                return StepReport(text, "compute")
            case _:
                assert_never(step)

    def attributes(self, source: str, known: Places) -> list[str]:
        names = columns_of(self.program, source)
        return [last(names[position]) for position in known]

    def access(self, source: str, known: Places, arity: int) -> str:
        table = self.program.tables.get(source)
        by_key = table is not None and table.key and set(table.key) <= set(known)
        if len(known) == arity or by_key:
            return "probe"
        return "slice" if known else "scan"


def _factor(step: StepReport) -> str:
    if step.access == "slice":
        return f"|{step.source} by {', '.join(step.by)}|"
    if step.access == "range":
        return f"|{step.source} by {', '.join(step.by)}, between two bounds|"
    return f"|{step.source or 'inner bag'}|"


def _sum_of(costs: Sequence[str]) -> str:
    """The dearest of ``costs`` alone; several, where none is the least, added up."""
    terms = dict.fromkeys(cost[2:-1] for cost in costs)
    if len(terms) > 1:
        terms.pop("1", None)
    return f"O({' + '.join(terms) or '1'})"
