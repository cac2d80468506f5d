"""The features of SQL on Spark: many views in one program, a few batches, every answer that of the reference."""

from collections.abc import Iterable
from typing import Any

import pytest

from nestling.calculus.evaluate import evaluate
from nestling.calculus.terms import Expr
from nestling.database.definitions import TableDef
from nestling.engine.protocol import Batch
from nestling.engine.spark.columns import layouts
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.support import check_program
from nestling.errors import QueryError
from nestling.frontend.sql import translate
from nestling.program.statements import Program
from nestling.transform.viewlet import compile_batches, compile_views
from nestling.transform.viewlet.compile import CannotCompile
from tests.engines.suite.test_engines import alike
from tests.engines.worlds import flat_view
from tests.frontends.sql.features import FEATURES
from tests.frontends.sql.worlds import TABLES, World

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("generated_code")]

#: One of each kind of step: the rest of the features takes minutes.
ALWAYS = (
    "division", "spread", "count_several", "any_less", "top_nulls_descending", "top_mixed", "top_inside", "running_sum",
    "window_row_number", "window_top_per_group", "window_top_by_two", "window_top_dense",
    "scalar_inequality", "truncated", "decimals", "full_join", "percentiles", "listagg", "mode", "bit_aggregates",
    "computed_left_join", "exists_either", "max_either",
    "null_struct_explode_outer", "null_left_join", "null_case", "map_parts", "map_lookup_array", "map_filter",
    "time_group", "time_parts", "struct_max_all", "struct_max",
    "list_posexplode_outer", "list_element_struct", "list_filter",
    "list_group_nullable", "list_extremes_group", "list_join_texts", "list_zip_with",
    "max_by", "rank_by_nullable", "row_number_ties", "group_by_nullable_sum", "regexp_replace", "date_format",
    "hopping_uneven", "sessions_by_key",
    "sequence_gaps", "sequence_read", "split_words", "split_element_group", "split_functions", "json_array_structs",
    "sequence_moments", "array_written_sorted",
)  # fmt: skip
TOGETHER = 20
#: Quotients with more places than a column has.
TOO_FINE = {"window_share", "int_widths", "decimal_spread", "decimal_share"}
#: Refused on Spark: groups whose key is computed by a function that may have no value, as of rows made of a scalar.
BY_ROWS_ALONE = {"sequence_calendar", "json_array_grouped", "variant_group"}


def moves(world: World, most: int) -> list[Batch]:
    """Transactions of a world, each as what it adds to the flat tables."""
    engine = world.db._state.engine
    found: list[Batch] = []
    for _ in range(2):
        before = {name: dict(engine.table(name)) for name in world.db._state.declarations()}
        world.change(most)
        after = {name: engine.table(name) for name in before}
        changed = {
            name: {row: after[name].get(row, 0) - rows.get(row, 0) for row in {*rows, *after[name]}}
            for name, rows in before.items()
        }
        found.append({name: [(row, n) for row, n in rows.items() if n] for name, rows in changed.items()})
    return found


def declared(tables: Iterable[TableDef]) -> dict[str, Any]:
    return {name: decl for table in tables for name, decl in table.declarations.items()}


def follows(spark: Any, names: Iterable[str], seed: str) -> None:
    """Views of features are, after batches, what the reference says."""
    world = World(TABLES, seed)
    queries: dict[str, Expr] = {name: translate(FEATURES[name].query, world.db._catalog()) for name in names}
    views = {name: flat_view(query, exact=False) for name, query in queries.items()}
    engine = SparkEngine(compile_batches(declared(world.db._state.tables.values()), views), spark)
    for batch in moves(world, 12):
        engine.apply_batch(batch)
    nested = world.db._state.nested_tables()
    for name, query in queries.items():
        assert alike(engine.read(name), evaluate(query, nested)), name


@pytest.mark.parametrize("start", range(0, len(ALWAYS), TOGETHER))
@pytest.mark.parametrize("way", ["by_queries", "by_the_driver"])
def test_features_of_every_kind(spark, way, start, request):
    if way == "by_queries":
        request.getfixturevalue("by_queries")
    follows(spark, ALWAYS[start : start + TOGETHER], "spark")


def maintained() -> dict[str, Program]:
    """The features that have a program by rows, with that by batches."""
    world, found = World(TABLES, "none"), {}
    tables = declared(world.db._state.tables.values())
    for name, feature in FEATURES.items():
        query = translate(feature.query, world.db._catalog())
        try:
            found[name] = compile_batches(tables, {name: flat_view(query, exact=False)})
        except CannotCompile:
            if name in BY_ROWS_ALONE:
                compile_views(tables, {name: flat_view(query)})
                continue
            with pytest.raises(CannotCompile):
                compile_views(tables, {name: flat_view(query)})
    return found


def test_what_is_maintained_embedded_is_on_spark():
    """a feature that has a program by rows has one by batches, and all of it an SQL text"""
    programs = maintained()
    for name, program in programs.items():
        if name in TOO_FINE:
            with pytest.raises(QueryError, match="places after the point"):
                check_program(program, layouts(program))
        else:
            check_program(program, layouts(program))

    assert len(programs) > 200
    assert not BY_ROWS_ALONE & programs.keys()


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(3))
def test_every_feature(spark, seed, by_queries):
    some = [name for name in maintained() if name not in TOO_FINE]
    for start in range(0, len(some), TOGETHER):
        follows(spark, some[start : start + TOGETHER], f"spark {seed}")
