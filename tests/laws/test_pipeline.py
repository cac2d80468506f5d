"""Laws of the whole road: what comes out means what went in, and what was promised of each step holds."""

from hypothesis import given

from nestling.calculus.evaluate import evaluate
from nestling.calculus.terms import Relation
from nestling.calculus.traverse import walk
from nestling.calculus.typing import element_type
from nestling.transform.pipeline import EMBEDDED, PASSES, SPARK, by_rows, compile_view, run
from tests.draws import draws
from tests.engines.worlds import KEYLESS
from tests.strategies import instances, queries


@given(instance=instances("full"))
def test_meaning_and_type_stay(instance):
    """evaluate(normal) = evaluate(e) and normal : type_of(e), for every engine"""
    for target in (EMBEDDED, SPARK):
        normal = run(instance.query, target.passes)

        assert element_type(normal) == element_type(instance.query)
        assert evaluate(normal, instance.database) == evaluate(instance.query, instance.database)


@given(query=queries("full", schema=KEYLESS.schema))
def test_there_is_a_program_or_a_reason(query):
    """what has no program has a reason, what has one has none; every result is observed, in order"""
    seen: list[str] = []
    plan = by_rows(KEYLESS.tables)
    compiled = compile_view(query, EMBEDDED, plan, plan, lambda step, result: seen.append(step))

    names = ["total", *(step.name for step in PASSES), "shred", "lower", "plan"]
    assert seen == names[: len(seen)]
    assert (compiled.program is None) == bool(compiled.reason)
    assert (compiled.program is None) == bool(compiled.code)
    assert (seen == names) == (compiled.program is not None)


def test_most_queries_have_a_program():
    """the laws above are not about refusals alone"""
    plan = by_rows(KEYLESS.tables)
    drawn = [q for q in draws(queries("full", schema=KEYLESS.schema), 100) if _reads(q)]
    compiled = [compile_view(query, EMBEDDED, plan, plan) for query in drawn]

    assert sum(found.program is not None for found in compiled) > len(compiled) / 2


def _reads(query):
    return any(isinstance(node, Relation) for node in walk(query))
