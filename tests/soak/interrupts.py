"""Exceptions that come from outside, anywhere in the library: a key pressed, memory or stack used up."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import CO_GENERATOR
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import nestling

LIBRARY = str(Path(nestling.__file__).parent)
RAISED: dict[str, type[BaseException]] = {"key": KeyboardInterrupt, "memory": MemoryError}
#: Where in its code a generator has begun.
START = 16
#: What may come out of a change that was interrupted.
OUTSIDE = (KeyboardInterrupt, MemoryError, RecursionError)


def way(rng: Random) -> tuple[str, int]:
    """How a change is interrupted, and when: after so many places, calls or microseconds."""
    how = rng.choice(["key", "key", "key", "memory", "stack", "timer"])
    if how == "stack":
        return how, rng.randint(8, 60)
    return how, int(10 ** rng.uniform(0, 2.8))


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
        with at_place(when, RAISED.get(how, KeyboardInterrupt)):
            yield


@contextmanager
def at_place(number: int, kind: type[BaseException]) -> Iterator[None]:
    """Raise ``kind`` at the ``number``-th place where Python may look for what came from outside.

    These are the entries of the library's functions, and the lines of the code that it generated. At the ``try:``, at
    the end of a ``with`` or in a ``finally`` a trace function could raise as well, and no signal ever does.
    """
    left = number

    def pass_by() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise kind("from outside")

    def line(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line" and left > 0:
            pass_by()
        return line

    def call(frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        file = frame.f_code.co_filename
        if left <= 0 or not file.startswith((LIBRARY, "<nestling")) or _is_resumed(frame):
            return None
        pass_by()
        return line if file.startswith("<") else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(before)


def _is_resumed(frame: FrameType) -> bool:
    """Whether a generator goes on, or is thrown away: what a tracer raises then leaves it without its ``finally``."""
    code = frame.f_code
    goes_on = bool(code.co_flags & CO_GENERATOR) and frame.f_lasti > START
    return goes_on or code.co_name == "<genexpr>"


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
