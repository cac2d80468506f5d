"""A view made from SQL text, fed a stream: by its triggers, by a user's calls, in batches; and DuckDB beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from threading import Timer
from time import perf_counter, process_time
from typing import Any, TypeVar

from benchmarks.workloads.workload import Event
from nestling import Database
from nestling.engine.local.engine import LocalEngine
from nestling.program.statements import Total, Where
from nestling.program.steps import every_step, plans

T = TypeVar("T")
WORDS = {int: "BIGINT", str: "STRING", date: "DATE"}
BATCH = 1_000
#: A query that DuckDB has not answered after so many seconds is stopped.
PATIENCE = 20.0


@dataclass(frozen=True)
class Query:
    """A query of a workload: its text, the tables of the workload, and the stream."""

    name: str
    text: str
    module: Any
    load: Sequence[Event]
    events: Sequence[Event]

    def database(self) -> Database:
        """The tables that the query reads, and the view."""
        db = Database()
        for table, columns in self.module.SCHEMA.items():
            if table in self.reads:
                db.table(table, declared(columns), key=self.module.KEYS[table])
        db.view("v", self.text)
        return db

    @property
    def reads(self) -> set[str]:
        words = set(self.text.lower().replace(",", " ").split())
        return {table for table in self.module.SCHEMA if table in words}


def declared(columns: dict[str, Any]) -> str:
    """The columns of a table as SQL declares them."""
    return ", ".join(f"{name} {WORDS[type_]}" for name, type_ in columns.items())


def relevant(query: Query) -> tuple[list[Event], list[Event]]:
    """Those events of tables that the query reads."""
    reads = query.reads
    load, events = ([e for e in part if e[0] in reads] for part in (query.load, query.events))
    return load, events


def by_triggers(query: Query, seconds: float, reading: bool) -> float:
    """Events a second by the generated triggers, one at a time; ``reading``: the answer is read after each."""
    program = query.database()._state.engine.program
    engine = LocalEngine(program)
    load, events = relevant(query)
    for table, row, times in load:
        engine.triggers[table](row, times)
    on = engine.triggers

    def one(event: Event) -> None:
        table, row, times = event
        on[table](row, times)

    def one_and_read(event: Event) -> None:
        table, row, times = event
        on[table](row, times)
        engine.read("v")

    return rate(one_and_read if reading else one, events, seconds)


def adds_up_on_reading(query: Query) -> bool:
    """Whether reading the view adds up what its triggers left apart: an event has its price only with a reading."""
    view = query.database()._state.engine.program.views["v"]
    steps = (step for plan in plans(view) for statement in plan.statements for step in every_step(statement))
    return any(isinstance(step, Where | Total) for step in steps)


def by_calls(query: Query, db: Database, seconds: float, reading: bool) -> float:
    """Events a second by ``db.insert`` and ``db.delete``, one row each."""
    load, events = relevant(query)
    for chunk in chunks(load, BATCH):
        db.apply(changes(chunk))

    def one(event: Event) -> None:
        table, row, times = event
        (db.insert if times > 0 else db.delete)(table, [row])
        if reading:
            db._read("v")

    return rate(one, events, seconds)


def by_batches(query: Query, db: Database, seconds: float, reading: bool) -> tuple[float, list[Event]]:
    """Events a second by ``db.apply``, a thousand at once; and the events that were applied."""
    load, events = relevant(query)
    for chunk in chunks(load, BATCH):
        db.apply(changes(chunk))
    batches = [(chunk, changes(chunk)) for chunk in chunks(events, BATCH)]
    done: list[Event] = list(load)
    start = process_time()
    count = 0
    for chunk, batch in batches:
        db.apply(batch)
        if reading:
            db._read("v")
        count += len(chunk)
        done += chunk
        if process_time() - start > seconds:
            break
    return count / (process_time() - start), done


def changes(events: Sequence[Event]) -> dict[str, Counter[Any]]:
    """A Z-bag for each table; a row that comes and goes is not in it."""
    found: dict[str, Counter[Any]] = {}
    for table, row, times in events:
        found.setdefault(table, Counter())[row] += times
    return {table: Counter({r: n for r, n in bag.items() if n}) for table, bag in found.items()}


def chunks(events: Sequence[Event], size: int) -> Iterator[Sequence[Event]]:
    for start in range(0, len(events), size):
        yield events[start : start + size]


def rate(one: Callable[[T], None], events: Sequence[T], seconds: float) -> float:
    """How often ``one`` is done in a CPU second; stops after some ``seconds``."""
    stream, done = iter(events), 0
    start = process_time()
    while portion := list(islice(stream, 200)):
        for event in portion:
            one(event)
        done += len(portion)
        if process_time() - start > seconds:
            break
    return done / max(process_time() - start, 1e-9)


def in_duckdb(query: Query, done: Sequence[Event]) -> tuple[float | None, list[Any]]:
    """Seconds that DuckDB takes to compute the query anew on the rows that are there, and the answer."""
    import duckdb
    import pyarrow

    duck = duckdb.connect()
    rows: dict[str, Counter[Any]] = {table: Counter() for table in query.reads}
    for table, row, times in done:
        rows[table][row] += times
    for table in query.reads:
        columns = query.module.SCHEMA[table]
        duck.execute(f"CREATE TABLE {table} ({declared(columns).replace('STRING', 'VARCHAR')})")
        live = [row for row, n in rows[table].items() if n]
        if live:
            content = pyarrow.table(dict(zip(columns, map(list, zip(*live, strict=True)), strict=True)))
            duck.register("content", content)
            duck.execute(f"INSERT INTO {table} SELECT * FROM content")
            duck.unregister("content")
    stop = Timer(PATIENCE, duck.interrupt)
    stop.start()
    start = perf_counter()
    try:
        answer = duck.execute(query.text).fetchall()
    except duckdb.InterruptException:
        return None, []
    finally:
        stop.cancel()
    return perf_counter() - start, answer
