"""DataFrame programs over the tables of ``tests/frontends/sql/worlds.py``, by what they use."""

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

#: name → the DataFrame, given the tables as attributes
PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def programs(**found: Callable[[Any], Any]) -> None:
    assert not PROGRAMS.keys() & found.keys()
    PROGRAMS.update(found)


def functions() -> Any:
    from pyspark.sql import functions

    return functions


def window() -> Any:
    from pyspark.sql import Window

    return Window


class _Later:
    """``pyspark.sql.functions``, imported when it is used: without Spark this table can still be read."""

    def __getattr__(self, name: str) -> Any:
        return getattr(functions(), name)


F = _Later()


def col(name: str) -> Any:
    return F.col(name)


programs(
    table=lambda d: d.r,
    project=lambda d: d.r.select("a", (col("b") + 1).alias("x"), col("c").alias("word")),
    filter=lambda d: d.r.filter((col("b") > 0) & (col("c") != "b")).select("a"),
    filters=lambda d: d.r.where("a > 0").where(col("b").isNotNull()).where("c like 'a%' or b = 1"),
    with_column=lambda d: d.r.withColumn("x", col("a") + col("b")).withColumn("y", col("x") * 2).filter("y > 1"),
    with_columns=lambda d: d.r.withColumns({"x": col("a") + 1, "y": col("b") - 1}).drop("c"),
    renamed=lambda d: d.r.withColumnRenamed("a", "z").select("z", "b"),
    replaced_column=lambda d: d.r.withColumn("a", F.coalesce("a", F.lit(0))),
    fillna=lambda d: d.r.fillna({"a": 0, "c": "none"}),
    dropna=lambda d: d.r.dropna(subset=["a", "c"]),
    dropna_all=lambda d: d.r.dropna(how="all"),
    replace=lambda d: d.s.select("a", "d", F.col("e")).replace("b", "B", subset=["e"]),
    case_when=lambda d: d.r.select(
        F.when(col("a") > 1, "big").when(col("b") > 0, col("c")).otherwise("small").alias("x"),
        F.when(col("a") == 1, col("b")).alias("y"),
    ),
    null_logic=lambda d: d.r.select(
        ((col("a") == 1) & (col("b") == 1)).alias("x"), (~(col("a") == 1)).alias("z"), col("a").eqNullSafe(col("b")).alias("n")
    ),
    nulls=lambda d: d.r.select(F.nullif("a", "b").alias("x"), F.nvl("a", "b").alias("y"), F.nvl2("a", "b", F.lit(7)).alias("z"), F.isnull("a").alias("w")),
    isin=lambda d: d.r.filter(col("a").isin(1, 2) | ~col("c").isin("ab", "b")),
    between=lambda d: d.r.filter(col("a").between(1, 2)),
    arithmetic=lambda d: d.r.select((col("a") * 2 - col("b")).alias("x"), (-col("b")).alias("y"), (col("a") / 2).alias("z"), (col("b") % 2).alias("w")),
    more_arithmetic=lambda d: d.t.select("k", F.pmod("x", F.lit(3)).alias("p"), F.abs("x").alias("a"), F.expr("x div 2").alias("q"), F.greatest("k", "x").alias("g")),
    strings=lambda d: d.r.select(F.upper("c").alias("u"), F.length("c").alias("n"), F.concat("c", F.lit("!")).alias("j"), F.substring("c", 2, 1).alias("s"), F.trim("c").alias("t")),
    more_strings=lambda d: d.r.select(col("c").startswith("a").alias("x"), col("c").contains("b").alias("y"), F.left("c", F.lit(2)).alias("l"), F.replace("c", F.lit("b"), F.lit("x")).alias("r"), F.instr("c", "b").alias("i")),
    quotes=lambda d: d.r.select("a", F.lit("it's a \\ `quote`").alias("q u o t e"), col("c").like("a\\_%").alias("l")),
    casts=lambda d: d.r.select(col("a").cast("string").alias("s"), col("b").cast("double").alias("f"), col("a").cast("decimal(10,2)").alias("d")),
    unnamed=lambda d: d.r.groupBy("a").count().select("count", "a"),
    odd_names=lambda d: d.r.groupBy("a").agg(F.sum("b"), F.max(col("b") + 1)),
)  # fmt: skip

programs(
    inner_join=lambda d: d.r.join(d.s, d.r["a"] == d.s["a"]).select(d.r["a"], "b", "d"),
    join_using=lambda d: d.r.join(d.s, "a"),
    left_join=lambda d: d.r.join(d.s, d.r["a"] == d.s["a"], "left").select("b", "d", "e"),
    left_array=lambda d: d.r.join(d.o, d.r["a"] == d.o["id"], "left").select("b", "tags", "ship"),
    left_using=lambda d: d.r.join(d.s, "a", "left").filter("d is null or d > 0"),
    right_join=lambda d: d.r.join(d.s, "a", "right").select("a", "b", "d"),
    full_using=lambda d: d.r.join(d.s, "a", "full"),
    filtered_sides=lambda d: d.r.filter("b > 0").join(d.s.filter("d > 1"), "a", "full"),
    semi_join=lambda d: d.r.join(d.s, "a", "left_semi"),
    anti_join=lambda d: d.r.filter("b > 0").join(d.s.filter("d > 1"), "a", "left_anti"),
    cross_join=lambda d: d.r.select("a").crossJoin(d.s.select("d").filter("d = 3")),
    join_on_more=lambda d: d.r.join(d.s, (d.r["a"] == d.s["a"]) & (d.s["d"] > 1) & (d.r["b"] > 0), "left").select(d.r["a"], "d"),
    self_join=lambda d: d.r.alias("x").join(d.r.alias("y"), col("x.a") == col("y.a")).filter("x.b < y.b").select("x.a", "x.b", col("y.b").alias("yb")),
    three_joins=lambda d: d.r.alias("x").join(d.s.alias("y"), col("x.a") == col("y.a")).join(d.t, col("k") == col("y.d"), "left").select("x.b", "y.e", "g"),
    join_computed=lambda d: d.r.withColumn("one", F.lit(1)).join(d.s.withColumn("two", F.lit(2)), "a", "left").select("b", "one", "two"),
    join_of_groups=lambda d: d.r.join(d.s.groupBy("a").agg(F.sum("d").alias("t")), "a", "left"),
    broadcast=lambda d: d.r.join(F.broadcast(d.s), "a").repartition(3).select("b", "d"),
    constants=lambda d: d.r.join(d.sql("SELECT * FROM VALUES (1, 'one'), (2, 'two'), (3, NULL) AS v(a, word)"), "a"),
    union=lambda d: d.r.select("a", "b").union(d.s.select("a", "d")),
    union_by_name=lambda d: d.r.select("a", "b").unionByName(d.s.select(col("d").alias("b"), "a")),
    union_missing=lambda d: d.r.select("a", "b").unionByName(d.s.select("a", "e"), allowMissingColumns=True),
    union_types=lambda d: d.r.select("a").union(d.m.select("price")),
    distinct=lambda d: d.r.select("a", "c").distinct(),
    drop_duplicates=lambda d: d.r.select("a").dropDuplicates().filter("a > 0"),
    intersect=lambda d: d.r.select("a").intersect(d.s.select("a")),
    intersect_all=lambda d: d.r.select("a").intersectAll(d.s.select("a")),
    subtract=lambda d: d.r.select("a").subtract(d.s.select("a")),
    except_all=lambda d: d.r.select("a").exceptAll(d.s.select("a")),
    union_group=lambda d: d.r.select("a").union(d.s.select("a")).groupBy("a").count(),
)  # fmt: skip

programs(
    group=lambda d: d.r.groupBy("a").agg(F.count("*").alias("n"), F.sum("b").alias("s"), F.avg("b").alias("m"), F.min("c").alias("lo")),
    group_expression=lambda d: d.r.groupBy((col("a") + 1).alias("x")).agg(F.sum("b").alias("s")).withColumn("y", col("x") * 2),
    group_of_computed=lambda d: d.r.withColumn("x", col("a") % 2).groupBy("x").agg(F.count("b").alias("n")),
    global_aggregate=lambda d: d.r.agg(F.count("*").alias("n"), F.sum("b").alias("s"), F.max("c").alias("hi")),
    having=lambda d: d.r.groupBy("a").agg(F.count("*").alias("n"), F.sum("b").alias("s")).filter("n > 1").select("a", "s"),
    count_distinct=lambda d: d.r.groupBy("a").agg(F.countDistinct("b").alias("x"), F.sum_distinct("b").alias("y"), F.countDistinct("b", "c").alias("z")),
    filter_clause=lambda d: d.r.groupBy("a").agg(F.expr("sum(b) FILTER (WHERE b > 0)").alias("p"), F.count_if(col("b") > 0).alias("n")),
    conditional=lambda d: d.r.groupBy("c").agg(F.sum(F.when(col("b") > 0, 1).otherwise(0)).alias("n"), F.bool_and(col("a") > 0).alias("x"), F.bool_or(col("b") > 1).alias("y")),
    spread=lambda d: d.r.groupBy("a").agg(F.stddev("b").alias("s"), F.var_pop("b").alias("v")),
    group_twice=lambda d: d.r.groupBy("a").agg(F.count("*").alias("n")).groupBy("n").agg(F.count("*").alias("m")),
    rollup=lambda d: d.r.rollup("a", "c").agg(F.sum("b").alias("s")),
    cube=lambda d: d.r.cube("a", "c").agg(F.count("*").alias("n")),
    top=lambda d: d.t.orderBy("k").limit(3),
    top_descending=lambda d: d.t.orderBy(F.desc("x"), F.desc("k")).limit(4).select("k", "x"),
    top_nulls_last=lambda d: d.t.select("k", "x").orderBy(F.asc_nulls_last("x"), "k").limit(4),
    top_by_other=lambda d: d.sql("SELECT g FROM t ORDER BY k * 2 LIMIT 3"),
    top_of_groups=lambda d: d.t.groupBy("g").agg(F.sum("k").alias("s")).orderBy(F.desc("s"), F.desc("g")).limit(2),
    sum_of_top=lambda d: d.t.orderBy("k").limit(3).agg(F.sum("x").alias("s")),
    window_partition=lambda d: d.t.select("k", F.sum("x").over(window().partitionBy("g")).alias("s")),
    window_rank=lambda d: d.t.withColumn("p", F.rank().over(window().orderBy("x"))).withColumn("q", F.dense_rank().over(window().partitionBy("g").orderBy(F.desc("x")))),
    window_top=lambda d: d.t.withColumn("n", F.row_number().over(window().partitionBy("g").orderBy("k"))).filter("n <= 2").select("g", "k"),
    window_running=lambda d: d.t.select("k", F.sum("x").over(window().partitionBy("g").orderBy("k")).alias("s")),
    scalar_query=lambda d: d.sql("SELECT a, (SELECT sum(d) FROM s WHERE s.a = r.a) AS m FROM r WHERE b > (SELECT min(d) FROM s)"),
    scalar_frame=lambda d: d.r.alias("q").select("a", d.s.where(col("a") == col("q.a").outer()).select(F.max("d")).scalar().alias("m")),
    exists=lambda d: d.sql("SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a) AND b NOT IN (SELECT d FROM s)"),
    common=lambda d: d.sql("WITH q AS (SELECT a, count(*) AS n FROM r GROUP BY a) SELECT p.a, q.a AS b FROM q p JOIN q ON p.n = q.n"),
    lateral=lambda d: d.sql("SELECT r.a, q.n FROM r, LATERAL (SELECT count(*) AS n FROM s WHERE s.a = r.a) q"),
    in_query_value=lambda d: d.sql("SELECT a, a IN (SELECT a FROM s) AS x FROM r"),
    in_query=lambda d: d.sql("SELECT a FROM r WHERE a IN (SELECT a FROM s) AND a BETWEEN 0 AND b + 2"),
    trimmed=lambda d: d.sql("SELECT btrim(c) AS b, ltrim('a', c) AS l, c ILIKE 'A%' AS i, locate('b', c) AS p FROM r"),
    extract=lambda d: d.sql("SELECT EXTRACT(YEAR FROM day) AS y, EXTRACT(HOUR FROM seen) AS h, decode(id, 1, 'x', 'y') AS d FROM m"),
    no_table=lambda d: d.sql("SELECT 1 AS one, 'x' AS x"),
)  # fmt: skip

programs(
    dates=lambda d: d.m.select(F.year("day").alias("y"), F.month("day").alias("m"), F.dayofmonth("day").alias("d"), F.quarter("day").alias("q"), F.hour("seen").alias("h")),
    date_filter=lambda d: d.m.filter((col("day") >= date(2024, 2, 1)) & (col("seen") > F.lit(datetime(2024, 2, 28, 12)))).select("id"),
    date_moves=lambda d: d.m.select(F.date_add("day", 2).alias("x"), F.add_months("day", -2).alias("y"), F.expr("day + INTERVAL 3 DAYS").alias("z"), F.expr("seen + INTERVAL 2 HOURS").alias("w"), F.datediff("day", F.lit(date(2024, 1, 10))).alias("n")),
    truncated=lambda d: d.m.select(F.trunc("day", "month").alias("m"), F.date_trunc("hour", "seen").alias("h"), col("seen").cast("date").alias("d")),
    sizes=lambda d: d.n.join(d.t.select(col("k").alias("key")), col("k") == col("key")).select((col("k") + col("y")).alias("s"), (col("y") + 1).alias("t"), col("k").cast("bigint").alias("b"), (col("i") > col("y")).alias("g")),
    decimals=lambda d: d.m.select((col("price") + 1).alias("p"), (col("price") - F.lit(0.25).cast("decimal(3,2)")).alias("q")),
    decimal_group=lambda d: d.m.groupBy("id").agg(F.sum("price").alias("s"), F.max("price").alias("hi"), F.sum("f").alias("f")),
    rounding=lambda d: d.m.select(F.floor("f").alias("d"), F.ceil("f").alias("u"), F.round("f", 0).alias("r"), F.sqrt(F.abs("f")).alias("q")),
    booleans=lambda d: d.m.filter("ok").select("id", (~col("ok")).alias("n"), (col("f") * 2.5).alias("g")),
    decimal_text=lambda d: d.m.select(col("price").cast("string").alias("x"), F.concat(F.lit("p"), col("price")).alias("y")),
    moment_group=lambda d: d.m.groupBy("day").agg(F.max("seen").alias("last")),
)  # fmt: skip

programs(
    nested=lambda d: d.o,
    path=lambda d: d.o.filter("ship.fee > 0").select("id", "ship.city", col("ship")["fee"].alias("fee")),
    explode=lambda d: d.o.select("id", F.explode("items").alias("i")).select("id", "i.pid", "i.qty"),
    explode_filter=lambda d: d.o.filter("cust = 'ann'").select("id", F.explode("tags").alias("tag")).filter("tag <> ''"),
    explode_outer=lambda d: d.o.select("id", F.explode_outer("tags").alias("tag")),
    inline=lambda d: d.o.select("id", F.inline("items")),
    explode_group=lambda d: d.o.select("cust", F.explode("items").alias("i")).groupBy("i.pid").agg(F.sum("i.qty").alias("q"), F.collect_list("cust").alias("buyers")),
    explode_join=lambda d: d.o.select("id", F.explode("items.pid").alias("pid")).join(d.t, col("pid") == col("k"), "left").select("id", "pid", "g"),
    collect=lambda d: d.o.groupBy("cust").agg(F.collect_list(F.struct("id", col("ship.city").alias("c"))).alias("l"), F.collect_set("ship.city").alias("c")),
    two_levels=lambda d: d.o.groupBy("cust").agg(F.collect_list(F.struct("id", "items")).alias("orders")),
    transform=lambda d: d.o.select("id", F.transform("items", lambda i: i.pid + 1).alias("a"), F.transform("nums", lambda x: x * 2).alias("b")),
    higher_order=lambda d: d.o.select("id", F.filter("items", lambda i: i.qty > 1).alias("f"), F.exists("items", lambda i: i.qty == 2).alias("e"), F.forall("nums", lambda x: x > 0).alias("a")),
    aggregate=lambda d: d.o.select("id", F.aggregate("items", F.lit(0).cast("bigint"), lambda acc, i: acc + i.pid).alias("n"), F.size("items").alias("m")),
    arrays=lambda d: d.o.select("id", col("items.qty").alias("q"), F.array_contains("tags", "b").alias("b"), F.array_max("nums").alias("m"), F.array_distinct("tags").alias("d"), F.concat("tags", "tags").alias("t")),
    make_nested=lambda d: d.o.select(F.struct("id", "cust").alias("s"), F.array("id", F.lit(1)).alias("a"), F.named_struct(F.lit("q"), col("id")).alias("n")),
    group_by_struct=lambda d: d.o.groupBy("ship").count(),
)  # fmt: skip
