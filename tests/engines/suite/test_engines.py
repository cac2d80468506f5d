"""Law 17: on the same batches every engine has the tables, maps and answers of the reference evaluator."""

from decimal import Decimal
from math import isclose
from typing import Any

import pytest

from nestling.calculus.evaluate import evaluate
from nestling.database.database import Database
from nestling.database.definitions import TableDef
from nestling.engine.protocol import Engine
from nestling.program.meaning import meaning
from nestling.transform.lower.view import FlatView
from nestling.values.bag import ZBag
from tests.engines.spark.session import missing, session
from tests.engines.suite.cases import CASES, Case
from tests.engines.suite.engines import embedded, native, on_spark, reference, toy
from tests.engines.worlds import flat_view

#: On Spark once by its queries alone, and once as it is: what is little is done by the driver.
ENGINES = (
    "reference",
    "embedded",
    "toy",
    "native",
    *(pytest.param(kind, marks=pytest.mark.xdist_group("spark")) for kind in ("queries", "spark")),
)


def engine_of(kind: str, tables: dict[str, TableDef], views: dict[str, FlatView]) -> Engine:
    declared = {name: decl for table in tables.values() for name, decl in table.declarations.items()}
    if kind in ("queries", "spark"):
        if missing():
            pytest.skip(missing())
        return on_spark(session())(declared, views)
    return {"reference": reference, "embedded": embedded, "toy": toy, "native": native}[kind](declared, views)


def opened(case: Case) -> Database:
    db = Database()
    for name, (schema, key) in case.tables.items():
        db.table(name, schema, key=key)
    for name, text in case.views.items():
        db.view(name, text, language="python", strict=False)
    return db


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("kind", ENGINES)
def test_every_engine_answers_what_the_reference_does(kind, case, request):
    if kind == "queries":
        request.getfixturevalue("by_queries")
    db = opened(case)
    assert not db._state.views.on_read
    exact = kind not in ("queries", "spark")
    views = {name: flat_view(view.query, exact) for name, view in db._state.definitions.items()}
    engine = engine_of(kind, db._state.tables, views)
    for number, move in enumerate(case.moves):
        with db.transaction() as change:
            move(change)
        batch: dict[str, list[tuple[Any, int]]] = {}
        for table, row, times in change.events:
            batch.setdefault(table, []).append((row, times))
        engine.apply_batch(batch)
        if number % 2 == 0 and number + 1 < len(case.moves):
            continue  # a job on Spark takes its time: every second state is looked at
        tables = {name: db._state.engine.table(name) for name in db._state.declarations()}
        assert {name: engine.table(name) for name in tables} == tables
        nested = db._state.nested_tables()
        for name, view in db._state.definitions.items():
            assert alike(engine.read(name), evaluate(view.query, nested)), name
    for name, decl in engine.program.maps.items():
        assert cells_alike(engine.cells(name), meaning(decl.query, tables)), decl.why


def alike(found: ZBag, expected: ZBag) -> bool:
    """Equal, or equal but for the last digits of sums of floats and quotients of decimals."""
    if found == expected:
        return True
    ours, theirs = (sorted(bag.items(), key=repr) for bag in (found, expected))
    return len(ours) == len(theirs) and all(map(close, ours, theirs))


def close(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return isclose(left, right, rel_tol=1e-12)
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return isclose(left, right, rel_tol=1e-16)
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(close, left, right))
    return bool(left == right)


def cells_alike(found: dict[Any, Any], expected: dict[Any, Any]) -> bool:
    return found.keys() == expected.keys() and all(close(found[key], expected[key]) for key in expected)
