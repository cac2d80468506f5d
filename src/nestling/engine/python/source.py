"""Writing Python source line by line; no text can break out of its line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nestling.quoting import remark


class SourceWriter:
    r"""Lines with an indentation that follows ``block``.

    >>> out = SourceWriter()
    >>> with out.block("if x:"):
    ...     out.comment("as\n    ever")
    ...     out.line("y = 1")
    >>> print(out.text())
    if x:
        # as ever
        y = 1
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def line(self, text: str = "") -> None:
        # Words, literals and remarks have no line breaks, nor anything else that cannot be seen.
        if not text.isprintable():
            raise ValueError(f"not a line of source: {text!r}")
        self._lines.append("    " * self._depth + text if text else "")

    def comment(self, text: str) -> None:
        """A line for the reader."""
        self.line(f"# {remark(text)}")

    def docstring(self, text: str) -> None:
        self.line(f'"""{remark(text)}."""')

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
        start = len(self._lines)
        yield
        if all(line.lstrip().startswith("#") for line in self._lines[start:]):
            self.line("pass")  # what it was to do cancels
        self._depth = depth

    def text(self) -> str:
        return "\n".join(self._lines)
