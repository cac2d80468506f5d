"""Values: what an item is as an atom, one value of a sequence, arithmetic.

::

    one(e)           the item's term where there are tests alone; else x := min({atom I | G}), null of nothing
    a + b            β₁ × β₂: an empty operand gives the empty sequence by itself
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nestling.calculus.build import TRUE, call, conjunction, const, union
from nestling.calculus.terms import Call, Const, Sing, Term
from nestling.calculus.types import FLOAT, Scalar
from nestling.calculus.typing import element_type, fold_type, term_type
from nestling.frontend.xquery.branches import (
    DATE,
    DECIMAL,
    DOUBLE,
    INTEGER,
    NUMERIC,
    STRING,
    TEXTS,
    UNTYPED,
    AtomItem,
    AttributeItem,
    AttributesItem,
    Bind,
    Branch,
    CellItem,
    FoldBind,
    Item,
    JoinedItem,
    NodeItem,
    RowItem,
    TestBind,
    build,
)
from nestling.frontend.xquery.context import Variables, scalar_name
from nestling.frontend.xquery.filters import FilterTranslator
from nestling.frontend.xquery.syntax import ArithmeticExpr, CallExpr
from nestling.xml import patterns

_NUMBERS = ("int", "decimal")
_DAY = r"^\s*\d{4}-\d\d-\d\d\s*$"
_MOMENT = r"^\s*\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?\s*$"


class ValueTranslator(FilterTranslator):
    """Translates what has a value."""

    def atom(self, item: Item, at: int = 0) -> tuple[Term, str]:
        """The value of an item, and its type."""
        match item:
            case AtomItem(term, type_):
                return term, type_
            case AttributeItem(value):
                return call("coalesce", value, const("")), UNTYPED
            case NodeItem():
                return self.column(item, patterns.STRING), UNTYPED
            case CellItem(value):
                return value, UNTYPED
            case AttributesItem():
                self.refuse(at, "@* is copied, and nothing else", "name the attribute")
            case RowItem():
                self.refuse(at, "a row of a table has no value", "name a column: row/price")
            case JoinedItem():
                self.refuse(at, "string-join is written, and not compared or counted", "compare its items")
        self.refuse(at, "the value of this node is not supported", "use a node of a document, or a text")

    def one(self, branches: Sequence[Branch], at: int) -> tuple[list[Bind], Term, str]:
        """Binds and a term for a sequence of at most one item; the term is null where there is none."""
        types = {self.atom(branch.item, at)[1] for branch in branches}
        if len(types - TEXTS) > 1 or (types & TEXTS and types - TEXTS):
            self.refuse(at, "texts and numbers have no common order", "string(…) or number(…)", "XPTY0004")
        if not branches:
            return [], Const(None, Scalar("str", True)), UNTYPED
        type_ = next(iter(types))
        if len(branches) == 1:
            [branch] = branches
            if not branch.binds:
                return [], self.atom(branch.item, at)[0], type_
            folds = [bind for bind in branch.binds if isinstance(bind, FoldBind)]
            rest = [bind for bind in branch.binds if not isinstance(bind, FoldBind)]
            if (term := self.optional(replace(branch, binds=tuple(rest)))) is not None:
                return list[Bind](folds), term, type_
        bags = [build(branch.binds, Sing(self.atom(branch.item, at)[0])) for branch in branches]
        source = union(element_type(bags[0]), *bags)
        var = self.fresh("one", fold_type("min", source))
        return [FoldBind(var, "min", source)], var, type_

    def optional(self, branch: Branch) -> Term | None:
        """The value of a branch of tests alone, null where they do not hold."""
        if not all(isinstance(bind, TestBind) for bind in branch.binds):
            return None
        if isinstance(branch.item, AttributeItem) and len(branch.binds) == 1:
            return branch.item.value
        term = self.atom(branch.item)[0]
        tests = [bind.test for bind in branch.binds if isinstance(bind, TestBind)]
        if not tests or tests == [call("not", call("is_null", term))]:
            return term
        test = conjunction(tests)
        return call(
            "if", test, call("nullable", term), Const(None, Scalar(scalar_name(term_type(term)), True))
        )

    def promoted(self, a: Term, type_a: str, b: Term, type_b: str) -> tuple[Term, Term, str]:
        """Two numbers of one type; untyped ones are doubles."""
        (a, type_a), (b, type_b) = self.number(a, type_a), self.number(b, type_b)
        if DOUBLE in (type_a, type_b):
            return as_double(a, type_a), as_double(b, type_b), DOUBLE
        return a, b, DECIMAL if DECIMAL in (type_a, type_b) else INTEGER

    def number(self, term: Term, type_: str) -> tuple[Term, str]:
        """An untyped value as a double; of the text of a number, the number itself."""
        match term:
            case Call("to_text", (value,)) if type_ == UNTYPED and scalar_name(term_type(value)) in _NUMBERS:
                return call("to_float", value), DOUBLE
        return (call("read_float", term), DOUBLE) if type_ == UNTYPED else (term, type_)

    def arithmetic(self, syntax: ArithmeticExpr, variables: Variables) -> list[Branch]:
        left, right = self.sequence(syntax.left, variables), self.sequence(syntax.right, variables)
        for side in (left, right):
            self.check_count(side, syntax.at, 0, 1, f"an operand of {syntax.operator}")
        return [
            Branch((*x.binds, *y.binds), (), self._calculated(syntax, x.item, y.item))
            for x in left
            for y in right
        ]

    def _calculated(self, syntax: ArithmeticExpr, left: Item, right: Item) -> AtomItem:
        (a, type_a), (b, type_b) = self.atom(left, syntax.at), self.atom(right, syntax.at)
        for type_ in (type_a, type_b):
            if type_ not in NUMERIC and type_ != UNTYPED:
                self.refuse(
                    syntax.at, f"{syntax.operator} takes numbers, not a {type_}", "number(…)", "XPTY0004"
                )
        a, b, type_ = self.promoted(a, type_a, b, type_b)
        match syntax.operator, type_:
            case "div", "double":
                found: Term = call("/", a, b)
            case "div", _:
                found, type_ = call("ratio", a, b, const(38), const(18)), DECIMAL
            case "idiv", "integer":
                found = call("quotient", a, b)
            case "mod", "integer":
                found = call("remainder", a, b)
            case (("idiv" | "mod"), _):
                self.refuse(syntax.at, f"{syntax.operator} takes integers here", "xs:integer(…)")
            case operator, _:
                found = call(operator, a, b)
        is_nan = any(isinstance(item, AtomItem) and item.may_be_nan for item in (left, right))
        return AtomItem(found, type_, is_nan)

    def family(self, item: Item, at: int) -> str:
        """The name of the types that an item compares with."""
        type_ = self.atom(item, at)[1]
        return STRING if type_ in TEXTS else DOUBLE if type_ in NUMERIC else type_

    def arity(self, syntax: CallExpr, *numbers: int) -> None:
        """Refuse a call with another number of arguments."""
        if len(syntax.arguments) not in numbers:
            known = " or ".join(map(str, numbers))
            self.refuse(syntax.at, f"{syntax.name} takes {known} arguments", "see the call", "XPST0017")


def as_moment(term: Term, type_: str) -> Term:
    """A text as a date or a moment without a time zone; what is not written as XML has it has no value."""
    pattern, read = (_DAY, "read_date") if type_ == DATE else (_MOMENT, "read_datetime")
    fits = call("coalesce", call("matches", term, const(pattern)), TRUE)  # nothing stays nothing
    return call(read, call("if", fits, term, const("")))


def as_double(term: Term, type_: str) -> Term:
    """A number as a double."""
    if type_ == DOUBLE:
        return term
    return Const(float(term.value), FLOAT) if isinstance(term, Const) else call("to_float", term)


def certain(text: Term) -> Term:
    """A text; of nothing, the empty one."""
    return call("coalesce", text, const("")) if is_nullable(text) else text


def is_nullable(term: Term) -> bool:
    """Whether a term may be null."""
    type_ = term_type(term)
    return isinstance(type_, Scalar) and type_.nullable
