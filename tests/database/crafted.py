"""Files with sound checksums and whatever contents: taken apart, changed, and sealed again."""

import copy
import json
import random
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nestling.storage.format import SEPARATOR, checksum, unpacked


@dataclass
class Parsed:
    """What is in a file: texts are JSON values here, so that they can be changed; what is no JSON is a ``Raw``."""

    definitions: list[list[Any]]  # kind, name, text
    snapshot: list[list[Any]]  # map, [key, payload, …]
    log: list[Any]
    state: list[Any]  # at, chunks or None for as many as there are, edits

    def definition(self, name: str) -> Any:
        return next(text for _, other, text in self.definitions if other == name)

    def part(self, name: str) -> list[Any]:
        """Keys and payloads of a table or map."""
        return next(texts for other, texts in self.snapshot if other == name)

    def copy(self) -> "Parsed":
        return copy.deepcopy(self)


@dataclass(frozen=True)
class Raw:
    """A text that stands for itself."""

    text: str | bytes | int | None


def parse(path: Path) -> Parsed:
    with closing(sqlite3.connect(path)) as db:
        definitions = [
            [kind, name, json.loads(body)]
            for kind, name, body in db.execute("SELECT kind, name, body FROM definition ORDER BY id")
        ]
        snapshot: list[list[Any]] = [
            [name, [json.loads(text) for text in unpacked(body).decode().split(SEPARATOR)]]
            for name, body in db.execute("SELECT map, body FROM snapshot ORDER BY id")
        ]
        log = [json.loads(unpacked(body)) for (body,) in db.execute("SELECT body FROM log ORDER BY seq")]
        at, _, edits = db.execute("SELECT at, chunks, edits FROM state").fetchone()
    return Parsed(definitions, snapshot, log, [at, None, edits])


def seal(parsed: Parsed, template: Path, path: Path) -> None:
    """Write ``parsed`` to ``path``, every checksum right; all else is as in ``template``."""
    for suffix in "-wal", "-shm", "-lock":
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    shutil.copy(template, path)
    at, chunks, edits = parsed.state
    chunks = len(parsed.snapshot) if chunks is None else chunks
    with closing(sqlite3.connect(path)) as db, db:
        for table in "definition", "snapshot", "log", "state":
            db.execute(f"DELETE FROM {table}")
        for id_, (kind, name, text) in enumerate(parsed.definitions, 1):
            body = _body(text)
            row = id_, kind, name, body, checksum(body, "definition", id_, kind, name)
            db.execute("INSERT INTO definition VALUES (?, ?, ?, ?, ?)", row)
        for id_, (name, texts) in enumerate(parsed.snapshot, 1):
            body = _body(texts) if isinstance(texts, Raw) else SEPARATOR.encode().join(map(_body, texts))
            sealed = checksum(body, "snapshot", id_, name)
            db.execute("INSERT INTO snapshot VALUES (?, ?, ?, ?)", (id_, name, body, sealed))
        first = at + 1 if type(at) is int else 1
        for seq, text in enumerate(parsed.log, first):
            body = _body(text)
            db.execute("INSERT INTO log VALUES (?, ?, ?)", (seq, body, checksum(body, "log", seq, None)))
        state = at, chunks, edits
        db.execute("INSERT INTO state VALUES (?, ?, ?, ?)", (*state, checksum(b"", "state", *state)))


def _body(text: Any) -> Any:
    if isinstance(text, Raw):
        return text.text.encode() if isinstance(text.text, str) else text.text
    return json.dumps(text, separators=(",", ":")).encode()


def craft(parsed: Parsed, template: Path, path: Path, draw: random.Random) -> None:
    """Write a random change of ``parsed`` that SQLite can take."""
    while True:
        try:
            return seal(mutate(parsed, draw), template, path)
        except (ValueError, TypeError, OverflowError, sqlite3.Error):
            pass  # no longer rows of the four tables


POOL: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 1 << 31, 1 << 70, 0.0, -1.5, 1e308, "", "a", "#0", "#3", "#" + "9" * 30, "int",
    "lazy", "orders", "orders.lines", "notes.words", "table", [], {}, [[]], [1], {"d": "1.5"}, {"d": "sNaN"},
    {"f": "nan"}, {"f": "inf"}, {"D": "2024-02-29"}, {"T": "2024-02-29T12:00"}, {"T": "2024-02-29T12:00+01:00"},
    {"P": 1}, {"b": "AAE="}, {"u": "7aCA"}, {"l": ["notes.words", "#3"]}, {"l": ["orders.lines", 1]}, {"l": [1, "x"]},
    {"l": [0]}, {"z": [1, 1]}, {"z": []}, {"bag": "int"}, {"record": []}, {"record": [["a", "int"]]}, "x" * 300,
]  # fmt: skip


def mutate(parsed: Parsed, draw: random.Random) -> Parsed:
    """``parsed`` with a few random changes of its structure."""
    changed = parsed.copy()
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        places = list(_places([changed.definitions, changed.snapshot, changed.log, changed.state]))
        # By depth first, or almost all changes would hit the many leaves.
        depth = draw.choice(sorted({depth for depth, *_ in places}))
        _, parent, key = draw.choice([place for place in places if place[0] == depth])
        _change(parent, key, draw, places)
    return changed


def _places(node: Any, depth: int = 0) -> Any:
    """Every place of a tree: how deep, in which list or object, and where in it."""
    items = enumerate(node) if isinstance(node, list) else node.items() if isinstance(node, dict) else ()
    for key, child in list(items):
        if depth:
            yield depth, node, key
        yield from _places(child, depth + 1)


def _change(parent: Any, key: Any, draw: random.Random, places: list[Any]) -> None:
    old = parent[key]
    match draw.randrange(8):
        case 0 if isinstance(parent, list) and len(parent) > 1:
            del parent[key]
        case 1 if isinstance(parent, list):
            parent.insert(key, copy.deepcopy(old))
        case 2 if isinstance(parent, dict):
            parent[draw.choice(["x", "bag", "record", "l", "z", key + "x"])] = parent.pop(key)
        case 3:
            _, other, there = draw.choice(places)
            parent[key] = copy.deepcopy(other[there])
        case 4 if isinstance(old, str) and old:
            at = draw.randrange(len(old))
            parent[key] = old[:at] + draw.choice(["", "x", "#", "⟨", "`", "\x00", " "]) + old[at + 1 :]
        case 5 if type(old) is int:
            parent[key] = old + draw.choice([-1, 1, 1 << 40])
        case 6 if isinstance(parent, list) and len(parent) > 1:
            draw.shuffle(parent)
        case _:
            parent[key] = copy.deepcopy(draw.choice(POOL))
