"""What is stored of each view, decided when it is made: by what is in the tables then, and by the memory there is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from nestling.database.explain.sizes import entries, rough_bytes, rows_of
from nestling.database.lazy import LazyView
from nestling.engine.local.engine import LocalEngine
from nestling.errors import QueryError
from nestling.program.flat import Shape
from nestling.program.statements import Program, TableDecl
from nestling.program.steps import needed, plans, reads
from nestling.transform.cost.statistics import Positions, Statistics
from nestling.transform.lower import FlatView
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.choose import Choice, Memory, choose, cost_of, tables_of
from nestling.transform.viewlet.storing import Store, Storing

if TYPE_CHECKING:
    from nestling.database.definitions import ViewDef
    from nestling.database.durable import Durable
    from nestling.database.state import State

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30}
#: Where a budget is kept: looked at again when the tables have grown by so much.
GROWN = 1.25


def bytes_of(memory: int | str | None) -> int | None:
    """A budget in bytes.

    >>> bytes_of("512MB"), bytes_of("1.5 GiB"), bytes_of(4096), bytes_of(None)
    (512000000, 1610612736, 4096, None)
    """
    if memory is None or (type(memory) is int and memory >= 0):
        return memory
    text = memory.lower() if isinstance(memory, str) else ""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([kmgt]?i?)b?", text)
    if found is None or found[2] not in UNITS:
        raise QueryError(
            f"memory={memory!r} is not a size", hint='bytes, or a text such as "512MB" or "2 GiB"'
        )
    return int(float(found[1]) * UNITS[found[2]])


@dataclass(frozen=True)
class Decision:
    """What was decided for one view, and on what grounds; ``storing`` is None where nothing fits."""

    knob: Store
    view: FlatView
    statistics: Statistics
    storing: Storing | None
    #: What there was for it, of a budget.
    memory: Memory | None = None
    why: str = ""
    code: str = ""
    #: That of the view alone, until it is checked.
    program: Program | None = field(default=None, compare=False, repr=False)
    _choices: list[Choice] = field(default_factory=list, compare=False, repr=False)

    def considered(self, tables: Mapping[str, TableDecl]) -> Choice:
        """Every way to store the view, and what each would cost; found out when somebody asks."""
        if not self._choices:
            self._choices.append(
                choose(self.view, tables, self.statistics, self.knob, self.memory, every=True)
            )
        return self._choices[0]


def decide(state: State, view: ViewDef, flat: FlatView, remembered: dict[str, Any] | None = None) -> Decision:
    """What to store of ``view``; what is ``remembered`` of it, as ``as_data`` put it, stays so."""
    knob: Store = view.store  # type: ignore[assignment]  # "none" has no maps and does not come here
    decision = _from_data(remembered, knob, flat) if remembered else None
    if decision is not None and decision.storing is not None:
        # Another version of Nestling may have no program for it.
        program = compile_views(state.declarations(), {view.name: flat}, store={view.name: decision.storing})
        return replace(decision, program=program)
    statistics = decision.statistics if decision else counted(state.engine, tables_of(flat))
    left = None
    if state.memory is not None and any(map(statistics.is_counted, statistics.rows)):
        # What is only assumed takes no memory yet; when there are rows, they are looked at.
        left = Memory(max(0, state.memory - _taken(state, view.name)))
    return _decided(state, knob, flat, statistics, left)


def _decided(
    state: State, knob: Store, view: FlatView, statistics: Statistics, memory: Memory | None
) -> Decision:
    choice = choose(view, state.declarations(), statistics, knob, memory)
    # What was counted is kept; the tables it was counted in go on.
    kept = replace(statistics, count=None)
    chosen = replace(choice.chosen.storing, statistics=kept) if choice.chosen else None
    program = choice.chosen.program if choice.chosen else None
    return Decision(knob, view, kept, chosen, memory, choice.why, choice.code, program)


def counted(engine: LocalEngine, tables: Iterable[str]) -> Statistics:
    """The rows of ``tables``, and on demand the values in their columns."""

    def count(table: str, columns: Positions) -> int:
        return len(set(map(itemgetter(*columns), rows_of(engine, table))))

    present = [name for name in tables if name in engine.program.tables]
    return Statistics({name: entries(engine, name) for name in present}, {}, count)


# -- a budget


def _taken(state: State, but: str) -> int:
    """What the other views take."""
    return sum(measured(state, name) for name in state.views.maintained if name != but)


def measured(state: State, name: str) -> int:
    """The bytes that a view adds: of its maps, and of the indexes that it asks of tables."""
    own = state.views[name].engine
    engine = own.engine if isinstance(own, LazyView) else state.engine
    program = engine.program
    if name not in program.views:
        return 0
    read = [source for plan in plans(program.views[name]) for s in plan.statements for source in reads(s)]
    total = 0
    for source in needed(program, read):
        patterns = engine.stores[source].patterns
        if source in program.maps:
            total += rough_bytes(engine, source, patterns)
        else:
            total += rough_bytes(engine, source, patterns) - rough_bytes(engine, source, ())
    return total


def keep_within_memory(state: State, file: Durable | None) -> None:
    """Store less of the views that have outgrown the memory there is, and remember it."""
    for name in outgrown(state):
        if file is not None:
            view = state.views[name]
            file.define("constraint" if view.is_constraint else "view", view.definition, state)


def outgrown(state: State) -> list[str]:
    """The views that are stored in another way from now on, because together they take more than there is."""
    if state.memory is None or _total(state) < max(1, GROWN * state.looked_at):
        return []
    state.looked_at = _total(state)
    changed = []
    sizes = {name: measured(state, name) for name in state.views.maintained}
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if sum(sizes.values()) <= state.memory:
            break
        left = state.memory - (sum(sizes.values()) - sizes[name])
        before = state.views.decisions[name]
        decision = _smaller(state, before, left, sizes[name])
        if decision.storing != before.storing:
            state.decided(name, decision)
            changed.append(name)
            sizes[name] = measured(state, name) if name in state.views.maintained else 0
    return changed


def _total(state: State) -> int:
    return sum(entries(state.engine, name) for name in state.engine.program.tables)


def _smaller(state: State, old: Decision, left: int, size: int) -> Decision:
    """What to store of a view that takes ``size`` bytes and may take what is ``left``."""
    statistics = counted(state.engine, tables_of(old.view))
    assert old.storing is not None
    estimated = cost_of(old.view, state.declarations(), statistics, old.storing).bytes
    # By how much an estimate is wrong, it is wrong for the other ways too.
    memory = Memory(max(0, left), size / max(estimated, 1))
    return _decided(state, old.knob, old.view, statistics, memory)


# -- as it is kept in a file


def as_data(decision: Decision) -> dict[str, Any]:
    """A decision as JSON has it."""
    kept = decision.storing
    return {
        "rows": dict(decision.statistics.rows),
        "values": [[table, columns, n] for (table, columns), n in decision.statistics.values.items()],
        "memory": decision.memory and [decision.memory.bytes, decision.memory.scale],
        "why": decision.why,
        "code": decision.code,
        "storing": kept and {"rule": kept.rule, "rows": kept.rows, "bags": sorted(kept.bags, key=repr)},
    }


def _from_data(data: dict[str, Any], knob: Store, view: FlatView) -> Decision:
    """A decision as it was kept."""
    values = {(table, tuple(columns)): n for table, columns, n in data["values"]}
    statistics, kept = Statistics(data["rows"], values), data["storing"]
    shapes = frozenset(map(_shape, kept["bags"])) if kept else frozenset()
    chosen = Storing(kept["rule"], kept["rows"], shapes, statistics) if kept else None
    memory = data["memory"] and Memory(*data["memory"])
    return Decision(knob, view, statistics, chosen, memory, data["why"], data["code"])


def _shape(data: Any) -> Shape:
    site, inner = data
    return site, tuple(None if each is None else _shape(each) for each in inner)
