"""What is known while a query is translated: its text, its documents, the tables it has asked for, and its scope.

Cardinalities are checked by queries of their own: ``zero-or-one($x/p)`` adds one that holds a row for every ``$x``
with two, and a change that would give it a row is refused, as XQuery raises an error there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple, NoReturn

from nestling.calculus.build import call, const
from nestling.calculus.terms import Call, Const, Expr, Field, Relation, Sing, Term, Var
from nestling.calculus.traverse import Names, free_vars
from nestling.calculus.types import INT, Bag, Record, Scalar, Type
from nestling.errors import QueryError
from nestling.frontend.xquery.branches import (
    Bind,
    Branch,
    FoldBind,
    ForBind,
    Item,
    NodeItem,
    PlaceKey,
    TableDocument,
    TestBind,
    Truth,
    build,
    column_type,
    row_type,
    units,
)
from nestling.frontend.xquery.scan import refusal
from nestling.frontend.xquery.syntax import ModuleSyntax, Syntax
from nestling.xml.patterns import Navigation

#: Tables without columns, and the columns that were asked for.
Asked = dict[Navigation, set[str]]


@dataclass(frozen=True, slots=True)
class CardinalityCheck:
    """A query that must stay empty, and what it means if it does not."""

    query: Expr
    message: str


class Later(NamedTuple):
    """An expression with the variables that it sees: what a ``let`` binds."""

    expression: Syntax
    variables: Variables


class Given(NamedTuple):
    """Branches, made anew for each use: what a variable is after ``group by``."""

    make: Callable[[], list[Branch]]


Variables = Mapping[str, "Item | Later | Given"]


class TranslationContext:
    """The state of one translation."""

    def __init__(
        self,
        module: ModuleSyntax,
        documents: Sequence[str],
        context: str | None,
        asked: Asked,
        tables: Sequence[TableDocument] = (),
    ) -> None:
        self.table_documents = {table.name: table for table in tables}
        self.module, self.documents, self.context, self.asked = module, documents, context, asked
        self.names, self.sites = Names(frozenset()), count(1)
        self.scope: tuple[Bind, ...] = ()
        self.checks: list[CardinalityCheck] = []
        self.calls: list[str] = []
        self.collections: dict[str, None] = {}
        #: Conditions on aggregates alone: these, and a test of them.
        self.lifted: dict[Truth, tuple[tuple[FoldBind, ...], Term]] = {}

    def refuse(self, at: int, what: str, hint: str = "", code: str = "") -> NoReturn:
        raise self.error(at, what, hint, code)

    def error(self, at: int, what: str, hint: str = "", code: str = "") -> QueryError:
        return refusal(self.module.text, at, what, hint, code)

    def fresh(self, name: str, type_: Type) -> Var:
        return Var(self.names.fresh(name), type_)

    @contextmanager
    def within(self, binds: Sequence[Bind]) -> Iterator[None]:
        """What is translated in the block is evaluated under ``binds``."""
        before = self.scope
        self.scope = (*before, *binds)
        try:
            yield
        finally:
            self.scope = before

    # -- documents and tables

    def document(self, at: int) -> str:
        """The document that ``/`` means."""
        if self.context is not None:
            return self.context
        if len(self.documents) != 1:
            known = ", ".join(self.documents) or "none yet"
            self.refuse(at, "which document is /?", f'doc("name")/…; there are {known}', "XPDY0002")
        return self.documents[0]

    def table(self, table: Navigation) -> Relation:
        """A navigation table with the columns that are known to be needed."""
        columns = self.asked.setdefault(table, set())
        full = replace(table, columns=tuple(sorted(columns)))
        return Relation(full.name, Bag(row_type(full)))

    def column(self, item: NodeItem, name: str) -> Term:
        """A column of a node; the first time it is asked for, a placeholder: the translation is then done again."""
        self.asked.setdefault(item.table, set()).add(name)
        assert isinstance(item.row.type, Record)
        if name in item.row.type.names:
            return Field(item.row, name)
        type_ = column_type(name)
        return Const(0, INT) if type_ == INT else Const("", type_)

    # -- cardinalities

    def check_count(
        self, branches: list[Branch], at: int, least: int, most: int | None, what: str
    ) -> list[Branch]:
        """``branches``, whose number of items is checked to be within bounds where that is not seen from the query."""
        places = {b.order[0].number for b in branches if b.order and isinstance(b.order[0], PlaceKey)}
        if len(places) > 1 and most is not None and not any(branch.binds for branch in branches):
            self.refuse(at, f"{what} has several items", "write one of them", "XPTY0004")
        is_bounded = most is None or (len(places) <= 1 and not any(branch.is_many for branch in branches))
        is_there = not least or any(not branch.binds for branch in branches)
        if not is_bounded or not is_there:
            self._check(branches, at, least, most, what)
        if most is None or len(branches) > 1:
            return branches
        return [replace(branch, is_single=True) for branch in branches]

    def _check(self, branches: Sequence[Branch], at: int, least: int, most: int | None, what: str) -> None:
        folds = [(self.fresh("n", INT), branch) for branch in branches]
        binds = [FoldBind(var, "count", units(branch)) for var, branch in folds]
        total: Term = const(0)
        for number, (var, _) in enumerate(folds):
            total = call("+", total, var) if number else var
        bad: Call = call("<", total, const(least))
        if most is not None:
            too_many = call(">", total, const(most))
            bad = call("or", bad, too_many) if least else too_many
        query = build(self._needed((*binds, TestBind(bad))), Sing(const(1)))
        span = self.error(at, what).at
        assert span is not None
        bound = f"{least} or more" if most is None else f"at most {most}" if not least else f"exactly {least}"
        place = f"line {span.line}: {span.text.strip()}"
        self.checks.append(CardinalityCheck(query, f"{what} must have {bound} ({place})"))

    def _needed(self, binds: Sequence[Bind]) -> list[Bind]:
        """``binds`` after those of the scope that they depend on."""
        needed = set[str]().union(*map(_used, binds))
        joins = [_used(bind) for bind in self.scope if isinstance(bind, TestBind) and _is_join(bind)]
        size = -1
        while size != len(needed):
            size = len(needed)
            needed = needed.union(*(join for join in joins if join & needed))
            needed = needed.union(*(_used(bind) for bind in self.scope if _binds(bind) & needed))
        return [*(b for b in self.scope if (_binds(b) or _used(b)) <= needed), *binds]


def _used(bind: Bind) -> set[str]:
    """The variables that a bind depends on."""
    return set(free_vars(build([bind], Sing(const(1)))))


def _binds(bind: Bind) -> set[str]:
    """The variable that it binds."""
    return {bind.var.name} if isinstance(bind, ForBind | FoldBind) else set()


def _is_join(bind: TestBind) -> bool:
    return isinstance(bind.test, Call) and bind.test.function == "=="


def scalar_name(type_: Type) -> str:
    """The name of a scalar type."""
    assert isinstance(type_, Scalar)
    return type_.name
