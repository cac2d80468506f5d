"""The order of a trigger's actions: readers first.

Statements on a row see everything as it was before the row, so none of them reads what an earlier one added
to, and the row itself is written last. Then what was collected for nested maps is passed on, each map once,
inner maps before those that read them, so there is no cycle.
"""

from __future__ import annotations

from typing import NoReturn, assert_never

from nestling.errors import NestlingError
from nestling.program.show import show_statement
from nestling.program.statements import Add, Propagate, RowUpdate, Trigger, Write
from nestling.program.steps import reads


def check_order(trigger: Trigger | RowUpdate) -> None:
    """Raise unless ``trigger`` adds to nothing that is still to be read."""
    _Order(trigger).check()


def refuse(what: str) -> NoReturn:
    """Say what is wrong with a program."""
    raise NestlingError(
        f"not a trigger program: {what}",
        hint="this is a bug in Nestling: please report it with the view's text",
    )


class _Order:
    """Readers first, and every change passed on once."""

    def __init__(self, trigger: Trigger | RowUpdate) -> None:
        self.trigger = trigger
        self.passed_on = {a.map for a in trigger.actions if isinstance(a, Propagate)}
        self.added: set[str] = set()
        self.collected: set[str] = set()
        self.done: set[str] = set()

    def check(self) -> None:
        for action in self.trigger.actions:
            match action:
                case Add():
                    self.row(action)
                case Write(table):
                    self.write(table)
                case Propagate():
                    self.propagate(action)
                case _:
                    assert_never(action)
        if self.trigger.table not in self.added:
            refuse(f"on {self.trigger.table} does not write its row")
        if lost := self.collected - self.done:
            refuse(f"what is collected for {', '.join(sorted(lost))} is not passed on")

    def row(self, add: Add) -> None:
        if self.done:
            refuse(f"after changes are passed on, {show_statement(add.statement)} would see them")
        self.add(add)
        seen = self.added.intersection(reads(add.statement))
        if seen:
            late = ", ".join(sorted(seen))
            refuse(f"{late} was added to before {show_statement(add.statement)} reads it")

    def add(self, add: Add) -> None:
        """Note what is added to, now or later."""
        target = add.statement.target
        if add.later:
            if target in self.done:
                refuse(f"a cycle: {target} changes after its change was passed on")
            self.collected.add(target)
        elif target in self.passed_on:
            refuse(f"{target} is added to at once, and its change is passed on")
        else:
            self.added.add(target)

    def write(self, table: str) -> None:
        if table in self.added:
            refuse(f"on {self.trigger.table} writes its row twice")
        self.added.add(table)

    def propagate(self, action: Propagate) -> None:
        if action.map in self.done or action.map not in self.collected:
            refuse(f"the change of {action.map} is passed on twice, or before it is collected")
        self.done.add(action.map)
        adds = [add for _, adds in action.events for add in adds]
        now = {add.statement.target for add in adds if not add.later}
        for add in adds:
            self.add(add)
            if seen := now.intersection(reads(add.statement)):
                # The statements of all changed keys run in one loop, so here no order would help.
                refuse(f"a cycle: {', '.join(sorted(seen))} changes while it is read for {action.map}")
