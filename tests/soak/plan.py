"""A plan: tables, views, knobs and changes, all as data. The same seed makes the same plan."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from tests.soak.changes import filled, step
from tests.soak.interrupts import way
from tests.soak.model import Model, Refused, after
from tests.soak.oracle import Oracle, Unjudged, flat
from tests.soak.pyviews import PyWriter
from tests.soak.schema import Column, Table, tables
from tests.soak.sqlviews import SqlWriter, picked
from tests.soak.steps import Abandoned, Step

STORES = ("auto", "auto", "auto", "auto", "full", "full", "full", "counts", "counts", "none")
REFRESHES = ("eager", "eager", "eager", "lazy", "hybrid")
#: How often a plan is interrupted, and a file opened again, on the average.
INTERRUPTED, REOPENED = 5, 3
#: So many views are tried until one has an answer that is not empty to begin with.
ATTEMPTS = 4


@dataclass(frozen=True)
class View:
    """A view: its text, DuckDB's if it is SQL, its knobs, and its columns if others may read it."""

    name: str
    language: str
    text: str
    theirs: str
    store: str = "auto"
    refresh: str = "eager"
    watched: bool = False
    columns: tuple[Column, ...] = ()

    @property
    def asked(self) -> str:
        """What the oracle is asked."""
        return self.theirs or self.text

    @property
    def is_flat(self) -> bool:
        """Whether other views may read it: its columns are known, and are scalars."""
        return bool(self.columns) and all(column.kind != "bag" for column in self.columns)


@dataclass(frozen=True)
class Plan:
    """All that a run needs."""

    seed: int
    tables: tuple[Table, ...]
    views: tuple[View, ...]
    constraints: tuple[View, ...]
    steps: tuple[Step, ...]
    durable: bool = False
    memory: str | None = None

    @property
    def named(self) -> dict[str, Table]:
        return {table.name: table for table in self.tables}

    def but(self, **changes: Any) -> "Plan":
        return replace(self, **changes)


def plan(seed: int, changes: int = 100, many: int = 6) -> Plan:
    """A random plan with up to ``many`` views and as many changes as said."""
    rng = Random(f"soak {seed}")
    made = tables(rng)
    model: Model = {table.name: [] for table in made}
    steps: list[Step] = []
    for table in made:
        steps.append(("insert", table.name, filled(rng, table, model)))
        model = model | {table.name: steps[-1][2]}
    found = views(rng, made, model, rng.randint(max(1, many - 2), many))
    durable, memory = rng.random() < 0.3, rng.choice([None, None, None, "20kB", "1MB"])
    steps += later(rng, made, model, [view.name for view in found], changes, durable)
    return Plan(seed, made, found, constraint(rng, made), tuple(steps), durable, memory)


def later(
    rng: Random, made: tuple[Table, ...], model: Model, names: list[str], changes: int, durable: bool
) -> Iterator[Step]:
    """Changes one after the other; now and then one is interrupted, or the file is opened again."""
    named = {table.name: table for table in made}
    for _ in range(changes):
        if durable and rng.random() < REOPENED / changes:
            yield ("reopen",)
        new = step(rng, made, model, names)
        hit = rng.random() < INTERRUPTED / changes
        yield ("interrupt", new, *way(rng)) if hit else new
        try:
            model = after(model, named, new)
        except (Refused, Abandoned):
            continue


def views(rng: Random, made: tuple[Table, ...], model: Model, count: int) -> tuple[View, ...]:
    """Views over tables, and over views before them."""
    relations = {table.name: table.columns for table in made}
    oracle = Oracle()
    for table in made:
        oracle.tell(table.name, table.columns, model[table.name])
    found: list[View] = []
    for number in range(count):
        for _ in range(ATTEMPTS):
            view = one_view(rng, f"v{number}", relations)
            if rows := _rows(oracle, view):
                break
        found.append(view)
        if view.is_flat and rng.random() < 0.3:
            relations = relations | {view.name: view.columns}
            oracle.tell(view.name, view.columns, flat(rows))
    return tuple(found)


def _rows(oracle: Oracle, view: View) -> list[Any]:
    """What a view has now, if anybody can say."""
    try:
        return oracle.said(view.language, view.asked)
    except Unjudged:
        return []


def one_view(rng: Random, name: str, relations: dict[str, tuple[Column, ...]]) -> View:
    knobs = {
        "store": rng.choice(STORES), "refresh": rng.choice(REFRESHES), "watched": rng.random() < 0.4,
    }  # fmt: skip
    if rng.random() < 0.5:
        text, columns = PyWriter(rng, relations).view()
        return View(name, "python", text, "", columns=columns, **knobs)  # type: ignore[arg-type]
    text, columns = SqlWriter(rng, relations).query()
    return View(name, "sql", picked(text, 1), picked(text, 2), columns=columns, **knobs)  # type: ignore[arg-type]


def constraint(rng: Random, made: tuple[Table, ...]) -> tuple[View, ...]:
    """A query that must stay empty, in one plan of four."""
    table = rng.choice(made)
    name = rng.choice([column for column in table.columns if column.kind == "int"])
    text = rng.choice(
        [
            f"[1 for x in {table.name} if len([1 for y in {table.name} if y.{name.name} == x.{name.name}]) > 4]",
            f"[x.{name.name} for x in {table.name} if x.{name.name} == 3 and len({table.name}) > 6]",
        ]
    )
    return (View("c0", "python", text, ""),) if rng.random() < 0.25 else ()
