"""OQL text to its tree: recursive descent, one function per rule of the grammar.

::

    program   = { define | undefine } query [";"]
    query     = select | expr
    select    = "select" ["distinct"] ("*" | proj {"," proj}) "from" iter {"," iter} ["where" expr]
                ["group" "by" proj {"," proj} ["having" expr]] ["order" "by" expr ["asc"|"desc"] {"," …}]
    proj      = name ":" query | query [["as"] name]
    iter      = name "in" expr | name "as" class "in" expr | expr [["as"] name]
    expr      = orelse {"or" orelse}            orelse  = and {"orelse" and}
    and       = andthen {"and" andthen}         andthen = not {"andthen" not}
    not       = "not" not | "for" "all" name "in" equality ":" not | "exists" name "in" equality ":" not | equality
    equality  = rel { ("="|"!="|"<>") ["all"|"any"|"some"] rel | ["not"] "like" rel | ["not"] "in" rel
                    | ["not"] "between" add "and" add | "is" ["not"] "null" }
    rel       = add { ("<"|">"|"<="|">=") ["all"|"any"|"some"] add }
    add       = mul { ("+"|"-"|"||"|"union"|"except") mul }
    mul       = inx { ("*"|"/"|"mod"|"intersect") inx }      inx = unary ["in" unary]
    unary     = ("+"|"-"|"abs") unary | "(" class ")" unary | post
    post      = prim { ("."|"->") name [args] | "[" expr [":" expr] "]" }

Words are keywords where the grammar asks for one: ``order`` before ``by``, ``count`` before ``(``; behind a dot every
word is a name. ``(name) x`` is a cast only where ``name`` is a class.
"""

from __future__ import annotations

from collections.abc import Collection

from nestling.depth import room
from nestling.errors import QueryError
from nestling.frontend.oql.expressions import OqlExpressions
from nestling.frontend.oql.tree import (
    DefineQuery,
    FromClause,
    OqlProgram,
    Projection,
    Query,
    Select,
    SortKey,
    UndefineQuery,
)


def parse(text: str, classes: Collection[str] = ()) -> OqlProgram:
    """The tree of ``text``; any text that is no OQL raises ``QueryError``.

    >>> parse("select o.no from o in orders").query.projections
    (Projection(label=None, query=Dot(base=Name(text='o'), name='no')),)
    """
    try:
        with room():
            return _OqlParser(text, classes).program()
    except RecursionError:
        raise QueryError("the query is nested too deeply", hint="define parts of it") from None


class _OqlParser(OqlExpressions):
    """Queries: definitions, and ``select``."""

    def program(self) -> OqlProgram:
        definitions: list[DefineQuery | UndefineQuery] = []
        while self.here.is_word("define", "undefine"):
            definitions.append(self.definition())
            self.expect_sign(";", "a definition ends with ;")
        query = self.query()
        self.sign(";")
        if self.here.text:
            raise self.error(*self._unexpected())
        return OqlProgram(tuple(definitions), query, (0, len(self.text)))

    def _unexpected(self) -> tuple[str, str]:
        """What to say of a token that nothing takes."""
        before = self.tokens[self.place - 1] if self.place else self.here
        if self.place == 1 and before.is_word("import"):
            return "there are no packages to import from", "write the name of the table or view itself"
        if before.is_sign(")") and self.place > 2 and self.tokens[self.place - 3].is_sign("("):
            return f"{self.here.text} is not expected here", f"a cast names a class: {self._known_classes()}"
        return f"{self.here.text} is not expected here", "write and, or, a comma or an operator before it"

    def _known_classes(self) -> str:
        return ", ".join(sorted(self.classes)[:5]) or "there is none"

    def definition(self) -> DefineQuery | UndefineQuery:
        start = self.here.start
        if self.word("undefine"):
            self.word("query")
            return UndefineQuery(self.name(), self.since(start))
        self.expect_word("define")
        if self.here.is_word("query") and not self.ahead(1).is_word("as") and not self.ahead(1).is_sign("("):
            self.place += 1
        name, parameters = self.name(), list[str]()
        if self.sign("("):
            while not self.sign(")"):
                one = self.name("a parameter")
                # A type before it is read and says nothing: values have types of their own.
                parameters.append(self.name() if self.here.is_named else one)
                if not self.here.is_sign(")"):
                    self.expect_sign(",")
        self.expect_word("as")
        return DefineQuery(name, tuple(parameters), self.query(), self.since(start))

    def query(self) -> Query:
        return self.select() if self.here.is_word("select") else self.expr()

    def select(self) -> Query:
        start = self.here.start
        self.expect_word("select")
        distinct = bool(self.word("distinct"))
        projections = () if self.sign("*") else self.several(self.projection)
        self.expect_word("from", "select … from x in …")
        clauses = self.several(self.from_clause)
        where = self.expr() if self.word("where") else None
        groups: tuple[Projection, ...] = ()
        having = None
        if self.here.is_word("group") and self.ahead(1).is_word("by"):
            self.place += 2
            groups = self.several(self.projection)
            having = self.expr() if self.word("having") else None
        order: tuple[SortKey, ...] = ()
        if self.here.is_word("order") and self.ahead(1).is_word("by"):
            self.place += 2
            order = self.several(self.sort_key)
        return Select(distinct, projections, clauses, where, groups, having, order, self.since(start))

    def projection(self) -> Projection:
        start = self.here.start
        if self.here.is_named and self.ahead(1).is_sign(":"):
            label = self.any_word("a label")
            self.place += 1
            return Projection(label, self.query(), self.since(start))
        query = self.query()
        return Projection(self.alias(), query, self.since(start))

    def alias(self) -> str | None:
        """``[as] name`` behind an expression."""
        if self.word("as"):
            return self.any_word("a name")
        return self.name() if self.is_name(self.here, self.ahead(1)) else None

    def sort_key(self) -> SortKey:
        start = self.here.start
        query = self.expr()
        return SortKey(query, self.word("asc", "desc") == "desc", self.since(start))

    def from_clause(self) -> FromClause:
        start = self.here.start
        if self.here.is_named and self.ahead(1).is_word("in"):
            name = self.name("a variable")
            self.place += 1
            return FromClause(name, None, self.expr(), self.since(start))
        if self.here.is_named and self.ahead(1).is_word("as") and self.ahead(3).is_word("in"):
            name = self.name("a variable")
            self.place += 1
            of = self.any_word("a class")
            self.place += 1
            return FromClause(name, of, self.expr(), self.since(start))
        collection = self.expr()
        return FromClause(self.alias(), None, collection, self.since(start))
