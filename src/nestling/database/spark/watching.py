"""The change of a view by a batch, element by element: delivered to subscribers, and stored as a change feed.

The maps of role ``watch`` log what one batch changed at each level of a view. Before the batch is stored they are
removed from it: subscribers receive changes made from them once it is stored, and a feed stores them as rows with a
version and a time, in a relation of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from nestling.calculus.types import INT, Scalar, Type, leaf_types
from nestling.database.rows import Row
from nestling.database.view_state import ViewState
from nestling.database.watching import WatchedLevels
from nestling.engine.nesting import nested, shape
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.reading import Reading
from nestling.engine.spark.relations import summed
from nestling.engine.spark.state import LakeState, TempView
from nestling.engine.spark.terms import literal
from nestling.engine.spark.types import arrow_type, values
from nestling.errors import NestlingError
from nestling.program.traverse import exact_columns
from nestling.quoting import sql_name, sql_text
from nestling.transform.viewlet.watch import Watch
from nestling.values.bag import ZBag
from nestling.values.label import Label


def feed_name(level: Watch) -> str:
    """What the relation of a level's feed is called."""
    return f"·feed of {level.name.lstrip('·')}"


def feed_layout(level: Watch) -> Layout:
    """Version and time of a commit, then the columns of what came or went, and how often."""
    return Layout((INT, Scalar("datetime"), *(key.type for key in level.query.keys)))


# -- when a batch is about to be stored


def record(
    engine: SparkEngine, moment: LakeState, level: Watch, rows: Any, coming: tuple[int, datetime]
) -> None:
    """Add what a batch changed at a level to its feed."""
    name, (version, time) = feed_name(level), coming
    columns = [f"k{i}" for i in range(len(level.query.keys))]
    if isinstance(rows, TempView):
        assert engine.durable is not None
        named = ", ".join(f"{column} AS k{i + 2}" for i, column in enumerate(columns))
        commit = f"{version}L AS k0, {literal(time)} AS k1"
        text = f"SELECT {commit}{', ' * bool(columns)}{named}, m0 FROM {rows.view}"
        moment.add(name, engine.durable.write(name, text))
        return
    import pyarrow as pa

    head = [pa.array([version] * rows.num_rows, arrow_type("BIGINT")),
            pa.array([time] * rows.num_rows, arrow_type("TIMESTAMP_NTZ"))]  # fmt: skip
    moment.add(name, pa.Table.from_arrays([*head, *rows.columns], names=engine.layouts[name].names))


class Logged:
    """What a batch logged of a view, and the view as it is then: all that the reader of changes asks for."""

    def __init__(
        self, engine: Reading, view: str, levels: WatchedLevels, logs: Mapping[str, Sequence[Any]]
    ) -> None:
        self.engine, self.view = engine, view
        self.logs = {level.name: self._counted(level, logs.get(level.name, ())) for level in levels}
        self._under: dict[Label, list[tuple[Row, int]]] = {}
        self._totals: dict[str, dict[Row, int]] = {level.name: {} for level in levels}
        if any(self.logs.values()):
            self._fetch(levels)

    def _counted(self, level: Watch, tables: Iterable[Any]) -> dict[Row, int]:
        layout = self.engine.layouts[level.name]
        total: dict[Row, int] = {}
        for rows in tables:
            for *key, times in values([type_ for _, type_ in layout.columns], rows.select(layout.names)):
                total[tuple(key)] = total.get(tuple(key), 0) + times
        return {key: times for key, times in total.items() if times}

    def _fetch(self, levels: WatchedLevels) -> None:
        """All that will be asked for, a level at a time."""
        keys = {level.name: dict.fromkeys(self.logs[level.name]) for level in levels}
        for level in reversed(levels[1:]):
            keys[level.outer] |= dict.fromkeys(key[: level.before] for key in keys[level.name])
        for name, plan in self.engine.program.totals.items():
            if keys.get(name):
                places = exact_columns(self.engine.program.maps[name].query)
                asked = dict.fromkeys(tuple(key[i] for i in places) for key in keys[name])
                for row, times in self.engine.rows(plan, list(asked)):
                    self._totals[name][row] = self._totals[name].get(row, 0) + times
        self.look_under(value for found in keys.values() for key in found for value in key)

    def look_under(self, found: Iterable[Any]) -> None:
        kinds: dict[Any, list[Label]] = {}
        for label in dict.fromkeys(v for v in found if isinstance(v, Label) and v not in self._under):
            kinds.setdefault(shape(label) if isinstance(label.site, int) else label.site, []).append(label)
            self._under[label] = []
        for kind, labels in kinds.items():
            for label, row, times in self.engine.elements(self.view, kind, labels):
                self._under[label].append((row, times))
            self.look_under(v for label in labels for row, _ in self._under[label] for v in row)

    # -- what the reader asks

    def total(self, watch: str, flat: Row) -> int:
        return self._totals[watch].get(flat, 0)

    def rows_under(self, view: str, label: Label) -> Iterable[tuple[Row, int]]:
        if label not in self._under:
            self.look_under([label])
        return self._under[label]

    def nested(self, view: str, columns: Row, type_: Type) -> Any:
        return nested(iter(columns), type_, self._bag)

    def _bag(self, label: Label, element: Type) -> ZBag:
        rows = self.rows_under(self.view, label)
        return ZBag((self.nested(self.view, row, element), times) for row, times in rows)


def flat_rows(
    engine: Reading, view: str
) -> tuple[list[tuple[Row, int]], Callable[[Label], Iterable[tuple[Row, int]]]]:
    """The flat rows of a view, and those of its inner bags, brought here a level at a time."""
    rows = engine.rows(engine.program.views[view].rows)
    inner = Logged(engine, view, WatchedLevels(), {})
    inner.look_under(value for row, _ in rows for value in row)
    return rows, lambda label: inner.rows_under(view, label)


# -- the feed as a DataFrame


def feed_of(engine: SparkEngine, view: ViewState, since: int, path: tuple[str, ...]) -> Any:
    """What changed in a view since a version, at a level, as a DataFrame."""
    feed, levels, name = view.feed, view.levels, view.definition.name
    if feed is None or levels is None:
        raise NestlingError(f"{name} has no change feed", hint=f"db.keep_changes({name!r})")
    if since < feed.since:
        raise NestlingError(
            f"the change feed of {name} starts at version {feed.since}, not at {since}",
            hint="read the view, and ask for what comes after its version",
        )
    for level in levels:
        if level.path == path:
            return feed_frame(engine, levels, level, since)
    known = ", ".join(".".join(level.path) for level in levels[1:]) or "none"
    raise NestlingError(f"{name} has no inner bag {'.'.join(path)!r}", hint=f"inner bags: {known}")


def feed_frame(engine: SparkEngine, levels: WatchedLevels, level: Watch, since: int) -> Any:
    """What came to and went from a level after version ``since``, in the columns of Spark's change feed.

    Before the columns of an element of an inner bag stand those of what it is in: ``_row``, and ``_in_…`` for each bag
    on the way. Inner bags are left out: they have feeds of their own.
    """
    layout = engine.layouts[feed_name(level)]
    columns = list(_columns(levels, level))
    rows = f"SELECT * FROM ({engine.now.raw(feed_name(level))}) WHERE k0 > {since}"
    shown = ", ".join(f"{text} AS {sql_name(name)}" for name, text in columns)
    once = f"SELECT {shown}{', ' * bool(columns)}k0, k1, m0 FROM ({summed(rows, layout)})"
    names = ", ".join(sql_name(name) for name, _ in columns)
    by = f"{names}{', ' * bool(columns)}k0, k1"
    # Rows that differ only in the labels of their bags are the same here.
    counted = f"SELECT {by}, SUM(m0) AS m0 FROM ({once}) GROUP BY {by} HAVING SUM(m0) <> 0"
    kind = "CASE WHEN m0 > 0 THEN 'insert' ELSE 'delete' END AS _change_type"
    return engine.session.sql(
        f"SELECT {names}{', ' * bool(columns)}{kind}, k0 AS _commit_version, CAST(k1 AS TIMESTAMP) AS"
        f" _commit_timestamp FROM ({counted}) LATERAL VIEW explode(array_repeat(0, CAST(abs(m0) AS INT))) AS copy"
    )


def _columns(levels: WatchedLevels, level: Watch) -> Iterable[tuple[str, str]]:
    """The columns of a level as a feed shows them: name and expression."""
    by_name = {each.name: each for each in levels}
    around = by_name.get(level.outer)
    if around is not None:
        chain = [around]
        while chain[0].outer:
            chain.insert(0, by_name[chain[0].outer])
        for outer in chain:
            fields = ", ".join(f"{sql_text(name)}, {text}" for name, text in _own(outer))
            yield (
                "_row" if not outer.outer else f"_in_{outer.path[-1]}",
                f"named_struct({fields})" if fields else "0",
            )
    yield from _own(level)


def _own(level: Watch) -> list[tuple[str, str]]:
    """The scalars of an element, by name."""
    leaves = list(leaf_types(level.element))
    return [
        (".".join(path) or "value", f"k{2 + level.before + i}")
        for i, (path, type_) in enumerate(leaves)
        if isinstance(type_, Scalar)
    ]
