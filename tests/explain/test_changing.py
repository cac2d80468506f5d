"""What ``explain`` says follows what happens to a database."""

import json

import nestling as nl
from nestling.database.explain import collect, explain
from tests.explain.shop import shop


def test_sizes_follow_the_rows():
    db = shop()
    before = json.loads(db.views["bill"].explain("json"))
    db.insert("orders", [(i, "eve", [(1, i)]) for i in range(100, 200)])
    after = json.loads(db.views["bill"].explain("json"))
    for old, new in zip(before["maps"], after["maps"], strict=True):
        assert new["name"] == old["name"]
        assert new["entries"] == old["entries"] + 100
        assert new["bytes"] > old["bytes"] + 100 * 50


def test_a_watched_view_shows_its_log():
    db = shop()
    assert not any(m["role"] == "watch" for m in collect(db.state, "related").data()["maps"])
    db.views["related"].subscribe(lambda change: None)
    logs = [m for m in collect(db.state, "related").maps if m.role == "watch"]
    assert len(logs) == 2
    assert {m.entries for m in logs} == {0}
    assert "what changed, for those who asked to be told" in explain(db.state, "related")


def test_a_lazy_view_has_maps_of_its_own():
    db = shop()
    db.view("later", "[(p.pid, q.price) for p in prices for q in prices if p.pid == q.pid]",
            language="python", refresh="lazy")  # fmt: skip
    report = json.loads(db.views["later"].explain("json"))
    assert report["maintained"]
    assert "maintained when it is read" in db.views["later"].explain()
    assert report["triggers"]
    assert not any(m["shared_with"] for m in report["maps"])


def test_a_view_that_keeps_nothing_says_so():
    db = shop()
    db.view("fleeting", "[p.pid for p in prices]", language="python", store="none")
    assert 'on every read, because store="none"' in db.views["fleeting"].explain()


def test_shared_maps_say_so():
    db = nl.Database()
    db.table("T", {"a": int, "b": int})
    first = db.view("first", lambda T: [(t.a, sum(u.b for u in T if u.a == t.a)) for t in T])
    db.view("second", lambda T: [sum(u.b for u in T if u.a == t.a) for t in T])
    shared = [m["shared_with"] for m in json.loads(first.explain("json"))["maps"]]
    assert ["second"] in shared


def test_a_bound_that_moves_visits_a_range():
    db = nl.Database()
    db.table("T", {"a": int, "b": int, "c": int})
    view = db.view("v", lambda T: [sum(t.b for t in T if t.b > sum(u.c for u in T if u.a == t.a))])
    steps = [
        step
        for trigger in json.loads(view.explain("json"))["triggers"]
        for batch in trigger["batches"]
        for work in batch["statements"]
        for step in work["steps"]
    ]
    assert [step["by"] for step in steps if step["access"] == "range"] == [["a"]]
    assert "by a, between two bounds|)" in view.explain()
