"""Every feature of SQL against Spark itself: where Spark and DuckDB differ, Spark is right.

Each view is what the reference says, after every change (``test_differential``); here the reference is what Spark says.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.frontends.sql.array_features import BAGS
from tests.frontends.sql.features import FEATURES
from tests.frontends.sql.judge import Judge, exact
from tests.frontends.sql.worlds import TABLES, World

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def judge(spark: Any) -> Judge:
    return Judge(spark)


@pytest.fixture(scope="module")
def world(judge: Judge) -> Iterator[World]:
    """One state for all features."""
    world = World(TABLES, "judged")
    for _ in range(4):
        world.change(6)
    judge.state(world.rows)
    yield world
    world.db.close()


def answer(view: Any, in_order: bool) -> Counter[Any]:
    return Counter(exact(tuple(found), in_order) for found in view.rows())


def is_in_order(name: str) -> bool:
    """Whether the arrays of an answer are."""
    return FEATURES[name].tables == ("l",) and name not in BAGS


@pytest.mark.parametrize("name", FEATURES)
def test_a_query_means_what_spark_computes(name, world, judge):
    found, in_order = world.meaning(FEATURES[name].query), is_in_order(name)

    assert Counter(exact(row, in_order) for row in found) == judge.rows(FEATURES[name].spark, in_order)


CHUNK = 25


@pytest.mark.soak
@pytest.mark.parametrize("start", range(0, len(FEATURES), CHUNK))
def test_views_are_what_spark_computes(start, judge):
    """Features as views of one database, after every change of it."""
    names = list(FEATURES)[start : start + CHUNK]
    world = World(TABLES, f"judged {start}")
    views = {name: world.db.view(name, FEATURES[name].query, strict=False) for name in names}
    for _ in range(6):
        world.change(6)
        judge.state(world.rows)
        for name, view in views.items():
            in_order = is_in_order(name)
            assert answer(view, in_order) == judge.rows(FEATURES[name].spark, in_order), name
