"""Views on Spark of which nothing is kept: a plan over the tables, and answers as embedded."""

from typing import Any

import pytest

import nestling as nl
from nestling.database.change import Change
from nestling.database.database import Database
from nestling.engine.reference import ReferenceEngine
from nestling.engine.spark import limits
from nestling.engine.spark.columns import layouts
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.on_read import computed
from nestling.engine.spark.support import check_program
from nestling.errors import NestlingError, QueryError
from nestling.frontend.schema import element_value
from nestling.transform.viewlet import compile_batches, fill_on_read
from nestling.values.bag import ZBag
from tests.draws import draws
from tests.engines.spark.test_cost import Counters
from tests.engines.spark.test_random import batches, some_views
from tests.engines.spark.test_watching import told
from tests.engines.suite.cases import NESTED, Case
from tests.engines.suite.test_engines import alike
from tests.engines.worlds import WORLDS

pytestmark = pytest.mark.xdist_group("spark")


def declare(db: Any, case: Case, names: tuple[str, ...]) -> None:
    for name, (schema, key) in case.tables.items():
        db.table(name, schema, key=key)
    for name in names:
        db.view(name, case.views[name], language="python", store="none")


def move(db: Database, case: Case, *numbers: int) -> None:
    for number in numbers:
        with db.transaction() as change:
            case.moves[number](change)


def test_nothing_is_kept_and_everything_is_answered(spark, tmp_path):
    """read, found, as a frame, after reopening, added to data, told to subscribers; no map, no statement, no job"""
    names = ("spend", "by_customer")
    db: Any = nl.Database(spark=spark, path=tmp_path / "lake")
    other = Database()
    for each in (db, other):
        declare(each, NESTED, names[:1])
        move(each, NESTED, 0)
    db.close()
    db = nl.Database(spark=spark, path=tmp_path / "lake")
    for each in (db, other):
        declare(each, NESTED, names)
    heard: list[list[Change]] = [[], []]
    for each, changes in zip((db, other), heard, strict=True):
        each.views["spend"].subscribe(changes.append)
        move(each, NESTED, 1)
    assert [told(change) for change in heard[0]] == [told(change) for change in heard[1]]
    assert heard[0]
    assert (db._state.running.program.maps, db._last_refresh.statements) == ({}, 0)
    stats = db.stats()
    for name, view in db.views.items():
        answer = other.views[name].bag()
        assert alike(view.bag(), answer)
        assert (stats[name]["rows"], stats[name]["maps"]) == (answer.total, {})
        text = view.explain()
        assert "computed on Spark on every read" in text
        assert "orders: 3 rows" in text
    nested, answer = db.views["by_customer"], other.views["by_customer"].bag()
    frame = db.view_df("by_customer")
    assert ZBag((element_value(nested.element, row), 1) for row in frame.collect()) == answer
    assert db.view_df("by_customer", shredded=True).count() == len(answer)
    assert alike(db._find("spend", "ann"), other._find("spend", "ann"))
    db.verify(maps=True)
    with pytest.raises(NestlingError, match='spend has store="none", and so no change feed'):
        db.keep_changes("spend")
    with pytest.raises(QueryError, match="already defined, and otherwise"):
        db.view("spend", NESTED.views["spend"], language="python")
    for name in names:
        db.drop(name)
    assert not db.views
    assert {name.partition(" ")[0] for name in db._state.lake.manifest.relations} == {"table"}
    db.close()


@pytest.mark.soak
def test_changes_of_nested_views_are_told(spark, tmp_path):
    """what came and went, as embedded: by comparing answers, and nothing where no table changed that it reads"""
    db: Any = nl.Database(spark=spark, path=tmp_path / "lake")
    other = Database()
    heard: list[list[Change]] = [[], []]
    for each, changes in zip((db, other), heard, strict=True):
        declare(each, NESTED, ("by_customer", "baskets"))
        for view in each.views.values():
            view.subscribe(changes.append)
        move(each, NESTED, *range(len(NESTED.moves)))
        each.insert("parts", [(9, "cog", 1.0)])
    assert [told(change) for change in heard[0]] == [told(change) for change in heard[1]]
    assert len(heard[0]) > len(NESTED.moves)
    db.close()


def test_a_batch_costs_it_nothing(spark, tmp_path):
    """as many jobs with the view as without; a view whose value is missing is found out by who reads"""
    db: Any = nl.Database(spark=spark, path=tmp_path / "lake")
    db.table("T", {"a": int, "b": int})
    db.insert("T", [(6, 3)])
    db.table("U", {"a": int})  # a definition moves rows to files
    jobs = Counters(spark)
    db.insert("T", [(7, 1)])
    before = jobs.since()
    ratio = db.view("ratio", "[sum(t.a // t.b for t in T)]", language="python", store="none")
    jobs.since()
    db.insert("T", [(8, 1)])
    assert jobs.since() == before
    assert list(ratio) == [17]
    db.insert("T", [(1, 0)])
    with pytest.raises(NestlingError, match="ratio cannot be computed"):
        ratio.bag()
    with pytest.raises(NestlingError, match="ratio cannot be computed"):
        ratio.subscribe(print)
    db.delete("T", [(1, 0)])
    ratio.subscribe(print)
    with pytest.raises(NestlingError, match="a view cannot be computed"):
        db.insert("T", [(1, 0)])
    assert list(ratio) == [17]
    db.close()


@pytest.mark.parametrize(
    "world", [name if name == "keyed" else pytest.param(name, marks=pytest.mark.soak) for name in WORLDS]
)
def test_random_views(spark, world, monkeypatch):
    """what is computed from the tables is what the reference keeps"""
    found = WORLDS[world]
    views, among = some_views(found)
    program = fill_on_read(found.tables, views)
    check_program(program, layouts(program))
    engine = SparkEngine(compile_batches(found.tables, {}), spark)
    reference = ReferenceEngine(compile_batches(found.tables, views))
    for changes in draws(batches(found, among, 2), 1)[0]:
        engine.apply_batch(changes)
        reference.apply_batch(changes)
    for cells in (limits.MAX_DRIVER_VALUES, -1):  # by the driver what it takes, and all by Spark
        monkeypatch.setattr(limits, "MAX_DRIVER_VALUES", cells)
        with computed(program, layouts(program), engine.now) as reading:
            for name in views:
                assert reading.read(name) == reference.read(name)
