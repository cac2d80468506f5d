"""What a load says while it runs: in a terminal and in a notebook a bar, which goes; elsewhere nothing."""

import io
import sys
from types import ModuleType
from typing import Any

import pytest

import nestling as nl
from nestling.progress import WIDTH, say, shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def without_rich(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal, and no rich."""
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def seen(written: str) -> str:
    """What is left on the line: after a carriage return, what comes replaces what stood there."""
    line: list[str] = []
    for part in written.split("\r"):
        line[: len(part)] = part
    return "".join(line).rstrip()


def test_a_line_says_the_last_step_and_goes(monkeypatch):
    plain = without_rich(monkeypatch)
    with shown("large change"):
        say("copying rows, of which there are more than a few")
        say("map 1 of 2")
        assert seen(plain.getvalue()) == "large change: map 1 of 2 (0 s)"
        with shown("definition"):  # a part of it
            say("x" * 200)
        assert seen(plain.getvalue()) == f"large change: {'x' * 200}"[:WIDTH]
    assert seen(plain.getvalue()) == ""
    assert plain.getvalue().endswith("\r")


def test_a_line_goes_when_the_work_fails(monkeypatch):
    plain = without_rich(monkeypatch)
    with pytest.raises(ZeroDivisionError), shown("large change"):
        say("copying rows")
        raise ZeroDivisionError
    assert seen(plain.getvalue()) == ""
    say("after it")
    assert seen(plain.getvalue()) == ""


def test_nothing_is_written_where_there_is_no_terminal(monkeypatch):
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("nestling.progress.PATIENCE", 0.0)
    with shown("large change"):
        say("copying rows")
    work()
    assert terminal.getvalue() == ""


def work() -> nl.Database:
    """Loads, a sync, views that are filled, changes of mind, and a document."""
    db = nl.Database()
    rows = [(n, n % 7, [n]) for n in range(6_000)]
    table = db.table("t", {"a": int, "b": int, "c": list[int]}, key="a")
    table.insert(rows)
    db.view("sums", "SELECT b, sum(a) AS s FROM t GROUP BY b")
    table.sync(iter([(n, b + (n == 3), c) for n, b, c in rows]))
    table.upsert([(n, 1, []) for n in range(5_000)])
    db.apply({"t": {(10_000 + n, 0, ()): 1 for n in range(5_000)}})
    db.rename("t", "u")
    db.document("d.xml", "<a>" + "<b/>" * 50 + "</a>")
    return db


TITLES = ("loading t", "syncing t", "applying changes", "view sums", "changing definitions", "document d.xml")


def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bars that neither wait nor pause."""
    for module in ("", ".database.definer", ".database.evolving", ".database.xml.defining"):
        target = "nestling.progress.PATIENCE" if not module else f"nestling{module}.PATIENCE"
        monkeypatch.setattr(target, 0.0)
    monkeypatch.setattr("nestling.progress.PAUSE", 0.0)


def test_embedded_work_is_seen_in_a_terminal(monkeypatch):
    plain = without_rich(monkeypatch)
    eager(monkeypatch)
    work().verify()
    written = plain.getvalue()
    for title in TITLES:
        assert f"\r{title}: " in written, title
    assert "loading t: 6,000 rows read 33%" in written
    assert seen(written) == ""


def test_rich_draws_a_bar_where_it_is_installed(monkeypatch):
    eager(monkeypatch)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    work()
    assert "loading t: 6,000 rows read" in terminal.getvalue()
    assert "━" in terminal.getvalue()
    assert terminal.getvalue().count("\x1b[?25l") == terminal.getvalue().count("\x1b[?25h") > 0


def test_a_notebook_has_a_bar_in_its_cell(monkeypatch):
    eager(monkeypatch)
    told: list[str] = []

    class ZMQInteractiveShell:
        pass

    class Handle:
        def update(self, shown: Any) -> None:
            told.append(shown._repr_html_())

    python, display = ModuleType("IPython"), ModuleType("IPython.display")
    vars(python)["get_ipython"] = ZMQInteractiveShell
    vars(display)["display"] = lambda shown, display_id: Handle()
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    work()
    assert '<progress value="0.333"></progress> loading t: 6,000 rows read' in told
    assert told[-1] == ""


def test_small_work_draws_nothing(monkeypatch):
    plain = without_rich(monkeypatch)
    db = nl.Database()
    db.table("t", {"a": int}).insert([(1,), (2,)])
    db.view("v", "SELECT a FROM t")
    assert plain.getvalue() == ""
