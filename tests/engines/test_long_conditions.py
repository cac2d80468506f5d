"""Long conditions: what is gathered, taken apart or written otherwise still says the same."""

from itertools import product
from random import Random

import pytest

from nestling.calculus.build import balanced, call, const
from nestling.calculus.evaluate import evaluate_term
from nestling.calculus.functions import FUNCTIONS
from nestling.calculus.once import once
from nestling.calculus.parse import parse_term
from nestling.calculus.show import show
from nestling.calculus.terms import Call, Term, Var
from nestling.calculus.traverse import height, size
from nestling.calculus.types import INT, nullable
from nestling.depth import room
from nestling.engine.python.terms import Scope, namespace, python
from nestling.program import flat
from nestling.program.flat import Atom, Monomial
from nestling.transform.lower.conditions import MOST, gathered, summands
from nestling.transform.lower.filters import filtered

X, Y = Var("x", nullable(INT)), Var("y", INT)
ENVIRONMENTS = [{"x": x, "y": y} for x, y in product((None, *range(0, 40, 3)), range(0, 40, 3))]


def comparisons(random: Random, operators: tuple[str, ...]) -> Term:
    left = random.choice((X, X, Y))
    right = const(random.randrange(40)) if random.random() < 0.8 else Y
    test = call(random.choice(operators), left, right)
    return call("not", test) if random.random() < 0.3 else test


def condition(random: Random, parts: int) -> Term:
    """A chain as a front end writes it, or the opposite of one."""
    name = random.choice(("and", "or"))
    operators = random.choice((("=", "=="), ("!=", "="), ("<", "==", "=")))
    test = comparisons(random, operators)
    for _ in range(parts - 1):
        test = call(name, test, comparisons(random, operators))
    return call("not", test) if random.random() < 0.3 else test


@pytest.mark.parametrize("seed", range(40))
def test_a_gathered_condition_says_the_same(seed):
    test = condition(Random(seed), 3 * MOST)
    found = gathered(test)
    assert height(found) < height(test)
    assert [evaluate_term(found, env) for env in ENVIRONMENTS] == [
        evaluate_term(test, env) for env in ENVIRONMENTS
    ]


@pytest.mark.parametrize("seed", range(40))
def test_the_summands_of_a_long_condition_add_up_to_it(seed):
    test = condition(Random(seed), 3 * MOST)
    found = summands(test)
    for env in ENVIRONMENTS:
        held = sum(sign for sign, tests in found if all(evaluate_term(t, env) is True for t in tests))
        assert held == (evaluate_term(test, env) is True)


@pytest.mark.parametrize("seed", range(40))
def test_generated_code_of_a_long_condition_says_the_same(seed):
    test = gathered(condition(Random(seed), 3 * MOST))
    constants: dict[str, str] = {}
    text = python(test, Scope(constants=constants))
    names = namespace()
    for source, name in constants.items():
        names[name] = eval(source, names)
    assert [eval(text, names | env) for env in ENVIRONMENTS] == [
        evaluate_term(test, env) for env in ENVIRONMENTS
    ]


def test_many_conditions_on_a_row_are_one():
    tests = [call("!=", Y, const(i)) for i in range(MOST + 1)]
    join = flat.Test(call("<", Y, Var("z", INT)))
    row, other = Atom("R", (X, Y)), Atom("S", (Var("z", INT),))
    monomial = Monomial((Y,), (const(1),), (row, *map(flat.Test, tests), join, other))

    found = filtered(monomial)

    assert found.factors[:3] == (row, join, other)
    (one,) = [factor.test for factor in found.factors[3:] if isinstance(factor, flat.Test)]
    values = [{"y": i} for i in range(2 * MOST)]
    conjunction = balanced("and", tests)
    assert [evaluate_term(one, env) for env in values] == [evaluate_term(conjunction, env) for env in values]
    assert size(one) < size(conjunction)
    assert filtered(found) is found


@pytest.mark.parametrize(
    ("term", "value"),
    [
        ("among(1, 2, 1)", True),
        ("among(1, 2, 3)", False),
        ("among(1, 2, 3, 4, 1)", True),
        ("among(1, null[int?], 1)", True),
        ("among(1, 2, null[int?])", None),
        ("among(null[int?], 1, 2)", None),
    ],
)
def test_among(term, value):
    found = parse_term(term)
    assert evaluate_term(found, {}) is value
    assert parse_term(show(found)) == found
    assert eval(python(found, Scope()), namespace()) is value


@room()
def test_a_deep_term_is_code_of_bounded_depth():
    term: Term = X
    for i in range(900):
        term = call("+", term, const(i))
    constants: dict[str, str] = {}
    text = python(term, Scope(constants=constants))
    assert max(depth(source) for source in (text, *constants)) < 100
    assert sum(map(len, constants)) < 40 * 900
    names = namespace()
    for source, name in constants.items():
        names[name] = eval(source, names)
    assert eval(text, names | {"x": 1}) == 1 + sum(range(900))
    assert eval(text, names | {"x": None}) is None


def depth(text: str) -> int:
    deepest = here = 0
    for sign in text:
        here += (sign == "(") - (sign == ")")
        deepest = max(deepest, here)
    return deepest


def test_what_was_asked_once_is_not_asked_again():
    asked: list[Call] = []

    @once
    def count(term: Call) -> int:
        asked.append(term)
        return FUNCTIONS[term.function].arity

    term = Call("+", (X, Y))
    assert [count(term), count(term), len(asked)] == [2, 2, 1]
    count(Call("+", (X, Y)))
    assert len(asked) == 2
