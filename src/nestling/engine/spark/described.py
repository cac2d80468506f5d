"""Spark's account of itself: rows in files; and of every statement, who runs it, what it scans, prunes, broadcasts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from nestling.engine.described import Places
from nestling.engine.spark import limits
from nestling.engine.spark.choice import costs, tables_of
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.driver import Driver
from nestling.engine.spark.driver.exact import is_exact
from nestling.engine.spark.driver.write import written
from nestling.engine.spark.linear import is_linear
from nestling.engine.spark.state import LakeState
from nestling.engine.spark.support import change_layouts
from nestling.program.batches import is_change
from nestling.program.show import show_statement
from nestling.program.statements import Find, Measure, Program, Propagate, Range, Statement, Total, Where
from nestling.program.steps import maps_of, trigger_statements


class SparkDescription:
    """A program over one state of its relations; ``driver``: what may run it."""

    def __init__(
        self,
        program: Program,
        now: LakeState,
        driver: Driver | None,
        layouts: Mapping[str, Layout],
    ) -> None:
        self.program, self._now, self._driver, self._own = program, now, driver, layouts

    def entries(self, name: str) -> int:
        return self._now.stored[name].rows

    def bytes(self, name: str, indexes: Iterable[Places]) -> int:
        """Of files as they are stored, and of what the driver holds."""
        stored = self._now.stored[name]
        held = int(stored.recent.nbytes) if stored.recent is not None else 0
        return held + sum(part.bytes for part in stored.files)

    def indexes(self, source: str) -> Collection[Places]:
        return ()  # files are ordered by their keys

    def finds(self, source: str, known: Places) -> float:
        return 1.0 if known else float(self.entries(source)) if source in self._now.stored else 1.0

    def between(self, statement: Statement) -> Sequence[Find]:
        return ()

    def runs(self, statement: Statement) -> list[str]:
        if self._driver is None or statement.target not in self._targets:
            return list(access(statement))  # of a plan: its reading decides
        return [self._driver.takes(statement, self._now, self._layouts), *access(statement)]

    @cached_property
    def _layouts(self) -> Mapping[str, Layout]:
        return {**self._own, **change_layouts(self.program, dict(self._own))}

    @cached_property
    def _targets(self) -> set[str]:
        return {s.target for trigger in self.program.triggers.values() for s in trigger_statements(trigger)}

    def batch(self, table: str, maps: set[str]) -> str:
        passed = maps - self.program.deferred
        actions = self.program.triggers[table].actions
        queries = 1 + sum(isinstance(action, Propagate) and action.map in passed for action in actions)
        return (
            f"a batch is by Spark at least {queries} {'query' if queries == 1 else 'queries'};"
            f" {self._recomputed(table, sorted(maps))}"
        )

    def _recomputed(self, table: str, maps: list[str]) -> str:
        """From how many changed rows on it is cheaper to recompute ``maps``: what triggers cost grows with them."""
        rows, most = limits.MAX_TRANSACTION_ROWS, limits.MAX_PLANNED_ROWS
        while rows <= most:
            both = costs(self.program, self._now, {table: rows}, maps)
            if both.recomputation < both.triggers:
                tables = ", ".join(sorted(tables_of(self.program, maps)))
                return (
                    f"recomputed from {tables} where {rows:,} rows of {table} change, or fewer beside others"
                )
            rows = max(rows + 1, rows * 5 // 4)
        return f"never recomputed for a change of {table} alone"

    def functions(self, view: str, tables: Iterable[str]) -> list[tuple[str, str]]:
        """What the driver runs, a function for each statement on a change of ``tables``."""
        maps = set(maps_of(self.program, view))
        found = []
        for table in tables if self._driver is not None else ():
            mine = [s for s in trigger_statements(self.program.triggers[table]) if s.target in maps]
            for statement in mine:
                if is_exact(statement, self._layouts, self._layouts[statement.target]):
                    source = written(statement, self._layouts).source
                    found.append((f"on {table}: {show_statement(statement)}", source.rstrip()))
        return found


def access(statement: Statement) -> Iterator[str]:
    """What each source costs by Spark, which has no index: what is not the change is scanned."""
    for number, step in enumerate(statement.steps):
        match step:
            case Find(source) if is_change(source):
                yield f"{source}: the change, broadcast"
            case Find(source, _, known, _):
                how = "scanned, met by what was found before" if number else "scanned"
                how = f"{how} on column {', '.join(map(str, known))}" if known else f"{how}, every row"
                how += ", pruned by the statistics of its files" * bool(known and number > 0)
                yield f"{source}: {how}{'' if is_linear(statement, step) else '; summed by key first'}"
            case Measure(_, _, source, _, _, ()):
                yield f"{source}: scanned; summed for the groups that are touched"
            case Range(source) | Measure(_, _, source):
                yield f"{source}: scanned; what lies within bounds is summed: there is no order to look up in"
            case Where(source, _, _, _, measure):
                yield f"{source}: scanned; each entry with its own sum of {measure.source}"
            case Total(_, aggregate, statements):
                for inner in statements:
                    yield from (f"{line}; for {aggregate}" for line in access(inner))
