"""The program of a view as a picture: tables, the maps that are stored, the view; who writes whom, who looks up what.

Law: every table and map of the report stands in the picture once, and an arrow leads from a node only to one further
right, so that none goes back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nestling.database.explain.report import Report
from nestling.database.markup import Html, tag

WIDTH, HEIGHT = 168, 46
ACROSS, DOWN = 260, 66
MARGIN = 12
#: Of a name, in signs: what a box has room for.
LONGEST = 22


@dataclass(frozen=True, slots=True)
class Arrow:
    """``source`` is added to ``target`` when it changes, or looked up when something else does."""

    source: str
    target: str
    looked_up: bool


def picture(report: Report) -> Html:
    """The picture as inline SVG; nothing where nothing is maintained."""
    if not report.maintained:
        return Html("")
    arrows = _arrows(report)
    places = _places(report, arrows)
    across = max(x for x, _ in places.values()) + WIDTH + MARGIN
    down = max(y for _, y in places.values()) + HEIGHT + MARGIN
    drawn = [_line(arrow, places) for arrow in arrows]
    tables = {name: _counted(rows, "row", "rows") for name, rows in _tables(report).items()}
    called = {each.table: f"{each.text}, recursive" for each in report.recursions}
    maps = {each.name: _counted(each.entries, "entry", "entries") for each in report.maps}
    for name, (x, y) in places.items():
        kind = "table" if name in tables else "map" if name in maps else "view"
        below = tables.get(name) or maps.get(name) or "the view"
        drawn.append(_box(called.get(name, name), below, kind, x, y))
    said = f"how {report.view} is kept: tables, maps, the view"
    return tag("svg", *drawn, class_="program", viewBox=f"0 0 {across} {down}", role="img", aria_label=said,
               style=f"max-width:{across}px")  # fmt: skip


def _tables(report: Report) -> dict[str, int]:
    """The tables in the picture with their rows: those that the view reads, and those that its recursions follow."""
    followed = {name: rows for each in report.recursions for name, rows in each.follows.items()}
    return followed | {table.name: table.entries for table in report.tables}


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _arrows(report: Report) -> list[Arrow]:
    """What is added to what, and what is looked up for it, each once."""
    maps = {each.name for each in report.maps}
    nodes = maps.union(_tables(report))
    found: dict[tuple[str, str], Arrow] = {}

    def arrow(source: str, target: str, looked_up: bool) -> None:
        if source in nodes and source != target:
            known = found.get((source, target))
            if known is None or known.looked_up:
                found[source, target] = Arrow(source, target, looked_up)

    for name, table in ((name, each.table) for each in report.recursions for name in each.follows):
        arrow(name, table, False)
    batches = ((trigger.table, batch) for trigger in report.triggers for batch in trigger.batches)
    for table, work in ((table, work) for table, batch in batches for work in batch.statements):
        if work.target in maps:
            arrow(table, work.target, False)
            for step in work.steps:
                arrow(step.source, work.target, True)
    for part in (part for reading in report.readings for part in reading.parts):
        for step in part.steps:
            arrow(step.source, report.view, False)
    return _forward(found.values(), report.view)


def _forward(arrows: Iterable[Arrow], view: str) -> list[Arrow]:
    """The arrows without those that lead back: two maps may each be looked up for the other."""
    after: dict[str, set[str]] = {}
    kept = []
    for arrow in sorted(arrows, key=lambda arrow: arrow.looked_up):
        if arrow.source not in _reached(arrow.target, after) and arrow.source != view:
            after.setdefault(arrow.source, set()).add(arrow.target)
            kept.append(arrow)
    return kept


def _reached(start: str, after: dict[str, set[str]]) -> set[str]:
    found, waiting = {start}, [start]
    while waiting:
        for name in after.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found


def _places(report: Report, arrows: list[Arrow]) -> dict[str, tuple[int, int]]:
    """Where each node stands: as far right as the longest way to it, the view last."""
    rank = dict.fromkeys(_tables(report), 0) | {each.name: 1 for each in report.maps}
    for _ in rank:
        for arrow in arrows:
            if arrow.target in rank:
                rank[arrow.target] = max(rank[arrow.target], rank[arrow.source] + 1)
    rank[report.view] = max(rank.values(), default=-1) + 1
    columns: dict[int, list[str]] = {}
    for name, column in rank.items():
        columns.setdefault(column, []).append(name)
    tallest = max(map(len, columns.values()))
    return {
        name: (MARGIN + column * ACROSS, MARGIN + (2 * i + tallest - len(names)) * DOWN // 2)
        for column, names in columns.items()
        for i, name in enumerate(names)
    }


def _line(arrow: Arrow, places: dict[str, tuple[int, int]]) -> Html:
    (x, y), (to_x, to_y) = places[arrow.source], places[arrow.target]
    x, y, to_y = x + WIDTH, y + HEIGHT // 2, to_y + HEIGHT // 2
    bend = (to_x - x) // 2
    way = f"M{x} {y}C{x + bend} {y} {to_x - bend} {to_y} {to_x} {to_y}"
    return tag("path", d=way, class_="looked-up" if arrow.looked_up else "added")


def _box(name: str, below: str, kind: str, x: int, y: int) -> Html:
    short = name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
    return tag(
        "g", tag("title", f"{name}: {below}"),
        tag("rect", x=f"{x}", y=f"{y}", width=f"{WIDTH}", height=f"{HEIGHT}", rx="8"),
        tag("text", short, x=f"{x + 12}", y=f"{y + 20}"),
        tag("text", below, x=f"{x + 12}", y=f"{y + 36}", class_="soft"), class_=f"node {kind}",
    )  # fmt: skip
