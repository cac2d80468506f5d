"""What was typed at a plain prompt: before 3.13 Python keeps no source of it, but the history of the line editor does.

What is found is what runs: only lines that compile to the code that the function has.
"""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

from nestling.frontend.comprehension.compiled import code_in

#: How many lines back is looked, and how many lines one statement has.
BACK, LONGEST = 2_000, 200


def typed(function: FunctionType) -> tuple[str, ...] | None:
    """The statement at the prompt in which a function was written, if it is found."""
    editor: Any = sys.modules.get("readline")
    if editor is None or function.__code__.co_filename != "<stdin>":
        return None
    last = editor.get_current_history_length()
    found = (editor.get_history_item(number) for number in range(max(1, last - BACK), last + 1))
    lines = [f"{line}\n" for line in found if line is not None]
    for first in range(len(lines) - 1, -1, -1):
        if lines[first][0].isspace() or (first and lines[first - 1].startswith("@")):
            continue
        statement = _statement(lines[first : first + LONGEST], function)
        if statement is not None:
            return statement
    return None


def _statement(lines: list[str], function: FunctionType) -> tuple[str, ...] | None:
    """The first lines of some, as far as they are a statement with the function in it."""
    if not any(word in line for line in lines for word in ("def ", "lambda")):
        return None
    for end in range(1, len(lines) + 1):
        if end > 1 and not lines[end - 1][0].isspace() and not lines[end - 2].startswith("@"):
            closing = lines[end - 1].lstrip()[0] in ")]}"
            if not closing and end > 2:
                return None  # another statement begins
        try:
            if code_in("".join(lines[:end]), function.__code__) is not None:
                return tuple(lines[:end])
        except (SyntaxError, ValueError):
            continue  # not all of it
    return None
