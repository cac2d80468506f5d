"""From flat views to one program: how each part of a view is read, and the maps that takes.

A view has its rows and, per shape of label, a definition; each is read by a plan of its own. To read is an event
whose row is what one asks by: the environment of a label, a first column. Where a part is to be stored whole and can
be, its plan is one look-up.

Law (9): a part reads the same whichever way it is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeAlias, TypeVar

from nestling.calculus.terms import Var
from nestling.calculus.traverse import Names
from nestling.calculus.types import Scalar
from nestling.program.flat import Pointwise, Query
from nestling.program.statements import Find, Note, Plan, Program, Statement, TableDecl, ViewPlan
from nestling.program.traverse import exact_columns, is_safe
from nestling.transform.lower import FlatView
from nestling.transform.viewlet.compile import MOST_MAPS, CannotCompile, Compiler
from nestling.transform.viewlet.domains import restricted
from nestling.transform.viewlet.drafts import Drafts, drafts_over, is_shared, names_in
from nestling.transform.viewlet.lookups import around, asked
from nestling.transform.viewlet.naming import rename_apart, renamed
from nestling.transform.viewlet.refusals import unbound
from nestling.transform.viewlet.schedule import triggers, updates
from nestling.transform.viewlet.slices import share_slices
from nestling.transform.viewlet.specialise import specialise
from nestling.transform.viewlet.storing import BY_KEYS, Store, Storing, storing

T = TypeVar("T")

#: What a program follows its tables by: batches of rows of all tables, rows one by one, or not at all.
Follows: TypeAlias = Literal["batches", "rows", "nothing"]

#: Maps over one body are one map with all their measures. Which these are is known after a round of compiling.
ROUNDS = 4

WHOLE = {
    "rows": "the answer is stored as it is",
    "bags": "the elements of every inner bag in use, under its label",
}
IN_USE = "the labels in use, each as often as a row holds it: inner bags are kept for these"


def compile_views(
    tables: Mapping[str, TableDecl],
    views: Mapping[str, FlatView],
    watched: Mapping[str, Query] | None = None,
    store: Mapping[str, Store | Storing] | None = None,
    drafts: Drafts | None = None,
) -> Program:
    """The program that maintains ``views`` row by row: that for batches, specialised."""
    return specialise(compile_batches(tables, views, watched, store, follows="rows", drafts=drafts))


def compile_batches(
    tables: Mapping[str, TableDecl],
    views: Mapping[str, FlatView],
    watched: Mapping[str, Query] | None = None,
    store: Mapping[str, Store | Storing] | None = None,
    taken: Iterable[str] = (),
    follows: Follows = "batches",
    drafts: Drafts | None = None,
) -> Program:
    """The program that maintains ``views`` over ``tables``, and logs what changes in the ``watched`` queries.

    Its triggers start from changes, ``ΔR``. Equal maps are stored once. ``store`` has the materialisation knob of
    views that do not leave it at ``"auto"``. No map is called as one that is ``taken``. If it ``follows`` nothing, its
    maps are filled when they are read; if rows, it is to be specialised, and may rely on their order. ``drafts``
    over the same tables may come from programs that were compiled before.
    """
    read = [query for view in views.values() for query in view.queries]
    capped: dict[tuple[str, str, int], Note] = {}
    drafts = drafts or drafts_over(tables, taken, one_by_one=follows == "rows", compares=False)
    wanted = drafts.foreseen((*read, *(watched or {}).values()))
    explores = any(is_shared(key, measures) for key, measures in wanted.items())
    for number in range(1, ROUNDS + 1):
        compiler = Compiler(
            dict(tables),
            drafts,
            wanted,
            names=Names(names_in(tables, taken)),
            maintains=follows != "nothing",
            explores=explores and number == 1,
            may_explore=number < ROUNDS,
        )
        plans = {
            name: _Reading(compiler, storing((store or {}).get(name, "auto"), view), capped).view(name, view)
            for name, view in views.items()
        }
        compiler.storing = BY_KEYS
        for name, query in (watched or {}).items():
            compiler.watch(name, query)
        totals = _Reading(compiler, Storing("none")).totals(watched or {})
        is_settled = compiler.wanted == wanted and not compiler.explores
        if is_settled or (not capped and compiler.has_all_wanted()):
            break
        wanted = compiler.wanted
    on_rows = triggers(tables, compiler.rows, compiler.events)
    on_updates = updates(tables, compiler.updates, compiler.events) if follows == "rows" else {}
    return Program(tables, compiler.maps, on_rows, plans, totals, updates=on_updates)


@dataclass
class _Reading:
    """The plans of one view; what is not stored as ``wanted`` is noted."""

    compiler: Compiler
    wanted: Storing
    #: What took too many maps in an earlier round: view, part, and which way to store it.
    capped: dict[tuple[str, str, int], Note] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def view(self, name: str, view: FlatView) -> ViewPlan:
        """All plans."""
        self.compiler.most = len(self.compiler.by_identity) + MOST_MAPS
        whole = restricted(view) if self.wanted.bags else {}
        definitions = {}
        for shape, d in view.definitions.items():
            stored = (
                partial(self.whole, d.params, whole[shape], "bags") if shape in self.wanted.bags else None
            )
            read = partial(self.read, d.params, d.query, len(d.params))
            definitions[shape] = self.part(name, f"inner bag {shape[0]}", stored, read)
        stored_rows = partial(self.whole_rows, view) if self.wanted.rows else None
        rows, lookup = self.part(name, "rows", stored_rows, partial(self.read_rows, view))
        return ViewPlan(name, view.element, rows, lookup, definitions, tuple(self.notes))

    def part(self, view: str, what: str, stored: Callable[[], T] | None, read: Callable[[], T]) -> T:
        """One part: stored whole if that is asked for and can be, else by the rule, else with fewer maps."""
        ways = [(stored, self.wanted)] if stored is not None else []
        ways += [(read, self.wanted)]
        if self.wanted.rule != "none":
            ways += [(read, Storing("none"))]
        for number, (way, kind) in enumerate(ways, start=1):
            if (view, what, number) in self.capped:
                self.notes.append(self.capped[view, what, number])
                continue
            kept, self.compiler.storing = self.compiler.kept(), kind
            try:
                found = way()
                self.compiler.explore()
                return found
            except CannotCompile as reason:
                # Only a part of too many maps has a chance with fewer.
                if number == len(ways) or (way is read and reason.code != CannotCompile.CAP):
                    raise
                note = Note(what, reason.code, str(reason))
                self.notes.append(note)
                if reason.code == CannotCompile.CAP:
                    self.capped[view, what, number] = note
                self.compiler.__dict__.update(kept)
        raise AssertionError("the last way returns or raises")

    # -- put together

    def read_rows(self, view: FlatView) -> tuple[Plan, Plan | None]:
        return self.read((), view.rows), self.lookup(view.rows) if view.is_asked else None

    def lookup(self, rows: Query) -> Plan | None:
        """How to find the rows with a given first column, where it is a scalar."""
        if not rows.keys or not isinstance(rows.keys[0].type, Scalar):
            return None
        params = (Var(self.compiler.fresh("first"), rows.keys[0].type),)
        before = self.compiler.storing
        # Who asks so is not known to do it often: a column that is computed is worth no map of its own.
        self.compiler.storing = replace(before, computes=False)
        plan = self.read(params, asked(rows, params, (0,)))
        self.compiler.storing = before
        return plan

    def totals(self, watched: Mapping[str, Query]) -> dict[str, Plan]:
        """How to find the rows around an inner bag that is watched: straight in the tables, without maps."""
        self.compiler.storing, found = self.wanted, {}
        for name, query in around(watched).items():
            places = exact_columns(query)
            params = tuple(Var(self.compiler.fresh(f"at{i}"), query.keys[i].type) for i in places)
            found[name] = self.read(params, asked(query, params, places))
        return found

    def read(self, params: tuple[Var, ...], query: Query, skipped: int = 0) -> Plan:
        """How to find the entries of ``query`` for given ``params``: as if these were an event."""
        known = {param.name for param in params}
        if not is_safe(query, known):
            raise CannotCompile(unbound(query, known), CannotCompile.UNBOUND)
        monomials = [
            rename_apart(monomial, params, self.compiler.drafts.names) for monomial in query.monomials
        ]
        statements = [self.compiler.statement("", monomial, params, "rows") for monomial in monomials]
        return Plan(params, share_slices(statements), skipped)

    # -- stored whole

    def whole_rows(self, view: FlatView) -> tuple[Plan, Plan | None]:
        """The rows as a map: all of them, and those with a given first column, where it is a scalar."""
        rows = view.rows
        if not view.is_asked or not rows.keys or not isinstance(rows.keys[0].type, Scalar):
            return self.whole((), rows, "rows"), None
        first = Var(self.compiler.fresh("first"), rows.keys[0].type)
        return self.whole((), rows, "rows"), replace(self.whole((first,), rows, "rows"), skipped=0)

    def whole(self, params: tuple[Var, ...], query: Query, role: str) -> Plan:
        """``query`` as a map, and how to find its entries for given ``params``, its first columns."""
        found = self.compiler.stored(query, role, WHOLE[role])
        if role == "bags":
            self.name_domain(query)
        counts = self.compiler.counts_of(found)
        keys = (*params, *(Var(self.compiler.fresh("c"), key.type) for key in query.keys[len(params) :]))
        known = tuple(i for i, at in enumerate(found.order) if at < len(params))
        find = Find(found.name, found.arranged(keys), known, counts)
        statement = Statement("", keys, (counts[found.measures[0]],), (find,))
        columns = {found.name: self.compiler.maps[found.name].columns}
        return Plan(params, (renamed(statement, params, columns),), len(params))

    def name_domain(self, query: Query) -> None:
        """Say of the map behind ``Dom`` what it is."""
        for monomial in query.monomials[:1]:
            in_use = monomial.factors[0]
            assert isinstance(in_use, Pointwise), "a restricted definition starts with Dom"
            name = self.compiler.nested_map(in_use).name
            self.compiler.maps[name] = replace(self.compiler.maps[name], why=IN_USE)
