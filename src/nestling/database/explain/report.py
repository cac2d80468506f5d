"""What is known of a view, as plain data: texts, numbers and lists, so that it is also JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class PlaceReport:
    """A place in the text that the user wrote: a line, counted from 1, and what of it is meant."""

    line: int
    column: int
    length: int
    #: The line, without its indentation, from which ``column`` counts.
    text: str

    @property
    def marked(self) -> str:
        """What is meant."""
        return self.text[self.column : self.column + self.length]


@dataclass(frozen=True)
class ConstructReport:
    """One construct of the query: the code of its class, what a change of it costs, and why."""

    code: str
    text: str
    cost: str
    reason: str
    #: Whether it keeps the query from being efficiently incrementalizable.
    obstacle: bool
    #: What of the text it was read from, if a front end said so.
    place: PlaceReport | None


@dataclass(frozen=True)
class PartReport:
    """One flat query of the shredded form, with its delta; ``params`` are the columns of its labels."""

    name: str
    params: list[str]
    query: str
    delta: str
    degree: str
    #: What makes the degree ⊤.
    degree_because: str
    cost: str
    delta_cost: str


@dataclass(frozen=True)
class RecursionReport:
    """A recursion that the view reads: its table, what it is called, and the tables it follows with their rows."""

    table: str
    text: str
    follows: dict[str, int]


@dataclass(frozen=True)
class MapReport:
    """A stored map: what is under which key, what for, and how much it is now."""

    name: str
    keys: list[str]
    measures: list[str]
    role: str
    purpose: str
    why: str
    definition: str
    #: Where it is read: when which table changes, or for which part of the answer.
    read_by: list[str]
    #: The other views that read it.
    shared_with: list[str]
    indexes: list[list[str]]
    entries: int
    bytes: int


@dataclass(frozen=True)
class TableReport:
    """A table as far as the view reads it: by which columns it is indexed."""

    name: str
    columns: list[str]
    key: list[str]
    indexes: list[list[str]]
    read_by: list[str]
    entries: int
    bytes: int


@dataclass(frozen=True)
class StepReport:
    """One step of a plan. ``access`` is probe, slice, range (of a slice), scan, bag, test or compute."""

    text: str
    access: str
    source: str = ""
    by: list[str] = field(default_factory=list)
    #: How many entries it finds, on average, as things stand.
    finds: float = 1.0


@dataclass(frozen=True)
class WorkReport:
    """A statement: what it does, step by step, and what that costs."""

    text: str
    #: The map that it adds to; of a reading, ``answer``.
    target: str
    cost: str
    finds: float
    steps: list[StepReport]
    #: Who runs it, and what its sources cost there, as the engine says.
    runs: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class BatchReport:
    """Statements that start from the same: a row, or a change of a map that the row brought about."""

    when: str
    statements: list[WorkReport]


@dataclass(frozen=True)
class TriggerReport:
    """What one row of a table sets off for this view, on top of being stored itself."""

    table: str
    columns: list[str]
    cost: str
    batches: list[BatchReport]
    #: What a batch of rows takes, as the engine says.
    batch: str = ""


@dataclass(frozen=True)
class ReadingReport:
    """How rows, or the elements of one inner bag, are found when they are asked for.

    ``kind`` is stored (they are what a map holds), whole (a map holds them for every label in use), table (they are
    rows of a table), assembled (they are put together from parts) or input (the bag of a table, as it is).
    """

    what: str
    path: str
    given: list[str]
    kind: str
    why: str
    parts: list[WorkReport]
    #: Of an inner bag that is put together: where its parts are, and what they are found by.
    keyed: list[str] = field(default_factory=list)
    #: What it would cost to store an inner bag the other way.
    otherwise: str = ""


@dataclass(frozen=True)
class WayReport:
    """One way to store a view: operations per change of a row and per row read, and what it would take."""

    text: str
    chosen: bool
    maps: int
    change: float
    read: float
    entries: int
    bytes: int
    #: Why there is no program for it.
    refused: str


@dataclass(frozen=True)
class StorageReport:
    """How a view is stored: as ``chosen``, by what the ``code`` says, among some ``ways``.

    ``code`` is KNOB (as asked for), KEYS (by declared keys), COST (the estimate is clearly less) or MEMORY (what was
    asked for does not fit). ``grounds`` are the rows and values that the estimates start from, ``notes`` the parts
    that are not stored as asked for.
    """

    chosen: str
    code: str
    why: str
    memory: int | None
    ways: list[WayReport]
    grounds: list[str]
    notes: list[str]


@dataclass(frozen=True)
class FunctionReport:
    """A generated function."""

    name: str
    source: str


@dataclass(frozen=True)
class Report:
    """All of it."""

    view: str
    #: Which engine keeps it.
    engine: str
    type: str
    query: str
    reads: list[str]
    recursions: list[RecursionReport]
    refresh: str
    store: str
    verdict: str
    #: Whether changes are passed on; else every read evaluates the query, and ``reason`` says why.
    maintained: bool
    reason: str
    #: The reason in a word: KNOB, MEMORY, CAP, UNBOUND, NEGATIVE, TWICE or NO FLAT FORM.
    code_of_reason: str
    #: The maps whose changes are passed on only when the view is read.
    waits: list[str]
    #: What else there is to say of how it is kept now.
    notes: list[str]
    warnings: list[str]
    degree: str
    degree_because: str
    cost: str
    time: str
    constructs: list[ConstructReport]
    parts: list[PartReport]
    #: None where there is no program for the view.
    storage: StorageReport | None
    maps: list[MapReport]
    tables: list[TableReport]
    readings: list[ReadingReport]
    triggers: list[TriggerReport]
    code: list[FunctionReport]

    def data(self) -> dict[str, Any]:
        """The report as dictionaries and lists."""
        return asdict(self)
