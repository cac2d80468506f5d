"""From a query to the program that maintains it: the passes in order, each result checked.

Every view of every front end takes this road, on every engine: ``PASSES`` rewrite the term, ``shred`` and ``lower``
make flat queries of it, and the engine's plan makes a trigger program of these. Beside it goes the guard: the query
that says where the view has no value. ``observe`` is told of every result, for those who show, test or time it.

Law (18): ``evaluate(normal) = evaluate(query)`` wherever the query has a value. Every term passes ``check`` and every
program ``check_program``; what has no program has a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from nestling.calculus.terms import Empty, Expr
from nestling.calculus.typing import check
from nestling.program.check import check_program
from nestling.program.statements import Program, TableDecl
from nestling.transform.classify import Classification, Verdict, classify
from nestling.transform.complement import complement
from nestling.transform.defined import total, undefined
from nestling.transform.hoist import hoist
from nestling.transform.lower import FlatView, lower
from nestling.transform.lower.view import CannotLower
from nestling.transform.normalize import normalize
from nestling.transform.shred import Shredded, dictionaries, shred
from nestling.transform.simplify import simplify
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.storing import Store, Storing

#: What is told of every result: the name of the step, and what it made.
Made: TypeAlias = "Expr | Shredded | FlatView | Program"
Observer: TypeAlias = Callable[[str, Made], None]
#: From a flat form to a program; ``None`` where nothing is to be stored. Raises ``CannotCompile`` where there is none.
Plan: TypeAlias = Callable[[FlatView], "Program | None"]


@dataclass(frozen=True)
class Pass:
    """A rewriting of terms that keeps their meaning."""

    name: str
    apply: Callable[[Expr], Expr]


#: What every query goes through, in this order.
PASSES = (
    Pass("normalize", normalize),
    Pass("simplify", simplify),
    Pass("complement", complement),
    Pass("hoist", hoist),
    Pass("simplify again", simplify),
    Pass("normalize again", normalize),  # these may have copied binders
)


@dataclass(frozen=True)
class Target:
    """What an engine wants of the terms it computes.

    ``total``: some value in place of none, so that they can be computed in any order. ``exact``: floats are summed as
    ints; otherwise as floats.
    """

    total: bool
    exact: bool

    @property
    def passes(self) -> tuple[Pass, ...]:
        return (Pass("total", total), *PASSES) if self.total else PASSES


EMBEDDED = Target(total=True, exact=True)
#: Spark reports a value that is not there when it computes it.
SPARK = Target(total=False, exact=False)


@dataclass(frozen=True)
class Compiled:
    """All that is known of a query before it runs.

    ``undefined`` has a row wherever ``query`` has no value; ``guard`` is its flat form, where that can be maintained.
    Where there is no ``program``, ``reason`` says why, and ``code`` in a word. ``plain``: the normal form of
    ``query`` as it was written, if nothing had to be made total in it: ``normal`` then.
    """

    query: Expr
    normal: Expr
    undefined: Expr
    flat: FlatView | None = None
    guard: FlatView | None = None
    program: Program | None = None
    reason: str = ""
    code: str = ""
    plain: Expr | None = None

    @property
    def may_have_no_value(self) -> bool:
        return not isinstance(self.undefined, Empty)

    @property
    def verdict(self) -> Verdict:
        """Whether it is maintained within its stated cost."""
        return verdict_of(classified(self.query, self.plain), self.reason)


def ignore(step: str, result: object) -> None:
    """Observe nothing."""


def compile_view(
    query: Expr, target: Target, plan: Plan | None, plan_guard: Plan, observe: Observer = ignore
) -> Compiled:
    """``query`` as ``target`` computes it, with the program that ``plan`` makes of its flat form.

    Without a ``plan`` nothing is stored of the query.
    """
    made = dict[str, Made]()

    def note(step: str, result: Made) -> None:
        made[step] = result
        observe(step, result)

    normal = run(query, target.passes, note)
    plain = normal if made.get("total", query) is query else None
    flat, program, reason, code = None, None, "", ""
    try:
        if plan is not None:
            flat = flattened(normal, target, observe)
            program = _planned(flat, plan, observe)
    except (CannotLower, CannotCompile) as error:
        reason, code = str(error), error.code
    absent = undefined(query)
    check(absent)
    guard = None if isinstance(absent, Empty) else _guard(absent, target, plan_guard)
    return Compiled(query, normal, absent, flat, guard, program, reason, code, plain)


def classified(query: Expr, plain: Expr | None = None) -> Classification:
    """What each construct of ``query`` costs to maintain, as it is compiled: all inner bags shredded.

    ``plain``: its normal form, where that is known.
    """
    return classify(run(query, PASSES) if plain is None else plain)


def verdict_of(found: Classification, reason: str) -> Verdict:
    """The one verdict: what has a ``reason`` to be evaluated on read is not maintained, whatever it is made of."""
    return Verdict.NOT if reason else found.verdict


def run(query: Expr, passes: Sequence[Pass], observe: Observer = ignore) -> Expr:
    """``query`` after ``passes``, checked and observed after each.

    >>> from nestling.calculus.parse import parse, parse_type
    >>> from nestling.calculus.show import show
    >>> query = parse("let X := R ⊎ R in for x in X union sng(x)", {"R": parse_type("Bag(int)")})
    >>> normal = run(query, PASSES, lambda step, term: print(f"{step}: {show(term)}"))
    normalize: for x in R ⊎ R union sng(x)
    simplify: R ⊎ R
    complement: R ⊎ R
    hoist: R ⊎ R
    simplify again: R ⊎ R
    normalize again: R ⊎ R
    """
    checked: Expr | None = None
    for step in passes:
        query = step.apply(query)
        if query is not checked:  # a pass that finds nothing to do gives the same term back
            check(query)
            checked = query
        observe(step.name, query)
    return query


def flat_form(query: Expr, target: Target = EMBEDDED, observe: Observer = ignore) -> FlatView:
    """The flat queries of ``query``; raises ``CannotLower`` where it has none."""
    return flattened(run(query, target.passes, observe), target, observe)


def flattened(normal: Expr, target: Target, observe: Observer = ignore) -> FlatView:
    """The flat queries of a normal form."""
    shredded = shred(normal)
    for part in (shredded.flat, *(dictionary for _, dictionary in dictionaries(shredded.context))):
        check(part)
    observe("shred", shredded)
    flat = lower(shredded, target.exact)
    observe("lower", flat)
    return flat


def by_rows(tables: Mapping[str, TableDecl], store: Store | Storing = "auto") -> Plan:
    """The plan of one view over ``tables``, maintained row by row."""
    return lambda flat: compile_views(tables, {"v": flat}, store={"v": store})


def _planned(flat: FlatView, plan: Plan, observe: Observer) -> Program | None:
    program = plan(flat)
    if program is not None:
        check_program(program)
        observe("plan", program)
    return program


def _guard(absent: Expr, target: Target, plan: Plan) -> FlatView | None:
    try:
        flat = flattened(run(absent, PASSES), target)
        return flat if _planned(flat, plan, ignore) is not None else None
    except (CannotLower, CannotCompile):
        return None
