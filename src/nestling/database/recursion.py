"""A recursion that is kept: a table of its own, which nobody changes but what follows from the tables it reads.

Beside the database's engine it has one of its own, which knows of no keys and no references: over the tables that it
reads and its own rows it follows ``S``, the rows that one step makes of them, each in how many ways. The rows are right
where ``T = distinct(S)``, or ``T = S``, and there is no smaller such bag.

* Rows that come: what ``S`` gains comes too, and so on: a round per step, each costs what it adds (semi-naive).
* Rows that go, of a set: whatever has lost a derivation goes, and so on; then what is left with one comes again, with
  what follows from it (delete and re-derive). A cycle that holds itself does not stay.
* Rows that go, of a bag: what ``S`` loses goes, and so on: counts are exact where rows do not lead back to themselves,
  and no others are let in.

What goes is run before what comes: a row that loses one derivation and gains another has lost one. Where the query may
take rows away as its tables grow, all rows go and come again.

Law (7): afterwards the rows are ``calculus.fixpoint.least`` over the tables as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from nestling.calculus.fixpoint import (
    LINEAR,
    MONOTONE,
    Endless,
    Fixpoint,
    adds_rows_alone,
    least,
    makes_no_values,
    power,
)
from nestling.calculus.terms import Empty
from nestling.calculus.typing import check
from nestling.database.answer import answer
from nestling.database.definitions import HIDDEN, TableDef, ViewDef
from nestling.database.inline import inline_views
from nestling.depth import room
from nestling.engine.protocol import Engines, Row, RowEngine
from nestling.errors import ChangeError, NestlingError, QueryError
from nestling.program.statements import Program, TableDecl
from nestling.transform.defined import undefined
from nestling.transform.lower.view import CannotLower
from nestling.transform.normalize import normalize
from nestling.transform.pipeline import EMBEDDED, PASSES, flat_form, flattened, run
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.storing import Storing
from nestling.values.bag import ZBag

#: What tables and fixpoints of recursions are called: this, and the name in the text.
RECURSION = f"{HIDDEN}r "
#: Where a step makes new values, it may do so without end: so many rounds and rows are let in by one change.
MOST_ROUNDS, MOST_ROWS = 10_000, 1_000_000

BOUND = "bound the values that its step makes: … WHERE depth < 20"

Event = tuple[str, Row, int]
#: From the name of a flat table its rows, and how often each is there.
Stored = Callable[[str], Mapping[Row, int]]
_STEP, _LOG, _GUARD = "·step", "·log", "·undefined"


@dataclass(eq=False)
class Recursion:
    """One recursion of a database."""

    fixpoint: Fixpoint
    table: TableDef
    program: Program
    engines: Engines
    #: The tables of which rows that come may take rows away here.
    unsteady: frozenset[str]
    is_finite: bool
    engine: RowEngine | None = None
    #: The rows of ``S``, and in how many ways each is derived.
    derived: dict[Row, int] = field(default_factory=dict)
    #: What the engine has run since the last commit.
    ran: list[Event] = field(default_factory=list)
    is_torn: bool = False
    #: Whether the engine was made in the middle of a transaction, to whose beginning it has no way back.
    is_late: bool = False

    @property
    def name(self) -> str:
        return self.fixpoint.name

    @property
    def text(self) -> str:
        """What users call it."""
        return self.name.removeprefix(RECURSION).partition(" ")[0]

    @property
    def reads(self) -> frozenset[str]:
        """The flat tables that it follows."""
        return frozenset(self.program.tables) - {self.name}

    # -- following

    @room()
    def follow(self, stored: Stored, events: Iterable[Event], is_late: bool = False) -> list[Event]:
        """The rows that come and go here after ``events``, which ``stored`` tables have already; its own are as before.

        ``is_late``: there were others before them in the same transaction.
        """
        change = _summed(event for event in events if event[0] in self.reads)
        if not change:
            return []
        if self.engine is None or self.is_torn:
            self.load(stored, change)
            self.is_late = is_late
        self.is_torn = True
        try:
            total = self._followed(change)
        except ChangeError:
            self.is_torn = False  # it is refused, and undone
            raise
        self.is_torn = False
        return [(self.name, row, times) for row, times in total.items() if times]

    def _followed(self, change: Mapping[tuple[str, Row], int]) -> dict[Row, int]:
        total: dict[Row, int] = {}
        gone = [(name, row, times) for (name, row), times in change.items() if times < 0]
        come = [(name, row, times) for (name, row), times in change.items() if times > 0]
        if any(name in self.unsteady for name, _ in change):
            self._take_all(total)
            self._run([*gone, *come])
            self._log()
            self._add(dict(self.derived), total)
        else:
            self._run(gone)
            again = self._remove(total)
            self._run(come)
            self._add({**again, **self._log()}, total)
        self._check_defined()
        return total

    def start(self, stored: Stored) -> dict[Row, int]:
        """Its rows over ``stored`` tables, among which it is not yet."""
        self.load(lambda name: stored(name) if name != self.name else {}, {})
        self.is_torn = True
        total: dict[Row, int] = {}
        self._add(dict(self.derived), total)
        self._check_defined()
        self.ran, self.is_torn = [], False
        return total

    def load(self, stored: Stored, less: Mapping[tuple[str, Row], int]) -> None:
        """Take up ``stored`` tables as they were before what is to be taken off."""
        engine = self.engines.empty(self.program)
        tables = {name: dict(stored(name)) for name in self.program.tables}
        for (name, row), times in less.items():
            rows = tables[name]
            rows[row] = rows.get(row, 0) - times
            if not rows[row]:
                del rows[row]
        for name, rows in tables.items():
            engine.load_table(name, rows)
        self.engines.fill_maps(engine, [name for name, d in self.program.maps.items() if d.role != "watch"])
        self.engine, self.ran, self.is_torn, self.derived = engine, [], False, {}
        for row, times in engine.flat_rows(_STEP):
            self._derive(row, times)

    def undo(self) -> None:
        """Go back to the last commit."""
        if self.engine is not None and not self.is_torn and not self.is_late:
            self.is_torn = True
            back, self.ran = [(name, row, -times) for name, row, times in reversed(self.ran)], []
            self._run(back)
            self._log()
            self.ran, self.is_torn = [], False
        if self.is_torn or self.is_late:
            self.forget()

    def commit(self) -> None:
        """What was followed is there to stay."""
        self.ran, self.is_late = [], False

    def forget(self) -> None:
        """Take the tables up anew when there is something to follow."""
        self.engine, self.derived, self.ran = None, {}, []
        self.is_torn = self.is_late = False

    # -- steps

    def _run(self, events: Iterable[Event]) -> None:
        assert self.engine is not None
        batches: dict[str, list[tuple[Row, int]]] = {}
        for name, row, times in events:
            batches.setdefault(name, []).append((row, times))
            self.ran.append((name, row, times))
        for name, pairs in batches.items():
            self.engine.batches[name](pairs)

    def _run_own(self, rows: Mapping[Row, int], total: dict[Row, int]) -> None:
        """Have these rows come or go here."""
        self._run((self.name, row, times) for row, times in rows.items())
        for row, times in rows.items():
            total[row] = total.get(row, 0) + times

    def _log(self) -> dict[Row, int]:
        """What the step gained and lost since this was asked."""
        assert self.engine is not None
        found = {row: times for row, times in self.engine.drain(_LOG).items() if times}
        for row, times in found.items():
            self._derive(row, times)
        return found

    def _derive(self, row: Row, times: int) -> None:
        """Note that a row has so many derivations more."""
        total = self.derived.get(row, 0) + times
        if total:
            self.derived[row] = total
        else:
            self.derived.pop(row, None)

    def _take_all(self, total: dict[Row, int]) -> None:
        assert self.engine is not None
        self._run_own({row: -times for row, times in self.engine.table(self.name).items()}, total)

    def _remove(self, total: dict[Row, int]) -> dict[Row, int]:
        """Take what follows from rows that went; what of it has another derivation, to come again."""
        assert self.engine is not None
        engine, over = self.engine, list[Row]()
        while lost := self._log():
            if self.fixpoint.distinct:
                lost = {row: -1 for row in lost if engine.count(self.name, row)}
                over += lost
            self._run_own(lost, total)
        return {row: 1 for row in over if row in self.derived}

    def _add(self, gained: Mapping[Row, int], total: dict[Row, int]) -> None:
        """Let come what the step gained, and what follows from that."""
        assert self.engine is not None
        rounds = rows = 0
        while gained:
            if self.fixpoint.distinct:
                gained = {row: 1 for row in gained if not self.engine.count(self.name, row)}
            if not gained:
                return
            self._run_own(gained, total)
            rounds, rows = rounds + 1, rows + len(gained)
            self._check_end(rounds, rows)
            gained = self._log()

    def _check_end(self, rounds: int, rows: int) -> None:
        assert self.engine is not None
        if not self.fixpoint.distinct and rounds > self.engine.entries(self.name):
            # Of so many rows in a row, each derived from the one before it, two are the same.
            raise ChangeError(
                f"{self.text} would not end: its rows lead back to themselves, and UNION ALL counts every way",
                hint="write UNION, which has each row once; or bound the steps by a counter: … WHERE depth < 20",
            )
        if not self.is_finite and (rounds > MOST_ROUNDS or rows > MOST_ROWS):
            raise ChangeError(
                f"{self.text} does not end within {MOST_ROUNDS:,} rounds and {MOST_ROWS:,} rows of one change",
                hint=BOUND,
            )

    def _check_defined(self) -> None:
        assert self.engine is not None
        if _GUARD in self.program.views and (texts := self.engine.texts(_GUARD)):
            raise ChangeError(f"{self.text} could not be computed: {min(texts)} has no value")


def _summed(events: Iterable[Event]) -> dict[tuple[str, Row], int]:
    total: dict[tuple[str, Row], int] = {}
    for name, row, times in events:
        total[name, row] = total.get((name, row), 0) + times
    return {key: times for key, times in total.items() if times}


def recursion(fixpoint: Fixpoint, tables: Mapping[str, TableDef], engines: Engines) -> Recursion:
    """What keeps ``fixpoint`` over ``tables``; refused where it cannot be maintained."""
    text, query = fixpoint.name.removeprefix(RECURSION), normalize(fixpoint.query)
    check_monotone(fixpoint)
    table = TableDef(fixpoint.name, fixpoint.record)
    if not table.is_flat:
        raise QueryError(
            f"a column of the recursion {text} is a collection or a struct", hint="name its parts as columns"
        )
    declared = {
        name: decl for name in sorted(fixpoint.reads) for name, decl in tables[name].declarations.items()
    }
    declared |= table.declarations
    plain = {name: TableDecl(name, decl.columns) for name, decl in declared.items()}
    try:
        program = _program(fixpoint, plain)
    except (CannotLower, CannotCompile) as error:
        raise QueryError(
            f"the recursion {text} cannot be maintained: {error}",
            hint="write the step as a join of the recursive name with tables",
        ) from None
    deep = frozenset() if adds_rows_alone(query) else frozenset(n for n in fixpoint.reads if tables[n].levels)
    unsteady = {name for name in fixpoint.reads if name in deep or power(query, name) > MONOTONE}
    flat = frozenset(flat for name in unsteady for flat in tables[name].declarations)
    return Recursion(fixpoint, table, program, engines, flat, makes_no_values(query))


def rows_once(fixpoint: Fixpoint, views: Mapping[str, ViewDef], tables: Mapping[str, ZBag]) -> ZBag:
    """The rows of ``fixpoint`` over views and ``tables``, for one reading."""
    over_tables = replace(fixpoint, query=inline_views(fixpoint.query, views))
    check_monotone(over_tables)
    return reached(over_tables, tables)


def reached(fixpoint: Fixpoint, tables: Mapping[str, ZBag]) -> ZBag:
    """Its reference meaning over ``tables``."""
    try:
        return least(fixpoint, tables, MOST_ROUNDS, answer)
    except Endless:
        text = fixpoint.name.removeprefix(RECURSION)
        raise NestlingError(f"{text} does not end within {MOST_ROUNDS:,} rounds", hint=BOUND) from None


def check_monotone(fixpoint: Fixpoint) -> None:
    """Refuse a fixpoint that need not be there, or is another one than SQL's."""
    text, found = fixpoint.name.removeprefix(RECURSION), power(normalize(fixpoint.query), fixpoint.name)
    if found > MONOTONE:
        raise QueryError(
            f"{text} is read where more rows may take rows away",
            hint="a recursive step joins, filters and computes columns; aggregate, and exclude, in the query around it",
        )
    if found > LINEAR and not fixpoint.distinct:
        raise QueryError(
            f"{text} is read twice in one step of UNION ALL", hint="write UNION, or read it once"
        )


def recursions_of(recursions: Mapping[str, Recursion], names: Iterable[str]) -> list[Recursion]:
    """Those among ``names``, and those that they read, in their order."""
    needed = set(names)
    for recursion in reversed(list(recursions.values())):
        if recursion.name in needed:
            needed |= recursion.fixpoint.reads
    return [recursion for recursion in recursions.values() if recursion.name in needed]


def tables_read(recursions: Mapping[str, Recursion], names: Iterable[str]) -> list[str]:
    """The tables among ``names``, and those from which the recursions among them follow."""
    found = set(names).union(*(recursion.fixpoint.reads for recursion in recursions_of(recursions, names)))
    return sorted(found - recursions.keys())


def feeds_recursion(recursions: Mapping[str, Recursion], table: str) -> bool:
    """Whether something follows from the rows of ``table`` beside what its triggers do."""
    return any(table in recursion.reads for recursion in recursions.values())


def costs(
    recursions: Mapping[str, Recursion], names: Iterable[str], entries: Callable[[str], int]
) -> list[str]:
    """What the recursions among ``names`` cost, in words."""
    return [_cost(recursion, entries(recursion.name)) for recursion in recursions_of(recursions, names)]


def check_steady(recursions: Mapping[str, Recursion], view: str, names: Iterable[str]) -> None:
    """Refuse, for a ``view`` that is to cost what a change is worth, a recursion that some change computes anew."""
    for recursion in recursions_of(recursions, names):
        if recursion.unsteady:
            raise QueryError(
                f"{view} is not efficiently incrementalizable: a change of {_anew(recursion)} computes the recursion"
                f" {recursion.text} anew",
                hint="aggregate and exclude in the query around the recursion; or accept it: strict=False",
            )


def _anew(recursion: Recursion) -> str:
    return ", ".join(sorted({name.partition(".")[0] for name in recursion.unsteady}))


def _cost(recursion: Recursion, rows: int) -> str:
    kind = "UNION" if recursion.fixpoint.distinct else "UNION ALL"
    goes = (
        "one that goes takes all that has a derivation by it, and derives again what has another"
        if recursion.fixpoint.distinct
        else "one that goes costs what it takes"
    )
    text = f"the recursion {recursion.text} by {kind} is kept as a table of {rows:,} rows, with an engine of its own"
    found = f"{text}: a row that comes costs what follows from it, {goes}"
    return f"{found}; a change of {_anew(recursion)} computes it anew" if recursion.unsteady else found


def _program(fixpoint: Fixpoint, tables: Mapping[str, TableDecl]) -> Program:
    views = {_STEP: flat_form(fixpoint.query, EMBEDDED)}
    absent = undefined(fixpoint.query)
    check(absent)
    if not isinstance(absent, Empty):
        views[_GUARD] = flattened(run(absent, PASSES), EMBEDDED)
    return compile_views(tables, views, {_LOG: views[_STEP].rows}, {_STEP: Storing("none")})
