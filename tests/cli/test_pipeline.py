"""How a pipeline is found in a file, and what is said of one that fails."""

import sys

import pytest

from nestling.cli.pipeline import load
from nestling.errors import NestlingError
from tests.cli.commands import message, nestling, says, title, write

HEAD = "import nestling as nl\n"
TABLE = 'db.table("M", {"name": str}, key="name")\n'


def test_a_database_at_the_top(tmp_path):
    write(tmp_path, pipeline=HEAD + "db = nl.Database()\n" + TABLE)

    assert list(load(tmp_path / "pipeline.py").tables) == ["M"]


def test_a_database_of_another_name(tmp_path):
    write(tmp_path, pipeline=HEAD + "shop = also = nl.Database()\n" + TABLE.replace("db", "shop"))

    assert list(load(tmp_path / "pipeline.py").tables) == ["M"]


def test_a_function_that_builds(tmp_path):
    write(tmp_path, pipeline=f"def build(db):\n    {TABLE}")

    assert list(load(tmp_path / "pipeline.py").tables) == ["M"]


def test_a_function_that_returns_what_it_built(tmp_path):
    text = HEAD + f"def build(_):\n    db = nl.Database()\n    {TABLE}    return db\n"
    write(tmp_path, pipeline=text)

    assert list(load(tmp_path / "pipeline.py").tables) == ["M"]


def test_neighbours_are_importable_and_nothing_is_left_behind(tmp_path):
    (tmp_path / "schemas_of_a_neighbour.py").write_text('M = {"name": str}\n')
    text = HEAD + "from schemas_of_a_neighbour import M\ndb = nl.Database()\ndb.table('M', M)\n"
    write(tmp_path, pipeline=text + "assert __name__ == 'pipeline'\n")
    path = list(sys.path)

    load(tmp_path / "pipeline.py")
    sys.modules.pop("schemas_of_a_neighbour")

    assert sys.path == path
    assert "pipeline" not in sys.modules


def test_a_name_that_is_taken_stays_with_its_owner(tmp_path):
    (tmp_path / "json.py").write_text(HEAD + "db = nl.Database()\n")
    before = sys.modules["json"]

    load(tmp_path / "json.py")

    assert sys.modules["json"] is before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", ["pipeline.py declares no database", "hint: write db = nl.Database()"]),
        (HEAD + "a, b = nl.Database(), nl.Database()\n", ["has 2 databases", "hint: call the one to use db"]),
        ("x = (1,\n", ["is not Python: '(' was never closed", "line 1", "    x = (1,\n        ^"]),
        ("x = 1\ny = x / 0\n", ["ZeroDivisionError: division by zero", "pipeline.py, line 2", "^^^^^^^^^"]),
        (HEAD + "db = nl.Database()\ndb.table('M', {'a': str}, key='b')\n",
         ["M has no column 'b' to be its key", "pipeline.py, line 3", "hint: it has a"]),
    ],
)  # fmt: skip
def test_a_pipeline_that_fails(tmp_path, text, said):
    write(tmp_path, pipeline=text)

    result = nestling("verify", tmp_path / "pipeline.py")

    assert result.exit_code == 1
    for part in said:
        assert says(result.stderr, part)
    assert "Traceback" not in result.output


def test_a_view_that_cannot_be_accepted_shows_its_place(tmp_path):
    view = 'db.view("v", lambda M: [m.nam for m in M])\n'
    write(tmp_path, pipeline=HEAD + "db = nl.Database()\n" + TABLE + view)

    result = nestling("run", tmp_path / "pipeline.py")
    lines = message(result.stderr).splitlines()

    assert result.exit_code == 1
    assert title(result.stderr) == "QueryError"
    at = lines.index("    " + view.strip())
    assert lines[at + 1].strip() == "^" * len("m.nam")
    assert lines[at + 1].index("^") - 4 == view.index("m.nam")
    assert lines[-1].startswith("hint: ")


def test_debug_shows_the_traceback(tmp_path):
    write(tmp_path, pipeline="x = 1 / 0\n")

    result = nestling("--debug", "run", tmp_path / "pipeline.py")

    assert isinstance(result.exception, NestlingError)
    assert isinstance(result.exception.__cause__, ZeroDivisionError)


def test_a_file_that_is_not_python(tmp_path):
    (tmp_path / "pipeline.txt").write_text("")

    result = nestling("run", tmp_path / "pipeline.txt")

    assert result.exit_code == 1
    assert says(result.stderr, "pipeline.txt is not a Python file")


def test_a_file_that_is_not_there(tmp_path):
    assert nestling("run", tmp_path / "pipeline.py").exit_code == 2
