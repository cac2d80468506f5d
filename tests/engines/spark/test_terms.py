"""Terms on Spark: every function, with nulls, on values where Python and SQL go apart."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from math import isclose, isnan
from typing import Any

import pytest
from hypothesis import strategies as st

from nestling.calculus.build import call, const
from nestling.calculus.evaluate import evaluate_term
from nestling.calculus.terms import Const, InL, Term, Var
from nestling.calculus.types import FLOAT, INT, LABEL, SCALARS, Scalar, nullable
from nestling.engine.spark.labels import read_label, write_label
from nestling.engine.spark.session import own_session, python_errors
from nestling.engine.spark.state import register
from nestling.engine.spark.terms import Sql, sql
from nestling.engine.spark.types import arrow_table, values
from nestling.errors import ChangeError, QueryError
from nestling.values.label import Label
from tests.draws import draws
from tests.engines.terms import VARS, environments, scalar, terms

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("generated_code")]

SCOPE = {var.name: Sql(f"v{i}", scalar(var.type)) for i, var in enumerate(VARS)}
NOTHING = {var.name: None for var in VARS}

Case = tuple[Term, dict[str, Any]]


def test_spark_generates_code_for_what_is_tested_here(spark: Any):
    """in the session of a database too, which is made anew"""
    for session in (spark, own_session(spark)):
        plan = session.range(1).selectExpr("id + 1")._jdf.queryExecution().executedPlan()
        assert plan.toString().startswith("*(1) ")
        assert session.conf.get("spark.sql.codegen.factoryMode") == "FALLBACK"


def x(name: str) -> Var:
    return next(var for var in VARS if var.name == name)


def some(*pairs: tuple[str, list[Any]]) -> list[dict[str, Any]]:
    """Environments that give one variable each of some values."""
    return [NOTHING | {name: value} for name, found in pairs for value in found]


N, F, D, S = x("int"), x("float"), x("decimal"), x("str")
EDGES: list[Case] = [
    *((call(f, N, const(n)), env) for f in ("//", "%") for n in (3, -3) for env in some(("int", [7, -7, 6, 0]))),
    *(
        (call(f, F, Const(n, FLOAT)), env)
        for f in ("//", "%")
        for n in (0.3, -0.3, float("inf"))
        for env in some(("float", [1.0, -1.0, 0.9, 0.0]))
    ),
    *((call(f, F, F), env) for f in ("==", "!=", "<", ">=") for env in some(("float", [float("nan"), -0.0]))),
    *((call("strip", S), env) for env in some(("str", ["\t a\u3000\n", " \x1f\x85b ", "", "\u200b"]))),
    *((call("replace", S, const(""), const("-")), env) for env in some(("str", ["ab", "", "é𝄞"]))),
    *((call(f, S), env) for f in ("lower", "upper", "length") for env in some(("str", ["Straße", "É𝄞", "ΣΑΣ"]))),
    *(
        (call(f, x("date"), Const(span, Scalar("timedelta"))), env)
        for f in ("+", "-")
        for span in (timedelta(days=1, seconds=5), timedelta(seconds=-5), timedelta(days=-40))
        for env in some(("date", [date(2020, 2, 29), date(1969, 12, 31), date(1, 3, 1)]))
    ),
    *((call("*", D, const(3)), env) for env in some(("decimal", [Decimal("0.1"), Decimal("-12345678.123456789")]))),
    *((call("*", D, D), env) for env in some(("decimal", [Decimal("0.1"), Decimal("99.999")]))),
    *((call("weekday", x("date")), env) for env in some(("date", [date(2024, 1, 1), date(1900, 1, 7)]))),
    *((call("to_str", x("bool?")), env) for env in some(("bool?", [True, False, None]))),
    *((InL(3, (x(f"{n}?"),)), env) for n in SCALARS for env in [NOTHING]),
]  # fmt: skip


ZERO = NOTHING | {"int": 0, "float": 0.0, "date": date(9999, 12, 31)}
UNDEFINED: list[Case] = [
    *((call(f, const(1), N), ZERO) for f in ("/", "//", "%")),
    (call("//", Const(1.0, FLOAT), F), ZERO),
    (call("to_int", F), ZERO | {"float": float("inf")}),
    (call("+", x("date"), Const(timedelta(days=1), Scalar("timedelta"))), ZERO),
]


@st.composite
def cases(draw: Any) -> Case:
    return draw(terms()), draw(environments())


def run(session: Any, some_cases: list[Case]) -> list[Any]:
    """The values of terms, each in its environment: one query per type."""
    columns = [("n", INT), *((SCOPE[var.name].text, nullable(scalar(var.type))) for var in VARS)]
    rows = [(i, *(env[var.name] for var in VARS)) for i, (_, env) in enumerate(some_cases)]
    part = register(session, arrow_table(columns, rows))
    found: dict[int, Any] = {}
    by_type: dict[Any, dict[int, str]] = {}
    for i, (term, _) in enumerate(some_cases):
        value = sql(term, SCOPE)
        key = value.type.name if isinstance(value.type, Scalar) else LABEL
        by_type.setdefault(key, {})[i] = value.text
    for key, texts in by_type.items():
        type_ = LABEL if key == LABEL else Scalar(key)
        chosen = " ".join(f"WHEN {i} THEN {text}" for i, text in texts.items())
        mine = ", ".join(map(str, texts))
        with python_errors():
            text = f"SELECT n, CASE n {chosen} END AS v FROM {part.view} WHERE n IN ({mine})"
            found |= dict(values([INT, type_], session.sql(text).toArrow()))
    return [found[i] for i in range(len(some_cases))]


def meaning_of(case: Case) -> Any:
    term, env = case
    try:
        return evaluate_term(term, env)
    except (ArithmeticError, TypeError, ValueError) as error:
        return error


def test_terms_mean_what_they_mean(spark):
    """sql(t) = [[t]]; where [[t]] is undefined, an error"""
    session = own_session(spark)
    defined: list[Case] = []
    undefined: list[Case] = []
    for case in [*UNDEFINED, *EDGES, *draws(cases(), 100)]:
        try:
            sql(case[0], SCOPE)
        except QueryError:
            continue  # what must be written out
        (undefined if isinstance(meaning_of(case), Exception) else defined).append(case)

    for case, found in zip(defined, run(session, defined), strict=True):
        expected = meaning_of(case)
        assert same(found, expected), (case[0], case[1], found, expected)
    for case in undefined[: len(UNDEFINED)]:
        with pytest.raises((ArithmeticError, TypeError, ValueError)):
            run(session, [case])
    assert len(defined) > 120
    assert len(undefined) >= len(UNDEFINED)


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(found, float):
        return (isnan(found) and isnan(expected)) or isclose(found, expected, rel_tol=1e-12)
    if isinstance(expected, Decimal) and isinstance(found, Decimal):
        return isclose(
            found, expected, rel_tol=1e-16
        )  # a quotient has 18 places on Spark, and 28 digits embedded
    return type(found) is type(expected) and bool(found == expected)


def test_what_64_bits_do_not_hold_is_refused(spark):
    session = own_session(spark)
    largest = some(("int", [2**63 - 1]))[0]
    for term in (
        call("+", N, const(1)),
        call("*", N, const(2)),
        call("neg", call("-", call("neg", N), const(2))),
    ):
        with pytest.raises(ArithmeticError):
            run(session, [(term, largest)])
    with pytest.raises(ChangeError, match="BIGINT"):
        arrow_table([("k0", INT)], [(2**63,)])
    with pytest.raises(QueryError, match="64 bits"):
        sql(const(2**63), {})
    with pytest.raises(ChangeError, match="DECIMAL"):
        arrow_table([("k0", Scalar("decimal"))], [(Decimal("0.1234567890123456789"),)])


def test_what_must_be_written_out_is_refused_by_name():
    with pytest.raises(QueryError, match="number of places of round"):
        sql(call("round", F, N), SCOPE)
    with pytest.raises(QueryError, match="a decimal as text"):
        sql(call("to_text", D), SCOPE)
    assert sql(call("to_text", call("to_decimal", D, const(10), const(2))), SCOPE).type == Scalar("str")


VALUES: list[Any] = [
    None, True, False, 0, -5, 2**70, 1.5, float("inf"), Decimal("1.50"),
    Decimal("1234567890123456789.123456789012345678"), "", "a;b)(", "é𝄞:", b"", b"\x00a",
    date(1, 1, 1), datetime(2020, 2, 29, 1, 2, 3, 4), timedelta(days=-2, microseconds=1), (), ("a", (1, None)),
    Label("t.bag", ("k", 1)), Label(7, ()),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_label_is_read_as_it_was_written(value):
    for label in (Label("orders.items", (value,)), Label(3, (value, "x", value))):
        assert read_label(write_label(label)) == label


def test_values_survive_arrow():
    for name in SCALARS:
        type_ = nullable(scalar(x(name).type))
        plain = [(None,), *((env[name],) for env in draws(environments([x(name)]), 8))]
        assert values([type_], arrow_table([("k0", type_)], plain)) == plain
