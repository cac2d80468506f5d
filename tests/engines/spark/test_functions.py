"""Every scalar function on Spark, on a grid of values with nulls and edges: what the reference says, text by text."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import product
from math import inf, isclose, isnan, nan
from typing import Any

import pytest

from nestling.calculus.evaluate import evaluate_term
from nestling.calculus.functions import FUNCTIONS, Function
from nestling.calculus.library import LIBRARY
from nestling.calculus.show import show
from nestling.calculus.terms import Call, Const, Term, Var
from nestling.calculus.types import BOOL, INT, SCALARS, STR, Scalar, nullable
from nestling.engine.spark.session import own_session, python_errors
from nestling.engine.spark.state import register
from nestling.engine.spark.terms import Sql, sql
from nestling.engine.spark.types import arrow_table, values
from nestling.errors import QueryError

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("generated_code")]

#: A span that leads from every date to none, and that Spark has, twice over.
LONG = timedelta(days=50_000_000)
GRID: dict[str, list[Any]] = {
    "bool": [None, False, True],
    "int": [None, 0, 1, -7, 12, 155, -(2**40)],
    "float": [None, 0.0, 0.5, -2.5, 2.675, 1e18, -1e-9, inf, -inf, nan],
    "decimal": [None, Decimal(0), Decimal("1.005"), Decimal("-7.5"), Decimal("155"), Decimal("0.333333333")],
    "str": [
        None, "", "abc", " Straße\t", "x%_y", "\u3000a b\u2003", "ΣΑΣ", "é𝄞é", "12", " -3.50e2 ", "+7", "1e400", ".5",
        "99999999999999999999", "2024-02-29", "2023-02-29", "20240229", "0000-01-01", "2024-05-17 08:30",
        "2024-05-17T08:30:00.25", "2024-05-17 24:00", "2024-05-17 08:30+01", " Yes", "f", "TRUE", "maybe", "b",
        '{"a": {"b": [1, 2.50, "x"]}, "c": null}', '[{"b": "y\\u00e9"}, 1e3]', '{"a": "t", "c": 2}', "[1, 2",
        "Aa bB  cC", "a,b,,12",
    ],
    "bytes": [None, b"", b"a\x00b", b"\xc3\xa9", b"\xff\xc3"],
    "date": [None, date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(2024, 12, 31), date(9999, 12, 31)],
    "datetime": [
        None, datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(2024, 1, 31, 8, 30),
        datetime(2024, 5, 17, 8, 30, 0, 500_000), datetime(9999, 12, 31, 23, 59, 59),
    ],
    "time": [None, time(0, 0), time(9, 5, 7, 250_000), time(23, 59, 59, 999_999)],
    "timedelta": [None, timedelta(0), timedelta(days=1, microseconds=5), timedelta(hours=-36), LONG],
}  # fmt: skip

#: What must be written out, by function: the constants that stand behind the arguments.
CONSTANTS: dict[str, list[tuple[Any, ...]]] = {
    "round": [(0,), (2,), (-1,), (7,)],
    "to_decimal": [(10, 2), (3, 0), (38, 18)],
    "read_decimal": [(10, 2), (38, 18)],
    "to_bits": [(8,), (16,), (32,), (64,)],
    "ratio": [(14, 6), (38, 20), (5, 2)],
    "mean": [(14, 6), (3, 2)],
    "matches": [("a[^\\n]",), ("^[a-c]+$",), ("[0-9]{2}",)],
    "regexp_replace": [("b", "<$0>"), ("([a-c])([b-z])", "$2\\$$1"), ("^ *", "")],
    "regexp_extract": [("([a-z]+)([0-9]*)", 2), ("[0-9]+", 0), ("(x)?b", 1)],
    "regexp_count": [("[a-c]",)],
    "regexp_substr": [("[0-9]+",), ("$",)],
    "regexp_instr": [("[0-9]+",), ("b",)],
    "clock_trunc": [("HOUR",), ("second",)], "clock_diff": [("MINUTE",), ("MILLISECOND",)],
    "split_size": [(",", -1), ("[a-c]", 2), ("", -1), ("x+", 0)],
    "split_at": [(",", -1, 0), ("[a-c]", 2, 1), ("", -1, 2), ("x+", 0, 7)],
    "next_day": [("MO",), ("sunday",), ("Thu",)],
    "date_format": [("yyyy-MM-dd HH:mm:ss.SSSSSS",), ("EEE, d MMM y h:m:s a",), ("EEEE D 'of' MMMM yy ''''",),
                    ("Q DDD hh",)],
    **{name: [(1_000_000,), (3_600_000_000,), (7 * 86_400_000_000,)] for name in ("tumbled", "tumbled_end")},
    **{name: [(0,), (2,), (5,), (11,)] for name in ("float_digit", "square_digit")},
    "get_json_object": [("$.a",), ("$[0].b",), ("$",), ("$['a'].b[1]",)],
    **{f"json_{name}": [("a",), ("b",)] for name in ("field", "int", "float", "bool")},
    **{f"{kind}variant_{name}": [("$",), ("$.a",), ("$[0].b",), ("$['a']['b'][1]",)]
       for kind in ("", "try_") for name in ("text", "int", "float", "bool")},
    "json_nested": [("a", "["), ("a", "{"), ("b", "[")],
    "json_items": [(type_,) for type_ in ("STRING", "INT", "DOUBLE", "STRUCT<v: STRING>", "ARRAY<BOOLEAN>")],
    "truncate": [(unit,) for unit in ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "era")],
    "like": [
        ("%", "!"), ("", "!"), ("_b%", ""), ("x!%!__", "!"), ("%\\_y", "\\"), ("é_é", "!"), ("%a%b%", "%"[:0]),
        (".*", "!"), ("%\t", "!"),
    ],
}  # fmt: skip
#: Constants of which there is no value, behind an argument: front ends refuse them, and Spark would not plan some.
WRONG: dict[str, tuple[Any, ...]] = {
    "matches": ("(",), "like": ("a!", "!"), "round": (2_000_000,), "regexp_replace": ("b", "$7"),
    "regexp_extract": ("b", 1), "regexp_count": ("(",), "regexp_substr": ("(",), "regexp_instr": ("(",),
    "next_day": ("never",), "date_format": ("zzz",), "tumbled": (0,), "tumbled_end": (0,),
    "split_size": ("(", -1), "split_at": ("(", -1, 0), "get_json_object": ("a",),
    **{f"try_variant_{name}": ("a",) for name in ("text", "int", "float", "bool")},
    "clock_trunc": ("DAY",), "clock_diff": ("DAY",),
}  # fmt: skip
#: What these constants stand behind, where that is no text.
BEFORE = {
    "round": ("float",), "next_day": ("date",), "date_format": ("datetime",), "tumbled": ("datetime",),
    "tumbled_end": ("datetime",), "clock_trunc": ("time",), "clock_diff": ("time", "time"),
}  # fmt: skip
#: Whether constants have a value is known before, and of a division it is asked whether it is by zero.
KNOWN_BEFORE = {
    *(f"no_{name}" for name in WRONG if name in LIBRARY), "no_matches", "no_like", "no_round", "no_fraction",
    "no_floor_quotient", "no_modulo",
}  # fmt: skip
#: Where that is so, nothing stands in the place of a value; but a divisor of zero is asked about.
KNOWN_BEFORE |= {
    name.replace("no_", "some_", 1)
    for name in KNOWN_BEFORE - {"no_fraction", "no_floor_quotient", "no_modulo"}
} | {"some_to_text"}
#: What Spark does not have: ints of more than 64 bits, and as many days.
BEYOND: dict[str, list[Any]] = {"int": [10**400, 10**5000], "timedelta": [timedelta.max]}
CONSTANTS |= {
    f"{kind}_{name}": found
    for kind in ("no", "some")
    for name, found in CONSTANTS.items()
    if f"{kind}_{name}" in FUNCTIONS
}

Case = tuple[Term, dict[str, Any]]


def slot(name: str, position: int) -> Var:
    return Var(f"{name}{position}", nullable(Scalar(name)))


#: So many arguments a function has at most.
MOST = 5
SLOTS = [slot(name, position) for name in SCALARS for position in range(MOST)]
SCOPE = {var.name: Sql(f"v{i}", nullable(Scalar(SCALARS[i // MOST]))) for i, var in enumerate(SLOTS)}


def constant(value: Any) -> Const:
    return Const(value, STR if isinstance(value, str) else INT)


def calls(function: Function) -> Iterator[Term]:
    """``function`` of arguments of all types that it takes."""
    if function.name in CONSTANTS:
        for name, constants in product(SCALARS, CONSTANTS[function.name]):
            rest = [constant(value) for value in constants]
            for names in product([name], *([SCALARS] * (function.arity - 1 - len(rest)))):
                types = [nullable(Scalar(name)) for name in names]
                if function.result([*types, *(c.type for c in rest)]) is not None:
                    yield Call(function.name, (*(slot(n, i) for i, n in enumerate(names)), *rest))
        return
    for names in product(SCALARS, repeat=function.arity):
        if function.result([nullable(Scalar(name)) for name in names]) is not None:
            yield Call(function.name, tuple(slot(name, i) for i, name in enumerate(names)))


def environments(term: Term, grid: dict[str, list[Any]] = GRID) -> Iterator[dict[str, Any]]:
    """The grid of a call's variables; of several, the first of each."""
    assert isinstance(term, Call)
    variables = [arg for arg in term.args if isinstance(arg, Var)]
    grids = [grid[SCALARS[SLOTS.index(var) // MOST]] for var in variables]
    if len(variables) > 1:
        grids = [values[: 10 if len(variables) == 2 else 5] for values in grids]
    for chosen in product(*grids):
        yield {var.name: value for var, value in zip(variables, chosen, strict=True)}


def meaning_of(case: Case) -> Any:
    try:
        return evaluate_term(*case)
    except (ArithmeticError, TypeError, ValueError) as error:
        return error


def fits(value: Any) -> bool:
    """Whether Spark has ``value``."""
    limit = {int: 2**63, Decimal: 10**19}.get(type(value))
    return limit is None or abs(value) < limit


def test_every_function_means_what_it_means(spark):
    """sql(f(t, …)) = [[f(t, …)]] where that has a value; where it has none, no_f says so"""
    terms: list[Term] = [term for function in FUNCTIONS.values() for term in calls(function)]
    cases: list[tuple[int, Term, dict[str, Any], Any]] = []
    for number, term in enumerate(terms):
        for env in environments(term):
            expected = meaning_of((term, env))
            if not isinstance(expected, Exception) and fits(expected):
                cases.append((number, term, env, expected))
    found = run(own_session(spark), terms, cases)

    wrong = [
        f"{show(term)} of {env} is {found[i]!r} on Spark, and {expected!r}"
        for i, (number, term, env, expected) in enumerate(cases)
        if i in found and not same(term, found[i], expected)
    ]
    assert not wrong, "\n".join([str(len(wrong)), *wrong[:60]])
    refused = {term.function for n, term in enumerate(terms) if n not in TEXTS and isinstance(term, Call)}
    assert refused == {"to_text", "float_units", *KNOWN_BEFORE}, (
        "a decimal as text; sums of floats are floats"
    )
    assert len(found) > 8000


TEXTS: dict[int, Sql] = {}


def run(
    session: Any, terms: list[Term], cases: list[tuple[int, Term, dict[str, Any], Any]]
) -> dict[int, Any]:
    """The value of every case that is not refused: one query per type of result."""
    TEXTS.clear()
    for number, term in enumerate(terms):
        try:
            TEXTS[number] = sql(term, SCOPE)
        except QueryError:
            continue
    columns = [("n", INT), ("f", INT), *((SCOPE[var.name].text, var.type) for var in SLOTS)]
    rows = [(i, number, *(env.get(var.name) for var in SLOTS)) for i, (number, _, env, _) in enumerate(cases)]
    part = register(session, arrow_table(columns, rows))
    by_type: dict[str, list[int]] = {}
    for number, value in TEXTS.items():
        assert isinstance(value.type, Scalar)
        by_type.setdefault(value.type.name, []).append(number)
    found: dict[int, Any] = {}
    for name, numbers in by_type.items():
        chosen = " ".join(f"WHEN {number} THEN {TEXTS[number].text}" for number in numbers)
        mine = ", ".join(map(str, numbers))
        text = f"SELECT n, CASE f {chosen} END AS v FROM {part.view} WHERE f IN ({mine})"
        with python_errors():
            found |= dict(values([INT, Scalar(name)], session.sql(text).toArrow()))
    return found


def same(term: Term, found: Any, expected: Any) -> bool:
    if isinstance(found, float) and isinstance(expected, int | float) and not isinstance(expected, bool):
        return (isnan(found) and isnan(expected)) or isclose(found, expected, rel_tol=1e-15)
    if isinstance(expected, Decimal) and isinstance(found, Decimal) and isinstance(term, Call):
        # A quotient has 18 places on Spark, and 28 digits or more embedded.
        near = max(Decimal("1e-18"), abs(expected) * Decimal("1e-27"))
        return abs(found - expected) <= (
            near if term.function in ("/", "ratio", "some_fraction", "some_ratio") else 0
        )
    if isinstance(found, Decimal) and isinstance(expected, int):
        return found == expected
    return type(found) is type(expected) and bool(found == expected)


def test_the_grid_has_what_is_undefined():
    """of every function that may have no value, some case has none; some, only of what Spark does not have"""
    grid = {name: [*BEYOND.get(name, ()), *found] for name, found in GRID.items()}
    for name, function in FUNCTIONS.items():
        if function.partial:
            cases = [(term, env) for term in calls(function) for env in environments(term, grid)]
            if name in WRONG:
                given = [constant(value) for value in WRONG[name]]
                kinds = BEFORE.get(name, ("str",))
                slots = [slot(kind, i) for i, kind in enumerate(kinds)]
                values = {f"{kind}{i}": grid[kind][2] for i, kind in enumerate(kinds)}
                cases.append((Call(name, (*slots, *given)), values))
            assert any(isinstance(meaning_of(case), Exception) for case in cases), name
    assert FUNCTIONS["no_floor"].result([nullable(Scalar("float"))]) == BOOL
