"""Predicates after parentheses, and the identity of nodes."""

from __future__ import annotations

from nestling.calculus.build import call
from nestling.calculus.terms import Expr, Sing
from nestling.frontend.xquery.branches import (
    AttributeItem,
    Bind,
    Branch,
    NodeItem,
    TermKey,
    TestBind,
    build,
    without_context,
)
from nestling.frontend.xquery.context import Variables
from nestling.frontend.xquery.paths import PathTranslator
from nestling.frontend.xquery.positions import Count, counted
from nestling.frontend.xquery.syntax import FilterExpr, Syntax


class FilterTranslator(PathTranslator):
    """Translates predicates of whole sequences."""

    def filter(self, syntax: FilterExpr, variables: Variables) -> list[Branch]:
        found = self.sequence(syntax.base, variables)
        for predicate in syntax.predicates:
            count = counted(predicate)
            if count is None:
                found = [each.having(*self.predicate_guards(predicate, each, variables)) for each in found]
            else:
                found = [self._counted_from(found, count, syntax, predicate, variables)]
        return found

    def _counted_from(
        self, found: list[Branch], count: Count, syntax: FilterExpr, predicate: Syntax, variables: Variables
    ) -> Branch:
        """Some places of a whole sequence of nodes in document order."""
        if (
            len(found) != 1
            or not isinstance(found[0].item, NodeItem)
            or syntax.predicates[0] is not predicate
        ):
            self.refuse(
                predicate.at, "a position here is not supported", "count the nodes of one path: (a/b)[2]"
            )
        item = found[0].item
        if found[0].order != (TermKey(item.id),):
            self.refuse(
                predicate.at, "a position in this order is not supported", "count the nodes of one path"
            )

        def rows() -> Expr:
            [branch] = self.sequence(syntax.base, variables)
            assert isinstance(branch.item, NodeItem)
            return build(branch.binds, Sing(without_context(branch.item.row)))

        return self.taken_of(rows, count, item.table)

    def same_nodes(self, left: Branch, right: Branch, at: int) -> tuple[Bind, ...]:
        """Binds that hold where the item of ``right`` is that of ``left``."""
        match left.item, right.item:
            case NodeItem() as a, NodeItem() as b:
                return (*right.binds, TestBind(call("==", a.id, b.id)))
            case AttributeItem() as c, AttributeItem() as d:
                return (*right.binds, TestBind(call("==", c.owner, d.owner)))
        self.refuse(at, "only nodes of documents are compared by identity", "compare values with =")
