"""Deciding what to store for each view, from the statistics of its tables and the available memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from nestling.database.definitions import ViewDef
from nestling.engine.protocol import Row, RowEngine
from nestling.program.flat import Shape
from nestling.program.statements import Program, TableDecl
from nestling.transform.cost.statistics import Positions, Statistics
from nestling.transform.lower import FlatView
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.choose import Choice, Memory, Way, choose, tables_of
from nestling.transform.viewlet.drafts import Drafts, drafts_over
from nestling.transform.viewlet.storing import Store, Storing


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
    #: The ways that were compiled for it, without their programs.
    ways: tuple[Way, ...] = field(default=(), compare=False, repr=False)
    _choices: list[Choice] = field(default_factory=list, compare=False, repr=False)

    @property
    def maps(self) -> int | None:
        """How many maps that takes, where it was compiled to be decided."""
        return next((way.maps for way in self.ways if way.storing == self.storing), None)

    def considered(self, tables: Mapping[str, TableDecl]) -> Choice:
        """Every way to store the view, and what each would cost; found out when somebody asks."""
        if not self._choices:
            self._choices.append(
                choose(
                    self.view, drafts_over(tables), self.statistics, self.knob, self.memory, True, self.ways
                )
            )
        return self._choices[0]


def decide(
    view: ViewDef,
    flat: FlatView,
    drafts: Drafts,
    engine: RowEngine,
    left: int | None,
    remembered: dict[str, Any] | None = None,
    version: int = 0,
) -> Decision:
    """What to store of ``view`` in the memory that is ``left``, at a ``version`` of the database.

    What is ``remembered`` of it, as ``as_data`` put it, stays so.
    """
    knob: Store = view.store  # type: ignore[assignment]  # "none" has no maps and does not come here
    decision = _from_data(remembered, knob, flat) if remembered else None
    if decision is not None and decision.storing is not None:
        # Another version of Nestling may have no program for it.
        program = compile_views(drafts.tables, {view.name: flat}, None, {view.name: decision.storing}, drafts)
        return replace(decision, program=program)
    statistics = decision.statistics if decision else counted(engine, tables_of(flat), version)
    return chosen_from(flat, drafts, statistics, knob, memory_for(statistics, left))


def memory_for(statistics: Statistics, left: int | None) -> Memory | None:
    """What there is for a view of what is ``left``: what is only assumed takes no memory yet."""
    is_counted = any(map(statistics.is_counted, statistics.rows))
    return Memory(max(0, left)) if left is not None and is_counted else None


def chosen_from(
    view: FlatView,
    drafts: Drafts,
    statistics: Statistics,
    knob: Store,
    memory: Memory | None,
) -> Decision:
    """The best way to store a view, for these statistics."""
    choice = choose(view, drafts, statistics, knob, memory)
    # What was counted is kept; the tables it was counted in go on.
    kept = replace(statistics, count=None)
    chosen = replace(choice.chosen.storing, statistics=kept) if choice.chosen else None
    program = choice.chosen.program if choice.chosen else None
    ways = tuple(replace(way, program=None) for way in choice.considered)
    return Decision(knob, view, kept, chosen, memory, choice.why, choice.code, program, ways)


def counted(engine: RowEngine, tables: Iterable[str], version: int) -> Statistics:
    """The rows of ``tables`` at a ``version`` of the database, and on demand the values in their columns."""
    present = [name for name in tables if name in engine.program.tables]
    rows = {name: engine.entries(name) for name in present}
    return Statistics(rows, {}, _counting(engine.rows), dict.fromkeys(present, version))


def as_they_are(engine: RowEngine, statistics: Statistics) -> Statistics:
    """``statistics`` that are counted in the rows there are now, whenever that is."""
    rows = {name: list(engine.rows(name)) for name in statistics.rows}
    return replace(statistics, count=_counting(rows.__getitem__))


def _counting(rows: Callable[[str], Iterable[Row]]) -> Callable[[str, Positions], int]:
    return lambda table, columns: len(set(map(itemgetter(*columns), rows(table))))


# -- as it is kept in a file


def as_data(decision: Decision) -> dict[str, Any]:
    """A decision as JSON has it."""
    kept = decision.storing
    return {
        "rows": dict(decision.statistics.rows),
        "values": [[table, columns, n] for (table, columns), n in decision.statistics.values.items()],
        "versions": dict(decision.statistics.versions),
        "memory": decision.memory and [decision.memory.bytes, decision.memory.scale],
        "why": decision.why,
        "code": decision.code,
        "storing": kept and {"rule": kept.rule, "rows": kept.rows, "bags": sorted(kept.bags, key=repr)},
    }


def _from_data(data: dict[str, Any], knob: Store, view: FlatView) -> Decision:
    """A decision as it was kept."""
    values = {(table, tuple(columns)): n for table, columns, n in data["values"]}
    # Files of earlier versions do not say when they counted.
    statistics, kept = Statistics(data["rows"], values, versions=data.get("versions", {})), data["storing"]
    shapes = frozenset(map(_shape, kept["bags"])) if kept else frozenset()
    chosen = Storing(kept["rule"], kept["rows"], shapes, statistics) if kept else None
    memory = data["memory"] and Memory(*data["memory"])
    return Decision(knob, view, statistics, chosen, memory, data["why"], data["code"])


def _shape(data: Any) -> Shape:
    site, inner = data
    return site, tuple(None if each is None else _shape(each) for each in inner)
