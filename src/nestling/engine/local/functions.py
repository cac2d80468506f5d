"""The generated functions of a program: each is written when it is asked for, or taken over from an earlier program.

Of the functions that a program has, most are never asked for: a table that is only filled needs none for rows that
change. Laws: the source is that of the program, written at once; a function that is taken over equals the one that
would be written. It is taken over if it comes from the same trigger or plan and touches only stores with unchanged
dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from threading import RLock
from types import CodeType
from typing import Any, TypeVar

from nestling.depth import room
from nestling.engine.local.codegen import drafts, write
from nestling.engine.local.storage import Store
from nestling.engine.local.writer import FunctionWriter
from nestling.engine.python.terms import compiled, run_compiled
from nestling.program.statements import Program

Key = TypeVar("Key")
Made = TypeVar("Made")


class OnDemand(dict[Key, Made]):
    """What is ``made`` of a key when it is looked up first.

    >>> squares = OnDemand(lambda n: n * n)
    >>> squares[3], squares
    (9, {3: 9})
    """

    def __init__(self, make: Callable[[Key], Made]) -> None:
        self._make = make

    def __missing__(self, key: Key) -> Made:
        made = self[key] = self._make(key)
        return made


@dataclass(frozen=True)
class Generated:
    """A function: what it comes from, its source, that compiled, and the names it uses."""

    origin: object
    text: str
    code: CodeType
    words: frozenset[str]


class Functions:
    """The functions of ``program``, which was ``ranged``, and the constants they use.

    Those ``before`` it that come from the same and use none of the words ``changed`` are taken over.
    """

    def __init__(
        self,
        program: Program,
        stores: dict[str, Store],
        keep_tables: bool = True,
        before: Functions | None = None,
        changed: frozenset[str] = frozenset(),
    ) -> None:
        self._program, self._stores, self._keep_tables = program, stores, keep_tables
        self._lock = RLock()  # several readers may be the first to ask
        self.constants: dict[str, str] = dict(before.constants) if before else {}
        self.drafts = drafts(program)
        old = before.snapshot() if before else {}
        self.written: dict[str, Generated] = {
            name: there
            for name, there in old.items()
            if name in self.drafts
            and there.words.isdisjoint(changed)
            and there.origin == self.drafts[name].origin
        }

    @cached_property
    def _writer(self) -> FunctionWriter:
        return FunctionWriter(self._program, self._stores, self._keep_tables, self.constants)

    @property
    def source(self) -> str:
        """The source of all of them, in order."""
        texts = [self.function(name).text for name in self.drafts]
        return "\n".join([*self._constants(), *texts, ""])

    def _constants(self) -> list[str]:
        return [f"{name} = {text}" for text, name in self.constants.items()]

    def function(self, name: str) -> Generated:
        """One of them, written."""
        with self._lock, room():
            if name not in self.written:
                draft = self.drafts[name]
                text = write(self._writer, draft)
                code = compiled(text, "nestling trigger program")
                self.written[name] = Generated(draft.origin, text, code, frozenset(_names(code)))
            return self.written[name]

    def snapshot(self) -> dict[str, Generated]:
        """Those that are written so far."""
        with self._lock:
            return dict(self.written)

    def write(self, like: Functions) -> None:
        """Write what was asked for of an earlier program: the same is going to be asked for."""
        for name in like.snapshot().keys() & self.drafts.keys():
            self.function(name)

    def define(self, name: str, names: dict[str, Any]) -> Any:
        """Put a function, and those it calls, into ``names``, over which they run."""
        with self._lock:
            if name not in names:
                found = self.function(name)
                for word in found.words - {name}:
                    if word in self.drafts:
                        self.define(word, names)
                self._define_constants(found.words, names)
                run_compiled(found.code, names)  # last: whoever is interrupted before begins anew
            return names[name]

    def _define_constants(self, words: frozenset[str], names: dict[str, Any]) -> None:
        """Put the constants among ``words`` into ``names``, each after those that it is made of."""
        for text, name in self.constants.items():
            if name in words and name not in names:
                code = compiled(f"{name} = {text}", "nestling trigger program")
                self._define_constants(frozenset(_names(code)) - {name}, names)
                run_compiled(code, names)


def _names(code: CodeType) -> Iterator[str]:
    """The names that ``code`` looks up, in itself and in the functions inside."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
