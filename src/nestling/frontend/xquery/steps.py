"""Paths: steps, their axes, tests and predicates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

from nestling.frontend.xquery.scan import Scanner
from nestling.frontend.xquery.syntax import PathExpr, PathStep, RootExpr, Syntax
from nestling.xml.entries import XML, space_of

_AXES = (
    "child", "descendant", "descendant-or-self", "self", "attribute", "parent", "following-sibling",
    "preceding-sibling", "ancestor", "ancestor-or-self",
)  # fmt: skip
_OTHER_AXES = ("following", "preceding", "namespace")
#: The prefixes that need no declaration.
KNOWN = {
    "xml": XML,
    "xs": "http://www.w3.org/2001/XMLSchema",
    "xsi": "http://www.w3.org/2001/XMLSchema-instance",
    "fn": "http://www.w3.org/2005/xpath-functions",
    "local": "http://www.w3.org/2005/xquery-local-functions",
}
#: How deep expressions and constructors may nest.
DEEPEST = 100
NODE_TESTS = ("text", "node", "comment", "processing-instruction", "element")


class PathParser(Scanner):
    """Reads paths; what stands inside brackets and at their beginning is read by the whole grammar."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        #: What prefixes stand for here, and those of them that constructors around this place declare.
        self.namespaces: dict[str, str] = dict(KNOWN)
        self.declared: dict[str, str] = {}
        self.levels = 0

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """A level of nesting; there is an end to them."""
        self.levels += 1
        if self.levels > DEEPEST:
            raise self.error("the query is nested too deeply", "name its parts with let")
        try:
            yield
        finally:
            self.levels -= 1

    @abstractmethod
    def expression(self) -> Syntax:
        """What stands inside brackets."""

    @abstractmethod
    def postfix(self) -> Syntax:
        """What a path begins with."""

    def path(self) -> Syntax:
        self.space()
        at = self.i
        if self.eat("//"):
            return self._steps(RootExpr(at), [self.step("//")], at)
        if self.eat("/"):
            self.space()
            sign = self.text[self.i : self.i + 1]
            if self.sees_name() or sign in ("*", "@", ".", "("):
                return self._steps(RootExpr(at), [self.step("child")], at)
            return RootExpr(at)
        return self._steps(self.postfix(), [], at)

    def _steps(self, start: Syntax, steps: list[PathStep], at: int) -> Syntax:
        while True:
            if self.eat("//"):
                steps.append(self.step("//"))
            elif self.eat("/"):
                steps.append(self.step("child"))
            elif steps:
                return PathExpr(start, tuple(steps), at)
            else:
                return start

    def step(self, axis: str) -> PathStep:
        """A step; ``axis`` is what one that names no axis has."""
        self.space()
        at = self.i
        if self.eat(".."):
            return self._tested(axis, "parent", "node()", at)
        if self.eat("."):
            return self._tested(axis, "self", "node()", at)
        if self.eat("@"):
            return self._tested(axis, "attribute", self.test(True), at)
        if self.eat("("):
            return self._alternatives(axis, at)
        for word in (*_AXES, *_OTHER_AXES):
            if self.text.startswith(word + "::", self.i):
                if word in _OTHER_AXES:
                    raise self.error(
                        f"the axis {word} is not supported", "compare places with << and a path", "XPST0010"
                    )
                self.i += len(word) + 2
                return self._tested(axis, word, self.test(word == "attribute"), at)
        if self.text[self.i : self.i + 1] != "*" and not self.sees_name():
            raise self.error("expected a step", self.instead())
        return PathStep(axis, self.test(False), self.predicates(), at)

    def _tested(self, slashes: str, axis: str, test: str, at: int) -> PathStep:
        if slashes == "//" and axis not in ("child", "attribute"):
            raise self.error(f"{axis} after // is not supported", "name the node on the way", at=at)
        if slashes == "//":
            axis = {"child": "//", "attribute": "//@"}.get(axis, axis)
        return PathStep(axis, test, self.predicates(), at)

    def _alternatives(self, axis: str, at: int) -> PathStep:
        tests = [self.test(False)]
        while self.eat("|"):
            tests.append(self.test(False))
        self.need(")")
        return PathStep(axis, "|".join(tests), self.predicates(), at)

    def test(self, is_attribute: bool) -> str:
        """A name test, its namespace resolved, or a test of the kind of node."""
        if self.eat("*"):
            if not self.text.startswith(":", self.i) or self.text.startswith("::", self.i):
                return "*"
            self.i += 1
            return f"*:{self.name()}"
        self.space()
        at = self.i
        name = self.name()
        if self.sees("(") and name not in NODE_TESTS:
            raise self.error(
                f"a call of {name} as a step is not supported", f"write {name}(…) around the path", at=at
            )
        if self.eat("("):
            inside = self.name() if name in ("element", "processing-instruction") and self.sees_name() else ""
            self.need(")")
            if inside and name == "processing-instruction":
                raise self.error(f"{name}(…) is no test of a node here", "text(), node(), comment()", at=at)
            return (inside or "*") if name == "element" else f"{name}()"
        if self.text.startswith(":*", self.i):
            self.i += 2
            return self.expanded(f"{name}:*", is_attribute, at)
        return self.expanded(name, is_attribute, at)

    def expanded(self, name: str, is_attribute: bool, at: int) -> str:
        """A name with the namespace that its prefix stands for."""
        uri, local = self._space(name, is_attribute, at), name.rpartition(":")[2]
        return f"{{{uri}}}{local}" if uri else local

    def qualified(self, name: str, is_attribute: bool, at: int) -> str:
        """The name of what is constructed, with its namespace and its prefix."""
        if name.partition(":")[0] == "xmlns":
            raise self.error(
                f"{name} is no name of what a query makes", 'xmlns:p="…" in an element', "XQDY0044", at
            )
        uri = self._space(name, is_attribute, at)
        return f"{{{uri}}}{name}" if uri else name

    def _space(self, name: str, is_attribute: bool, at: int) -> str:
        prefix, colon, _ = name.rpartition(":")
        if not colon:
            return "" if is_attribute else self.namespaces.get("", "")
        if not self.namespaces.get(prefix):
            raise self.error(
                f"the prefix {prefix} is not declared", f'declare namespace {prefix} = "…";', "XPST0081", at
            )
        return self.namespaces[prefix]

    def space_declared(self, prefix: str, uri: str, at: int) -> str:
        """The namespace that a declaration gives to a prefix, with its white space normalised."""
        uri = " ".join(uri.split())
        if prefix == "xmlns" or (prefix == "xml") != (uri == XML):
            raise self.error(
                f"{prefix or 'the default'} cannot stand for {uri}", "use another prefix", "XQST0070", at
            )
        return uri

    def own_spaces(self, *names: str) -> tuple[tuple[str, str], ...]:
        """The namespaces of an element that is constructed here, with these names."""
        found = self.declared | {prefix: uri for prefix, uri in map(space_of, names) if uri}
        return tuple(sorted(found.items()))

    def predicates(self) -> tuple[Syntax, ...]:
        found: list[Syntax] = []
        while self.eat("["):
            found.append(self.expression())
            self.need("]")
        return tuple(found)
