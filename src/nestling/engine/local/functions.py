"""The generated functions of a program, and which of them the next program can reuse.

Law: a reused function equals the one that would be generated. A function is reused if it comes from the same trigger
or plan and touches only stores with unchanged dictionaries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from nestling.engine.local.codegen import drafts, write
from nestling.engine.local.storage import Store
from nestling.engine.python.terms import compiled, run_compiled
from nestling.program.statements import Program


@dataclass(frozen=True)
class Generated:
    """A function: what it comes from, its source, that compiled, and the names it uses."""

    origin: object
    text: str
    code: CodeType
    words: frozenset[str]


@dataclass(frozen=True)
class Functions:
    """All functions of a program, in order, and the constants they use."""

    written: Mapping[str, Generated] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The source of all of them."""
        texts = [each.text for each in self.written.values()]
        return "\n".join([*self._constants(), *texts, ""])

    def _constants(self) -> list[str]:
        return [f"{name} = {text}" for text, name in self.constants.items()]

    def define(self, names: dict[str, Any]) -> None:
        """Put the functions into ``names``, over which they run."""
        if self.constants:
            run_compiled(_compiled("\n".join(self._constants())), names)
        for each in self.written.values():
            run_compiled(each.code, names)

    def mention(self, *words: str) -> bool:
        """Whether one of ``words`` stands somewhere in the source."""
        texts = (*self.constants, *(each.text for each in self.written.values()))
        return any(word in text for text in texts for word in words)


def functions(
    program: Program,
    stores: dict[str, Store],
    keep_tables: bool = True,
    before: Functions | None = None,
    changed: frozenset[str] = frozenset(),
) -> Functions:
    """The functions of ``program``, which was ``ranged``.

    Those ``before`` it that come from the same and use none of the words ``changed`` are kept.
    """
    old, wanted, constants = (before or Functions()), drafts(program), dict((before or Functions()).constants)
    kept = {
        name: there
        for name, draft in wanted.items()
        if (there := old.written.get(name)) is not None
        and there.words.isdisjoint(changed)
        and there.origin == draft.origin
    }
    missing = {name: draft for name, draft in wanted.items() if name not in kept}
    texts = write(program, stores, keep_tables, constants, missing) if missing else {}
    for name, text in texts.items():
        code = _compiled(text)
        kept[name] = Generated(wanted[name].origin, text, code, frozenset(_names(code)))
    return Functions({name: kept[name] for name in wanted}, constants)


def _compiled(text: str) -> CodeType:
    return compiled(text, "nestling trigger program")


def _names(code: CodeType) -> Iterator[str]:
    """The names that ``code`` looks up, in itself and in the functions inside."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
