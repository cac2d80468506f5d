"""The engine that runs a program on Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from copy import copy
from functools import partial
from typing import Any

from nestling.engine.described import Places
from nestling.engine.protocol import Batch, Row, consolidated, inner_first, is_inner
from nestling.engine.spark import limits
from nestling.engine.spark.arriving import Arriving, nothing_arrives
from nestling.engine.spark.batch import restricted, run_batch, size
from nestling.engine.spark.choice import recomputed_maps, recomputed_views, transaction_rows
from nestling.engine.spark.columns import DEFERRED, Layout, deferred_name, layouts
from nestling.engine.spark.deferred import propagate_deferred
from nestling.engine.spark.described import SparkDescription
from nestling.engine.spark.driver import Driver
from nestling.engine.spark.driver.files import Files
from nestling.engine.spark.durable import Definitions, EngineLake
from nestling.engine.spark.fetched import Fetched
from nestling.engine.spark.filling import Filling, filled, no_filling
from nestling.engine.spark.held import HeldRows
from nestling.engine.spark.reading import Reading
from nestling.engine.spark.relations import at_most, difference, placed, summed
from nestling.engine.spark.session import TooManyError, own_session, settings
from nestling.engine.spark.snapshots import Snapshots
from nestling.engine.spark.stage import Sink, arrow
from nestling.engine.spark.state import LakeState, SourceRows, register_frame
from nestling.engine.spark.support import check_program
from nestling.engine.spark.totals import sums_here, totals
from nestling.engine.spark.types import arrow_table
from nestling.engine.spark.verify import wrong_maps
from nestling.errors import NoValue
from nestling.program.meaning import meaning
from nestling.program.statements import Program
from nestling.program.steps import maps_of, needed
from nestling.progress import say, shown
from nestling.storage.lake import Lake
from nestling.values.label import Label


class SparkEngine(Reading):
    """Runs a program for batches over relations of its own.

    Law (17): after the same batches it has the tables, maps and answers of the reference engine.
    """

    driver: Driver
    #: Rows are fetched, and many at once cost what one does.
    is_remote = True
    name = "Spark"
    has_snapshots = True

    def __init__(
        self,
        program: Program,
        spark: Any,
        lake: Lake | None = None,
        keys: Mapping[str, str] | None = None,
        kept: Mapping[str, Layout] | None = None,
        filling: Filling = no_filling,
        arriving: Arriving = nothing_arrives,
    ) -> None:
        """``kept``: relations that no statement writes, and that a commit may add to. ``filling``: see ``computed``.
        ``arriving``: the rows of tables that are new, or stored anew."""
        self.program, self.filling = program, filling
        self.spark, self.session = spark, own_session(spark)
        self.layouts = layouts(program) | dict(kept or {})
        self.check()
        self.durable = EngineLake(lake, self.session, self.layouts, keys or {}) if lake is not None else None
        self._fetched = Fetched(self)
        self.driver = Driver(Files(None if lake is None else lake.store))
        came = {} if self.durable is None else arriving(self.durable)
        stored = {} if self.durable is None else {**self.durable.load(came.keys()), **came}
        self.snapshots = Snapshots(self._empty())
        self.now.stored |= stored
        #: The views that the last batch recomputed, and the maps.
        self.recomputed: tuple[str, ...] = ()
        self.recomputed_maps: Set[str] = frozenset()
        #: The maps that were not there, and have been computed.
        self.built = {name for name in program.maps if name not in stored} - self.watched
        if self.durable is not None:
            late = {key for key in self.durable.held if key.startswith(DEFERRED)}
            if late and (self.built or not late <= set(self.durable.keys.values())):
                # What waits is not for these maps.
                self.built = set(program.maps) - self.watched
                self.now.stored |= {deferred_name(name): SourceRows() for name in program.deferred}
            self._build(self.built)

    @property
    def now(self) -> LakeState:  # type: ignore[override]  # it is replaced, not set
        """The state as this thread sees it."""
        return self.snapshots.seen

    @property
    def note(self) -> dict[str, Any]:
        """What was stored with the last change."""
        return {} if self.durable is None else dict(self.durable.note)

    @property
    def is_torn(self) -> bool:
        """Whether something was raised while folder and memory moved on."""
        return self.durable is not None and self.durable.lake.is_ahead

    @property
    def watched(self) -> set[str]:
        """The maps that log what one batch changed."""
        return {name for name, decl in self.program.maps.items() if decl.role == "watch"}

    def check(self) -> None:
        """Reject a program that Spark cannot run: writes every statement once, over empty tables."""
        check_program(self.program, self.layouts)

    def _empty(self) -> LakeState:
        """The maps of empty tables: an entry that depends on no row exists from the start."""
        most = None if self.durable is None else limits.MAX_ROWS_PER_TASK
        stored = {name: SourceRows() for name in self.layouts}
        moment = LakeState(self.session, self.layouts, stored, self.driver, most=most)
        nothing: dict[str, dict[Row, int]] = {name: {} for name in self.program.tables}
        for name, decl in self.program.maps.items():
            cells = {} if decl.role == "watch" else meaning(decl.query, nothing)
            moment.add(name, self._table(name, ((*key, *cell) for key, cell in cells.items())))
        return moment

    def _build(self, maps: Set[str]) -> None:
        """Compute ``maps`` from the tables."""
        if maps:
            scratch = self.computed(self.now, maps)
            self.now.stored |= {name: scratch.stored[name] for name in maps}

    def computed(self, moment: LakeState, maps: Set[str]) -> LakeState:
        """``maps`` of the tables of ``moment``, in bulk: each by a query, where a program says by which."""
        most = moment.most_rows(self.program.tables)
        sink = self._sink(most, broadcast=False)
        filling = None if maps & self.watched else self.filling(self.program, maps)
        with shown("definition"), settings(self.session, self.spark, most):
            if filling is None:
                return self._triggered(moment, maps, sink)
            return filled(filling, moment, maps, sink)

    def _triggered(self, moment: LakeState, maps: Set[str], sink: Sink | None) -> LakeState:
        """The same by triggers, as if each table were one change of an empty one."""
        scratch = self._empty()
        for name in self.program.deferred:
            del scratch.stored[deferred_name(name)]  # nothing waits
        kept = set(needed(self.program, sorted(maps)))
        parts = []
        for name in inner_first(self.program):
            if moment.stored[name].rows:
                rows = self.session.sql(moment.summed(name))
                parts.append(register_frame(rows, moment.stored[name].rows))
                trigger = restricted(self.program.triggers[name], kept)
                run_batch(scratch, [(trigger, parts[-1])], sink)
        for part in parts:
            self.session.catalog.dropTempView(part.view)
        return scratch

    def _sink(self, rows: int, broadcast: bool) -> Sink | None:
        return (
            None
            if self.durable is None or self.durable.lake.is_readonly
            else Sink(partial(self.durable.write, is_summed=True), rows, broadcast)
        )

    def discard(self) -> None:
        """Remove the files of a computed state that is not stored."""
        if self.durable is not None:
            self.durable.lake.discard()

    def _table(self, name: str, rows: Iterable[Row]) -> Any:
        return arrow_table(self.layouts[name].columns, rows)

    # -- what it says of itself

    def described(self) -> SparkDescription:
        """Rows in files, and for every statement who runs it."""
        return SparkDescription(self.program, self.now, self.driver, self.layouts)

    def entries(self, name: str) -> int:
        """How many rows a table or map has, as they are stored: what is added once more is another row."""
        return self.now.stored[name].rows

    def view_bytes(self, view: str) -> int:
        """Of the files of its maps, and of what the driver holds of them."""
        described = self.described()
        return sum(described.bytes(name, ()) for name in maps_of(self.program, view))

    @property
    def transaction_rows(self) -> int:
        """Rows of its tables up to which a change is checked and shredded by the driver."""
        return transaction_rows(self.program, self.now)

    def fits(self, rows: int) -> bool:
        """Whether so many rows of its tables may come to the driver."""
        return rows <= self.transaction_rows

    def differing(self, maps: Iterable[str]) -> list[str] | None:
        """Those of ``maps`` that are not what their queries say: Spark computes them anew, and compares."""
        return wrong_maps(self, set(maps))

    # -- rows that a change looks up

    def prefetch(self, table: str, places: Places, parts: Iterable[Row]) -> None:
        """Find rows that will be looked up, by what stands at ``places``, in one query."""
        self._fetched.fetch(table, places, parts)

    def having(self, table: str, places: Places, part: Row) -> dict[Row, int]:
        """The rows that have ``part`` at ``places``."""
        return self._fetched.having(table, places, part)

    def by_key(self, table: str, key: Row) -> Row | None:
        """The row of a keyed table."""
        return next(iter(self.having(table, self.program.tables[table].key, key)), None)

    def count(self, table: str, row: Row) -> int:
        """How often ``row`` is in ``table``."""
        places = self.program.tables[table].key or tuple(range(len(row)))
        if is_inner(self.program.tables[table]) and self._fetched.has(table, (0,), row[:1]):
            places = (0,)  # the whole bag is here already
        return self.having(table, places, tuple([row[i] for i in places])).get(row, 0)

    def under(self, dictionary: str, label: Label) -> dict[Row, int]:
        """The rows of an inner bag of a table, without their label."""
        return {row[1:]: n for row, n in self.having(dictionary, (0,), (label,)).items()}

    def held(self, table: str) -> HeldRows:
        """All rows of a keyed table, which stay here from now on."""
        now = self.now
        if table not in now.held:
            now.held[table] = HeldRows(self.table(table), self.layouts[table])
        return now.held[table]

    # -- changes

    def apply_batch(self, changes: Batch, note: Mapping[str, Any] | None = None) -> None:
        """Add rows to tables and update every map, atomically; the epoch stores ``note``."""
        moment, large = self.after(self.tables_of(changes))
        self.store(moment, note or {}, large)

    def tables_of(self, changes: Batch) -> dict[str, Any]:
        """A batch as Arrow tables that have each row once."""
        return {
            name: self._table(name, ((*row, n) for row, n in consolidated(rows).items()))
            for name, rows in changes.items()
        }

    def after(
        self, changes: Mapping[str, Any], large: bool = False, late: Mapping[str, Any] | None = None
    ) -> tuple[LakeState, bool]:
        """The state after ``changes``, and whether they, or their consequences, are large and in files.

        ``late``: deferred changes of maps, to be propagated.
        """
        large = (
            large or sum(map(size, (*changes.values(), *(late or {}).values()))) > limits.MAX_COLLECTED_ROWS
        )
        rows = sum(map(size, (*changes.values(), *(late or {}).values())))
        sink = self._sink(rows, rows <= limits.MAX_BROADCAST_ROWS) if large else None
        try:
            with settings(
                self.session,
                self.spark,
                max(rows, self.now.most_rows(self.program.tables)) if large else rows,
            ):
                moment = self._run(changes, sink, late)
                return moment, large or bool(self.recomputed_maps)
        except NoValue:
            # A state in between had no value; what the rows come to may have one.
            return self._recomputed(changes, sink), large
        except TooManyError:
            return self.after(changes, True, late)

    def flush(self) -> None:
        """Pass on what waits in hybrid views, and store what follows."""
        names = {name: deferred_name(name) for name in sorted(self.program.deferred)}
        late = {name: self.gathered(own) for name, own in names.items() if self.now.stored[own].rows}
        if late:
            moment, large = self.after({}, late=late)
            self.store(moment, {} if self.durable is None else self.durable.note, large)

    def store(self, moment: LakeState, note: Mapping[str, Any], large: bool) -> None:
        """Commit ``moment``; ``large``: its additions are in files already."""
        if self.durable is None:
            self.snapshots.replace(moment)
            return
        with self.durable.lake.moving():
            if large:
                self.snapshots.replace(self.durable.tidy(moment, note=note), moment, files=True)
            else:
                self.durable.append(note, moment)
                self.snapshots.replace(moment)

    def beside(self, program: Program, now: LakeState | None = None) -> SparkEngine:
        """An engine for another program over the same relations, for reading and to try out a change."""
        engine = copy(self)
        engine.program, engine.snapshots = program, Snapshots(now or self.now)
        engine._fetched = Fetched(engine)
        return engine

    def tidy(self) -> bool:
        """Flush the log, if it is due, and merge some files; returns whether the log was flushed."""
        if self.durable is None:
            return False
        is_due = self.durable.is_due(self.now)
        if is_due:
            self.tidied()
        self.compact()
        return is_due

    def compact(self) -> None:
        """Merge some files: as many as delay the next change by little."""
        if self.durable is not None:
            with self.durable.lake.moving():
                after = self.durable.compacted(self.now)
                if after is not None:
                    self.snapshots.replace(after, files=True)

    def tidied(self, definitions: Definitions | None = None) -> None:
        """Flush the log to files."""
        if self.durable is not None:
            with self.durable.lake.moving():
                self.snapshots.replace(self.durable.tidy(self.now, definitions), files=True)

    def gathered(self, name: str) -> Any:
        """The additions to a relation, summed by key: an Arrow table, or files if they are large."""
        stored, layout = self.now.stored[name], self.layouts[name]
        if not stored.files and stored.rows <= limits.MAX_COLLECTED_ROWS and sums_here(layout):
            return totals(stored.recent, layout)
        text = difference(self.now.raw(name), layout)
        if self.durable is None or stored.rows <= limits.MAX_COLLECTED_ROWS:
            return self.arrow(text)
        part = self.durable.write("passing", text)
        return part if part.rows > limits.MAX_COLLECTED_ROWS else self.here(part)

    def _run(
        self, changes: Mapping[str, Any], sink: Sink | None = None, late: Mapping[str, Any] | None = None
    ) -> LakeState:
        moment = self.now.next()
        some = [name for name in inner_first(self.program) if name in changes and size(changes[name])]
        redone: Set[str] = frozenset()
        sizes = {name: size(changes[name]) for name in some}
        if self.durable is not None and late is None and sum(sizes.values()) > limits.MAX_TRANSACTION_ROWS:
            redone = recomputed_maps(self.program, moment, sizes)
        triggers = self.program.triggers
        if redone:
            triggers = {n: restricted(t, self.program.maps.keys() - redone) for n, t in triggers.items()}
        self.recomputed_maps, self.recomputed = redone, recomputed_views(self.program, redone)
        try:
            run_batch(moment, [(triggers[name], changes[name]) for name in some], sink)
            if redone:
                scratch = self.computed(moment, redone)
                for name in redone:
                    moment.added.pop(name, None)
                    moment.stored[name] = scratch.stored[name]
            if late is not None:
                propagate_deferred(moment, self.program, late, sink)
        except BaseException:
            moment.drop_views(self.now)
            raise
        return moment

    def _recomputed(self, changes: Mapping[str, Any], sink: Sink | None = None) -> LakeState:
        """The state after ``changes``, its maps recomputed from the new tables."""
        moment = self.now.next()
        for name, rows in changes.items():
            moment.add(name, rows)
        for name in self.program.deferred:
            moment.empty(deferred_name(name))
        scratch = self.computed(moment, set(self.program.maps))
        before = self.computed(self.now, self.watched) if self.watched else moment
        for name in self.program.maps:
            new, old = scratch.raw(name), (before if name in self.watched else moment).raw(name)
            layout = self.layouts[name]
            negated = ", ".join([*layout.key_names, *(f"-m{i} AS m{i}" for i in range(len(layout.measures)))])
            text = difference(f"{new} UNION ALL SELECT {negated} FROM ({old})", layout)
            moment.add(name, sink(name, text) if sink else arrow(moment, text))
        return moment

    def written(
        self, changes: Mapping[str, str], came: int, files: int = 1, once: Set[str] = frozenset()
    ) -> dict[str, Any]:
        """What queries add to tables, each row once: as Arrow tables if that is few, else in so many ``files`` each.

        They are made from so many rows that ``came``: of not too many, what they are made to comes to the driver.
        ``once``: the tables to which no row is added twice.
        """
        assert self.durable is not None
        few = came <= limits.MAX_FETCHED_ROWS
        parts: dict[str, Any] = {}
        for number, (name, text) in enumerate(changes.items(), 1):
            say(f"writing {name}, {number} of {len(changes)}")
            rows = f"SELECT {', '.join(self.layouts[name].names)} FROM ({text})"
            part = self._few(name, rows) if few else None
            few = part is not None
            if part is None:
                text = placed(rows, self.layouts[name], files, name in once)
                part = self.durable.write(name, text, is_placed=True, is_summed=True)
            parts[name] = part
        return {name: part for name, part in parts.items() if size(part)}

    def _few(self, name: str, text: str) -> Any:
        """The rows of a query, each once, here; ``None`` if they are too many."""
        layout = self.layouts[name]
        try:
            if sums_here(layout):
                return totals(self.arrow(at_most(limits.MAX_ROWS_PER_TASK, text)), layout)
            return self.arrow(at_most(limits.MAX_ROWS_PER_TASK, difference(text, layout)))
        except TooManyError:
            return None

    def keep(self, name: str, condition: str) -> None:
        """Delete the rows of a relation for which ``condition`` does not hold."""
        assert self.durable is not None
        rows = f"SELECT * FROM ({summed(self.now.raw(name), self.layouts[name])}) WHERE {condition}"
        moment = self.now.next()
        moment.stored[name] = SourceRows((self.durable.write(name, rows),))
        self.snapshots.stored = moment
