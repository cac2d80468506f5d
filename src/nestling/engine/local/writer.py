"""The functions of a trigger program being written: what they do, statement by statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from nestling.calculus.terms import Var
from nestling.engine.local.cells import cell_of, changes_of, noted, stored_cell, unpacked
from nestling.engine.local.loops import Loops, describe, key_of, read_group, used_after
from nestling.engine.local.merge import single_changes, sources, summed, together
from nestling.engine.local.products import shared_product
from nestling.engine.local.storage import Store, statements
from nestling.engine.local.waits import note_update, run_first
from nestling.engine.local.writes import (
    add_to,
    add_to_ordered,
    collect,
    entry_of,
    measures,
    rewrite_row,
    write_entry,
    write_row,
)
from nestling.engine.python.reading import operand
from nestling.engine.python.source import SourceWriter
from nestling.engine.python.terms import Scope, python, python_key, tuple_of
from nestling.program.statements import (
    Add,
    Find,
    MapEvent,
    Plan,
    Program,
    Propagate,
    RowUpdate,
    Statement,
    Trigger,
    Write,
)
from nestling.program.steps import waiting
from nestling.program.traverse import term_vars
from nestling.program.waiting import first
from nestling.quoting import identifier

#: Names that generated functions use for themselves.
RESERVED = (
    "row", "old", "times", "total", "key", "cell", "part", "ordered", "change", "changes", "group",
    "groups", "value", "keys", "at", "low", "high", "is_true", "was_true", "bound_new", "bound_old",
    "ABOVE", "BELOW", "EMPTY", "NOTHING", "Label",
)  # fmt: skip


def _taken(program: Program, stores: Mapping[str, Store]) -> Iterator[str]:
    """The words that no variable of a generated function may be called by."""
    yield from RESERVED
    width = max((len(statement.keys) for statement in statements(program)), default=0)
    yield from (f"{word}{i}" for word in ("key", "was") for i in range(width))
    for store in stores.values():
        yield from store.words
        yield from measures(store)
    yield from (f"on_{identifier(name)}" for name in program.tables)


class FunctionWriter:
    """Functions over ``stores``, written one after the other."""

    def __init__(
        self, program: Program, stores: dict[str, Store], keep_tables: bool, constants: dict[str, str]
    ) -> None:
        read = {source for statement in statements(program) for source in sources(statement)}
        self.kept = set(program.tables) if keep_tables else read
        self.program, self.stores, self.constants, self.out = program, stores, constants, SourceWriter()
        self.single: frozenset[str] = frozenset()
        self.rows: list[tuple[str, tuple[Var, ...]]] = []  #: those that a function was called with
        self.taken = frozenset(_taken(program, self.stores))

    def begin(self) -> None:
        """The next function; what the one before was called with says nothing of it."""
        self.out, self.single, self.rows = SourceWriter(), frozenset(), []

    def scope(self) -> Scope:
        return Scope(self.taken, self.constants)

    def trigger(self, function: str, trigger: Trigger) -> None:
        scope = self.scope()
        self.single = single_changes(trigger, self.stores) - self.program.deferred
        for action in self.passed_on(trigger):
            if action.map in self.single:
                for key, name in zip(action.events[0][0].keys, noted(self.stores[action.map]), strict=True):
                    scope.keep(key, name)
        self.out.line()
        self.out.line()
        with self.out.block(f"def {function}(row, times):"):
            self.run_first(trigger)
            self.on_row(trigger, scope)
            for action in self.passed_on(trigger):
                self.propagate(action, scope)

    def batch(self, function: str, trigger: Trigger) -> None:
        """Row by row; changes of nested maps are propagated once, at the end."""
        scope = self.scope()
        self.out.line()
        self.out.line()
        with self.out.block(f"def {function}_batch(changes):"):
            actions = self.passed_on(trigger)
            if not actions:
                with self.out.block("for row, times in changes:"):
                    self.out.line(f"{function}(row, times)")
                return
            self.single = frozenset()
            self.run_first(trigger)
            for action in actions:
                self.out.line(f"change_{self.stores[action.map].python} = {{}}")
            with self.out.block("for row, times in changes:"):
                self.on_row(trigger, scope, start=False)
            for action in actions:
                self.propagate(action, scope)

    def update(self, function: str, update: RowUpdate) -> None:
        """One row; the statements that use none of the columns that differ pass it over."""
        scope, self.single = self.scope(), frozenset()
        self.out.line()
        self.out.line()
        with self.out.block(f"def {function}_update(old, row):"):
            self.run_first(update)
            if update.table in self.program.patient:
                self.later(update, scope)
                return
            actions = self.passed_on(update)
            for action in actions:
                self.out.line(f"change_{self.stores[action.map].python} = {{}}")
            self.on_change(update, scope)
            for action in actions:
                self.propagate(action, scope)

    def updates(self, function: str, update: RowUpdate) -> None:
        """Row by row, as a batch is."""
        scope, self.single = self.scope(), frozenset()
        self.out.line()
        self.out.line()
        with self.out.block(f"def {function}_updates(changes):"):
            actions = [] if update.table in self.program.patient else self.passed_on(update)
            if actions:
                self.run_first(update)
            for action in actions:
                self.out.line(f"change_{self.stores[action.map].python} = {{}}")
            with self.out.block("for old, row in changes:"):
                if actions:
                    self.on_change(update, scope)
                else:
                    self.out.line(f"{function}_update(old, row)")
            for action in actions:
                self.propagate(action, scope)

    def run_first(self, trigger: Trigger | RowUpdate) -> None:
        run_first(self.out, [self.stores[name] for name in first(self.program, trigger)])

    def later(self, update: RowUpdate, scope: Scope) -> None:
        """An update that waits: the row is put in its place, and what it adds is added when something needs it."""
        columns, old = self.both(replace(update, actions=()), scope)
        note_update(self.out, self.stores[update.table], columns, old, update.table in self.kept)

    def settle_updates(self, update: RowUpdate) -> None:
        """Run the updates of a table that wait."""
        scope, self.single, store = self.scope(), frozenset(), self.stores[update.table]
        adds = tuple(action for action in update.actions if isinstance(action, Add))
        self.out.line()
        self.out.line()
        with self.out.block(f"def settle_{store.python}():"):
            self.out.docstring(f"Run the updates of {update.table} that wait")
            with self.out.block(f"for old, row in {store.waits}.values():"):
                self.on_change(replace(update, actions=adds), scope)
            self.out.line(f"{store.waits}.clear()")

    def both(self, update: RowUpdate, scope: Scope) -> tuple[list[str], list[str]]:
        """The columns of the new row and of the old one, those that are used taken from them."""
        names = [scope.name(column) for column in update.columns]
        columns = self.unpack(update, names)
        old = [scope.name(column) for column in update.old]
        stays = [name in names for name in old]
        used = self.used(update, update.old)
        moved = self.take(old, [u and not s for u, s in zip(used, stays, strict=True)], "old")
        return columns, [c if s else m for c, m, s in zip(columns, moved, stays, strict=True)]

    def on_change(self, update: RowUpdate, scope: Scope) -> None:
        """The part of an update before it propagates changes."""
        self.rows = [(update.table, update.columns), (update.table, update.old)]
        columns, old = self.both(update, scope)
        for group in together(update.actions):
            match group[0]:
                case Add():
                    self.adds(summed([add for add in group if isinstance(add, Add)]), 0, scope)
                case Write(table) if table in self.kept:
                    rewrite_row(self.out, self.stores[table], columns, old)

    def on_row(self, trigger: Trigger, scope: Scope, start: bool = True) -> None:
        """The part of a trigger before it propagates changes."""
        self.rows = [(trigger.table, trigger.columns)]
        columns = self.unpack(trigger, [scope.name(column) for column in trigger.columns])
        scope.keep(trigger.times, "times")
        for action in self.passed_on(trigger) if start else ():
            nothing = "False" if action.map in self.single else "{}"
            self.out.line(f"change_{self.stores[action.map].python} = {nothing}")
        shared = shared_product(trigger)
        if shared is not None:
            self.out.line(f"{scope.name(shared.var)} = {python(shared.product, scope)}")
        for group in together(shared.actions if shared else trigger.actions):
            match group[0]:
                case Add():
                    self.adds(summed([add for add in group if isinstance(add, Add)]), 0, scope)
                case Write(table) if table in self.kept:
                    write_row(self.out, self.stores[table], columns)

    def unpack(self, trigger: Trigger | RowUpdate, columns: Sequence[str]) -> list[str]:
        """The columns that the trigger uses, by their names; the others by where they are."""
        return self.take(columns, self.used(trigger, trigger.columns), "row")

    def used(self, trigger: Trigger | RowUpdate, columns: Sequence[Var]) -> list[bool]:
        """Which columns the statements use, and the indexes of a table that is kept."""
        adds = [action for action in trigger.actions if isinstance(action, Add)]
        store = self.stores[trigger.table]
        stored = {i for positions in (store.key, *store.patterns) for i in positions}
        names, is_kept = used_after(adds, 0), trigger.table in self.kept
        return [column.name in names or (i in stored and is_kept) for i, column in enumerate(columns)]

    def take(self, columns: Sequence[str], used: Sequence[bool], row: str) -> list[str]:
        if sum(used) == 1:
            self.out.line(f"{columns[used.index(True)]} = {row}[{used.index(True)}]")
        elif any(used):
            self.out.line(f"{', '.join(c if u else '_' for c, u in zip(columns, used, strict=True))} = {row}")
        return [c if u else f"{row}[{i}]" for i, (c, u) in enumerate(zip(columns, used, strict=True))]

    def passed_on(self, trigger: Trigger | RowUpdate) -> list[Propagate]:
        """The changes that ``trigger`` passes on itself."""
        waits = self.program.deferred
        return [a for a in trigger.actions if isinstance(a, Propagate) and a.map not in waits]

    def settle(self) -> None:
        """Propagate deferred changes, inner maps before those that read them."""
        self.single = frozenset()
        self.out.line()
        self.out.line()
        with self.out.block("def settle():"):
            self.out.docstring("Pass on the changes that wait until a view is read")
            run_first(self.out, [self.stores[name] for name in sorted(self.program.patient)])
            for action in waiting(self.program):
                change = f"change_{self.stores[action.map].python}"
                with self.out.block(f"if {change}:"):
                    self.propagate(action, self.scope())
                    self.out.line(f"{change}.clear()")

    def adds(self, adds: Sequence[Add], taken: int, scope: Scope) -> None:
        """Statements whose first ``taken`` steps are written already; common steps are taken once."""
        while adds:
            first = adds[0].statement.steps
            if len(first) == taken:
                after = next((add for add in adds[1:] if self.takes_place(adds[0], add)), None)
                if after is None:
                    self.add(adds[0], scope)
                else:
                    self.replace(adds[0].statement, after.statement, scope)
                adds = [add for add in adds[1:] if add is not after]
                continue
            same = [a for a in adds if a.statement.steps[: taken + 1] == first[: taken + 1]]
            depth, used = self.out.depth, used_after(same, taken + 1)
            found = [(step.source, step.args) for step in first[:taken] if isinstance(step, Find)]
            Loops(self.out, scope, self.stores, (*self.rows, *found)).step(first[taken], used)
            self.adds(same, taken + 1, scope)
            self.out.close_to(depth)
            adds = [a for a in adds if a not in same]

    def add(self, add: Add, scope: Scope) -> None:
        statement = add.statement
        store = self.stores[statement.target]
        self.out.comment(describe(statement))
        key = [self.named(f"key{i}", python_key(t, scope)) for i, t in enumerate(statement.keys)]
        amounts = [operand(python(term, scope)) for term in statement.amounts]
        if add.later and statement.target in self.single:
            self.note(store, key, amounts)
        elif add.later:
            collect(self.out, store, key, amounts)
        elif store.is_ordered:
            add_to_ordered(self.out, store, key_of(key[:-1]), key[-1], amounts)
        elif store.key:
            write_entry(self.out, store, key, amounts[0])
        else:
            add_to(self.out, store, key, amounts)

    def takes_place(self, gone: Add, come: Add) -> bool:
        """Whether one row of a map with unique rows comes wherever another goes, under its key."""
        old, new = gone.statement, come.statement
        key = self.stores[old.target].key
        return (
            bool(key)
            and (old.target, old.steps) == (new.target, new.steps)
            and all(old.keys[i] == new.keys[i] for i in key)
        )

    def replace(self, gone: Statement, come: Statement, scope: Scope) -> None:
        """A row of a map with unique rows takes the place of another."""
        store = self.stores[come.target]
        self.out.comment(f"{describe(come)}, in the place of {describe(gone)}")
        looked_at = {*store.key, *(i for known in store.patterns for i in known)}
        parts = [
            self.named(f"key{i}", python_key(t, scope)) if i in looked_at else python_key(t, scope)
            for i, t in enumerate(come.keys)
        ]
        old = [
            part if new == t else self.named(f"was{i}", python_key(t, scope)) if i in looked_at else ""
            for i, (part, new, t) in enumerate(zip(parts, come.keys, gone.keys, strict=True))
        ]
        rewrite_row(self.out, store, parts, old, entry_of(store, parts))

    def named(self, name: str, text: str) -> str:
        """``text``, computed once and called ``name`` if it is more than a name or a literal."""
        if text.isidentifier() or text.isdigit():
            return text
        self.out.line(f"{name} = {text}")
        return name

    def note(self, store: Store, key: Sequence[str], amounts: Sequence[str]) -> None:
        """The one change of a map that a row can bring: kept in variables."""
        for name, part in zip((*noted(store), *changes_of(store)), (*key, *amounts), strict=True):
            self.out.line(f"{name} = {part}")
        self.out.line(f"change_{store.python} = True")

    def propagate(self, action: Propagate, scope: Scope) -> None:
        store = self.stores[action.map]
        self.out.comment(f"pass the change of {action.map} on")
        if not store.is_ordered:
            self.propagate_cells(action, store, scope)
        elif action.events[0][0].aggregate:
            self.propagate_groups(action, store, scope)
        else:
            self.propagate_entries(action, store, scope)

    def propagate_cells(self, action: Propagate, store: Store, scope: Scope) -> None:
        event = action.events[0][0]
        keys = [scope.name(var) for var in event.keys]
        old, new = [scope.name(v) for v in event.old], [scope.name(v) for v in event.new]
        changes = changes_of(store)
        depth = self.out.depth
        if action.map in self.single:
            self.out.open(f"if change_{store.python}:")
        else:
            target = f"{key_of(keys) if keys else '_'}, {cell_of(changes)}"
            self.out.open(f"for {target} in change_{store.python}.items():")
        names = old[0] if store.width == 1 and not store.is_cell else unpacked(old)
        self.out.line(f"{names} = {stored_cell(store, keys)}")
        for o, n, c in zip(old, new, changes, strict=True):
            self.out.line(f"{n} = {o} + {c}")
        self.set_off([add for _, adds in action.events for add in adds], scope)
        add_to(self.out, store, keys, changes, new)
        self.out.close_to(depth)

    def propagate_entries(self, action: Propagate, store: Store, scope: Scope) -> None:
        """A map with sums: the entries that change, one by one."""
        event = action.events[0][0]
        *group, value = [scope.name(var) for var in event.keys]
        old, new = [scope.name(v) for v in event.old], [scope.name(v) for v in event.new]
        changes = changes_of(store)
        group_key = key_of(group)
        with self.out.block(
            f"for ({group_key}, {value}), {cell_of(changes)} in change_{store.python}.items():"
        ):
            self.out.line(f"ordered = {store.python}.get({group_key})")
            self.out.line(f"{unpacked(old)} = (ordered and ordered.get({value})) or NOTHING[:{store.width}]")
            for o, n, c in zip(old, new, changes, strict=True):
                self.out.line(f"{n} = {o} + {c}")
            self.set_off([add for _, adds in action.events for add in adds], scope)
            add_to_ordered(self.out, store, group_key, value, changes)

    def propagate_groups(self, action: Propagate, store: Store, scope: Scope) -> None:
        """A map in order of its values: the aggregates of the groups that change."""
        self.out.line("groups = {}")
        with self.out.block(f"for (group, value), change in change_{store.python}.items():"):
            self.out.line("groups.setdefault(group, []).append((value, change))")
        with self.out.block("for group, changes in groups.items():"):
            for event, _ in action.events:
                self.out.line(f"{scope.name(event.old[0])} = {read_group(store, event.aggregate, 'group')}")
            with self.out.block("for value, change in changes:"):
                add_to_ordered(self.out, store, "group", "value", ["change"])
            for event, adds in action.events:
                self.ordered_event(store, event, adds, scope)

    def ordered_event(self, store: Store, event: MapEvent, adds: Sequence[Add], scope: Scope) -> None:
        keys = [scope.name(var) for var in event.keys]
        if keys:
            self.out.line(f"{', '.join(keys)} = group")
        self.out.line(f"{scope.name(event.new[0])} = {read_group(store, event.aggregate, 'group')}")
        self.set_off(adds, scope)

    def set_off(self, adds: Sequence[Add], scope: Scope) -> None:
        """What the change of a map sets off."""
        for group in together(adds):
            self.adds(summed([add for add in group if isinstance(add, Add)]), 0, scope)

    def reader(self, function: str, plan: Plan, title: str) -> None:
        scope = self.scope()
        params = [scope.name(param) for param in plan.params]
        self.out.line()
        self.out.line()
        with self.out.block(f"def {function}({', '.join(params)}):"):
            self.out.docstring(f"The {title}: each with a multiplicity")
            for statement in plan.statements:
                self.read_statement(statement, plan.skipped, scope)
            self.out.line("return")
            self.out.line("yield")

    def read_statement(self, statement: Statement, skipped: int, scope: Scope) -> None:
        depth = self.out.depth
        self.out.comment(describe(statement))
        used = term_vars(*statement.keys, *statement.amounts)
        Loops(self.out, scope, self.stores).open(statement.steps, used)
        columns = tuple_of([python_key(term, scope) for term in statement.keys[skipped:]])
        self.out.line(f"yield {columns}, {python(statement.amounts[0], scope)}")
        self.out.close_to(depth)
