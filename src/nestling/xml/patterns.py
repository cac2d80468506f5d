"""Patterns: paths of labels that nodes are found by, and the navigation tables that views read.

A pattern is a tuple of steps; a step leads to a child or to any descendant, and tests its label: a name, ``*`` for any
element, ``{uri}*`` or ``*:name`` for some, ``text()``, ``comment()``, ``processing-instruction()`` or ``node()``. A
navigation table holds, for every node that matches its context, the nodes that its path reaches from there, with the
columns that views ask for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import TypeAlias

from nestling.xml.entries import Labels

CHILD, DESCENDANT = "child", "descendant"
PatternStep: TypeAlias = tuple[str, str]
Pattern: TypeAlias = tuple[PatternStep, ...]

#: Columns beside ``ctx`` and ``id``; an attribute is ``@`` and its name.
STRING, STAMP, IS_FIRST, IS_LAST, LABEL_NAME, PARENT = (
    "string",
    "stamp",
    "is_first",
    "is_last",
    "name",
    "parent",
)
#: The column of all attributes.
ALL_ATTRIBUTES = "@*"
NUMBERS = frozenset((STAMP, IS_FIRST, IS_LAST))


@dataclass(frozen=True)
class Navigation:
    """A navigation table: the nodes ``path`` leads to from those that match ``context``.

    Without a context they are the nodes of the document; then there is no column ``ctx``. Its key is ``id``, or
    ``ctx`` and ``id`` where a node may be reached from several nodes above it.
    """

    document: str
    context: Pattern
    path: Pattern
    columns: tuple[str, ...] = ()

    @property
    def pattern(self) -> Pattern:
        """What the nodes in it match."""
        return self.context + self.path

    @cached_property
    def is_shared(self) -> bool:
        """Whether a node may be in it for several contexts."""
        return bool(self.context) and any(axis == DESCENDANT for axis, _ in self.pattern)

    @cached_property
    def name(self) -> str:
        """What the table is called; a digest tells long paths with one ending apart."""
        whole = "|".join((self.document, shown(self.context), shown(self.path), *self.columns))
        short = (shown(self.context[-1:]) + "~" if self.context else "") + shown(self.path[-2:])
        return f"§n {self.document} {short[:60]} {sha256(whole.encode()).hexdigest()[:12]}"

    def __str__(self) -> str:
        context = f"{shown(self.context)} → " if self.context else ""
        return f"{self.document}: {context}{shown(self.path)} ({', '.join(('id', *self.columns))})"


def shown(pattern: Pattern) -> str:
    """A pattern as a path.

    >>> shown((("child", "site"), ("descendant", "item")))
    '/site//item'
    """
    return "".join([("//" if axis == DESCENDANT else "/") + test for axis, test in pattern])


def passes(test: str, label: str) -> bool:
    """Whether a node with ``label`` passes ``test``.

    >>> [passes(test, "{urn:x}item") for test in ("*", "{urn:x}*", "*:item", "item")]
    [True, True, True, False]
    """
    if test in (label, "node()"):
        return True
    if "*" not in test or label.endswith("()"):
        return False
    if test.startswith("*:"):
        return label.rpartition("}")[2] == test[2:]
    return label.startswith(test[:-1])


@lru_cache(100_000)
def matches(pattern: Pattern, labels: Labels) -> bool:
    """Whether the node at ``labels`` matches ``pattern`` from the document on.

    >>> matches((("descendant", "b"),), ("s", "a", "b")), matches((("child", "b"),), ("s", "b"))
    (True, False)
    """
    if not pattern or not labels:
        return not pattern and not labels
    axis, test = pattern[-1]
    if not passes(test, labels[-1]):
        return False
    if axis == CHILD:
        return matches(pattern[:-1], labels[:-1])
    return any(matches(pattern[:-1], labels[:depth]) for depth in range(len(labels)))


def contexts(table: Navigation, labels: Labels) -> list[int]:
    """At which depths the contexts stand that reach the node at ``labels``; 0 is the document."""
    if not table.context:
        return [0] if matches(table.path, labels) else []
    return [
        depth
        for depth in range(1, len(labels))
        if matches(table.context, labels[:depth]) and matches(table.path, labels[depth:])
    ]
