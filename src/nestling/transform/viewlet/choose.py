"""What to store of a view, by cost.

Every way to store a view is compiled, and what its program costs is estimated from statistics. ``"auto"`` keeps to
declared keys unless another way is clearly cheaper: an estimate has no better right than a declaration. A memory
budget leaves the ways that fit; where none does, nothing is stored and the view is evaluated when it is read.

Law (9): whichever way is chosen, the view answers the same.
Law: under ``"auto"`` no other way that fits is at least as good in every column (a change, a read, bytes) and better
in one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from nestling.program.statements import Program, TableDecl
from nestling.program.traverse import inputs
from nestling.transform.cost.sizes import Sizes
from nestling.transform.cost.statistics import Statistics
from nestling.transform.cost.work import Estimate, estimate
from nestling.transform.lower import FlatView
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.drafts import Drafts
from nestling.transform.viewlet.reading import compile_views
from nestling.transform.viewlet.storing import BY_KEYS, Rule, Store, Storing, storing

#: Another way than that of declared keys is taken where it costs at most this share.
CLEARLY = 3 / 4
#: What a choice goes by: the user, declared keys, the estimate, or the memory there is.
KNOB, KEYS, COST, MEMORY = "KNOB", "KEYS", "COST", "MEMORY"
SLICES = Storing("slices")
#: Inner bags that are tried one by one; of more, all together.
MOST_BAGS = 4


@dataclass(frozen=True)
class Way:
    """One way to store a view. ``cost`` is None where there is no program for it, and ``refused`` says why.

    ``partners``: how many of its ``maps`` are there to be met by a change, or are part of the answer.
    """

    storing: Storing
    cost: Estimate | None = None
    maps: int = 0
    partners: int = 0
    refused: str = ""
    code: str = ""
    program: Program | None = field(default=None, compare=False, repr=False)
    #: Of a way by declared keys: the rules that may come to something else.
    differently: frozenset[Rule] = field(default=frozenset(), compare=False, repr=False)

    @property
    def score(self) -> float:
        """Operations per change, where a row is read as often as one changes."""
        return self.cost.change + self.cost.read if self.cost else float("inf")

    def dominates(self, other: Way) -> bool:
        """Whether this way is at least as good as ``other`` in every column, and better in one."""
        if self.cost is None or other.cost is None:
            return False
        mine = (self.cost.change, self.cost.read, self.cost.bytes)
        theirs = (other.cost.change, other.cost.read, other.cost.bytes)
        return mine != theirs and all(m <= t for m, t in zip(mine, theirs, strict=True))


@dataclass(frozen=True)
class Choice:
    """The way that was ``chosen`` among those ``considered``, ``why``, and that in a word, ``code``.

    None is chosen where nothing fits into ``memory``.
    """

    chosen: Way | None
    considered: tuple[Way, ...]
    why: str
    code: str
    statistics: Statistics
    memory: Memory | None = None


def choose(
    view: FlatView,
    drafts: Drafts,
    statistics: Statistics,
    knob: Store = "auto",
    memory: Memory | None = None,
    every: bool = False,
    known: Sequence[Way] = (),
) -> Choice:
    """How to store ``view`` under ``knob`` in the ``memory`` there is; ``drafts`` over its tables serve all ways.

    ``every``: also the ways that are out of the question, for those who want to know what they would cost. ``known``
    ways were compiled before, for the same statistics. Raises ``CannotCompile`` where there is no program.
    """
    read = {name: table for name, table in drafts.tables.items() if name in tables_of(view)}
    ways = {way.storing: way for way in known}
    return _Choosing(view, drafts, Sizes(read, statistics), knob, memory, every, ways).choice()


@dataclass(frozen=True)
class Memory:
    """How many bytes a view may take; and ``scale``, what was measured of it as a multiple of the estimate."""

    bytes: int
    scale: float = 1.0


def cost_of(
    view: FlatView, tables: Mapping[str, TableDecl], statistics: Statistics, kind: Storing
) -> Estimate:
    """What it costs to store ``view`` in one way, which has a program."""
    read = {name: tables[name] for name in tables if name in tables_of(view)}
    program = compile_views(tables, {"v": view}, store={"v": kind})
    return estimate(program, "v", Sizes(read, statistics), view.rows)


def tables_of(view: FlatView) -> frozenset[str]:
    """The flat tables that ``view`` reads."""
    return frozenset[str]().union(*map(inputs, view.queries))


@dataclass
class _Choosing:
    view: FlatView
    drafts: Drafts
    sizes: Sizes
    knob: Store
    memory: Memory | None
    every: bool
    ways: dict[Storing, Way] = field(default_factory=dict)

    def choice(self) -> Choice:
        asked = self.way(storing(self.knob, self.view))
        if asked.cost is None:
            raise CannotCompile(asked.refused, asked.code)
        self.consider(asked)
        fitting = [way for way in self.ways.values() if self.fits(way)]
        chosen, code, why = self.best(asked, fitting) if fitting else (None, MEMORY, self.too_large())
        if chosen is not None and code != KNOB:
            chosen, code, why = self.undominated(chosen, code, why)
        if self.every and chosen is not None:
            self.beside(chosen)
        return Choice(chosen, tuple(self.ways.values()), why, code, self.sizes.statistics, self.memory)

    # -- ways

    def way(self, kind: Storing) -> Way:
        """The program of one way, and what it costs."""
        if kind not in self.ways:
            self.ways[kind] = self._compiled(replace(kind, statistics=self.sizes.statistics))
        return self.ways[kind]

    def _compiled(self, kind: Storing) -> Way:
        differently = self.drafts.differently = set[Rule]()
        try:
            program = compile_views(self.drafts.tables, {"v": self.view}, None, {"v": kind}, self.drafts)
        except CannotCompile as reason:
            return Way(kind, refused=str(reason), code=reason.code)
        cost = estimate(program, "v", self.sizes, self.view.rows)
        scale = self.memory.scale if self.memory else 1.0
        if any(note.code == CannotCompile.CAP for note in program.views["v"].notes):
            differently.discard("every")  # what takes too many maps by declared keys takes too many without
        partners = sum(decl.role in ("aux", "rows") for decl in program.maps.values())
        scaled = replace(cost, bytes=round(cost.bytes * scale))
        return Way(kind, scaled, len(program.maps), partners, "", "", program, frozenset(differently))

    def consider(self, asked: Way) -> None:
        """The ways beside ``asked`` that may be chosen."""
        is_open = self.every or (self.knob == "auto" and self.is_counted) or not self.fits(asked)
        if not (asked.maps or self.view.definitions) or (self.knob != "auto" and not is_open):
            return  # read from tables by keys, or as it was asked for: there is nothing to decide
        # Where declared keys find every partner, a rule that stores fewer comes to the same.
        by_keys = self.way(BY_KEYS)
        fewer: list[Rule] = ["slices"] if by_keys.partners else []
        fewer += ["none"] if fewer and is_open else []
        more: list[Rule] = ["every"] if is_open else []
        others = [r for r in (*fewer, *more) if r == "none" or r in by_keys.differently]
        rules: list[Rule] = ["keys", *others]
        best = min((self.way(Storing(rule)) for rule in rules), key=_score)
        if not is_open:
            return
        shapes = [frozenset({shape}) for shape in self.view.definitions]
        for bags in shapes if len(shapes) <= MOST_BAGS else [frozenset(self.view.definitions)]:
            best = min(best, self.way(replace(best.storing, bags=best.storing.bags | bags)), key=_score)
        # The answer whole costs no less per change, and an operation per read: where that is not clearly less,
        # nobody needs to know how much it is.
        saves = best.cost is not None and best.cost.change + 1 <= CLEARLY * asked.score
        if saves or self.every or not self.fits(asked):
            self.way(replace(best.storing, rows=True))

    def beside(self, way: Way) -> None:
        """The ways that differ from ``way`` in one inner bag."""
        for shape in list(self.view.definitions)[:MOST_BAGS]:
            self.way(replace(way.storing, bags=way.storing.bags ^ {shape}))

    @property
    def is_counted(self) -> bool:
        """Whether there is more to go by than declarations."""
        return all(map(self.sizes.statistics.is_counted, self.sizes.tables))

    # -- choosing

    def fits(self, way: Way) -> bool:
        return way.cost is not None and (self.memory is None or way.cost.bytes <= self.memory.bytes)

    def best(self, asked: Way, fitting: Sequence[Way]) -> tuple[Way, str, str]:
        cheapest = min(fitting, key=_score)
        if asked not in fitting:
            return (
                cheapest,
                MEMORY,
                (
                    f"what was asked for would take {_bytes(asked)}, more than the {self.left} there are: "
                    "of what fits, this is cheapest"
                ),
            )
        if self.knob != "auto":
            return asked, KNOB, f'store="{self.knob}" asks for it'
        if not self.is_counted:
            # What is assumed of columns is no reason to differ; that a reference leads to few rows is.
            cheapest = min((way for way in fitting if way.storing in (asked.storing, SLICES)), key=_score)
        if cheapest.score <= CLEARLY * asked.score:
            return (
                cheapest,
                COST,
                (
                    f"{cheapest.score:,.3g} operations per change and read, where declared keys alone take "
                    f"{asked.score:,.3g}"
                ),
            )
        if cheapest.score >= asked.score:
            return asked, KEYS, "nothing else is cheaper per change and read"
        return (
            asked,
            KEYS,
            (
                f"{asked.score:,.3g} operations per change and read, and the cheapest estimate, {cheapest.score:,.3g}, "
                "is not clearly less"
            ),
        )

    def undominated(self, chosen: Way, code: str, why: str) -> tuple[Way, str, str]:
        """``chosen``, or a way that costs less of one thing and no more of any other."""
        first = chosen
        while True:
            if self.is_counted:
                self.beside(chosen)
            ways = (way for way in self.ways.values() if self.is_open_to(way, code) and way.dominates(chosen))
            better = min(ways, key=lambda way: (way.score, way.cost.bytes if way.cost else 0), default=None)
            if better is None:
                break
            chosen = better
        if chosen is first or code == MEMORY:
            return chosen, code, why
        return (
            chosen,
            COST,
            f"{_columns(chosen)}, where {_columns(first)} were the alternative: no more of anything",
        )

    def is_open_to(self, way: Way, code: str) -> bool:
        """Whether ``way`` may be chosen: what is assumed of columns is no reason to differ, but for slices."""
        return self.fits(way) and (self.is_counted or code == MEMORY or way.storing in (BY_KEYS, SLICES))

    def too_large(self) -> str:
        least = min(
            (way for way in self.ways.values() if way.cost), key=lambda way: way.cost.bytes if way.cost else 0
        )
        return f"the least that can be stored takes {_bytes(least)}, and there are {self.left}"

    @property
    def left(self) -> str:
        return f"{self.memory.bytes:,} bytes" if self.memory else ""


def _score(way: Way) -> float:
    return way.score


def _columns(way: Way) -> str:
    assert way.cost is not None
    return f"{way.cost.change:,.3g} operations per change, {way.cost.read:,.3g} per read and {_bytes(way)}"


def _bytes(way: Way) -> str:
    return f"{way.cost.bytes:,} bytes" if way.cost else "no bytes"
