"""Pieces of what Spark and its driver run, tried without a session."""

import duckdb
import pytest

from nestling.calculus.build import call, const
from nestling.calculus.terms import Var
from nestling.calculus.types import INT
from nestling.engine.spark.aggregates import ordered
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.driver.lookup import merged
from nestling.engine.spark.durable import EngineLake
from nestling.engine.spark.linear import _is_factor
from nestling.storage.lake import DataFile, Lake, RelationFiles

N, M, X = (Var(name, INT) for name in "nmx")


@pytest.mark.parametrize(
    ("amount", "is_one"),
    [
        (N, True),
        (call("*", X, N), True),
        (call("*", N, N), False),
        (call("*", N, call("*", X, M)), False),
        (call("*", X, call("+", N, const(1))), False),
        (call("*", const(0), call("*", N, N)), True),
        (X, False),
    ],
)
def test_rows_stay_unsummed_where_one_count_of_them_is_one_factor(amount, is_one):
    assert _is_factor({"n", "m"}, amount) is is_one


def test_rows_are_summed_measure_by_measure():
    layout = Layout((INT,), (INT, INT), positive=True)

    assert merged([(1, 2, 10), (2, 1, 5), (1, 1, 7), (2, -1, 3)], layout) == [(1, 3, 17)]


def test_what_may_be_negative_stays_while_any_measure_does():
    layout = Layout((INT,), (INT, INT), positive=False)

    assert merged([(1, 2, 10), (1, -2, 7), (2, 1, 1), (2, -1, -1)], layout) == [(1, 0, 17)]


@pytest.mark.parametrize(("aggregate", "answer"), [("count_distinct", 2), ("min", 3), ("max", 5)])
def test_an_aggregate_in_order_takes_what_is_there_alone(aggregate, answer):
    """The text is plain enough for DuckDB."""
    text = ordered(aggregate, "v", "n")
    rows = "(VALUES (1, 0), (3, 2), (5, 1), (7, -1)) AS t(v, n)"
    found = duckdb.connect().execute(f"SELECT {text} FROM {rows}").fetchall()

    assert found == [(answer,)]


FIRST, SECOND = DataFile("data/m/rows-1/part-0.parquet", 2, 9), DataFile("data/m/rows-1/part-1.parquet", 2, 9)
LATER = DataFile("data/m/rows-2/part-0.parquet", 2, 9)


@pytest.mark.parametrize(
    ("files", "is_summed"),
    [
        (RelationFiles((FIRST,)), True),
        (RelationFiles((FIRST, SECOND)), True),
        (RelationFiles((FIRST, LATER)), False),
        (RelationFiles((FIRST,), (LATER,)), False),
    ],
    ids=["one file", "one write", "two writes", "changes"],
)
def test_only_what_was_written_at_once_has_every_key_once(tmp_path, files, is_summed):
    lake = Lake(tmp_path / "lake")
    try:
        [part] = EngineLake(lake, None, {"m": Layout((INT,), (INT,))}, {}).parts("m", files)
    finally:
        lake.close()

    assert part.summed is is_summed
