"""Where a part of a DataFrame was written, and how it is refused."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

from nestling.errors import QueryError, Span
from nestling.frontend.dataframe.plan import Node


def refused(node: Node, what: str, hint: str = "") -> QueryError:
    """The error for a part that cannot be a view."""
    return QueryError(what, at=place_of(node), hint=hint)


def place_of(node: Node) -> Span | None:
    """The line of Python, or the place in an SQL text, that made ``node`` or the first part of it that knows."""
    for part in node.own():
        found = _place(part.jvm.origin())
        if found is not None:
            return found
    return None


def _place(origin: Any) -> Span | None:
    if origin.pysparkErrorContext().isDefined():
        call, where = (getattr(origin.pysparkErrorContext().get(), name)() for name in ("_1", "_2"))
        return in_python(str(call), str(where))
    if origin.sqlText().isDefined() and origin.startIndex().isDefined() and origin.stopIndex().isDefined():
        return _in_text(
            str(origin.sqlText().get()), int(origin.startIndex().get()), int(origin.stopIndex().get())
        )
    return None


def in_python(call: str, where: str) -> Span | None:
    """The line ``where``, as ``file:number``, at which Python called ``call``."""
    file, _, line = where.rpartition(":")
    if not line.isdigit():
        return None
    text = linecache.getline(file, int(line)).rstrip() or call
    column = len(text) - len(text.lstrip())
    return Span(int(line), column, text, len(text) - column, Path(file).name)


def _in_text(text: str, start: int, stop: int) -> Span:
    first = text.rfind("\n", 0, start) + 1
    line = text[first:].partition("\n")[0]
    length = max(1, min(stop + 1 - start, len(line) - (start - first)))
    return Span(text.count("\n", 0, start) + 1, start - first, line, length)
