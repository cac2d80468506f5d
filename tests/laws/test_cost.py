"""Law 4: a delta costs less than its query, and the estimate of a query is never too low."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nestling.calculus.evaluate import evaluate
from nestling.calculus.parse import parse
from nestling.calculus.terms import Call, Expr
from nestling.calculus.traverse import is_input_dependent, walk
from nestling.calculus.types import INT, Bag, Record, Type
from nestling.calculus.typing import type_of
from nestling.transform.normalize import normalize
from nestling.transform.theory.cost import (
    ONE,
    BagCost,
    Cardinality,
    Cost,
    RecordCost,
    Symbolic,
    at_most,
    cardinality,
    cost,
    less,
    size,
    symbolic_size,
    tcost,
)
from nestling.transform.theory.delta import delta
from nestling.transform.theory.flags import infer_flags
from tests.laws.shredding import catalog_of, deep_paths, parts_of, shredded_catalog
from tests.strategies import CATALOG, SCHEMA, instances, queries

ALL = frozenset(CATALOG)


@st.composite
def sizes(draw, type_: Type, most: Any = None, top: bool = True) -> Any:
    """A size of a value, nowhere above ``most``; at the top it is at least 2, or else below ``most``."""
    match type_:
        case Record():
            bounds = most.fields if most else (None,) * len(type_.types)
            fields = zip(type_.types, bounds, strict=True)
            return RecordCost(tuple(draw(sizes(field, bound, False)) for field, bound in fields))
        case Bag(element):
            counts = st.integers(1, most.count - top) if most else st.integers(1 + top, 5)
            return BagCost(draw(counts), draw(sizes(element, most and most.each, False)))
    return ONE


@st.composite
def incremental(draw, catalog: dict[str, Bag] = CATALOG) -> dict[str, Cost]:
    """Sizes of all relations and of changes that are incremental: size(ΔR) ≺ size(R)."""
    found: dict[str, Cost] = {}
    for name, type_ in catalog.items():
        found[name] = draw(sizes(type_))
        found[f"Δ{name}"] = draw(sizes(type_, found[name]))
    return found


def is_cheaper(query: Expr, known: dict[str, Cost]) -> None:
    """``query`` is an input-dependent IncNRC⁺ query whose ∅ are propagated."""
    of_query, of_change = cost(query, known), cost(delta(query, ALL), known)

    assert less(of_change, of_query)
    assert number(tcost(of_change)) < number(tcost(of_query))


def number(cardinality: Cardinality) -> int:
    assert isinstance(cardinality, int)
    return cardinality


@given(incremental())
def test_random_changes_are_incremental(known):
    """size(ΔR) ≺ size(R)"""
    assert all(less(known[f"Δ{name}"], known[name]) for name in CATALOG)


@given(queries("inc"), incremental())
def test_a_delta_costs_less_than_its_query(query, known):
    """size(ΔR) ≺ size(R)  ⟹  C[δh] ≺ C[h]  and  tcost(C[δh]) < tcost(C[h])"""
    query = normalize(query)
    assume(is_input_dependent(query))
    is_cheaper(query, known)


@given(queries("nrc", SCHEMA.nested), deep_paths(), st.data())
def test_a_delta_of_a_part_costs_less_than_the_part(query, deep, data):
    """as above for every part of an NRC⁺ query, deep updates included"""
    query = infer_flags(normalize(query), deep)
    known = data.draw(incremental(shredded_catalog(catalog_of(query))))
    for body in parts_of(query).bodies():
        if is_input_dependent(body):
            is_cheaper(body, known)


def test_the_law_needs_union_to_cost_the_greater_of_its_terms():
    """R × R with |R| = 2, |ΔR| = 1: the delta has 2 + 2 + 1 elements where the query has 4."""
    query = parse("⟨a: R × b: R⟩", {"R": Bag(INT)})
    change = delta(query, frozenset("R"))
    known = {"R": BagCost(2, ONE), "ΔR": BagCost(1, ONE)}

    assert (tcost(cost(change, known, "sum")), tcost(cost(query, known, "sum"))) == (10, 8)
    assert (tcost(cost(change, known, "sup")), tcost(cost(query, known, "sup"))) == (4, 8)


@given(instances("full"))
def test_the_estimate_is_a_bound(instance):
    """size(h[db]) ⪯ C[h] where ⊎ costs the sum of its terms, and so for δ(h)"""
    # The size of numbers(n) is a value, which no sizes of relations bound.
    assume(not any(isinstance(n, Call) and n.function == "numbers" for n in walk(instance.query)))
    state = instance.with_changes
    known = {name: size(bag, CATALOG[name.removeprefix("Δ")]) for name, bag in state.items()}
    for query in (instance.query, delta(instance.query, instance.changed)):
        result = size(evaluate(query, state), type_of(query))

        assert at_most(result, cost(query, known, "sum"))


@pytest.mark.parametrize("mode", ["sup", "sum"])
@given(query=queries("full"), numbers=st.lists(st.integers(1, 5), min_size=20, max_size=20))
def test_formulas_have_the_value_of_numbers(mode, query, numbers):
    """C[h] in symbols, at any sizes = C[h] in those numbers; of too many choices, at least that"""
    names = [name for relation in CATALOG for name in (relation, f"Δ{relation}")]
    symbols = {name: symbolic_size(name, CATALOG[name.removeprefix("Δ")]) for name in names}
    occurring = sorted(names_in(list(symbols.values())))
    values = dict(zip(occurring, numbers, strict=False))
    known = {name: at(formula, values) for name, formula in symbols.items()}
    for expr in (query, delta(query, ALL)):
        with bounded() as were:
            formula = cost(expr, symbols, mode)
            total = tcost(formula)
        number = cost(expr, known, mode)

        if were:
            assert at_most(number, at(formula, values))
            assert count_at(total, values) >= count_at(tcost(number), values)
        else:
            assert at(formula, values) == number
            assert count_at(total, values) == tcost(number)


@contextmanager
def bounded() -> Iterator[list[int]]:
    """How many choices there were, each time that they were too many and a bound took their place."""
    found: list[int] = []
    symbolic = cardinality._symbolic

    def noted(choices: Any) -> Any:
        if len(choices) > cardinality.MOST:
            found.append(len(choices))
        return symbolic(choices)

    with patch.object(cardinality, "_symbolic", noted):
        yield found


def names_in(costs: list[Cost]) -> set[str]:
    found: set[str] = set()
    for each in costs:
        match each:
            case RecordCost(fields):
                found |= names_in(list(fields))
            case BagCost(Symbolic(choices), inner):
                found |= {name for choice in choices for names, _ in choice for name in names}
                found |= names_in([inner])
    return found


def at(formula: Cost, values: dict[str, int]) -> Cost:
    match formula:
        case RecordCost(fields):
            return RecordCost(tuple(at(field, values) for field in fields))
        case BagCost(count, each):
            return BagCost(count_at(count, values), at(each, values))
    return ONE


def count_at(count: Any, values: dict[str, int]) -> int:
    return count.at(values) if isinstance(count, Symbolic) else count
