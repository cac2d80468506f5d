"""Spec files: golden cases that are readable without Python.

::

    # a term and its negation cancel only when they are the same term
    relations
    R: Bag(int)
    S: Bag(int)

    apply simplify
    R ⊎ ⊖S
    ----
    R ⊎ ⊖S

Blocks end at a blank line. ``relations`` replaces the relations declared before it. ``apply`` names a pass
and its arguments; its input runs to ``----`` and may hold blank lines. Output that holds a blank line is
fenced by two lines ``----`` before and two after. A line starting with ``#`` between blocks is a comment.

Law: ``render(parse(text)) == text`` for text without trailing blanks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

RULE = "----"


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment or a blank line, kept as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Relations:
    """A ``relations`` block: its lines as written, and what they declare."""

    text: str
    types: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Case:
    """``apply name args`` to ``input``, giving ``expected``."""

    name: str
    args: tuple[str, ...]
    input: str
    expected: str
    relations: Mapping[str, str] = field(default_factory=dict)
    line: int = field(default=0, compare=False)


Block: TypeAlias = Remark | Relations | Case


class SpecError(Exception):
    """A spec file that cannot be read, with the line at fault."""


def parse(text: str) -> tuple[Block, ...]:
    """The blocks of a spec file, each case with the relations in force."""
    return tuple(_Reader(text).blocks())


def render(blocks: tuple[Block, ...]) -> str:
    """The text of a spec file."""
    return "".join(_render_block(block) for block in blocks)


def cases(blocks: tuple[Block, ...]) -> tuple[Case, ...]:
    """The cases among ``blocks``, in order."""
    return tuple(block for block in blocks if isinstance(block, Case))


def with_expected(blocks: tuple[Block, ...], old: Case, expected: str) -> tuple[Block, ...]:
    """``blocks`` with other expected text for the case ``old``."""
    new = replace(old, expected=tidy(expected))
    return tuple(new if block is old else block for block in blocks)


def tidy(text: str) -> str:
    """``text`` as a spec file can hold it: no trailing blanks, no blank lines around it."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


class _Reader:
    """A cursor over the lines of a spec file."""

    def __init__(self, text: str) -> None:
        self.lines = [line.rstrip() for line in text.splitlines()]
        self.at = 0

    def blocks(self) -> Iterator[Block]:
        relations: Mapping[str, str] = {}
        while self.at < len(self.lines):
            head = self.lines[self.at]
            if not head or head.startswith("#"):
                self.at += 1
                yield Remark(head)
            elif head == "relations":
                block = self.relations()
                relations = block.types
                yield block
            elif head.split()[0] == "apply":
                yield self.case(relations)
            else:
                raise self.error(f"expected 'relations', 'apply' or a comment, found {head!r}")

    def relations(self) -> Relations:
        self.at += 1
        start, types = self.at, {}
        while self.at < len(self.lines) and (line := self.lines[self.at]):
            if not line.startswith("#"):
                name, colon, type_text = line.partition(":")
                if not (colon and name.strip() and type_text.strip()):
                    raise self.error(f"expected 'name: type', found {line!r}")
                types[name.strip()] = type_text.strip()
            self.at += 1
        return Relations("\n".join(self.lines[start : self.at]), types)

    def case(self, relations: Mapping[str, str]) -> Case:
        line = self.at + 1
        words = self.lines[self.at].split()[1:]
        if not words:
            raise self.error("'apply' names no pass")
        self.at += 1
        source = self.until(RULE)
        fenced = self.lines[self.at : self.at + 1] == [RULE]
        expected = self.until(RULE, RULE, skip=1) if fenced else self.until_blank()
        return Case(words[0], tuple(words[1:]), source, expected, relations, line)

    def until(self, *rule: str, skip: int = 0) -> str:
        """The lines before ``rule``; the cursor moves behind it."""
        start = self.at + skip
        for end in range(start, len(self.lines)):
            if self.lines[end : end + len(rule)] == list(rule):
                self.at = end + len(rule)
                return "\n".join(self.lines[start:end])
        raise self.error(f"no {' '.join(rule)!r} ends this case")

    def until_blank(self) -> str:
        start = self.at
        while self.at < len(self.lines) and self.lines[self.at]:
            self.at += 1
        return "\n".join(self.lines[start : self.at])

    def error(self, what: str) -> SpecError:
        return SpecError(f"line {self.at + 1}: {what}")


def _render_block(block: Block) -> str:
    match block:
        case Remark(text):
            return f"{text}\n"
        case Relations(text):
            return _lines("relations", text)
        case Case(name, args, source, expected):
            head = " ".join(("apply", name, *args))
            if RULE in expected.split("\n"):
                raise SpecError(f"the output of {head!r} holds a line {RULE!r}, which would end it")
            if "" in expected.split("\n") and expected:
                return _lines(head, source, RULE, RULE, expected, RULE, RULE)
            return _lines(head, source, RULE, expected)


def _lines(*parts: str) -> str:
    return "".join(f"{part}\n" for part in parts if part)
