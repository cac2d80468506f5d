"""What ``explain`` says follows what happens to a database."""

import json

import nestling as nl
from nestling.database.explain import collect, explain
from nestling.transform.cost.statistics import ENOUGH
from tests.explain.pages import Page
from tests.explain.shop import related, shop


def test_sizes_follow_the_rows():
    db = shop()
    before = json.loads(db.views["bill"].explain("json"))
    n = ENOUGH - 1 - len(db.table("orders").rows())  # with more, it would be decided again what is stored
    db.insert("orders", [(i, "eve", [(1, i)]) for i in range(100, 100 + n)])
    after = json.loads(db.views["bill"].explain("json"))
    for old, new in zip(before["maps"], after["maps"], strict=True):
        assert new["name"] == old["name"]
        assert new["entries"] == old["entries"] + n
        assert new["bytes"] > old["bytes"] + n * 50


def test_a_watched_view_shows_its_log():
    db = shop()
    assert not any(m["role"] == "watch" for m in collect(db._state, "related").data()["maps"])
    db.views["related"].subscribe(lambda change: None)
    logs = [m for m in collect(db._state, "related").maps if m.role == "watch"]
    assert len(logs) == 2
    assert {m.entries for m in logs} == {0}
    assert "what changed, for those who asked to be told" in explain(db._state, "related")


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
    assert (
        'on every read, because store="none": nothing is kept of it (KNOB)' in db.views["fleeting"].explain()
    )


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


def test_how_a_view_is_stored_is_told_in_every_format():
    db = shop()
    report = json.loads(db.views["related"].explain("json"))
    storage, bag = report["storage"], report["readings"][-1]
    shown, page = db.views["related"].explain(), Page(db.views["related"].explain("html")).text
    assert storage["code"] == "KEYS"
    assert [way["chosen"] for way in storage["ways"]].count(True) == 1
    assert len(storage["ways"]) > 2
    assert bag["keyed"] == ["M by gen", "M by dir"]
    assert bag["otherwise"].startswith("stored whole, a change would cost ")
    flat = " ".join(shown.split())
    for text in (storage["chosen"], storage["why"], bag["otherwise"], "factorised: M by gen; M by dir"):
        assert text in flat
        assert text.lower() in page.lower()
    for way in storage["ways"]:
        assert way["text"] in page
    assert "from M: 1,000 rows, assumed" in shown


def test_an_inner_bag_that_is_stored_whole():
    db = shop()
    whole = db.view("whole", related, store="full")
    report = json.loads(whole.explain("json"))
    bag = report["readings"][-1]
    assert (bag["path"], bag["kind"], bag["keyed"]) == ("_1", "whole", [])
    assert bag["otherwise"].startswith("put together on reading, a change would cost ")
    [bags] = [m for m in report["maps"] if m["role"] == "bags"]
    assert bags["entries"] == sum(len(row[1]) for row in whole)
    assert any("the labels in use" in m["why"] for m in report["maps"])
    assert "the answer and inner bag _1 whole" in " ".join(whole.explain().split())


def test_what_was_counted_is_told():
    db = nl.Database()
    db.table("M", {"name": str, "gen": str, "dir": str}, key="name")
    db.insert("M", [(f"m{i}", f"g{i % 6}", f"d{i // 5}") for i in range(200)])
    view = db.view(related)
    assert "from M: 200 rows, 6 values of gen, " in view.explain()


def test_labels_of_an_input_in_an_answer_that_is_stored():
    db = shop()
    kept = db.view("all_kept", "[(o.id, o.items) for o in orders]", language="python", store="full")
    reading = json.loads(kept.explain("json"))["readings"][-1]
    assert (reading["kind"], reading["why"]) == ("input", "it is the bag orders.items itself")
