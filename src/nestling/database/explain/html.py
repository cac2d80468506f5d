"""A report as one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from nestling.database.explain.picture import picture
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
from nestling.database.explain.style import STYLE
from nestling.database.explain.text import kept, said_of, shorten
from nestling.database.markup import PYTHON, Html, code, join, tag
from nestling.transform.classify import INDEXED, THEOREM, Verdict

TONES = {Verdict.EFFICIENT.value: "good", Verdict.INDEXED.value: "fair", Verdict.NOT.value: "poor"}
#: What is estimated of each way to store a view.
FIGURES = ("maps", "change", "read", "entries", "bytes")
CODES = {c.code: "good" for c in THEOREM} | {c.code: "fair" for c in INDEXED - THEOREM}


def as_html(report: Report) -> str:
    """The page, the verdict first."""
    return as_page(report.view, [sections(report)])


def as_page(name: str, parts: Iterable[Html]) -> str:
    """A page of what reports have."""
    head = join([
        Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        tag("title", f"{name} · explained"), tag("style", Html(STYLE)),
    ])  # fmt: skip
    page = tag("html", tag("head", head), tag("body", tag("main", *parts)), lang="en")
    return f"<!doctype html>\n{page}\n"


def sections(report: Report) -> Html:
    """What the page has, for one that has more: the verdict first, the derivation folded away."""
    return join([
        _banner(report), _glance(report), _picture(report), _query(report), _storage(report.storage),
        _stored(report), _triggers(report), _readings(report), _shredded(report), _code(report),
    ])  # fmt: skip


def _banner(report: Report) -> Html:
    tone = TONES[report.verdict] if report.maintained else "poor"
    options = (
        f"refresh {report.refresh} · store {report.store} · reads {', '.join(report.reads) or 'no table'}"
    )
    warnings = [tag("ul", *(tag("li", text) for text in report.warnings), class_="warnings")]
    return tag(
        "header", tag("p", "view", class_="soft"), tag("h1", report.view), tag("p", tag("code", report.type)),
        tag("p", report.verdict.capitalize(), class_="verdict"),
        tag("p", _sentence(kept(report)), " · ", tag("span", options, class_="soft")),
        *(tag("p", _sentence(note), class_="soft") for note in report.notes),
        *(warnings if report.warnings else []), class_=f"banner {tone}",
    )  # fmt: skip


def _glance(report: Report) -> Html:
    statements = [w for t in report.triggers for batch in t.batches for w in batch.statements]
    facts = [("degree", report.degree)]
    if report.maintained:
        facts += [
            ("triggers", f"{len(report.triggers)}"),
            ("statements in them", f"{len(statements)}"),
            ("maps stored", f"{len(report.maps)}"),
            ("entries in them", f"{sum(m.entries for m in report.maps):,}"),
            ("bytes, roughly", size_text(sum(m.bytes for m in report.maps))),
        ]
    return tag("div", *(tag("div", tag("b", v), tag("span", k)) for k, v in facts), class_="glance")


def _picture(report: Report) -> Html:
    drawn = picture(report)
    if not drawn:
        return drawn
    legend = "A full line: what is added when the left side changes. A dashed one: what is looked up then."
    shown = tag("div", drawn, class_="scroll picture")
    return _section("Tables, maps, view", shown, tag("p", legend, class_="soft"))


def _section(title: str, *children: str, kind: str = "section") -> Html:
    return tag("section", tag("h2", title), *children, class_=kind)


def _query(report: Report) -> Html:
    rows = [_construct(construct) for construct in report.constructs]
    calculus = tag("details", tag("summary", "the query in the calculus", class_="soft"), code(report.query))
    because = f", because of {report.degree_because}" if report.degree_because else ""
    costs = f"Degree {report.degree}{because}. Computed anew it costs {report.cost}, in time {report.time}."
    return _section(
        "The query, construct by construct", calculus,
        _table_of(("class", "construct", "a change costs"), rows, kind="scroll stacked"),
        tag("p", costs, class_="soft"),
    )  # fmt: skip


def _construct(construct: ConstructReport) -> Html:
    badge = tag("span", construct.code, class_=f"badge {CODES.get(construct.code, 'poor')}")
    cost = [construct.cost, tag("p", construct.reason, class_="soft")]
    place = construct.place
    if place is None:
        return tag("tr", tag("td", badge), tag("td", tag("code", construct.text)), tag("td", *cost))
    written = join([tag("code", place.marked), tag("span", f" line {place.line}", class_="soft")])
    below = tag("p", tag("code", construct.text), class_="soft")
    return tag(
        "tr", tag("td", badge), tag("td", written, below), tag("td", *cost), class_="placed",
        data_line=f"{place.line}", data_column=f"{place.column}", data_length=f"{place.length}",
        data_text=place.text,
    )  # fmt: skip


def _table_of(
    columns: Iterable[str], rows: Iterable[str], numbers: tuple[str, ...] = (), kind: str = "scroll"
) -> Html:
    heads = [tag("th", name, class_="number") if name in numbers else tag("th", name) for name in columns]
    body = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows))
    return tag("div", body, class_=kind)


def _storage(storage: StorageReport | None) -> Html:
    if storage is None:
        return Html("")
    budget = [f"At most {size_text(storage.memory)}. "] if storage.memory is not None else []
    sentence = tag("p", _sentence(storage.chosen), ": ", storage.why, ". ", *budget)
    notes = (
        [tag("ul", *(tag("li", note) for note in storage.notes), class_="warnings")] if storage.notes else []
    )
    grounds = (
        f"In operations per row that changes and per row that is read, from {'; '.join(storage.grounds)}."
    )
    most = max((way.bytes for way in storage.ways), default=1)
    rows = [_way(way, storage.code, most) for way in storage.ways]
    return _section(
        "How it is stored", sentence, *notes, _table_of(("considered", *FIGURES), rows, FIGURES, "scroll stacked"),
        tag("p", grounds, class_="soft"),
    )  # fmt: skip


def _way(way: WayReport, code_: str, most: int) -> Html:
    badge = [" ", tag("span", code_, class_="badge good")] if way.chosen else []
    if way.refused:
        return tag("tr", tag("td", way.text), tag("td", way.refused, class_="soft", colspan="5"))
    bar = tag(
        "span", tag("span", style=f"width:{max(1, round(100 * way.bytes / max(most, 1)))}%"), class_="bar"
    )
    figures = [f"{way.maps}", number_text(way.change), number_text(way.read), f"{way.entries:,}"]
    cells = [_figure(name, figure) for name, figure in zip(FIGURES, figures, strict=False)]
    return tag(
        "tr", tag("td", tag("b" if way.chosen else "span", way.text), *badge), *cells,
        _figure("bytes", size_text(way.bytes), bar),
    )  # fmt: skip


def _figure(name: str, *shown: str) -> Html:
    """A number, with the name of its column for screens on which columns stand one below the other."""
    return tag("td", *shown, class_="number", data_column=name)


def _stored(report: Report) -> Html:
    if not report.maintained and not report.maps:
        return Html("")
    stored: list[MapReport | TableReport] = [*report.maps, *report.tables]
    most = max((item.bytes for item in stored), default=1)
    rows = [_stored_map(each, most) for each in report.maps]
    rows += [_stored_table(table, most) for table in report.tables]
    columns = ("stored", "what for", "entries", "bytes")
    title = "What is stored" if report.maintained else "What every reading computes first"
    return _section(title, _table_of(columns, rows, ("entries", "bytes"), "scroll stacked"))


def _stored_map(stored: MapReport, most: int) -> Html:
    name = join([tag("b", stored.name), f"[{', '.join(stored.keys)}] → {', '.join(stored.measures)}"])
    facts = [f"{stored.purpose}: {stored.why}"]
    facts += [f"shared with {', '.join(stored.shared_with)}"] if stored.shared_with else []
    notes = [tag("p", fact) for fact in facts] + _access_notes(stored)
    definition = tag("details", tag("summary", "definition", class_="soft"), code(stored.definition))
    return _row(join([tag("code", name), definition]), notes, stored, most)


def _stored_table(table: TableReport, most: int) -> Html:
    key = f" by {', '.join(table.key)}" if table.key else ""
    name = join(["table ", tag("b", table.name), f"({', '.join(table.columns)}){key}"])
    notes = _access_notes(table) or [tag("p", "not read: its rows only pass by", class_="soft")]
    return _row(tag("code", name), notes, table, most)


def _access_notes(item: MapReport | TableReport) -> list[Html]:
    indexes = [tag("span", f"index by {', '.join(index)}", class_="chip") for index in item.indexes]
    read = [tag("p", f"read by {', '.join(item.read_by)}", class_="soft")] if item.read_by else []
    return read + ([tag("p", *indexes)] if indexes else [])


def _row(name: Html, notes: list[Html], item: MapReport | TableReport, most: int) -> Html:
    share = max(1, round(100 * item.bytes / max(most, 1)))
    bar = tag("span", tag("span", style=f"width:{share}%"), class_="bar")
    return tag(
        "tr", tag("td", name), tag("td", *notes), _figure("entries", f"{item.entries:,}"),
        _figure("bytes", size_text(item.bytes), bar),
    )  # fmt: skip


def _triggers(report: Report) -> Html:
    if not report.triggers:
        return Html("")
    return _section("When a row comes or goes", *map(_trigger, report.triggers))


def _trigger(trigger: TriggerReport) -> Html:
    title = tag("h3", tag("code", f"on {trigger.table}({', '.join(trigger.columns)})"))
    nothing = tag("p", "Nothing to do but store the row, with its indexes.", class_="soft")
    parts = [tag("p", _sentence(trigger.batch), class_="soft")] if trigger.batch else []
    for batch in trigger.batches:
        parts += [tag("p", tag("code", batch.when), class_="soft")] if batch.when != "for the row" else []
        parts += map(_work, batch.statements)
    return _card(title, tag("code", trigger.cost), *(parts or [nothing]))


def _card(title: Html, beside: Html, *children: str) -> Html:
    return tag("article", tag("header", title, beside), *children, class_="card")


def _work(work: WorkReport) -> Html:
    steps = [_chip(step) for step in work.steps if step.source or step.access == "bag"]
    runs = [tag("p", line, class_="soft") for line in work.runs]
    return join([code(work.text), tag("p", *steps) if steps else "", *runs])


def _chip(step: StepReport) -> Html:
    by = f" by {', '.join(step.by)}" if step.by else ""
    found = f" ≈ {step.finds:,g}" if step.access in ("slice", "scan") else ""
    return tag("span", f"{step.access} {step.source or 'inner bag'}{by}{found}", class_=f"chip {step.access}")


def _readings(report: Report) -> Html:
    if not report.readings:
        return Html("")
    return _section("When it is read", *map(_reading, report.readings), kind="reads")


def _reading(reading: ReadingReport) -> Html:
    given = f", given {', '.join(reading.given)}" if reading.given else ""
    title = tag("h3", f"{_sentence(reading.what)}{given}")
    parts = f"{reading.kind} from {len(reading.parts)} parts" if len(reading.parts) > 1 else reading.kind
    beside = tag("span", parts, class_="badge")
    said = [tag("p", _sentence(text), class_="soft") for text in (reading.why, *said_of(reading))]
    return _card(title, beside, *said, *map(_work, reading.parts))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _shredded(report: Report) -> Html:
    title = tag("summary", tag("h2", "The derivation: one flat query per level, each with its delta"))
    return tag("section", tag("details", title, *map(_part, report.parts)), class_="section")


def _part(part: PartReport) -> Html:
    params = f"({', '.join(part.params)})" if part.params else ""
    facts = f"degree {part.degree}" + f" because of {part.degree_because}" * bool(part.degree_because)
    costs = f"cost {part.cost}; cost of the change {shorten(part.delta_cost)}"
    delta = tag("details", tag("summary", f"δ({part.name}){params}"), code(part.delta))
    title = tag("h3", tag("code", f"{part.name}{params}"))
    return _card(
        title, tag("span", facts, class_="soft"), code(part.query), delta, tag("p", costs, class_="soft")
    )


def _code(report: Report) -> Html:
    if not report.code:
        return Html("")
    blocks = [
        tag("details", tag("summary", tag("code", f.name)), code(f.source, PYTHON)) for f in report.code
    ]
    return _section("Generated code", tag("article", *blocks, class_="card"))
