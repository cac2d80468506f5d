"""Random stories of objects: classes with kept references, what follows a deletion, some queries, and changes.

What becomes of the objects is told here once more, by loops, so that a database that keeps references can be compared.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, make_dataclass
from typing import Any

import pytest
from hypothesis import strategies as st

import nestling as nl
from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.frontend.catalog import Catalog
from tests.frontends.oql.draws import changes, is_good, keys_of, link, models, objects, queries
from tests.frontends.oql.oracle import Data, Oracle, same

#: What may follow for a reference of each kind when its object goes.
FOLLOWING = {
    "r": ("refuse", "cascade"),
    "q": ("refuse", "nil", "cascade"),
    "d": ("dangle",),
    "b": ("refuse", "nil", "cascade"),
    "l": ("refuse", "cascade"),
}
#: By class and path, what follows.
Words = dict[str, dict[Any, str]]


@dataclass(frozen=True)
class Step:
    """A change, and the objects after it; none where it is refused."""

    kind: str
    what: Any
    after: Data | None


@dataclass(frozen=True)
class Story:
    """A model, its objects, queries, and what happens."""

    model: Catalog
    words: Words
    rows: Data
    texts: list[str]
    steps: list[Step]


@st.composite
def stories(draw, texts: int = 1, steps: int = 4) -> Story:
    model = draw(models())
    words = {
        table: {
            ".".join(path): draw(st.sampled_from(FOLLOWING[path[0]]))
            for path in model.entry(table).references
        }
        for table in model
    }
    rows = draw(objects(model))
    asked = [draw(queries(model)) for _ in range(texts)]
    found: list[Step] = []
    now = rows
    for _ in range(steps):
        step = draw(one_step(model, words, now))
        if step.kind != "nothing":
            found.append(step)
            now = now if step.after is None else step.after
    return Story(model, words, rows, asked, found)


@st.composite
def one_step(draw, model: Catalog, words: Words, rows: Data) -> Step:
    """Half of the time something goes, whoever refers to it."""
    tables = [table for table in model if rows[table]]
    if tables and draw(st.booleans()):
        table = draw(st.sampled_from(tables))
        row = draw(st.sampled_from(rows[table]))
        return Step("delete", (table, row), after_deletion(model, words, rows, table, row))
    kind, what = draw(changes(model, rows))
    after = deepcopy(rows)
    match kind, what:
        case "insert", (table, row):
            after[table].append(row)
        case "update", (table, row, columns):
            after[table][rows[table].index(row)] = {**row, **columns}
        case "delete", (table, row):
            after[table].remove(row)
        case "move", (table, row, other, moved):
            after[table].remove(row)
            after[other].append(moved)
    return Step(kind, what, after)


def after_deletion(model: Catalog, words: Words, rows: Data, table: str, row: Any) -> Data | None:
    """The objects after one went and all that follows; none where some reference refuses."""
    after = deepcopy(rows)
    after[table].remove(row)
    while True:
        before = deepcopy(after)
        for other in model:
            after[other] = [
                found for each in after[other] if (found := _left(model, words, after, other, each))
            ]
        if after == before:
            break
    good = all(is_good(model, after, other, each) for other in model for each in after[other])
    return after if good else None


def _left(model: Catalog, words: Words, rows: Data, table: str, row: Any) -> Any:
    """What is left of an object whose references lead to these; nothing where it goes."""
    row = dict(row)
    for name in ("r", "q", "b", "l"):
        path = ("l", "p") if name == "l" else (name,)
        found = link(model, table, path)
        if name not in row or found is None:
            continue
        owner = table if path in model.entry(table).references else model.entry(table).extends
        word = words[owner or table][".".join(path)]
        there = keys_of(model, rows, found.table)
        if name in "bl" and word != "refuse":
            row[name] = [each for each in row[name] if (each["p"] if name == "l" else each) in there]
        elif name in "rq" and row[name] is not None and row[name] not in there:
            if word == "cascade":
                return None
            if word == "nil":
                row[name] = None
    return row


# -- in a database


def declare(db: nl.Database, story: Story) -> nl.Database:
    """The classes of a story, with all that is said of them; and its objects, in one call for each class."""
    model = story.model
    for name in model:
        entry = model.entry(name)
        db.table(
            name,
            {column: _schema(type_, column) for column, type_ in model[name].fields},  # type: ignore[union-attr]
            key=model.key(name),
            references={".".join(path): each.table for path, each in entry.references.items()},
            inverse={
                inverse: f"{table}.{'.'.join(path)}" for inverse, (table, path) in entry.inverses.items()
            },
            extends=entry.extends,
            on_delete=story.words[name] or None,
            fixed=False,
        )
    with db.transaction() as all_at_once:
        # What must lead somewhere leads to a class before it, of ``A`` maybe to one of its subclass.
        for name in sorted(model, key=lambda each: each != "D"):
            all_at_once.insert(name, [_later(row) for row in story.rows[name]])
        for name, rows in story.rows.items():
            for row in rows:
                late: dict[str, Any] = {column: row[column] for column in ("q", "b", "l") if column in row}
                if late:
                    all_at_once.update(name, key=_key(model, name, row), set=late)
    return db


def _schema(type_: Type, name: str) -> Any:
    """A type as users write it; ``t`` is a set."""
    match type_:
        case Record(fields):
            return make_dataclass(f"Struct_{name}", [(n, _schema(each, n)) for n, each in fields])
        case Bag(element):
            return (set if name == "t" else list)[_schema(element, name)]
        case Scalar(word, nullable):
            plain = {"int": int, "str": str}[word]
            return plain | None if nullable else plain
    raise AssertionError(type_)


def _later(row: Any) -> Any:
    """A row whose references may come later."""
    return row | {name: None if name == "q" else [] for name in ("q", "b", "l") if name in row}


def _key(model: Catalog, table: str, row: Any) -> Any:
    found = tuple(row[name] for name in model.key(table))
    return found[0] if len(found) == 1 else found


def change(db: nl.Database, model: Catalog, step: Step) -> None:
    """Do what a step says."""
    match step.kind, step.what:
        case "insert", (table, row):
            db.insert(table, [row])
        case "update", (table, row, columns):
            db.update(table, key=_key(model, table, row), set=columns)
        case "delete", (table, row):
            db.delete(table, key=_key(model, table, row))
        case "move", (table, row, other, moved):
            with db.transaction() as both:
                both.delete(table, key=_key(model, table, row))
                both.insert(other, [moved])


def is_told(db: nl.Database, story: Story, views: dict[str, list[Any]]) -> None:
    """Every view is what the oracle says of the objects, at first and after every step; a refusal changes nothing."""
    now = story.rows
    _compare(story.model, now, views)
    for step in story.steps:
        if step.after is None:
            with pytest.raises(nl.ChangeError):
                change(db, story.model, step)
        else:
            change(db, story.model, step)
            now = step.after
        _compare(story.model, now, views)


def _compare(model: Catalog, rows: Data, views: dict[str, list[Any]]) -> None:
    for text, same_views in views.items():
        wanted = Oracle(model, rows).run(text)
        for view in same_views:
            assert same(view.rows(), wanted), f"{text}\n{rows}\n{view.rows()}\n{wanted}"
