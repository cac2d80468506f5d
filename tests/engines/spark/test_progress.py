"""What a load says while it runs: on a terminal one line, which goes; elsewhere nothing."""

import io
import sys

import pytest

from nestling.engine.spark.progress import WIDTH, say, shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def seen(written: str) -> str:
    """What is left on the line: after a carriage return, what comes replaces what stood there."""
    line: list[str] = []
    for part in written.split("\r"):
        line[: len(part)] = part
    return "".join(line).rstrip()


def test_a_line_says_the_last_step_and_goes(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with shown("large change"):
        say("copying rows, of which there are more than a few")
        say("map 1 of 2")
        assert seen(terminal.getvalue()) == "large change: map 1 of 2 (0 s)"
        with shown("definition"):  # a part of it
            say("x" * 200)
        assert seen(terminal.getvalue()) == f"large change: {'x' * 200}"[:WIDTH]
    assert seen(terminal.getvalue()) == ""
    assert terminal.getvalue().endswith("\r")


def test_a_line_goes_when_the_work_fails(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(ZeroDivisionError), shown("large change"):
        say("copying rows")
        raise ZeroDivisionError
    assert seen(terminal.getvalue()) == ""
    say("after it")
    assert seen(terminal.getvalue()) == ""


def test_nothing_is_written_where_there_is_no_terminal(monkeypatch):
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    with shown("large change"):
        say("copying rows")
    assert terminal.getvalue() == ""
