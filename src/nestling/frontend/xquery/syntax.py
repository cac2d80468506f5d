"""The syntax of XQuery, as far as it is read: one node per construct, each with its place in the text.

``at`` is the offset at which the construct begins; it is no part of what a node says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

Syntax: TypeAlias = (
    "LiteralExpr | VariableExpr | ContextExpr | RootExpr | SequenceExpr | FlworExpr | QuantifiedExpr | IfExpr"
    " | LogicExpr | ComparisonExpr | RangeExpr | ArithmeticExpr | NodeSetExpr | PathExpr | FilterExpr | ElementExpr"
    " | AttributeExpr | TextExpr | CommentExpr | CallExpr | CastExpr | SwitchExpr | UpdateExpr"
)
Clause: TypeAlias = "ForClause | LetClause | WhereClause | GroupClause | OrderClause"


def _place() -> int:
    return field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LiteralExpr:
    """``"text"``, ``1``, ``1.5``, ``1e0``."""

    value: str | int | float | Decimal
    at: int = _place()


@dataclass(frozen=True, slots=True)
class VariableExpr:
    """``$name``."""

    name: str
    at: int = _place()


@dataclass(frozen=True, slots=True)
class ContextExpr:
    """``.``"""

    at: int = _place()


@dataclass(frozen=True, slots=True)
class RootExpr:
    """``/`` — the document of the context."""

    at: int = _place()


@dataclass(frozen=True, slots=True)
class SequenceExpr:
    """``(e, …)``"""

    items: tuple[Syntax, ...]
    at: int = _place()


@dataclass(frozen=True, slots=True)
class ForClause:
    """``for $name at $position in source``"""

    name: str
    position: str | None
    source: Syntax
    at: int = _place()


@dataclass(frozen=True, slots=True)
class LetClause:
    """``let $name := value``"""

    name: str
    value: Syntax
    at: int = _place()


@dataclass(frozen=True, slots=True)
class WhereClause:
    """``where test``"""

    test: Syntax
    at: int = _place()


@dataclass(frozen=True, slots=True)
class OrderKeySyntax:
    """``key descending empty greatest``"""

    key: Syntax
    is_descending: bool
    empty_greatest: bool


@dataclass(frozen=True, slots=True)
class OrderClause:
    """``order by key, …``"""

    keys: tuple[OrderKeySyntax, ...]
    at: int = _place()


@dataclass(frozen=True, slots=True)
class GroupClause:
    """``group by $name := key, …``; a key that is not written is the variable itself."""

    keys: tuple[tuple[str, Syntax], ...]
    at: int = _place()


@dataclass(frozen=True, slots=True)
class FlworExpr:
    """``for … let … where … group by … order by … return result``"""

    clauses: tuple[Clause, ...]
    result: Syntax
    at: int = _place()


@dataclass(frozen=True, slots=True)
class QuantifiedExpr:
    """``some $x in e, … satisfies test``; ``every``"""

    is_every: bool
    bindings: tuple[ForClause, ...]
    test: Syntax
    at: int = _place()


@dataclass(frozen=True, slots=True)
class IfExpr:
    """``if (test) then yes else no``"""

    test: Syntax
    yes: Syntax
    no: Syntax
    at: int = _place()


@dataclass(frozen=True, slots=True)
class SwitchExpr:
    """``switch (operand) case value … return result … default return default``"""

    operand: Syntax
    cases: tuple[tuple[tuple[Syntax, ...], Syntax], ...]
    default: Syntax
    at: int = _place()


@dataclass(frozen=True, slots=True)
class LogicExpr:
    """``left and right``, ``left or right``"""

    operator: str
    left: Syntax
    right: Syntax
    at: int = _place()


@dataclass(frozen=True, slots=True)
class ComparisonExpr:
    """A comparison; ``kind`` is ``general`` (``=``), ``value`` (``eq``, written as ``=``) or ``node`` (``is``,
    ``<<``).
    """

    operator: str
    kind: str
    left: Syntax
    right: Syntax
    at: int = _place()


@dataclass(frozen=True, slots=True)
class RangeExpr:
    """``first to last``"""

    first: Syntax
    last: Syntax
    at: int = _place()


@dataclass(frozen=True, slots=True)
class ArithmeticExpr:
    """``left + right``; also ``- * div idiv mod``"""

    operator: str
    left: Syntax
    right: Syntax
    at: int = _place()


@dataclass(frozen=True, slots=True)
class NodeSetExpr:
    """``left union right``; also ``intersect``, ``except``"""

    operator: str
    left: Syntax
    right: Syntax
    at: int = _place()


@dataclass(frozen=True, slots=True)
class PathStep:
    """``axis::test[p]…``; the axis ``//`` is a step after two slashes, and counts positions among siblings."""

    axis: str
    test: str
    predicates: tuple[Syntax, ...]
    at: int = _place()


@dataclass(frozen=True, slots=True)
class PathExpr:
    """``start/step/…``"""

    start: Syntax
    steps: tuple[PathStep, ...]
    at: int = _place()


@dataclass(frozen=True, slots=True)
class FilterExpr:
    """``(base)[p]…``"""

    base: Syntax
    predicates: tuple[Syntax, ...]
    at: int = _place()


@dataclass(frozen=True, slots=True)
class ElementExpr:
    """``<name a="…">…</name>``, ``element name {…}``; a part of content is text or an expression.

    Names are written as entries have them, ``{uri}prefix:local``; ``namespaces`` are those that it has by the text:
    what constructors around it declare, and what its own names are in.
    """

    name: str
    attributes: tuple[tuple[str, tuple[str | Syntax, ...]], ...]
    content: tuple[str | Syntax, ...]
    namespaces: tuple[tuple[str, str], ...] = ()
    at: int = _place()


@dataclass(frozen=True, slots=True)
class AttributeExpr:
    """``attribute name {…}``"""

    name: str
    content: Syntax
    at: int = _place()


@dataclass(frozen=True, slots=True)
class TextExpr:
    """``text {…}``"""

    content: Syntax
    at: int = _place()


@dataclass(frozen=True, slots=True)
class CommentExpr:
    """``<!--text-->``"""

    text: str
    at: int = _place()


@dataclass(frozen=True, slots=True)
class CallExpr:
    """``name(argument, …)``; functions of the standard are written without their prefix."""

    name: str
    arguments: tuple[Syntax, ...]
    at: int = _place()


@dataclass(frozen=True, slots=True)
class CastExpr:
    """``xs:type(value)``, and what a declared parameter does to its argument."""

    type: str
    value: Syntax
    at: int = _place()


@dataclass(frozen=True, slots=True)
class UpdateExpr:
    """``insert``, ``delete``, ``replace``, ``replace value of`` and ``rename``; ``place`` says where an
    insertion goes. ``namespaces`` are those that a new name may be in.
    """

    kind: str
    target: Syntax
    source: Syntax | None = None
    place: str = ""
    namespaces: tuple[tuple[str, str], ...] = ()
    at: int = _place()


@dataclass(frozen=True, slots=True)
class FunctionSyntax:
    """``declare function name($p as type, …) { body }``; a type is given where it is an atomic one."""

    name: str
    parameters: tuple[tuple[str, str | None], ...]
    body: Syntax
    at: int = _place()


@dataclass(frozen=True, slots=True)
class ModuleSyntax:
    """A text: declared functions and variables, and the expression."""

    text: str
    functions: dict[str, FunctionSyntax]
    variables: tuple[LetClause, ...]
    body: Syntax
