"""What is refused on Spark is refused at every size, in the same words, and nothing is changed then."""

from decimal import Decimal
from typing import Any

import pytest

import nestling as nl
from nestling.engine.spark import limits
from nestling.errors import ChangeError

pytestmark = pytest.mark.xdist_group("spark")

DECLARED = (
    "id BIGINT, t TINYINT, s SMALLINT, i INT, d DECIMAL(5,2), x DOUBLE,"
    " parts ARRAY<STRUCT<q: SMALLINT, p: DECIMAL(4,1), w: ARRAY<INT>>>"
)
#: The same columns, with room for too much.
GIVEN = (
    "id BIGINT, t BIGINT, s BIGINT, i BIGINT, d DECIMAL(20,6), x DOUBLE,"
    " parts ARRAY<STRUCT<q: BIGINT, p: DECIMAL(20,6), w: ARRAY<BIGINT>>>"
)

GOOD: dict[str, Any] = {
    "id": 1, "t": -128, "s": 32767, "i": -(2**31), "d": Decimal("-999.99"), "x": float("nan"),
    "parts": [{"q": -32768, "p": Decimal("999.9"), "w": [2**31 - 1]}],
}  # fmt: skip


def part(**columns: Any) -> dict[str, Any]:
    return {"parts": [{"q": 1, "p": Decimal(1), "w": [1]} | columns]}


BAD: dict[str, dict[str, Any]] = {
    "a TINYINT of 128": {"t": 128},
    "a SMALLINT of -32769": {"s": -32769},
    "an INT of seven billion": {"i": 7_000_000_000},
    "an INT one too small": {"i": -(2**31) - 1},
    "a null": {"i": None},
    "a DECIMAL with three places": {"d": Decimal("0.001000")},
    "a DECIMAL with four digits before the point": {"d": Decimal("1000.000000")},
    "a DECIMAL that rounds up to too much": {"d": Decimal("999.999000")},
    "a null bag": {"parts": None},
    "an inner SMALLINT": part(q=32768),
    "an inner null": part(q=None),
    "an inner DECIMAL": part(p=Decimal("0.250000")),
    "an INT two bags deep": part(w=[1, 2**31]),
    "a null two bags deep": part(w=[None]),
}


@pytest.fixture(scope="module")
def db(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    db = nl.Database(spark=spark, path=tmp_path_factory.mktemp("refused") / "lake")
    db.table("T", DECLARED, key="id")
    db.insert("T", [GOOD])
    yield db
    db.close()


def rows_with(bad: dict[str, Any]) -> list[dict[str, Any]]:
    """Good rows, and a bad one among them."""
    return [GOOD | {"id": 2}, GOOD | {"id": 3} | bad, GOOD | {"id": 4}]


def refusal(act: Any) -> str:
    with pytest.raises(ChangeError) as error:
        act()
    return str(error.value)


@pytest.mark.parametrize("what", BAD)
def test_a_bad_value_is_refused_at_every_size(db, spark, monkeypatch, what):
    """as one row, as rows, as a DataFrame of few rows and of many"""
    rows, version = rows_with(BAD[what]), db.version
    words = refusal(lambda: db.insert("T", [rows[1]]))
    assert refusal(lambda: db.insert("T", rows)) == words
    monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    assert refusal(lambda: db.insert("T", spark.createDataFrame(rows, GIVEN))) == words
    assert db.version == version == db._state.note["version"]


@pytest.mark.soak
@pytest.mark.parametrize("what", BAD)
def test_a_bad_value_is_refused_whichever_way_it_comes(db, spark, monkeypatch, what):
    """as a DataFrame, as a feed and as a snapshot, few and many"""
    rows, version = rows_with(BAD[what]), db.version
    words = refusal(lambda: db.insert("T", [rows[1]]))
    frame = spark.createDataFrame(rows, GIVEN)
    feed = frame.selectExpr("*", "'insert' AS _change_type")
    assert refusal(lambda: db.apply({"T": [row | {"_change_type": "insert"} for row in rows]})) == words
    assert refusal(lambda: db.sync("T", rows)) == words
    for few in (limits.MAX_TRANSACTION_ROWS, 0):
        monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", few)
        assert refusal(lambda: db.insert("T", frame)) == words
        assert refusal(lambda: db.apply({"T": feed})) == words
        assert refusal(lambda: db.sync("T", frame)) == words
    assert db.version == version == db._state.note["version"]


def test_what_just_fits_is_taken_by_the_thousand(db, spark):
    """10,001 rows, none of them brought here; one that is too large among them, and nothing is changed"""
    frame = spark.createDataFrame([GOOD], GIVEN).drop("id").crossJoin(spark.range(10, 10_012))
    words = refusal(lambda: db.insert("T", [GOOD | {"id": 5_000, "i": 2**31}]))
    bad = frame.selectExpr(
        "id", "t", "s", "CASE id WHEN 5000 THEN 2147483648 ELSE i END AS i", "d", "x", "parts"
    )
    inner = frame.selectExpr("id", "named_struct('q', 99999, 'p', d, 'w', array(1)) AS element")
    version = db.version
    assert refusal(lambda: db.insert("T", bad)) == words
    assert "holds 16 bits, too few for 99999" in refusal(lambda: db.apply({"T.parts": inner}))
    assert db.version == version
    assert db.insert("T", frame).tables["T"] == 10_002
    assert db._table_df("T").count() == 10_003
    assert db.delete("T", where="id >= 10").tables["T"] == 10_002
    assert [row.i for row in db.table("T")] == [-(2**31)]


@pytest.mark.parametrize("what", ["an INT of seven billion", "an inner DECIMAL"])
def test_a_bad_value_in_a_stream_is_refused(db, spark, tmp_path, monkeypatch, what):
    rows, version = rows_with(BAD[what]), db.version
    words = refusal(lambda: db.insert("T", [rows[1]]))
    monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    (tmp_path / "in").mkdir()
    spark.createDataFrame(rows, GIVEN).coalesce(1).write.json(str(tmp_path / "in" / "batch"))
    source = spark.readStream.schema(GIVEN).json(str(tmp_path / "in" / "*"))
    stream = db.stream({"T": source}, tmp_path / "checkpoint", name=what[-7:], trigger={"availableNow": True})
    assert refusal(stream.awaitTermination) == words
    stream.stop()
    assert db.version == version == db._state.note["version"]
