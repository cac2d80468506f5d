"""Conditions: comparisons, quantifiers, effective boolean values.

::

    a = b            exists over the branches of {⟨⟩ | G₁ G₂ [atom I₁ = atom I₂]}
    a eq b           the same; an operand of two items is an error, which a check refuses
    not c            count = 0;   every: not some not

A condition whose binds are all tests is a term, and one of tests and aggregates needs no ``exists`` around it: both
decide whether a view has a program. An attribute is compared as the nullable column that it is: a comparison with
null is null, and does not hold; where it is negated, it is made false first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from nestling.calculus.build import FALSE, TRUE, call, conjunction, const, for_, is_empty, nonempty, union
from nestling.calculus.terms import Call, Const, Expr, Field, Guard, Sing, Term, Tuple, Var
from nestling.calculus.types import BOOL, FLOAT, INT, UNIT, Scalar
from nestling.calculus.typing import term_type
from nestling.frontend.xquery.branches import (
    BOOLEAN,
    DOUBLE,
    MOMENTS,
    NUMERIC,
    STRING,
    TEXTS,
    UNTYPED,
    AtomItem,
    AttributeItem,
    Bind,
    Branch,
    FoldBind,
    ForBind,
    Item,
    NodeItem,
    TestBind,
    Truth,
    as_binds,
    build,
    is_term,
)
from nestling.frontend.xquery.context import Variables
from nestling.frontend.xquery.syntax import (
    CallExpr,
    ComparisonExpr,
    ForClause,
    LogicExpr,
    QuantifiedExpr,
    Syntax,
)
from nestling.frontend.xquery.values import ValueTranslator, as_moment, certain, is_nullable
from nestling.values.nan import NAN

#: Binds, and a test under them.
Alternative: TypeAlias = "tuple[tuple[Bind, ...], Term | None]"
_CONDITIONS = frozenset(
    ("not", "exists", "empty", "boolean", "true", "false", "contains", "starts-with", "ends-with")
)
_STRINGS = {"contains": "contains", "starts-with": "starts_with", "ends-with": "ends_with"}
_NODE_SIGNS = {"<<": "<", ">>": ">", "is": "=="}


class ConditionTranslator(ValueTranslator):
    """Translates conditions."""

    # -- conditions

    def guards(self, syntax: Syntax, variables: Variables) -> tuple[Bind, ...]:
        if isinstance(syntax, LogicExpr) and syntax.operator == "and":
            left = self.guards(syntax.left, variables)
            with self.within(left):
                return (*left, *self.guards(syntax.right, variables))
        return as_binds(self.condition(syntax, variables))

    def negation(self, truth: Truth) -> Truth:
        """Where a condition does not hold."""
        if truth in self.lifted:
            folds, test = self.lifted[truth]
            return self._lift(folds, call("not", _certain(test)))
        if not is_term(truth):
            return is_empty(truth, self.names)  # type: ignore[arg-type]
        return call("not", _certain(truth))  # type: ignore[arg-type]

    def condition(self, syntax: Syntax, variables: Variables) -> Truth:
        match syntax:
            case LogicExpr(operator, left, right):
                return self._logic(
                    operator, self.condition(left, variables), self.condition(right, variables)
                )
            case ComparisonExpr():
                return self._comparison(syntax, variables)
            case QuantifiedExpr(is_every, bindings, test):
                found = self._some(list(bindings), test, variables, is_every)
                some = self.existential(found)
                return self.negation(some) if is_every else some
            case CallExpr(name) if name in _CONDITIONS:
                return self._call(syntax, variables)
        return self._effective(syntax, variables)

    def _logic(self, operator: str, left: Truth, right: Truth) -> Truth:
        if is_term(left) and is_term(right):
            return call(operator, left, right)  # type: ignore[arg-type]
        a, b = self._lifted(left), self._lifted(right)
        if a is not None and b is not None:
            return self._lift((*a[0], *b[0]), call(operator, a[1], b[1]))
        one, other = _as_bag(left), _as_bag(right)
        if operator == "and":
            return for_(Var("_", UNIT), one, other)
        return nonempty(union(UNIT, one, other), self.names)

    def _some(
        self, bindings: list[ForClause], test: Syntax, variables: Variables, negated: bool
    ) -> list[Alternative]:
        if not bindings:
            truth = self.condition(test, variables)
            return [(as_binds(self.negation(truth) if negated else truth), None)]
        first, *rest = bindings
        found: list[Alternative] = []
        for branch in self.sequence(first.source, variables):
            with self.within(branch.binds):
                inner = self._some(rest, test, {**variables, first.name: branch.item}, negated)
            found += [((*branch.binds, *binds), term) for binds, term in inner]
        return found

    def existential(self, alternatives: Sequence[Alternative]) -> Truth:
        """Whether one of several holds."""
        if not alternatives:
            return FALSE
        if all(isinstance(bind, TestBind) for binds, _ in alternatives for bind in binds):
            terms = [
                conjunction(
                    [*(b.test for b in binds if isinstance(b, TestBind)), *([] if test is None else [test])]
                )
                for binds, test in alternatives
            ]
            found = terms[0]
            for term in terms[1:]:
                found = call("or", found, term)
            return found
        if len(alternatives) == 1 and all(isinstance(b, TestBind | FoldBind) for b in alternatives[0][0]):
            [(binds, test)] = alternatives
            tests = [b.test for b in binds if isinstance(b, TestBind)]
            folds = tuple(b for b in binds if isinstance(b, FoldBind))
            return self._lift(folds, conjunction(tests if test is None else [*tests, test]))
        bags = [
            build(binds, Guard(test) if test is not None else Sing(Tuple(()))) for binds, test in alternatives
        ]
        if len(bags) == 1 and not any(isinstance(bind, ForBind) for bind in alternatives[0][0]):
            return bags[0]
        if any(_is_range(bind) for binds, _ in alternatives for bind in binds):
            # The number of rows in a range of keys is maintained; whether there are any is not.
            number = self.fresh("n", INT)
            return self._lift((FoldBind(number, "count", union(UNIT, *bags)),), call("!=", number, const(0)))
        return nonempty(union(UNIT, *bags), self.names)

    def _lift(self, folds: tuple[FoldBind, ...], test: Term) -> Expr:
        """A condition on aggregates. Logic is done inside it: what it comes to depends on the aggregates alone."""
        found = build(folds, Guard(test))
        self.lifted[found] = folds, test
        return found

    def _lifted(self, truth: Truth) -> tuple[tuple[FoldBind, ...], Term] | None:
        """A condition as aggregates, or none of them, and a test."""
        return ((), truth) if is_term(truth) else self.lifted.get(truth)  # type: ignore[return-value]

    def _call(self, syntax: CallExpr, variables: Variables) -> Truth:
        name, arguments = syntax.name, syntax.arguments
        self.arity(syntax, 0 if name in ("true", "false") else 2 if name in _STRINGS else 1)
        if name in ("true", "false"):
            return TRUE if name == "true" else FALSE
        if name == "not":
            inner = arguments[0]
            if (
                isinstance(inner, CallExpr)
                and inner.name in ("empty", "exists")
                and len(inner.arguments) == 1
            ):
                other = "exists" if inner.name == "empty" else "empty"
                return self.condition(replace(inner, name=other), variables)
            return self.negation(self.condition(inner, variables))
        if name == "boolean":
            return self.condition(arguments[0], variables)
        if name in _STRINGS:
            return self._text_test(syntax, variables)
        found = self.existential([(branch.binds, None) for branch in self.sequence(arguments[0], variables)])
        return self.negation(found) if name == "empty" else found

    def _text_test(self, syntax: CallExpr, variables: Variables) -> Truth:
        """``contains`` and its like; of nothing they see the empty text, which contains only itself."""
        left, right = (self.sequence(each, variables) for each in syntax.arguments)
        left = self.check_count(left, syntax.at, 0, 1, f"the text that {syntax.name} looks at")
        right = self.check_count(right, syntax.at, 0, 1, f"what {syntax.name} looks for")
        for branch in (*left, *right):
            self._text_only(branch.item, syntax)
        match right:
            case [Branch((), _, AtomItem(Const(str(sought)), _))] if sought:
                pass
            case _:
                return self._total_test(syntax, left, right)
        function = _STRINGS[syntax.name]
        return self.existential(
            [
                ((*x.binds, *y.binds), call(function, self.atom(x.item)[0], self.atom(y.item)[0]))
                for x in left
                for y in right
            ]
        )

    def _total_test(self, syntax: CallExpr, left: list[Branch], right: list[Branch]) -> Truth:
        binds, terms = list[Bind](), list[Term]()
        for side in (left, right):
            more, term, _ = self.one(side, syntax.at)
            binds += more
            terms.append(certain(term))
        return self.existential([(tuple(binds), call(_STRINGS[syntax.name], *terms))])

    def _text_only(self, item: Item, syntax: CallExpr) -> None:
        if self.atom(item)[1] not in TEXTS:
            self.refuse(syntax.at, f"{syntax.name} takes texts", "string(…)", "XPTY0004")

    def _effective(self, syntax: Syntax, variables: Variables) -> Truth:
        """The effective boolean value: nodes are there, texts are not empty, numbers are not zero."""
        alternatives: list[Alternative] = []
        branches = self.sequence(syntax, variables)
        for branch in branches:
            item = branch.item
            if not isinstance(item, AtomItem):
                alternatives.append((branch.binds, None))
                continue
            if branch.is_many or len(branches) > 1:
                self.refuse(
                    syntax.at,
                    "several values are no condition",
                    "exists(…), or some $x in … satisfies …",
                    "FORG0006",
                )
            if item.type == BOOLEAN:
                test = item.term
            elif item.type in TEXTS:
                test = call("!=", item.term, const(""))
            elif item.type in MOMENTS:
                self.refuse(syntax.at, f"a {item.type} is no condition", "compare it", "FORG0006")
            else:
                zero = const(0) if item.type != DOUBLE else Const(0.0, FLOAT)
                test = call("!=", item.term, zero)
                if item.may_be_nan:
                    test = _without_nan(test, "", item.term)
            alternatives.append((branch.binds, test))
        return self.existential(alternatives)

    def as_boolean(self, syntax: Syntax, variables: Variables) -> list[Branch]:
        """A condition as a value."""
        truth = self.condition(syntax, variables)
        if is_term(truth):
            return [Branch((), (), AtomItem(_certain(truth), BOOLEAN))]  # type: ignore[arg-type]
        number = self.fresh("n", INT)
        bind = FoldBind(number, "count", truth)  # type: ignore[arg-type]
        return [Branch((bind,), (), AtomItem(call("!=", number, const(0)), BOOLEAN))]

    # -- comparisons

    def _comparison(self, syntax: ComparisonExpr, variables: Variables) -> Truth:
        left, right = self.sequence(syntax.left, variables), self.sequence(syntax.right, variables)
        if syntax.kind != "general":
            left, right = (
                self.check_count(side, syntax.at, 0, 1, "an operand of this comparison")
                for side in (left, right)
            )
        return self.existential([self._compared(syntax, x, y) for x in left for y in right])

    def _compared(self, syntax: ComparisonExpr, left: Branch, right: Branch) -> Alternative:
        if syntax.kind == "node":
            ids = [self._identity(branch.item, syntax.at) for branch in (left, right)]
            return (*left.binds, *right.binds), call(_NODE_SIGNS[syntax.operator], *ids)
        one, other = self._bare(left, syntax), self._bare(right, syntax)
        if syntax.operator == "=" and len(one) < len(left.binds) and len(other) < len(right.binds):
            other = right.binds  # in the calculus null == null
        operator = {"=": "=="}.get(syntax.operator, syntax.operator)
        terms = self._operands(syntax, left.item, right.item)
        test = call(operator, *terms)
        for branch, term in zip((left, right), terms, strict=True):
            if isinstance(branch.item, AtomItem) and branch.item.may_be_nan:
                test = _without_nan(test, operator, term)
        return (*one, *other), test

    def _bare(self, branch: Branch, syntax: ComparisonExpr) -> tuple[Bind, ...]:
        """The binds of an operand without the test that an attribute is there, where the comparison implies it."""
        implied = isinstance(branch.item, AttributeItem) and syntax.operator != "!="
        return branch.binds[:-1] if implied else branch.binds

    def _identity(self, item: Item, at: int) -> Term:
        if isinstance(item, NodeItem):
            return item.id
        self.refuse(at, "only nodes of documents have a place", "compare values with =", "XPTY0004")

    def _operands(self, syntax: ComparisonExpr, left: Item, right: Item) -> tuple[Term, Term]:
        (a, type_a), (b, type_b) = self._raw(left), self._raw(right)
        if syntax.kind == "value":
            type_a, type_b = (STRING if type_ == UNTYPED else type_ for type_ in (type_a, type_b))
        numbers = type_a in NUMERIC, type_b in NUMERIC
        if any(numbers):
            if not all(n or t == UNTYPED for n, t in zip(numbers, (type_a, type_b), strict=True)):
                self.refuse(
                    syntax.at,
                    f"{type_a} and {type_b} are not compared",
                    "number(…) or string(…) first",
                    "XPTY0004",
                )
            return self.promoted(a, type_a, b, type_b)[:2]
        if (type_a == BOOLEAN) != (type_b == BOOLEAN):
            self.refuse(
                syntax.at, "a boolean is compared with a boolean", 'compare the text: … = "true"', "XPTY0004"
            )
        for moment in MOMENTS & {type_a, type_b}:
            if {type_a, type_b} - {moment, UNTYPED}:
                self.refuse(
                    syntax.at,
                    f"{type_a} and {type_b} are not compared",
                    f"xs:{moment}(…) of both",
                    "XPTY0004",
                )
            return tuple(t if k == moment else as_moment(t, moment) for t, k in ((a, type_a), (b, type_b)))  # type: ignore[return-value]
        match a, b:
            case Call("to_text", (left_,)), Call("to_text", (right_,)) if syntax.operator in (
                "=",
                "!=",
            ) and _are_alike(left_, right_):
                return left_, right_
        return a, b

    def _raw(self, item: Item) -> tuple[Term, str]:
        return (item.value, UNTYPED) if isinstance(item, AttributeItem) else self.atom(item)

    def exclude(self, branch: Branch, others: Sequence[Branch]) -> Branch:
        found = self.existential([(self.same_nodes(branch, other, 0), None) for other in others])
        return branch.having(*as_binds(self.negation(found)))


def _without_nan(test: Call, operator: str, term: Term) -> Call:
    """A comparison as IEEE 754 has it: NaN is unequal to everything."""
    is_nan = call("==", term, Const(NAN, FLOAT))
    return call("or", test, is_nan) if operator == "!=" else call("and", test, call("not", is_nan))


def _are_alike(left: Term, right: Term) -> bool:
    """Whether two cells of tables have the same text where they have the same value, and only there."""
    types = term_type(left), term_type(right)
    return types[0] == types[1] and types[0] in (INT, BOOL, Scalar("date"))


def _is_range(bind: Bind) -> bool:
    """Whether a bind compares the places of two nodes."""
    match bind:
        case TestBind(Call("<" | ">", (Field(_, "id"), Field(_, "id")))):
            return True
    return False


def _certain(term: Term) -> Term:
    """A condition that is false where it was null."""
    return call("coalesce", term, FALSE) if is_nullable(term) else term


def _as_bag(truth: Truth) -> Expr:
    return Guard(truth) if is_term(truth) else truth  # type: ignore[arg-type,return-value]
