"""What cannot be a view is refused by its name, with the line of Python or the place in the text, and advice."""

import linecache
from collections.abc import Callable
from typing import Any

import pytest

from nestling.errors import QueryError
from nestling.frontend.dataframe import marked, to_sql
from nestling.frontend.sql import translate
from tests.frontends.dataframe.programs import F, col, window
from tests.frontends.dataframe.tables import MARKS, PLACE
from tests.frontends.sql.worlds import TABLES, World

pytestmark = pytest.mark.xdist_group("spark")
CATALOG = World(TABLES, "").db._catalog()


def upper(word):
    return word.upper()


#: name → the DataFrame, what is said of it, what is advised
REFUSED: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "other_rows": (lambda d: d.session.range(3), "reads rows of no table of this database (Range)", 'db.table("…").df()'),
    "other_frame": (lambda d: d.r.join(d.session.createDataFrame([(1,)], "a BIGINT"), "a"), "reads rows of no table", "make a table"),
    "other_database": (lambda d: marked(d.session.createDataFrame([(1,)], "a BIGINT"), "there", "q"), "q is a table of another database", "read it as rows"),
    "order_inside": (lambda d: d.r.orderBy("a").groupBy("b").count(), "rows inside a view have no order", "orderBy(…).limit(k)"),
    "limit": (lambda d: d.r.limit(3), "limit alone takes any rows", "orderBy(…).limit(k)"),
    "sample": (lambda d: d.r.sample(0.5), "Sample is not supported", "change with every reading"),
    "any_row": (lambda d: d.r.dropDuplicates(["a"]), "Deduplicate is not supported", "aggregate the others"),
    "pivot": (lambda d: d.r.groupBy("a").pivot("b", [1, 2]).sum("b"), "PivotFirst is not supported", "F.sum(F.when(…))"),
    "random": (lambda d: d.r.select(F.rand().alias("x")), "Rand is not supported", "keep the value in a table"),
    "clock": (lambda d: d.r.select(F.current_date().alias("x")), "CurrentDate is not supported", "keep the value in a table"),
    "udf": (lambda d: d.r.select(F.udf(upper, "string")("c").alias("x")), "PythonUDF is not supported", "pyspark.sql.functions"),
    "unknown_function": (lambda d: d.r.select(F.soundex("c").alias("x")), "SoundEx is not supported in a view", "that SQL views have"),
    "names": (lambda d: d.r.join(d.s, d.r["a"] == d.s["a"]), "two columns of the DataFrame are called a", "withColumnRenamed"),
    "position": (lambda d: d.o.select(col("tags")[0].alias("x")), "needs positions, and this array is a bag", "declare its order"),
    "position_of_element": (lambda d: d.o.select("id", F.posexplode("tags")), "posexplode needs positions", "declare its order"),
    "first": (lambda d: d.r.groupBy("a").agg(F.first("b").alias("x")), "first is not supported", "a bag has no first row"),
    "sketch": (lambda d: d.r.agg(F.approx_count_distinct("a").alias("x")), "HyperLogLogPlusPlus is not supported", ""),
    "try": (lambda d: d.r.select(F.try_add("a", "b").alias("x")), "TryAdd is not supported", ""),
    "no_aggregate": (lambda d: d.r.groupBy().agg(F.lit(1).alias("x")), "without a key and without an aggregate", "F.count('*')"),
    "frame": (lambda d: d.t.select(F.sum("x").over(window().orderBy("k").rangeBetween(-1, 1)).alias("s")), "frame", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, states):
    program, what, hint = REFUSED[name]
    frame = program(states[0][0])

    with pytest.raises(QueryError) as refused:
        translate(to_sql(frame, MARKS), CATALOG)

    assert what in refused.value.what
    assert hint in refused.value.hint


def test_the_line_of_python_is_shown(states):
    frame = states[0][0].r.select(F.soundex("c").alias("x"))  # this line

    with pytest.raises(QueryError) as refused:
        to_sql(frame, MARKS)

    at = refused.value.at
    assert at is not None
    assert at.file == "test_refused.py"
    assert "# this line" in linecache.getline(__file__, at.line)
    assert str(refused.value).splitlines()[1:3] == [
        f"  test_refused.py, line {at.line}",
        '        frame = states[0][0].r.select(F.soundex("c").alias("x"))  # this line',
    ]


def test_the_place_in_a_text_is_shown(states):
    frame = states[0][0].sql("SELECT a,\n  soundex(c) AS x\nFROM r")

    with pytest.raises(QueryError) as refused:
        to_sql(frame, MARKS)

    assert str(refused.value).splitlines()[1:4] == [
        "  line 2",
        "      soundex(c) AS x",
        "      ^^^^^^^^^^",
    ]


def test_without_ansi_mode(states):
    """a cast that would be null, and a sum that would wrap around, are not what a view computes"""
    tables = states[0][0]
    tables.session.conf.set("spark.sql.ansi.enabled", "false")
    try:
        for program in (
            lambda r: r.select((col("a") + 1).alias("x")),
            lambda r: r.select(col("c").cast("int")),
        ):
            with pytest.raises(QueryError, match="without ANSI mode"):
                to_sql(program(tables.r), MARKS)
    finally:
        tables.session.conf.set("spark.sql.ansi.enabled", "true")


def test_moments_with_a_zone(states):
    from datetime import datetime

    tables = states[0][0]
    tables.session.conf.set("spark.sql.session.timeZone", "Europe/Zurich")
    try:
        with pytest.raises(QueryError, match="depends on the time zone Europe/Zurich"):
            to_sql(tables.m.filter(col("seen") > F.lit(datetime(2024, 2, 28))), MARKS)
    finally:
        tables.session.conf.set("spark.sql.session.timeZone", "UTC")


def test_what_is_written(states):
    """one SELECT for what fits into one; columns that nobody reads are left out"""
    tables = states[0][0]
    orders = tables.o.filter("cust = 'ann'").select("id", F.explode("items").alias("i"))
    frame = (
        orders.join(tables.t, col("i.pid") == col("k"))
        .groupBy("g")
        .agg(F.sum("i.qty").alias("q"))
        .filter("q > 1")
    )

    assert to_sql(frame, MARKS) == "\n".join(
        [
            "SELECT t4.`g`, t4.`q`",
            "FROM (",
            "  SELECT t3.`g`, sum(t2.`i`.`qty`) AS `q`",
            "  FROM `o` AS t1",
            "    LATERAL VIEW explode(t1.`items`) t2 AS `i`",
            "    JOIN `t` AS t3 ON t2.`i`.`pid` = t3.`k`",
            "  WHERE t1.`cust` = 'ann'",
            "  GROUP BY t3.`g`",
            ") AS t4",
            "WHERE t4.`q` > 1",
        ]
    )
    assert PLACE not in to_sql(frame, MARKS)


def test_a_join_of_different_sizes_is_one_of_columns(states):
    """Spark widens one side; an equation of columns is looked up, one of casts is not"""
    tables = states[0][0]
    frame = tables.n.join(tables.t.select(col("k").alias("key")), col("l") == col("key")).select(
        (col("l") + col("k")).alias("x")
    )

    text = to_sql(frame, MARKS)
    assert "SELECT t1.`l` + t1.`k` AS `x`" in text
    assert "ON t1.`l` = t3.`key`" in text
    assert "CAST" not in text
