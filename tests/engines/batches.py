"""Programs for batches, run step by step in Python: what their statements mean, without an engine."""

from typing import Any

from nestling.engine.protocol import Batch, Row, consolidated, inner_first
from nestling.program.batches import GROUPS, change_of
from nestling.program.meaning import Cells, meaning
from nestling.program.solve import added, measured
from nestling.program.statements import Add, MapEvent, Program, Propagate, Statement, Write

Change = dict[str, Cells]


class Interpreted:
    """A batch program over dictionaries: maps change by what its statements add, and by nothing else."""

    def __init__(self, program: Program) -> None:
        self.program = program
        nothing: dict[str, dict[Row, int]] = {name: {} for name in program.tables}
        self.state: Change = {name: {} for name in program.tables}
        for name, decl in program.maps.items():
            self.state[name] = {} if decl.role == "watch" else meaning(decl.query, nothing)

    def apply_batch(self, changes: Batch) -> None:
        for table in inner_first(self.program):
            rows = consolidated(changes.get(table, ()))
            if rows:
                self.change(table, {row: (times,) for row, times in rows.items()})

    def change(self, table: str, rows: Cells) -> None:
        changed: Change = {change_of(table): rows}
        now: Change = {}
        later: Change = {}
        actions = self.program.triggers[table].actions
        for action in actions:
            if isinstance(action, Add):
                self.collect(action.statement, changed, later if action.later else now)
        for action in actions:
            if isinstance(action, Write):
                add_all(self.state[action.table], rows)
        self.commit(now)
        for action in actions:
            if isinstance(action, Propagate):
                self.propagate(action, later)

    def propagate(self, action: Propagate, later: Change) -> None:
        delta = later.pop(action.map, {})
        changed = {
            change_of(action.map, event.aggregate): self.event(action.map, event, delta)
            for event, _ in action.events
        }
        changed[change_of(action.map, GROUPS)] = {key[:-1]: (1,) for key in delta}
        now: Change = {}
        for _, adds in action.events:
            for add in adds:
                self.collect(add.statement, changed, later if add.later else now)
        self.commit(now)
        add_all(self.state[action.map], delta)

    def event(self, name: str, event: MapEvent, delta: Cells) -> Cells:
        """The keys, or groups of an ordered map, with what they were and are."""
        old, decl = self.state[name], self.program.maps[name]
        new = dict(old)
        add_all(new, delta)
        if not event.aggregate:
            zero = (0,) * decl.width
            return {key: (*old.get(key, zero), *new.get(key, zero)) for key in delta}
        groups = {key[:-1]: None for key in delta}
        return {g: (measured(event.aggregate, old, g), measured(event.aggregate, new, g)) for g in groups}

    def collect(self, statement: Statement, changed: Change, into: Change) -> None:
        target = into.setdefault(statement.target, {})
        for key, amounts in added(
            statement, lambda name: changed[name] if name in changed else self.source(name)
        ):
            old = target.get(key, (0,) * len(amounts))
            target[key] = tuple(a + b for a, b in zip(old, amounts, strict=True))

    def source(self, name: str) -> Cells:
        return self.state.get(name, {})

    def commit(self, changes: Change) -> None:
        for name, cells in changes.items():
            add_all(self.state[name], cells)

    def table(self, name: str) -> dict[Row, int]:
        return {row: times for row, (times,) in self.state[name].items()}

    def cells(self, name: str) -> Cells:
        return self.state[name]


def add_all(cells: Cells, change: Cells) -> None:
    """Add ``change`` to ``cells``; what comes to nothing is gone."""
    for key, amounts in change.items():
        old: tuple[Any, ...] = cells.get(key, (0,) * len(amounts))
        total = tuple(a + b for a, b in zip(old, amounts, strict=True))
        if any(total):
            cells[key] = total
        else:
            cells.pop(key, None)
