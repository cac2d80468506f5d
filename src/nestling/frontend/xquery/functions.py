"""Functions: aggregates, texts, casts, and those that a query declares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from nestling.calculus.build import call, const, countwise, union
from nestling.calculus.terms import Const, Expr, Sing, Term
from nestling.calculus.types import FLOAT, INT
from nestling.calculus.typing import element_type, fold_type
from nestling.frontend.xquery.branches import (
    BOOLEAN,
    DATE,
    DATETIME,
    DECIMAL,
    DOUBLE,
    INTEGER,
    MOMENTS,
    NUMERIC,
    STRING,
    TEXTS,
    UNTYPED,
    AtomItem,
    Bind,
    Branch,
    DocumentItem,
    FoldBind,
    ForBind,
    JoinedItem,
    NodeItem,
    PlaceKey,
    TermKey,
    TestBind,
    build,
    units,
)
from nestling.frontend.xquery.conditions import ConditionTranslator
from nestling.frontend.xquery.context import Later, Variables
from nestling.frontend.xquery.syntax import CallExpr, CastExpr, ContextExpr, LiteralExpr, Syntax
from nestling.frontend.xquery.values import as_double, as_moment, certain, is_nullable
from nestling.values.nan import NAN
from nestling.xml.patterns import LABEL_NAME

_BOUNDS = {"zero-or-one": (0, 1), "exactly-one": (1, 1), "one-or-more": (1, None)}
_CONDITIONS = ("not", "exists", "empty", "boolean", "true", "false", "contains", "starts-with", "ends-with")
_CASTS = {
    "xs:string": STRING, "xs:double": DOUBLE, "xs:float": DOUBLE, "xs:decimal": DECIMAL, "xs:integer": INTEGER,
    "xs:int": INTEGER, "xs:untypedAtomic": UNTYPED, "xs:anyAtomicType": "", "xs:date": DATE, "xs:dateTime": DATETIME,
}  # fmt: skip


class FunctionTranslator(ConditionTranslator):
    """Translates calls and casts."""

    def call(self, syntax: CallExpr, variables: Variables) -> list[Branch]:  # noqa: C901 (one arm per group of functions)
        name = syntax.name
        if name in self.module.functions:
            return self._declared(syntax, variables)
        match name:
            case "doc":
                return [Branch((), (), DocumentItem(self._named(syntax)))]
            case "collection":
                return self._collection(syntax)
            case "zero-or-one" | "exactly-one" | "one-or-more":
                self.arity(syntax, 1)
                found = self.sequence(syntax.arguments[0], variables)
                return self.check_count(found, syntax.at, *_BOUNDS[name], f"the argument of {name}")
            case "count":
                return self._count(syntax, variables)
            case "sum" | "avg" | "min" | "max":
                return self._aggregate(syntax, variables)
            case "distinct-values":
                return self._distinct(syntax, variables)
            case "data":
                return [self._data(branch, syntax) for branch in self._argument(syntax, variables)]
            case "string" | "string-length" | "upper-case" | "lower-case" | "concat" | "substring":
                return self._text(syntax, variables)
            case "number":
                return self._number(syntax, variables)
            case "string-join":
                return self._joined_text(syntax, variables)
            case "year-from-date" | "month-from-date" | "day-from-date":
                return self._part_of_date(syntax, variables)
            case "name" | "local-name":
                return self._name(syntax, variables)
            case "position" | "last":
                self.refuse(
                    syntax.at, f"{name}() here is not supported", f"[{name}() = 1], or for $x at $i in …"
                )
            case _ if name in _CONDITIONS:
                return self.as_boolean(syntax, variables)
        self.refuse(
            syntax.at,
            f"the function {name} is not supported",
            "declare it: declare function local:…",
            "XPST0017",
        )

    def _named(self, syntax: CallExpr) -> str:
        match syntax.arguments:
            case (LiteralExpr(str(name)),):
                if name in self.documents:
                    return name
                if name in self.table_documents:
                    if obstacle := self.table_documents[name].obstacle:
                        self.refuse(
                            syntax.at, f"the table {name} is no document: {obstacle}", "declare a view of it"
                        )
                    return name
                known = ", ".join((*self.documents, *self.table_documents)) or "none yet"
                self.refuse(syntax.at, f"there is no document {name!r}", f"there are: {known}", "FODC0002")
        self.refuse(syntax.at, "doc takes the name of a document", 'doc("auction.xml")')

    def _collection(self, syntax: CallExpr) -> list[Branch]:
        """The documents whose names begin with that of the collection and a slash, in the order of their names."""
        match syntax.arguments:
            case (LiteralExpr(str(name)),):
                found = sorted(each for each in self.documents if each.startswith(f"{name}/"))
                if not found:
                    self.refuse(
                        syntax.at,
                        f"there is no document in {name!r}",
                        f'db.document("{name}/a.xml", …)',
                        "FODC0004",
                    )
                self.collections[name] = None
                return [Branch((), (PlaceKey(n),), DocumentItem(each)) for n, each in enumerate(found)]
        self.refuse(syntax.at, "collection takes the name of a collection", 'collection("reports")')

    def _argument(self, syntax: CallExpr, variables: Variables) -> list[Branch]:
        self.arity(syntax, 0, 1)
        return self.sequence(syntax.arguments[0] if syntax.arguments else ContextExpr(syntax.at), variables)

    def _data(self, branch: Branch, syntax: CallExpr) -> Branch:
        return replace(branch, item=AtomItem(*self.atom(branch.item, syntax.at)))

    def _number(self, syntax: CallExpr, variables: Variables) -> list[Branch]:
        """A double; NaN of nothing, and of what is written as no number."""
        found = self._argument(syntax, variables)
        found = self.check_count(found, syntax.at, 0, 1, "the argument of number")
        binds, term, type_ = self.one(found, syntax.at)
        nan = Const(NAN, FLOAT)
        if type_ in TEXTS:
            text = certain(term)
            number: Term = call("if", _no_number(text), nan, call("read_float", text))
        elif type_ in NUMERIC:
            number = as_double(term, type_)
            number = call("coalesce", number, nan) if is_nullable(number) else number
        else:
            self.refuse(syntax.at, f"number of a {type_} is not supported", "if (…) then 1 else 0")
        return [Branch(tuple(binds), (), AtomItem(number, DOUBLE, True))]

    def _joined_text(self, syntax: CallExpr, variables: Variables) -> list[Branch]:
        self.arity(syntax, 1, 2)
        separator = ""
        if len(syntax.arguments) == 2:
            match syntax.arguments[1]:
                case LiteralExpr(str(separator)):
                    pass
                case _:
                    self.refuse(
                        syntax.at, "string-join takes a literal separator here", 'string-join(…, ", ")'
                    )
        found = self.sequence(syntax.arguments[0], variables)
        return [Branch((), (), JoinedItem(found, separator))]

    def _part_of_date(self, syntax: CallExpr, variables: Variables) -> list[Branch]:
        self.arity(syntax, 1)
        found = self.sequence(syntax.arguments[0], variables)
        found = self.check_count(found, syntax.at, 0, 1, f"the argument of {syntax.name}")
        return [replace(b, item=AtomItem(self._date_part(b, syntax), INTEGER)) for b in found]

    def _date_part(self, branch: Branch, syntax: CallExpr) -> Term:
        term, type_ = self.atom(branch.item, syntax.at)
        if type_ not in (DATE, UNTYPED):
            self.refuse(syntax.at, f"{syntax.name} takes a date", "xs:date(…)", "XPTY0004")
        return call(syntax.name.partition("-")[0], term if type_ == DATE else as_moment(term, DATE))

    def _name(self, syntax: CallExpr, variables: Variables) -> list[Branch]:
        found = self._argument(syntax, variables)
        found = self.check_count(found, syntax.at, 0, 1, f"the argument of {syntax.name}")
        return [replace(b, item=AtomItem(self._label(b, syntax), STRING)) for b in found]

    def _label(self, branch: Branch, syntax: CallExpr) -> Term:
        item = branch.item
        if not isinstance(item, NodeItem) or item.test.endswith("()"):
            self.refuse(syntax.at, f"{syntax.name} takes an element", "name(a/b)")
        if item.test.startswith("{"):
            self.refuse(
                syntax.at, f"{syntax.name} of a name with a namespace is not supported", "write the name"
            )
        return self.column(item, LABEL_NAME) if item.test == "*" else const(item.test)

    # -- aggregates

    def _count(self, syntax: CallExpr, variables: Variables) -> list[Branch]:
        self.arity(syntax, 1)
        binds = list[Bind]()
        number: Term | None = None
        for branch in self.sequence(syntax.arguments[0], variables):
            if branch.binds:
                var = self.fresh("n", INT)
                binds.append(FoldBind(var, "count", units(branch)))
                one: Term = var
            else:
                one = const(1)
            number = one if number is None else call("+", number, one)
        return [Branch(tuple(binds), (), AtomItem(const(0) if number is None else number, INTEGER))]

    def _aggregate(self, syntax: CallExpr, variables: Variables) -> list[Branch]:
        self.arity(syntax, 1)
        bags, types, is_nan = list[Expr](), set[str](), False
        for branch in self.sequence(syntax.arguments[0], variables):
            term, type_ = self.number(*self.atom(branch.item, syntax.at))
            if isinstance(branch.item, AtomItem) and branch.item.may_be_nan:
                if syntax.name in ("min", "max"):
                    self.refuse(
                        syntax.at, f"{syntax.name} of number(…) is not supported", "of the nodes themselves"
                    )
                is_nan = True
            types.add(type_)
            bags.append(build(branch.binds, Sing(term)))
        if not bags:
            return [Branch((), (), AtomItem(const(0), INTEGER))] if syntax.name == "sum" else []
        if len(types) > 1:
            self.refuse(syntax.at, f"{syntax.name} of several types is not supported", "xs:double(…) of each")
        [type_] = types
        if type_ not in NUMERIC and (syntax.name in ("sum", "avg") or type_ not in (STRING, *MOMENTS)):
            self.refuse(syntax.at, f"{syntax.name} takes numbers, not a {type_}", "number(…)", "FORG0006")
        source = union(element_type(bags[0]), *bags)
        if syntax.name == "avg" and type_ != DOUBLE:
            return self._exact_average(source)
        var = self.fresh(syntax.name, fold_type(syntax.name, source))
        binds: tuple[Bind, ...] = (FoldBind(var, syntax.name, source),)
        if syntax.name != "sum":
            binds = (*binds, TestBind(call("not", call("is_null", var))))
        return [Branch(binds, (), AtomItem(var, type_, is_nan))]

    def _exact_average(self, source: Expr) -> list[Branch]:
        """The sum over the count, to as many places as ``div`` has; nothing of nothing."""
        total, number = self.fresh("sum", fold_type("sum", source)), self.fresh("n", INT)
        folds = (FoldBind(total, "sum", source), FoldBind(number, "count", source))
        there = TestBind(call("!=", number, const(0)))
        average = call("ratio", total, number, const(38), const(18))
        return [Branch((*folds, there), (), AtomItem(average, DECIMAL))]

    def _distinct(self, syntax: CallExpr, variables: Variables) -> list[Branch]:
        """``v ← exists({atom I | G}), k := min({id | G, [atom I == v]})``: in the order of the first occurrences."""
        self.arity(syntax, 1)

        def again() -> list[Branch]:
            return self.sequence(syntax.arguments[0], variables)

        found = again()
        types = {self.atom(branch.item, syntax.at)[1] for branch in found}
        if not any(branch.is_many for branch in found) and len(found) <= 1:
            return [self._data(branch, syntax) for branch in found]
        if len(types) != 1 or BOOLEAN in types:
            self.refuse(syntax.at, "distinct values of several types are not supported", "string(…) of each")
        bags = [build(branch.binds, Sing(self.atom(branch.item)[0])) for branch in found]
        values = countwise("exists", union(element_type(bags[0]), *bags))
        value = self.fresh("value", element_type(values))
        places = [self._first_place(branch, value, syntax) for branch in again()]
        source = union(element_type(places[0]), *places)
        place = self.fresh("place", fold_type("min", source))
        binds = (ForBind(value, values), FoldBind(place, "min", source))
        return [Branch(binds, (TermKey(place),), AtomItem(value, next(iter(types))))]

    def _first_place(self, branch: Branch, value: Term, syntax: CallExpr) -> Expr:
        match branch.order:
            case (TermKey(term, False, _, True),):
                same = TestBind(call("==", self.atom(branch.item)[0], value))
                return build((*branch.binds, same), Sing(certain(term)))
        self.refuse(syntax.at, "distinct values are in the order of the document", "take them of one path")

    # -- texts

    def _text(self, syntax: CallExpr, variables: Variables) -> list[Branch]:
        name, binds, terms = syntax.name, list[Bind](), list[Term]()
        if name == "concat" and len(syntax.arguments) < 2:
            self.refuse(syntax.at, "concat takes two arguments or more", 'concat("a", "b")', "XPST0017")
        if name != "concat":
            self.arity(
                syntax, *((2, 3) if name == "substring" else (1,) if name.endswith("case") else (0, 1))
            )
        texts = syntax.arguments or (ContextExpr(syntax.at),)
        for argument in texts[:1] if name == "substring" else texts:
            more, term = self._as_text(argument, variables, syntax)
            binds += more
            terms.append(term)
        if name == "substring":
            terms += self._bounds(syntax)
        return [Branch(tuple(binds), (), AtomItem(*_text_term(name, terms)))]

    def _as_text(self, argument: Syntax, variables: Variables, syntax: CallExpr) -> tuple[list[Bind], Term]:
        """One text; of nothing, the empty one."""
        branches = self.sequence(argument, variables)
        branches = self.check_count(branches, syntax.at, 0, 1, f"the argument of {syntax.name}")
        binds, term, type_ = self.one(branches, syntax.at)
        if type_ in (INTEGER, BOOLEAN):
            term = (
                call("to_str", term) if type_ == INTEGER else call("if", term, const("true"), const("false"))
            )
        elif type_ == DATE:
            term = call("to_text", term)
        elif type_ not in TEXTS:
            self.refuse(
                syntax.at, f"the text of a {type_} is not supported here", "write it in a constructor"
            )
        return binds, certain(term)

    def _bounds(self, syntax: CallExpr) -> list[Term]:
        numbers = [each.value for each in syntax.arguments[1:] if isinstance(each, LiteralExpr)]
        whole = [number for number in numbers if isinstance(number, int)]
        if len(whole) != len(syntax.arguments) - 1 or whole[0] < 1:
            self.refuse(syntax.at, "substring takes literal integers here", "substring($x, 1, 3)")
        return [const(number) for number in (*whole, 1 << 30)[:2]]

    # -- casts and declared functions

    def cast(self, syntax: CastExpr, variables: Variables) -> list[Branch]:
        if syntax.type not in _CASTS:
            self.refuse(
                syntax.at, f"{syntax.type} is not supported", "xs:double, xs:decimal, xs:integer, xs:string"
            )
        branches = self.sequence(syntax.value, variables)
        branches = self.check_count(branches, syntax.at, 0, 1, f"the argument of {syntax.type}")
        return [replace(b, item=self._converted(b, syntax)) for b in branches]

    def _converted(self, branch: Branch, syntax: CastExpr) -> AtomItem:
        term, type_ = self.atom(branch.item, syntax.at)
        wanted = _CASTS[syntax.type] or type_
        if wanted == type_ or (wanted == STRING and type_ == UNTYPED):
            return AtomItem(term, wanted)
        conversion = _CONVERSIONS.get((STRING if type_ == UNTYPED else type_, wanted))
        if conversion is None:
            self.refuse(syntax.at, f"a {type_} as {syntax.type} is not supported", "cast the node itself")
        return AtomItem(conversion(term), wanted)

    def _declared(self, syntax: CallExpr, variables: Variables) -> list[Branch]:
        function = self.module.functions[syntax.name]
        if syntax.name in self.calls:
            self.refuse(
                syntax.at, f"{syntax.name} calls itself", "recursion has no bound: write the steps, or use //"
            )
        self.arity(syntax, len(function.parameters))
        inner: dict[str, Later] = {}
        for (name, type_), argument in zip(function.parameters, syntax.arguments, strict=True):
            given = argument if type_ is None else CastExpr(type_, argument, syntax.at)
            inner[name] = Later(given, variables)
        self.calls.append(syntax.name)
        try:
            return self.sequence(function.body, inner)
        finally:
            self.calls.pop()


def _no_number(text: Term) -> Term:
    """Whether a text spells no number; the words for infinity are others than in SQL."""
    word = call("trim", text, const(" \t\r\n"))
    infinite = call("among", word, const("INF"), const("-INF"), const("+INF"))
    other_word = call("and", call("contains", call("lower", text), const("i")), call("not", infinite))
    return call("or", call("no_read_float", text), other_word)


def _text_term(name: str, terms: Sequence[Term]) -> tuple[Term, str]:
    match name:
        case "string-length":
            return call("length", terms[0]), INTEGER
        case "upper-case" | "lower-case":
            return call(name.removesuffix("-case"), terms[0]), STRING
        case "substring":
            return call("substring", *terms), STRING
    found = terms[0]
    for term in terms[1:]:
        found = call("+", found, term)
    return found, STRING


_CONVERSIONS: dict[tuple[str, str], Callable[[Term], Term]] = {
    (STRING, DOUBLE): lambda term: call("read_float", term),
    (STRING, DECIMAL): lambda term: call("read_decimal", term, const(38), const(18)),
    (STRING, INTEGER): lambda term: call("read_int", term),
    (INTEGER, DOUBLE): lambda term: call("to_float", term),
    (DECIMAL, DOUBLE): lambda term: call("to_float", term),
    (INTEGER, DECIMAL): lambda term: call("to_decimal", term, const(38), const(0)),
    (INTEGER, STRING): lambda term: call("to_str", term),
    (STRING, UNTYPED): lambda term: term,
    (STRING, DATE): lambda term: as_moment(term, DATE),
    (STRING, DATETIME): lambda term: as_moment(term, DATETIME),
    (DATETIME, DATE): lambda term: call("to_date", term),
    (DATE, STRING): lambda term: call("to_text", term),
}
