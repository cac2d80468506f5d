"""DataFrames as changes: few rows are brought here, many stay on Spark; both do and refuse what embedded does."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

import nestling as nl
from nestling.database.change import Change
from nestling.database.database import Database
from nestling.database.spark.frame_changes import few_rows, is_here
from nestling.engine.spark import limits
from nestling.errors import ChangeError, NestlingError
from tests.engines.spark.test_cost import Counters
from tests.engines.spark.test_watching import told

pytestmark = pytest.mark.xdist_group("spark")

SECTIONS = "ARRAY<STRUCT<title: STRING, words: ARRAY<STRING>>>"
DOCS = f"id INT, author STRING, sections {SECTIONS}"
AUTHORS = "name STRING, born INT, tags ARRAY<STRING>"
NOTES = "text STRING, tags ARRAY<STRING>"
SCALARS = "b BOOLEAN, n BIGINT, x DOUBLE, d DECIMAL(12,2), s STRING, y BINARY, t DATE, m TIMESTAMP_NTZ"


def declare(db: Database) -> Database:
    db.table("authors", {"name": str, "born": int | None, "tags": [str]}, key="name")
    db.table("docs", DOCS, key="id", references={"author": "authors"})
    db.table("notes", NOTES)
    db.table("log", "line STRING", append_only=True)
    db.view(
        "words",
        "[(d.author, [(s.title, len(s.words)) for s in d.sections]) for d in docs]",
        language="python",
    )
    db.view("tagged", "[(t, sum(1 for n in notes for u in n.tags if u == t)) for t in"
            " {t for n in notes for t in n.tags}]", language="python")  # fmt: skip
    return db


ROWS = [
    (1, "a", True, 1.5, Decimal("2.50"), date(1, 1, 1), [(1, "x"), (None, None), None], None),
    (2, None, None, -0.0, None, date(2024, 2, 29), [], ["u", None]),
]
COLUMNS = (
    "id INT, s STRING, b BOOLEAN, x DOUBLE, d DECIMAL(12,2), t DATE, items ARRAY<STRUCT<n: BIGINT, s: STRING>>,"
    " tags ARRAY<STRING>"
)


def test_rows_that_spark_has_in_its_plan_come_here_without_a_job(spark):
    """and as they come by Arrow, which brings all others; moments and maps come by Arrow too"""
    apart = spark.createDataFrame(ROWS, COLUMNS)
    whole = spark.createDataFrame(apart.toArrow(), COLUMNS)
    counters = Counters(spark)
    found = few_rows(whole, 10)

    assert counters.since() == (0, 0)
    assert found == few_rows(apart, 10)
    assert few_rows(whole, 1) is None
    assert counters.new_jobs()
    for other in ("timestamp '2024-01-01 00:00:00'", "map(1, 2)", "x'00'"):
        assert not is_here(spark.sql(f"SELECT {other} AS v"))


class Both:
    """The same changes on Spark and embedded: the same answers, the same refusals."""

    refused = ""

    def __init__(self, spark: Any, path: Any) -> None:
        self.spark = spark
        self.ours: Any = declare(nl.Database(spark=spark, path=path))
        self.theirs = declare(Database())

    def frame(self, rows: list[Any], schema: str) -> Any:
        return self.spark.createDataFrame(rows, schema)

    def do(self, ours: Any, theirs: Any) -> None:
        self.refused, refused = self._refused(ours, self.ours), self._refused(theirs, self.theirs)
        assert self.refused == refused

    def _refused(self, change: Any, db: Database) -> str:
        try:
            change(db)
        except ChangeError as error:
            return str(error)
        return ""

    def insert(self, table: str, rows: list[Any], schema: str) -> None:
        frame = self.frame(rows, schema)
        names = frame.columns
        self.do(lambda db: db.insert(table, frame),
                lambda db: db.insert(table, [dict(zip(names, row, strict=True)) for row in rows]))  # fmt: skip

    def delete(self, table: str, rows: list[Any], schema: str) -> None:
        frame = self.frame(rows, schema)
        names = frame.columns
        gone = [dict(zip(names, row, strict=True)) | {"_change_type": "delete"} for row in rows]
        self.do(lambda db: db.delete(table, frame), lambda db: db.apply({table: gone}))

    def apply(self, table: str, rows: list[Any], schema: str) -> None:
        frame = self.frame(rows, f"{schema}, _change_type STRING")
        names = frame.columns
        self.do(lambda db: db.apply({table: frame}),
                lambda db: db.apply({table: [dict(zip(names, row, strict=True)) for row in rows]}))  # fmt: skip

    def alike(self) -> bool:
        for table in self.theirs.tables:
            assert self.ours._state.rows(table) == self.theirs._state.rows(table)
        for name, view in self.theirs.views.items():
            assert self.ours.views[name].bag() == view.bag()
        return self.ours.version == self.theirs.version


@pytest.fixture(params=["few", pytest.param("many", marks=pytest.mark.soak)])
def both(request, spark, tmp_path, monkeypatch):
    if request.param == "many":
        monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
        monkeypatch.setattr(limits, "MAX_FETCHED_ROWS", 0)
    found = Both(spark, tmp_path / "lake")
    yield found
    found.ours.close()


def test_many_rows_of_one_table(spark, tmp_path, monkeypatch):
    """an insertion, an update with both images, and a key that is taken, all found and done by Spark"""
    monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    monkeypatch.setattr(limits, "MAX_FETCHED_ROWS", 0)
    ours: Any = nl.Database(spark=spark, path=tmp_path / "lake")
    tags = "name STRING, tags ARRAY<STRING>"
    table = ours.table("A", tags, key="name")
    tagged = ours.view("tagged", "[(t, a.name) for a in A for t in a.tags]", language="python")
    ours.insert("A", spark.createDataFrame([("ann", ["t", "u", "t"]), ("bob", [])], tags))
    assert sorted(tagged) == [("t", "ann"), ("t", "ann"), ("u", "ann")]
    rows = [("ann", ["u", "t", "t"], "update_preimage"), ("ann", ["v"], "update_postimage")]
    refresh = ours.apply({"A": spark.createDataFrame(rows, f"{tags}, _change_type STRING")})
    assert (refresh.version, refresh.tables) == (2, {"A.tags": 3})
    with pytest.raises(ChangeError, match="A already has a row with key 'bob'"):
        ours.insert("A", spark.createDataFrame([("cy", []), ("bob", ["w"])], tags))
    assert list(tagged) == [("v", "ann")]
    assert len(table) == 2
    ours.close()


@pytest.mark.soak
def test_many_rows_are_applied_as_few_are(spark, tmp_path, monkeypatch):
    """two tables at once, one nested two levels deep; an update with both images; a key that is taken; all is told"""
    monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    monkeypatch.setattr(limits, "MAX_FETCHED_ROWS", 0)
    both = Both(spark, tmp_path / "lake")
    heard: list[list[Change]] = [[], []]
    for db, changes in zip((both.ours, both.theirs), heard, strict=True):
        db.views["words"].subscribe(changes.append)
    both.ours.keep_changes("words")
    authors, docs = (
        [("ann", 1970, ["t"]), ("bob", None, [])],
        [(1, "ann", [("a", ["x", "y", "x"]), ("b", [])])],
    )
    names = ("name", "born", "tags", "_change_type")
    some = (dict(zip(names, (*row, "insert"), strict=True)) for row in authors)  # read once
    both.ours.apply({"docs": both.frame(docs, DOCS), "authors": some})
    with both.theirs.transaction() as change:
        change.insert("authors", authors)
        change.insert("docs", docs)
    both.apply("docs", [
        (1, "ann", [("b", []), ("a", ["x", "x", "y"])], "update_preimage"),
        (1, "bob", [("a", ["z"]), ("a", ["z"])], "update_postimage"),
    ], DOCS)  # fmt: skip
    both.insert("docs", [(2, "bob", []), (1, "bob", [])], DOCS)
    assert both.alike()
    assert both.ours.version == both.ours._state.note["version"]
    assert [told(change) for change in heard[0]] == [told(change) for change in heard[1]]
    feed = both.ours.view_df("words", changes_since=1).collect()
    assert sorted(tuple(row)[:3] for row in feed) == [("ann", "delete", 2), ("bob", "insert", 2)]
    both.ours.close()


def test_elements_are_applied_in_bulk(both):
    """to and from inner bags; what is not there, bags of no row, and what comes to nothing"""
    both.insert("authors", [("ann", 1970, ["t"]), ("bob", None, [])], AUTHORS)
    both.apply("authors", [("cy", 1, [], "insert"), ("cy", 1, [], "delete")], AUTHORS)
    tags = "name STRING, element STRING"
    both.apply("authors.tags", [("ann", "u", "insert"), ("ann", "t", "delete"), ("bob", "t", "insert")], tags)
    both.apply("authors.tags", [("bob", "t", "delete"), ("bob", "t", "delete")], tags)
    both.apply("authors.tags", [("cy", "t", "insert")], tags)
    assert both.alike()
    assert both.ours.version == both.ours._state.note["version"]


def test_frames_are_applied_as_rows_are(both):
    """two levels of inner bags; labels by key and by number; updates, equal rows, and what is not there"""
    both.insert("authors", [("ann", 1970, []), ("bob", None, ["t"])], AUTHORS)
    both.insert("docs", [
        (1, "ann", [("a", ["x", "y", "x"]), ("a", ["x", "y", "x"]), ("b", [])]), (2, "bob", []),
    ], DOCS)  # fmt: skip
    both.insert("notes", [("n", ["t", "u"]), ("n", ["u", "t"]), ("n", ["t"]), ("m", [])], NOTES)
    assert both.alike()
    both.apply("docs", [
        (1, "ann", [("b", []), ("a", ["x", "x", "y"]), ("a", ["y", "x", "x"])], "update_preimage"),
        (1, "bob", [("a", ["z"])], "update_postimage"), (3, "ann", [("c", ["w"])], "insert"),
    ], DOCS)  # fmt: skip
    both.delete("notes", [("n", ["t", "u"]), ("n", ["t"])], NOTES)
    assert both.alike()
    both.insert("docs", [(2, "bob", [])], DOCS)
    if limits.MAX_TRANSACTION_ROWS:
        return  # few rows are refused by the transaction itself
    both.insert("docs", [(5, "cy", [])], DOCS)
    both.delete("docs", [(2, "bob", [("a", [])])], DOCS)
    both.delete("notes", [("n", ["u", "t"]), ("n", ["t", "u"]), ("n", ["t", "u"])], NOTES)
    both.insert("authors", [(None, 1, [])], AUTHORS)
    both.insert("authors", [("cy", "1970")], "name STRING, born STRING")
    both.insert("authors", [("cy", 1)], "name STRING, borne INT")
    both.insert("docs", [(7, "ann", [("a", [None])])], DOCS)
    both.insert("docs", [(7, "ann", [("a", None)])], DOCS)
    both.apply("authors", [("ann", 1970, [], "upsert")], AUTHORS)
    both.insert("log", [("a",)], "line STRING")
    both.delete("log", [("a",)], "line STRING")
    assert both.alike()
    both.ours.verify()


def test_the_difference_to_a_snapshot_is_found(both):
    db = both.ours
    both.insert("authors", [("ann", 1, []), ("bob", None, [])], AUTHORS)
    both.insert("docs", [(1, "ann", [("a", ["x"])]), (2, "bob", [])], DOCS)
    both.insert("notes", [("n", ["t"]), ("n", ["t"]), ("m", [])], NOTES)
    snapshot = [(2, "bob", [("a", ["x"])]), (1, "ann", [("a", ["x"])]), (3, "bob", [])]
    both.do(lambda db: db.sync("docs", both.frame(snapshot, DOCS)), lambda db: db.sync("docs", snapshot))
    db.delete("notes", where=lambda n: n.text == "n")
    both.theirs.delete("notes", where=lambda n: n.text == "n")
    assert both.alike()
    if limits.MAX_TRANSACTION_ROWS:
        return  # the difference is found by Spark in any case
    notes = [("m", []), ("n", ["t"]), ("m", [])]
    both.do(lambda db: db.sync("notes", both.frame(notes, NOTES)), lambda db: db.sync("notes", notes))
    assert both.alike()
    version = db.version
    db.sync("notes", notes)
    assert db.version == version == db._state.note["version"]
    db.delete("docs", where="id > 1")
    both.theirs.delete("docs", where=lambda d: d.id > 1)
    assert both.alike()


def test_scalars_are_the_same(both):
    """every type through a DataFrame, and back"""
    rows = [
        (True, 1, 0.5, Decimal("1.10"), "ß", b"\x00", date(2024, 2, 29), datetime(2024, 1, 1, 12, 0, 0, 1)),
        (False, -7, -0.0, Decimal("-3.00"), "", b"", date(1, 1, 1), datetime(1969, 12, 31)),
    ]
    for db in (both.ours, both.theirs):
        db.table("S", SCALARS)
    both.ours.insert("S", both.frame(rows, SCALARS))
    both.theirs.insert("S", rows)
    assert both.alike()
    spans = [(timedelta(hours=-3),), (timedelta(days=2, microseconds=1),)]
    for db in (both.ours, both.theirs):
        db.table("T", "w INTERVAL DAY TO SECOND")
    both.insert("T", spans, "w INTERVAL DAY TO SECOND")
    both.delete("T", spans[:1], "w INTERVAL DAY TO SECOND")
    assert both.alike()


def test_a_streaming_frame_is_no_change(both):
    endless = both.spark.readStream.format("rate").load()
    with pytest.raises(NestlingError, match="no change"):
        both.ours.insert("authors", endless)
