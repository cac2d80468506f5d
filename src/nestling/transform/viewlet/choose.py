"""What to store of a view, by cost.

Every way to store a view is compiled, and what its program costs is estimated from statistics. ``"auto"`` keeps to
declared keys unless another way is clearly cheaper: an estimate has no better right than a declaration. A memory
budget leaves the ways that fit; where none does, nothing is stored and the view is evaluated when it is read.

Law (9): whichever way is chosen, the view answers the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from nestling.program.statements import TableDecl
from nestling.program.traverse import inputs
from nestling.transform.cost.sizes import Sizes
from nestling.transform.cost.statistics import Statistics
from nestling.transform.cost.work import Estimate, estimate
from nestling.transform.lower import FlatView
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.reading import compile_views
from nestling.transform.viewlet.storing import BY_KEYS, Rule, Store, Storing, storing

#: Another way than that of declared keys is taken where it costs at most this share.
CLEARLY = 2 / 3
#: Inner bags that are tried one by one; of more, all together.
MOST_BAGS = 4

RULES: dict[Rule, str] = {
    "keys": "what declared keys do not find is a map",
    "slices": "what keys and slices of few rows do not find is a map",
    "every": "every partner of a change is a map",
    "none": "counts and aggregates are maps, the rest is read from tables",
}


@dataclass(frozen=True)
class Way:
    """One way to store a view. ``cost`` is None where there is no program for it, and ``refused`` says why."""

    storing: Storing
    cost: Estimate | None = None
    maps: int = 0
    refused: str = ""
    code: str = ""

    @property
    def score(self) -> float:
        """Operations per change, where a row is read as often as one changes."""
        return self.cost.change + self.cost.read if self.cost else float("inf")

    @property
    def text(self) -> str:
        """What is stored."""
        whole = ["the answer"] * self.storing.rows
        whole += [f"inner bag {site}" for site, _ in sorted(self.storing.bags, key=repr)]
        return RULES[self.storing.rule] + (f"; {' and '.join(whole)} stored whole" if whole else "")


@dataclass(frozen=True)
class Choice:
    """The way that was ``chosen`` among those ``considered``, and ``why``; none where nothing fits into ``memory``."""

    chosen: Way | None
    considered: tuple[Way, ...]
    why: str
    statistics: Statistics
    memory: int | None = None


def choose(
    view: FlatView,
    tables: Mapping[str, TableDecl],
    statistics: Statistics,
    knob: Store = "auto",
    memory: int | None = None,
    every: bool = False,
) -> Choice:
    """How to store ``view`` under ``knob`` in at most ``memory`` bytes.

    ``every``: also the ways that are out of the question, for those who want to know what they would cost. Raises
    ``CannotCompile`` where there is no program.
    """
    read = {name: tables[name] for name in tables if name in tables_of(view)}
    return _Choosing(view, tables, Sizes(read, statistics), knob, memory, every).choice()


def tables_of(view: FlatView) -> frozenset[str]:
    """The flat tables that ``view`` reads."""
    queries = (view.rows, *(definition.query for definition in view.definitions.values()))
    return frozenset[str]().union(*map(inputs, queries))


@dataclass
class _Choosing:
    view: FlatView
    tables: Mapping[str, TableDecl]
    sizes: Sizes
    knob: Store
    memory: int | None
    every: bool
    ways: dict[Storing, Way] = field(default_factory=dict)

    def choice(self) -> Choice:
        asked = self.way(storing(self.knob, self.view))
        if asked.cost is None:
            raise CannotCompile(asked.refused, asked.code)
        self.consider(asked)
        ways = tuple(self.ways.values())
        fitting = [way for way in ways if self.fits(way)]
        statistics = self.sizes.statistics
        if not fitting:
            return Choice(None, ways, self.too_large(ways), statistics, self.memory)
        chosen, why = self.best(asked, fitting)
        return Choice(chosen, ways, why, statistics, self.memory)

    # -- ways

    def way(self, kind: Storing) -> Way:
        """The program of one way, and what it costs."""
        if kind not in self.ways:
            self.ways[kind] = self._compiled(replace(kind, statistics=self.sizes.statistics))
        return self.ways[kind]

    def _compiled(self, kind: Storing) -> Way:
        try:
            program = compile_views(self.tables, {"v": self.view}, store={"v": kind})
        except CannotCompile as reason:
            return Way(kind, refused=str(reason), code=reason.code)
        return Way(kind, estimate(program, "v", self.sizes, self.view.rows), len(program.maps))

    def consider(self, asked: Way) -> None:
        """The ways beside ``asked`` that may be chosen."""
        is_open = self.every or (self.knob == "auto" and self.is_counted) or not self.fits(asked)
        if not (asked.maps or self.view.definitions) or (self.knob != "auto" and not is_open):
            return  # read from tables by keys, or as it was asked for: there is nothing to decide
        rules: list[Rule] = ["keys", "slices", *(("every", "none") if is_open else ())]
        best = min((self.way(Storing(rule)) for rule in rules), key=_score)
        if not is_open:
            return
        shapes = [frozenset({shape}) for shape in self.view.definitions]
        for bags in shapes if len(shapes) <= MOST_BAGS else [frozenset(self.view.definitions)]:
            best = min(best, self.way(replace(best.storing, bags=best.storing.bags | bags)), key=_score)
        self.way(replace(best.storing, rows=True))

    @property
    def is_counted(self) -> bool:
        """Whether there is more to go by than declarations."""
        return all(map(self.sizes.statistics.is_counted, self.sizes.tables))

    # -- choosing

    def fits(self, way: Way) -> bool:
        return way.cost is not None and (self.memory is None or way.cost.bytes <= self.memory)

    def best(self, asked: Way, fitting: Sequence[Way]) -> tuple[Way, str]:
        cheapest = min(fitting, key=_score)
        if asked not in fitting:
            return cheapest, (
                f"what was asked for would take {_bytes(asked)}, more than the {self.memory:,} bytes there are: "
                "of what fits, this is cheapest"
            )
        if self.knob != "auto":
            return asked, f'store="{self.knob}" asks for it'
        if not self.is_counted:
            fitting = [way for way in fitting if way.storing in (BY_KEYS, Storing("slices"))]
            cheapest = min(fitting, key=_score)
        if cheapest.score <= CLEARLY * asked.score:
            return cheapest, (
                f"{cheapest.score:,.3g} operations per change and read, where declared keys alone take "
                f"{asked.score:,.3g}"
            )
        if cheapest is asked:
            return asked, "nothing that was considered is cheaper"
        return (
            asked,
            f"by declared keys; the cheapest estimate, {cheapest.score:,.3g}, is not clearly below {asked.score:,.3g}",
        )

    def too_large(self, ways: Sequence[Way]) -> str:
        least = min((way for way in ways if way.cost), key=lambda way: way.cost.bytes if way.cost else 0)
        return f"the least that can be stored takes {_bytes(least)}, and there are {self.memory:,} bytes"


def _score(way: Way) -> float:
    return way.score


def _bytes(way: Way) -> str:
    return f"{way.cost.bytes:,} bytes" if way.cost else "no bytes"
