"""The maps of a program, and what maintains each.

A view is read by plans over maps, and a map is maintained by statements over maps; both come from the same step:
given the variables that are known (a label's environment, a row that arrived), the rest of a monomial falls
apart into components that share no other variable, and each component is a map of its own (the four rules of
DBToaster's Figure 2). Aggregates and count-wise operators read maps of their own, and pass a change of one on
where it matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nestling.calculus.build import call, const
from nestling.calculus.terms import Const, Term, Var
from nestling.calculus.traverse import Names, walk
from nestling.calculus.types import INT
from nestling.program.flat import (
    Atom,
    Bound,
    Factor,
    Lift,
    Monomial,
    Pointwise,
    Query,
    Test,
    Unnest,
    is_ordered,
)
from nestling.program.signs import can_be_ordered, is_nonnegative, is_positive
from nestling.program.statements import (
    Both,
    Check,
    Combine,
    Each,
    Event,
    Find,
    MapDecl,
    Measure,
    Order,
    Range,
    Statement,
    Step,
    TableDecl,
    Total,
    Where,
)
from nestling.program.steps import binds
from nestling.program.traverse import (
    Parts,
    in_order,
    is_safe,
    parts,
    substitute_term,
)
from nestling.transform.lower.unify import unify
from nestling.transform.plan import Unplannable, plan
from nestling.transform.viewlet.components import Stored as Component
from nestling.transform.viewlet.components import split
from nestling.transform.viewlet.events import replaced, row_deltas, subsets
from nestling.transform.viewlet.handles import Identity, Stored, Weights
from nestling.transform.viewlet.naming import apart, renamed
from nestling.transform.viewlet.references import without_implied
from nestling.transform.viewlet.refusals import in_a_line, unbound
from nestling.transform.viewlet.schedule import TIMES
from nestling.transform.viewlet.storing import BY_KEYS, Storing
from nestling.transform.viewlet.tested import tests_ranges, untested

#: More maps than this for one view: re-evaluate it instead, and say so.
MOST_MAPS = 100


NESTED = ("lift", "count")


class CannotCompile(Exception):
    """A query that no set of maps maintains; it is evaluated by the reference when it is read.

    ``code`` tells in a word what stands in the way.
    """

    UNBOUND, NEGATIVE, TWICE, CAP = "UNBOUND", "NEGATIVE", "TWICE", "CAP"

    def __init__(self, what: str, code: str) -> None:
        super().__init__(what)
        self.code = code


def _is_count(weight: Term) -> bool:
    return isinstance(weight, Const) and bool(weight.value)


@dataclass
class Compiler:
    """The maps so far, and the statements that each table and each map sets off."""

    tables: dict[str, TableDecl]
    known: Mapping[Identity, tuple[Weights, ...]] = field(default_factory=dict)
    wanted: dict[Identity, tuple[Weights, ...]] = field(default_factory=dict)
    maps: dict[str, MapDecl] = field(default_factory=dict)
    by_identity: dict[Identity, list[Stored]] = field(default_factory=dict)
    rows: dict[str, list[Statement]] = field(default_factory=dict)
    events: dict[str, list[tuple[Event, Statement]]] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    most: int = MOST_MAPS
    storing: Storing = BY_KEYS

    def kept(self) -> dict[str, Any]:
        """All that compiling a part of a view adds to, to go back to where the part has no program."""
        lists = {
            name: {key: list(items) for key, items in getattr(self, name).items()}
            for name in ("by_identity", "rows", "events")
        }
        return lists | {"maps": dict(self.maps), "wanted": dict(self.wanted)}

    def fresh(self, like: str) -> str:
        """A name for a variable of a statement, apart from every name that a query can have."""
        return self.names.fresh(f"·{like}")

    def watch(self, name: str, query: Query) -> None:
        """Log what is added to ``query``."""
        if not is_safe(query):
            raise CannotCompile(unbound(query), CannotCompile.UNBOUND)
        self.most = len(self.maps) + MOST_MAPS
        self.maps[name] = MapDecl(name, query, "watch", "it is watched")
        for monomial in query.monomials:
            self.maintain(name, monomial)

    def stored(self, query: Query, role: str, why: str, order_: Order = "") -> Stored:
        """The map that holds ``query``, made if there is none yet, and where in it the query's measures stand."""
        reduced = tuple(without_implied(monomial, self.tables) for monomial in query.monomials)
        query, order = in_order(Query(query.keys, reduced, query.width), bool(order_))
        split_ = parts(query)
        # A nested map is added to late in a trigger and a component early, so the two are never one.
        key = (split_.body, order_, role in NESTED, len(query.keys))
        self.wanted[key] = tuple(dict.fromkeys((*self.wanted.get(key, ()), *split_.measures)))
        for candidate in self.by_identity.get(key, []):
            if set(split_.measures) <= set(candidate.weights):
                return candidate.at(split_.measures, order)
        if not is_safe(query):
            raise CannotCompile(unbound(query), CannotCompile.UNBOUND)
        if not can_be_ordered(query, order_):
            raise CannotCompile(
                f"values in order, of a bag that may have negative counts: {in_a_line(query)}",
                CannotCompile.NEGATIVE,
            )
        if len(self.maps) >= self.most:
            raise CannotCompile(f"it would take more than {MOST_MAPS} maps", CannotCompile.CAP)
        weights = tuple(dict.fromkeys((*self.known.get(key, ()), *split_.measures)))
        return self.make(key, split_, weights, query, role, why).at(split_.measures, order)

    def make(
        self, key: Identity, of: Parts, weights: tuple[Weights, ...], query: Query, role: str, why: str
    ) -> Stored:
        """A new map over the body ``of``, with all the measures that are wanted of it."""
        weights = tuple(sorted(weights, key=lambda measure: not all(_is_count(w) for w in measure)))
        name = self.names.fresh(f"{role.upper()[0]}{len(self.maps)}")
        made = Stored(name, weights)
        self.by_identity.setdefault(key, []).append(made)
        monomials = tuple(
            Monomial(m.keys, tuple(substitute_term(w[i], of.names[i]) for w in weights), m.factors)
            for i, m in enumerate(of.monomials)
        )
        whole = Query(query.keys, monomials, len(weights))
        self.maps[name] = MapDecl(name, whole, role, why, key[1], is_positive(whole))
        for monomial in monomials:
            self.maintain(name, monomial)
        return made

    def maintain(self, target: str, monomial: Monomial) -> None:
        """The statements by which ``monomial`` of ``target`` follows its tables and its nested maps."""
        monomial = apart(monomial, (), self.names)
        for table in dict.fromkeys(f.name for f in monomial.factors if isinstance(f, Atom)):
            for statement in self.row_statements(target, monomial, self.tables[table]):
                if not adds_zero(statement):
                    self.rows.setdefault(table, []).append(statement)
        nested = [f for f in monomial.factors if isinstance(f, Lift | Pointwise)]
        by_map: dict[str, list[Lift | Pointwise]] = {}
        for factor in nested:
            by_map.setdefault(self.nested_map(factor).name, []).append(factor)
        for name, factors in by_map.items():
            self.follow(target, monomial, name, factors)

    def row_statements(self, target: str, monomial: Monomial, table: TableDecl) -> Iterator[Statement]:
        """What a row of ``table`` adds to ``monomial`` of ``target``."""
        for delta in row_deltas(monomial, table, TIMES, self.tables):
            yield self.statement(target, delta, (*table.columns, TIMES), (), "aux")

    def follow(self, target: str, monomial: Monomial, name: str, factors: list[Lift | Pointwise]) -> None:
        """What a change of map ``name`` adds to ``monomial``, which reads it in ``factors``."""
        if self.maps[name].ordered and len(factors) > 1:
            raise CannotCompile("min or max of one bag twice in one condition or row", CannotCompile.TWICE)
        for chosen in subsets(factors):
            event = self.event(name, chosen[0])
            statement = self.passed_on(target, monomial, event, chosen)
            if statement is not None and not adds_zero(statement):
                self.events.setdefault(name, []).append((event, statement))

    def passed_on(
        self, target: str, monomial: Monomial, event: Event, chosen: Sequence[Lift | Pointwise]
    ) -> Statement | None:
        """What ``event`` adds to ``monomial`` where just the ``chosen`` factors change with it."""
        times = [Var(self.fresh("flip" if isinstance(f, Pointwise) else "sign"), INT) for f in chosen]
        matches = [(self.nested_map(f).arranged(f.args), event.keys[: len(f.args)]) for f in chosen]
        tests = [
            Test(call(bound.operator, event.keys[-1], bound.term))
            for factor in chosen
            if isinstance(factor, Lift)
            for bound in factor.bounds
        ]
        computed = frozenset(factor.var.name for factor in chosen if isinstance(factor, Lift))
        # What the factors are read by goes along with the keys, and is renamed as they are.
        carried = (*monomial.keys, *(term for factor in chosen for term in read_by(factor)))
        whole = Monomial(carried, monomial.weights, (*monomial.factors, *tests))
        delta = replaced(whole, chosen, matches, times, computed)
        if delta is None:
            return None
        terms = list(delta.keys[len(monomial.keys) :])
        steps = [
            step
            for factor, var in zip(chosen, times, strict=True)
            for step in self.flipped(factor, event, var, [terms.pop(0) for _ in read_by(factor)])
        ]
        given = (*event.keys, *event.old, *event.new)
        return self.statement(target, delta, given, steps, "aux", len(monomial.keys))

    def event(self, name: str, factor: Lift | Pointwise) -> Event:
        decl = self.maps[name]
        if decl.order == "values" and isinstance(factor, Lift):
            keys = tuple(Var(f"·{name}_k{i}", k.type) for i, k in enumerate(decl.columns[:-1]))
            # Several aggregates may read one map, each with its own before and after.
            read = f"·{name}_{factor.aggregate}"
            old, new = (Var(f"{read}_{when}", factor.var.type) for when in ("old", "new"))
            return Event(keys, (old,), (new,), factor.aggregate)
        keys = tuple(Var(f"·{name}_k{i}", k.type) for i, k in enumerate(decl.columns))
        old_cells = tuple(Var(f"·{name}_old{i}", INT) for i in range(decl.width))
        new_cells = tuple(Var(f"·{name}_new{i}", INT) for i in range(decl.width))
        return Event(keys, old_cells, new_cells)

    def flipped(
        self, factor: Lift | Pointwise, event: Event, times: Var, read_by: Sequence[Term]
    ) -> list[Step]:
        """The steps that turn an event into a change of ``factor``, with ``times`` for what it multiplies by."""
        found = self.nested_map(factor)
        places = (0,) if event.aggregate else found.measures
        new, old = (tuple[Term, ...](cells[i] for i in places) for cells in (event.new, event.old))
        if isinstance(factor, Pointwise):
            return [Combine(times, factor.operator, new, old)]
        if not factor.bounds:
            return [Both(factor.var, times, factor.aggregate, new, old)]
        # One entry changes, and with it the sums over all ranges that it lies in.
        totals, group = self.counts_of(found), read_by[: len(factor.args)]
        bounds = tuple(
            Bound(bound.operator, term)
            for bound, term in zip(factor.bounds, read_by[len(group) :], strict=True)
        )
        before = tuple[Term, ...](totals[i] for i in places)
        after = tuple[Term, ...](
            call("+", total, call("-", n, o)) for total, n, o in zip(before, new, old, strict=True)
        )
        read = Range(found.name, found.arranged(tuple(group)), bounds, totals)
        return [read, Both(factor.var, times, factor.aggregate, after, before)]

    def nested_map(self, factor: Lift | Pointwise) -> Stored:
        if isinstance(factor, Lift):
            order: Order = "sums" if factor.bounds else "values" if is_ordered(factor.aggregate) else ""
            return self.stored(factor.query, "lift", f"{factor.aggregate} reads it", order)
        return self.stored(factor.query, "count", f"{factor.operator} reads it")

    def statement(
        self,
        target: str,
        monomial: Monomial,
        given: tuple[Var, ...],
        before: Sequence[Step],
        role: str,
        arity: int | None = None,
    ) -> Statement:
        """``monomial`` as a loop nest that starts from ``given`` and adds to ``target``.

        The first ``arity`` of its keys are the target's; those behind are used by the steps ``before``.
        """
        found = self.loop_nest(monomial, given, before, role, not target)
        return renamed(replace(found, target=target, keys=found.keys[:arity]), given, self.columns())

    def loop_nest(
        self, monomial: Monomial, given: Sequence[Var], before: Sequence[Step], role: str, is_read: bool
    ) -> Statement:
        """``monomial`` solved from ``given``, under the names it has."""
        known = frozenset(var.name for var in given)
        bound = known | frozenset(var.name for step in before for var in binds(step))
        monomial = without_implied(monomial, self.tables, bound)
        moving = frozenset(s.var.name for s in before if isinstance(s, Both))
        pieces = split(monomial, bound, self.tables, self.storing, moving)
        steps, weights = list(before), list(pieces.weights)
        for component in pieces.stored:
            order: Order = "sums" if component.bounds or component.where else ""
            found = self.stored(component.query, role, component.why, order)
            counts = self.counts_of(found)
            steps.append(self.reading(component, found, counts))
            weights = [
                _times(counts[found.measures[i]], w) for i, w in zip(component.measures, weights, strict=True)
            ]
        for factor in pieces.factors:
            new_steps, count = self.solved(factor, is_read)
            steps += new_steps
            if count is not None:
                weights = [_times(count, weight) for weight in weights]
        keys = {name: table.key for name, table in self.tables.items()}
        try:
            ordered = plan(steps, known, keys)
        except Unplannable as error:
            raise CannotCompile(str(error), CannotCompile.UNBOUND) from error
        return Statement("", monomial.keys, tuple(weights), ordered)

    def columns(self) -> dict[str, Sequence[Var]]:
        """What the columns of every source are called."""
        return {name: decl.columns for name, decl in (self.tables | self.maps).items()}

    def solved(self, factor: Factor, is_read: bool) -> tuple[list[Step], Var | None]:
        """The steps that solve ``factor``, and the multiplicity it contributes."""
        match factor:
            case Test(test):
                return [Check(test)], None
            case Atom(name, args):
                if self.tables[name].key:
                    return [Find(name, args, (), ())], None
                count = Var(self.fresh("n"), INT)
                return [Find(name, args, (), (count,))], count
            case Unnest(bag, pattern):
                count = Var(self.fresh("n"), INT)
                return [Each(bag, pattern, count)], count
            case Lift() if is_read and is_summed_on_reading(factor):
                return [self.total(factor)], None
            case Lift(var, aggregate, _, args, _):
                found = self.nested_map(factor)
                group = found.arranged(args)
                return [Measure(var, aggregate, found.name, group, found.measures, factor.bounds)], None
            case Pointwise() if is_read and is_counted_on_reading(factor):
                return self.counted(factor)
            case Pointwise(operator, _, args):
                found = self.nested_map(factor)
                counts = self.counts_of(found)
                value = Var(self.fresh("n"), INT)
                find = Find(found.name, found.arranged(args), (), counts)
                return [find, Combine(value, operator, tuple(counts[i] for i in found.measures))], value

    def reading(self, component: Component, found: Stored, counts: tuple[Var, ...]) -> Find | Range | Where:
        """The step that reads a stored component."""
        keys = component.query.keys
        if component.where is not None:
            lift, test = component.where
            inner, at = self.nested_map(lift), Var(self.fresh("at"), keys[-1].type)
            beyond = (Bound(lift.bounds[0].operator, at),)
            group = inner.arranged(lift.args)
            measure = Measure(lift.var, lift.aggregate, inner.name, group, inner.measures, beyond)
            return Where(found.name, found.arranged(keys[:-1]), counts, at, measure, test.test)
        if component.bounds:
            return Range(found.name, found.arranged(keys[:-1]), component.bounds, counts)
        return Find(found.name, found.arranged(keys), (), counts)

    def total(self, lift: Lift) -> Total:
        """``lift`` added up by a loop nest of its own."""
        given = tuple(node for arg in lift.args for node in walk(arg) if isinstance(node, Var))
        fixed, nests = frozenset(var.name for var in given), []
        for monomial in lift.query.monomials:
            m = apart(monomial, (), self.names)
            tests = [Test(call("==", key, arg)) for key, arg in zip(m.keys, lift.args, strict=True)]
            solved = unify(Monomial((), m.weights, (*m.factors, *tests)), fixed)
            if solved is not None:
                nests.append(self.loop_nest(solved, given, (), "rows", is_read=True))
        return Total(lift.var, lift.aggregate, tuple(nests))

    def counted(self, factor: Pointwise) -> tuple[list[Step], Var]:
        """``factor`` counted for each key that it may have."""
        candidates = self.stored(
            untested(factor.query), "count", f"{factor.operator} is counted for its keys"
        )
        find = Find(candidates.name, candidates.arranged(factor.args), (), self.counts_of(candidates))
        count, value = Var(self.fresh("count"), INT), Var(self.fresh("n"), INT)
        total = self.total(Lift(count, "count", factor.query, factor.args))
        return [find, total, Combine(value, factor.operator, (count,))], value

    def counts_of(self, found: Stored) -> tuple[Var, ...]:
        return tuple(Var(self.fresh("n"), INT) for _ in found.weights)


def is_summed_on_reading(lift: Lift) -> bool:
    """Whether a change may move ``lift`` by more than reading it costs: it tests sums over ranges of its own."""
    return not is_ordered(lift.aggregate) and not lift.bounds and tests_ranges(lift.query)


def is_counted_on_reading(factor: Pointwise) -> bool:
    """The same of a count, whose keys are among those of a query that makes no such tests."""
    query = factor.query
    simple = query.width == 1 and is_nonnegative(query)
    return simple and tests_ranges(query) and is_safe(untested(query))


def read_by(factor: Lift | Pointwise) -> tuple[Term, ...]:
    """What says which part of its query a bounded lift reads."""
    if isinstance(factor, Lift) and factor.bounds:
        return (*factor.args, *(bound.term for bound in factor.bounds))
    return ()


def adds_zero(statement: Statement) -> bool:
    """Whether ``statement`` never adds anything."""
    return all(amount == const(0) for amount in statement.amounts)


def _times(left: Term, right: Term) -> Term:
    if left == const(1):
        return right
    return left if right == const(1) else call("*", left, right)
