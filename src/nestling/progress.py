"""What a load or a definition does at the moment: a bar in a terminal or in a notebook, elsewhere nothing.

In a terminal it is drawn by rich, where that is installed, or it is one line of plain text. Whoever begins the work
opens it, and whoever does a part of it says so, wherever that is. Nothing is drawn of work that is over at once.

Law: where standard error is no terminal and there is no notebook, nothing is written; otherwise nothing is left at the
end.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from html import escape
from time import monotonic
from typing import Any, Protocol, TextIO, TypeVar

T = TypeVar("T")

#: Columns of a terminal that a line may have: a longer one would wrap, and stay.
WIDTH = 79
#: Rows from which a change is worth a bar, how long it may take before there is one, and how often it moves.
MANY, PATIENCE, PAUSE, STRIDE = 5_000, 0.5, 0.1, 1_000


class Bar(Protocol):
    """Where progress is seen."""

    def say(self, text: str, share: float | None) -> None:
        """What is being done, and how much of it is done, where that is known."""

    def erase(self) -> None:
        """Leave nothing."""


class ProgressLine:
    """A line of plain text that says what is being done, and for how long it has been going on."""

    def __init__(self, title: str, stream: TextIO) -> None:
        self.title, self.stream = title, stream
        self.began, self.width = monotonic(), 0

    def say(self, text: str, share: float | None = None) -> None:
        """Replace what the line says."""
        part = "" if share is None else f" {share:.0%}"
        told = f"{self.title}: {text}{part} ({monotonic() - self.began:.0f} s)"[:WIDTH]
        self._write(told)
        self.width = len(told)

    def erase(self) -> None:
        """Leave nothing of it."""
        self._write("")
        self.stream.write("\r")
        self.stream.flush()

    def _write(self, text: str) -> None:
        self.stream.write(f"\r{text.ljust(self.width)}")
        self.stream.flush()


class RichBar:
    """A bar of rich."""

    def __init__(self, title: str, stream: TextIO, rich: Any) -> None:
        from rich.console import Console

        columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), rich.TimeElapsedColumn())
        console = Console(file=stream, highlight=False)
        self._bar = rich.Progress(*columns, console=console, transient=True, auto_refresh=False)
        self._title = title
        self._task = self._bar.add_task(title, total=None)
        self._bar.start()

    def say(self, text: str, share: float | None) -> None:
        total = None if share is None else 1.0
        self._bar.update(
            self._task,
            description=f"{self._title}: {text}",
            total=total,
            completed=share or 0.0,
            refresh=True,
        )

    def erase(self) -> None:
        self._bar.stop()


class NotebookBar:
    """A bar in the cell of a notebook."""

    def __init__(self, title: str, display: Any) -> None:
        self._title, self._said = title, ""
        self._share: float | None = None
        self._handle = display(self, display_id=True)

    def say(self, text: str, share: float | None) -> None:
        self._said, self._share = text, share
        self._handle.update(self)

    def erase(self) -> None:
        self._said = self._title = ""
        self._handle.update(self)

    def __repr__(self) -> str:
        return f"{self._title}: {self._said}" if self._title else ""

    def _repr_html_(self) -> str:
        value = "" if self._share is None else f' value="{self._share:.3f}"'
        return f"<progress{value}></progress> {escape(repr(self))}" if self._title else ""


class Work:
    """Work that somebody sees, once it has taken some time."""

    def __init__(self, title: str, patience: float) -> None:
        self.title, self.next = title, monotonic() + patience
        self.bar: Bar | None = None

    def say(self, text: str, share: float | None, always: bool) -> None:
        if (now := monotonic()) < self.next and not (always and self.bar is not None):
            return
        self.bar = self.bar or _bar(self.title)
        self.bar.say(text, share)
        self.next = now + PAUSE


_WORK: ContextVar[Work | None] = ContextVar("the work that is seen", default=None)


def _notebook() -> Any:
    """What shows something in a notebook, where this is one."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    return sys.modules["IPython.display"].display if type(shell).__name__ == "ZMQInteractiveShell" else None


def _bar(title: str) -> Bar:
    if (display := _notebook()) is not None:
        return NotebookBar(title, display)
    try:
        import rich.progress
    except ImportError:
        return ProgressLine(title, sys.stderr)
    return RichBar(title, sys.stderr, rich.progress)


@contextmanager
def shown(title: str, patience: float = 0.0) -> Iterator[None]:
    """A bar for the work within, unless it is a part of work that has one."""
    if _WORK.get() is not None or not (sys.stderr.isatty() or _notebook() is not None):
        yield
        return
    work = Work(title, patience)
    token = _WORK.set(work)
    try:
        yield
    finally:
        _WORK.reset(token)
        if work.bar is not None:
            work.bar.erase()


def loading(title: str, *rows: Any) -> AbstractContextManager[None]:
    """The same for a change, if it has many rows, or nobody knows how many."""
    if any(not hasattr(each, "__len__") or len(each) >= MANY for each in rows):
        return shown(title, PATIENCE)
    return nullcontext()


def say(text: str, done: int | None = None, total: int | None = None) -> None:
    """Say what is being done now, and how much of how much is done, where somebody sees it."""
    work = _WORK.get()
    if work is not None:
        work.say(text, done / total if done is not None and total else None, done is None)


def told(rows: Iterable[T], text: str) -> Iterable[T]:
    """The same rows; how many there were is said meanwhile."""
    return rows if _WORK.get() is None else _told(rows, text)


def _told(rows: Iterable[T], text: str) -> Iterator[T]:
    total = len(rows) if isinstance(rows, Sized) else None
    for number, row in enumerate(rows):
        if not number % STRIDE:
            say(f"{number:,} {text}", number, total)
        yield row
