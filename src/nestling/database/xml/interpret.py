"""The plain meaning of XQuery: lists of items over the node store.

It finds the targets and sources of updates, and recomputes a view for ``verify``. It is slow and obvious on purpose,
and knows nothing of branches and tables: what it and the translation agree on is right for two reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cmp_to_key
from typing import Any, TypeAlias, assert_never

from nestling.database.xml.atoms import Untyped, arithmetic, cast, compare, same_case
from nestling.database.xml.builtins import BUILTINS
from nestling.database.xml.constructing import ConstructInterpreter
from nestling.database.xml.found import FoundNode, Items, order_of
from nestling.database.xml.stepping import Scope
from nestling.depth import room
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
    GroupClause,
    IfExpr,
    LetClause,
    LiteralExpr,
    LogicExpr,
    ModuleSyntax,
    NodeSetExpr,
    OrderClause,
    PathExpr,
    QuantifiedExpr,
    RangeExpr,
    RootExpr,
    SequenceExpr,
    SwitchExpr,
    Syntax,
    TextExpr,
    UpdateExpr,
    VariableExpr,
    WhereClause,
)
from nestling.values.nan import NAN
from nestling.xml.store import NodeStore

#: An update with its target and source, evaluated.
Pending: TypeAlias = tuple[UpdateExpr, Items, Items]


class Interpreter(ConstructInterpreter):
    """Evaluates the expressions of a module."""

    def __init__(
        self,
        module: ModuleSyntax,
        stores: Callable[[str], NodeStore],
        context: FoundNode | None,
        documents: Sequence[str] = (),
    ) -> None:
        super().__init__(module, stores, context, documents)
        #: The updates of the text, in order.
        self.pending: list[Pending] = []
        self.calls = 0

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
            case SwitchExpr():
                return self._switch(syntax, scope)
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
                return self.node_set(operator, self.eval(left, scope), self.eval(right, scope))
            case PathExpr(start, steps):
                found = self.eval(start, scope)
                for step in steps:
                    found = self.step(step, found, scope)
                return found
            case FilterExpr(base, predicates):
                found = self.eval(base, scope)
                for predicate in predicates:
                    found = self.filter(found, predicate, scope)
                return found
            case ElementExpr() | AttributeExpr() | TextExpr() | CommentExpr():
                return self.construct(syntax, scope)
            case CastExpr(type_, value, at):
                atom = self._one(value, scope, at)
                return [] if atom is None else [self._guarded(at, cast, type_, atom)]
            case CallExpr():
                return self._call(syntax, scope)
            case UpdateExpr(_, target, source):
                made = [] if source is None else self.eval(source, scope)
                self.pending.append((syntax, self.eval(target, scope), made))
                return []
            case _:
                assert_never(syntax)

    def _guarded(self, at: int, function: Callable[..., Any], *values: Any) -> Any:
        """What has no value is an error at its place."""
        try:
            return function(*values)
        except ZeroDivisionError as error:
            raise self.refuse(at, "a division by zero", "FOAR0001") from error
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
        return self.true(found, syntax)

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
                case GroupClause():
                    tuples = self._grouped(clause, tuples, scope)
                case OrderClause():
                    tuples = self._ordered(clause, tuples)
                case _:
                    assert_never(clause)
        return [item for each in tuples for item in self.eval(result, each)]

    def _grouped(self, clause: GroupClause, tuples: list[Scope], outside: Scope) -> list[Scope]:
        """A tuple for each group, in the order of their first ones: a variable has the items of all of them."""
        groups: dict[tuple[Any, ...], list[Scope]] = {}
        for each in tuples:
            atoms = [self._one(key, each, clause.at) for _, key in clause.keys]
            values = [str(atom) if isinstance(atom, Untyped) else atom for atom in atoms]
            names = tuple(NAN if value != value else value for value in values)  # noqa: PLR0124 (NaN)
            groups.setdefault(names, []).append(each)
        found: list[Scope] = []
        for names, members in groups.items():
            merged = {
                name: [item for member in members for item in member[name]]
                for name in members[0]
                if name not in outside or members[0][name] is not outside[name]
            }
            keys = {
                name: [] if value is None else [value]
                for (name, _), value in zip(clause.keys, names, strict=True)
            }
            found.append({**outside, **merged, **keys})
        return found

    def _switch(self, syntax: SwitchExpr, scope: Scope) -> Items:
        operand = self._one(syntax.operand, scope, syntax.at)
        for values, result in syntax.cases:
            if any(same_case(operand, self._one(value, scope, value.at)) for value in values):
                return self.eval(result, scope)
        return self.eval(syntax.default, scope)

    def _ordered(self, clause: OrderClause, tuples: list[Scope]) -> list[Scope]:
        keyed = [([self._one(key.key, each, clause.at) for key in clause.keys], each) for each in tuples]

        def compared(left: Any, right: Any) -> int:
            for key, a, b in zip(clause.keys, left[0], right[0], strict=True):
                sign = _before(a, b, key.empty_greatest)
                if sign:
                    return -sign if key.is_descending else sign
            return 0

        return [each for _, each in sorted(keyed, key=cmp_to_key(compared))]

    # -- functions

    def _call(self, syntax: CallExpr, scope: Scope) -> Items:
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


def _before(left: Any, right: Any, empty_greatest: bool) -> int:
    """-1, 0 or 1, as ``order by`` has two values; nothing, and then NaN, is least or greatest."""
    ranks = [2 if value is None else 1 if value != value else 0 for value in (left, right)]  # noqa: PLR0124 (NaN)
    if any(ranks):
        sign = (ranks[0] > ranks[1]) - (ranks[0] < ranks[1])
        return sign if empty_greatest else -sign
    return int(left > right) - int(left < right)
