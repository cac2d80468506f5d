"""``nestling verify``: ✓ and ✗, and the exit code."""

import pytest

from tests.cli.commands import EXAMPLES, masked, nestling, write

BROKEN = """
import nestling as nl

db = nl.Database()
db.table("T", {"k": int, "v": int}, key="k")
db.view("total", lambda T: [sum(t.v for t in T)])
db.view("keys", lambda T: [t.k for t in T])
db.insert("T", [(1, 10), (2, 20)])
db._state.engine.put("T", (2, 20), 0)  # behind the back of the triggers
"""


def test_views_that_are_right():
    result = nestling("verify", EXAMPLES / "movies.py", "--changes", EXAMPLES / "data" / "movies")

    assert result.exit_code == 0
    assert masked(result.stdout).splitlines() == [
        "movies.py: views and their recomputation",
        "│ view │ rows │ equal │ recomputed in │",
        "│ related │ 5 │ ✓ │ T │",
        "│ directors │ 2 │ ✓ │ T │",
    ]


@pytest.mark.in_python
def test_a_view_that_is_wrong(tmp_path):
    write(tmp_path, pipeline=BROKEN)

    result = nestling("verify", tmp_path / "pipeline.py")

    assert result.exit_code == 1
    assert masked(result.stdout).splitlines()[2:] == [
        "│ total │ 1 │ ✗ │ T │",
        "│ keys │ 1 │ ✓ │ T │",
        "✗ total is not what its query says: {10: 1, 30: -1} is missing",
        "1 of 2 views not equal to their recomputation",
    ]
