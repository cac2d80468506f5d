"""Law: a file with sound checksums and whatever contents gives a database or a ``StoreError``, and nothing else."""

import json
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nestling as nl
from tests.database.crafted import Parsed, Raw, craft, parse, seal
from tests.storage.stores import QUICK

FIXTURE = Path(__file__).parent.parent / "storage" / "fixtures" / "format-1.nest"


@pytest.fixture(scope="module")
def sound():
    """A sound file of today, what is in it, and a folder to craft others in."""
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:
        template = Path(folder, "sound.nest")
        shutil.copy(FIXTURE, template)
        with nl.Database(template) as db:
            db.view("later", "SELECT town FROM customers")  # a snapshot of today
            db.views["words"].rows()
            db.insert("notes", [("four", ["w", "w"], [[4], [4]])])
            db.insert("customers", [("ed", None)])
            db.view("last", "SELECT n FROM events")  # ``words`` waits in the snapshot
            db.insert("notes", [("five", ["v"], [[5]])])
            db.table("orders").at(1).lines.insert([(4, 4, ["t"])])
            db.delete("customers", key="ed")
        yield template, parse(template), Path(folder, "crafted.nest")


def put(name: str, *path: Any, value: Any) -> Callable[[Parsed], None]:
    """A change of a definition."""

    def change(parsed: Parsed) -> None:
        node = parsed.definition(name)
        for step in path[:-1]:
            node = node[step]
        node[path[-1]] = value

    return change


def entry(name: str, place: int, value: Any) -> Callable[[Parsed], None]:
    """A change of the snapshot: keys have even places, payloads odd ones."""

    def change(parsed: Parsed) -> None:
        parsed.part(name)[place] = value

    return change


def more(name: str, *texts: Any) -> Callable[[Parsed], None]:
    def change(parsed: Parsed) -> None:
        parsed.part(name).extend(texts)

    return change


def named(name: str, *texts: Any) -> Callable[[Parsed], None]:
    return lambda parsed: parsed.snapshot.append([name, list(texts)])


def logged(*events: Any) -> Callable[[Parsed], None]:
    return lambda parsed: parsed.log.append(list(events))


def map_of(parsed: Parsed, width: int) -> list[Any]:
    """A map with a key of this width."""
    return next(t for n, t in parsed.snapshot if n.startswith("map ") and len(t[0]) == width)


def in_map(width: int, place: int, value: Any) -> Callable[[Parsed], None]:
    def change(parsed: Parsed) -> None:
        map_of(parsed, width)[place] = value

    return change


WORDS, LINES = {"l": ["notes.words", "#3"]}, {"l": ["orders.lines", 1]}
DEEP = "[" * 50_000 + "]" * 50_000

CASES: dict[str, Callable[[Parsed], Any]] = {
    # definitions
    "an unknown kind": lambda p: p.definitions.append(["trigger", "t", {}]),
    "a kind that is no text": lambda p: p.definitions.append([7, "t", {}]),
    "a table twice": lambda p: p.definitions.append(p.definitions[0]),
    "a view like a table": lambda p: p.definitions.append(["view", "notes", p.definition("late")]),
    "a constraint like a view": lambda p: p.definitions.append(["constraint", "late", p.definition("late")]),
    "a view whose name is code": lambda p: p.definitions.append(
        ["view", 'x"""\n    yield ()\nopen("pwned", "a")\ndef f():\n    """', p.definition("late")]),
    "a table whose name is nothing": lambda p: p.definitions.append(["table", "", p.definition("customers")]),
    "a column whose name is code": put("notes", "record", "record", 0, 0, value="a\nimport os"),
    "no JSON": lambda p: p.definitions.append(["table", "t", Raw("{")]),
    "JSON that is no object": lambda p: p.definitions.append(["table", "t", [1]]),
    "deep JSON": lambda p: p.definitions.append(["table", "t", Raw(DEEP)]),
    "a definition that is no text": lambda p: p.definitions.append(["table", "t", Raw(None)]),
    "a definition of wrong bytes": lambda p: p.definitions.append(["table", "t", Raw(b"\xff\xfe")]),
    "an unknown refresh": put("spend", "refresh", value="sometimes"),
    "a refresh that is no text": put("spend", "refresh", value=["lazy"]),
    "an unknown store": put("spend", "store", value="some"),
    "an unknown member": put("spend", "owner", value="me"),
    "no query": lambda p: p.definition("spend").pop("query"),
    "a query that is no text": put("spend", "query", value=5),
    "a query that does not parse": put("spend", "query", value="for x in"),
    "a query of no table": put("spend", "query", value="nowhere"),
    "a query of wrong types": put("late", "query", value="for n in notes where n.about < 3 union sng(n.about)"),
    "a query of changes": put("late", "query", value="Δnotes"),
    "a deep query": put("late", "query", value="(" * 5_000 + "notes" + ")" * 5_000),
    "a view before its table": lambda p: p.definitions.insert(0, p.definitions.pop()),
    "a decision of a wrong shape": put("spend", "stored", value=[1]),
    "a decision with an unknown rule": put("spend", "stored", "storing", "rule", value="all"),
    "a decision with negative rows": put("spend", "stored", "rows", value={"orders": -1}),
    "a decision with huge rows": put("spend", "stored", "rows", value={"orders": 10**400}),
    "a decision about no bag": put("spend", "stored", "storing", "bags", value=[["x", []]]),
    "an unknown type": put("notes", "record", "record", 0, 1, value="text"),
    "a type with a wrong size": put("orders", "record", "record", 0, 1, value="int(33)"),
    "a decimal of too many digits": put("orders", "record", "record", 3, 1, value="decimal(50,2)"),
    "a type that is no type": put("notes", "record", "record", 0, 1, value=None),
    "rows that are no record": put("notes", "record", value="int"),
    "columns that are no pairs": put("notes", "record", "record", 0, value=["about"]),
    "a column twice": put("notes", "record", "record", 1, 0, value="about"),
    "a key of no column": put("customers", "key", value=["no"]),
    "a key twice the same": put("customers", "key", value=["name", "name"]),
    "a key that is a bag": put("orders", "key", value=["lines"]),
    "a key that is a text": put("customers", "key", value="name"),
    "a reference that is kept in no way": put("orders", "references", value=[[[["customer"]], "customers", "burn"]]),
    "a reference at no path": put("orders", "references", value=[[[], "customers", "refuse"]]),
    "a reference of a path to nowhere": put("orders", "references", value=[[[["customer", "x"]], "customers", "nil"]]),
    "a reference to a table without a key": put("orders", "references", value=[[["customer"], "notes"]]),
    "a family without a parent": put("orders", "extends", value="nobody"),
    "a set that is none": put("orders", "sets", value=[["customer"]]),
    "a fixed column that is none": put("orders", "fixed", value=["nothing"]),
    "inverses of a wrong shape": put("orders", "inverses", value=[["a"]]),
    "a class that is no text": put("orders", "class", value=5),
    "a reference of no column": put("orders", "references", value=[[["no"], "customers"]]),
    "a reference of a wrong shape": put("orders", "references", value=[["customer"]]),
    "append_only that is no bool": put("events", "append_only", value=1),
    "a type of endless depth": lambda p: p.definitions.append(
        ["table", "t", Raw(json.dumps({"record": 0, "key": [], "references": [], "append_only": False}).replace(
            "0", '{"bag":' * 500 + '"int"' + "}" * 500))]),
    # snapshots
    "an unknown table": named("table nowhere", [1], 1),
    "an unknown part": named("something", [1], 1),
    "a part twice": named("table customers", ["zoe", None], 1),
    "a part whose name is no text": lambda p: p.snapshot.append([5, [[1], 1]]),
    "a part that is no text": lambda p: p.snapshot.append(["table events", Raw(None)]),
    "a part of wrong bytes": lambda p: p.snapshot.append(["table events", Raw(b"\xff\xfe")]),
    "a key without a payload": more("table customers", ["zoe", None]),
    "a text that is no value": entry("table customers", 0, Raw("[1,")),
    "a value of no kind": entry("table customers", 0, ["ann", {"q": 1}]),
    "a row too short": entry("table customers", 0, ["ann"]),
    "a row too long": entry("table customers", 0, ["ann", "Rome", 1]),
    "a row that is no tuple": entry("table customers", 0, "ann"),
    "a row of a wrong type": entry("table customers", 0, ["ann", 3]),
    "a row with a null": entry("table customers", 0, [None, "Rome"]),
    "a bool for an int": entry("table events", 0, [{"T": "2026-01-02T03:04:05.000678"}, True]),
    "an int of too many bits": entry("table events", 0, [{"T": "2026-01-02T03:04:05.000678"}, 1 << 31]),
    "a moment with a zone": entry("table events", 0, [{"T": "2026-01-02T03:04:05+01:00"}, 1]),
    "a decimal with too many places": entry("table orders", 0, [1, "ann", LINES, {"d": "1.234"}]),
    "a decimal with too many digits": entry("table orders", 0, [1, "ann", LINES, {"d": "123456789.00"}]),
    "a decimal that is no number": entry("table orders", 0, [1, "ann", LINES, {"d": "NaN"}]),
    "no time": entry("table notes", 1, 0),
    "a negative time": entry("table notes", 1, -1),
    "half a time": entry("table notes", 1, 1.5),
    "a time that is true": entry("table notes", 1, True),
    "a row with a key that is there twice": entry("table customers", 1, 2),
    "a key of the snapshot twice": more("table customers", ["ann", "Oslo"], 1),
    "a row of the snapshot twice": lambda p: p.part("table notes").extend(p.part("table notes")[:2]),
    "a label that is another key's": entry("table orders", 0, [1, "ann", {"l": ["orders.lines", 2]}, {"d": "1.00"}]),
    "a label of another column": entry("table notes", 0, ["x", {"l": ["notes.groups", "#3"]}, WORDS]),
    "a label that is no number": more(
        "table notes", ["x", {"l": ["notes.words", "x"]}, {"l": ["notes.groups", "#91"]}], 1),
    "a label with a huge number": more(
        "table notes", ["x", {"l": ["notes.words", "#" + "9" * 5000]}, {"l": ["notes.groups", "#91"]}], 1),
    "two rows with one bag": lambda p: p.part("table notes").extend([["x", *p.part("table notes")[0][1:]], 1]),
    "elements of no bag": more("table notes.words", {"l": ["notes.words", "#90"]}, 1),
    "elements of a bag that no row has": more("table notes.words", [{"l": ["notes.words", "#90"]}, "x"], 1),
    "a next label that is taken": entry("next label", 1, 0),
    "a next label that is no number": entry("next label", 1, "7"),
    "a cell too narrow": in_map(1, 1, []),
    "a cell too wide": in_map(1, 1, [1, 2, 3]),
    "a cell of texts": in_map(1, 1, ["1", "2"]),
    "a cell that is no tuple": in_map(1, 1, 5),
    "a key of a map too long": in_map(1, 0, ["a", "b", "c", "d"]),
    "a key of a map of a wrong type": in_map(1, 0, [[1]]),
    "a map in no order": in_map(2, 0, ["ann", "x"]),
    "what waits for no view": named("waiting nobody", [], []),
    "what waits without maps": entry("waiting words", 0, [1]),
    "what waits of no table": more("waiting words", ["nowhere", [1]], 1),
    "what waits of a wrong row": more("waiting words", ["notes", [1]], 1),
    "what waits no times": more("waiting words", ["notes.words", [WORDS, "a"]], 0),
    "what waits that never came": more("waiting words", ["notes.words", [WORDS, "nobody"]], 1),
    # logs
    "a change that is no list": lambda p: p.log.append(7),
    "a change that is no value": lambda p: p.log.append(Raw("[[")),
    "a change of wrong bytes": lambda p: p.log.append(Raw(b"\xff\xfe")),
    "a change that is no text": lambda p: p.log.append(Raw(None)),
    "a deep change": lambda p: p.log.append(Raw(DEEP)),
    "an event too short": logged(["customers", ["zoe", None]]),
    "an event of no table": logged(["nowhere", [1], 1]),
    "an event of a table that is no text": logged([[1], [1], 1]),
    "an event of a wrong row": logged(["customers", ["zoe", 5], 1]),
    "an event no times": logged(["customers", ["zoe", None], 0]),
    "an event half a time": logged(["customers", ["zoe", None], 0.5]),
    "an event that is true": logged(["customers", ["zoe", None], True]),
    "a key of the log twice": logged(["customers", ["ann", "Oslo"], 1]),
    "a row of the log twice": logged(["customers", ["zoe", None], 2]),
    "a row that is not there": logged(["customers", ["zoe", None], -1]),
    "a row that is there otherwise": logged(["customers", ["ann", "Oslo"], -1]),
    "an element of no row": logged(["notes.words", [{"l": ["notes.words", "#95"]}, "x"], 1]),
    "a row that leaves its elements": logged(["orders", [3, "di", {"l": ["orders.lines", 3]}, {"d": "0.00"}], -1]),
    "a label of the log that another row has": lambda p: p.log.append(
        [["notes", ["x", *p.part("table notes")[0][1:]], 1]]),
    # the state
    "a state before the beginning": lambda p: p.state.__setitem__(0, -3),
    "a state that is no number": lambda p: p.state.__setitem__(0, "x"),
    "a state without a number": lambda p: p.state.__setitem__(0, None),
    "a state of more chunks": lambda p: p.state.__setitem__(1, 10_000),
    "a state of no chunks": lambda p: p.state.__setitem__(1, None if not p.snapshot else -1),
    "edits that are no number": lambda p: p.state.__setitem__(2, 0.5),
}  # fmt: skip


def test_the_sound_file_is_sound(sound):
    template, parsed, path = sound
    seal(parsed, template, path)
    with nl.Database(path) as db:
        db.verify(maps=True)
        assert len(db.views) == 11


@pytest.mark.parametrize("case", CASES)
def test_a_crafted_file_is_refused(sound, case):
    template, parsed, path = sound
    changed = parsed.copy()
    CASES[case](changed)
    seal(changed, template, path)
    before = path.read_bytes()
    with pytest.raises(nl.StoreError) as caught:
        nl.Database(path)
    assert str(path) in caught.value.what
    assert caught.value.hint
    assert path.read_bytes() == before


def opened(path: Path) -> str:
    """How opening ends: the database can be read, verified, closed and opened again, or a StoreError says why not."""
    try:
        db = nl.Database(path)
    except nl.StoreError as error:
        assert error.hint, error
        assert str(path) in error.what, error
        return "refused"
    with db:
        held = {name: db._state.rows(name) for name in db.tables}
        sane = True
        for view in db.views.values():
            try:
                view.rows()
                view.verify()
            except nl.NestlingError:
                sane = False  # a map that its query does not say: found by who asks
    with nl.Database(path) as again:
        assert {name: again._state.rows(name) for name in again.tables} == held
    return "sane" if sane else "opened"


def soak(sound: Any, seed: int, number: int) -> Counter[str]:
    template, parsed, path = sound
    draw = random.Random(seed)
    ends: Counter[str] = Counter()
    for _ in range(number):
        craft(parsed, template, path, draw)
        ends[opened(path)] += 1
    return ends


def test_randomly_crafted_files(sound):
    ends = soak(sound, seed=1, number=30)
    assert ends["refused"] > 10


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_many_randomly_crafted_files(sound, seed):
    assert soak(sound, seed + 100, number=100)["refused"] > 30
