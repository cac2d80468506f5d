"""Branches: what an expression of XQuery is translated into.

A sequence is a list of branches; a branch is ⟨G; K; I⟩: binds G (generators, tests, aggregates), an order K and an
item I. It means the bag of (K, I) for every way to satisfy G, sorted by K; the branches of a list are sorted
together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from nestling.calculus.build import fold, for_, where
from nestling.calculus.terms import Call, Const, Expr, Field, Sing, Term, Tuple, Var
from nestling.calculus.types import INT, STR, UNIT, Record, Scalar, nullable
from nestling.frontend.xquery.template import Part
from nestling.xml.entries import NAME
from nestling.xml.patterns import NUMBERS, Navigation

Bind: TypeAlias = "ForBind | TestBind | GuardBind | FoldBind"
Item: TypeAlias = (
    "NodeItem | DocumentItem | AttributeItem | AtomItem | ElementItem | TextItem | JoinedItem"
    " | RowItem | CellItem | AttributesItem"
)
Key: TypeAlias = "PlaceKey | TermKey"
#: A condition: a term, or a bag that is empty where it does not hold.
Truth: TypeAlias = "Term | Expr"

#: Types of atoms.
UNTYPED, STRING, INTEGER, DECIMAL, DOUBLE, BOOLEAN, DATE, DATETIME = (
    "untyped",
    "string",
    "integer",
    "decimal",
    "double",
    "boolean",
    "date",
    "dateTime",
)
NUMERIC = frozenset((INTEGER, DECIMAL, DOUBLE))
TEXTS = frozenset((UNTYPED, STRING))
MOMENTS = frozenset((DATE, DATETIME))
NULLABLE_TEXT = nullable(STR)
#: The types of columns that are read as texts.
_NAME = re.compile(NAME)
_TEXTUAL = ("str", "int", "decimal", "bool", "date", "datetime")


@dataclass(frozen=True, slots=True)
class ForBind:
    """``x ← bag``"""

    var: Var
    bag: Expr


@dataclass(frozen=True, slots=True)
class TestBind:
    """``[test]``"""

    test: Term


@dataclass(frozen=True, slots=True)
class GuardBind:
    """A bag of units that is empty where the condition does not hold."""

    guard: Expr


@dataclass(frozen=True, slots=True)
class FoldBind:
    """``x := aggregate(bag)``"""

    var: Var
    aggregate: str
    bag: Expr


@dataclass(frozen=True, slots=True)
class PlaceKey:
    """A static place among the parts of a sequence."""

    number: int


@dataclass(frozen=True, slots=True)
class TermKey:
    """A value to sort by; the key of a node, or what ``order by`` says."""

    term: Term
    is_descending: bool = False
    empty_greatest: bool = False
    is_identity: bool = True


@dataclass(frozen=True, slots=True)
class NodeItem:
    """A node of a document: a row of a navigation table, or of rows of one. ``table`` is without columns."""

    row: Var
    table: Navigation

    @property
    def test(self) -> str:
        """What the last step tested of it."""
        return self.table.path[-1][1]

    @property
    def id(self) -> Term:
        return Field(self.row, "id")


@dataclass(frozen=True, slots=True)
class DocumentItem:
    """A document node."""

    document: str


@dataclass(frozen=True, slots=True)
class AttributeItem:
    """An attribute: its value, null where there is none, its name, and the key of its element."""

    value: Term
    name: str
    owner: Term


@dataclass(frozen=True, slots=True)
class AttributesItem:
    """All attributes of an element, which are copied into another."""

    value: Term


@dataclass(frozen=True, slots=True)
class RowItem:
    """A row of a table that is read as a document."""

    row: Var
    table: str
    key: str

    @property
    def id(self) -> Term:
        return Field(self.row, self.key)


@dataclass(frozen=True, slots=True)
class CellItem:
    """An element of such a row, or the text in it: its text, its name, and the key of its row."""

    value: Term
    name: str
    owner: Term


@dataclass(frozen=True, slots=True)
class AtomItem:
    """An atomic value. ``may_be_nan``: made by ``number``, or from what was."""

    term: Term
    type: str
    may_be_nan: bool = False


@dataclass(frozen=True, slots=True)
class ElementItem:
    """A constructed element; its parts are text or branches."""

    name: str
    attributes: tuple[tuple[str, tuple[Part | list[Branch], ...]], ...]
    content: tuple[Part | list[Branch], ...]
    namespaces: tuple[tuple[str, str], ...] = ()
    at: int = 0


@dataclass(frozen=True, slots=True)
class TextItem:
    """A constructed text node, or an attribute where it has a name."""

    content: list[Branch]
    name: str = ""


@dataclass(frozen=True, slots=True)
class JoinedItem:
    """The values of a sequence, as one text: ``string-join``. It is made when it is read, and compared with nothing."""

    content: list[Branch]
    separator: str


@dataclass(frozen=True, slots=True)
class Branch:
    """⟨binds; order; item⟩. ``is_distinct``: it holds no node twice; ``is_single``: it is checked to have one
    item at most.
    """

    binds: tuple[Bind, ...]
    order: tuple[Key, ...]
    item: Item
    is_distinct: bool = True
    is_single: bool = False

    @property
    def is_many(self) -> bool:
        """Whether it may have more than one item."""
        return not self.is_single and any(isinstance(bind, ForBind) for bind in self.binds)

    def after(self, *binds: Bind) -> Branch:
        """The branch with ``binds`` before its own."""
        single = self.is_single and not any(isinstance(bind, ForBind) for bind in binds)
        return replace(self, binds=(*binds, *self.binds), is_single=single) if binds else self

    def under(self, *keys: Key) -> Branch:
        """The branch with ``keys`` before its own order."""
        return replace(self, order=(*keys, *self.order)) if keys else self

    def having(self, *binds: Bind) -> Branch:
        """The branch with ``binds`` after its own."""
        return replace(self, binds=(*self.binds, *binds)) if binds else self


@dataclass(frozen=True, slots=True)
class TableDocument:
    """A table that is read as a document: its name, the type of its rows, and its key."""

    name: str
    record: Record
    key: tuple[str, ...]

    @property
    def obstacle(self) -> str:
        """Why it is no document; empty where it is one."""
        if len(self.key) != 1:
            return "its rows have no key of one column, and so no order"
        for name in (self.name, *self.record.names):
            if not _NAME.fullmatch(name):
                return f"{name!r} is no name of an element"
        for column, type_ in self.record.fields:
            if not isinstance(type_, Scalar) or type_.name not in _TEXTUAL:
                return f"its column {column} has no text"
        return ""


def build(binds: Sequence[Bind], body: Expr) -> Expr:
    """``body`` for every way to satisfy ``binds``."""
    for bind in reversed(binds):
        match bind:
            case ForBind(var, bag):
                body = for_(var, bag, body)
            case TestBind(test):
                body = where(test, body)
            case GuardBind(guard):
                body = for_(Var("_", UNIT), guard, body)
            case FoldBind(var, aggregate, bag):
                body = fold(var.name, aggregate, bag, body)
    return body


def units(branch: Branch) -> Expr:
    """A unit for every item of a branch."""
    return build(branch.binds, Sing(Tuple(())))


def is_term(truth: Truth) -> bool:
    """Whether a condition is a term."""
    return isinstance(truth, Var | Field | Tuple | Const | Call)


def row_type(table: Navigation) -> Record:
    """The type of the rows of a navigation table."""
    context: tuple[tuple[str, Scalar], ...] = (("ctx", STR),) if table.context else ()
    return Record((*context, ("id", STR), *((name, column_type(name)) for name in table.columns)))


def column_type(name: str) -> Scalar:
    """The type of a column of a navigation table."""
    return NULLABLE_TEXT if name.startswith("@") else INT if name in NUMBERS else STR


def without_context(row: Var) -> Term:
    """A row as it is for every context: its columns but ``ctx``, ``id`` first."""
    names = (name for name in _names(row) if name not in ("ctx", "id"))
    return Tuple((("id", Field(row, "id")), *((name, Field(row, name)) for name in names)))


def _names(row: Var) -> Iterable[str]:
    assert isinstance(row.type, Record)
    return row.type.names


def as_binds(truth: Truth) -> tuple[Bind, ...]:
    """A condition as a bind."""
    return (TestBind(truth),) if is_term(truth) else (GuardBind(truth),)  # type: ignore[arg-type]
