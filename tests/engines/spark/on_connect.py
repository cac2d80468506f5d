"""A client of Spark Connect: ``test_connect`` runs it in a process, since one process has sessions of one kind only.

Every check is told on a line of its own: its name, and what went wrong.
"""

import atexit
import json
import re
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any
from uuid import uuid4

import nestling as nl
from nestling.engine.spark.remote import end_session
from nestling.errors import NestlingError, QueryError
from nestling.frontend.dataframe import remote_query
from nestling.frontend.sql import translate
from tests.engines.spark.mapped import ADDRESS, register
from tests.frontends.dataframe.programs import PROGRAMS
from tests.frontends.dataframe.tables import MARKS, frames
from tests.frontends.dataframe.test_programs import CATALOG, computed, meaning
from tests.frontends.sql.worlds import TABLES, World

README = Path(__file__).parents[3] / "README.md"
GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "spark.md"


def remote_session(folder: Path) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote("local[2]")
    return builder.getOrCreate()


class Checks:
    """What is checked, each with a place of its own."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder, self._others = spark, folder, list[Any]()

    def beside(self) -> Any:
        """Another session of the user's."""
        self._others.append(self.spark.newSession())
        return self._others[-1]

    def _end(self) -> None:
        for session in self._others:
            end_session(session, self.spark)

    def opened(self, path: Any = None, **options: Any) -> Any:
        return nl.Database(spark=self.spark, path=path or self.folder / uuid4().hex, **options)

    def shop(self) -> Any:
        db = self.opened()
        db.table("orders", "id INT, customer STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>", key="id")
        db.insert("orders", [(7, "Ada", [(1, 2)]), (8, "Ben", [(1, 1), (2, 1)])])
        return db

    # -- what works

    def readme(self, path: object = None) -> None:
        section = README.read_text("utf-8").partition("## On Spark")[2].partition("\n## ")[0]
        blocks = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
        assert len(blocks) == 2
        names: dict[str, Any] = {
            "nl": nl,
            "spark": self.beside(),
            "folder": path or self.folder / "readme",
        }
        for block in blocks:
            exec(compile(block, str(README), "exec"), names)
        names["shop"].verify()
        assert [row.customer for row in names["shop"].view_df("dear").collect()] == ["Ada", "Ben"]
        names["shop"].close()

    def readme_behind_a_scheme(self) -> None:
        self.readme(f"{ADDRESS}/shop")

    def small_and_large_changes(self) -> None:
        db, embedded = self.shop(), nl.Database()
        text = "SELECT customer, sum(i.qty) AS n FROM orders LATERAL VIEW explode(items) t AS i GROUP BY customer"
        db.view("spend", text)
        frame = self.spark.range(100, 12_100).selectExpr(
            "CAST(id AS INT) AS id",
            "concat('c', id % 3) AS customer",
            "array(named_struct('pid', 1, 'qty', 3)) AS items",
        )
        assert db.insert("orders", frame).version == 2
        db.table("orders").at(7).items.insert([{"pid": 5, "qty": 5}])
        assert sorted(map(tuple, db.views["spend"])) == [
            ("Ada", 7), ("Ben", 2), ("c0", 12_000), ("c1", 12_000), ("c2", 12_000)
        ]  # fmt: skip
        db.delete("orders", where="id > 200")
        db.delete("orders", where=lambda row: row.id > 103)
        assert sorted(row.id for row in db.table("orders")) == [7, 8, 100, 101, 102, 103]
        db.sync("orders", self.spark.createDataFrame([(1, "x", [(1, 1)])], db.table("orders").df().schema))
        assert sorted(map(tuple, db.views["spend"])) == [("x", 1)]
        db.verify()
        embedded.close()
        db.close()

    def merges(self) -> None:
        db = self.shop()
        feed = self.spark.createDataFrame(
            [(7, None, None, "D", 1), (9, "Cy", [], "U", 2)],
            "id INT, customer STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>, op STRING, seq INT",
        )
        db.merge("orders", feed, delete_when="op = 'D'", sequence_by="seq")
        assert sorted(row.id for row in db.table("orders")) == [8, 9]
        db.apply({"orders": {(9, "Cy", ()): -1}}, once=("nightly", 1))
        version = db.version
        db.apply({"orders": {(9, "Cy", ()): -1}}, once=("nightly", 1))
        assert db.version == version
        db.close()

    def readers_versions_and_feeds(self) -> None:
        db = self.shop()
        db.view("names", "SELECT id, customer FROM orders")
        db.keep_changes("names")
        reader = self.opened(db.folder, readonly=True)
        db.vacuum(keep=5)
        db.delete("orders", key=7)
        assert len(reader.table("orders")) == 2
        reader.follow()
        assert len(reader.table("orders")) == 1
        came = [(row["id"], row["_change_type"]) for row in db.view_df("names", changes_since=1).collect()]
        assert came == [(7, "delete")]
        with db.as_of(1) as before:
            assert len(before.table("orders")) == 2
        db.export("names", self.folder / "names.parquet")
        assert len(self.spark.read.parquet(str(self.folder / "names.parquet")).collect()) == 1
        reader.close()
        db.close()

    def names_answer_as_of_now(self) -> None:
        db = self.shop()
        db.publish()
        assert self.spark.table("orders").count() == 2
        db.delete("orders", key=7)
        assert [row.id for row in self.spark.sql("SELECT id FROM orders").collect()] == [8]
        db.close()

    def a_view_without_a_value_is_told(self) -> None:
        db = self.shop()
        db.view("q", "SELECT id, 10 DIV (id - 9) AS n FROM orders")
        try:
            db.insert("orders", [(9, "x", [])])
        except NestlingError as error:
            assert "hint" in str(error)
        else:
            raise AssertionError("taken")
        assert len(db.table("orders")) == 2
        db.close()

    def what_a_database_opened_ends_with_it(self) -> None:
        """at the server too: else each session is looked for there, for ten minutes, when this process ends"""
        db, left = self.shop(), self.shop()
        db.view("names", "SELECT id, customer FROM orders")
        sessions = list(db._sessions)
        db.close()
        db.close()
        assert len(sessions) > 1
        assert all(session.is_stopped for session in sessions)
        assert not self.spark.is_stopped
        assert (
            len(left.table("orders")) == 2
        )  # this one is left open: the end of the process ends its sessions

    # -- what is refused

    def the_table_of_the_guide(self) -> None:
        """Each line of it works, or is refused with what to write instead."""
        from pyspark.sql import functions as F

        db, rows = self.shop(), guide_rows()
        db.publish()
        for code, works in rows:
            names = {"db": db, "spark": self.spark, "F": F, "folder": str(self.folder)}
            try:
                exec(compile(code, "the guide", "exec"), names)
            except QueryError as error:
                assert not works, f"{code}: {error}"
                assert "hint: " in str(error), code
            else:
                assert works, f"taken: {code}"
        assert {works for _, works in rows} == {True, False}
        db.close()

    def a_name_of_another_table_is_refused(self) -> None:
        other, db = self.beside(), self.shop()
        other.sql("CREATE TEMPORARY VIEW orders AS SELECT 1 AS id")
        try:
            db.view("v", other.sql("SELECT id FROM orders"))
        except QueryError as error:
            assert "publish" in str(error)
        else:
            raise AssertionError("taken")
        db.close()

    def a_session_without_ansi_mode_is_refused(self) -> None:
        session = self.beside()
        session.conf.set("spark.sql.ansi.enabled", "false")
        db = nl.Database(spark=session, path=self.folder / "legacy")
        db.table("t", "a INT, b INT")
        try:
            db.view("v", db.table("t").df().select("a"))
        except QueryError as error:
            assert "ANSI" in str(error)
        else:
            raise AssertionError("taken")
        db.close()


def guide_rows() -> list[tuple[str, bool]]:
    """The lines of the guide's table: code, and whether it works."""
    found = re.findall(r"^\| `(.+?)` \| (works|refused) \|", GUIDE.read_text("utf-8"), re.MULTILINE)
    return [(code, word == "works") for code, word in found]


def run_programs(spark: Any) -> None:
    """The view from a DataFrame equals the DataFrame, or is refused; which are refused is known."""
    world = World(TABLES, "frames")
    for _ in range(4):
        world.change()
    session = spark.newSession()
    session.conf.set("spark.sql.timeType.enabled", "true")
    atexit.register(end_session, session, spark)
    tables, state = frames(session, world), world.db._state.nested_tables()
    for name, program in PROGRAMS.items():
        try:
            frame = program(tables)
            found = remote_query(frame, MARKS)
            query = translate(found.text, CATALOG)
            told = "" if meaning(query, state) == computed(frame) else f"another answer: {found.text}"
        except QueryError as error:
            told = f"refused: {error}"
        except Exception as error:  # noqa: BLE001 - it is told
            told = f"{type(error).__name__}: {error}"[:2_000]
        say(f"program {name}", told)


def say(name: str, told: str) -> None:
    sys.stdout.write(json.dumps({"name": name, "told": told}) + "\n")
    sys.stdout.flush()


CHECKS = [
    name for name, found in vars(Checks).items()
    if not name.startswith("_") and callable(found) and name not in ("opened", "shop", "beside")
]  # fmt: skip


def main(folder: Path, names: list[str]) -> None:
    register(folder / "mapped")
    spark = remote_session(folder)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    if names == ["programs"]:
        run_programs(spark)
        spark.stop()
        return
    checks = Checks(spark, folder)
    for name in names or CHECKS:
        try:
            getattr(checks, name)()
            say(name, "")
        except Exception:  # noqa: BLE001 - it is told
            say(name, traceback.format_exc()[-3_000:])
    checks._end()
    spark.stop()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]), sys.argv[2:])
