"""FLWOR → branches: generators in turn, each with its order; conditions, keys of order and groups.

::

    for $x in e         β ∈ ⟦e⟧: ⟨G β.G; K β.K⟩, $x := β.I
    at $i               i := count({⟨⟩ | G', [K' <= K]}) of a fresh copy
    where c             [c]
    group by $k := e    g ← exists({⟨k: one(e)⟩ | G}),  K := min({K | G, [one(e) == g.k]}): in the order of the first of
                        each group; a variable from before is then what it is in all tuples with one(e) == g.k
    order by e          one(e), before K
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias, assert_never

from nestling.calculus.build import call, conjunction, const, countwise, union
from nestling.calculus.terms import Field, Sing, Term, Tuple
from nestling.calculus.types import INT, STR
from nestling.calculus.typing import element_type, fold_type, term_type
from nestling.frontend.xquery.branches import (
    INTEGER,
    STRING,
    UNTYPED,
    AtomItem,
    Bind,
    Branch,
    FoldBind,
    ForBind,
    Key,
    PlaceKey,
    TermKey,
    TestBind,
    build,
)
from nestling.frontend.xquery.context import Given, Later, Variables
from nestling.frontend.xquery.functions import FunctionTranslator
from nestling.frontend.xquery.syntax import (
    Clause,
    ForClause,
    GroupClause,
    LetClause,
    OrderClause,
    Syntax,
    VariableExpr,
    WhereClause,
)
from nestling.frontend.xquery.values import certain, is_nullable

#: What is made of each tuple.
Result: TypeAlias = "Syntax | Callable[[Variables], list[Branch]]"


class FlworTranslator(FunctionTranslator):
    """Translates FLWOR expressions."""

    def flwor(self, clauses: Sequence[Clause], result: Result, variables: Variables) -> list[Branch]:
        groups = [number for number, clause in enumerate(clauses) if isinstance(clause, GroupClause)]
        if groups:
            return self._grouped(clauses, groups[-1], result, variables)
        return self._clauses(list(clauses), result, variables, (), ())

    def _clauses(
        self,
        clauses: list[Clause],
        result: Result,
        variables: Variables,
        order: tuple[Key, ...],
        keys: tuple[Key, ...],
    ) -> list[Branch]:
        """The branches of a FLWOR; ``order`` is that of the tuples so far, ``keys`` those of ``order by``."""
        if not clauses:
            found = result(variables) if callable(result) else self.sequence(result, variables)
            return [Branch(b.binds, (*keys, *order, *b.order), b.item, b.is_distinct) for b in found]
        first, *rest = clauses
        match first:
            case LetClause(name, value):
                return self._clauses(rest, result, {**variables, name: Later(value, variables)}, order, keys)
            case WhereClause(test):
                return self._under(lambda: self.guards(test, variables), rest, result, variables, order, keys)
            case OrderClause():
                more: list[TermKey] = []
                binds = self._order(first, variables, more)
                with self.within(binds):
                    found = self._clauses(rest, result, variables, order, (*keys, *more))
                return [branch.after(*binds) for branch in found]
            case ForClause():
                return self._for(first, rest, result, variables, order, keys)
            case GroupClause():
                raise AssertionError(first)  # ``flwor`` takes it out
            case _:
                assert_never(first)

    def _under(
        self,
        guards: Callable[[], tuple[Bind, ...]],
        rest: list[Clause],
        result: Result,
        variables: Variables,
        order: tuple[Key, ...],
        keys: tuple[Key, ...],
    ) -> list[Branch]:
        binds = guards()
        with self.within(binds):
            found = self._clauses(rest, result, variables, order, keys)
        # Each branch has the condition with variables of its own.
        return [branch.after(*(binds if not number else guards())) for number, branch in enumerate(found)]

    def _order(self, clause: OrderClause, variables: Variables, keys: list[TermKey]) -> tuple[Bind, ...]:
        binds: list[Bind] = []
        for key in clause.keys:
            branches = self.sequence(key.key, variables)
            branches = self.check_count(branches, clause.at, 0, 1, "a key of order by")
            more, term, _ = self.one(branches, clause.at)
            binds += more
            keys.append(TermKey(term, key.is_descending, key.empty_greatest, False))
        return tuple(binds)

    def _for(
        self,
        clause: ForClause,
        rest: list[Clause],
        result: Result,
        variables: Variables,
        order: tuple[Key, ...],
        keys: tuple[Key, ...],
    ) -> list[Branch]:
        found: list[Branch] = []
        source = self.sequence(clause.source, variables)
        for branch in source:
            inner = {**variables, clause.name: branch.item}
            binds = branch.binds
            if clause.position is not None:
                bind = self._position(clause, source, branch, variables)
                inner[clause.position] = AtomItem(bind.var, INTEGER)
                binds = (*binds, bind)
            with self.within(binds):
                for each in self._clauses(rest, result, inner, (*order, *branch.order), keys):
                    found.append(Branch((*binds, *each.binds), each.order, each.item, False))
        is_plain = (
            len(found) == 1 and not rest and isinstance(result, VariableExpr) and result.name == clause.name
        )
        return [replace(found[0], is_distinct=source[0].is_distinct)] if is_plain else found

    def _position(
        self, clause: ForClause, source: list[Branch], branch: Branch, variables: Variables
    ) -> FoldBind:
        """``i := count`` of the items up to this one."""
        match source, branch.order:
            case [_], (TermKey(term, False, _, True),):
                [other] = self.sequence(clause.source, variables)
                assert isinstance(other.order[0], TermKey)
                upto = TestBind(call("<=", other.order[0].term, term))
                return FoldBind(self.fresh("at", INT), "count", build((*other.binds, upto), Sing(Tuple(()))))
        self.refuse(clause.at, "at counts the nodes of one path", "for $x at $i in /a/b")

    # -- groups

    def _grouped(
        self, clauses: Sequence[Clause], place: int, result: Result, variables: Variables
    ) -> list[Branch]:
        before, rest = clauses[:place], list(clauses[place + 1 :])
        clause = clauses[place]
        assert isinstance(clause, GroupClause)
        types: list[dict[str, None]] = [{} for _ in clause.keys]

        def tuples() -> list[Branch]:
            return self.flwor(before, lambda inner: [self._keys(clause, inner, types)], variables)

        found = tuples()
        if not found:
            return []
        if any(len(each) > 1 for each in types):
            self.refuse(clause.at, "a key of group by has several types", "string(…) of each", "XPTY0004")
        bags = [build(branch.binds, Sing(_term(branch))) for branch in found]
        groups = countwise("exists", union(element_type(bags[0]), *bags))
        group = self.fresh("group", element_type(groups))
        places = [
            build((*b.binds, TestBind(_same(b, group))), Sing(self._place(b.order, clause.at)))
            for b in tuples()
        ]
        source = union(element_type(places[0]), *places)
        first = self.fresh("place", fold_type("min", source))
        binds: tuple[Bind, ...] = (ForBind(group, groups), FoldBind(first, "min", source))
        inner = {**variables}
        for name in _bound(before):
            inner[name] = Given(self._members(before, clause, name, group, types, variables))
        for number, (name, _) in enumerate(clause.keys):
            inner[name] = self._key(Field(group, f"k{number}"), next(iter(types[number])))
        with self.within(binds):
            found = self._clauses(rest, result, inner, (TermKey(first),), ())
        return [branch.after(*binds) for branch in found]

    def _keys(self, clause: GroupClause, variables: Variables, types: list[dict[str, None]]) -> Branch:
        """The keys of one tuple, as a record."""
        binds, fields = list[Bind](), list[tuple[str, Term]]()
        for number, (_, key) in enumerate(clause.keys):
            branches = self.sequence(key, variables)
            branches = self.check_count(branches, clause.at, 0, 1, "a key of group by")
            more, term, type_ = self.one(branches, clause.at)
            types[number][STRING if type_ == UNTYPED else type_] = None
            binds += more
            fields.append((f"k{number}", term))
        return Branch(tuple(binds), (), AtomItem(Tuple(tuple(fields)), STRING))

    def _key(self, term: Term, type_: str) -> AtomItem | Given:
        """A key as what its variable is: nothing, where it is null."""
        item = AtomItem(term, type_)
        if not is_nullable(term):
            return item
        there = TestBind(call("not", call("is_null", term)))
        return Given(lambda: [Branch((there,), (), item)])

    def _members(
        self,
        clauses: Sequence[Clause],
        clause: GroupClause,
        name: str,
        group: Term,
        types: list[dict[str, None]],
        variables: Variables,
    ) -> Callable[[], list[Branch]]:
        """What ``$name`` is in the tuples of a group, one after the other."""

        def values(inner: Variables) -> list[Branch]:
            keys = self._keys(clause, inner, types)
            binds = (*keys.binds, TestBind(_same(keys, group)))
            with self.within(binds):
                return [
                    branch.after(*binds) for branch in self.sequence(VariableExpr(name, clause.at), inner)
                ]

        def members() -> list[Branch]:
            found = self.flwor(clauses, values, variables)
            sources = [each for each in clauses if isinstance(each, ForClause)]
            if len(sources) > 1 or clauses[0] is not sources[0] or sources[0].name != name:
                return found
            is_distinct = all(b.is_distinct for b in self.sequence(sources[0].source, variables))
            return [replace(branch, is_distinct=is_distinct) for branch in found]

        return members

    def _place(self, order: Sequence[Key], at: int) -> Term:
        """An order as one text that sorts as it does: keys of nodes, parted by what sorts below all their signs."""
        found: Term = const("")
        for number, key in enumerate(order):
            if isinstance(key, TermKey) and not (key.is_identity and not key.is_descending):
                self.refuse(at, "order by before group by is not supported", "write it after group by")
            part = const(f"{key.number:09}") if isinstance(key, PlaceKey) else certain(key.term)
            if len(order) > 1 and term_type(part) != STR:
                self.refuse(
                    at, "groups of rows of several sources are not supported", "group the rows of one table"
                )
            found = part if not number else call("+", call("+", found, const(" ")), part)
        return found


def _term(branch: Branch) -> Tuple:
    assert isinstance(branch.item, AtomItem)
    assert isinstance(branch.item.term, Tuple)
    return branch.item.term


def _same(branch: Branch, group: Term) -> Term:
    """Whether the keys of a tuple are those of a group; two that are empty are the same."""
    return conjunction([call("==", value, Field(group, name)) for name, value in _term(branch).fields])


def _bound(clauses: Sequence[Clause]) -> list[str]:
    """The variables that clauses bind."""
    found: dict[str, None] = {}
    for clause in clauses:
        if isinstance(clause, LetClause | ForClause):
            found[clause.name] = None
        if isinstance(clause, ForClause) and clause.position is not None:
            found[clause.position] = None
        if isinstance(clause, GroupClause):
            found |= dict.fromkeys(name for name, _ in clause.keys)
    return list(found)
