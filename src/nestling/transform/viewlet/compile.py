"""The maps of a program, and what maintains each.

A view is read by plans over maps, and a map is maintained by statements over maps; both come from the same step:
given the variables that are known (a label's environment, a row that arrived), the rest of a monomial falls
apart into components that share no other variable, and each component is a map of its own (the four rules of
DBToaster's Figure 2). Aggregates and count-wise operators read maps of their own, and pass a change of one on
where it matters.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nestling.calculus.build import call, const
from nestling.calculus.terms import Const, Term, Var
from nestling.calculus.traverse import Names, walk
from nestling.calculus.types import INT
from nestling.calculus.typing import term_type
from nestling.program.batches import is_change
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
    Check,
    Combine,
    Each,
    Find,
    MapDecl,
    MapEvent,
    Measure,
    NewAndOld,
    Order,
    Range,
    Statement,
    Step,
    TableDecl,
    Total,
    Where,
)
from nestling.program.traverse import Parts, is_local, is_safe
from nestling.transform.lower.unify import unify
from nestling.transform.plan import Unplannable, plan
from nestling.transform.viewlet.components import Split
from nestling.transform.viewlet.components import StoredComponent as Component
from nestling.transform.viewlet.deltas import Nested, key_deltas
from nestling.transform.viewlet.drafts import Drafted, Drafts, Identified, asked_of
from nestling.transform.viewlet.handles import Identity, MapHandle, Weights
from nestling.transform.viewlet.naming import rename_apart, renamed
from nestling.transform.viewlet.refusals import rows_of, unbound
from nestling.transform.viewlet.storing import BY_KEYS, Storing
from nestling.transform.viewlet.tested import tests_ranges, untested

#: More maps than this for one view: re-evaluate it instead, and say so.
MOST_MAPS = 40
#: So many does Python take inside one another; that over the rows of a batch is counted, as the step that finds them.
MOST_LOOPS = 20
#: More aggregates than this of one map in one row that is stored: every set of them is a statement.
MOST_AT_ONCE = 6


class CannotCompile(Exception):
    """A query that no set of maps maintains; it is evaluated by the reference when it is read.

    ``code`` tells in a word what stands in the way.
    """

    UNBOUND, NEGATIVE, TWICE, CAP = "UNBOUND", "NEGATIVE", "TWICE", "CAP"

    def __init__(self, what: str, code: str) -> None:
        super().__init__(what)
        self.code = code


def _is_loop(step: Step, keys: Mapping[str, Sequence[int]]) -> bool:
    """Whether ``step`` may find many rows."""
    if isinstance(step, Find):
        key = keys.get(step.source) or range(len(step.args))
        return not set(key) <= set(step.known)
    return isinstance(step, Each | Where | NewAndOld)


def _is_count(weight: Term) -> bool:
    return isinstance(weight, Const) and bool(weight.value)


def _counts_first(weights: tuple[Weights, ...]) -> tuple[Weights, ...]:
    """In the order in which a map holds them."""
    return tuple(sorted(weights, key=lambda measure: not all(_is_count(w) for w in measure)))


class _Columns(dict[str, Sequence[Var]]):
    """The columns of tables and maps; most statements ask for few of them."""

    def __init__(self, tables: Mapping[str, TableDecl], maps: Mapping[str, MapDecl]) -> None:
        self.tables, self.maps = tables, maps

    def __missing__(self, name: str) -> Sequence[Var]:
        return (self.tables[name] if name in self.tables else self.maps[name]).columns


@dataclass
class Compiler:
    """The maps so far, and the statements that each table and each map sets off."""

    tables: dict[str, TableDecl]
    drafts: Drafts
    known: Mapping[Identity, tuple[Weights, ...]] = field(default_factory=dict)
    wanted: dict[Identity, tuple[Weights, ...]] = field(default_factory=dict)
    maps: dict[str, MapDecl] = field(default_factory=dict)
    by_identity: dict[Identity, list[MapHandle]] = field(default_factory=dict)
    rows: dict[str, list[Statement]] = field(default_factory=dict)
    updates: dict[str, list[Statement]] = field(default_factory=dict)
    events: dict[str, list[tuple[MapEvent, Statement]]] = field(default_factory=dict)
    #: Names of maps.
    names: Names = field(default_factory=Names)
    most: int = MOST_MAPS
    storing: Storing = BY_KEYS
    #: Whether maps follow their tables; they may also be filled when they are read.
    maintains: bool = True
    #: Whether it only finds out what is wanted of all maps: it makes no statements, and another round has to.
    explores: bool = False
    #: Whether it may turn to that, where a map lacks what is wanted of it.
    may_explore: bool = False
    #: The bodies of which more is wanted than was looked at.
    waiting: dict[Identity, Parts] = field(default_factory=dict)

    def kept(self) -> dict[str, Any]:
        """All that compiling a part of a view adds to, to go back to where the part has no program."""
        lists = {
            name: {key: list(items) for key, items in getattr(self, name).items()}
            for name in ("by_identity", "rows", "updates", "events")
        }
        dicts = {name: dict(getattr(self, name)) for name in ("maps", "wanted", "waiting")}
        return lists | dicts

    def has_all_wanted(self) -> bool:
        """Whether each body is one map with all that is wanted of it: another round would come to the same."""
        return not self.explores and all(
            len(made) == 1 and made[0].weights == _counts_first(self.wanted[key])
            for key, made in self.by_identity.items()
        )

    def fresh(self, like: str) -> str:
        """A name for a variable of a statement, apart from every name that a query can have."""
        return self.drafts.names.fresh(f"·{like}")

    def watch(self, name: str, query: Query) -> None:
        """Log what is added to ``query``."""
        if not is_safe(query):
            raise CannotCompile(unbound(query), CannotCompile.UNBOUND)
        self.most = len(self.by_identity) + MOST_MAPS
        self.maps[name] = MapDecl(name, query, "watch", "it is watched")
        for monomial in query.monomials:
            self.maintain(name, monomial)
        self.explore()

    def stored(self, query: Query, role: str, why: str, order: Order = "") -> MapHandle:
        """The map that holds ``query``, made if there is none yet, and where in it the query's measures stand."""
        asked = self.drafts.identified(query, role, order)
        key, measures = asked.key, asked.parts.measures
        self.wanted[key] = tuple(dict.fromkeys((*self.wanted.get(key, ()), *measures)))
        for candidate in self.by_identity.get(key, []):
            if set(measures) <= set(candidate.weights):
                return candidate.at(measures, asked.order)
        if not is_safe(asked.query):
            raise CannotCompile(unbound(asked.query), CannotCompile.UNBOUND)
        if not can_be_ordered(asked.query, order):
            raise CannotCompile(
                f"a minimum, a maximum or the first of {rows_of(asked.query)}, some of which are taken off again",
                CannotCompile.NEGATIVE,
            )
        is_new = key not in self.by_identity
        if is_new and len(self.by_identity) >= self.most:
            raise CannotCompile(f"it would take more than {MOST_MAPS} maps", CannotCompile.CAP)
        self.explores |= self.may_explore and not is_new
        if self.explores and role == "aux":
            self.waiting[key], self.by_identity[key] = asked.parts, [MapHandle(role, self.wanted[key])]
            return self.by_identity[key][0].at(measures, asked.order)
        weights = tuple(dict.fromkeys((*self.known.get(key, ()), *measures)))
        return self.make(asked, _counts_first(weights), role, why).at(measures, asked.order)

    def make(self, asked: Identified, weights: tuple[Weights, ...], role: str, why: str) -> MapHandle:
        """A new map over the body of what is ``asked``, with all the measures that are wanted of it."""
        name = self.names.fresh(f"{role.upper()[0]}{len(self.maps)}")
        made = MapHandle(name, weights)
        self.by_identity.setdefault(asked.key, []).append(made)
        monomials = asked.parts.with_measures(weights)
        whole = Query(asked.query.keys, monomials, len(weights))
        self.maps[name] = MapDecl(name, whole, role, why, asked.key[1], is_positive(whole))
        for number, monomial in enumerate(monomials):
            self.maintain(name, monomial, (asked.key, weights, number))
        return made

    def explore(self) -> None:
        """Find out what is wanted of the maps that maintain others.

        A change of a row leaves fewer atoms to join with. So the bodies of most atoms come first: all that is wanted
        of a body is known before it is looked at, and each is looked at once.
        """
        while self.waiting:
            key = max(self.waiting, key=lambda key: max(len(monomial.factors) for monomial in key[0]))
            weights = _counts_first(self.wanted[key])
            for number, monomial in enumerate(self.waiting.pop(key).with_measures(weights)):
                self.maintain("", monomial, (key, weights, number))

    def maintain(self, target: str, monomial: Monomial, place: Hashable = None) -> None:
        """The statements by which ``monomial`` of ``target`` follows its tables and its nested maps.

        ``place`` tells it from the monomials of all other maps, where its drafts may serve again.
        """
        if not self.maintains:
            return
        monomial, drafts = self.drafts.of_rows(place, monomial, self.storing)
        for draft in drafts:
            self.follow(target, draft)
        for name, read in self.nested(monomial).items():
            if self.maps[name].ordered and len(read) > 1:
                raise CannotCompile(
                    "min or max of one bag twice in one condition or row", CannotCompile.TWICE
                )
            if len(read) > MOST_AT_ONCE:
                raise CannotCompile(
                    f"{len(read)} aggregates of one map change at once, each set of them by a statement of its own",
                    CannotCompile.CAP,
                )
            for event, delta in key_deltas(monomial, self.maps[name], read, self.drafts.names):
                parts = self.drafts.in_parts(delta.monomial, frozenset(), delta.first, self.storing)
                for statement in self.changes(target, Drafted(name, delta, *parts)):
                    self.events.setdefault(name, []).append((event, statement))

    def follow(self, target: str, draft: Drafted) -> None:
        """The statement by which ``target`` follows one table."""
        for statement in self.changes(target, draft):
            if draft.delta.on_rows:
                self.rows.setdefault(draft.table, []).append(statement)
            if draft.delta.on_updates:
                self.updates.setdefault(draft.table, []).append(statement)

    def nested(self, monomial: Monomial) -> dict[str, list[Nested]]:
        """The factors of ``monomial`` that read nested maps, by map."""
        found: dict[str, list[Nested]] = {}
        for factor in monomial.factors:
            if isinstance(factor, Lift | Pointwise) and not is_local(factor):
                handle = self.nested_map(factor)
                found.setdefault(handle.name, []).append((factor, handle))
        return found

    def changes(self, target: str, draft: Drafted) -> Iterator[Statement]:
        """The statement that adds to ``target`` when its source changes, if it adds anything."""
        delta = draft.delta
        found = self.loop_nest(draft.monomial, draft.pieces, frozenset(), delta.first, "aux", is_read=False)
        if self.explores or all(amount == const(0) for amount in found.amounts):
            return
        columns = self.columns()
        read = (step.source for step in delta.first if isinstance(step, Find | Range))
        columns.update({name: columns[draft.table] for name in read if is_change(name)})
        yield renamed(replace(found, target=target, keys=found.keys[: delta.arity]), (), columns)

    def nested_map(self, factor: Lift | Pointwise) -> MapHandle:
        query, role, order = asked_of(factor)
        reader = factor.aggregate if isinstance(factor, Lift) else factor.operator
        return self.stored(query, role, f"{reader} reads it", order)

    def statement(self, target: str, monomial: Monomial, given: tuple[Var, ...], role: str) -> Statement:
        """``monomial`` as a loop nest that starts from ``given`` and adds to ``target``."""
        found = self.from_given(monomial, given, role, is_read=not target)
        return found if self.explores else renamed(replace(found, target=target), given, self.columns())

    def from_given(self, monomial: Monomial, given: Sequence[Var], role: str, *, is_read: bool) -> Statement:
        """``monomial`` solved from ``given``, under the names it has."""
        known = frozenset(var.name for var in given)
        parts = self.drafts.in_parts(monomial, known, (), self.storing)
        return self.loop_nest(*parts, known, (), role, is_read=is_read)

    def loop_nest(
        self, monomial: Monomial, pieces: Split, known: frozenset[str], before: Sequence[Step], role: str,
        *, is_read: bool,
    ) -> Statement:  # fmt: skip
        """``monomial`` solved from what is ``known`` and from the steps ``before``."""
        self.drafts.differently |= pieces.differently
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
        if self.explores:
            return Statement("", monomial.keys, tuple(weights), ())
        keys = {name: table.key for name, table in self.tables.items()}
        try:
            ordered = plan(steps, known, keys)
        except Unplannable as error:
            raise CannotCompile(str(error), CannotCompile.UNBOUND) from error
        if self.drafts.one_by_one and sum(_is_loop(step, keys) for step in ordered) > MOST_LOOPS:
            raise CannotCompile(f"it would take more than {MOST_LOOPS} nested loops", CannotCompile.CAP)
        return Statement("", monomial.keys, tuple(weights), ordered)

    def columns(self) -> dict[str, Sequence[Var]]:
        """What the columns of every source are called, looked up when asked for."""
        return _Columns(self.tables, self.maps)

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
            case Lift() if (is_read and is_summed_on_reading(factor)) or is_local(factor):
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

    def reading(
        self, component: Component, found: MapHandle, counts: tuple[Var, ...]
    ) -> Find | Range | Where:
        """The step that reads a stored component."""
        keys = component.at
        if component.where is not None:
            lift, test = component.where
            inner, at = self.nested_map(lift), Var(self.fresh("at"), term_type(keys[-1]))
            beyond = (Bound(lift.bounds[0].operator, at),)
            group = inner.arranged(lift.args)
            measure = Measure(lift.var, lift.aggregate, inner.name, group, inner.measures, beyond)
            return Where(found.name, found.arranged(keys[:-1]), counts, at, measure, test.test)
        if component.bounds:
            return Range(found.name, found.arranged(keys[:-1]), component.bounds, counts)
        return Find(found.name, found.arranged(keys), (), counts)

    def total(self, lift: Lift) -> Total:
        """``lift`` added up by a loop nest of its own; of values, each is the key of what is added."""
        given = tuple(node for arg in lift.args for node in walk(arg) if isinstance(node, Var))
        fixed, nests = frozenset(var.name for var in given), []
        for monomial in lift.query.monomials:
            m = rename_apart(monomial, (), self.drafts.names)
            keys = m.keys[: len(lift.args)]
            tests = [Test(call("==", key, arg)) for key, arg in zip(keys, lift.args, strict=True)]
            solved = unify(Monomial(m.keys[len(keys) :], m.weights, (*m.factors, *tests)), fixed)
            if solved is not None:
                nests.append(self.from_given(solved, given, "rows", is_read=True))
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

    def counts_of(self, found: MapHandle) -> tuple[Var, ...]:
        return tuple(Var(self.fresh("n"), INT) for _ in found.weights)


def is_summed_on_reading(lift: Lift) -> bool:
    """Whether a change may move ``lift`` by more than reading it costs: it tests sums over ranges of its own."""
    return not is_ordered(lift.aggregate) and not lift.bounds and tests_ranges(lift.query)


def is_counted_on_reading(factor: Pointwise) -> bool:
    """The same of a count, whose keys are among those of a query that makes no such tests."""
    query = factor.query
    simple = query.width == 1 and is_nonnegative(query)
    return simple and tests_ranges(query) and is_safe(untested(query))


def _times(left: Term, right: Term) -> Term:
    if left == const(1):
        return right
    return left if right == const(1) else call("*", left, right)
