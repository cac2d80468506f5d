"""Exceptions that come from outside, at any line of the library: a key pressed, memory or stack used up."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dis import opname
from linecache import getline
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import nestling

LIBRARY = str(Path(nestling.__file__).parent)
RAISED: dict[str, type[BaseException]] = {"key": KeyboardInterrupt, "memory": MemoryError}
#: What may come out of a change that was interrupted.
OUTSIDE = (KeyboardInterrupt, MemoryError, RecursionError)


def way(rng: Random) -> tuple[str, int]:
    """How a change is interrupted, and when: after so many lines, calls or microseconds."""
    how = rng.choice(["key", "key", "key", "memory", "stack", "timer"])
    if how == "stack":
        return how, rng.randint(8, 60)
    return how, int(10 ** rng.uniform(0, 3.3))


@contextmanager
def interrupted(how: str, when: int) -> Iterator[None]:
    """Inside, something is raised from outside sooner or later; or not at all, if all is over before."""
    if how == "stack":
        with little_stack(when):
            yield
    elif how == "timer" and threading.current_thread() is threading.main_thread():
        with alarm(when):
            yield
    else:
        with at_line(when, RAISED.get(how, KeyboardInterrupt)):
            yield


@contextmanager
def at_line(number: int, kind: type[BaseException]) -> Iterator[None]:
    """Raise ``kind`` at the line of the library, or of code it generated, that is run as the ``number``-th."""
    left = number

    def line(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal left
        if event == "line" and _can_be_interrupted(frame):
            left -= 1
            if left == 0:
                raise kind("from outside")
        return line

    def call(frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        file = frame.f_code.co_filename
        return line if left > 0 and (file.startswith((LIBRARY, "<"))) else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(before)


def _can_be_interrupted(frame: FrameType) -> bool:
    """Whether Python lets a signal in here: not at a ``try``, and not where a ``with`` block is about to be left.

    A tracer can raise there, which nothing else can; the block would not be left at all.
    """
    operation = opname[frame.f_code.co_code[frame.f_lasti]]
    if operation == "LOAD_CONST":
        return not getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with ")
    return operation != "NOP"


@contextmanager
def little_stack(calls: int) -> Iterator[None]:
    """Let no more than so many calls be made, one inside the other."""
    depth, frame = 0, sys._getframe()
    above: FrameType | None = frame
    while above is not None:
        depth, above = depth + 1, above.f_back
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + calls)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@contextmanager
def alarm(microseconds: int) -> Iterator[None]:
    """Press the key after a while, wherever the program is then; not outside of the block."""

    def press(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt("from outside")

    before = signal.signal(signal.SIGALRM, press)
    try:
        signal.setitimer(signal.ITIMER_REAL, microseconds / 1e6)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
