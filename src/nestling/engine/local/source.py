"""Writing Python source, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Source:
    """Lines with an indentation that follows ``block``.

    >>> out = Source()
    >>> with out.block("if x:"):
    ...     out.line("y = 1")
    >>> print(out.text())
    if x:
        y = 1
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def line(self, text: str = "") -> None:
        self._lines.append("    " * self._depth + text if text else "")

    def open(self, head: str) -> None:
        """Start a block that the caller closes by ``close_to``: loop nests have many ends in one place."""
        self.line(head)
        self._depth += 1

    @property
    def depth(self) -> int:
        return self._depth

    def close_to(self, depth: int) -> None:
        self._depth = depth

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        depth = self._depth
        self.open(head)
        yield
        self._depth = depth

    def text(self) -> str:
        return "\n".join(self._lines)
