"""Every feature of SQL on random data: the maintained view, the reference and DuckDB agree after every change."""

import pytest

from tests.frontends.sql.features import FEATURES
from tests.frontends.sql.worlds import World, answer

STATES = 6


@pytest.mark.parametrize("name", FEATURES)
def test_a_view_is_what_duckdb_computes(name):
    feature = FEATURES[name]
    world = World(feature.tables, name)
    view = world.db.view("v", feature.query, strict=False)

    for _ in range(STATES):
        if feature.duckdb:
            assert answer(view) == world.expected(feature.duckdb)
        view.verify()
        world.change()

    assert any(world.rows.values())
