"""Nakamura's three queries over objects that come, go and change, beside the same by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.parts.goals import Goal
from benchmarks.parts.turns import Calls, Found, Prepared, Spent, in_fresh_processes, ratio, run, turns
from benchmarks.workloads import nakamura, nakamura_hand, nakamura_updates
from benchmarks.workloads.harness import collector, show
from benchmarks.workloads.workload import as_bag
from nestling import Database
from nestling.engine.local.engine import LocalEngine
from nestling.program.statements import Program

PRIMARY = (1_000, 2_000, 4_000, 8_000)
#: In each process a stream is run until so many calls were made.
LEAST = 80_000
#: At most so many times the hand-written time; and at 8K so many times the ratio at 1K.
BESIDE, GROWTH = 1.2, 1.1
POLICIES = ("eager", "hybrid")
#: The hand-written views a second time: how far this is from one says how far the other figures can be trusted.
AGAIN = "hand-written again"
Texts = Mapping[str, str]


@dataclass(frozen=True)
class Stream:
    """One kind of stream: what its tables promise, and the views by hand that allow the same."""

    name: str
    append_only: bool
    changing: bool
    hand: Mapping[str, Callable[[], Any]]

    def events(self, primary: int) -> list[Any]:
        """Rows with a sign, or with the row that takes their place."""
        size = nakamura.Size(primary=primary, withdrawn=0.2 if self.name == "withdrawals" else 0.0)
        return list(nakamura_updates.changes(size) if self.changing else nakamura.events(size))


BY_HAND = nakamura_hand.HandWritten.PARTS
STREAMS = (
    Stream("inserts", True, False, BY_HAND),
    Stream("withdrawals", False, False, BY_HAND),
    Stream("attribute updates", False, True, nakamura_updates.PARTS),
)


def database(view: str, text: str, stream: Stream, refresh: str = "eager") -> Database:
    """Those objects of the paper that the view reads, of which the stream changes what is not fixed; and the view."""
    db, read = Database(), stream.hand[view]().on
    for table, columns in nakamura.SCHEMA.items():
        if table not in read:
            continue
        every = list(columns)
        inverse = nakamura.INVERSES.get(table, {})
        db.table(
            table,
            columns,
            key=nakamura.KEYS[table],
            references={c: to for c, to in nakamura.REFERENCES.get(table, {}).items() if to in read},
            inverse={name: path for name, path in inverse.items() if path.split(".")[0] in read},
            append_only=stream.append_only,
            fixed=[every[i] for i in sorted(nakamura_updates.fixed(table))] if stream.changing else True,
        )
    db.view(view, text, language="oql", refresh=refresh, strict=False)
    return db


def calls(on: Mapping[str, Any], changed: Mapping[str, Any], events: Sequence[Any]) -> Calls:
    """What is called for each event: with a row and a sign, or with an old and a new row."""
    found: Calls = []
    for table, row, other in events:
        called = on if isinstance(other, int) else changed
        if table in called:
            found.append((called[table], (row, other)))
    return found


def functions(engine: LocalEngine) -> tuple[dict[str, Any], dict[str, Any]]:
    """The triggers of all tables, and of those whose rows change; they are written when they are asked for."""
    program = engine.program
    triggers = {table: engine.triggers[table] for table in program.tables}
    return triggers, {table: engine.updates[table] for table in program.updates}


def generated(program: Program, view: str, load: Sequence[Any], events: Sequence[Any]) -> Prepared:
    """Triggers that keep what the view needs and no more, as those by hand do; at the end all of it is read."""
    engine = LocalEngine(program, keep_tables=False)
    run(Prepared(calls(*functions(engine), load)))
    return Prepared(calls(*functions(engine), events), partial(read, engine, view))


def read(engine: LocalEngine, view: str) -> list[Any]:
    """The answer; none of these has inner bags."""
    return [row for row, times in engine.flat_rows(view) for _ in range(times)]


def by_hand(make: Callable[[], Any], load: Sequence[Any], events: Sequence[Any]) -> Prepared:
    part = make()
    changed = getattr(part, "changed", {})
    run(Prepared(calls(part.on, changed, load)))
    return Prepared(calls(part.on, changed, events), part.result)


def whole(make: Callable[[], Database], load: Sequence[Any], events: Sequence[Any]) -> Prepared:
    """By the calls of a user, one row each."""
    db = make()
    tables = set(db.tables)
    found: Calls = []
    for table, row, other in (*load, *events):
        key = row[0]
        if table not in tables:
            continue
        if not isinstance(other, int):
            names = list(nakamura.SCHEMA[table])
            found.append(
                (partial(db.update, key=key, set=dict(zip(names[1:], other[1:], strict=True))), (table,))
            )
        else:
            found.append((db.insert if other > 0 else db.delete, (table, [row])))
    first = sum(event[0] in tables for event in load)
    run(Prepared(found[:first]))
    return Prepared(found[first:])


def spent(number: int, view: str, kind: int, primary: int, least: int, entire: bool) -> dict[str, Spent]:
    """Generated triggers, eager and hybrid, beside hand-written ones and these again; with ``entire`` a user's calls.

    A user's calls take longer by far, so there is one round of them, in the first process.
    """
    text, stream = nakamura.OQL[view], STREAMS[kind]
    load = list(nakamura.load(nakamura.Size(primary=primary)))
    events = stream.events(primary)
    hand = partial(by_hand, stream.hand[view], load, events)
    makers: dict[str, Callable[[], Prepared]] = {"hand-written": hand, AGAIN: hand}
    for policy in POLICIES:
        program = database(view, text, stream, policy)._state.engine.program
        makers[policy] = partial(generated, program, view, load, events)
    with collector(enabled=False):
        found = turns(makers, -(-least // len(hand().calls)), seed=number)
        if entire and not number:
            user = partial(whole, partial(database, view, text, stream), load, events)
            found["whole call"] = turns({"whole call": user, "hand-written": hand}, 1)["whole call"]
    return found


def three_queries(quick: bool, views: Sequence[str] = tuple(nakamura.OQL)) -> list[Goal]:
    """The paper's queries at four amounts, three kinds of streams."""
    amounts, least = ((200, 400), 1) if quick else (PRIMARY, LEAST)
    rows: list[list[str]] = []
    goals: list[Goal] = []
    for kind, stream in enumerate(STREAMS):
        for view in views:
            found = [in_fresh_processes(spent, view, kind, n, least, n == amounts[-1]) for n in amounts]
            for policy in (*POLICIES, AGAIN):
                label = f"{view}, {stream.name}, {policy}"
                ratios = [ratio(each, policy, "hand-written") for each in found]
                rows.append([label, *(f"{each:.2f}" for each in ratios), *_beside(found[-1][0], policy)])
                if policy != AGAIN:
                    goals += _goals(label, amounts, ratios)
            print(f"{view}, {stream.name}: done", flush=True)
    header = [
        "triggers / hand-written", *map(str, amounts), "hand-written, ns", "reading all, µs", "by hand, µs",
        "a user's call / hand",
    ]  # fmt: skip
    show(
        "Nakamura's queries by primary transactions: CPU time of a trigger as a multiple of a hand-written one",
        header,
        rows,
        plain=True,
    )
    return goals


def _beside(last: Found, policy: str) -> list[str]:
    """In the first process at the largest amount: what the ratio is of, reading the answer, and a user's whole call."""
    hand = last["hand-written"]
    return [
        f"{hand.each * 1e9:,.0f}",
        f"{last[policy].end * 1e6:,.0f}",
        f"{hand.end * 1e6:,.0f}",
        f"{last['whole call'].each / hand.each:.0f}",
    ]


def _goals(label: str, amounts: Sequence[int], ratios: Sequence[float]) -> list[Goal]:
    beside = [
        Goal(f"{label}, {n:,}: trigger / hand-written", each, BESIDE, unit="×")
        for n, each in zip(amounts, ratios, strict=True)
    ]
    return [*beside, Goal(f"{label}: growth of that ratio", ratios[-1] / ratios[0], GROWTH, unit="×")]


def agree(primary: int, texts: Texts = nakamura.OQL) -> None:
    """Raise unless generated and hand-written views are the same at the end of every stream."""
    for stream in STREAMS:
        for view, text in texts.items():
            events = [*nakamura.load(nakamura.Size(primary=primary)), *stream.events(primary)]
            part = stream.hand[view]()
            run(Prepared(calls(part.on, getattr(part, "changed", {}), events)))
            for policy in POLICIES:
                engine = LocalEngine(database(view, text, stream, policy)._state.engine.program)
                run(Prepared(calls(*functions(engine), events)))
                if as_bag(read(engine, view)) != as_bag(part.result()):
                    raise AssertionError(f"{view} differs after {stream.name}")
