"""Names and lines of JSON that would do harm: in what is printed, and in the files that are written."""

import json

import pytest

from tests.cli.commands import nestling, says
from tests.database.test_hostile import ACCEPTED
from tests.hostile import NAMES, nothing_gets_in

COLUMNS = ACCEPTED[::4]
PIPELINE = """
import nestling as nl

db = nl.Database()
db.table("t", dict.fromkeys({columns!r}, str))
db.view({view!r}, "SELECT * FROM t")
"""


def written(tmp_path, view, rows):
    (tmp_path / "changes").mkdir()
    (tmp_path / "pipeline.py").write_text(PIPELINE.format(columns=COLUMNS, view=view), encoding="utf-8")
    lines = (json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in rows)
    (tmp_path / "changes" / "t.jsonl").write_text("".join(lines), encoding="utf-8")
    return tmp_path / "pipeline.py", "--changes", tmp_path / "changes"


def test_lines_come_and_go_as_they_are(tmp_path):
    """every text a value, every name a column; what is written is what was read"""
    rows = [
        [NAMES[(i + shift) % len(NAMES)] for i in range(len(COLUMNS))] for shift in range(0, len(NAMES), 40)
    ]
    arguments = written(tmp_path, "seen", rows)
    with nothing_gets_in():
        result = nestling("run", *arguments, "--out", tmp_path / "out")

    assert result.exit_code == 0, result.stdout
    lines = (tmp_path / "out" / "seen.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    found = [json.loads(line) for line in lines]
    assert sorted(map(list, (row.values() for row in found))) == sorted(rows)
    assert all(list(row) == COLUMNS for row in found)


@pytest.mark.parametrize("name", ["[bold]x[/bold]", "[/x]", "x\\", "[link=https://x]y", ":smile:", "{x}"])
def test_names_are_printed_as_they_are(tmp_path, name):
    arguments = written(tmp_path, name, [["x"] * len(COLUMNS)])
    for command in ("run", "verify"):
        result = nestling(command, *arguments)
        assert result.exit_code == 0, result.output
        assert name in result.stdout
    assert name in nestling("explain", tmp_path / "pipeline.py", name).stdout


@pytest.mark.parametrize("name", ["../x", "a/b", "/x", "..", "."])
def test_a_view_is_no_path(tmp_path, name):
    """refused before anything is applied or written"""
    arguments = written(tmp_path, name, [["x"] * len(COLUMNS)])
    before = sorted(tmp_path.rglob("*"))
    result = nestling("run", *arguments, "--out", tmp_path / "out")

    assert result.exit_code == 1
    assert says(result.stderr, "no file can be called so")
    assert sorted(tmp_path.rglob("*")) == before
