"""Trigger programs: maps, and the statements that update them when a row of a table is inserted or deleted.

A program is a list of maps with their definitions, one trigger per table, and one plan per view for reading. A
statement is a loop nest written as steps, ending in amounts to add to one entry of a map. Every step says which
of its arguments are known beforehand, so an engine knows the indexes it needs from the steps alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from nestling.calculus.terms import Term, Var
from nestling.calculus.types import Type
from nestling.program.flat import Bound, Query, Shape

Step: TypeAlias = "Find | Range | Where | Check | Each | Measure | Total | Combine | Assign | NewAndOld"
Action: TypeAlias = "Add | Write | Propagate"

#: How the last key of a map is kept: in no order, in order for the sake of its ``values``, or so that the measures of
#: the keys below or above a bound are summed in logarithmic time.
Order: TypeAlias = Literal["", "values", "sums"]


@dataclass(frozen=True, slots=True)
class TableDecl:
    """A stored table, or the dictionary of a nested column (its first column is the label).

    ``references``: columns that hold the key of a row of another table, never null. The row comes before and goes after
    all that refer to it. ``append_only``: rows neither go nor change. ``fixed``: columns that never change in a row
    whose key stays.
    """

    name: str
    columns: tuple[Var, ...]
    key: tuple[int, ...] = ()
    references: tuple[tuple[tuple[int, ...], str], ...] = ()
    append_only: bool = False
    fixed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MapDecl:
    """A stored map: measures under keys, always equal to the meaning of its query.

    ``role`` is what it is for: ``rows`` (part of a view's answer), ``bags`` (inner bags, whole), ``aux`` (a delta's
    partner), ``lift`` and ``count`` (read by an aggregate or a count-wise operator), ``watch`` (what was added to
    the query since it was last emptied: a change log, and the one role whose map is not equal to its query).
    ``order``: how the last key is kept. ``positive``: its counts cannot be negative, so an entry whose count is zero
    is gone.
    """

    name: str
    query: Query
    role: str
    why: str
    order: Order = ""
    positive: bool = False

    @property
    def ordered(self) -> bool:
        return bool(self.order)

    @property
    def columns(self) -> tuple[Var, ...]:
        return self.query.keys

    @property
    def width(self) -> int:
        return self.query.width


@dataclass(frozen=True, slots=True)
class Find:
    """For every entry of ``source`` that agrees with ``args`` at the ``known`` positions: bind the rest.

    ``counts`` name the entry's measures (for a table, its multiplicity). Unused variables are ``None``.
    """

    source: str
    args: tuple[Term, ...]
    known: tuple[int, ...]
    counts: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """Bind ``counts`` to the measures of ``source`` summed over the group ``args`` and the last keys within ``bounds``.

    Where there are none these are zeros.
    """

    source: str
    args: tuple[Term, ...]
    bounds: tuple[Bound, ...]
    counts: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """Go on only where ``test`` is true."""

    test: Term


@dataclass(frozen=True, slots=True)
class Each:
    """For every element of the opaque bag ``bag``: bind ``pattern``, and ``count`` to its multiplicity."""

    bag: Term
    pattern: Term
    count: Var


@dataclass(frozen=True, slots=True)
class Measure:
    """Bind ``var`` to ``aggregate`` of the group ``args`` of ``source``; a group without rows has a value too.

    ``measures`` says which measures of the map the aggregate reads, count first; ``bounds``, which last keys.
    """

    var: Var
    aggregate: str
    source: str
    args: tuple[Term, ...]
    measures: tuple[int, ...]
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True, slots=True)
class Where:
    """Bind ``counts`` to the measures of ``source`` summed over the last keys of the group ``args`` that pass ``test``.

    The test is of what ``measure`` binds, an aggregate of what another map has beyond the last key, ``key``; and it is
    monotone in it, so where no measure is negative it holds on one side of some key.
    """

    source: str
    args: tuple[Term, ...]
    counts: tuple[Var, ...]
    key: Var
    measure: Measure
    test: Term


@dataclass(frozen=True, slots=True)
class Total:
    """Bind ``var`` to ``aggregate`` of the sum of ``statements``, computed on the spot.

    They have no keys; of an aggregate of values one, the value.
    """

    var: Var
    aggregate: str
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Combine:
    """Bind ``var`` to ``operator(counts)``, less ``operator(minus)`` if given; go on where it is not zero."""

    var: Var
    operator: str
    counts: tuple[Term, ...]
    minus: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Assign:
    """Bind ``var`` to ``term``."""

    var: Var
    term: Term


@dataclass(frozen=True, slots=True)
class NewAndOld:
    """Run the rest for the new value with sign +1 and for the old one with −1; skip if they are equal.

    ``var`` is bound to ``aggregate`` read off the measures ``new`` or ``old``; for an ordered map these are the values
    themselves.
    """

    var: Var
    sign: Var
    aggregate: str
    new: tuple[Term, ...]
    old: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """``target[keys] += amounts`` for every solution of ``steps``; ``text`` says it in the calculus' words."""

    target: str
    keys: tuple[Term, ...]
    amounts: tuple[Term, ...]
    steps: tuple[Step, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Add:
    """Run a statement and add to its target at once, or ``later``: collected, and added by ``Propagate``."""

    statement: Statement
    later: bool = False


@dataclass(frozen=True, slots=True)
class Write:
    """Add the row itself to its table; of an update, put the new row in the place of the old one."""

    table: str


@dataclass(frozen=True, slots=True)
class MapEvent:
    """A change of one map at one key, as the statements it sets off see it.

    ``keys`` name the key, ``old`` and ``new`` the measures before and after. With ``aggregate``, of a map in order of
    its values: ``keys`` name the group, ``old`` and ``new`` its aggregate.
    """

    keys: tuple[Var, ...]
    old: tuple[Var, ...]
    new: tuple[Var, ...]
    aggregate: str = ""


@dataclass(frozen=True, slots=True)
class Propagate:
    """Add what was collected for ``map``, running ``actions`` on the change of each key.

    They see other maps as they are, and this one as it was: before the change of that key (of an ordered map,
    that group).
    """

    map: str
    events: tuple[tuple[MapEvent, tuple[Add, ...]], ...]


@dataclass(frozen=True, slots=True)
class Trigger:
    """What to do when a row ``columns`` of ``table`` is added ``times`` times (negative: removed)."""

    table: str
    columns: tuple[Var, ...]
    times: Var
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class RowUpdate:
    """What to do when the row ``old`` of ``table`` becomes ``columns``, under the same key.

    Columns that an update leaves as they are, the key among them, are the same variables in both. Statements see
    everything as it was before: each has what the old row no longer adds or what the new one does, behind a test that
    some column it uses differs.
    """

    table: str
    old: tuple[Var, ...]
    columns: tuple[Var, ...]
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """How to read rows, given ``params``: every statement adds to the answer.

    The first ``skipped`` keys are the parameters themselves, and not part of a row.
    """

    params: tuple[Var, ...]
    statements: tuple[Statement, ...]
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Note:
    """A ``part`` of a view that is not stored as it was asked for: ``why``, and in a word, ``code``."""

    part: str
    code: str
    why: str


@dataclass(frozen=True, slots=True)
class ViewPlan:
    """How to read a view: its rows, those with a given first column, and the inner bag of a label by its shape."""

    name: str
    element: Type
    rows: Plan
    lookup: Plan | None
    definitions: Mapping[Shape, Plan]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """Tables, maps, triggers and views.

    ``updates`` are the triggers of rows that change under their key. ``totals`` finds in a watched query the rows that
    a log speaks of, by their ``exact_columns``. The triggers collect changes of the ``deferred`` maps, and the next
    reading propagates them. Updates of ``patient`` tables wait for it as well (``program/waiting``).
    """

    tables: Mapping[str, TableDecl]
    maps: Mapping[str, MapDecl]
    triggers: Mapping[str, Trigger]
    views: Mapping[str, ViewPlan]
    totals: Mapping[str, Plan] = field(default_factory=dict)
    deferred: frozenset[str] = frozenset()
    updates: Mapping[str, RowUpdate] = field(default_factory=dict)
    patient: frozenset[str] = frozenset()
