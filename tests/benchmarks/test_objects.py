"""A short run of the benchmark of objects: what is compared is the same, and every goal is measured."""

import pytest

from benchmarks.parts import objects, paths, turns
from benchmarks.workloads import nakamura_hand


def test_generated_and_hand_written_views_agree():
    objects.agree(60)


def test_a_disagreement_is_noticed(monkeypatch):
    class Forgetful(nakamura_hand.UnpaidSales):
        def result(self):
            return []

    broken = dict(objects.BY_HAND) | {"unpaid_sales": Forgetful}
    monkeypatch.setattr(objects, "STREAMS", [objects.Stream("inserts", True, False, broken)])
    with pytest.raises(AssertionError, match="unpaid_sales differs after inserts"):
        objects.agree(30)


def test_a_short_run(monkeypatch, capsys):
    monkeypatch.setattr(objects, "LEAST", 1)
    monkeypatch.setattr(objects, "PRIMARY", (20, 40))
    monkeypatch.setattr(turns, "PROCESSES", 1)
    goals = objects.three_queries(False, ["unpaid_sales"])
    assert len(goals) == 3 * 2 * (2 + 1)
    assert all(goal.measured > 0 for goal in goals)
    shown = capsys.readouterr().out
    assert all(stream.name in shown for stream in objects.STREAMS)


def test_a_short_run_along_paths(monkeypatch, capsys):
    monkeypatch.setattr(paths, "ROUNDS", 1)
    monkeypatch.setattr(paths, "CALLS", 1)
    monkeypatch.setattr(turns, "PROCESSES", 2)
    goals = paths.path_updates(quick=True)
    assert len(goals) == 2 * 4 + 2
    assert all(goal.measured > 0 for goal in goals)
    assert "fan-out" in capsys.readouterr().out


def test_growth_counts_no_fall():
    assert paths._growth([149.0, 31.0, 16.0]) == 1.0
    assert paths._growth([20.0, 10.0, 15.0]) == 1.5


def test_names_by_hand_are_those_of_the_view():
    db = paths.path_database(3, 4, "full")
    hand = paths.Names(paths.path_rows(3, 4))
    hand.stored((1, "name 1", "", 1), (1, "eve", "", 1))
    db.update("customers", key=1, set={"name": "eve"})
    assert sorted(hand.rows.values()) == sorted((row[0], row[1]) for row in db.views["names"].rows())
