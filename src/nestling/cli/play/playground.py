"""What is being played with: a database, the view that is tried on it, and who watches.

Everything that the page asks for is a method here, and its answer plain data for JSON. A change is told to all who
listen, once per commit, with what it changed in the view and what that took.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from math import isfinite
from pathlib import Path
from queue import SimpleQueue
from random import Random
from tempfile import mkdtemp
from threading import RLock
from typing import Any

from nestling.calculus.maps import is_map
from nestling.calculus.types import Bag, Record, Scalar, show_type
from nestling.cli.play.samples import SAMPLES, Sample
from nestling.database import Database
from nestling.database.explain import collect
from nestling.database.explain.html import sections
from nestling.database.explain.report import Report
from nestling.database.jsonl import from_json, to_json
from nestling.database.markup import Html
from nestling.database.refresh import Refresh
from nestling.database.table import Table
from nestling.database.xml.view import XQueryView
from nestling.errors import ChangeError, EvaluatedOnRead, NestlingError, QueryError

#: The name of the view that is tried.
VIEW = "answer"
#: Rows of a table that the page shows.
SHOWN = 40
#: Ints that JavaScript holds as they are.
EXACT = 2**53
LANGUAGES = ("python", "sql", "oql", "xquery")


@dataclass
class Work:
    """What one row of each table sets off, and what all changes since the view was made took.

    ``done`` counts rows that came or went, entries that their triggers look at by the estimate of ``explain``, and
    places of the answer that changed. ``anew`` is what computing the answer anew takes at least: each row of the
    tables read, each element of the answer written.
    """

    per_row: Mapping[str, float] = field(default_factory=dict)
    done: float = 0.0
    anew: float = 0.0

    def data(self) -> dict[str, int]:
        return {"done": round(self.done), "anew": round(self.anew)}


class Playground:
    """A database on which one view is tried."""

    def __init__(self, file: Path | None = None, seed: int | None = None) -> None:
        self._lock, self._seed = RLock(), seed
        self._listeners: list[SimpleQueue[dict[str, Any]]] = []
        self._file = file
        self.open("file" if file else next(iter(SAMPLES)))

    # -- which database

    def open(self, name: str) -> dict[str, Any]:
        """Begin with another database: a sample, made anew, or a copy of the user's file."""
        if name not in SAMPLES and not (name == "file" and self._file):
            raise QueryError(f"there is no sample {name!r}", hint=f"one of {', '.join(SAMPLES)}")
        with self._lock:
            random = Random(self._seed)
            if name == "file":
                assert self._file is not None
                database, sample = _copy_of(self._file), None
            else:
                database, sample = Database(), SAMPLES[name]
                sample.build(database, random)
            self._database, self._sample, self._random = database, sample, random
            self._name, self._work = name, Work()
            #: What the last commit changed in the answer: places, the patch, and whether it is XML that changed.
            self._places, self._patch, self._xml = 0, None, False
            self._tell({"kind": "opened"})
            return self.state()

    @property
    def _samples(self) -> list[str]:
        return [*(["file"] if self._file else []), *SAMPLES]

    def state(self) -> dict[str, Any]:
        """All that the page shows on the left."""
        with self._lock:
            sample: Sample | None = self._sample
            return {
                "database": self._name,
                "databases": self._samples,
                "texts": [vars_of(text) for text in sample.texts] if sample else [],
                "steps": sample is not None,
                "version": self._database.version,
                **self.tables(),
            }

    def tables(self) -> dict[str, Any]:
        """The tables with their first rows, and the documents."""
        with self._lock:
            return {
                "tables": [_table(table) for table in self._database.tables.values()],
                "documents": [
                    {"name": name, "xml": document.xml()}
                    for name, document in self._database.documents.items()
                ],
            }

    # -- the view

    def define(self, text: str, language: str) -> dict[str, Any]:
        """Try a view: its answer and how it is kept."""
        if language not in LANGUAGES:
            raise QueryError(f"there is no language {language!r}", hint=f"one of {', '.join(LANGUAGES)}")
        with self._lock:
            self._forget()
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always", EvaluatedOnRead)
                view = self._database.view(VIEW, text, language=language)
            view.subscribe(self._changed)
            explained, per_row = self._explained(view)
            self._work = Work(per_row)
            said = [str(each.message) for each in told if issubclass(each.category, EvaluatedOnRead)]
            return {"explained": explained, "warnings": said, **self.answer()}

    def _forget(self) -> None:
        if VIEW in self._database.views:
            self._database.drop(VIEW)

    def answer(self) -> dict[str, Any]:
        """The answer of the view as it is."""
        with self._lock:
            view = self._database.views.get(VIEW)
            if view is None:
                return {"view": False, "version": self._database.version}
            found: dict[str, Any] = {
                "view": True,
                "version": self._database.version,
                "work": self._work.data(),
            }
            if isinstance(view, XQueryView):
                return {**found, "xml": view.xml()}
            return {**found, "rows": plain(view.document()), "type": show_type(Bag(view.element))}

    def _explained(self, view: Any) -> tuple[str, Mapping[str, float]]:
        if isinstance(view, XQueryView):
            return Html(view.explain(format="html", page=False)), {}
        with self._database._reading():
            report = collect(self._database._state, VIEW, code=True)
        return sections(report), _per_row(report)

    # -- changes

    def change(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out one change that the page asks for."""
        with self._lock:
            do = _CHANGES.get(str(asked.get("what")))
            if do is None:
                raise ChangeError(
                    f"there is no change {asked.get('what')!r}", hint=f"one of {', '.join(_CHANGES)}"
                )
            return self._committed(lambda: do(self._database, asked))

    def step(self) -> dict[str, Any]:
        """One change at random."""
        with self._lock:
            sample = self._sample
            if sample is None:
                raise ChangeError("only a sample changes by itself", hint="change a row of your tables")
            return self._committed(lambda: sample.step(self._database, self._random))

    def _committed(self, run: Callable[[], Refresh]) -> dict[str, Any]:
        self._places, self._patch, self._xml = 0, None, False
        refresh = run()
        self._count(refresh.tables)
        told = {
            "kind": "changed", "version": refresh.version, "patch": self._patch, "xml": self._xml,
            "work": self._work.data(),
        }  # fmt: skip
        self._tell(told)
        return told

    def _changed(self, change: Any) -> None:
        """A subscriber of the view: what to light up."""
        if hasattr(change, "to_xml_patch"):
            self._xml, self._places = True, len(change.operations)
            return
        patch = change.to_json_patch()
        self._patch, self._places = plain(patch), len(patch)

    def _count(self, events: Mapping[str, int]) -> None:
        if VIEW not in self._database.views:
            return
        rows = sum(times * (1 + self._work.per_row.get(name, 0.0)) for name, times in events.items())
        self._work.done += max(rows, 1) + self._places
        self._work.anew += self._least_anew()

    def _least_anew(self) -> int:
        """Rows that are read and elements that are written, if the answer is computed anew."""
        view = self._database.views[VIEW]
        if isinstance(view, XQueryView):
            return sum(document.xml().count("<") for document in self._database.documents.values())
        with self._database._reading():
            reads = collect(self._database._state, VIEW).reads
        tables = [self._database.table(name) for name in reads]
        read = sum(_elements([to_json(table.record, row) for row in table.rows()]) for table in tables)
        return read + _elements(plain(view.document()))

    # -- who watches

    def listen(self) -> SimpleQueue[dict[str, Any]]:
        """A queue that gets every event from now on."""
        queue: SimpleQueue[dict[str, Any]] = SimpleQueue()
        with self._lock:
            self._listeners.append(queue)
        return queue

    def leave(self, queue: SimpleQueue[dict[str, Any]]) -> None:
        with self._lock:
            self._listeners.remove(queue)

    def _tell(self, event: dict[str, Any]) -> None:
        for queue in self._listeners:
            queue.put(event)


def _copy_of(file: Path) -> Database:
    """A copy to play with: the user's own file stays as it is."""
    copy = Path(mkdtemp(prefix="nestling-play-")) / file.name
    with Database(file) as database:
        database.backup(copy)
    return Database(copy)


def _per_row(report: Report) -> dict[str, float]:
    """By table the entries that the triggers of one row look at."""
    return {
        trigger.table: sum(work.finds for batch in trigger.batches for work in batch.statements)
        for trigger in report.triggers
    }


def _elements(value: Any) -> int:
    """How many elements the bags in ``value`` have, at every depth."""
    if isinstance(value, list):
        return len(value) + sum(map(_elements, value))
    return sum(map(_elements, value.values())) if isinstance(value, dict) else 0


def vars_of(text: Any) -> dict[str, str]:
    return {"title": text.title, "language": text.language, "text": text.text}


def _table(table: Table) -> dict[str, Any]:
    record = table.record
    rows = sorted(table.rows(), key=repr) if not table.key else table.rows()
    maps = [name for name, type_ in record.fields if is_map(type_)]
    bags = [name for name, type_ in record.fields if isinstance(type_, Bag) and name not in maps]
    return {
        "name": table.name,
        "key": list(table.key),
        "columns": [{"name": name, "type": show_type(type_)} for name, type_ in record.fields],
        "bags": bags,
        "maps": maps,
        "count": len(rows),
        "rows": [plain(to_json(record, row)) for row in rows[:SHOWN]],
    }


# -- what the page may ask for


def _key(table: Table, value: Any) -> Any:
    types = [dict(table.record.fields)[name] for name in table.key]
    values = value if isinstance(value, list) else [value]
    if len(values) != len(types):
        raise ChangeError(f"{table.name} has a key of {len(types)} columns", hint=", ".join(table.key))
    found = [from_json(type_, each) for type_, each in zip(types, values, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _insert(db: Database, asked: Mapping[str, Any]) -> Refresh:
    table = db.table(str(asked.get("table")))
    return table.insert([from_json(table.record, asked.get("row"))])


def _delete(db: Database, asked: Mapping[str, Any]) -> Refresh:
    table = db.table(str(asked.get("table")))
    if table.key:
        return db.delete(table.name, key=_key(table, asked.get("key")))
    return table.delete([from_json(table.record, asked.get("row"))])


def _update(db: Database, asked: Mapping[str, Any]) -> Refresh:
    table, new = db.table(str(asked.get("table"))), asked.get("set")
    if not isinstance(new, Mapping):
        raise ChangeError("an update sets columns", hint='{"column": value}')
    return db.update(table.name, key=_key(table, asked.get("key")), set=from_json(table.record, new))


def _element(db: Database, asked: Mapping[str, Any]) -> tuple[Any, Any]:
    """The bag that is meant, and the element as its type has it; ``inside`` are the elements on the way to it."""
    table, inside = db.table(str(asked.get("table"))), asked.get("inside", [])
    if not isinstance(inside, list) or not all(isinstance(step, Mapping) for step in inside):
        raise ChangeError("inside is a list of elements", hint='[{"bag": …, "element": …}]')
    here, type_ = table.at(_key(table, asked.get("key"))), table.record
    for step in inside:
        here, bag = _bag(here, type_, step.get("bag"))
        if not isinstance(bag.element, Record):
            raise ChangeError(f"elements of {step.get('bag')} hold no bags", hint="name a bag of records")
        element, type_ = step.get("element"), bag.element
        if not isinstance(element, Mapping):
            raise ChangeError("an element on the way is an object", hint='{"column": value}')
        scalars = {name for name, each in type_.fields if isinstance(each, Scalar)}
        known = {name: value for name, value in element.items() if name in scalars}
        here = here.at(from_json(type_, known))
    found, bag = _bag(here, type_, asked.get("bag"))
    return found, from_json(bag.element, asked.get("element"))


def _bag(here: Any, type_: Record, name: object) -> tuple[Any, Bag]:
    """An inner bag of a row or an element, and its type."""
    bag = dict(type_.fields).get(str(name))
    if not isinstance(bag, Bag):
        raise ChangeError(f"there is no inner bag {name}", hint="name a column that holds a bag")
    return getattr(here, str(name)), bag


def _insert_element(db: Database, asked: Mapping[str, Any]) -> Refresh:
    bag, element = _element(db, asked)
    refresh: Refresh = bag.insert([element])
    return refresh


def _delete_element(db: Database, asked: Mapping[str, Any]) -> Refresh:
    bag, element = _element(db, asked)
    refresh: Refresh = bag.delete([element])
    return refresh


def _xquery(db: Database, asked: Mapping[str, Any]) -> Refresh:
    return db.xquery(str(asked.get("text")))


_CHANGES: dict[str, Callable[[Database, Mapping[str, Any]], Refresh]] = {
    "insert": _insert,
    "delete": _delete,
    "update": _update,
    "insert element": _insert_element,
    "delete element": _delete_element,
    "xquery": _xquery,
}


def plain(value: Any) -> Any:
    """``value`` for JSON as JavaScript reads it: what it cannot hold is text.

    >>> plain([2**60, float("nan"), date(2026, 11, 18), (1, None)])
    ['1152921504606846976', 'nan', '2026-11-18', [1, None]]
    """
    match value:
        case Mapping():
            return {str(name): plain(part) for name, part in value.items()}
        case list() | tuple():
            return [plain(part) for part in value]
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) < EXACT else str(value)
        case float():
            return value if isfinite(value) else str(value)
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
    return str(value)


def problem(error: NestlingError) -> dict[str, Any]:
    """An error as the page shows it."""
    at = error.at
    place = at and {"line": at.line, "column": at.column, "length": at.length, "text": at.text}
    return {"kind": type(error).__name__, "what": error.what, "hint": error.hint, "place": place}
