"""Large changes: Spark checks them, shreds them and compares them with the stored rows; none of them comes to the
driver.

A query finds bad rows; one of them comes to the driver, where the row-by-row check raises its error. Later parts of a
change see the earlier ones.

Law (5, in bulk): the flat rows of a large change are those of its rows one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from nestling.calculus.types import ELEMENT, LABEL, Bag, Path, Record, Type, bag_levels, dictionary_name
from nestling.database.definitions import TableDef
from nestling.database.feed import FEED_COLUMNS, SIGNS, z_bag
from nestling.database.refused import check_removable, key_taken, no_row
from nestling.database.spark.frame_changes import is_feed
from nestling.database.spark.frame_values import canonical, value_of, wrong
from nestling.database.spark.keyed import FlatRows, is_flat_by_key
from nestling.database.spark.keyed_here import fetched, is_right
from nestling.database.spark.large_here import apply_here
from nestling.database.spark.shredding import Column, by_key, flat, leaves, named, numbered
from nestling.engine.spark import limits
from nestling.engine.spark.batch import size
from nestling.engine.spark.frames import table_rows
from nestling.engine.spark.relations import UNCOUNTED, joins_text, summed, touched_by
from nestling.engine.spark.session import settings
from nestling.engine.spark.state import SourceRows, TempView, all_of, register_frame
from nestling.engine.spark.totals import sums_here, totals
from nestling.engine.spark.types import values
from nestling.errors import ChangeError
from nestling.frontend.schema import row_value
from nestling.progress import say
from nestling.quoting import sql_text
from nestling.values.bag import ZBag

if TYPE_CHECKING:
    from nestling.database.spark.state import SparkState


class Large:
    """The rows to add to the flat tables. ``number`` distinguishes the labels of this change from all others."""

    def __init__(self, state: SparkState, number: int) -> None:
        self.state, self.engine, self.number = state, state.running, number
        self.session, self.now = state.running.session, state.running.now
        assert state.running.durable is not None
        self.durable = state.running.durable
        #: What is added to each flat table, and the tables with it.
        self.changes: dict[str, list[TempView]] = {}
        self.then = self.now.next()
        self._views: list[str] = []
        self._totals = 0
        #: How many rows, and bytes of files, came; and the flat tables whose new rows are all different.
        self.came, self.bytes = 0, 0
        self.distinct: set[str] = set()
        #: What flat tables get, where it is here already.
        self.here: dict[str, Any] = {}
        self._plans = ExitStack()

    # -- rows that come here, or stay

    def arrived(self, frame: Any) -> Any:
        """The rows of a DataFrame of any session, as they are now, in ours."""
        return self._arrived(frame, "false")[0]

    def _arrived(self, frame: Any, wrong: str) -> tuple[Any, int]:
        """The same, and how many of them are ``wrong``."""
        say("copying rows")
        rows, number, size, refused = self.durable.arrived(frame, wrong)
        say(f"checking {number:,} rows")
        self.came, self.bytes = self.came + number, self.bytes + size
        most = max(self.came, self.now.most_rows(self.engine.program.tables))
        self._plans.enter_context(settings(self.session, self.engine.spark, most))
        return rows, refused

    @property
    def hint(self) -> str:
        """Keys of the change, as ``d``, are sent to where the state is, unless they are too many."""
        return "/*+ BROADCAST(d) */ " if self.came <= limits.MAX_BROADCAST_ROWS else ""

    def rows_of(self, table: TableDef, frame: Any) -> Any:
        """The rows of a DataFrame of any session, as they are now, in ours, if they are rows of ``table``.

        What is wrong is counted while they are copied.
        """
        rows, refused = self._arrived(frame, _refused(table.record, frame))
        if refused:
            self.check(table.record, rows, lambda row: row_value(table.record, row))
        return rows

    def check(self, record: Record, rows: Any, check: Callable[[Any], object]) -> None:
        """Refuse rows of a DataFrame that are no such records, as ``check`` refuses one of them."""
        for row in rows.where(_refused(record, rows)).limit(1).toArrow().to_pylist():
            found = next(iter(z_bag([row]).items()))[0] if is_feed(rows.columns) else row
            check(found)
            raise ChangeError(
                f"a number in {found} does not fit Spark", hint="decimals have 18 digits after the point"
            )

    def counted(self, record: Record, rows: Any, sign: int, in_order: bool = True) -> str:
        """The records of a DataFrame, ``v``, and how often each comes, ``n``: ``sign`` unless it says so.

        Unless their bags are ``in_order``, they are not to be compared.
        """
        feed = is_feed(rows.columns)
        own = rows.drop(*FEED_COLUMNS) if feed else rows
        signs = " ".join(f"WHEN {sql_text(kind)} THEN {times}L" for kind, times in SIGNS.items())
        n = f"CASE _change_type {signs} END" if feed else f"{sign}L"
        value = canonical(record, "", own.schema, in_order)
        return self.view(rows.selectExpr(f"{value} AS v", f"{n} AS n"))

    def stored(self, name: str, type_: Type, rows: str | None = None, near: str | None = None) -> str:
        """Rows of a flat table as they are stored: ``k0, k1, …``, as values ``v``, and how often, ``n``.

        ``near``: the hint by which inner bags of some ``rows`` are found.
        """
        layout = self.engine.layouts[name]
        found = rows or self.then.summed(name)
        text = table_rows(self.engine.program, self.then, name, type_, found, near)
        keys = [f"o{i} AS k{i}" for i in range(len(layout.keys))]
        return self.query(f"SELECT {', '.join(keys)}, {canonical(type_, 'v')} AS v, n FROM ({text})")

    def total(self, *parts: str) -> str:
        """Counted rows, each once, with a number of its own."""
        return self._totalled(*parts).view

    def _totalled(self, *parts: str) -> TempView:
        rows = " UNION ALL ".join(f"SELECT v, n FROM {part}" for part in parts)
        once = f"SELECT v, SUM(n) AS n FROM ({rows}) GROUP BY v HAVING SUM(n) <> 0"
        self._totals += 1
        prefix = sql_text(f"#{self.number}.{self._totals}.")
        return self._kept(f"SELECT *, concat({prefix}, monotonically_increasing_id()) AS id FROM ({once})")

    def view(self, frame: Any) -> str:
        self._views.append(register_frame(frame, 0).view)
        return self._views[-1]

    def query(self, text: str) -> str:
        return self.view(self.session.sql(text))

    def written(self, text: str) -> str:
        """Rows that are computed once."""
        return self._kept(text).view

    def _kept(self, text: str) -> TempView:
        part = self.durable.write("passing", text)
        self._views.append(part.view)
        return part

    def forget(self) -> None:
        self._plans.close()
        for view in self._views:
            self.session.catalog.dropTempView(view)
        self.then.drop_views(self.now)

    # -- what changes in a table

    def apply(self, table: TableDef, frame: Any, sign: int, width: float | None = None) -> None:
        """The rows of a DataFrame that come and go, or all of which come or go; one takes ``width`` bytes."""
        if apply_here(self, table, frame, sign, width):
            return
        rows = self.rows_of(table, frame)
        if is_flat_by_key(table):
            found = FlatRows(self, table, self.counted(table.record, rows, sign, in_order=False))
            if sign > 0 and not is_feed(frame.columns):
                self._insert_keyed(found)
                return
            if self._changes_keyed(found):
                return
        self._change(table, self.total(self.counted(table.record, rows, sign)))

    def change(self, table: TableDef, counted: str) -> None:
        """Nested rows that come and go, each once."""
        if not is_flat_by_key(table) or not self._changes_keyed(FlatRows(self, table, counted)):
            self._change(table, counted)

    def _insert_keyed(self, rows: FlatRows) -> None:
        if self.came > limits.MAX_FETCHED_ROWS or not self._is_right(rows):
            for key in self.found(rows.table, f"{rows.taken()} LIMIT 1", rows.places):
                raise key_taken(rows.table, key)
        self.distinct.add(rows.table.name)
        self._add_keyed(rows)

    def _changes_keyed(self, rows: FlatRows) -> bool:
        """Apply rows that come and go, if all that go are there and every key stays the key of one row.

        If not, something is to be refused, or what comes and what goes of it are one row, which must be compared.
        """
        if rows.table.append_only or not self._is_right(rows):
            return False
        self._add_keyed(rows)
        return True

    def _is_right(self, rows: FlatRows) -> bool:
        """Arrow compares what few rows were shredded to, which comes here anyway; of more a query does."""
        is_first = not any(name in self.changes for name in rows.rows)
        here = fetched(self.engine, rows) if is_first and self.came <= limits.MAX_FETCHED_ROWS else None
        found = None if here is None else is_right(self.engine, self.then, rows.table, here)
        if found is None:
            wrong = [*rows.differing(), f"SELECT 1 AS one FROM ({rows.taken()})"]
            found = not self.rows(f"SELECT 1 AS one FROM ({' UNION ALL '.join(wrong)}) LIMIT 1")
        elif found:
            self.here |= here or {}
        return found

    def _add_keyed(self, rows: FlatRows) -> None:
        for name, view in rows.rows.items():
            self._add(name, f"SELECT * FROM {view}")

    def _change(self, table: TableDef, counted: str) -> None:
        went, came = (self.query(f"SELECT * FROM {counted} WHERE n {sign} 0") for sign in "<>")
        if self.rows(f"SELECT 1 AS one FROM {went} LIMIT 1"):
            check_removable(table)
            self.delete(table, table.name, table.record, went, lambda row, n: no_row(table, row, n))
        self._insert(table, came)
        self._check_keys(table)

    def parts(self) -> dict[str, Any]:
        """The rows that the flat tables get, here if they are few, else in files."""
        layouts = self.engine.layouts
        found = {
            name: totals(rows, layouts[name])
            for name, rows in self.here.items()
            if len(self.changes.get(name, ())) == 1 and sums_here(layouts[name])
        }
        rows = {name: all_of(views) for name, views in self.changes.items() if name not in found}
        once = {name for name in self.distinct if len(self.changes[name]) == 1}
        found |= self.engine.written(rows, self.came, max(1, self.bytes // limits.BYTES_PER_FILE), once)
        return {name: part for name, part in found.items() if size(part)}

    def rows(self, text: str) -> list[dict[str, Any]]:
        """A few rows, here."""
        found: list[dict[str, Any]] = self.engine.arrow(text).to_pylist()
        return found

    def after(self, name: str, places: Sequence[int], keys: str) -> str:
        """The rows that a table will have and that have one of ``keys``, ``g0, g1, …``, at ``places``."""
        layout = self.engine.layouts[name]
        return summed(touched_by(self.then.raw(name), layout, places, keys, self.hint), layout)

    def _given(self, name: str, places: Sequence[int]) -> str:
        """What stands at ``places`` in the rows that come, as ``g0, g1, …``."""
        columns = ", ".join(f"k{p} AS g{i}" for i, p in enumerate(places))
        return f"SELECT {columns} FROM ({all_of(self.changes[name])}) WHERE m0 > 0"

    def _add(self, name: str, text: str) -> None:
        self.keep(name, TempView(self.query(text), UNCOUNTED))

    def keep(self, name: str, rows: TempView) -> None:
        """Add rows to a flat table."""
        stored = self.then.stored[name]
        self.changes.setdefault(name, []).append(rows)
        self.then.stored[name] = SourceRows((*stored.files, rows), stored.recent)

    # -- rows that go

    def delete(
        self,
        table: TableDef,
        name: str,
        type_: Type,
        went: str,
        missing: Callable[[Any, int], ChangeError],
    ) -> None:
        """Take values of ``type_`` from a flat table of ``table``; ``missing`` refuses one that is not there."""
        layout = self.engine.layouts[name]
        places = list(enumerate(leaves(type_, "v")))
        on = [joins_text(f"a.k{i}", f"d.{at}", t) for i, (at, t) in places if not isinstance(t, Bag)]
        like = summed(
            f"SELECT {self.hint}a.* FROM ({self.then.raw(name)}) a LEFT SEMI JOIN {went} d"
            f" ON {' AND '.join(on) or 'true'}",
            layout,
        )
        keys = ", ".join(layout.key_names)
        # Of equal rows with bags of their own, as many go as are asked for, one after the other.
        before = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
        taken = self.written(
            f"SELECT {keys}, v, n, least(n, greatest(0, wanted - earlier)) AS t FROM (SELECT s.*, -w.n AS wanted,"
            f" coalesce(SUM(s.n) OVER (PARTITION BY s.v ORDER BY {keys} {before}), 0) AS earlier"
            f" FROM {self.stored(name, type_, like, self.hint)} s JOIN {went} w ON s.v = w.v)"
        )
        for row in self.rows(
            f"SELECT w.v, -w.n - coalesce(t.t, 0) AS missing FROM {went} w"
            f" LEFT JOIN (SELECT v, SUM(t) AS t FROM {taken} GROUP BY v) t ON w.v = t.v"
            " WHERE -w.n > coalesce(t.t, 0) LIMIT 1"
        ):
            raise missing(value_of(type_, row["v"]), row["missing"])
        self._delete_below(table, name, f"SELECT {keys} FROM {taken} WHERE t = n")
        self._add(name, f"SELECT {keys}, -t AS m0 FROM {taken} WHERE t > 0")

    def _delete_below(self, table: TableDef, name: str, gone: str) -> None:
        """With the last copy of a row go the bags inside it."""
        for i, inner in enumerate(table.declarations[name].columns):
            if inner.type != LABEL or inner.name == f"{name}.label":
                continue
            layout = self.engine.layouts[inner.name]
            labels = f"SELECT k{i} AS g0 FROM ({gone})"
            rows = self.query(
                summed(touched_by(self.then.raw(inner.name), layout, (0,), labels, self.hint), layout)
            )
            self._delete_below(table, inner.name, f"SELECT * FROM {rows}")
            self._add(inner.name, f"SELECT {', '.join(layout.key_names)}, -m0 AS m0 FROM {rows}")

    # -- rows that come

    def _insert(self, table: TableDef, came: str) -> None:
        columns = list(flat(table, table.record, (), "v", by_key(table, "v") or numbered("id")))
        self._add(table.name, f"SELECT {named(columns)}, n AS m0 FROM {came}")
        self._insert_below(table, columns, "id", came)

    def _insert_below(self, table: TableDef, columns: Sequence[Column], number: str, rows: str) -> None:
        """The elements of the bags in some rows, which have a ``number`` each."""
        for bag in (column.bag for column in columns if column.bag is not None):
            bags = f"SELECT {bag.label} AS l, {number} AS p, {bag.at} AS bag FROM {rows}"
            inner = "concat(p, '.', row_number() OVER (PARTITION BY l ORDER BY e))"
            # What has bags inside is gone through once for each level below.
            once = self.written if any(bag_levels(bag.element)) else self.query
            elements = once(
                f"SELECT l, e, m, {inner} AS p FROM (SELECT l, p, e, count(*) AS m"
                f" FROM ({bags}) LATERAL VIEW explode(bag) AS e GROUP BY l, p, e)"
            )
            self.insert_elements(table, bag.path, bag.element, elements)

    def insert_elements(self, table: TableDef, path: Path, element: Type, rows: str) -> None:
        """Elements ``e`` of bags whose label is ``l``: how often each comes, ``m``, and a number of its own, ``p``."""
        below = (*path, ELEMENT) if isinstance(element, Bag) else path
        columns = [Column("l", LABEL), *flat(table, element, below, "e", numbered("p"))]
        self._add(dictionary_name(table.name, path), f"SELECT {named(columns)}, m AS m0 FROM {rows}")
        self._insert_below(table, columns, "p", rows)

    # -- what is refused

    def _check_keys(self, table: TableDef) -> None:
        places = table.declarations[table.name].key
        if places:
            keys = ", ".join(f"k{i}" for i in places)
            after = self.after(table.name, places, self._given(table.name, places))
            text = f"SELECT {keys} FROM ({after}) GROUP BY {keys} HAVING SUM(m0) > 1 LIMIT 1"
            for row in self.found(table, text, places):
                raise key_taken(table, row)

    def found(self, table: TableDef, text: str, places: tuple[int, ...]) -> list[tuple[Any, ...]]:
        types = [self.engine.layouts[table.name].keys[i] for i in places]
        return values(types, self.engine.arrow(text))

    def differing(self, table: TableDef, rows: Any) -> str:
        """What must come and go so that ``table`` holds the ``rows`` of a DataFrame.

        Where labels are written from keys, flat rows are compared first, and only what they differ in is nested.
        """
        wanted, stored, near = self.counted(table.record, rows, 1), None, None
        if is_flat_by_key(table):
            flat = FlatRows(self, table, self.counted(table.record, rows, 1, in_order=False))
            keys = self._kept(flat.unlike())
            near = "/*+ BROADCAST(d) */ " if keys.rows <= limits.MAX_BROADCAST_ROWS else ""
            layout, places = self.engine.layouts[table.name], list(leaves(table.record, "a.v"))
            on = [joins_text(places[p][0], f"d.g{i}", places[p][1]) for i, p in enumerate(flat.places)]
            wanted = self.query(
                f"SELECT {near}a.* FROM {wanted} a LEFT SEMI JOIN {keys.view} d ON {' AND '.join(on)}"
            )
            named = f"SELECT * FROM {keys.view}"
            stored = summed(touched_by(self.then.raw(table.name), layout, flat.places, named, near), layout)
        return self._unlike(table, wanted, stored, near)

    def replacing(self, table: TableDef, wanted: str, keys: str) -> str:
        """What must come and go so that ``table`` has the rows ``wanted``, ``v`` and ``n``, and no others of ``keys``,
        ``g0, g1, …``."""
        layout, places = self.engine.layouts[table.name], table.declarations[table.name].key
        raw = touched_by(self.then.raw(table.name), layout, places, keys, self.hint)
        return self._unlike(table, wanted, summed(raw, layout), self.hint)

    def _unlike(self, table: TableDef, wanted: str, stored: str | None, near: str | None) -> str:
        there = self.stored(table.name, table.record, stored, near)
        negated = self.query(f"SELECT v, -n AS n FROM {there}")
        found = self._totalled(wanted, negated)
        self.came = found.rows  # what is the same is not looked at again
        return found.view

    def few(self, table: TableDef, counted: str, most: int) -> ZBag | None:
        """Counted rows, here, if they are no more than ``most``."""
        rows = self.rows(f"SELECT v, n FROM {counted} LIMIT {most + 1}")
        return (
            None if len(rows) > most else ZBag((value_of(table.record, row["v"]), row["n"]) for row in rows)
        )


def _refused(record: Record, rows: Any) -> str:
    """The condition that a row of a DataFrame is no such record, or says nothing known of what happened to it."""
    feed = is_feed(rows.columns)
    kinds = ", ".join(map(sql_text, SIGNS))
    unknown = f"_change_type IS NULL OR _change_type NOT IN ({kinds}) OR " if feed else ""
    return unknown + wrong(record, (rows.drop(*FEED_COLUMNS) if feed else rows).schema)
