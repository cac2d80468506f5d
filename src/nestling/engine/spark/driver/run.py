"""Statements run by the driver, where what they read and what changes is little.

Where the key that files are sorted by is not known a source is gone through, and that is known before. How much such a
key finds is not; where it is much, Spark starts over.

Law: it adds what the query of the statements adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import localcontext
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from nestling.calculus.terms import Var
from nestling.engine.protocol import Row
from nestling.engine.spark import limits
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.driver.events import event_rows
from nestling.engine.spark.driver.exact import is_exact, is_kept_in_order, is_key
from nestling.engine.spark.driver.files import Files
from nestling.engine.spark.driver.joined import is_joined, joined, once
from nestling.engine.spark.driver.labelled import is_labelled, labelled_keys
from nestling.engine.spark.driver.lookup import Budget, Found, TooMuchError, all_rows, cells, entries, rows_at
from nestling.engine.spark.driver.values import add_up
from nestling.engine.spark.driver.write import LookUp, Written, written
from nestling.engine.spark.state import LakeState, SourceChange
from nestling.engine.spark.types import arrow_table
from nestling.errors import ChangeError, NoValue
from nestling.program.batches import GROUPS, is_change
from nestling.program.statements import Plan, Statement
from nestling.program.steps import reads
from nestling.values.exact import EXACT

P = ParamSpec("P")
T = TypeVar("T")


def _exactly(method: Callable[P, T]) -> Callable[P, T]:
    """``method``, its sums of decimals with all digits, not with the 28 that Python has by itself."""

    @wraps(method)
    def with_all_digits(*args: P.args, **kwargs: P.kwargs) -> T:
        with localcontext(EXACT):
            return method(*args, **kwargs)

    return with_all_digits


@dataclass
class Driver:
    """What an engine knows of its statements and of its files."""

    files: Files
    _written: dict[int, tuple[Statement, Written | None]] = field(default_factory=dict)

    @_exactly
    def added(self, statements: Sequence[Statement], moment: LakeState) -> dict[str, Any]:
        """What ``statements`` add, by target, summed by key; without the targets that are for Spark."""
        found: dict[str, Any] = {}
        looking = _Looking(self, moment)
        by_target: dict[str, list[Statement]] = {}
        for statement in statements:
            by_target.setdefault(statement.target, []).append(statement)
        for target, mine in by_target.items():
            layout, left = moment.layouts[target], looking.budget.values
            table = self._joined(mine, layout, looking)
            if table is not None:
                found[target] = table
                continue
            looking.budget.values = left
            pairs = self._solved(mine, moment, {target: layout}, looking=looking)
            if pairs is None:
                looking.budget.values = left  # what is too much for one is left for the others
            if pairs is not None:
                sums: dict[Row, Row] = {}
                for some in pairs:
                    add_up(sums, some)
                found[target] = changed(sums, layout)
        return found

    def _joined(self, statements: Sequence[Statement], target: Layout, looking: _Looking) -> Any:
        """What statements on many changed rows add, by Arrow; ``None`` where the rows go one by one, or to Spark."""
        moment = looking.moment
        changes = [moment.changes[name] for s in statements for name in reads(s) if is_change(name)]
        if not any(change.size >= limits.MIN_JOINED_ROWS for change in changes):
            return None
        runs = [self._of(statement, moment, target, ()) for statement in statements]
        some = [run for run in runs if run is not None]
        if (
            any(change.table is None for change in changes)
            or len(some) < len(runs)
            or not all(is_joined(statement, moment.layouts, target) for statement in statements)
            or gone_through(some, moment) > limits.MAX_DRIVER_VALUES
        ):
            return None
        return joined(statements, target, moment, looking.table_at)

    @_exactly
    def answer(
        self, plan: Plan, layout: Layout, moment: LakeState, given: Sequence[Row] | None
    ) -> list[Row] | None:
        """The rows of a plan, for the parameters ``given``, each with how often; ``None`` where that is for Spark."""
        if plan.params and given is None:
            return None
        targets = {statement.target: layout for statement in plan.statements}
        pairs = self._solved(plan.statements, moment, targets, plan.params, given if plan.params else None)
        if pairs is None:
            return None
        found: dict[Row, Row] = {}
        for some in pairs:
            add_up(found, some)
        return [key + amounts for key, amounts in found.items() if any(amounts)]

    def _solved(
        self,
        statements: Sequence[Statement],
        moment: LakeState,
        targets: Mapping[str, Layout],
        params: Sequence[Var] = (),
        given: Sequence[Row] | None = None,
        looking: _Looking | None = None,
    ) -> list[list[tuple[Row, Row]]] | None:
        """The keys and amounts of each statement."""
        sources = {source for statement in statements for source in reads(statement)}
        changes = [moment.changes[name] for name in sources if is_change(name)]
        most = limits.MAX_DRIVER_ROWS * limits.CHANGE_FACTOR
        if any(change.size > most or change.table is None for change in changes):
            return None
        runs = [self._of(statement, moment, targets[statement.target], params) for statement in statements]
        some = [run for run in runs if run is not None]
        if len(some) < len(runs) or gone_through(some, moment) > limits.MAX_DRIVER_VALUES:
            return None
        looking = looking or _Looking(self, moment)
        try:
            return [run.run(partial(looking.for_run, run), [()] if given is None else given) for run in some]
        except TooMuchError:
            return None

    def _of(
        self, statement: Statement, moment: LakeState, target: Layout, params: Sequence[Var]
    ) -> Written | None:
        known = self._written.get(id(statement))
        if known is None:
            layouts = {name: moment.layout(name) for name in reads(statement)}
            exact = is_exact(statement, layouts, target, params)
            known = (statement, written(statement, layouts, params) if exact else None)
            self._written[id(statement)] = known
        return known[1]

    def takes(self, statement: Statement, moment: LakeState, layouts: Mapping[str, Layout]) -> str:
        """Who runs a statement on a small change as things are, and why."""
        if not is_exact(statement, layouts, layouts[statement.target]):
            return "by Spark: a step, or a number, that is Spark's alone"
        values = gone_through([written(statement, layouts)], moment)
        if values > limits.MAX_DRIVER_VALUES:
            most = limits.MAX_DRIVER_VALUES
            return f"by Spark: {values:,} values would be gone through, by the driver at most {most:,}"
        return (
            f"by the driver, without a job: {values:,} values are gone through beside what a first key finds"
        )

    @_exactly
    def matching(
        self, moment: LakeState, name: str, positions: Sequence[int], keys: set[Row]
    ) -> list[Row] | None:
        """The entries that have one of ``keys`` at ``positions``; ``None`` where that is for Spark."""
        stored, layout = moment.stored[name], moment.layouts[name]
        if len(keys) > limits.MAX_DRIVER_ROWS or not all(is_key(layout.keys[p]) for p in positions):
            return None
        try:
            found = entries(self.files, stored, layout, positions, keys, Budget())
        except TooMuchError:
            return None
        return [entry for group in found.values() for entry in group]

    def rows_at(self, moment: LakeState, name: str, asked: Any, most: int) -> Any:
        """The rows of a source, not summed, that have in the one column of ``asked`` some value that is there, as an
        Arrow table, if they are no more than ``most``; ``None`` where that is for Spark."""
        try:
            return rows_at(self.files, moment.stored[name], moment.layouts[name], asked, Budget(entries=most))
        except TooMuchError:
            return None

    def all_rows(self, moment: LakeState, name: str) -> Any:
        """All rows of a source, not summed, as an Arrow table; ``None`` where that is for Spark."""
        try:
            return all_rows(self.files, moment.stored[name], moment.layouts[name])
        except TooMuchError:
            return None

    def has_once(self, paths: Sequence[str]) -> bool:
        """Whether each row in some files is there once, and they say so."""
        return self.files.has_once(paths)

    # -- what changes in a map

    @_exactly
    def events(
        self, moment: LakeState, name: str, aggregates: Sequence[str], added: Sequence[SourceChange]
    ) -> dict[str, list[Row]] | None:
        """The keys of a map to which something is added, by aggregate; ``None`` where that is for Spark."""
        layout = moment.layouts[name]
        ordered = [a for a in aggregates if a not in ("", GROUPS)]
        if not (all(map(is_key, layout.keys)) or (ordered == [*aggregates] and is_kept_in_order(layout))):
            return None
        if (
            any(change.table is None for change in added)
            or sum(change.size for change in added) > limits.MAX_DRIVER_ROWS * limits.CHANGE_FACTOR
        ):
            return None
        change = [row for one in added for row in one.rows or ()]
        looking = _Looking(self, moment)
        try:
            return {a: event_rows(layout, a, change, looking.all_of(name)) for a in aggregates}
        except TooMuchError:
            return None


@dataclass
class _Looking:
    """Look-ups of one stage: what was found once is not read again."""

    driver: Driver
    moment: LakeState
    budget: Budget = field(default_factory=Budget)
    known: dict[LookUp, tuple[set[Row], Found]] = field(default_factory=dict)
    tables: dict[LookUp, tuple[Any, Any]] = field(default_factory=dict)

    def for_run(self, run: Written, number: int, keys: set[Row]) -> Found:
        return self.at(run.lookups[number], keys)

    def at(self, lookup: LookUp, keys: set[Row]) -> Found:
        before = self.known.get(lookup)
        if before is not None and keys <= before[0]:
            return before[1]
        found = self._found(lookup, keys)
        self.known[lookup] = (keys, found)
        return found

    def table_at(self, name: str, place: int, column: Any) -> Any:
        """The rows of a source that have some value of ``column`` at ``place``, as an Arrow table, each key once."""
        import pyarrow.compute as pc

        asked, lookup = pc.unique(column), LookUp(name, (place,))
        before = self.tables.get(lookup)
        if before is None or not before[0].equals(asked):
            before = self.tables[lookup] = asked, self._table_at(name, place, asked)
        return before[1]

    def _table_at(self, name: str, place: int, asked: Any) -> Any:
        import pyarrow as pa

        moment, budget = self.moment, replace(self.budget, entries=limits.MAX_COLLECTED_ROWS)
        stored, layout = moment.stored[name], moment.layouts[name]
        keys = labelled_keys(layout, place, asked)
        values = pa.table({f"k{place}": asked} if keys is None else {"k0": keys})
        try:
            rows = rows_at(self.driver.files, stored, layout, values, budget)
        except TooMuchError:
            return None
        self.budget.values = budget.values
        return rows if moment.is_summed(name) else once(rows, layout)

    def all_of(self, name: str) -> Callable[[Sequence[int], set[Row]], Found]:
        """Looks into one source."""
        return lambda positions, keys: self.at(LookUp(name, tuple(positions)), keys)

    def _found(self, lookup: LookUp, keys: set[Row]) -> Found:
        moment, name = self.moment, lookup.source
        if not is_change(name):
            stored, layout = moment.stored[name], moment.layouts[name]
            return entries(self.driver.files, stored, layout, lookup.positions, keys, self.budget)
        found: Found = {}
        for row in moment.changes[name].rows or ():
            key = tuple([row[p] for p in lookup.positions])
            if key in keys:
                found.setdefault(key, []).append(row)
        return found


def gone_through(runs: Iterable[Written], moment: LakeState) -> int:
    """How many stored values are gone through at least: all there are, where files are sorted by no known key."""
    places = {lookup for run in runs for lookup in run.lookups if not is_change(lookup.source)}
    names = {
        place.source
        for place in places
        if not moment.layouts[place.source].is_sorted_by(place.positions)
        and not is_labelled(moment.layouts[place.source], place.positions)
    }
    return sum(cells(moment.stored[name], moment.layouts[name]) for name in names)


def changed(sums: Mapping[Row, Row], layout: Layout) -> Any:
    """Sums as an Arrow table, those that change something."""
    rows = [key + amounts for key, amounts in sums.items() if any(amounts)]
    try:
        return arrow_table(layout.columns, rows)
    except ChangeError as error:
        raise NoValue(str(error)) from error
