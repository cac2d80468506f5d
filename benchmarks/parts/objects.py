"""Nakamura's three queries over objects that come, go and change; and updates along paths of several fan-outs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import Any

from benchmarks.parts.goals import Goal
from benchmarks.workloads import nakamura, nakamura_hand, nakamura_updates
from benchmarks.workloads.harness import Job, Timing, collector, measure, show, slower
from benchmarks.workloads.workload import as_bag
from nestling import Database
from nestling.database.programs import stored
from nestling.engine.local.engine import LocalEngine
from nestling.program.statements import Program
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.defer import deferred

PRIMARY = (1_000, 2_000, 4_000, 8_000)
RUNS = 7
LEAST = 40_000
#: At most so many times the hand-written time; and at 8K so many times the ratio at 1K.
BESIDE, GROWTH = 1.2, 1.1
Texts = Mapping[str, Any]


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


def database(view: str, text: Any, append_only: bool) -> Database:
    """The tables that ``view`` reads, and the view."""
    db = Database()
    needed = set(signature(nakamura.VIEWS[view]).parameters)
    for table, schema in nakamura.SCHEMA.items():
        if table in needed:
            refers: Mapping[str | tuple[str, ...], str] = {
                c: parent for c, parent in nakamura.REFERENCES.get(table, {}).items() if parent in needed
            }
            db.table(table, schema, key=nakamura.KEYS[table], references=refers, append_only=append_only)
    db.view(view, text)
    return db


def program(db: Database, view: str, stream: Stream) -> Program:
    """The program of ``view``, where a table says that what the stream never changes is fixed."""
    state = db._state
    tables = state.declarations()
    if not stream.append_only:
        every = {name: frozenset(range(len(table.columns))) for name, table in tables.items()}
        kept = {
            name: nakamura_updates.fixed(name) if stream.changing else all_ for name, all_ in every.items()
        }
        tables = {name: replace(table, fixed=tuple(sorted(kept[name]))) for name, table in tables.items()}
    return compile_views(tables, {view: state.views.maintained[view]}, store=stored(state.views))


Calls = list[tuple[Callable[..., object], tuple[Any, ...]]]


def calls(on: Mapping[str, Any], changed: Mapping[str, Any], events: Sequence[Any], pairs: bool) -> Calls:
    """What is called for each event; ``pairs``: an update is a list of pairs of an old and a new row."""
    found: Calls = []
    for table, row, other in events:
        if isinstance(other, int):
            if table in on:
                found.append((on[table], (row, other)))
        elif table in changed:
            found.append((changed[table], ([(row, other)],) if pairs else (row, other)))
    return found


@dataclass
class Prepared:
    """What is called, and what is done at the end."""

    calls: Calls
    end: Callable[[], object] = lambda: None


def generated(program: Program, load: Sequence[Any], events: Sequence[Any]) -> Prepared:
    engine = LocalEngine(program, keep_tables=False)
    run(Prepared(calls(engine.triggers, engine.updates, load, True)))
    return Prepared(calls(engine.triggers, engine.updates, events, True), engine.flush)


def by_hand(make: Callable[[], Any], load: Sequence[Any], events: Sequence[Any]) -> Prepared:
    part = make()
    changed = getattr(part, "changed", {})
    run(Prepared(calls(part.on, changed, load, False)))
    return Prepared(calls(part.on, changed, events, False), part.result)


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


def run(*made: Prepared) -> None:
    """The loop that is timed."""
    for each in made:
        for call, args in each.calls:
            call(*args)
        each.end()


def all_of(made: Sequence[Prepared]) -> None:
    run(*made)


def several(make: Callable[[], Prepared], times: int) -> list[Prepared]:
    return [make() for _ in range(times)]


def jobs(view: str, text: Any, stream: Stream, primary: int, entire: bool = False) -> dict[str, Job]:
    """Generated triggers, eager and hybrid, beside hand-written ones; with ``entire`` the calls of a user as well."""
    db = database(view, text, stream.append_only)
    eager = program(db, view, stream)
    hybrid = replace(eager, deferred=deferred(eager, {view}))
    load = list(nakamura.load(nakamura.Size(primary=primary)))
    events = stream.events(primary)
    makers: dict[str, Callable[[], Prepared]] = {
        "hand-written": partial(by_hand, stream.hand[view], load, events),
        "eager": partial(generated, eager, load, events),
        "hybrid": partial(generated, hybrid, load, events),
    }
    if entire:
        makers["whole call"] = partial(whole, partial(database, view, text, stream.append_only), load, events)
    number = len(makers["hand-written"]().calls)
    times = -(-LEAST // number)
    return {
        name: Job(
            number * (1 if name == "whole call" else times),
            partial(several, make, 1 if name == "whole call" else times),
            all_of,
        )
        for name, make in makers.items()
    }


def three_queries(quick: bool, texts: Texts = nakamura.VIEWS) -> list[Goal]:
    """The paper's queries at four amounts, three kinds of streams."""
    amounts, runs = ((200, 400), 3) if quick else (PRIMARY, RUNS)
    rows: list[list[str]] = []
    goals: list[Goal] = []
    for stream in STREAMS:
        for view, text in texts.items():
            ratios: dict[str, list[float]] = {"eager": [], "hybrid": []}
            entire = 0.0
            for primary in amounts:
                last = primary == amounts[-1]
                with collector(enabled=False):
                    timings = measure(jobs(view, text, stream, primary, entire=last), runs)
                for policy, found in ratios.items():
                    found.append(slower(timings[policy], timings["hand-written"]))
                if last:
                    entire = slower(timings["whole call"], timings["hand-written"])
                    speed = f"{timings['hand-written'].per_second:,.0f}"
            for policy, found in ratios.items():
                label = f"{view}, {stream.name}, {policy}"
                rows.append([label, *(f"{r:.2f}" for r in found), f"{entire:.1f}", speed])
                goals.append(Goal(f"{label}: trigger / hand-written", found[-1], BESIDE, unit="×"))
                goals.append(Goal(f"{label}: growth of that ratio", found[-1] / found[0], GROWTH, unit="×"))
    header = ["triggers / hand-written", *map(str, amounts), "a user's call / hand", "hand-written, events/s"]
    show(
        "Nakamura's queries by primary transactions: CPU time of a trigger as a multiple of a hand-written one",
        header,
        rows,
    )
    return goals


# -- updates along paths


def path_database(fan_out: int, customers: int, store: str) -> Database:
    """Customers with ``fan_out`` orders each, and a view of every order with the name of its customer."""
    db = Database()
    db.table("customers", {"id": int, "name": str, "notes": str}, key="id")
    db.table("orders", {"no": int, "customer": int}, key="no", references={"customer": "customers"})
    db.insert("customers", [(i, f"name {i}", "") for i in range(customers)])
    db.insert("orders", [(i * fan_out + j, i) for i in range(customers) for j in range(fan_out)])

    def names(orders, customers):  # type: ignore[no-untyped-def]
        return [(o.no, c.name) for o in orders for c in customers if c.id == o.customer]

    if store:
        db.view("names", names, store=store)
    return db


class Names:
    """The same by hand: a row per order, or the orders alone where names are looked up by who reads."""

    def __init__(self, db: Database) -> None:
        self.rows: dict[int, tuple[int, str]] = {}
        self.names: dict[int, Any] = {row[0]: row for row in db.tables["customers"].rows()}
        self.orders: dict[int, list[int]] = {}
        for no, customer in db.tables["orders"].rows():
            self.orders.setdefault(customer, []).append(no)
            self.rows[no] = no, self.names[customer][1]

    def stored(self, old: Any, row: Any) -> None:
        id_, name, _ = row
        self.names[id_] = row
        if name != old[1]:
            rows = self.rows
            for no in self.orders[id_]:
                rows[no] = no, name

    def looked_up(self, old: Any, row: Any) -> None:
        self.names[row[0]] = row


def path_updates(quick: bool) -> list[Goal]:
    """A used and an unused attribute, at three fan-outs; stored, and as the database chooses."""
    fan_outs, affected, runs = ((1, 10), 200, 3) if quick else ((1, 10, 1_000), 20_000, RUNS)
    rows: list[list[str]] = []
    goals: list[Goal] = []
    per_row: list[float] = []
    for fan_out in fan_outs:
        customers = max(affected // fan_out, 2)
        timings = path_timings(fan_out, customers, runs)
        ratio = slower(timings["stored"], timings["stored by hand"])
        looked = slower(timings["default"], timings["looked up by hand"])
        unread = slower(timings["unread"], timings["bare"])
        trigger = slower(timings["unread trigger"], timings["looked up by hand"])
        per_row.append(1e9 / timings["stored"].per_second / fan_out)
        rows.append(
            [
                f"{fan_out:,}",
                f"{per_row[-1]:,.0f}",
                f"{ratio:.2f}",
                f"{looked:.2f}",
                f"{trigger:.2f}",
                f"{unread:.2f}",
            ]
        )
        goals.append(Goal(f"fan-out {fan_out:,}, stored: trigger / hand-written", ratio, BESIDE, unit="×"))
        goals.append(
            Goal(f"fan-out {fan_out:,}, by default: trigger / hand-written", looked, BESIDE, unit="×")
        )
        goals.append(
            Goal(
                f"fan-out {fan_out:,}: unread attribute / bare write, a user's call", unread, BESIDE, unit="×"
            )
        )
    flat = max(per_row[1:]) / min(per_row[1:])
    goals.append(Goal("time per affected row from fan-out 10 on", flat, 1.5, unit="×"))
    header = [
        "fan-out", "stored: ns per affected row", "stored / hand", "default / hand", "unread / a dictionary",
        "unread call / bare call",
    ]  # fmt: skip
    show("An attribute of an object that many refer to", header, rows)
    return goals


def path_timings(fan_out: int, customers: int, runs: int) -> dict[str, Timing]:
    """Every customer is renamed, or given a note."""
    stored, default, bare = (path_database(fan_out, customers, store) for store in ("full", "auto", ""))
    hand = Names(stored)
    there = [tuple(row) for row in stored.tables["customers"].rows()]
    pairs = [((i, name, notes), (i, f"{name}!", notes)) for i, name, notes in there]
    noted = [((i, name, notes), (i, name, f"{notes}!")) for i, name, notes in there]

    def update(db: Database) -> Callable[..., None]:
        return db._state.engine.updates["customers"]

    def note(db: Database) -> Callable[..., Any]:
        return lambda _, new: db.update("customers", key=new[0], set={"notes": new[2]})

    def job(change: Callable[..., Any], moves: list[Any], pairs: bool = False) -> Job:
        back = [(new, old) for old, new in moves]
        there_and_back = [([pair],) if pairs else pair for pair in (*moves, *back)]
        times = -(-2_000 // len(there_and_back) // fan_out) or 1

        def body(_: Any) -> None:
            for _ in range(times):
                for args in there_and_back:
                    change(*args)

        return Job(times * len(there_and_back), lambda: None, body)

    with collector(enabled=False):
        return measure(
            {
                "stored by hand": job(hand.stored, pairs),
                "stored": job(update(stored), pairs, True),
                "looked up by hand": job(hand.looked_up, pairs),
                "default": job(update(default), pairs, True),
                "unread trigger": job(update(stored), noted, True),
                "bare": job(note(bare), noted),
                "unread": job(note(stored), noted),
            },
            runs,
        )


def agree(primary: int, texts: Texts = nakamura.VIEWS) -> None:
    """Raise unless generated and hand-written views are the same at the end of every stream."""
    for stream in STREAMS:
        for view, text in texts.items():
            db = database(view, text, stream.append_only)
            events = [*nakamura.load(nakamura.Size(primary=primary)), *stream.events(primary)]
            part = stream.hand[view]()
            run(Prepared(calls(part.on, getattr(part, "changed", {}), events, False)))
            for kind in (program(db, view, stream), db._state.engine.program):
                engine = LocalEngine(kind)
                run(Prepared(calls(engine.triggers, engine.updates, events, True)))
                answer = [row for row, times in engine.read(view).items() for _ in range(times)]
                if as_bag(answer) != as_bag(part.result()):
                    raise AssertionError(f"{view} differs after {stream.name}")
