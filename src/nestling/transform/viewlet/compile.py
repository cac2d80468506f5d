"""From flat views to one program: which maps to store, and what maintains each.

A view is read by plans over maps, and a map is maintained by statements over maps; both come from the same step:
given the variables that are known (a label's environment, a row that arrived), the rest of a monomial falls
apart into components that share no other variable, and each component is a map of its own (the four rules of
DBToaster's Figure 2). Aggregates and count-wise operators read maps of their own, and pass a change of one on
where it matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from nestling.calculus.build import call, const
from nestling.calculus.terms import Const, Term, Var
from nestling.calculus.traverse import Names
from nestling.calculus.types import INT, Scalar
from nestling.program.flat import ORDERED, Atom, Factor, Lift, Monomial, Pointwise, Query, Test, Unnest
from nestling.program.statements import (
    Both,
    Check,
    Combine,
    Each,
    Event,
    Find,
    MapDecl,
    Measure,
    Plan,
    Program,
    Statement,
    Step,
    TableDecl,
    ViewPlan,
)
from nestling.program.steps import binds
from nestling.program.traverse import (
    Parts,
    in_order,
    is_safe,
    parts,
    substitute_term,
)
from nestling.transform.lower import FlatView
from nestling.transform.lower.unify import unify
from nestling.transform.plan import Unplannable, plan
from nestling.transform.viewlet.components import Store, split
from nestling.transform.viewlet.events import replaced, row_deltas, subsets
from nestling.transform.viewlet.naming import apart, renamed
from nestling.transform.viewlet.references import without_implied
from nestling.transform.viewlet.schedule import TIMES, triggers
from nestling.transform.viewlet.slices import share_slices

#: More maps than this for one view: re-evaluate it instead, and say so.
MOST_MAPS = 100


NESTED = ("lift", "count")

#: Maps over one body are one map with all their measures. Which these are is known after a round of compiling.
ROUNDS = 4

#: What tells a map from every other: its body, its order, and whether it is nested.
Identity: TypeAlias = tuple[tuple[Monomial, ...], bool, bool]
Weights: TypeAlias = tuple[Term, ...]


class CannotCompile(Exception):
    """A query that no set of maps maintains; it is evaluated by the reference when it is read."""


def compile_views(
    tables: Mapping[str, TableDecl],
    views: Mapping[str, FlatView],
    watched: Mapping[str, Query] | None = None,
    store: Mapping[str, Store] | None = None,
    kind: type[Compiler] | None = None,
) -> Program:
    """The program that maintains ``views`` over ``tables``, and logs what changes in the ``watched`` queries.

    Equal maps are stored once. ``store`` has the materialisation knob of views that do not leave it at ``"auto"``.
    ``kind`` is how deltas are derived: by rows, unless another is given.
    """
    wanted: dict[Identity, tuple[Weights, ...]] = {}
    of_rows = frozenset(column.name for table in tables.values() for column in table.columns) | {"times"}
    for _ in range(ROUNDS):
        compiler = (kind or Compiler)(dict(tables), wanted, names=Names(of_rows))
        plans = {}
        for name, view in views.items():
            compiler.store = (store or {}).get(name, "auto")
            plans[name] = compiler.view(name, view)
        compiler.store = "auto"
        for name, query in (watched or {}).items():
            compiler.watch(name, query)
        if compiler.wanted == wanted:
            break
        wanted = compiler.wanted
    return Program(tables, compiler.maps, triggers(tables, compiler.rows, compiler.events), plans)


@dataclass(frozen=True)
class Stored:
    """A map and where in it stands what was asked for: ``measures`` among its ``weights``, keys in this ``order``."""

    name: str
    weights: tuple[Weights, ...]
    measures: tuple[int, ...] = ()
    order: tuple[int, ...] = ()

    def at(self, wanted: tuple[Weights, ...], order: tuple[int, ...]) -> Stored:
        places = tuple(self.weights.index(measure) for measure in wanted)
        return Stored(self.name, self.weights, places, order)

    def arranged(self, args: tuple[Term, ...]) -> tuple[Term, ...]:
        """``args`` in the order of the map's keys; those of a group of an ordered map lack the last."""
        return tuple(args[i] for i in self.order if i < len(args))


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
    store: Store = "auto"

    def view(self, name: str, view: FlatView) -> ViewPlan:
        self.most = len(self.maps) + MOST_MAPS
        definitions = {
            shape: self.read(d.params, d.query, len(d.params)) for shape, d in view.definitions.items()
        }
        return ViewPlan(name, view.element, self.read((), view.rows), self.lookup(view.rows), definitions)

    def fresh(self, like: str) -> str:
        """A name for a variable of a statement, apart from every name that a query can have."""
        return self.names.fresh(f"·{like}")

    def lookup(self, rows: Query) -> Plan | None:
        """How to find the rows with a given first column, where it is a scalar."""
        if not rows.keys or not isinstance(rows.keys[0].type, Scalar):
            return None
        param = Var(self.fresh("first"), rows.keys[0].type)
        monomials = []
        for m in rows.monomials:
            test = Test(call("==", m.keys[0], param))
            bound = unify(Monomial(m.keys, m.weights, (*m.factors, test)), frozenset({param.name}))
            monomials += [bound] if bound is not None else []
        return self.read((param,), Query(rows.keys, tuple(monomials)))

    def watch(self, name: str, query: Query) -> None:
        """Log what is added to ``query``."""
        if not is_safe(query):
            raise CannotCompile(f"the change is not bound by what is stored: {query}")
        self.most = len(self.maps) + MOST_MAPS
        self.maps[name] = MapDecl(name, query, "watch", "it is watched")
        for monomial in query.monomials:
            self.maintain(name, monomial)

    def read(self, params: tuple[Var, ...], query: Query, skipped: int = 0) -> Plan:
        """How to find the entries of ``query`` for given ``params``: as if these were an event."""
        if not is_safe(query, {param.name for param in params}):
            raise CannotCompile(f"the answer is not bound by what is stored: {query}")
        monomials = [apart(monomial, params, self.names) for monomial in query.monomials]
        statements = [self.statement("", monomial, params, (), "rows") for monomial in monomials]
        return Plan(params, share_slices(statements), skipped)

    def stored(self, query: Query, role: str, why: str, ordered: bool = False) -> Stored:
        """The map that holds ``query``, made if there is none yet, and where in it the query's measures stand."""
        reduced = tuple(without_implied(monomial, self.tables) for monomial in query.monomials)
        query, order = in_order(Query(query.keys, reduced, query.width), ordered)
        split_ = parts(query)
        # A nested map is added to late in a trigger and a component early, so the two are never one.
        key = (split_.body, ordered, role in NESTED)
        self.wanted[key] = tuple(dict.fromkeys((*self.wanted.get(key, ()), *split_.measures)))
        for candidate in self.by_identity.get(key, []):
            if set(split_.measures) <= set(candidate.weights):
                return candidate.at(split_.measures, order)
        if not is_safe(query):
            raise CannotCompile(f"a map needs every key bound by a row: {query}")
        if ordered and not is_nonnegative(query):
            raise CannotCompile(
                f"min, max and count_distinct of a bag that may have negative counts: {query}"
            )
        if len(self.maps) >= self.most:
            raise CannotCompile(f"more than {MOST_MAPS} maps")
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
        self.maps[name] = MapDecl(name, whole, role, why, key[1], self.is_positive(whole))
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
            raise CannotCompile("two ordered aggregates of one map in one product")
        for chosen in subsets(factors):
            event = self.event(name, chosen[0])
            steps, times = zip(*(self.flipped(factor, event) for factor in chosen), strict=True)
            matches = [(self.nested_map(f).arranged(f.args), event.keys) for f in chosen]
            computed = frozenset(factor.var.name for factor in chosen if isinstance(factor, Lift))
            delta = replaced(monomial, chosen, matches, times, computed)
            if delta is not None:
                given = (*event.keys, *event.old, *event.new)
                statement = self.statement(target, delta, given, steps, "aux")
                if not adds_zero(statement):
                    self.events.setdefault(name, []).append((event, statement))

    def event(self, name: str, factor: Lift | Pointwise) -> Event:
        decl = self.maps[name]
        if decl.ordered and isinstance(factor, Lift):
            keys = tuple(Var(f"·{name}_k{i}", k.type) for i, k in enumerate(decl.columns[:-1]))
            old, new = Var(f"·{name}_old", factor.var.type), Var(f"·{name}_new", factor.var.type)
            return Event(keys, (old,), (new,), factor.aggregate)
        keys = tuple(Var(f"·{name}_k{i}", k.type) for i, k in enumerate(decl.columns))
        old_cells = tuple(Var(f"·{name}_old{i}", INT) for i in range(decl.width))
        new_cells = tuple(Var(f"·{name}_new{i}", INT) for i in range(decl.width))
        return Event(keys, old_cells, new_cells)

    def flipped(self, factor: Lift | Pointwise, event: Event) -> tuple[Step, Var]:
        """The step that turns an event into a change of ``factor``, and what it multiplies by."""
        places = (0,) if event.aggregate else self.nested_map(factor).measures
        new, old = (tuple(cells[i] for i in places) for cells in (event.new, event.old))
        if isinstance(factor, Pointwise):
            var = Var(self.fresh("flip"), INT)
            return Combine(var, factor.operator, new, old), var
        sign = Var(self.fresh("sign"), INT)
        return Both(factor.var, sign, factor.aggregate, new, old), sign

    def nested_map(self, factor: Lift | Pointwise) -> Stored:
        if isinstance(factor, Lift):
            ordered = factor.aggregate in ORDERED
            return self.stored(factor.query, "lift", f"{factor.aggregate} reads it", ordered)
        return self.stored(factor.query, "count", f"{factor.operator} reads it")

    def statement(
        self,
        target: str,
        monomial: Monomial,
        given: tuple[Var, ...],
        before: Sequence[Step],
        role: str,
    ) -> Statement:
        """``monomial`` as a loop nest that starts from ``given`` and adds to ``target``."""
        monomial = without_implied(monomial, self.tables)
        known = frozenset(var.name for var in given)
        bound = known | frozenset(var.name for step in before for var in binds(step))
        pieces = split(monomial, bound, self.tables, self.store)
        steps, weights = list(before), list(pieces.weights)
        for component in pieces.stored:
            found = self.stored(component.query, role, component.why)
            counts = self.counts_of(found)
            steps.append(Find(found.name, found.arranged(component.query.keys), (), counts))
            weights = [
                _times(counts[found.measures[i]], w) for i, w in zip(component.measures, weights, strict=True)
            ]
        for factor in pieces.factors:
            new_steps, count = self.solved(factor)
            steps += new_steps
            if count is not None:
                weights = [_times(count, weight) for weight in weights]
        keys = {name: table.key for name, table in self.tables.items()}
        try:
            ordered = plan(steps, known, keys)
        except Unplannable as error:
            raise CannotCompile(str(error)) from error
        return renamed(Statement(target, monomial.keys, tuple(weights), ordered), given, self.columns())

    def columns(self) -> dict[str, Sequence[Var]]:
        """What the columns of every source are called."""
        return {name: decl.columns for name, decl in (self.tables | self.maps).items()}

    def solved(self, factor: Factor) -> tuple[list[Step], Var | None]:
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
            case Lift(var, aggregate, _, args):
                found = self.nested_map(factor)
                return [Measure(var, aggregate, found.name, found.arranged(args), found.measures)], None
            case Pointwise(operator, _, args):
                found = self.nested_map(factor)
                counts = self.counts_of(found)
                value = Var(self.fresh("n"), INT)
                find = Find(found.name, found.arranged(args), (), counts)
                return [find, Combine(value, operator, tuple(counts[i] for i in found.measures))], value

    def counts_of(self, found: Stored) -> tuple[Var, ...]:
        return tuple(Var(self.fresh("n"), INT) for _ in found.weights)

    def is_positive(self, query: Query) -> bool:
        """Whether a count of zero means that there are no rows, also between two statements of one trigger.

        Every monomial adds to the count, and what one row adds comes in one piece: no table twice, no nested map.
        """
        return all(_is_plain(monomial) for monomial in query.monomials)


def is_nonnegative(query: Query) -> bool:
    """Whether no count of ``query`` is negative while the tables are bags."""
    return all(
        isinstance(m.weights[0], Const) and m.weights[0].value >= 0 and _has_nonnegative_factors(m)
        for m in query.monomials
    )


def _has_nonnegative_factors(monomial: Monomial) -> bool:
    return all(
        factor.operator not in ("min", "max") or is_nonnegative(factor.query)
        for factor in monomial.factors
        if isinstance(factor, Pointwise)
    )


def _is_plain(monomial: Monomial) -> bool:
    tables = [factor.name for factor in monomial.factors if isinstance(factor, Atom)]
    nested = any(isinstance(factor, Lift | Pointwise) for factor in monomial.factors)
    counts = isinstance(monomial.weights[0], Const) and monomial.weights[0].value > 0
    return counts and not nested and len(tables) == len(set(tables))


def adds_zero(statement: Statement) -> bool:
    """Whether ``statement`` never adds anything."""
    return all(amount == const(0) for amount in statement.amounts)


def _times(left: Term, right: Term) -> Term:
    if left == const(1):
        return right
    return left if right == const(1) else call("*", left, right)
