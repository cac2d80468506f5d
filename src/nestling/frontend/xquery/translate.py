"""XQuery → calculus: the whole language, and the template that the rows of a query are written by.

Law: the items of ``translated.views``, read by ``translated.template``, are what XQuery says that the query is, in its
order. One table of §3 of the design per function; what has no translation is refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from nestling.calculus.build import call, const
from nestling.calculus.terms import Const, Expr
from nestling.calculus.traverse import relations
from nestling.calculus.types import FLOAT, INT, STR, Scalar
from nestling.depth import room
from nestling.frontend.xquery.branches import (
    DECIMAL,
    DOUBLE,
    INTEGER,
    STRING,
    AtomItem,
    AttributeItem,
    AttributesItem,
    Bind,
    Branch,
    CellItem,
    DocumentItem,
    ElementItem,
    JoinedItem,
    NodeItem,
    PlaceKey,
    RowItem,
    TableDocument,
    TermKey,
    TestBind,
    TextItem,
    as_binds,
)
from nestling.frontend.xquery.constructors import Writer
from nestling.frontend.xquery.context import Asked, CardinalityCheck, Given, Later, Variables
from nestling.frontend.xquery.contexts import narrowed
from nestling.frontend.xquery.flwor import FlworTranslator
from nestling.frontend.xquery.parse import parsed
from nestling.frontend.xquery.syntax import (
    ArithmeticExpr,
    AttributeExpr,
    CallExpr,
    CastExpr,
    CommentExpr,
    ComparisonExpr,
    ContextExpr,
    ElementExpr,
    FilterExpr,
    FlworExpr,
    IfExpr,
    LiteralExpr,
    LogicExpr,
    ModuleSyntax,
    NodeSetExpr,
    PathExpr,
    PathStep,
    QuantifiedExpr,
    RangeExpr,
    RootExpr,
    SequenceExpr,
    SwitchExpr,
    Syntax,
    TextExpr,
    UpdateExpr,
    VariableExpr,
)
from nestling.frontend.xquery.template import Part, StaticComment, StaticText
from nestling.xml.entries import XML, space_of, written
from nestling.xml.patterns import ALL_ATTRIBUTES, Navigation


@dataclass(frozen=True, slots=True)
class TranslatedQuery:
    """Bags of rows, the template that writes them, the navigation tables they read, the checks of cardinalities, the
    tables that are read as documents, and the collections.
    """

    views: tuple[Expr, ...]
    template: tuple[Part, ...]
    tables: tuple[Navigation, ...]
    checks: tuple[CardinalityCheck, ...]
    rows: tuple[TableDocument, ...] = ()
    collections: tuple[str, ...] = ()


def translate(
    text: object, documents: Sequence[str], context: str | None = None, tables: Sequence[TableDocument] = ()
) -> TranslatedQuery:
    """The translation of a query over documents and tables; ``/`` is the document ``context``, or the only one."""
    module = parsed(text)
    asked: Asked = {}
    with room():
        while True:  # until all the columns that it needs are known
            before = {table: set(columns) for table, columns in asked.items()}
            found = _translated(module, documents, context, asked, tables)
            if before == asked:
                return found


def _translated(
    module: ModuleSyntax,
    documents: Sequence[str],
    context: str | None,
    asked: Asked,
    known: Sequence[TableDocument],
) -> TranslatedQuery:
    translator = Translator(module, documents, context, asked, known)
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
        tuple(t for t in known if t.name in used),
        tuple(translator.collections),
    )


class Translator(FlworTranslator):
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
                return self.flwor(clauses, result, variables)
            case QuantifiedExpr() | LogicExpr() | ComparisonExpr():
                return self.as_boolean(syntax, variables)
            case IfExpr():
                return self._if(syntax, variables)
            case SwitchExpr():
                return self._switch(syntax, variables)
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
            case _:
                assert_never(syntax)

    def _variable(self, name: str, at: int, variables: Variables) -> list[Branch]:
        found = variables.get(name)
        if found is None:
            known = ", ".join(f"${each}" for each in variables if each != ".") or "none"
            self.refuse(at, f"${name} is not bound", f"bound here: {known}", "XPST0008")
        if isinstance(found, Given):
            return found.make()
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

    def _switch(self, syntax: SwitchExpr, variables: Variables) -> list[Branch]:
        """``if (operand eq value or …) then result else …``; nothing is the case that is empty."""
        found = syntax.default
        for values, result in reversed(syntax.cases):
            tests = [self._case(syntax.operand, value, variables) for value in values]
            test = tests[0]
            for other in tests[1:]:
                test = LogicExpr("or", test, other, syntax.at)
            found = IfExpr(test, result, found, syntax.at)
        return self.sequence(found, variables)

    def _case(self, operand: Syntax, value: Syntax, variables: Variables) -> Syntax:
        sides = [self.sequence(each, variables) for each in (operand, value)]
        if not sides[1]:
            return CallExpr("empty", (operand,), value.at)
        families = [{self.family(branch.item, value.at) for branch in side} for side in sides]
        if not families[0] & families[1]:
            return CallExpr("false", (), value.at)  # of values that do not compare, none is the case
        return ComparisonExpr("=", "value", operand, value, value.at)

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
        if isinstance(
            branch.item, AtomItem | ElementItem | TextItem | DocumentItem | RowItem | CellItem | JoinedItem
        ):
            self.refuse(syntax.at, f"{syntax.operator} takes nodes of a document", "write (…, …)", "XPTY0004")
        branch = self.distinct(branch)
        item = branch.item
        key = item.owner if hasattr(item, "owner") else item.id  # type: ignore[union-attr]
        return Branch(branch.binds, (TermKey(key),), item)

    # -- constructors

    def _constructed(
        self, syntax: ElementExpr | AttributeExpr | TextExpr | CommentExpr, variables: Variables
    ) -> ElementItem | TextItem:
        match syntax:
            case ElementExpr(name, attributes, content, namespaces, at):
                named = tuple((each, self._parts(parts, variables)) for each, parts in attributes)
                return ElementItem(name, named, self._parts(content, variables, True), namespaces, at)
            case AttributeExpr(name, content):
                return TextItem(self.sequence(content, variables), name)
            case TextExpr(content):
                return TextItem(self.sequence(content, variables))
            case CommentExpr(at=at):
                self.refuse(at, "a comment alone is not supported", "write it inside an element")

    def _parts(
        self, parts: Sequence[str | Syntax], variables: Variables, is_content: bool = False
    ) -> tuple[Part | list[Branch], ...]:
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
                        for each in self._content(part, variables, is_content)
                        for b in self._copied(each, part, variables, is_content)
                    ]
                )
        return tuple(found)

    def _content(self, part: Syntax, variables: Variables, is_content: bool) -> list[Branch]:
        """The branches of what braces enclose; in content, ``e/@*`` are all attributes of ``e``."""
        match part:
            case SequenceExpr(items) if is_content and any(map(_is_all_attributes, items)):
                return [
                    branch.under(PlaceKey(number))
                    for number, item in enumerate(items)
                    for branch in self._content(item, variables, True)
                ]
            case PathExpr(start, (*steps, PathStep())) if is_content and _is_all_attributes(part):
                owners = self.sequence(PathExpr(start, tuple(steps), part.at) if steps else start, variables)
                owners = self.check_count(owners, part.at, 0, 1, "the element whose attributes are copied")
                return [self._attributes(owner, part.at) for owner in owners]
        return self.sequence(part, variables)

    def _attributes(self, branch: Branch, at: int) -> Branch:
        if not isinstance(branch.item, NodeItem):
            self.refuse(at, "only an element of a document has attributes to copy", "name the attribute")
        value = self.column(branch.item, ALL_ATTRIBUTES)
        there = TestBind(call("not", call("is_null", value)))
        return replace(branch, item=AttributesItem(value)).having(there)

    def _copied(self, branch: Branch, part: Syntax, variables: Variables, is_content: bool) -> list[Branch]:
        """A document in content stands for its nodes."""
        if is_content and isinstance(branch.item, AttributeItem) and branch.item.name.startswith("{"):
            if space_of(branch.item.name)[1] != XML:
                what = "an attribute with a namespace is not copied alone, since its prefix is data"
                self.refuse(part.at, what, "name it: attribute p:name {…}, or copy all: $e/@*")
            branch = replace(
                branch, item=replace(branch.item, name=f"{{{XML}}}xml:{written(branch.item.name)}")
            )
        if is_content and isinstance(branch.item, AttributeItem) and branch.is_many:
            what = f"the attribute {branch.item.name} of an element"
            return self.check_count([branch], part.at, 0, 1, what)
        if not isinstance(branch.item, DocumentItem):
            return [branch]
        return self._walk(branch, [PathStep("child", "node()", (), part.at)], variables)


def _is_all_attributes(syntax: Syntax) -> bool:
    """Whether an expression is ``e/@*``."""
    match syntax:
        case PathExpr(_, (*_, PathStep("attribute", "*", ()))):
            return True
    return False


def _literal(value: object) -> AtomItem:
    types: dict[type, tuple[Scalar, str]] = {
        str: (STR, STRING), int: (INT, INTEGER), float: (FLOAT, DOUBLE),
    }  # fmt: skip
    scalar, type_ = types.get(type(value), (Scalar("decimal"), DECIMAL))
    return AtomItem(Const(value, scalar), type_)
