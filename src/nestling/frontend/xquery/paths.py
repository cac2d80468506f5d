"""Paths → branches: a relative path of any length is one equi-join with a navigation table.

::

    e/r         m ← nav(P, r), [m.ctx == n.id];  K := (m.id): a path is in document order
                over exists({m | …}) where a node might be reached twice
    q[1]        [m.is_first == 1];  q[last()]: [m.is_last == 1]
    q[k]        m ← first(k, S) ⊎ ⊖first(k−1, S), with S = {m | m ← nav(P, q), [m.ctx == n.id]}
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from nestling.calculus.build import call, const
from nestling.calculus.terms import Expr, Field, Sing
from nestling.frontend.xquery.axes import KINDS, is_wild
from nestling.frontend.xquery.branches import (
    AtomItem,
    AttributeItem,
    Bind,
    Branch,
    CellItem,
    DocumentItem,
    ElementItem,
    ForBind,
    NodeItem,
    PlaceKey,
    RowItem,
    TermKey,
    TestBind,
    TextItem,
    build,
    without_context,
)
from nestling.frontend.xquery.context import Variables
from nestling.frontend.xquery.positions import Count, counted
from nestling.frontend.xquery.syntax import (
    PathExpr,
    PathStep,
    Syntax,
)
from nestling.frontend.xquery.tables import TableTranslator
from nestling.xml.patterns import (
    CHILD,
    DESCENDANT,
    IS_FIRST,
    IS_LAST,
    Navigation,
    Pattern,
)

_DOWN = {"child": CHILD, "descendant": DESCENDANT, "//": DESCENDANT}


class PathTranslator(TableTranslator):
    """Translates paths, and predicates that count."""

    @abstractmethod
    def exclude(self, branch: Branch, others: Sequence[Branch]) -> Branch:
        """The nodes of a branch that are none of the others."""

    def path(self, syntax: PathExpr, variables: Variables) -> list[Branch]:
        starts = len(self.sequence(syntax.start, variables))
        groups = [
            self._walk(self.sequence(syntax.start, variables)[number], list(syntax.steps), variables)
            for number in range(starts)
        ]
        items = [branch.item for branch in self.sequence(syntax.start, variables)]
        if len({item.document for item in items if isinstance(item, DocumentItem)}) == starts > 1:
            return [b.under(PlaceKey(number)) for number, group in enumerate(groups) for b in group]
        return self.merged(groups, lambda number: self._again(syntax, number, variables), syntax.at)

    def _again(self, syntax: PathExpr, number: int, variables: Variables) -> list[Branch]:
        return self._walk(self.sequence(syntax.start, variables)[number], list(syntax.steps), variables)

    def merged(self, groups: list[list[Branch]], again: object, at: int) -> list[Branch]:
        """Nodes of several groups of branches, each once, in document order."""
        assert callable(again)
        found: list[Branch] = []
        for number, group in enumerate(groups):
            for branch in group:
                for earlier in range(number):
                    if not all(self._apart(branch, other, at) for other in groups[earlier]):
                        branch = self.exclude(branch, again(earlier))
                found.append(branch)
        return found

    def _apart(self, left: Branch, right: Branch, at: int) -> bool:
        """Whether two branches surely hold different nodes."""
        match left.item, right.item:
            case NodeItem() as a, NodeItem() as b:
                if a.table.document != b.table.document:
                    self.refuse(at, "nodes of two documents have no common order", "write them as (…, …)")
                return a.test != b.test and not (is_wild(a.test) or is_wild(b.test))
            case AttributeItem(), AttributeItem():
                return left.item.name != right.item.name
            case AtomItem() | ElementItem() | TextItem(), _:
                return True
        return False

    # -- steps

    def _walk(self, branch: Branch, steps: list[PathStep], variables: Variables) -> list[Branch]:
        if not steps:
            return [branch]
        step = steps[0]
        if isinstance(branch.item, ElementItem | TextItem):
            self.refuse(step.at, "a path into a constructed node is not supported", "name its parts with let")
        if isinstance(branch.item, AtomItem | AttributeItem):
            self.refuse(step.at, "a path leads from nodes", "leave the step out", "XPTY0019")
        is_table = isinstance(branch.item, DocumentItem) and branch.item.document in self.table_documents
        if is_table or isinstance(branch.item, RowItem | CellItem):
            return self.table_path(branch, steps, variables)
        if step.axis in _DOWN:
            return self.down(branch, steps, variables)
        if isinstance(branch.item, DocumentItem) and step.axis != "//@":
            if step.axis == "self" and step.test == "node()":
                return self._walk(branch, steps[1:], variables)
            self.refuse(step.at, f"a document has no {step.axis}", "begin with the root element")
        found = self.aside(branch, step, variables)
        return [each for one in found for each in self._walk(one, steps[1:], variables)]

    # -- steps down

    def down(self, branch: Branch, steps: list[PathStep], variables: Variables) -> list[Branch]:
        path, rest = list[tuple[str, str]](), list(steps)
        while rest and rest[0].axis in _DOWN:
            step = rest[0]
            if "|" in step.test:
                if path:
                    break
                return self._alternatives(branch, steps, variables)
            if any(self._is_counting(each, step, n) for n, each in enumerate(step.predicates)):
                if path:
                    break
                if step.axis == "//":
                    return self._counted_anywhere(branch, step, rest[1:], variables)
            path.append((_DOWN[step.axis], step.test))
            rest = rest[1:]
            if step.predicates or step.test in KINDS:
                break
        found = self._joined(branch, tuple(path), steps[len(path) - 1], variables)
        return self._walk(found, rest, variables)

    def _counted_anywhere(
        self, branch: Branch, step: PathStep, rest: list[PathStep], variables: Variables
    ) -> list[Branch]:
        """``e//q[k]``, which counts the children of each node: ``e/q[k]`` and those of the elements below ``e``."""
        item = branch.item
        if (
            branch.is_many
            and isinstance(item, NodeItem)
            and any(axis == DESCENDANT for axis, _ in item.table.pattern)
        ):
            self.refuse(
                step.at, "a position after // is not supported here", "begin the path at the document"
            )
        child = PathStep("child", step.test, step.predicates, step.at)
        below = PathStep("//", "*", (), step.at)
        return [
            found
            for start in ([branch], self._walk(branch, [below], variables))
            for each in start
            for found in self._walk(each, [child, *rest], variables)
        ]

    def _alternatives(self, branch: Branch, steps: list[PathStep], variables: Variables) -> list[Branch]:
        first_, tests = steps[0], steps[0].test.split("|")
        if len(set(tests)) < len(tests) or any(map(is_wild, tests)) or _counts(first_):
            self.refuse(
                first_.at, "these alternatives are not supported", "name each element once, without positions"
            )
        found: list[Branch] = []
        for test in tests:
            step = PathStep(first_.axis, test, first_.predicates, first_.at)
            found += self._walk(branch, [step, *steps[1:]], variables)
        if len(steps) > 1 and any(step.axis == "//" for step in steps[1:]):
            self.refuse(first_.at, "// after alternatives is not supported", "write a path for each of them")
        return found

    def _is_counting(self, predicate: Syntax, step: PathStep, number: int) -> bool:
        """Whether a predicate counts, and not by the flags of its table."""
        count = counted(predicate)
        return count is not None and not self._by_flag(count, step, number)

    def _by_flag(self, count: Count, step: PathStep, number: int) -> bool:
        """Whether the first or last sibling of a name is meant, which a column says."""
        named = not is_wild(step.test) and step.test not in KINDS
        return number == 0 and named and step.axis in ("child", "//") and (count.low, count.high) == (1, 1)

    def _joined(self, branch: Branch, path: Pattern, last: PathStep, variables: Variables) -> Branch:
        """The nodes that ``path`` leads to from a branch, under the predicates of its last step."""
        item = branch.item
        assert isinstance(item, NodeItem | DocumentItem)
        context: Pattern = item.table.pattern if isinstance(item, NodeItem) else ()
        document = item.table.document if isinstance(item, NodeItem) else item.document
        table = Navigation(document, context, path)
        binds, found, done = (
            branch.binds,
            self._rows(item, table, last.predicates[:0], last, branch, variables),
            0,
        )
        for number, predicate in enumerate(last.predicates):
            if self._is_counting(predicate, last, number):
                if len(path) > 1 or last.axis == "//" or done:
                    self.refuse(
                        predicate.at,
                        "a position is not supported here",
                        "count the children of one node: a/b[2]",
                    )
                count = counted(predicate)
                assert count is not None
                found = self._taken(item, table, last, number, count, branch, variables)
                done = 1
            else:
                found = found.having(*self._predicate(predicate, last, number, binds, found, variables))
        whole = Branch((*binds, *found.binds), found.order, found.item, branch.is_distinct)
        nested = any(axis == DESCENDANT for axis, _ in context) and any(
            axis == DESCENDANT for axis, _ in path
        )
        return self.once(whole) if branch.is_many and (nested or not branch.is_distinct) else whole

    def _rows(
        self,
        item: NodeItem | DocumentItem,
        table: Navigation,
        predicates: Sequence[Syntax],
        last: PathStep,
        branch: Branch,
        variables: Variables,
    ) -> Branch:
        """Fresh rows of a table below ``item`` that satisfy ``predicates``."""
        relation = self.table(table)
        row = self.fresh("n", relation.type.element)
        found = Branch((ForBind(row, relation),), (TermKey(Field(row, "id")),), NodeItem(row, table))
        if isinstance(item, NodeItem):
            found = found.having(TestBind(call("==", Field(row, "ctx"), item.id)))
        for number, predicate in enumerate(predicates):
            found = found.having(*self._predicate(predicate, last, number, branch.binds, found, variables))
        return found

    def _predicate(
        self,
        predicate: Syntax,
        step: PathStep,
        number: int,
        outer: Sequence[Bind],
        found: Branch,
        variables: Variables,
    ) -> tuple[Bind, ...]:
        """A predicate that is a condition, or that a flag answers."""
        count, item = counted(predicate), found.item
        assert isinstance(item, NodeItem)
        if count is None:
            with self.within(outer):
                return self.predicate_guards(predicate, found, variables)
        flag = self.column(item, IS_LAST if count.from_end else IS_FIRST)
        return (TestBind(call("==", flag, const(1))),)

    def _taken(
        self,
        item: NodeItem | DocumentItem,
        table: Navigation,
        last: PathStep,
        number: int,
        count: Count,
        branch: Branch,
        variables: Variables,
    ) -> Branch:
        """The rows at some places among those that satisfy the predicates before."""

        def rows() -> Expr:
            found = self._rows(item, table, last.predicates[:number], last, branch, variables)
            assert isinstance(found.item, NodeItem)
            return build(found.binds, Sing(without_context(found.item.row)))

        return self.taken_of(rows, count, table)


def _counts(step: PathStep) -> bool:
    return any(counted(predicate) is not None for predicate in step.predicates)
