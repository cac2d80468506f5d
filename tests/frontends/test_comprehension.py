"""Python comprehensions mean in Nestling what they mean in Python."""

import ast
import inspect
import warnings
from functools import cache

import pytest
from hypothesis import given

from nestling.calculus.evaluate import evaluate
from nestling.calculus.parse import parse
from nestling.calculus.show import show
from nestling.calculus.terms import SingBag
from nestling.calculus.traverse import binders, walk
from nestling.calculus.types import Bag
from nestling.calculus.typing import check, element_type
from nestling.errors import QueryError
from nestling.frontend.comprehension import translate
from nestling.frontend.comprehension.read import TEXT_NAMES
from tests.draws import draws
from tests.frontends.mutants import ODD, mutants
from tests.frontends.shop import CATALOG, TABLES, as_bag, as_python, databases, rounded
from tests.frontends.views import VIEWS
from tests.typed import has_type

translated = cache(lambda name: translate(VIEWS[name], CATALOG))
every_view = pytest.mark.parametrize("name", VIEWS)


@given(database=databases(tuple(TABLES)))
def test_the_answer_is_pythons(database):
    tables = {name: as_python(name, bag) for name, bag in database.items()}
    for name, function in VIEWS.items():
        expr = translated(name)
        expected = function(*(tables[table] for table in inspect.signature(function).parameters))
        result = evaluate(expr, database)

        assert result == as_bag(element_type(expr), expected), name
        assert has_type(result, Bag(element_type(expr))), name


@every_view
def test_the_term_is_well_formed(name):
    expr = translated(name)
    bound = [var.name for node in walk(expr) for var in binders(node) if var.name != "_"]
    sites = [node.site for node in walk(expr) if isinstance(node, SingBag)]

    check(expr)
    assert len(bound) == len(set(bound))
    assert sites == list(range(1, len(sites) + 1))
    assert parse(show(expr), {table: Bag(element) for table, element in CATALOG.items()}) == expr


@given(text=mutants(), database=databases(tuple(TABLES)))
def test_any_other_answer_is_pythons_or_a_polite_no(text, database):
    agree_or_refuse(text, database)


PLACES = (
    "[{} for o in orders for n in numbers for c in customers for v in visits]",
    "[n.a for o in orders for n in numbers for c in customers for v in visits if {}]",
    "[1 for o in orders for n in numbers for c in customers for v in visits for x in {}]",
    "[sum({}) for o in orders for n in numbers for c in customers for v in visits]",
    "[(1, {}) for o in orders for n in numbers for c in customers for v in visits] + [(n.a, n.m) for n in numbers]",
)
SOME = draws(databases(tuple(TABLES)), 8)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("number", range(len(ODD)), ids=[ast.unparse(odd) for odd in ODD])
def test_odd_expressions(number, place):
    text = place.format(f"({ast.unparse(ODD[number])})")
    for database in SOME:
        if not agree_or_refuse(text, database):
            return


def agree_or_refuse(text, database):
    """Whether ``text`` is accepted; then its answer is Python's, and else the error shows the place."""
    try:
        expr = translate(text, CATALOG)
    except QueryError as error:
        assert error.at is not None
        return False
    names = {name: as_python(name, bag) for name, bag in database.items()}
    try:
        with warnings.catch_warnings(action="ignore"):
            expected = as_bag(element_type(expr), eval(text, {**TEXT_NAMES, **names}))
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError):
        return True  # Python has no answer

    assert rounded(evaluate(expr, database)) == rounded(expected)
    return True
