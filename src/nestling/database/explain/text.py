"""A report as text, readable at a hundred columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap

from nestling.database.explain.report import (
    ConstructReport,
    MapReport,
    PartReport,
    ReadingReport,
    Report,
    StepReport,
    StorageReport,
    TableReport,
    TriggerReport,
    WayReport,
    WorkReport,
)
from nestling.database.explain.sizes import number_text, size_text

WIDTH = 100
#: A delta of more lines is cut: the other formats have all of it.
LONGEST = 24
LONGEST_COST = 200


def as_text(report: Report) -> str:
    """All sections, a blank line between them."""
    sections = [
        _head(report), ["query", *_indented(report.query)], _constructs(report), _shredded(report),
        _storage(report.storage), _stored(report), _readings(report), _triggers(report), _code(report),
    ]  # fmt: skip
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _head(report: Report) -> list[str]:
    lines = _prose(f"view {report.view}: {report.type}", "", "  ")
    lines += [f"  {report.verdict}"]
    options = (
        f"refresh {report.refresh} · store {report.store} · reads {', '.join(report.reads) or 'no table'}"
    )
    lines += [*_prose(kept(report), "  "), f"  {options}"]
    for note in report.notes:
        lines += _prose(note, "  ", "    ")
    for warning in report.warnings:
        lines += _prose(f"! {warning}", "  ", "    ")
    return lines


def kept(report: Report) -> str:
    """When the view follows its tables."""
    if not report.maintained:
        by = f"computed on {report.engine}" if report.readings else "computed from its tables"
        return f"{by} on every read, because {report.reason} ({report.code_of_reason})"
    if report.refresh == "lazy":
        return "maintained when it is read, by the changes since it was last read"
    if report.waits:
        maps = ", ".join(report.waits)
        return (
            f"maintained on every change, but for conditions on {maps}: what these decide waits for a reading"
        )
    return "maintained on every change"


def _constructs(report: Report) -> list[str]:
    lines = ["constructs"]
    for construct in report.constructs:
        lines += _construct(construct)
    because = f", because of {report.degree_because}" if report.degree_because else ""
    lines += _prose(f"degree {report.degree}{because}", "  ", "    ")
    return lines + _prose(f"cost {report.cost}, time {report.time}", "  ", "    ")


def _construct(construct: ConstructReport) -> list[str]:
    mark, place = "!" if construct.obstacle else " ", construct.place
    where = [f"           line {place.line}: {cut(place.marked)}"] if place else []
    return [
        f"{mark} {construct.code:8} {cut(construct.text, 60)}",
        *where,
        f"           {construct.cost}: {construct.reason}",
    ]


def cut(text: str, longest: int = 72) -> str:
    """The beginning of a text that is too long."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _shredded(report: Report) -> list[str]:
    return ["shredded form", *(line for part in report.parts for line in _part(part))]


def _part(part: PartReport) -> Iterator[str]:
    params = f"({', '.join(part.params)})" if part.params else ""
    yield f"  {part.name}{params}"
    yield from _indented(part.query, 4)
    yield f"  δ({part.name}){params}"
    yield from _indented(_cut(part.delta), 4)
    because = f" ({part.degree_because})" if part.degree_because else ""
    yield from _prose(f"degree {part.degree}{because}, cost {part.cost}", "    ", "      ")
    yield from _prose(f"cost of the change {shorten(part.delta_cost)}", "    ", "      ")


def _cut(text: str) -> str:
    lines = text.splitlines()
    if len(lines) <= LONGEST:
        return text
    return "\n".join([*lines[:LONGEST], f"… and {len(lines) - LONGEST} lines more"])


def _storage(storage: StorageReport | None) -> list[str]:
    if storage is None:
        return []
    lines = [f"how it is stored ({storage.code})", *_prose(storage.chosen, "  "), *_prose(storage.why, "  ")]
    for note in storage.notes:
        lines += _prose(f"! {note}", "  ", "    ")
    if storage.memory is not None:
        lines += [f"  at most {size_text(storage.memory)}"]
    lines += _figures("  considered, in operations", "maps", "change", "read", "entries", "bytes")
    for way in storage.ways:
        lines += _way(way)
    return lines + [line for ground in storage.grounds for line in _prose(f"from {ground}", "  ", "    ")]


def _way(way: WayReport) -> list[str]:
    text = f"  {'>' if way.chosen else ' '} {way.text}"
    if way.refused:
        return _prose(f"{text.strip()}: {way.refused}", "    ", "      ")
    figures = (
        f"{way.maps}",
        number_text(way.change),
        number_text(way.read),
        f"{way.entries:,}",
        size_text(way.bytes),
    )
    return _figures(text, *figures)


def _figures(text: str, maps: str, *figures: str) -> list[str]:
    *above, last = wrap(text.strip(), 50, initial_indent=_indent(text), subsequent_indent="      ")
    return [*above, f"{last:<50} {maps:>4} " + " ".join(f"{figure:>10}" for figure in figures)]


def _stored(report: Report) -> list[str]:
    if not report.maintained and not report.maps:
        return []
    title = "stored for this view" if report.maintained else "computed first, by every reading"
    lines = _columns(title, "entries", "bytes")
    for stored in report.maps:
        lines += _map(stored)
    for table in report.tables:
        lines += _table(table)
    return lines


def _columns(text: str, entries: str, size: str) -> list[str]:
    *above, last = wrap(text.strip(), 76, initial_indent=_indent(text), subsequent_indent="      ")
    return [*above, f"{last:<76} {entries:>10} {size:>10}"]


def _indent(text: str) -> str:
    return " " * (len(text) - len(text.lstrip()))


def _map(stored: MapReport) -> list[str]:
    head = f"  {stored.name}[{', '.join(stored.keys)}] → {', '.join(stored.measures)}"
    lines = _columns(head, f"{stored.entries:,}", size_text(stored.bytes))
    lines += _prose(f"{stored.role}: {stored.purpose}; {stored.why}", "      ")
    lines += _indented(stored.definition, 6)
    facts = [f"read by {_list(stored.read_by)}"] if stored.read_by else []
    facts += [f"indexed {_indexes(stored.indexes)}"] if stored.indexes else []
    facts += [f"shared with {_list(stored.shared_with)}"] if stored.shared_with else []
    return lines + _prose("; ".join(facts), "      ")


def _table(table: TableReport) -> list[str]:
    key = f" by {', '.join(table.key)}" if table.key else ""
    head = f"  table {table.name}({', '.join(table.columns)}){key}"
    lines = _columns(head, f"{table.entries:,}", size_text(table.bytes))
    facts = [f"read by {_list(table.read_by)}"] if table.read_by else ["not read: its rows only pass by"]
    facts += [f"indexed {_indexes(table.indexes)}"] if table.indexes else []
    return lines + _prose("; ".join(facts), "      ")


def _indexes(indexes: Iterable[list[str]]) -> str:
    return "; ".join(f"by {', '.join(index)}" for index in indexes)


def _readings(report: Report) -> list[str]:
    if not report.readings:
        return []
    return ["when it is read", *(line for reading in report.readings for line in _reading(reading))]


def _reading(reading: ReadingReport) -> list[str]:
    given = f", given {', '.join(reading.given)}" if reading.given else ""
    parts = f" from {len(reading.parts)} parts" if len(reading.parts) > 1 else ""
    lines = _prose(f"{reading.what}{given}: {reading.kind}{parts}: {reading.why}", "  ", "    ")
    for sentence in said_of(reading):
        lines += _prose(sentence, "    ")
    return lines + [line for work in reading.parts for line in _work(work)]


def said_of(reading: ReadingReport) -> list[str]:
    """How an inner bag is kept, and what the other way would cost."""
    kept = [f"factorised: {'; '.join(reading.keyed)}"] if reading.keyed else []
    return kept + [reading.otherwise] * bool(reading.otherwise)


def _triggers(report: Report) -> list[str]:
    if not report.triggers:
        return []
    return ["when a row comes or goes", *(line for trigger in report.triggers for line in _trigger(trigger))]


def _trigger(trigger: TriggerReport) -> Iterator[str]:
    yield from _prose(f"on {trigger.table}({', '.join(trigger.columns)}): {trigger.cost}", "  ", "    ")
    if trigger.batch:
        yield f"    {trigger.batch}"
    if not trigger.batches:
        yield "    nothing but the row itself, in its table and the indexes above"
    for number, batch in enumerate(trigger.batches):
        if number or batch.when != "for the row":
            yield f"    {batch.when}:"
        for work in batch.statements:
            yield from _work(work)


def _work(work: WorkReport) -> Iterator[str]:
    yield from _indented(work.text, 6)
    accesses = [_access(step) for step in work.steps if step.source or step.access == "bag"]
    if accesses:
        yield from _prose(f"{work.cost}: {', then '.join(accesses)}", "        ")
    for line in work.runs:
        yield from _prose(line, "        ", "          ")


def _access(step: StepReport) -> str:
    by = f" by {', '.join(step.by)}" if step.by else ""
    found = f" (≈ {step.finds:,g})" if step.access in ("slice", "scan") else ""
    return f"{step.access} {step.source or 'inner bag'}{by}{found}"


def _code(report: Report) -> list[str]:
    if not report.code:
        return []
    lines = ["generated code"]
    for function in report.code:
        named = [] if function.source.startswith(f"def {function.name}(") else [function.name]
        lines += ["", *named, function.source]
    return lines


def shorten(cost: str) -> str:
    """A formula that is read, not looked at."""
    return cost if len(cost) <= LONGEST_COST else cost[: LONGEST_COST - 1] + "…"


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)


def _indented(text: str, by: int = 2) -> list[str]:
    return [" " * by + line for line in text.splitlines()]


def _prose(text: str, first: str, rest: str | None = None) -> list[str]:
    below = first if rest is None else rest
    return wrap(text, WIDTH, initial_indent=first, subsequent_indent=below, break_on_hyphens=False)
