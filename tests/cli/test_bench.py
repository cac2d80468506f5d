"""``nestling bench``: where benchmarks are found, and what is done with them."""

import pytest

import nestling
from tests.cli.commands import masked, says
from tests.cli.commands import nestling as command

SUITE = '''"""How long nothing takes.

More of it.
"""
import pathlib, sys
pathlib.Path(__file__).with_suffix(".ran").write_text(" ".join(sys.argv[1:]))
sys.exit(3 if "--against" in sys.argv else 0)
'''


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The package without its source tree, in an empty working directory."""
    monkeypatch.setattr(nestling, "__file__", str(tmp_path / "lib" / "python" / "nestling" / "__init__.py"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def suite(installed):
    (installed / "benchmarks").mkdir()
    (installed / "benchmarks" / "nothing.py").write_text(SUITE)
    (installed / "benchmarks" / "_shared.py").write_text("")
    return installed / "benchmarks" / "nothing.ran"


def test_the_source_tree_has_benchmarks():
    result = command("bench")

    assert result.exit_code == 0
    assert "│ compile │ How long a view takes to define" in masked(result.stdout)


def test_the_working_directory_may_have_some(suite):
    result = command("bench")

    assert masked(result.stdout).splitlines()[1:] == [
        "│ suite │ what it measures │",
        "│ nothing │ How long nothing takes. │",
    ]


def test_a_suite_is_run(suite):
    assert command("bench", "nothing").exit_code == 0
    assert suite.read_text() == ""


def test_a_peer_and_the_exit_code_are_handed_on(suite):
    assert command("bench", "nothing", "--against", "peer").exit_code == 3
    assert suite.read_text() == "--against peer"


def test_there_may_be_none(installed):
    result = command("bench")

    assert result.exit_code == 0
    assert "There are no benchmarks here." in result.stdout


@pytest.mark.parametrize(
    ("fixture", "hint"), [("installed", "get the source tree"), ("suite", "there are nothing")]
)
def test_a_suite_that_is_not_there(request, fixture, hint):
    request.getfixturevalue(fixture)

    result = command("bench", "latency")

    assert result.exit_code == 1
    assert says(result.stderr, "there is no benchmark 'latency' here")
    assert says(result.stderr, hint)
