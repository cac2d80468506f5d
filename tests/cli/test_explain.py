"""``nestling explain``: the view's own explanation, in the format asked for."""

from itertools import chain

import pytest

from nestling.cli.pipeline import load
from tests.cli.commands import EXAMPLES, message, nestling


@pytest.mark.parametrize("options", [{}, {"format": "html"}, {"format": "json"}, {"code": True}])
def test_it_is_what_the_view_says(options):
    arguments = [("--code",) if value is True else (f"--{name}", value) for name, value in options.items()]
    said = load(EXAMPLES / "movies.py").views["related"].explain(**options)

    result = nestling("explain", EXAMPLES / "movies.py", "related", *chain(*arguments))

    assert (result.exit_code, result.stdout) == (0, said + "\n")


def test_a_format_that_is_not_there():
    assert nestling("explain", EXAMPLES / "movies.py", "related", "--format", "pdf").exit_code == 2


def test_a_view_that_is_not_there():
    result = nestling("explain", EXAMPLES / "movies.py", "relatives")

    assert result.exit_code == 1
    assert message(result.stderr).splitlines() == [
        "movies.py declares no view 'relatives'",
        "",
        "hint: its views: related, directors",
    ]
