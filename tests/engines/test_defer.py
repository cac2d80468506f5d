"""Which changes wait: a view that does not wait is right without them, and what has no value is refused at once.

Embedded views are made total first, so that nothing in them may fail. Those of Spark are not, and the same pass says
what waits there: here their programs run on the embedded engine.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import nestling as nl
from nestling.calculus.evaluate import evaluate
from nestling.engine.local.engine import LocalEngine
from nestling.errors import NoValue
from nestling.program.meaning import meaning
from nestling.program.statements import Program
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.defer import deferred
from nestling.values.bag import ZBag
from tests.engines.test_knobs import CONDITIONS
from tests.engines.worlds import flat_view

Change = tuple[str, tuple[int, int], int]

#: A quotient by a sum, in what the sum decides; and by a sum that another decides, whose own change cannot fail.
FAILS = "[sum(t.x for t in T if t.x < 10 // (sum(u.x for u in T if u.k == t.k) - 3))]"
FAILS_LATER = (
    "[sum(u.x for u in U if u.x"
    " <= 10 // (sum(t.x for t in T if t.x <= sum(v.x for v in U if v.k == t.k)) - 3))]"
)


def compiled(views: dict[str, Any], patient: set[str]) -> tuple[nl.Database, Program]:
    """Queries, and the program of Spark's form of them where ``patient`` views wait."""
    db = nl.Database()
    for table in ("T", "U"):
        db.table(table, {"k": int, "x": int})
    for name, view in views.items():
        db.view(name, view, language="python")
    flat = {name: flat_view(db._state.views[name].definition.query, exact=False) for name in views}
    program = compile_views(db._state.declarations(), flat)
    return db, replace(program, deferred=deferred(program, patient))


def changes(seed: str, number: int) -> Iterator[Change]:
    """Rows that come and go."""
    rng, rows = Random(seed), Counter[tuple[str, tuple[int, int]]]()
    for _ in range(number):
        there = sorted(rows.elements())
        if there and rng.random() < 0.35:
            table, row = rng.choice(there)
            times = -1
        else:
            table, row, times = rng.choice("TU"), (rng.randint(1, 2), rng.randint(-1, 4)), 1
        rows[table, row] += times
        yield table, row, times


def fails(engine: LocalEngine, change: Change) -> bool:
    try:
        engine.apply(*change)
    except NoValue:
        return True
    return False


@pytest.mark.parametrize("text", [FAILS, FAILS_LATER], ids=["one", "two"])
def test_what_may_fail_does_not_wait(text):
    """a change after which a term has no value is refused at once, whether the view waits or not"""
    refused = 0
    for seed in range(20):
        _, program = compiled({"v": text}, {"v"})
        waiting, eager = LocalEngine(program), LocalEngine(replace(program, deferred=frozenset()))
        for change in changes(f"{text} {seed}", 12):
            found = fails(eager, change)
            assert fails(waiting, change) == found
            if found:
                refused += 1
                break  # both engines are torn now
    assert refused > 3


def test_what_an_eager_view_needs_does_not_wait():
    """it answers rightly while nothing is passed on, whatever waits for another view of the same maps"""
    for name, condition in CONDITIONS.items():
        db, program = compiled(
            {"patient": CONDITIONS["sum"], "other": condition, "eager": condition}, {"patient", "other"}
        )
        assert program.deferred or name != "twice"
        engine = LocalEngine(program)
        engine.flush = lambda: None  # type: ignore[method-assign]
        tables: dict[str, Counter[Any]] = {"T": Counter(), "U": Counter()}
        for table, row, times in changes(name, 25):
            engine.apply(table, row, times)
            tables[table][row] += times
            wanted = evaluate(
                db._state.views["eager"].definition.query,
                {n: ZBag(rows.items()) for n, rows in tables.items()},
            )
            assert engine.read("eager") == wanted, name


def test_what_is_late_is_passed_on_to_what_waits():
    """every map equals its query once all is passed on, though one that may fail stands behind those that wait"""
    for text in (FAILS_LATER, CONDITIONS["twice"]):
        _, program = compiled({"v": text}, {"v"})
        engine = LocalEngine(program)
        for number, change in enumerate(changes("late", 30)):
            if fails(engine, change):
                break
            if number % 3 == 2:
                engine.flush()
                for name, decl in program.maps.items():
                    stored = {table: engine.table(table) for table in "TU"}
                    assert engine.cells(name) == meaning(decl.query, stored), name


def test_something_waits():
    """the law is not about nothing: of every condition some map waits, unless it may fail"""
    for name, condition in CONDITIONS.items():
        assert compiled({"v": condition}, {"v"})[1].deferred, name
        assert not compiled({"v": condition}, set())[1].deferred, name
    assert not compiled({"v": FAILS}, {"v"})[1].deferred
