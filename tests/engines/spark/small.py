"""Small programs on Spark: every map and answer is that of the reference after each of a few batches.

Each has one kind of statement that Spark runs; together they take seconds, so that they are tried on mutants too.
"""

from typing import Any

import pytest

import nestling as nl
from nestling.engine.reference import ReferenceEngine
from nestling.engine.spark import limits
from nestling.engine.spark.engine import SparkEngine
from nestling.transform.viewlet.reading import compile_batches
from tests.engines.spark.session import session
from tests.engines.suite.test_engines import cells_alike
from tests.engines.worlds import flat_view

#: A product of two tables that change together; a sum in a condition; sums below a bound; extremes; sets.
VIEWS = {
    "product": "[sum(r.n * s.n for r in R for s in S if r.k == s.k)]",
    "other": "[sum(s.n for s in S if s.n < sum(r.n for r in R if r.k == s.k))]",
    "condition": "[sum(r.n for r in R if 2 * r.n < sum(q.n for q in R if q.k == r.k))]",
    "count": "[(s.n, sum(r.n for r in R if r.k == s.k) * len([1 for r in R if r.k == s.k])) for s in S]",
    "below": "[(s.n, sum(r.n for r in R if r.n < s.n)) for s in S]",
    "least": "[s.n for s in S if min([r.n for r in R if r.k == s.k], default=0) < s.n]",
    "greatest": "[sum(r.n for r in R if r.n < max([q.n for q in R if q.k == r.k]))]",
    "set": "[s.n for s in S if len({r.n for r in R if r.k == s.k}) > 1]",
    "exists": "[s.n for s in S if s.k in {r.k for r in R}]",
}
R, S = ((1, 1), (2, 1), (3, 2), (2, 1)), ((1, 1), (4, 2), (5, 3), (9, 1))
BATCHES: list[dict[str, list[Any]]] = [
    {"R": [(row, 1) for row in R], "S": [(row, 1) for row in S]},
    {"R": [((1, 1), -1), ((3, 2), -1), ((7, 2), 1), ((0, 3), 1)], "S": [((4, 2), -1), ((6, 2), 1)]},
    {"R": [((2, 1), -2), ((20, 1), 1)]},
    {"R": [((0, 3), -1)], "S": [((6, 2), 1)]},
]


def maintains(name: str, by_queries: bool = True) -> None:
    """One of the views, on Spark and by the reference."""
    db = nl.Database()
    for table in ("R", "S"):
        db.table(table, {"n": int, "k": int})
    view = db.view("v", VIEWS[name], language="python")
    flat = flat_view(db._state.views[view.name].definition.query, exact=False)
    program = compile_batches(db._state.declarations(), {"v": flat})
    with pytest.MonkeyPatch.context() as patch:
        if by_queries:
            patch.setattr(limits, "MAX_DRIVER_VALUES", -1)
        engine, reference = SparkEngine(program, session()), ReferenceEngine(program)
        for batch in BATCHES:
            engine.apply_batch(batch)
            reference.apply_batch(batch)
            assert engine.read("v") == reference.read("v")
        for map_, decl in program.maps.items():
            assert cells_alike(engine.cells(map_), reference.cells(map_)), decl.why
