"""Every exception Nestling raises on purpose, and its warning.

::

    NestlingError
      ├── QueryError        a view that cannot be accepted: what, where, what to write instead
      ├── ChangeError       a change that cannot be accepted
      │     └── ConstraintError   … because it would fill a constraint: which, and with what rows
      └── StoreError        files

    EvaluatedOnRead       a warning: a view of which nothing can be maintained

A message has three parts: what is wrong, where (line and caret), and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text the user wrote: its line, counted from 1, and the columns underlined."""

    line: int
    column: int
    text: str
    length: int = 1
    file: str = ""

    def show(self) -> str:
        """The line with a caret under the place.

        >>> print(Span(3, 4, "for x in y", 1, "views.py").show())
          views.py, line 3
            for x in y
                ^
        """
        where = f"{self.file}, line {self.line}" if self.file else f"line {self.line}"
        return f"  {where}\n    {self.text}\n    {' ' * self.column}{'^' * max(1, self.length)}"


def brief(value: object, width: int = 60) -> str:
    """A value as a message has it: short, and never an error of its own.

    >>> brief("a" * 100), brief(10**5000)
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…", '<int>')
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 (too many digits or levels, or a class that cannot show itself)
        text = f"<{type(value).__name__}>"
    return text if len(text) <= width else text[: width - 1] + "…"


def shown(value: object) -> str:
    """The same with its class, where that may be what is wrong with it.

    >>> shown("abc")
    "'abc' (str)"
    """
    return f"{brief(value)} ({type(value).__name__})"


class NestlingError(Exception):
    """What went wrong, where, and what to do about it."""

    def __init__(self, what: str, *, at: Span | None = None, hint: str = "") -> None:
        super().__init__(what)
        self.what, self.at, self.hint = what, at, hint

    def __str__(self) -> str:
        lines = [self.what]
        if self.at is not None:
            lines.append(self.at.show())
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def located(self, at: Span | None) -> NestlingError:
        """The same error, at ``at`` unless it already knows its place."""
        if self.at is None:
            self.at = at
        return self


class QueryError(NestlingError):
    """The query cannot be accepted as written."""


class ChangeError(NestlingError):
    """The change cannot be accepted; nothing was changed."""


class ConstraintError(ChangeError):
    """The change would break a constraint; nothing was changed."""

    def __init__(self, what: str, *, constraint: str, rows: tuple[object, ...], hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.constraint, self.rows = constraint, rows


class StoreError(NestlingError):
    """A file that cannot be opened, read or written as asked."""


class NoValue(ArithmeticError):
    """A scalar function has no value for its arguments: a division by zero, a text that is no number.

    It never reaches a user. Where a view is computed it is caught, and nothing wider: any other exception there is a
    defect of this library, and must not pass as a row that cannot be accepted.
    """


#: What is raised where a term has no value. A sum of ints is taken to have 64 bits, whatever it sums: that it is too
#: large for a float is not foreseen, and Python says so.
UNDEFINED = (NoValue, OverflowError)


class EvaluatedOnRead(UserWarning):
    """A view that is not maintained: every read evaluates its query over whole tables. ``strict=False`` accepts it."""


class DanglingReference(UserWarning):
    """A file of an earlier version has references that lead nowhere: views do not rely on them until it is mended."""


class OverBudget(UserWarning):
    """Views that took more than ``memory=`` allows: what is stored of them no longer fits in any way."""
