"""An interrupt at every place of our own code where Python lets one in: what Ctrl-C may hit."""

import dis
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

#: Python looks for signals after a call, at the beginning of a function, and where a loop goes back.
AFTER = {"CALL", "CALL_FUNCTION_EX", "CALL_KW", "RESUME", "JUMP_BACKWARD"}


class Interrupt:
    """Raises KeyboardInterrupt at the ``at``-th such place that is reached in modules whose path has ``within``."""

    def __init__(self, at: int, within: str) -> None:
        self.left, self.within, self.hit = at, within, ""
        self.last: dict[FrameType, int] = {}

    def __enter__(self) -> "Interrupt":
        self.before = sys.gettrace()
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self.before)

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if self.within not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            before, self.last[frame] = self.last.get(frame), frame.f_lasti
            if before is not None and dis.opname[frame.f_code.co_code[before]] in AFTER:
                self.left -= 1
                if self.left == 0:
                    self.hit = f"{frame.f_code.co_qualname}:{frame.f_lineno}"
                    raise KeyboardInterrupt
        return self.trace


def everywhere(prepare: Callable[[], Any], act: Callable[[Any], None], within: str) -> Iterator[Any]:
    """What ``prepare`` gave, after ``act`` was interrupted at one place; once for each, and once without."""
    at = 0
    while True:
        at += 1
        made = prepare()
        interrupt = Interrupt(at, within)
        try:
            with interrupt:
                act(made)
        except KeyboardInterrupt:
            pass
        yield made, interrupt.hit
        if not interrupt.hit:
            return
