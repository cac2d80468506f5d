"""Steps that do not lead down, and predicates after them.

::

    e/@a                        [not is_null(n.a)];  K := (n.id)
    e/..                        m ← nav(, P less its last step), [m.id == n.parent], over exists
    e/following-sibling::q      m ← nav(, P with q as its last test), [m.parent == n.parent, m.id > n.id]
    e/ancestor::q               t ← nav(//q, //P's last test), [t.id == n.id], m ← nav(, //q), [m.id == t.ctx]

A position counts from the node outwards: ``preceding-sibling::q[1]`` is the nearest.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from nestling.calculus.build import call, const, countwise, first, negate, union
from nestling.calculus.terms import Expr, Field, Sing, Term, Var
from nestling.calculus.types import INT
from nestling.calculus.typing import element_type
from nestling.frontend.xquery.branches import (
    NUMERIC,
    AtomItem,
    AttributeItem,
    Bind,
    Branch,
    FoldBind,
    ForBind,
    NodeItem,
    TermKey,
    TestBind,
    build,
    units,
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
from nestling.xml.patterns import CHILD, DESCENDANT, LABEL_NAME, PARENT, Navigation, passes

#: What is a condition by its form, and never a position.
_CONDITIONS = (ComparisonExpr, LogicExpr, QuantifiedExpr, PathExpr)
KINDS = ("text()", "comment()", "processing-instruction()")
SIBLINGS = {"following-sibling": ">", "preceding-sibling": "<"}
_ANCESTORS = ("ancestor", "ancestor-or-self")


class AxisTranslator(TranslationContext):
    """Translates steps to attributes, to the node itself, up and aside."""

    @abstractmethod
    def sequence(self, syntax: Syntax, variables: Variables) -> list[Branch]:
        """The branches of any expression."""

    @abstractmethod
    def guards(self, syntax: Syntax, variables: Variables) -> tuple[Bind, ...]:
        """A condition as binds."""

    @abstractmethod
    def down(self, branch: Branch, steps: list[PathStep], variables: Variables) -> list[Branch]:
        """What steps lead to that begin with one down."""

    def aside(self, branch: Branch, step: PathStep, variables: Variables) -> list[Branch]:
        """A step that does not lead down."""
        if step.axis == "//@":
            below = PathStep("//", "*", (), step.at)
            owners = self.down(branch, [below], variables)
            if isinstance(branch.item, NodeItem):
                owners.append(branch)
            return [self._attribute(owner, step, variables) for owner in owners]
        if step.axis == "attribute":
            return [self._attribute(branch, step, variables)]
        if step.axis == "parent":
            return [self._filtered(self._parent(branch, step), step.predicates, variables)]
        if step.axis == "self":
            return [self._filtered(each, step.predicates, variables) for each in self._self(branch, step)]
        if step.axis in SIBLINGS or step.axis in _ANCESTORS:
            return [self._outwards(branch, step, variables)]
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
        if is_wild(step.test) or step.test.endswith("()"):
            self.refuse(
                step.at,
                f"@{step.test} is copied, and nothing else",
                "<x>{$e/@*}</x> copies all attributes; else name one",
            )
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
        if step.test in ("node()", item.test) or (step.test == "*" and item.test not in (*KINDS, "node()")):
            return [branch]
        if is_wild(item.test) and step.test not in KINDS:
            label = self.column(item, LABEL_NAME)
            if is_wild(step.test):
                self.refuse(
                    step.at, f"self::{step.test} of any node is not supported", "write it in the step before"
                )
            return [branch.having(TestBind(call("==", label, const(step.test))))]
        return []

    def _parent(self, branch: Branch, step: PathStep) -> Branch:
        item = branch.item
        assert isinstance(item, NodeItem)
        axis, _ = item.table.path[-1]
        above = item.table.pattern[:-1]
        if axis != CHILD:
            if step.test in ("node()", *KINDS):
                self.refuse(step.at, "the parent may be the document", "write parent::*, or name the parent")
            above = ((DESCENDANT, step.test),)
        elif above and above[-1][1] in ("*", "node()") and step.test not in KINDS:
            above = (*above[:-1], (above[-1][0], "*" if step.test == "node()" else step.test))
        elif not above or not passes(step.test, above[-1][1]):
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
        return self.once(found) if branch.is_many else found

    # -- siblings and ancestors

    def _outwards(self, branch: Branch, step: PathStep, variables: Variables) -> Branch:
        """The nodes of an axis that counts from the node outwards."""
        if "|" in step.test:
            self.refuse(step.at, "alternatives are not supported after this axis", "write a path for each")
        outer, item = branch.binds, branch.item
        assert isinstance(item, NodeItem)
        with self.within(outer):
            found, is_counted = self._beside(item, step), False
            for number, predicate in enumerate(step.predicates):
                count = counted(predicate)
                if count is None:
                    found = found.having(*self.predicate_guards(predicate, found, variables))
                    continue
                if is_counted:
                    self.refuse(predicate.at, "a second position is not supported", "count once")
                found, is_counted = self._counted_beside(item, step, number, count, variables), True
        whole = Branch((*outer, *found.binds), found.order, found.item, branch.is_distinct)
        return self.once(whole) if branch.is_many else whole

    def _counted_beside(
        self, item: NodeItem, step: PathStep, number: int, count: Count, variables: Variables
    ) -> Branch:
        if step.axis in SIBLINGS:
            return self._counted_siblings(item, step, number, count, variables)
        count = count._replace(from_end=not count.from_end)

        def rows() -> Expr:
            found = self._tested_beside(item, step, number, variables)
            assert isinstance(found.item, NodeItem)
            return build(found.binds, Sing(without_context(found.item.row)))

        return self.taken_of(rows, count, self._aside_table(item, step))

    def _tested_beside(
        self, item: NodeItem, step: PathStep, number: int, variables: Variables, sign: str | None = None
    ) -> Branch:
        """The nodes of an axis under the first ``number`` predicates."""
        found = self._beside(item, step, sign)
        for predicate in step.predicates[:number]:
            found = found.having(*self.predicate_guards(predicate, found, variables))
        return found

    def _counted_siblings(
        self, item: NodeItem, step: PathStep, number: int, count: Count, variables: Variables
    ) -> Branch:
        """Siblings by their ranks, the numbers of those up to them: a rank is one range of keys.

        The place of *m* is ``rank(m) - rank(n)`` after *n*, and ``rank before n - rank(m) + 1`` before it.
        """
        found = self._tested_beside(item, step, number, variables)
        assert isinstance(found.item, NodeItem)
        is_back = step.axis == "preceding-sibling"

        def rank(node: NodeItem, sign: str) -> FoldBind:
            upto = self._tested_beside(node, step, number, variables, sign)
            return FoldBind(self.fresh("rank", INT), "count", units(upto))

        own = rank(found.item, "<=")
        if not count.from_end:
            other = rank(item, "<" if is_back else "<=")
            place: Term = (
                call("+", call("-", other.var, own.var), const(1))
                if is_back
                else call("-", own.var, other.var)
            )
        elif is_back:
            return found.having(own, *_within(own.var, count))
        else:
            other = rank(item, "")
            place = call("+", call("-", other.var, own.var), const(1))
        return found.having(own, other, *_within(place, count))

    def _aside_table(self, item: NodeItem, step: PathStep) -> Navigation:
        """Where the nodes of such an axis are."""
        if step.axis in SIBLINGS:
            *above, (axis, _) = item.table.pattern
            return Navigation(item.table.document, (), (*above, (axis, step.test)))
        if step.test == "node()":
            self.refuse(step.at, f"{step.axis}::node() may be the document", f"write {step.axis}::*")
        return Navigation(item.table.document, (), ((DESCENDANT, step.test),))

    def _beside(self, item: NodeItem, step: PathStep, sign: str | None = None) -> Branch:
        """Fresh rows for the nodes of such an axis, without predicates; of siblings, ``sign`` says which."""
        table = self._aside_table(item, step)
        relation = self.table(table)
        row = self.fresh("n", relation.type.element)
        found = Branch((ForBind(row, relation),), (TermKey(Field(row, "id")),), NodeItem(row, table))
        if step.axis in SIBLINGS:
            assert isinstance(found.item, NodeItem)
            family = TestBind(call("==", self.column(found.item, PARENT), self.column(item, PARENT)))
            sign = SIBLINGS[step.axis] if sign is None else sign
            place = (TestBind(call(sign, Field(row, "id"), item.id)),) if sign else ()
            return found.having(family, *place)
        pairs = Navigation(item.table.document, table.path, ((DESCENDANT, item.test),))
        below = self.table(pairs)
        pair = self.fresh("below", below.type.element)
        joined = (
            TestBind(call("==", Field(pair, "id"), item.id)),
            TestBind(call("==", Field(pair, "ctx"), Field(row, "id"))),
        )
        above = Branch((ForBind(pair, below), *found.binds, *joined), found.order, found.item)
        if step.axis == "ancestor":
            return above
        own = self.fresh("n", relation.type.element)
        same = build(
            (ForBind(own, relation), TestBind(call("==", Field(own, "id"), item.id))),
            Sing(without_context(own)),
        )
        both = union(element_type(same), build(above.binds, Sing(without_context(row))), same)
        either = self.fresh("n", element_type(both))
        return Branch((ForBind(either, both),), (TermKey(Field(either, "id")),), NodeItem(either, table))

    def distinct(self, branch: Branch) -> Branch:
        """A branch of nodes without the repetitions that it may have."""
        return self.once(branch) if branch.is_many and not branch.is_distinct else branch

    def once(self, branch: Branch) -> Branch:
        item = branch.item
        assert isinstance(item, NodeItem)
        rows = countwise("exists", build(branch.binds, Sing(without_context(item.row))))
        row = self.fresh(item.row.name, element_type(rows))
        return Branch((ForBind(row, rows),), (TermKey(Field(row, "id")),), NodeItem(row, item.table))

    def taken_of(self, rows: Callable[[], Expr], count: Count, table: Navigation) -> Branch:
        """The rows at some places of a bag, by their keys."""
        up_to = rows() if count.high is None else first(count.high, rows(), count.from_end)
        found = union(element_type(up_to), up_to, negate(first(count.low - 1, rows(), count.from_end)))
        row: Var = self.fresh("n", element_type(found))
        return Branch((ForBind(row, found),), (TermKey(Field(row, "id")),), NodeItem(row, table))


def _within(place: Term, count: Count) -> tuple[TestBind, ...]:
    """Whether a place is one of those that a predicate takes."""
    low = (TestBind(call(">=", place, const(count.low))),) if count.low > 1 else ()
    if count.high == count.low:
        return (TestBind(call("==", place, const(count.low))),)
    return low if count.high is None else (*low, TestBind(call("<=", place, const(count.high))))


def is_wild(test: str) -> bool:
    """Whether a test holds of nodes of several names."""
    return test == "node()" or test.endswith("*") or test.startswith("*")
