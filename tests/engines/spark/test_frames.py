"""Views from DataFrames in a database on Spark: they follow their tables, and come back when it is opened again."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from nestling.database.database import Database
from nestling.errors import QueryError
from tests.frontends.dataframe.programs import PROGRAMS, F
from tests.frontends.sql.worlds import TABLES, World, plain

pytestmark = pytest.mark.xdist_group("spark")
SOME = ("left_using", "having", "explode_group", "two_levels")


@pytest.fixture
def session(spark: Any) -> Any:
    """A user's session: his settings are not ours."""
    own = spark.newSession()
    for name, value in (("sql.session.timeZone", "UTC"), ("sql.codegen.wholeStage", "false")):
        own.conf.set(f"spark.{name}", value)
    return own


class Followed(World):
    """A world whose changes also come to a database on Spark."""

    def __init__(self, db: Any, seed: str) -> None:
        super().__init__(("r", "s", "o"), seed)
        self.spark = db
        for name in self.names:
            db.table(name, TABLES[name].ours, key=TABLES[name].key)

    def both(self, changes: int) -> None:
        """The changes since, as one batch."""
        before = {name: Counter(self.db._state.rows(name)) for name in self.names}
        for _ in range(changes):
            self.change()
        self.spark.apply({name: _difference(self.db._state.rows(name), before[name]) for name in self.names})


def _difference(after: Any, before: Counter[Any]) -> dict[Any, int]:
    found = {row: times - before.get(row, 0) for row, times in after.items()}
    found |= {row: -times for row, times in before.items() if row not in found}
    return {row: times for row, times in found.items() if times}


def tables(db: Any, session: Any) -> Any:
    """The tables as the database hands them out, and by name in the session."""
    db.publish(*db.tables)
    return SimpleNamespace(sql=session.sql, **{name: table.df() for name, table in db.tables.items()})


def define(db: Any, frames: dict[str, Any]) -> None:
    """All views at once: each would otherwise be computed with jobs of its own."""
    for name, frame in frames.items():
        db._state.define(db._view_def(name, frame, "sql", "eager", "auto"))
    db._state.reinstall()


def rows(frame: Any) -> Counter[Any]:
    return Counter(plain(tuple(row)) for row in frame.collect())


def check(db: Any, session: Any, names: Any) -> None:
    now = tables(db, session)
    for name in names:
        assert rows(db.view_df(name)) == rows(PROGRAMS[name](now)), name


def test_views_follow_their_tables_and_come_back(opened, session):
    db = opened()
    world = Followed(db, "spark frames")
    world.both(4)
    frames = {name: PROGRAMS[name](tables(db, session)) for name in SOME}
    define(db, frames)
    world.both(3)
    check(db, session, SOME)

    again = opened()
    definitions = dict(again._state.definitions)
    assert set(definitions) == set(SOME)
    for name, frame in frames.items():
        again.view(name, frame)  # the same DataFrame is the same view
    assert again._state.definitions == definitions
    with pytest.raises(QueryError, match="already defined"):
        again.view("having", frames["left_using"])


def test_a_frame_over_a_view_and_names_in_the_session(opened, session):
    db = opened()
    orders = db.table(
        "orders", "id INT, who STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>, at STRUCT<x: INT>", key="id"
    )
    db.insert("orders", [(1, "Ada", [(7, 2), (8, 1), (7, 2)], (5,)), (2, "Ben", [], (6,))])
    assert rows(orders.df()) == Counter(plain(tuple(row)) for row in orders.rows())
    lines = orders.df().select("id", F.explode("items").alias("i")).select("id", "i.*")
    db.view("lines", lines)
    db.publish()
    db.view("sold", session.sql("SELECT pid, sum(qty) AS qty FROM lines GROUP BY pid"))
    assert sorted(db.views["sold"]) == [(7, 4), (8, 1)]
    orders.at(2).items.insert([{"pid": 8, "qty": 5}])

    assert sorted(db.views["sold"]) == [(7, 4), (8, 6)]
    assert rows(session.table("lines")) == Counter([(1, 7, 2), (1, 7, 2), (1, 8, 1), (2, 8, 5)])
    assert rows(session.table("orders")) == Counter(plain(tuple(row)) for row in orders.rows())
    with pytest.raises(QueryError, match="a DataFrame is a view of a database on Spark"):
        Database().view("v", lines)
    db.drop("sold")
    db.drop("lines")
    db.insert("orders", [(3, "Cleo", [], (7,))])
    assert not session.catalog.tableExists("lines")


@pytest.mark.soak
def test_every_program_that_spark_keeps(opened, session):
    """all in one database, over a few batches; what its engine does not do is refused when it is made"""
    db = opened()
    world = Followed(db, "all frames")
    world.both(4)
    now, kept = tables(db, session), []
    for name, program in PROGRAMS.items():
        try:
            db._state.define(db._view_def(name, program(now), "sql", "eager", "auto"))
        except QueryError:
            continue
        kept.append(name)
    db._state.reinstall()
    assert len(kept) > len(PROGRAMS) // 2
    check(db, session, kept)
    for _ in range(2):
        world.both(2)
    check(db, session, kept)
