"""Documents: text with places where it may be broken (Wadler; Lindig's strict version).

::

    d ::= "text" | (d, …) | Line(flat) | Nest(by, d) | Group(d)

A group stands on one line where it fits, with each of its lines as ``flat``; else its own lines are
broken, and groups inside it get their chance again. ``render`` keeps its own stack, so depth costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

Doc: TypeAlias = "str | tuple[Doc, ...] | DocBreak | DocNest | DocGroup"
#: Indentation, whether lines are broken here, and what to write.
_Item: TypeAlias = tuple[int, bool, Doc]

INDENT = 2


@dataclass(frozen=True, slots=True)
class DocBreak:
    """A line break, or ``flat`` where its group stands on one line."""

    flat: str = " "


@dataclass(frozen=True, slots=True)
class DocNest:
    """``doc`` with its broken lines indented by ``by`` more."""

    by: int
    doc: Doc


@dataclass(frozen=True, slots=True)
class DocGroup:
    """``doc`` on one line if that fits."""

    doc: Doc


LINE, SOFT = DocBreak(), DocBreak("")


def group(*docs: Doc) -> DocGroup:
    """``docs`` one after the other, on one line if that fits."""
    return DocGroup(docs)


def nest(*docs: Doc) -> DocNest:
    """``docs`` one after the other, a step further to the right."""
    return DocNest(INDENT, docs)


def separated(docs: Sequence[Doc], separator: str = ",") -> Doc:
    """``docs`` with ``separator`` behind all but the last, each on its line where they are broken."""
    return tuple(part for doc in docs for part in (separator, LINE, doc))[2:]


def bracket(opening: str, docs: Sequence[Doc], closing: str, separator: str = ",") -> Doc:
    """``docs`` between brackets; broken, the brackets stand on lines of their own.

    >>> print(render(bracket("f(", ["alpha", "beta"], ")"), 12))
    f(
      alpha,
      beta
    )
    """
    if not docs:
        return opening + closing
    return group(opening, nest(SOFT, separated(docs, separator)), SOFT, closing)


def render(doc: Doc, width: int) -> str:
    """``doc`` as text of lines of at most ``width`` columns, as far as its lines allow.

    >>> render(group("a", LINE, "b"), 3)
    'a b'
    >>> render(group("a", LINE, "b"), 2)
    'a\\nb'
    """
    out: list[str] = []
    column = 0
    stack: list[_Item] = [(0, True, doc)]
    while stack:
        indent, broken, here = stack.pop()
        if isinstance(here, str | DocBreak):
            text = _written(here, indent, broken)
            out.append(text)
            column = indent if text.startswith("\n") else column + len(text)
        elif isinstance(here, DocGroup) and broken:
            stack.append((indent, not _fits(width - column, here.doc, stack), here.doc))
        else:
            stack.extend(_opened(indent, broken, here))
    return "".join(out)


def _written(leaf: str | DocBreak, indent: int, broken: bool) -> str:
    if isinstance(leaf, str):
        return leaf
    return "\n" + " " * indent if broken else leaf.flat


def _opened(indent: int, broken: bool, doc: tuple[Doc, ...] | DocNest | DocGroup) -> list[_Item]:
    """What ``doc`` is made of, last part first."""
    match doc:
        case tuple():
            return [(indent, broken, part) for part in reversed(doc)]
        case DocNest(by, inner):
            return [(indent + by, broken, inner)]
        case DocGroup(inner):
            return [(indent, broken, inner)]
        case _:
            assert_never(doc)


def _fits(room: int, doc: Doc, stack: Sequence[_Item]) -> bool:
    """Whether ``doc`` on one line, and what follows it up to the next break, needs at most ``room``."""
    pending: list[_Item] = [(0, False, doc)]
    rest = len(stack)
    while room >= 0:
        if not pending:
            if not rest:
                return True
            rest -= 1
            pending.append(stack[rest])
        indent, broken, here = pending.pop()
        if isinstance(here, DocBreak) and broken:
            return True
        if isinstance(here, str | DocBreak):
            room -= len(_written(here, indent, broken))
        else:
            pending.extend(_opened(indent, broken, here))
    return False
