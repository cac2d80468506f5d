"""A chain of common table expressions: each has a column for every variable that is still needed.

A value that is looked up beside the chain (a sum, an aggregate, a total) is attached to it by an outer join, so
that each step names the chain once: Spark expands a common table expression wherever it is named, and naming the
chain twice would double the work at every step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from nestling.calculus.terms import Term, Var
from nestling.engine.spark import limits
from nestling.engine.spark.relations import Sources, pruned
from nestling.engine.spark.terms import Sql, joins, sql
from nestling.program.batches import is_change
from nestling.program.flat import Bound
from nestling.program.statements import Find, Statement
from nestling.program.traverse import term_vars


@dataclass
class ChainWriter:
    """Writes the statements of one query. ``broadcast``: results of steps are small, and are broadcast.

    ``few``: they are so few that each may meet all entries of a group.
    """

    sources: Sources
    broadcast: bool = True
    ctes: dict[str, str] = field(default_factory=dict)
    few: bool = True

    @property
    def is_met(self) -> bool:
        """Whether what is within bounds is found by comparing all pairs."""
        return self.broadcast and self.few

    def hint(self, *aliases: str) -> str:
        return f"/*+ BROADCAST({', '.join(aliases)}) */ " if self.broadcast else ""

    def join_hint(self, here: int, there: int) -> str:
        """How ``c``, of about so many rows, meets ``a``: the smaller of two is sent to the other, or hashed."""
        if self.broadcast:
            return self.hint("c")
        less = min(here, there)
        if less > limits.MAX_PLANNED_ROWS:
            return ""
        way = "BROADCAST" if less <= limits.MAX_SENT_ROWS else "SHUFFLE_HASH"
        return f"/*+ {way}({'c' if here <= there else 'a'}) */ "

    def cte(self, text: str) -> str:
        """The name of a query as a common table expression; equal queries share a name."""
        return self.ctes.setdefault(text, f"c{len(self.ctes)}")

    def finds_nothing(self, statement: Statement) -> bool:
        """Whether it reads a source without rows."""
        finds = (step.source for step in statement.steps if isinstance(step, Find))
        return any(self.sources.is_empty(source) for source in finds)

    def text(self, body: str) -> str:
        """``body`` with the expressions that it names, as one SQL text."""
        named = ", ".join(f"{name} AS ({text})" for text, name in self.ctes.items())
        return f"WITH {named} {body}" if named else body


class Chain:
    """``scope`` has a column of the last expression for every variable that is still needed."""

    def __init__(self, writer: ChainWriter) -> None:
        self.writer, self.sources = writer, writer.sources
        self.scope: dict[str, Sql] = {}
        self.current = ""
        self.times: list[str] = []  # multiplicities that the statement leaves out, since they are one
        self.columns = 0
        self.origins: dict[str, tuple[str, int]] = {}  # which column of which change a variable comes from
        self.base, self.based = "", frozenset[str]()  # before anything was attached, and its variables
        self.rows = 0  # how many there are so far, about

    def sql(self, term: Term) -> Sql:
        return sql(term, self.scope)

    def hint(self, alias: str) -> str:
        return self.writer.hint(alias)

    def select(
        self, later: Iterable[str], new: Mapping[str, Sql], source: str = "", where: str = "", hint: str = ""
    ) -> None:
        """The next expression: the columns needed ``later``, and ``new`` ones, from where a condition holds."""
        wanted = {*later, *self.times}
        scope = {n: value for n, value in self.scope.items() if n in wanted and n not in new}
        columns = [value.text for value in scope.values()]
        for name, value in new.items():
            self.columns += 1
            scope[name] = Sql(f"x{self.columns}", value.type)
            columns.append(f"{value.text} AS x{self.columns}")
        origin = source or (f"FROM {self.current} c" if self.current else "")
        condition = f" WHERE {where}" if where else ""
        text = f"SELECT {hint}{', '.join(columns) or '1 AS one'} {origin}{condition}"
        self.current, self.scope = self.writer.cte(text), scope

    def rest_here(self) -> None:
        """Start a new expression, so that later look-ups are for the rows found so far."""
        self.base, self.based = self.current, frozenset(self.scope)

    def attach(
        self, found: str, pairs: Sequence[tuple[Sql, Sql]], new: Mapping[str, Sql], later: frozenset[str]
    ) -> None:
        """Attach ``new`` columns from the row of ``found`` that matches each row so far, or nulls."""
        on = " AND ".join(joins(left, right) for left, right in pairs)
        origin = self.current or "(SELECT 1 AS one)"
        self.select(later, new, f"FROM {origin} c LEFT JOIN ({found}) a ON {on or 'true'}")

    def asked(self, columns: Mapping[str, Term], distinct: bool = True) -> str:
        """The values of terms, by name: at least those of the rows so far."""
        texts = ", ".join(f"{self.sql(term).text} AS {name}" for name, term in columns.items())
        rows = self.base if self.base and term_vars(*columns.values()) <= self.based else self.current
        kept = "DISTINCT " if distinct else ""
        return self.writer.cte(f"SELECT {kept}{texts}{f' FROM {rows}' if rows else ''}")

    def groups(self, args: Sequence[Term]) -> str:
        """The values of ``args`` for a semi-join, which may contain duplicates."""
        return self.asked({f"g{i}": arg for i, arg in enumerate(args)}, distinct=False)

    def probes(self, args: Sequence[Term], bounds: Sequence[Bound]) -> str:
        limits = {f"b{i}": bound.term for i, bound in enumerate(bounds)}
        return self.asked({f"g{i}": arg for i, arg in enumerate(args)} | limits)

    def pruned(self, source: str, asked: Mapping[int, Term]) -> str:
        """The rows of a source, pruned by what is ``asked`` for, if that is a column of a small change: at the key by
        which its files are sorted, or at the first after it in that order."""
        rows = self.sources.raw(source)
        if is_change(source):
            return rows
        for place in self.sources.layout(source).in_order(asked):
            term = asked[place]
            origin = self.origins.get(term.name) if isinstance(term, Var) else None
            if origin is not None and (near := self.sources.near(*origin)) is not None:
                return pruned(rows, f"k{place}", near)
        return rows
