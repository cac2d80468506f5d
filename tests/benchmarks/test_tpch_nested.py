"""Nested TPC-H: the SQL, the comprehension and the reference agree under deep changes, at every level of nesting."""

from collections import Counter

import duckdb
import pytest

from benchmarks.workloads import tpch_nested
from benchmarks.workloads.tpch_nested import FAMILIES, LEVELS

CASES = [(family, level) for family in FAMILIES for level in LEVELS]


def content(value):
    """A value in which the order inside bags carries no meaning, and names carry none."""
    if isinstance(value, list):
        return frozenset(Counter(map(content, value)).items())
    if isinstance(value, dict):
        return tuple(map(content, value.values()))
    return tuple(map(content, value)) if isinstance(value, tuple) else value


def agree(family, level, count, points, seed):
    db = tpch_nested.database(family, level)
    of_sql = db.view("of_sql", tpch_nested.sql(family, level))
    of_python = db.view("of_python", tpch_nested.python(family, level), language="python")
    assert not db._state.views.on_read, "both are maintained"
    changes = list(tpch_nested.changes(family, level, count, seed))
    at = {len(changes) * (point + 1) // points for point in range(points)}
    seen = False
    for number, change in enumerate(changes, start=1):
        change.apply(db)
        if number in at:
            found = content([tuple(row) for row in of_sql.rows()])
            assert found == content([tuple(row) for row in of_python.rows()])
            of_sql.verify()
            of_python.verify()
            seen = seen or bool(found)
            if family == "flat to nested":
                assert found == content(in_duckdb(db, level))
    assert seen


def in_duckdb(db, level):
    duck = duckdb.connect()
    for at in range(level + 1):
        table = tpch_nested.CHAIN[at][0]
        duck.execute(f"CREATE TABLE {table} ({tpch_nested.flat_columns(at).replace('STRING', 'VARCHAR')})")
        for row in db.tables[table].rows():
            duck.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", list(row))
    return duck.execute(tpch_nested.sql("flat to nested", level, duckdb=True)).fetchall()


@pytest.mark.parametrize(("family", "level"), CASES)
def test_sql_and_comprehension_agree_with_recomputation(family, level):
    agree(family, level, count=60, points=4, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize(("family", "level"), CASES)
def test_they_agree_at_twenty_points_of_long_streams(family, level, seed):
    agree(family, level, count=400, points=20, seed=seed)
