"""Two states of the tables, in the shared session."""

from typing import Any

import pytest

from tests.frontends.dataframe.tables import frames
from tests.frontends.sql.worlds import TABLES, World


@pytest.fixture(scope="module")
def states(spark: Any) -> list[tuple[Any, Any]]:
    """Before and after a few changes: the tables as DataFrames, and as the calculus has them."""
    world, found = World(TABLES, "frames"), []
    for number in range(8):
        world.change()
        if number in (3, 7):
            found.append((frames(spark, world), world.db._state.nested_tables()))
    return found
