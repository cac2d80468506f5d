"""The view from a DataFrame equals the DataFrame."""

from collections import Counter
from typing import Any

import pytest

from nestling.calculus.evaluate import evaluate
from nestling.calculus.terms import Expr
from nestling.calculus.types import Record
from nestling.calculus.typing import element_type
from nestling.errors import QueryError
from nestling.frontend.dataframe import to_sql
from nestling.frontend.schema import python_value
from nestling.frontend.sql import translate
from tests.frontends.dataframe.programs import PROGRAMS
from tests.frontends.dataframe.tables import MARKS
from tests.frontends.sql.features import FEATURES
from tests.frontends.sql.worlds import TABLES, World, plain

pytestmark = pytest.mark.xdist_group("spark")
CATALOG = World(TABLES, "").db._catalog()


def meaning(query: Expr, tables: Any) -> Counter[Any]:
    element = element_type(query)
    rows = evaluate(query, tables).items()
    return Counter({plain(tuple(python_value(element, row))): times for row, times in rows})


def computed(frame: Any) -> Counter[Any]:
    return Counter(plain(tuple(row)) for row in frame.collect())


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_view_from_a_frame_is_the_frame(name, states):
    texts = set()
    for tables, state in states:
        frame = PROGRAMS[name](tables)
        text = to_sql(frame, MARKS)
        texts.add(text)
        query = translate(text, CATALOG)

        assert meaning(query, state) == computed(frame)
        element = element_type(query)
        assert isinstance(element, Record)
        assert list(element.names) == frame.columns
    assert len(texts) == 1, "what is written depends on the DataFrame alone"


@pytest.mark.soak
@pytest.mark.parametrize("name", PROGRAMS)
def test_spark_understands_what_is_written(name, states):
    for tables, _ in states:
        frame = PROGRAMS[name](tables)

        assert computed(tables.sql(to_sql(frame, MARKS))) == computed(frame)


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(FEATURES))
def test_every_feature_of_sql_by_way_of_its_plan(name, states):
    """``spark.sql(text)`` is a DataFrame, too: it is refused, or means what the text means"""
    from pyspark.errors import AnalysisException

    for tables, state in states:
        try:
            frame = tables.sql(FEATURES[name].spark)
        except AnalysisException as error:
            pytest.skip(f"Spark does not have it: {error.getCondition()}")
        try:
            query = translate(to_sql(frame, MARKS), CATALOG)
        except QueryError as error:
            pytest.skip(str(error))

        assert meaning(query, state) == computed(frame)
