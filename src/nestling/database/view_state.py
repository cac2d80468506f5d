"""What a database knows of a view: its definition, when it follows its tables, and who hears of its changes.

One value per view, never changed: a state that goes back to what it was takes back the values it had.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias

from nestling.calculus.terms import Expr
from nestling.database.definitions import ViewDef
from nestling.database.storing import Decision
from nestling.database.watching import WatchedLevels
from nestling.engine.protocol import Engine
from nestling.program.statements import Program
from nestling.transform.lower import FlatView
from nestling.values.bag import ZBag


class OwnEngine(Protocol):
    """What runs a lazy view: an engine of its own, and the changes that it has not seen."""

    @property
    def waiting(self) -> int:
        """How many changes have not been run yet."""

    def fresh(self) -> Engine:
        """The engine, with all changes seen."""


@dataclass(frozen=True)
class Eager:
    """Its maps follow every change."""

    flat: FlatView


@dataclass(frozen=True)
class Hybrid:
    """Its maps follow every change, but for conditions on aggregates, which wait for a reading."""

    flat: FlatView


@dataclass(frozen=True)
class Lazy:
    """Its maps follow when it is read. ``engine``: once it was."""

    flat: FlatView
    engine: OwnEngine | None = None


@dataclass(frozen=True)
class OnRead:
    """Nothing is stored of it: each reading computes it from the tables. Why, in words and as a code.

    ``program``: what computes it, if not the reference.
    """

    reason: str
    code: str
    program: Program | None = None


Policy: TypeAlias = Eager | Hybrid | Lazy | OnRead


def maintained_by(refresh: str, flat: FlatView) -> Policy:
    """The policy of a view that has maps."""
    if refresh == "lazy":
        return Lazy(flat)
    return Hybrid(flat) if refresh == "hybrid" else Eager(flat)


@dataclass(frozen=True)
class Feed:
    """A change feed that is kept: from which version on, and of how many versions; none: of all."""

    since: int
    versions: int | None = None


@dataclass(frozen=True)
class ViewState:
    """One view."""

    definition: ViewDef
    policy: Policy
    is_constraint: bool = False
    #: What was decided to store of it.
    decision: Decision | None = None
    #: Where the view need not have a value: the query that says where it has none, and its flat form.
    undefined: Expr | None = None
    guard: FlatView | None = None
    #: Its normal form, where nothing had to be made total in it.
    plain: Expr | None = None
    #: Of a view that somebody watches: the levels that are logged; none of one whose answers are compared.
    levels: WatchedLevels | None = None
    #: The last answer, of those.
    compared: ZBag | None = None
    #: Whether somebody hears of every change; and the feed that is kept of them.
    is_told: bool = False
    feed: Feed | None = None

    @property
    def flat(self) -> FlatView | None:
        """Its flat form, if it has maps."""
        return None if isinstance(self.policy, OnRead) else self.policy.flat

    @property
    def on_read(self) -> OnRead | None:
        """Why nothing is stored of it, if nothing is."""
        return self.policy if isinstance(self.policy, OnRead) else None

    @property
    def may_lack_value(self) -> bool:
        """Whether a change is accepted that leaves it without a value: it is told by who reads."""
        return self.definition.refresh == "lazy"

    @property
    def engine(self) -> OwnEngine | None:
        """The engine of its own, of a lazy view that was read."""
        return self.policy.engine if isinstance(self.policy, Lazy) else None


class Views(dict[str, ViewState]):
    """All views by name. It is never changed: ``having`` and ``without`` give another."""

    def having(self, *views: ViewState) -> Views:
        """The same, with these in place of those of their names."""
        return Views(self | {view.definition.name: view for view in views})

    def without(self, name: str) -> Views:
        """The same, but for one view."""
        return Views((other, view) for other, view in self.items() if other != name)

    def changed(self, name: str, **fields: Any) -> Views:
        """The same, some fields of one view having other values."""
        return self.having(replace(self[name], **fields))

    def running(self, name: str, engine: OwnEngine | None) -> Views:
        """The same, where a lazy view has this engine."""
        policy = self[name].policy
        assert isinstance(policy, Lazy)
        return self.changed(name, policy=replace(policy, engine=engine))

    @cached_property
    def definitions(self) -> dict[str, ViewDef]:
        """The definitions by name."""
        return {name: view.definition for name, view in self.items()}

    @cached_property
    def constraints(self) -> dict[str, ViewDef]:
        """The definitions of views that must be empty."""
        return {name: view.definition for name, view in self.items() if view.is_constraint}

    @cached_property
    def maintained(self) -> dict[str, FlatView]:
        """The flat forms of views that have maps."""
        return {name: view.flat for name, view in self.items() if view.flat is not None}

    @cached_property
    def decisions(self) -> dict[str, Decision]:
        """What was decided to store of them."""
        return {name: view.decision for name, view in self.items() if view.decision is not None}

    @cached_property
    def shared(self) -> dict[str, FlatView]:
        """Of these, the views that one program maintains together."""
        return {name: flat for name, flat in self.maintained.items() if name not in self.lazy}

    @cached_property
    def lazy(self) -> dict[str, Lazy]:
        """The views that have an engine of their own."""
        return {name: view.policy for name, view in self.items() if isinstance(view.policy, Lazy)}

    @cached_property
    def hybrid(self) -> set[str]:
        """The views in which changes of conditions wait."""
        return {name for name, view in self.items() if isinstance(view.policy, Hybrid)}

    @cached_property
    def on_read(self) -> dict[str, OnRead]:
        """The views that are computed when they are read."""
        return {name: view.policy for name, view in self.items() if isinstance(view.policy, OnRead)}

    @cached_property
    def engines(self) -> tuple[OwnEngine, ...]:
        """The engines of lazy views."""
        return tuple(policy.engine for policy in self.lazy.values() if policy.engine is not None)

    @cached_property
    def checked(self) -> tuple[str, ...]:
        """The views that have a value after every change, or it is refused, and for which this is not known before.

        On Spark the flat form alone says so.
        """
        return tuple(
            name
            for name, view in self.items()
            if not (view.undefined is None and view.guard is None) and not view.may_lack_value
        )

    @cached_property
    def watched(self) -> dict[str, WatchedLevels]:
        """The levels of views that are watched."""
        return {name: view.levels for name, view in self.items() if view.levels is not None}

    @cached_property
    def guards(self) -> dict[str, FlatView]:
        """The flat forms of the queries that say where views have no value."""
        return {name: view.guard for name, view in self.items() if view.guard is not None}

    @cached_property
    def feeds(self) -> dict[str, Feed]:
        """The change feeds that are kept."""
        return {name: view.feed for name, view in self.items() if view.feed is not None}

    @cached_property
    def told(self) -> set[str]:
        """The views with subscribers or a history."""
        return {name for name, view in self.items() if view.is_told}
