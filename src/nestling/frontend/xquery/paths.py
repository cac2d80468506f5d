"""Paths → branches: a relative path of any length is one equi-join with a navigation table.

::

    e/r         m ← nav(P, r), [m.ctx == n.id];  K := (m.id): a path is in document order
                over exists({m | …}) where a node might be reached twice
    e/@a        [not is_null(n.a)];  K := (n.id)
    e/..        m ← nav(, P less its last step), [m.id == n.parent], over exists
    q[1]        [m.is_first == 1];  q[last()]: [m.is_last == 1]
    q[k]        m ← first(k, S) ⊎ ⊖first(k−1, S), with S = {m | m ← nav(P, q), [m.ctx == n.id]}
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from nestling.calculus.build import call, const, countwise, first, negate, union
from nestling.calculus.terms import Expr, Field, Sing, Var
from nestling.calculus.typing import element_type
from nestling.frontend.xquery.branches import (
    NUMERIC,
    AtomItem,
    AttributeItem,
    Bind,
    Branch,
    DocumentItem,
    ElementItem,
    ForBind,
    NodeItem,
    TermKey,
    TestBind,
    TextItem,
    build,
    without_context,
)
from nestling.frontend.xquery.context import TranslationContext, Variables
from nestling.frontend.xquery.positions import Count, counted
from nestling.frontend.xquery.syntax import (
    ComparisonExpr,
    LogicExpr,
    PathExpr,
    PathStep,
    QuantifiedExpr,
    Syntax,
)
from nestling.xml.patterns import (
    CHILD,
    DESCENDANT,
    IS_FIRST,
    IS_LAST,
    LABEL_NAME,
    PARENT,
    Navigation,
    Pattern,
)

_DOWN = {"child": CHILD, "descendant": DESCENDANT, "//": DESCENDANT}
#: What is a condition by its form, and never a position.
_CONDITIONS = (ComparisonExpr, LogicExpr, QuantifiedExpr, PathExpr)
_KINDS = ("text()", "comment()", "processing-instruction()")


class PathTranslator(TranslationContext):
    """Translates paths, and predicates that count."""

    @abstractmethod
    def sequence(self, syntax: Syntax, variables: Variables) -> list[Branch]:
        """The branches of any expression."""

    @abstractmethod
    def guards(self, syntax: Syntax, variables: Variables) -> tuple[Bind, ...]:
        """A condition as binds."""

    @abstractmethod
    def exclude(self, branch: Branch, others: Sequence[Branch]) -> Branch:
        """The nodes of a branch that are none of the others."""

    def path(self, syntax: PathExpr, variables: Variables) -> list[Branch]:
        starts = len(self.sequence(syntax.start, variables))
        groups = [
            self._walk(self.sequence(syntax.start, variables)[number], list(syntax.steps), variables)
            for number in range(starts)
        ]
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
                loose = ("*", "node()")
                return a.test != b.test and not (a.test in loose or b.test in loose)
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
        if step.axis in _DOWN:
            return self._down(branch, steps, variables)
        if isinstance(branch.item, DocumentItem) and step.axis != "//@":
            if step.axis == "self" and step.test == "node()":
                return self._walk(branch, steps[1:], variables)
            self.refuse(step.at, f"a document has no {step.axis}", "begin with the root element")
        found = self._aside(branch, step, variables)
        return [each for one in found for each in self._walk(one, steps[1:], variables)]

    def _aside(self, branch: Branch, step: PathStep, variables: Variables) -> list[Branch]:
        """A step that does not lead down."""
        if step.axis == "//@":
            below = PathStep("//", "*", (), step.at)
            owners = self._down(branch, [below], variables)
            if isinstance(branch.item, NodeItem):
                owners.append(branch)
            return [self._attribute(owner, step, variables) for owner in owners]
        if step.axis == "attribute":
            return [self._attribute(branch, step, variables)]
        if step.axis == "parent":
            return [self._filtered(self._parent(branch, step), step.predicates, variables)]
        if step.axis == "self":
            return [self._filtered(each, step.predicates, variables) for each in self._self(branch, step)]
        self.refuse(step.at, f"the axis {step.axis} is not supported", "write // or descendant::")

    def _filtered(self, branch: Branch, predicates: Sequence[Syntax], variables: Variables) -> Branch:
        for predicate in predicates:
            if counted(predicate) is not None:
                self.refuse(
                    predicate.at, "a position is not supported after this step", "count children: a/b[2]"
                )
            branch = branch.having(*self.predicate_guards(predicate, branch, variables))
        return branch

    def predicate_guards(self, predicate: Syntax, branch: Branch, variables: Variables) -> tuple[Bind, ...]:
        inner = {**variables, ".": branch.item}
        with self.within(branch.binds):
            if not isinstance(predicate, _CONDITIONS):
                values = (each.item for each in self.sequence(predicate, inner))
                if any(isinstance(item, AtomItem) and item.type in NUMERIC for item in values):
                    self.refuse(
                        predicate.at,
                        "a position is a literal number here",
                        "[2], [last()], [position() <= 3]",
                    )
            return self.guards(predicate, inner)

    def _attribute(self, branch: Branch, step: PathStep, variables: Variables) -> Branch:
        if step.test == "*" or step.test.endswith("()"):
            self.refuse(step.at, f"@{step.test} is not supported", "name the attribute")
        branch = self.distinct(branch)
        item = branch.item
        assert isinstance(item, NodeItem)
        value = self.column(item, f"@{step.test}")
        order = (TermKey(item.id),) if branch.is_many else branch.order
        found = Branch(branch.binds, order, AttributeItem(value, step.test, item.id), branch.is_distinct)
        found = found.having(TestBind(call("not", call("is_null", value))))
        return self._filtered(found, step.predicates, variables)

    def _self(self, branch: Branch, step: PathStep) -> list[Branch]:
        item = branch.item
        assert isinstance(item, NodeItem)
        if step.test in ("node()", item.test) or (step.test == "*" and item.test not in (*_KINDS, "node()")):
            return [branch]
        if item.test in ("*", "node()"):
            label = self.column(item, LABEL_NAME)
            if step.test == "*":
                self.refuse(step.at, "self::* of any node is not supported", "write * in the step before")
            return [branch.having(TestBind(call("==", label, const(step.test))))]
        return []

    def _parent(self, branch: Branch, step: PathStep) -> Branch:
        item = branch.item
        assert isinstance(item, NodeItem)
        axis, _ = item.table.path[-1]
        above = item.table.pattern[:-1]
        if axis != CHILD or not above or step.test not in ("node()", "*", above[-1][1]):
            self.refuse(
                step.at, "the parent is not known from the path", "name it in the path: …/parent/child"
            )
        table = Navigation(item.table.document, (), above)
        relation = self.table(table)
        row = self.fresh("up", relation.type.element)
        same = call("==", Field(row, "id"), self.column(item, PARENT))
        found = Branch(
            (*branch.binds, ForBind(row, relation), TestBind(same)),
            (TermKey(Field(row, "id")),),
            NodeItem(row, table),
        )
        return self._once(found) if branch.is_many else found

    def distinct(self, branch: Branch) -> Branch:
        """A branch of nodes without the repetitions that it may have."""
        return self._once(branch) if branch.is_many and not branch.is_distinct else branch

    def _once(self, branch: Branch) -> Branch:
        item = branch.item
        assert isinstance(item, NodeItem)
        rows = countwise("exists", build(branch.binds, Sing(without_context(item.row))))
        row = self.fresh(item.row.name, element_type(rows))
        return Branch((ForBind(row, rows),), (TermKey(Field(row, "id")),), NodeItem(row, item.table))

    # -- steps down

    def _down(self, branch: Branch, steps: list[PathStep], variables: Variables) -> list[Branch]:
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
            if step.predicates or step.test in _KINDS:
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
        if len(set(tests)) < len(tests) or any(test in ("*", "node()") for test in tests) or _counts(first_):
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
        named = step.test not in ("*", "node()", *_KINDS)
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
        return self._once(whole) if branch.is_many and (nested or not branch.is_distinct) else whole

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

    def taken_of(self, rows: object, count: Count, table: Navigation) -> Branch:
        assert callable(rows)
        up_to = rows() if count.high is None else first(count.high, rows(), count.from_end)
        found = union(element_type(up_to), up_to, negate(first(count.low - 1, rows(), count.from_end)))
        row: Var = self.fresh("n", element_type(found))
        return Branch((ForBind(row, found),), (TermKey(Field(row, "id")),), NodeItem(row, table))


def _counts(step: PathStep) -> bool:
    return any(counted(predicate) is not None for predicate in step.predicates)
