"""Callables are found in their files, and what they capture is seen."""

import datetime as dt
import functools
import math
from enum import Enum, IntEnum
from types import SimpleNamespace
from typing import Any

import pytest

from nestling.calculus.show import show
from nestling.calculus.types import INT, STR, nullable, record
from nestling.errors import QueryError
from nestling.frontend.comprehension import translate

CATALOG = {"R": record(a=INT, b=INT, s=STR, m=nullable(INT))}


def terms(*views):
    return [show(translate(view, CATALOG)) for view in views]


def both(first, second):
    return terms(first, second)


def test_several_lambdas_on_one_line():
    one, two = lambda R: [r.a for r in R], lambda R: [r.b for r in R]

    assert terms(one, two) == ["for r in R union sng(r.a)", "for r in R union sng(r.b)"]


def test_lambdas_inside_a_call():
    assert both(lambda R: [r.a for r in R], lambda R: [r.a + 1 for r in R]) == [
        "for r in R union sng(r.a)",
        "for r in R union sng(r.a + 1)",
    ]


def test_a_lambda_inside_a_lambda():
    outer = lambda R: lambda R: [r.b for r in R]  # noqa: E731

    assert terms(outer(None)) == ["for r in R union sng(r.b)"]


def test_a_lambda_over_several_lines():
    views = [
        lambda R: [
            r.a
            for r in R
            if r.b
            > 1
        ]
    ]  # fmt: skip

    assert terms(*views) == ["for r in R where r.b > 1 union sng(r.a)"]


def test_the_same_lambda_twice_on_a_line():
    one, two = lambda R: [r.a for r in R], lambda R: [r.a for r in R]

    assert terms(one) == terms(two)


def through(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


@through
@through
def decorated(R):
    """A view behind two decorators."""
    return [r.a for r in R]


def test_a_decorated_function():
    assert terms(decorated) == ["for r in R union sng(r.a)"]


@through
def with_default(R, limit=2):
    return [r.a + limit for r in R]


def test_a_decorated_function_keeps_its_defaults():
    assert terms(with_default) == ["for r in R union sng(r.a + 2)"]


def test_a_nested_function_and_its_closure():
    limit = 3
    names = ["a", "b"]

    def view(R):
        return [r.a for r in R if r.b < limit and r.s in names]

    assert terms(view) == terms("[r.a for r in R if r.b < 3 and r.s in ('a', 'b')]")


def test_a_method_is_read_as_the_function_it_is():
    class Views:
        @staticmethod
        def view(R):
            return [r.a for r in R]

    assert terms(Views.view) == ["for r in R union sng(r.a)"]


def test_defaults_are_constants_as_they_were():
    views = [lambda R, k=k: [r.a + k for r in R] for k in (1, 2)]

    assert terms(*views) == ["for r in R union sng(r.a + 1)", "for r in R union sng(r.a + 2)"]


class Level(Enum):
    LOW = 1


class Code(IntEnum):
    OLD = 7


SETTINGS = SimpleNamespace(limit=2, since=dt.date(2024, 1, 1))


def test_constants_of_modules_classes_and_settings():
    assert terms(lambda R: [(r.a * math.pi, Level.LOW.value, SETTINGS.limit, Code.OLD.value) for r in R]) == [
        f"for r in R union sng⟨_0: r.a * {math.pi!r}, value: 1, limit: 2, _3: 7⟩"
    ]


def test_a_text_may_be_an_expression_a_lambda_or_a_function():
    function = """
        def view(R):
            return [r.a for r in R]
    """
    assert (
        terms("[r.a for r in R]", "lambda R: [r.a for r in R]", function, "\n  [r.a for r in R]\n")
        == ["for r in R union sng(r.a)"] * 4
    )


def test_a_text_knows_the_constructors_of_scalars():
    view = lambda R: [r.a for r in R if r.a < dt.date(2024, 1, 2).year]  # noqa: E731

    assert terms("[r.a for r in R if r.a < date(2024, 1, 2).year]") == terms(view)


def made_by_exec():
    names: dict = {}
    exec("def view(R):\n    return [r.a for r in R]", names)
    return names["view"]


UNREADABLE = {
    "exec": (made_by_exec(), "the source of 'view' cannot be read"),
    "builtin": (len, "'len' is not a Python function"),
    "partial": (functools.partial(decorated), "an object of type partial is not a Python function"),
    "number": (3, "an object of type int is not a Python function"),
    "class": (dict, "'dict' is not a Python function"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_cannot_be_read_says_so(case):
    view, what = UNREADABLE[case]
    with pytest.raises(QueryError) as caught:
        translate(view, CATALOG)

    assert caught.value.what == what
    assert "language='python'" in caught.value.hint


async def waiting(R):
    return [r.a for r in R]


def test_an_async_function_is_refused():
    with pytest.raises(QueryError, match="an async function is not supported"):
        translate(waiting, CATALOG)


table: Any = object()


@pytest.mark.parametrize(
    ("view", "what"),
    [
        (
            lambda R: [r.a for r in R if r.s == Level.LOW],
            "a value is needed here, not an object of type Level",
        ),
        (lambda R: [table.column for r in R], "an object of type object is no data"),
        (lambda R: [math.sqrt(r.a) for r in R], "sqrt(…) is not supported"),
        (lambda R: [undefined for r in R], "there is no 'undefined' here"),  # type: ignore[name-defined]  # noqa: F821
        (lambda R: [math.tau2 for r in R], "math has no 'tau2'"),  # type: ignore[attr-defined]
    ],
)
def test_what_is_captured_must_be_data(view, what):
    with pytest.raises(QueryError) as caught:
        translate(view, CATALOG)

    assert caught.value.what == what


def test_a_table_is_a_parameter():
    with pytest.raises(QueryError) as caught:
        translate(lambda: [r.a for r in S], {"S": CATALOG["R"]})  # type: ignore[name-defined]  # noqa: F821

    assert caught.value.hint == "make it a parameter: def view(S): …"
