"""XQuery → calculus: the whole language, and the template that the rows of a query are written by.

Law: the items of ``translated.views``, read by ``translated.template``, are what XQuery says that the query is, in its
order. One table of §3 of the design per function; what has no translation is refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nestling.calculus.build import call, const
from nestling.calculus.terms import Const, Expr, Sing, Tuple
from nestling.calculus.traverse import relations
from nestling.calculus.types import FLOAT, INT, STR, Scalar
from nestling.depth import room
from nestling.frontend.xquery.branches import (
    DECIMAL,
    DOUBLE,
    INTEGER,
    STRING,
    AtomItem,
    Bind,
    Branch,
    DocumentItem,
    ElementItem,
    FoldBind,
    Key,
    PlaceKey,
    TermKey,
    TestBind,
    TextItem,
    as_binds,
    build,
)
from nestling.frontend.xquery.constructors import Writer
from nestling.frontend.xquery.context import Asked, CardinalityCheck, Later, Variables
from nestling.frontend.xquery.contexts import narrowed
from nestling.frontend.xquery.functions import FunctionTranslator
from nestling.frontend.xquery.parse import parsed
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
from nestling.frontend.xquery.template import Part, StaticComment, StaticText
from nestling.xml.patterns import Navigation


@dataclass(frozen=True, slots=True)
class TranslatedQuery:
    """Bags of rows, the template that writes them, the tables they read, and the checks of cardinalities."""

    views: tuple[Expr, ...]
    template: tuple[Part, ...]
    tables: tuple[Navigation, ...]
    checks: tuple[CardinalityCheck, ...]


def translate(text: object, documents: Sequence[str], context: str | None = None) -> TranslatedQuery:
    """The translation of a query over ``documents``; ``/`` is the one called ``context``, or the only one."""
    module = parsed(text)
    asked: Asked = {}
    with room():
        while True:  # until all the columns that it needs are known
            before = {table: set(columns) for table, columns in asked.items()}
            found = _translated(module, documents, context, asked)
            if before == asked:
                return found


def _translated(
    module: ModuleSyntax, documents: Sequence[str], context: str | None, asked: Asked
) -> TranslatedQuery:
    translator = Translator(module, documents, context, asked)
    body = module.body
    if module.variables:
        body = FlworExpr(module.variables, body)
    writer = Writer(translator)
    template = writer.top(translator.sequence(body, {}))
    tables = [replace(table, columns=tuple(sorted(columns))) for table, columns in asked.items()]
    by_name = {table.name: table for table in tables}
    views = tuple(narrowed(view, by_name) for view in writer.views)
    checks = {check.query: check for check in translator.checks}
    used = {name for query in (*views, *checks) for name in relations(query)}
    return TranslatedQuery(
        views,
        template,
        tuple(table for table in by_name.values() if table.name in used),
        tuple(checks.values()),
    )


class Translator(FunctionTranslator):
    """Translates any expression into branches."""

    def sequence(self, syntax: Syntax, variables: Variables) -> list[Branch]:  # noqa: C901 (one arm per node)
        match syntax:
            case LiteralExpr(value):
                return [Branch((), (), _literal(value))]
            case VariableExpr(name, at):
                return self._variable(name, at, variables)
            case ContextExpr(at):
                if "." not in variables:
                    return [Branch((), (), DocumentItem(self.document(at)))]
                return self._variable(".", at, variables)
            case RootExpr(at):
                return [Branch((), (), DocumentItem(self.document(at)))]
            case SequenceExpr(items):
                if len(items) == 1:
                    return self.sequence(items[0], variables)
                return [
                    branch.under(PlaceKey(number))
                    for number, item in enumerate(items)
                    for branch in self.sequence(item, variables)
                ]
            case FlworExpr(clauses, result):
                return self._clauses(list(clauses), result, variables, (), ())
            case QuantifiedExpr() | LogicExpr() | ComparisonExpr():
                return self.as_boolean(syntax, variables)
            case IfExpr():
                return self._if(syntax, variables)
            case ArithmeticExpr():
                return self.arithmetic(syntax, variables)
            case NodeSetExpr():
                return self._node_set(syntax, variables)
            case PathExpr():
                return self.path(syntax, variables)
            case FilterExpr():
                return self.filter(syntax, variables)
            case ElementExpr() | AttributeExpr() | TextExpr() | CommentExpr():
                return [Branch((), (), self._constructed(syntax, variables))]
            case CallExpr():
                return self.call(syntax, variables)
            case CastExpr():
                return self.cast(syntax, variables)
            case RangeExpr(at=at):
                return self._range(syntax, at)
            case UpdateExpr(at=at):
                self.refuse(at, "a view changes nothing", "db.xquery(…) runs an update", "XUST0001")
        raise AssertionError(syntax)

    def _variable(self, name: str, at: int, variables: Variables) -> list[Branch]:
        found = variables.get(name)
        if found is None:
            known = ", ".join(f"${each}" for each in variables if each != ".") or "none"
            self.refuse(at, f"${name} is not bound", f"bound here: {known}", "XPST0008")
        return self.sequence(*found) if isinstance(found, Later) else [Branch((), (), found)]

    def _range(self, syntax: RangeExpr, at: int) -> list[Branch]:
        match syntax:
            case RangeExpr(LiteralExpr(int(first)), LiteralExpr(int(last))) if last - first < 1_000:
                return [
                    Branch((), (PlaceKey(number),), AtomItem(const(number), INTEGER))
                    for number in range(first, last + 1)
                ]
        self.refuse(at, "this range is not supported", "literal bounds, less than a thousand apart")

    def _if(self, syntax: IfExpr, variables: Variables) -> list[Branch]:
        found: list[Branch] = []
        for is_yes, syntax_ in ((True, syntax.yes), (False, syntax.no)):
            guards = self._guarded(syntax.test, is_yes, variables)
            with self.within(guards):
                number = len(self.sequence(syntax_, variables))
            for place in range(number):
                guards = self._guarded(syntax.test, is_yes, variables)
                with self.within(guards):
                    found.append(self.sequence(syntax_, variables)[place].after(*guards))
        return found

    def _guarded(self, test: Syntax, is_yes: bool, variables: Variables) -> tuple[Bind, ...]:
        if is_yes:
            return self.guards(test, variables)
        return as_binds(self.negation(self.condition(test, variables)))

    def _node_set(self, syntax: NodeSetExpr, variables: Variables) -> list[Branch]:
        left = [self._node(branch, syntax) for branch in self.sequence(syntax.left, variables)]
        if syntax.operator == "union":
            right = [self._node(branch, syntax) for branch in self.sequence(syntax.right, variables)]
            return self.merged([left, right], lambda _: self.sequence(syntax.left, variables), syntax.at)
        found: list[Branch] = []
        for branch in left:
            others = self.sequence(syntax.right, variables)
            same = self.existential([(self.same_nodes(branch, other, syntax.at), None) for other in others])
            found.append(
                branch.having(*as_binds(same if syntax.operator == "intersect" else self.negation(same)))
            )
        return found

    def _node(self, branch: Branch, syntax: NodeSetExpr) -> Branch:
        if isinstance(branch.item, AtomItem | ElementItem | TextItem | DocumentItem):
            self.refuse(syntax.at, f"{syntax.operator} takes nodes of a document", "write (…, …)", "XPTY0004")
        branch = self.distinct(branch)
        item = branch.item
        key = item.owner if hasattr(item, "owner") else item.id  # type: ignore[union-attr]
        return Branch(branch.binds, (TermKey(key),), item)

    # -- FLWOR

    def _clauses(
        self,
        clauses: list[Clause],
        result: Syntax,
        variables: Variables,
        order: tuple[Key, ...],
        keys: tuple[Key, ...],
    ) -> list[Branch]:
        """The branches of a FLWOR; ``order`` is that of the tuples so far, ``keys`` those of ``order by``."""
        if not clauses:
            found = self.sequence(result, variables)
            return [Branch(b.binds, (*keys, *order, *b.order), b.item, b.is_distinct) for b in found]
        first, *rest = clauses
        match first:
            case LetClause(name, value):
                return self._clauses(rest, result, {**variables, name: Later(value, variables)}, order, keys)
            case WhereClause(test):
                return self._under(lambda: self.guards(test, variables), rest, result, variables, order, keys)
            case OrderClause():
                more: list[TermKey] = []
                binds = self._order(first, variables, more)
                with self.within(binds):
                    found = self._clauses(rest, result, variables, order, (*keys, *more))
                return [branch.after(*binds) for branch in found]
            case ForClause():
                return self._for(first, rest, result, variables, order, keys)

    def _under(
        self,
        guards: object,
        rest: list[Clause],
        result: Syntax,
        variables: Variables,
        order: tuple[Key, ...],
        keys: tuple[Key, ...],
    ) -> list[Branch]:
        assert callable(guards)
        binds = guards()
        with self.within(binds):
            found = self._clauses(rest, result, variables, order, keys)
        # Each branch has the condition with variables of its own.
        return [branch.after(*(binds if not number else guards())) for number, branch in enumerate(found)]

    def _order(self, clause: OrderClause, variables: Variables, keys: list[TermKey]) -> tuple[Bind, ...]:
        binds: list[Bind] = []
        for key in clause.keys:
            branches = self.sequence(key.key, variables)
            branches = self.check_count(branches, clause.at, 0, 1, "a key of order by")
            more, term, _ = self.one(branches, clause.at)
            binds += more
            keys.append(TermKey(term, key.is_descending, key.empty_greatest, False))
        return tuple(binds)

    def _for(
        self,
        clause: ForClause,
        rest: list[Clause],
        result: Syntax,
        variables: Variables,
        order: tuple[Key, ...],
        keys: tuple[Key, ...],
    ) -> list[Branch]:
        found: list[Branch] = []
        source = self.sequence(clause.source, variables)
        for branch in source:
            inner = {**variables, clause.name: branch.item}
            binds = branch.binds
            if clause.position is not None:
                bind = self._position(clause, source, branch, variables)
                inner[clause.position] = AtomItem(bind.var, INTEGER)
                binds = (*binds, bind)
            with self.within(binds):
                for each in self._clauses(rest, result, inner, (*order, *branch.order), keys):
                    found.append(Branch((*binds, *each.binds), each.order, each.item, False))
        is_plain = (
            len(found) == 1 and not rest and isinstance(result, VariableExpr) and result.name == clause.name
        )
        return [replace(found[0], is_distinct=source[0].is_distinct)] if is_plain else found

    def _position(
        self, clause: ForClause, source: list[Branch], branch: Branch, variables: Variables
    ) -> FoldBind:
        """``i := count`` of the items up to this one."""
        match source, branch.order:
            case [_], (TermKey(term, False, _, True),):
                [other] = self.sequence(clause.source, variables)
                assert isinstance(other.order[0], TermKey)
                upto = TestBind(call("<=", other.order[0].term, term))
                return FoldBind(self.fresh("at", INT), "count", build((*other.binds, upto), Sing(Tuple(()))))
        self.refuse(clause.at, "at counts the nodes of one path", "for $x at $i in /a/b")

    # -- constructors

    def _constructed(
        self, syntax: ElementExpr | AttributeExpr | TextExpr | CommentExpr, variables: Variables
    ) -> ElementItem | TextItem:
        match syntax:
            case ElementExpr(name, attributes, content):
                named = tuple((each, self._parts(parts, variables)) for each, parts in attributes)
                return ElementItem(name, named, self._parts(content, variables))
            case AttributeExpr(name, content):
                return TextItem(self.sequence(content, variables), name)
            case TextExpr(content):
                return TextItem(self.sequence(content, variables))
            case CommentExpr(at=at):
                self.refuse(at, "a comment alone is not supported", "write it inside an element")

    def _parts(self, parts: Sequence[str | Syntax], variables: Variables) -> tuple[Part | list[Branch], ...]:
        found: list[Part | list[Branch]] = []
        for part in parts:
            if isinstance(part, str):
                found.append(StaticText(part))
            elif isinstance(part, CommentExpr):
                found.append(StaticComment(part.text))
            else:
                found.append(
                    [
                        b
                        for each in self.sequence(part, variables)
                        for b in self._copied(each, part, variables)
                    ]
                )
        return tuple(found)

    def _copied(self, branch: Branch, part: Syntax, variables: Variables) -> list[Branch]:
        """A document in content stands for its nodes."""
        if not isinstance(branch.item, DocumentItem):
            return [branch]
        return self._walk(branch, [PathStep("child", "node()", (), part.at)], variables)


def _literal(value: object) -> AtomItem:
    types: dict[type, tuple[Scalar, str]] = {
        str: (STR, STRING), int: (INT, INTEGER), float: (FLOAT, DOUBLE),
    }  # fmt: skip
    scalar, type_ = types.get(type(value), (Scalar("decimal"), DECIMAL))
    return AtomItem(Const(value, scalar), type_)
