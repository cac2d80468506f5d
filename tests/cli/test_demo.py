"""``nestling demo``: it agrees with the reference at every step, and is plain text without a terminal."""

import ast
import inspect

import pytest

from nestling.cli.demo.movies import TEXT as MOVIES
from nestling.cli.demo.movies import is_related, related
from nestling.cli.demo.shop import TEXT as SHOP
from nestling.cli.demo.shop import history
from tests.cli.commands import masked, nestling


@pytest.fixture(scope="module")
def output():
    result = nestling("demo")
    assert result.exit_code == 0, result.output
    return result.stdout


def test_no_control_characters(output):
    assert {character for character in output if not character.isprintable()} == {"\n"}


def test_the_movies_after_each_step(output):
    text = masked(output)

    assert "│ Drive │ Jarhead │ + Jarhead │" in text
    assert "│ Skyfall │ Jarhead │ − Rush │" in text
    assert "│ Rush │ │ row is gone │" in text
    assert "Now with a catalogue of 78 films" in text
    assert "def on_M(row, times):" in text


def test_what_the_subscriber_of_the_shop_hears(output):
    lines = output.splitlines()
    at = lines.index("order 7 gains an item")

    assert lines[at + 1 : at + 3] == [
        "└── Leo › orders 7 › items",
        "    └── + product=kettle, qty=3, cost=6600",
    ]
    assert "└── and 13 more" in lines


def test_the_table_of_costs(output):
    lines = masked(output).splitlines()
    at = lines.index("What each step took")

    assert lines[at + 1 : at + 11] == [
        "│ step │ what changed │ change │ recomputed │ ratio │ in Python │ ratio │",
        "│ 1 │ Rush is back │ T │ T │ R │ T │ R │",
        "│ 2 │ Drive becomes a crime film │ T │ T │ R │ T │ R │",
        "│ 3 │ Jarhead leaves │ T │ T │ R │ T │ R │",
        "│ 4 │ all westerns leave │ T │ T │ R │ T │ R │",
        "│ 5 │ order 7 gains an item │ T │ T │ R │ T │ R │",
        "│ 6 │ order 7 loses it again │ T │ T │ R │ T │ R │",
        "│ 7 │ the teapot gets dearer │ T │ T │ R │ T │ R │",
        "│ 8 │ order 500 arrives │ T │ T │ R │ T │ R │",
        "│ 9 │ order 500 is cancelled │ T │ T │ R │ T │ R │",
    ]


@pytest.mark.parametrize(("shown", "function"), [(MOVIES, related), (MOVIES, is_related), (SHOP, history)])
def test_what_is_shown_is_what_runs(shown, function):
    assert ast.dump(returned(shown, function.__name__)) == ast.dump(
        returned(inspect.getsource(function), function.__name__)
    )


def returned(text: str, name: str) -> ast.stmt:
    """The last statement of the function ``name`` in ``text``."""
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return next(node.body[-1] for node in functions if node.name == name)
