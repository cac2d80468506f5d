"""Every feature of SQL on random data: the maintained view, the reference and DuckDB agree after every change."""

import pytest

from tests.frontends.sql.features import FEATURES
from tests.frontends.sql.worlds import World, answer

STATES = 6


@pytest.mark.parametrize("name", FEATURES)
def test_a_view_is_what_duckdb_computes(name):
    tables, query, theirs = FEATURES[name]
    world = World(tables.split(), name)
    view = world.db.view("v", query)

    for _ in range(STATES):
        assert answer(view) == world.expected(theirs)
        view.verify()
        world.change()

    assert any(world.rows.values())
