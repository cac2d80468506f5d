"""How a view is stored, among the ways in which it could be, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nestling.database.explain.columns import last
from nestling.database.explain.report import StorageReport, WayReport
from nestling.database.explain.sizes import number_text, size_text
from nestling.database.state import State
from nestling.database.storing import Decision
from nestling.program.flat import Shape
from nestling.program.statements import Note
from nestling.transform.cost.statistics import ROWS, Statistics
from nestling.transform.viewlet.choose import Way
from nestling.transform.viewlet.storing import Rule, Storing

#: Where an inner bag stands, by the shape of its labels.
Paths = Mapping[Shape, str]

RULES: dict[Rule, str] = {
    "keys": "maps for what declared keys do not find",
    "slices": "maps for what keys and slices of few rows do not find",
    "every": "maps for every partner of a change",
    "none": "maps for counts and aggregates, the rest from tables",
}
NOTHING = "nothing: it is evaluated on every read"


def storage(state: State, name: str, paths: Paths) -> StorageReport | None:
    """The ways in which the view could be stored; None where there is no program for any."""
    decision = state.views[name].decision
    if decision is None:
        return None
    choice = decision.considered(state.declarations())
    ways = [_way(way, decision, paths) for way in _different(choice.considered, decision)]
    notes = state.engine_of(name).program.views[name].notes if name in state.views.maintained else ()
    return StorageReport(
        _text(decision.storing, paths) if decision.storing else NOTHING, decision.code, decision.why,
        decision.memory.bytes if decision.memory else None, ways, _grounds(decision.statistics, state),
        [_noted(note) for note in notes],
    )  # fmt: skip


def _different(ways: Sequence[Way], decision: Decision) -> list[Way]:
    """One way of those that come to the same, that which was chosen if it is among them."""
    found: dict[object, Way] = {}
    for way in ways:
        same = (way.maps, way.cost and (way.cost.change, way.cost.read, way.cost.bytes), way.refused)
        if same not in found or way.storing == decision.storing:
            found[same] = way
    return list(found.values())


def _way(way: Way, decision: Decision, paths: Paths) -> WayReport:
    text, cost = _text(way.storing, paths), way.cost
    if cost is None:
        return WayReport(text, False, 0, 0.0, 0.0, 0, 0, way.refused)
    is_chosen = way.storing == decision.storing
    change, read = round(cost.change, 1), round(cost.read, 1)
    return WayReport(text, is_chosen, way.maps, change, read, cost.entries, cost.bytes, "")


def _text(storing: Storing, paths: Paths) -> str:
    whole = ["the answer"] * storing.rows
    whole += sorted(f"inner bag {paths.get(shape, shape[0])}" for shape in storing.bags)
    return RULES[storing.rule] + (f"; {' and '.join(whole)} whole" if whole else "")


def _grounds(statistics: Statistics, state: State) -> list[str]:
    """What the estimates go by: rows and values, as counted or as assumed."""
    found = []
    for table in sorted(statistics.rows):
        if not statistics.is_counted(table):
            found.append(f"{table}: {ROWS:,} rows, assumed")
            continue
        columns = state.declarations()[table].columns
        values = [
            f"{count:,} values of {', '.join(last(columns[i].name) for i in places)}"
            for (name, places), count in sorted(statistics.values.items())
            if name == table
        ]
        at = statistics.versions.get(table)
        when = [] if at is None else [f"counted at version {at:,}"]
        found.append(", ".join([f"{table}: {statistics.rows[table]:,} rows", *values, *when]))
    return found


def _noted(note: Note) -> str:
    return f"{note.code}: {note.part} not as asked for: {note.why}"


def otherwise(state: State, name: str, shape: Shape) -> str:
    """What it would cost if the inner bags of labels of ``shape`` were stored the other way."""
    decision = state.views[name].decision
    if decision is None:
        return ""
    considered = {way.storing: way for way in decision.considered(state.declarations()).considered}
    now = decision.storing
    if now is None:
        return ""
    here, there = considered.get(now), considered.get(replace(now, bags=now.bags ^ {shape}))
    if here is None or there is None or here.cost is None:
        return ""
    how = "put together on reading" if shape in now.bags else "stored whole"
    if there.cost is None:
        return f"it cannot be {how}: {there.refused}"
    return (
        f"{how}, a change would cost {number_text(there.cost.change)} operations for "
        f"{number_text(here.cost.change)}, a row read {number_text(there.cost.read)} for "
        f"{number_text(here.cost.read)}, and memory {size_text(there.cost.bytes)} for "
        f"{size_text(here.cost.bytes)}"
    )
