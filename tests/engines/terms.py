"""Random scalar terms of every function, over variables some of which may be null."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

from hypothesis import strategies as st

from nestling.calculus.build import call
from nestling.calculus.functions import FUNCTIONS, Function
from nestling.calculus.terms import Const, Term, Var
from nestling.calculus.types import SCALARS, Scalar, Type, nullable
from nestling.calculus.typing import term_type
from tests.strategies import Draw

SAMPLES: dict[str, list[Any]] = {
    "bool": [False, True],
    "int": [0, 1, -2, 10],
    "float": [0.0, 0.5, -1.25, float("inf")],
    "decimal": [Decimal(0), Decimal("0.10"), Decimal("-3")],
    "str": ["", "a", "B ", "it's", "datetime.date", "a\nb", "{0}"],
    "bytes": [b"", b"a'\x00"],
    "date": [date(2020, 2, 29), date(1999, 12, 31)],
    "datetime": [datetime(2020, 2, 29, 12, 30), datetime(1999, 12, 31)],
    "time": [time(0), time(23, 59, 59, 999_999)],
    "timedelta": [timedelta(0), timedelta(days=1, seconds=5), timedelta(days=-2)],
}
VARS = tuple(Var(name, Scalar(name, null)) for name in SCALARS for null in (False,)) + tuple(
    Var(f"{name}?", nullable(Scalar(name))) for name in SCALARS
)


@cache
def samples(type_: Scalar) -> st.SearchStrategy[Any]:
    values = st.sampled_from(SAMPLES[type_.name])
    return st.none() | values if type_.nullable else values


def environments(variables: Sequence[Var] = VARS) -> st.SearchStrategy[dict[str, Any]]:
    """A value for every variable."""
    return st.fixed_dictionaries({var.name: samples(scalar(var.type)) for var in variables})


def scalar(type_: Type) -> Scalar:
    assert isinstance(type_, Scalar)
    return type_


@st.composite
def terms(draw: Draw, depth: int = 3, variables: Sequence[Var] = VARS) -> Term:
    """A term of any scalar type: functions of terms, down to variables and constants."""
    if depth == 0 or not draw(st.integers(0, 3)):
        return draw(_leaves(tuple(variables)))
    args = [draw(terms(depth - 1, variables)) for _ in range(draw(st.sampled_from([1, 2, 2, 2, 3])))]
    fitting = applicable(tuple(scalar(term_type(arg)) for arg in args))
    return call(draw(st.sampled_from(fitting)).name, *args) if fitting else args[0]


@cache
def applicable(types: tuple[Scalar, ...]) -> list[Function]:
    """The functions that take arguments of these types."""
    some = [function for function in FUNCTIONS.values() if function.arity == len(types)]
    return [function for function in some if function.result(types) is not None]


@cache
def _leaves(variables: tuple[Var, ...]) -> st.SearchStrategy[Term]:
    types = sorted({scalar(var.type) for var in variables}, key=repr)
    constants = st.sampled_from(types).flatmap(lambda type_: st.builds(Const, samples(type_), st.just(type_)))
    return st.sampled_from(variables) | constants


@st.composite
def conditions(draw: Draw, variables: Sequence[Var], depth: int = 3) -> Term:
    """A boolean term: comparisons under ``and``, ``or`` and ``not``, divisions and nulls among them."""
    if depth and draw(st.integers(0, 3)):
        name = draw(st.sampled_from(["and", "and", "or", "or", "not"]))
        args = [draw(conditions(variables, depth - 1)) for _ in range(1 if name == "not" else 2)]
        return call(name, *args)
    left = draw(st.sampled_from(variables))
    right = draw(st.sampled_from(_sides(tuple(variables), scalar(left.type).name)))
    name = draw(st.sampled_from(["==", "==", "=", "!=", "<", "<=", ">", ">="]))
    return call(name, left, right)


@cache
def _sides(variables: tuple[Var, ...], name: str) -> list[Term]:
    if name != "int":
        return [
            *(var for var in variables if scalar(var.type).name == name),
            Const(SAMPLES[name][1], Scalar(name)),
        ]
    ints = [var for var in variables if scalar(var.type).name == "int"]
    some: list[Term] = [*ints, *(Const(value, Scalar("int")) for value in (0, 1))]
    divided = [call("//", Const(2, Scalar("int")), var) for var in ints]
    return [*some, *some, *divided, *(call("+", var, Const(1, Scalar("int"))) for var in ints)]
