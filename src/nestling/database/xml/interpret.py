"""The plain meaning of XQuery: lists of items over the node store.

It finds the targets and sources of updates, and recomputes a view for ``verify``. It is slow and obvious on purpose,
and knows nothing of branches and tables: what it and the translation agree on is right for two reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key
from typing import Any, TypeAlias

from nestling.database.xml.atoms import Untyped, arithmetic, atom_text, cast, compare, effective, number
from nestling.depth import room
from nestling.errors import QueryError
from nestling.frontend.xquery.scan import refusal
from nestling.frontend.xquery.syntax import (
    ArithmeticExpr,
    AttributeExpr,
    CallExpr,
    CastExpr,
    Clause,
    CommentExpr,
    ComparisonExpr,
    ContextExpr,
    ElementExpr,
    FilterExpr,
    FlworExpr,
    ForClause,
    IfExpr,
    LetClause,
    LiteralExpr,
    LogicExpr,
    ModuleSyntax,
    NodeSetExpr,
    OrderClause,
    PathExpr,
    PathStep,
    QuantifiedExpr,
    RangeExpr,
    RootExpr,
    SequenceExpr,
    Syntax,
    TextExpr,
    UpdateExpr,
    VariableExpr,
    WhereClause,
)
from nestling.xml.entries import COMMENT, ELEMENT, TEXT, Entry, attribute_of, expanded, label_of
from nestling.xml.orderkeys import depth_of, end_of, parent_of
from nestling.xml.patterns import passes
from nestling.xml.store import NodeStore

Item: TypeAlias = Any
Items: TypeAlias = list[Item]
Scope: TypeAlias = Mapping[str, Items]


@dataclass(frozen=True, slots=True)
class FoundNode:
    """A node of a document; the empty key is the document's own."""

    document: str
    key: str


@dataclass(frozen=True, slots=True)
class FoundAttribute:
    """An attribute of an element of a document, by its expanded name."""

    document: str
    key: str
    name: str


@dataclass(eq=False, slots=True)
class BuiltNode:
    """A constructed node: an element with attributes and content, or a text, comment or attribute."""

    kind: str
    name: str = ""
    text: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    content: list[BuiltNode] = field(default_factory=list)


ATTRIBUTE = "a"
#: An update with its target and source, evaluated.
Pending: TypeAlias = tuple[UpdateExpr, Items, Items]


class Interpreter:
    """Evaluates the expressions of a module."""

    def __init__(
        self, module: ModuleSyntax, stores: Callable[[str], NodeStore], context: FoundNode | None
    ) -> None:
        self.module, self.stores, self.context = module, stores, context
        #: The updates of the text, in order.
        self.pending: list[Pending] = []
        self.calls = 0

    def refuse(self, at: int, what: str, code: str = "", hint: str = "") -> QueryError:
        return refusal(self.module.text, at, what, hint, code)

    @room()
    def run(self) -> Items:
        scope: dict[str, Items] = {} if self.context is None else {".": [self.context]}
        for variable in self.module.variables:
            scope[variable.name] = self.eval(variable.value, scope)
        return self.eval(self.module.body, scope)

    def eval(self, syntax: Syntax, scope: Scope) -> Items:  # noqa: C901 (one arm per node)
        match syntax:
            case LiteralExpr(value):
                return [value]
            case VariableExpr(name, at) if name not in scope:
                raise self.refuse(at, f"${name} is not bound", "XPST0008")
            case VariableExpr(name):
                return scope[name]
            case ContextExpr(at):
                return self._context(at, scope)
            case RootExpr(at):
                context = self._context(at, scope)[0]
                return [FoundNode(context.document if hasattr(context, "document") else self._only(at), "")]
            case SequenceExpr(items):
                return [each for item in items for each in self.eval(item, scope)]
            case FlworExpr(clauses, result):
                return self._flwor(clauses, result, scope)
            case QuantifiedExpr(is_every, bindings, test):
                truths = (self.truth(test, inner) for inner in self._bound(bindings, scope))
                return [all(truths) if is_every else any(truths)]
            case IfExpr(test, yes, no):
                return self.eval(yes if self.truth(test, scope) else no, scope)
            case LogicExpr(operator, left, right):
                first = self.truth(left, scope)
                return [
                    first and self.truth(right, scope)
                    if operator == "and"
                    else first or self.truth(right, scope)
                ]
            case ComparisonExpr():
                return self._comparison(syntax, scope)
            case RangeExpr(low, high):
                bounds = [self._one(each, scope, syntax.at) for each in (low, high)]
                return [] if None in bounds else list(range(int(bounds[0]), int(bounds[1]) + 1))
            case ArithmeticExpr(operator, left, right, at):
                a, b = self._one(left, scope, at), self._one(right, scope, at)
                return [] if a is None or b is None else [self._guarded(at, arithmetic, operator, a, b)]
            case NodeSetExpr(operator, left, right):
                return self._node_set(operator, self.eval(left, scope), self.eval(right, scope))
            case PathExpr(start, steps):
                found = self.eval(start, scope)
                for step in steps:
                    found = self._step(step, found, scope)
                return found
            case FilterExpr(base, predicates):
                found = self.eval(base, scope)
                for predicate in predicates:
                    found = self._filter(found, predicate, scope)
                return found
            case ElementExpr() | AttributeExpr() | TextExpr() | CommentExpr():
                return self._construct(syntax, scope)
            case CastExpr(type_, value, at):
                atom = self._one(value, scope, at)
                return [] if atom is None else [self._guarded(at, cast, type_, atom)]
            case CallExpr():
                return self._call(syntax, scope)
            case UpdateExpr(_, target, source):
                made = [] if source is None else self.eval(source, scope)
                self.pending.append((syntax, self.eval(target, scope), made))
                return []
        raise AssertionError(syntax)

    def _guarded(self, at: int, function: Callable[..., Any], *values: Any) -> Any:
        """What has no value is an error at its place."""
        try:
            return function(*values)
        except (ValueError, TypeError, ArithmeticError) as error:
            raise self.refuse(at, str(error) or type(error).__name__, "FORG0001") from error

    def _context(self, at: int, scope: Scope) -> Items:
        if "." not in scope:
            raise self.refuse(at, "there is no context: which document?", "XPDY0002", 'doc("name")/…')
        return scope["."]

    def _only(self, at: int) -> str:
        if self.context is None:
            raise self.refuse(at, "which document is /?", "XPDY0002", 'doc("name")/…')
        return self.context.document

    # -- values

    def truth(self, syntax: Syntax, scope: Scope) -> bool:
        found = self.eval(syntax, scope)
        if not found or is_node(found[0]):
            return bool(found)
        if len(found) > 1:
            raise self.refuse(syntax.at, "several values are no condition", "FORG0006")
        return effective(found[0])

    def atoms(self, items: Sequence[Item]) -> list[Any]:
        return [self.atom(item) for item in items]

    def atom(self, item: Item) -> Any:
        match item:
            case FoundNode(document, key):
                return Untyped(self.stores(document).string(key))
            case FoundAttribute(document, key, name):
                entry = self.stores(document).get(key)
                return Untyped((attribute_of(entry, name) if entry else None) or "")
            case BuiltNode():
                return Untyped(built_text(item))
        return item

    def _one(self, syntax: Syntax, scope: Scope, at: int) -> Any:
        """The value of a sequence of at most one item; None of none."""
        found = self.eval(syntax, scope)
        if len(found) > 1:
            raise self.refuse(at, "several items where one is expected", "XPTY0004")
        return self.atom(found[0]) if found else None

    def _comparison(self, syntax: ComparisonExpr, scope: Scope) -> Items:
        operator = syntax.operator
        if syntax.kind == "node":
            ends = [self.eval(each, scope) for each in (syntax.left, syntax.right)]
            if any(len(each) > 1 for each in ends):
                raise self.refuse(syntax.at, "several nodes where one is expected", "XPTY0004")
            if not all(ends):
                return []
            a, b = (order_of(each[0]) for each in ends)
            return [{"<<": a < b, ">>": a > b, "is": ends[0][0] == ends[1][0]}[operator]]
        if syntax.kind == "value":
            a, b = (self._one(each, scope, syntax.at) for each in (syntax.left, syntax.right))
            if a is None or b is None:
                return []
            values = [str(each) if isinstance(each, Untyped) else each for each in (a, b)]
            return [self._guarded(syntax.at, compare, operator, *values)]
        left, right = (self.atoms(self.eval(each, scope)) for each in (syntax.left, syntax.right))
        return [any(self._guarded(syntax.at, compare, operator, x, y) for x in left for y in right)]

    # -- FLWOR

    def _bound(self, bindings: Sequence[ForClause], scope: Scope) -> Iterator[Scope]:
        if not bindings:
            yield scope
            return
        first, *rest = bindings
        for place, item in enumerate(self.eval(first.source, scope), 1):
            inner = {**scope, first.name: [item]}
            if first.position is not None:
                inner[first.position] = [place]
            yield from self._bound(rest, inner)

    def _flwor(self, clauses: Sequence[Clause], result: Syntax, scope: Scope) -> Items:
        tuples: list[Scope] = [scope]
        for clause in clauses:
            match clause:
                case ForClause():
                    tuples = [inner for each in tuples for inner in self._bound([clause], each)]
                case LetClause(name, value):
                    tuples = [{**each, name: self.eval(value, each)} for each in tuples]
                case WhereClause(test):
                    tuples = [each for each in tuples if self.truth(test, each)]
                case OrderClause():
                    tuples = self._ordered(clause, tuples)
        return [item for each in tuples for item in self.eval(result, each)]

    def _ordered(self, clause: OrderClause, tuples: list[Scope]) -> list[Scope]:
        keyed = [([self._one(key.key, each, clause.at) for key in clause.keys], each) for each in tuples]

        def compared(left: Any, right: Any) -> int:
            for key, a, b in zip(clause.keys, left[0], right[0], strict=True):
                sign = _before(a, b, key.empty_greatest)
                if sign:
                    return -sign if key.is_descending else sign
            return 0

        return [each for _, each in sorted(keyed, key=cmp_to_key(compared))]

    # -- paths

    def _step(self, step: PathStep, items: Items, scope: Scope) -> Items:
        found: dict[Item, None] = {}
        for item in items:
            if not isinstance(item, FoundNode):
                raise self.refuse(step.at, "a path leads from nodes of a document", "XPTY0019")
            for group in self._reached(step, item):
                for predicate in step.predicates:
                    group = self._filter(group, predicate, scope)
                found.update(dict.fromkeys(group))
        return sorted(found, key=order_of)

    def _reached(self, step: PathStep, item: FoundNode) -> list[Items]:
        """What a step leads to from a node: groups in which positions count."""
        store = self.stores(item.document)
        tests = step.test.split("|")

        def nodes(entries: Iterator[Entry]) -> Items:
            return [
                FoundNode(item.document, e[0]) for e in entries if any(passes(t, label_of(e)) for t in tests)
            ]

        match step.axis:
            case "child":
                return [nodes(store.children(item.key))]
            case "descendant":
                return [nodes(_below(store, item.key))]
            case "//":
                parents = [item.key, *(e[0] for e in _below(store, item.key) if e[1] == ELEMENT)]
                return [nodes(store.children(parent)) for parent in parents]
            case "descendant-or-self":
                return [nodes(store.subtree(item.key))]
            case "self":
                own = store.get(item.key)
                return [nodes(iter([own])) if own else [item] if step.test == "node()" else []]
            case "parent":
                above = parent_of(item.key)
                own = store.get(above) if above else None
                return [nodes(iter([own])) if own else [FoundNode(item.document, "")] if item.key else []]
            case "attribute":
                return [self._attributes(store, item, item.key, step.test)]
            case "//@":
                keys = [item.key, *(e[0] for e in _below(store, item.key))]
                return [self._attributes(store, item, key, step.test) for key in keys]
        raise self.refuse(step.at, f"the axis {step.axis} is not supported")

    def _attributes(self, store: NodeStore, item: FoundNode, key: str, test: str) -> Items:
        entry = store.get(key) if key else None
        if entry is None or entry[1] != ELEMENT:
            return []
        names = [expanded(name) for name, _ in entry[3] if name != "xmlns" and not name.startswith("xmlns:")]
        return [FoundAttribute(item.document, key, name) for name in names if test in (name, "*")]

    def _filter(self, items: Items, predicate: Syntax, scope: Scope) -> Items:
        found: Items = []
        for place, item in enumerate(items, 1):
            inner = {**scope, ".": [item], "position()": [place], "last()": [len(items)]}
            value = self.eval(predicate, inner)
            if len(value) == 1 and isinstance(value[0], int | float) and not isinstance(value[0], bool):
                if value[0] == place:
                    found.append(item)
            elif self._true(value, predicate):
                found.append(item)
        return found

    def _true(self, value: Items, syntax: Syntax) -> bool:
        if not value or is_node(value[0]):
            return bool(value)
        if len(value) > 1:
            raise self.refuse(syntax.at, "several values are no condition", "FORG0006")
        return effective(value[0])

    def _node_set(self, operator: str, left: Items, right: Items) -> Items:
        if operator == "union":
            found = dict.fromkeys([*left, *right])
        else:
            others = set(right)
            found = dict.fromkeys(item for item in left if (item in others) == (operator == "intersect"))
        return sorted(found, key=order_of)

    # -- constructors

    def _construct(self, syntax: ElementExpr | AttributeExpr | TextExpr | CommentExpr, scope: Scope) -> Items:
        match syntax:
            case ElementExpr(name, attributes, content):
                made = BuiltNode(ELEMENT, name)
                for each, parts in attributes:
                    made.attributes[each] = "".join(
                        [p if isinstance(p, str) else self._joined(self.eval(p, scope)) for p in parts]
                    )
                for part in content:
                    if isinstance(part, str):
                        made.content.append(BuiltNode(TEXT, text=part))
                    else:
                        self.add(made, self.eval(part, scope), part.at)
                made.content = _merged(made.content)
                return [made]
            case AttributeExpr(name, value):
                return [BuiltNode(ATTRIBUTE, name, self._joined(self.eval(value, scope)))]
            case TextExpr(value):
                found = self.eval(value, scope)
                return [BuiltNode(TEXT, text=self._joined(found))] if found else []
            case CommentExpr(text):
                return [BuiltNode(COMMENT, text=text)]

    def _joined(self, items: Items) -> str:
        return " ".join([atom_text(atom) for atom in self.atoms(items)])

    def add(self, made: BuiltNode, items: Items, at: int) -> None:
        """Put items into an element: atoms parted by spaces, nodes copied."""
        is_atom = False
        for item in items:
            if not is_node(item):
                text = atom_text(item)
                made.content.append(BuiltNode(TEXT, text=f" {text}" if is_atom else text))
                is_atom = True
                continue
            is_atom = False
            for node in self.copies(item):
                if node.kind != ATTRIBUTE:
                    made.content.append(node)
                    continue
                if made.content:
                    raise self.refuse(at, f"the attribute {node.name} comes after content", "XQTY0024")
                if node.name in made.attributes:
                    raise self.refuse(at, f"the attribute {node.name} is there twice", "XQDY0025")
                made.attributes[node.name] = node.text

    def copies(self, item: Item) -> list[BuiltNode]:
        """A node as a constructed one; a document is its children."""
        match item:
            case BuiltNode():
                return [item]
            case FoundAttribute(_, _, name):
                return [BuiltNode(ATTRIBUTE, name, str(self.atom(item)))]
            case FoundNode(document, key):
                store = self.stores(document)
                if not key:
                    return [
                        each for e in store.children("") for each in self.copies(FoundNode(document, e[0]))
                    ]
                return [_copy(store, key)]
        raise TypeError(item)

    # -- functions

    def _call(self, syntax: CallExpr, scope: Scope) -> Items:
        from nestling.database.xml.builtins import BUILTINS  # they call back

        name = syntax.name
        if name in ("position", "last") and f"{name}()" in scope:
            return scope[f"{name}()"]
        if name in self.module.functions:
            return self._declared(syntax, scope)
        if name not in BUILTINS:
            raise self.refuse(syntax.at, f"the function {name} is not supported", "XPST0017")
        arguments = [self.eval(each, scope) for each in syntax.arguments] or [scope.get(".", [])]
        return BUILTINS[name](self, syntax, arguments)

    def _declared(self, syntax: CallExpr, scope: Scope) -> Items:
        function = self.module.functions[syntax.name]
        if len(function.parameters) != len(syntax.arguments):
            raise self.refuse(
                syntax.at, f"{syntax.name} takes {len(function.parameters)} arguments", "XPST0017"
            )
        inner: dict[str, Items] = {}
        for (name, type_), argument in zip(function.parameters, syntax.arguments, strict=True):
            given = argument if type_ is None else CastExpr(type_, argument, syntax.at)
            inner[name] = self.eval(given, scope)
        self.calls += 1
        if self.calls > 50:
            raise self.refuse(syntax.at, f"{syntax.name} calls itself too often")
        try:
            return self.eval(function.body, inner)
        finally:
            self.calls -= 1


def is_node(item: Item) -> bool:
    """Whether an item is a node."""
    return isinstance(item, FoundNode | FoundAttribute | BuiltNode)


def order_of(item: Item) -> tuple[Any, ...]:
    """Where a node stands; attributes follow their element."""
    if isinstance(item, FoundAttribute):
        return item.document, item.key, 1, item.name
    return item.document, item.key, 0, ""


def built_text(node: BuiltNode) -> str:
    """The string value of a constructed node."""
    if node.kind == ELEMENT:
        return "".join([built_text(each) for each in node.content if each.kind in (ELEMENT, TEXT)])
    return node.text


def _below(store: NodeStore, key: str) -> Iterator[Entry]:
    return store.scan(key + "." if key else "", end_of(key))


def _copy(store: NodeStore, key: str) -> BuiltNode:
    from nestling.database.xml.reading import with_namespaces

    opened: list[BuiltNode] = []
    first: BuiltNode | None = None
    base = depth_of(key)
    for entry in store.subtree(key):
        whole = with_namespaces(store, entry) if first is None and entry[1] == ELEMENT else entry
        node = BuiltNode(entry[1], entry[2], "" if entry[1] == ELEMENT else entry[3])
        if entry[1] == ELEMENT:
            node.attributes = dict(whole[3])
        del opened[depth_of(entry[0]) - base :]
        if first is None:
            first = node
        else:
            opened[-1].content.append(node)
        opened.append(node)
    assert first is not None
    return first


def _merged(content: list[BuiltNode]) -> list[BuiltNode]:
    found: list[BuiltNode] = []
    for node in content:
        if node.kind == TEXT and found and found[-1].kind == TEXT:
            found[-1] = BuiltNode(TEXT, text=found[-1].text + node.text)
        elif node.kind != TEXT or node.text:
            found.append(node)
    return [node for node in found if node.kind != TEXT or node.text]


def _before(left: Any, right: Any, empty_greatest: bool) -> int:
    """-1, 0 or 1, as ``order by`` has two values; nothing, and then NaN, is least or greatest."""
    ranks = [2 if value is None else 1 if value != value else 0 for value in (left, right)]  # noqa: PLR0124 (NaN)
    if any(ranks):
        sign = (ranks[0] > ranks[1]) - (ranks[0] < ranks[1])
        return sign if empty_greatest else -sign
    return int(left > right) - int(left < right)


__all__ = ["BuiltNode", "FoundAttribute", "FoundNode", "Interpreter", "number"]
