"""The history: every view is what plain Python makes of it, at every version and on both roads."""

from benchmarks import history
from benchmarks.workloads import compat
from benchmarks.workloads.compat import Size


def test_views_follow_the_history():
    """``walk`` compares; here it is small, and that its goals are computed."""
    found = history.walk(Size(features=60, versions=3)) | history.in_a_file(Size(60, 0))
    assert found["rows changed"] > 0
    names = [goal.what for goal in history.goals({**found, "tables, MB": 1.0})]
    assert len(names) == 7


def test_a_view_that_differs_is_told():
    db = history.database()
    history.define(db)
    features = next(compat.history(Size(5, 0)))
    db.insert("features", list(features.values())[1:])
    try:
        history.check(db, features, 0)
    except SystemExit as error:
        assert "differs from plain Python at version 0" in str(error)
    else:
        raise AssertionError
