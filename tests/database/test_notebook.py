"""What a notebook shows, and what goes to the log."""

import logging
import os
import subprocess
import sys
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import nestling as nl
from nestling.database import log, replan
from tests.database.test_replan import VIEWS, at_once, films, load, storings  # noqa: F401 (at_once is a fixture)

HOSTILE = "</td><script>alert(1)</script>&lt;\"'"


class Reader(HTMLParser):
    """Reads markup: which elements there are, whether they are closed in order, and their text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shop(name: str = "orders", column: str = "customer") -> nl.Database:
    db = nl.Database()
    db.table(name, {"id": int, column: str, "items": [{"pid": int, "tags": list[str]}]}, key="id")
    return db


def shown(thing: Any) -> Reader:
    found = Reader(thing._repr_html_())
    assert found.seen <= {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
    return found


def test_names_and_values_are_text():
    db = shop(HOSTILE, HOSTILE + "2")
    table = db.table(HOSTILE)
    view = db.view(HOSTILE + "3", f"SELECT * FROM `{HOSTILE}`")
    told: list[Any] = []
    view.subscribe(told.append)
    done = table.insert([(1, HOSTILE, [(1, [HOSTILE])])])
    table.at(1)["items"].insert([(2, [])])

    assert shown(table).text.count(HOSTILE) == 5, "the name, the type, the column, the value and the tag"
    for thing in (db, view, done, told[0], told[1]):
        assert HOSTILE in shown(thing).text
    page = view.explain(format="html")
    frame = Reader(page._repr_html_())  # type: ignore[attr-defined]
    assert frame.seen == {"iframe"}


def test_a_long_table_is_shown_by_its_beginning():
    db = shop()
    table = db.table("orders")
    table.insert([(i, "x" * 1000, [(j, []) for j in range(i)]) for i in range(50)])
    found = shown(table)
    assert "50 rows" in found.text
    assert "… 30 more" in found.text
    assert "… 11 more" in found.text
    assert "x" * 300 not in found.text


def test_what_is_there_is_listed():
    db = shop()
    db.view("v", "SELECT id FROM orders")
    db.document("notes", "<a/>")
    text = shown(db).text
    assert "orderstable⟨id: int" in text
    assert "vview⟨id: int⟩" in text
    assert "notesdocument" in text
    done = db.insert("orders", [])
    assert "0 rows" in shown(done).text
    db.close()
    assert "closed" in shown(db).text


# the log


def test_a_slow_change_is_told_of(monkeypatch, caplog):
    db = shop()
    monkeypatch.setattr(log, "SLOW", 0.0)
    with caplog.at_level(logging.INFO, "nestling"):
        db.insert("orders", [(1, "a", [(1, [])])])
    [line] = caplog.messages
    assert line.startswith("change 1 took 0.")
    assert line.endswith("s: 1 of orders.items, 1 of orders")


def test_a_quick_change_is_not(caplog, monkeypatch):
    db = shop()
    monkeypatch.setattr(log, "SLOW", 1e9)
    with caplog.at_level(logging.INFO, "nestling"):
        db.insert("orders", [(1, "a", [])])
    assert caplog.messages == []


def test_a_fallback_is_told_of(caplog):
    db = shop()
    with caplog.at_level(logging.INFO, "nestling"), pytest.warns(nl.EvaluatedOnRead):
        db.view("v", "SELECT id, max(customer) OVER (ORDER BY id) AS most FROM orders")
    assert any(line.startswith("view v is evaluated by every read: ") for line in caplog.messages)


@pytest.mark.usefixtures("at_once")
def test_a_new_plan_is_told_of(caplog, monkeypatch):
    monkeypatch.setattr(replan, "PER_MAP", 1)  # few rows are worth a new plan
    db = films()
    for view in VIEWS.values():
        db.view(view)
    before = storings(db)
    with caplog.at_level(logging.INFO, "nestling"):
        load(db, 250, dirs=100)
        load(db, 251, first=250)
        for n in range(251, 251 + 4 * replan.WAIT, replan.WAIT):  # what was found beside a commit is taken up
            load(db, n + replan.WAIT, first=n)
    moved = {name for name, how in storings(db).items() if how[0] != before[name][0]}
    told = {line.split()[1] for line in caplog.messages if "is stored otherwise from version" in line}
    assert moved
    assert moved <= told


TYPED = """import nestling as nl
db = nl.Database()
_ = db.table("t", {"a": int})
db.view("v", lambda t: [r.a for r in t])
"""


def test_a_prompt_says_what_to_write():
    found = subprocess.run(
        [sys.executable, "-i", "-q"], input=TYPED, capture_output=True, text=True, check=False
    )
    if sys.version_info < (3, 13):
        assert "a plain prompt keeps no source before Python 3.13" in found.stderr
    assert "db.view(name, '[… for x in …]', language='python')" in found.stderr


def test_the_first_example_is_typed_at_a_prompt(tmp_path):
    """In a terminal, where the line editor keeps what was typed."""
    pty = pytest.importorskip("pty")
    pytest.importorskip("readline")
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    example = text.split("```python\n")[1].split("```")[0]
    lines = [line[4:] for line in example.splitlines() if line.startswith((">>>", "...")) or not line]
    lines.insert(-1, "")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-i", "-q"], stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True,
        cwd=tmp_path, env={**os.environ, "TERM": "dumb", "PYTHON_BASIC_REPL": "1"},
    )  # fmt: skip
    os.close(theirs)
    typed = [
        *lines,
        "",
        "db.view('pairs', lambda M: [(m.gen, m.dir)",
        "    for m in M])",
        "print(len(related), 'rows')",
    ]
    for line in [*typed, "exit()"]:
        os.write(ours, f"{line}\n".encode())
    written = b""
    with suppress(OSError):  # which a terminal says that nobody has any more
        while part := os.read(ours, 1 << 12):
            written += part
    os.close(ours)
    process.wait(timeout=60)
    shown = written.decode(errors="replace")
    assert "Rush     ['Skyfall']" in shown.replace("\r", ""), shown[-2000:]
    assert "View(pairs" in shown
    assert "4 rows" in shown
    assert "Traceback" not in shown


def test_maps_lists_and_what_may_be_missing_are_shown():
    db = nl.Database()
    table = db.table(
        "t",
        "id INT, m MAP<STRING, ARRAY<INT>>, r STRUCT<a: INT> NULL, l ARRAY<STRUCT<a: INT NULL>> NULL",
        key="id",
    )
    other = db.table(
        "o", {"id": int, "words": dict[str, int], "names": nl.List[str], "tags": list[str] | None}
    )
    table.insert([(1, {"<b>": [7]}, None, None), (2, {}, (5,), [(None,), (6,)])])
    other.insert([(1, {"a": 8}, ["x", "y"], None)])

    shown = table._repr_html_() + db.view("v", "SELECT * FROM o")._repr_html_()
    assert "&lt;b&gt;" in shown and "<b>:" not in shown
    for value in ("<td>7</td>", "<td>None</td>", "<td>5</td>", "<td>6</td>", "<td>8</td>", "x, y"):
        assert value in shown
