"""XQuery text → syntax, by recursive descent.

>>> parse("for $x in /s/a return $x").body.clauses[0].name
'x'
"""

from __future__ import annotations

import re

from nestling.depth import room
from nestling.errors import QueryError, shown
from nestling.frontend.xquery import markup
from nestling.frontend.xquery.clauses import ClauseParser
from nestling.frontend.xquery.steps import NODE_TESTS
from nestling.frontend.xquery.syntax import (
    AttributeExpr,
    CallExpr,
    CastExpr,
    ContextExpr,
    ElementExpr,
    FilterExpr,
    FunctionSyntax,
    LetClause,
    LiteralExpr,
    ModuleSyntax,
    PathExpr,
    SequenceExpr,
    Syntax,
    TextExpr,
    UpdateExpr,
    VariableExpr,
)
from nestling.xml.entries import NAME

_NAME = re.compile(rf"(?:{NAME}:)?{NAME}")


def parse(text: str) -> ModuleSyntax:
    """The syntax of a text; ``QueryError`` with line, caret and advice."""
    with room():
        return Parser(text).module()


class Parser(ClauseParser):
    """Reads expressions by their precedence."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.functions: dict[str, FunctionSyntax] = {}
        self.variables: list[LetClause] = []
        #: The prefixes that the prolog declares.
        self.prolog: set[str] = set()

    # -- the prolog

    def module(self) -> ModuleSyntax:
        if self.words("xquery", "version"):
            self.space()
            self.string()
            if self.words("encoding"):
                self.space()
                self.string()
            self.need(";")
        while self.sees_words("declare"):
            self.words("declare")
            self._declaration()
        if self.sees_words("import") or self.sees_words("module"):
            raise self.error("modules are not supported", "declare the functions in this text")
        body = self.expression()
        self.space()
        if self.i < len(self.text):
            raise self.error("the text goes on after the query", self.instead())
        return ModuleSyntax(self.text, self.functions, tuple(self.variables), body)

    def _declaration(self) -> None:
        at = self.i
        if self.words("function"):
            self._function(at)
        elif self.words("variable"):
            name = self.variable()
            if self.words("as"):
                self.type()
            if self.words("external"):
                raise self.error("an external variable has no value here", "write its value", at=at)
            self.need(":=")
            self.variables.append(LetClause(name, self.single(), at))
        elif self.words("namespace"):
            name = self.name()
            self.need("=")
            self._namespace(name, at)
        elif self.words("default", "element", "namespace"):
            self._namespace("", at)
        elif not (self.words("boundary-space", "strip") or self.words("ordering", "ordered")):
            raise self.error("this declaration is not supported", "leave it out", at=at)
        self.need(";")

    def _namespace(self, prefix: str, at: int) -> None:
        self.space()
        uri = self.space_declared(prefix, self.string(), at)
        if prefix in self.prolog:
            what = f"the prefix {prefix}" if prefix else "the default namespace"
            raise self.error(f"{what} is declared twice", "declare it once", "XQST0033", at)
        self.prolog.add(prefix)
        self.namespaces[prefix] = uri

    def _function(self, at: int) -> None:
        name = self.name()
        if not name.startswith("local:"):
            raise self.error("a declared function is in the namespace local", f"local:{name}", "XQST0045", at)
        self.need("(")
        parameters: list[tuple[str, str | None]] = []
        while not self.eat(")"):
            if parameters:
                self.need(",")
            each = self.variable()
            parameters.append((each, self.type() if self.words("as") else None))
        if self.words("as"):
            self.type()
        self.need("{")
        body = self.expression()
        self.need("}")
        if name in self.functions:
            raise self.error(f"{name} is declared twice", code="XQST0034", at=at)
        self.functions[name] = FunctionSyntax(name, tuple(parameters), body, at)

    def type(self) -> str | None:
        """A sequence type; its name where it is an atomic one."""
        name = self.name()
        if self.eat("("):
            while not self.eat(")"):
                self._past()
        self.space()
        if self.text[self.i : self.i + 1] in ("?", "*", "+"):
            self.i += 1
        return name if name.startswith("xs:") else None

    def _past(self) -> None:
        if self.i >= len(self.text):
            raise self.error("a parenthesis is not closed", "close it: )")
        self.i += 1

    # -- expressions

    def expression(self) -> Syntax:
        at = self.i
        items = [self.single()]
        while self.eat(","):
            items.append(self.single())
        return items[0] if len(items) == 1 else SequenceExpr(tuple(items), at)

    def single(self) -> Syntax:
        self.space()
        with self.deeper():
            return (
                self.flwor() or self.quantified() or self.conditional() or self._update() or self.operators()
            )

    def _update(self) -> Syntax | None:
        at = self.i
        if self.words("insert") and (self.words("nodes") or self.words("node")):
            source = self.single()
            place, target = self._target()
            return UpdateExpr("insert", target, source, place, at=at)
        self.i = at
        if self.words("delete") and (self.words("nodes") or self.words("node")):
            return UpdateExpr("delete", self.single(), at=at)
        self.i = at
        if self.words("replace", "value", "of", "node") or self.words("replace", "node"):
            kind = "replace value" if self.text[at : self.i].split()[1] == "value" else "replace"
            target = self.single()
            self.need_word("with")
            return UpdateExpr(kind, target, self.single(), at=at)
        if self.words("rename", "node"):
            target = self.single()
            self.need_word("as")
            spaces = tuple(self.namespaces.items())
            return UpdateExpr("rename", target, self.single(), namespaces=spaces, at=at)
        self.i = at
        return None

    def _target(self) -> tuple[str, Syntax]:
        if self.words("as"):
            place = "first" if self.words("first") else "last"
            if place == "last":
                self.need_word("last")
            self.need_word("into")
            return place, self.single()
        for word in ("into", "before", "after"):
            if self.words(word):
                return word, self.single()
        raise self.error("expected into, before or after", self.instead())

    # -- primaries

    def postfix(self) -> Syntax:
        at = self.i
        base = self._primary()
        if isinstance(base, PathExpr):
            return base
        predicates = self.predicates()
        if self.text.startswith("(", self.i) and not isinstance(base, ContextExpr):
            raise self.error("a function as a value is not supported", "call it by its name")
        return FilterExpr(base, predicates, at) if predicates else base

    def _primary(self) -> Syntax:
        self.space()
        at, sign = self.i, self.text[self.i : self.i + 1]
        if sign in ("'", '"'):
            return LiteralExpr(self.string(), at)
        if sign == "$":
            return VariableExpr(self.variable(), at)
        if sign == "(":
            return self._parenthesised(at)
        if self.text.startswith("<!--", self.i):
            return markup.comment(self)
        if sign == "<" and self.text[self.i + 1 : self.i + 2] not in ("", " ", "="):
            return markup.element(self)
        if (number := self.number()) is not None:
            return LiteralExpr(number, at)
        if sign == "." and not self.text.startswith("..", self.i):
            self.i += 1
            return ContextExpr(at)
        if sign in ("@", "*", "."):
            return PathExpr(ContextExpr(at), (self.step("child"),), at)
        if not sign or not self.sees_name():
            raise self.error("expected an expression", self.instead())
        return self._constructor(at) or self._call(at) or PathExpr(ContextExpr(at), (self.step("child"),), at)

    def _parenthesised(self, at: int) -> Syntax:
        self.need("(")
        if self.eat(")"):
            return SequenceExpr((), at)
        found = self.expression()
        self.need(")")
        # A step inside parentheses is a sequence of its own: positions after it count all of it.
        return SequenceExpr((found,), at) if isinstance(found, PathExpr) else found

    def _constructor(self, at: int) -> Syntax | None:
        """``element name {…}``, ``attribute name {…}``, ``text {…}``"""
        for word in ("element", "attribute"):
            if self.words(word) and self.sees_name():
                name = self.name()
                if self.eat("{"):
                    return self._made(word, name, at)
            self.i = at
            if self.words(word) and self.eat("{"):
                name = self._static_name(word, at)
                self.need("{")
                return self._made(word, name, at)
            self.i = at
        if self.words("text") and self.eat("{"):
            return TextExpr(self._enclosed(), at)
        self.i = at
        for word in ("document", "comment", "map", "array", "function", "processing-instruction"):
            if self.words(word) and (self.sees("{") or (word == "function" and self.sees("("))):
                raise self.error(f"{word} {{…}} is not supported", "use elements and texts", at=at)
            self.i = at
        return None

    def _made(self, word: str, name: str, at: int) -> Syntax:
        full = self.qualified(name, word == "attribute", at)
        content = self._enclosed()
        if word == "attribute":
            return AttributeExpr(full, content, at)
        return ElementExpr(full, (), (content,), self.own_spaces(full), at)

    def _static_name(self, word: str, at: int) -> str:
        """A computed name that is a literal, and so known from the text."""
        match self._enclosed():
            case LiteralExpr(str(name)) if _NAME.fullmatch(name):
                return name
        raise self.error(
            "a name that is computed from data is not supported", f"{word} name {{…}}", "XQDY0074", at
        )

    def _enclosed(self) -> Syntax:
        at = self.i
        found = SequenceExpr((), at) if self.sees("}") else self.expression()
        self.need("}")
        return found

    def _call(self, at: int) -> Syntax | None:
        name = self.name()
        if self.text.startswith("::", self.i) or name in NODE_TESTS or not self.eat("("):
            self.i = at
            return None
        arguments: list[Syntax] = []
        while not self.eat(")"):
            if arguments:
                self.need(",")
            arguments.append(self.single())
        if name.startswith("xs:"):
            if len(arguments) != 1:
                raise self.error(f"{name} takes one argument", code="XPST0017", at=at)
            return CastExpr(self.atomic(name, at), arguments[0], at)
        return CallExpr(name.removeprefix("fn:"), tuple(arguments), at)


def parsed(text: object) -> ModuleSyntax:
    """``parse`` of what may be no text."""
    if not isinstance(text, str):
        raise QueryError(f"an XQuery is a text, not {shown(text)}", hint='"for $x in … return …"')
    return parse(text)
