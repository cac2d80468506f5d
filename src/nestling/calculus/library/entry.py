"""What an entry of the library holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LEAST, MOST = -(2**31), 2**31 - 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One function of SQL, by the name that Spark gives it.

    ``takes``: the type of each argument; several are parted by ``|``, and ``int32`` is an int of 32 bits: of a larger
    one there is no value. ``gives``: the type of the result, with a ``?`` where it may be null though no argument is.
    ``defaults`` stand for arguments left out at the end. ``sql`` is Spark's text, in which an ``int32`` is an INT;
    ``holds`` says in its words where there is a value, if not everywhere. ``fixed`` are the arguments that must be
    written out; ``decides`` those that decide alone whether there is a value.
    """

    name: str
    takes: tuple[str, ...]
    gives: str
    apply: Callable[..., Any]
    sql: str = ""
    holds: str = ""
    defaults: tuple[Any, ...] = ()
    fixed: tuple[int, ...] = ()
    decides: tuple[int, ...] = ()
    partial: bool = False

    @property
    def is_partial(self) -> bool:
        return self.partial or bool(self.holds) or "int32" in self.takes

    @property
    def deciding(self) -> tuple[int, ...]:
        """The arguments that decide whether there is a value; all where that is not known."""
        if self.decides or self.fixed:
            return (*self.decides, *self.fixed)
        if self.partial or self.holds:
            return tuple(range(len(self.takes)))
        return tuple(i for i, kind in enumerate(self.takes) if kind == "int32")

    def of(self, *args: Any) -> Any:
        """The value of a call."""
        for kind, arg in zip(self.takes, args, strict=True):
            if kind == "int32" and not LEAST <= arg <= MOST:
                raise ValueError(f"{arg} has more than 32 bits")
        return self.apply(*args)


def entry(name: str, takes: str, gives: str, apply: Callable[..., Any], sql: str = "", **more: Any) -> Entry:
    """An entry; ``takes`` has a word for each argument, and without an ``sql`` Spark's name is called."""
    kinds = tuple(takes.split())
    text = sql or f"{name}({', '.join(f'{{{i}}}' for i in range(len(kinds)))})"
    return Entry(name, kinds, gives, apply, text, **more)
