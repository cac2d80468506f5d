"""``nestling explain``: the view's own explanation, in the format asked for."""

import pytest

from nestling.database.view import View
from tests.cli.commands import EXAMPLES, message, nestling


@pytest.mark.parametrize(("options", "format"), [((), "text"), (("--format", "html"), "html")])
def test_the_format_reaches_the_view(monkeypatch, options, format):
    monkeypatch.setattr(View, "explain", lambda self, format: f"{self.name} as {format}", raising=False)

    result = nestling("explain", EXAMPLES / "movies.py", "related", *options)

    assert (result.exit_code, result.stdout) == (0, f"related as {format}\n")


def test_a_view_that_is_not_there():
    result = nestling("explain", EXAMPLES / "movies.py", "relatives")

    assert result.exit_code == 1
    assert message(result.stderr).splitlines() == [
        "movies.py declares no view 'relatives'",
        "",
        "hint: its views: related, directors",
    ]
