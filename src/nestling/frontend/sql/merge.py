"""MERGE INTO target USING source ON … WHEN …: rows that change, go and come.

Of the clauses for a pair of rows, or for a row without a partner, the first whose condition is true applies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from nestling.calculus.build import FALSE, call, conjunction, empty, for_, union
from nestling.calculus.terms import Expr, Field, Sing, Term
from nestling.calculus.types import Record
from nestling.frontend.sql.assign import check_columns, row_of_values, table_of, updated_row
from nestling.frontend.sql.columns import same
from nestling.frontend.sql.conditions import absent, guarded
from nestling.frontend.sql.context import YES, QueryRows, SqlEnv, only, where
from nestling.frontend.sql.convert import condition, is_nullable
from nestling.frontend.sql.joins import columns, source
from nestling.frontend.sql.tables import of_name
from nestling.frontend.values import Row, Value, of_term, singleton


@dataclass(frozen=True)
class Merged:
    """A change of ``table``: pairs of an old and a new row, rows that go, rows that come."""

    table: str
    pairs: Expr
    gone: Expr
    come: Expr


def merged(tree: Any, env: SqlEnv) -> Merged:
    """The change that a MERGE asks for."""
    return _Merge(tree, env).changes()


class _Merge:
    def __init__(self, tree: Any, env: SqlEnv) -> None:
        only(tree, env, "this", "using", "on", "whens", what="MERGE")
        self.tree, self.env = tree, env
        self.name, self.record = table_of(tree.this, env)
        self.rows = QueryRows(of_name(tree.this, env).expr, self.record.names)
        self.target = env.run.var(tree.this.alias or self.name, self.rows.expr)
        self.alias, self.using = source(tree.args["using"], (), env)
        self.source = env.run.var(self.alias, self.using.expr)
        ours = columns(tree.this.alias or self.name, self.rows, self.target)
        theirs = columns(self.alias, self.using, self.source)
        self.both, self.ours, self.theirs = (env.inside(scope) for scope in ((*ours, *theirs), ours, theirs))

    def changes(self) -> Merged:
        whens = list(self.tree.args["whens"].expressions)
        for when in whens:
            only(when, self.env, "matched", "source", "condition", "then", what="WHEN")
        matched = [when for when in whens if when.args.get("matched")]
        orphaned = [w for w in whens if not w.args.get("matched") and w.args.get("source")]
        new = [w for w in whens if not w.args.get("matched") and not w.args.get("source")]
        pair = Record((("old", self.record), ("new", self.record)))
        updates = [*self._each(matched, self._pairs, self.both, exp.Update),
                   *self._each(orphaned, self._orphans, self.ours, exp.Update)]  # fmt: skip
        deletes = [*self._each(matched, self._pairs, self.both, exp.Var),
                   *self._each(orphaned, self._orphans, self.ours, exp.Var)]  # fmt: skip
        inserts = self._each(new, self._lonely, self.theirs, exp.Insert)
        known = len(updates) + len(deletes) + len(inserts)
        if known != len(whens):
            hint = "WHEN MATCHED updates or deletes, WHEN NOT MATCHED inserts"
            raise self.env.error(self.tree.args["whens"], "this clause of MERGE is not supported", hint)
        return Merged(
            self.name,
            union(pair, *updates) if updates else empty(pair),
            union(self.record, *deletes) if deletes else empty(self.record),
            union(self.record, *inserts) if inserts else empty(self.record),
        )

    def _each(self, whens: list[Any], loop: Callable[[Any], Expr], env: SqlEnv, kind: Any) -> list[Expr]:
        """The rows of each clause that does what ``kind`` says, where no clause before it applies."""
        wanted = [(i, when) for i, when in enumerate(whens) if isinstance(when.args["then"], kind)]
        return [self._rows(loop, self._applied(whens, i, when, env)) for i, when in wanted]

    def _rows(self, loop: Callable[[Any], Expr], body: Callable[[], Expr]) -> Expr:
        return self.env.run.enclosed(lambda: loop(body))

    def _applied(self, whens: list[Any], i: int, when: Any, env: SqlEnv) -> Callable[[], Expr]:
        def body() -> Expr:
            tests: list[Term] = [call("not", _holds(other, env)) for other in whens[:i]]
            tests += [_holds(when, env)] if when.args.get("condition") is not None else []
            found = self._row(when.args["then"], env)
            return where(conjunction(tests), found) if tests else found

        return lambda: self.env.run.enclosed(body)

    def _row(self, then: Any, env: SqlEnv) -> Expr:
        site = self.env.run.site
        match then:
            case exp.Insert():
                return singleton(row_of_values(self.record, self._given(then, env), then, self.env), site)
            case exp.Update():
                sets = self._sets(then)
                new = updated_row(self.record, sets, lambda c: of_term(Field(self.target, c)), env)
                return singleton(Row((("old", of_term(self.target)), ("new", new))), site)
            case _ if str(then.this).upper() == "DELETE":
                return Sing(self.target)
        raise self.env.error(
            then, "this clause of MERGE is not supported", "write UPDATE SET …, DELETE or INSERT"
        )

    def _sets(self, then: Any) -> list[Any]:
        if any(isinstance(part, exp.Star) for part in then.expressions):
            names = [c for c in self.record.names if any(same(c, other) for other in self.using.names)]
            return [exp.EQ(this=exp.column(c), expression=exp.column(c, self.alias)) for c in names]
        check_columns([part.this.name for part in then.expressions], self.name, self.record, then, self.env)
        return list(then.expressions)

    def _given(self, then: Any, env: SqlEnv) -> dict[str, Value]:
        if isinstance(then.this, exp.Star):
            names = [c for c in self.record.names if any(same(c, other) for other in self.using.names)]
            return {c.lower(): env.value(exp.column(c, self.alias)) for c in names}
        names = (
            [part.name for part in then.this.expressions]
            if then.this is not None
            else list(self.record.names)
        )
        check_columns(names, self.name, self.record, then, self.env)
        values = then.expression.expressions if isinstance(then.expression, exp.Tuple) else [then.expression]
        if len(values) != len(names):
            raise self.env.error(then, f"{len(values)} values are given to {len(names)} columns")
        return {name.lower(): env.value(part) for name, part in zip(names, values, strict=True)}

    def _pairs(self, body: Callable[[], Expr]) -> Expr:
        inner = self.env.run.enclosed(lambda: guarded(self.tree.args["on"], self.both, lambda _: body()))
        return for_(self.target, self.rows.expr, for_(self.source, self.using.expr, inner))

    def _lonely(self, body: Callable[[], Expr]) -> Expr:
        """For each row of the source that has no partner."""
        partner = self.env.run.enclosed(lambda: guarded(self.tree.args["on"], self.both, lambda _: YES))
        partners = for_(self.target, self.rows.expr, partner)
        return for_(self.source, self.using.expr, absent(partners, self.env, lambda _: body(), self.tree))

    def _orphans(self, body: Callable[[], Expr]) -> Expr:
        """For each row of the target that has no partner."""
        partner = self.env.run.enclosed(lambda: guarded(self.tree.args["on"], self.both, lambda _: YES))
        partners = for_(self.source, self.using.expr, partner)
        return for_(self.target, self.rows.expr, absent(partners, self.env, lambda _: body(), self.tree))


def _holds(when: Any, env: SqlEnv) -> Term:
    """Whether the condition of a clause is true."""
    if when.args.get("condition") is None:
        return call("not", FALSE)
    test = condition(when.args["condition"], env)
    return call("coalesce", test, FALSE) if is_nullable(test) else test
