"""``explain`` says what is so: of the query, of what is stored, and of what a change does."""

import json
import re
from functools import cache
from typing import Any

import pytest

import nestling as nl
from nestling.database.explain import collect
from nestling.database.explain.text import as_text, cut
from nestling.engine.local.engine import LocalEngine
from nestling.errors import QueryError
from tests.explain.pages import Page
from tests.explain.shop import shop

VIEWS = ("related", "spend", "bill", "dearest", "large", "genres", "over", "kept", "baskets")
every_view = pytest.mark.parametrize("name", VIEWS)


@cache
def database() -> nl.Database:
    return shop()


def text(name: str) -> str:
    return str(database().views[name].explain())


def data(name: str) -> Any:
    return json.loads(database().views[name].explain(format="json"))


def steps(trigger: Any) -> list[Any]:
    return [s for batch in trigger["batches"] for work in batch["statements"] for s in work["steps"]]


# every view, every format


@every_view
def test_text_fits_a_hundred_columns(name):
    lines = text(name).splitlines()
    assert lines[0].startswith(f"view {name}: Bag(")
    assert max(map(len, lines)) <= 100


@every_view
def test_json_is_the_report(name):
    assert data(name) == collect(database()._state, name).data()


@every_view
def test_a_page_is_well_formed_and_tells_the_same(name):
    page = Page(database().views[name].explain(format="html", code=True))
    report = data(name)
    assert report["verdict"].capitalize() in page.text
    assert report["query"] in page.text
    for part in report["parts"]:
        assert part["query"] in page.text
        assert part["delta"] in page.text
    for stored in report["maps"]:
        assert f"{stored['name']}[{', '.join(stored['keys'])}]" in page.text
    for trigger in report["triggers"]:
        assert f"on {trigger['table']}({', '.join(trigger['columns'])})" in page.text
    for construct in report["constructs"]:
        assert construct["code"] in page.text
        assert construct["text"] in page.text and not construct["text"].endswith("…")


@every_view
def test_every_construct_and_map_is_in_the_text(name):
    report, shown = data(name), text(name)
    for construct in report["constructs"]:
        assert re.search(
            rf"^[! ] {construct['code']} +{re.escape(cut(construct['text'], 60))}$", shown, re.MULTILINE
        )
    for stored in report["maps"]:
        assert f"  {stored['name']}[" in shown
        assert stored["why"] in re.sub(r"\s+", " ", shown)


@every_view
def test_code_that_is_shown_compiles_and_is_what_runs(name):
    """What runs is byte code where the engine is native: then it is shown what that does."""
    report, engine = collect(database()._state, name, code=True), database()._state.engine
    python = engine if isinstance(engine, LocalEngine) else LocalEngine(engine.program)
    for function in report.code:
        compile(function.source, function.name, "exec")
        shown = function.source.removeprefix("# Run as byte code, which does what this does.\n")
        assert (shown == function.source) == (python is engine)
        assert shown.startswith(f"def {function.name}(")
        assert shown in python.source
    assert bool(report.code) == report.maintained
    assert ("\ngenerated code\n" in as_text(report)) == report.maintained
    assert "generated code" not in text(name)


def test_an_unknown_format_is_refused():
    with pytest.raises(QueryError, match="'text', 'json', 'html'"):
        database().views["related"].explain(format="yaml")


# what is said of each


def test_related():
    """The first paper's view: bags are put together from slices, so storing a row is all there is to do."""
    shown, report = text("related"), data("related")
    assert "\n  efficiently incrementalizable\n  maintained on every change\n" in shown
    assert report["type"] == "Bag(⟨name: str, _1: Bag(str)⟩)"
    assert {c["code"] for c in report["constructs"]} == {"LIN", "BIL", "SHR"}
    assert report["degree"] == "1"
    assert report["degree_because"] == ""
    flat, inner = report["parts"]
    assert (flat["name"], flat["cost"], flat["delta_cost"]) == ("related^F", "|M|{⟨1, 1⟩}", "|ΔM|{⟨1, 1⟩}")
    assert (inner["name"], inner["degree"], inner["delta_cost"]) == ("related^Γ._1", "1", "|ΔM|{1}")
    assert "in ΔM" in inner["delta"]
    bag = report["readings"][-1]
    assert (bag["path"], bag["kind"]) == ("_1", "assembled")
    found = [s for work in bag["parts"] for s in work["steps"] if s["access"] != "test"]
    assert {(s["access"], s["source"]) for s in found} == {("slice", "M")}
    assert {column for s in found for column in s["by"]} == {"gen", "dir"}
    assert f"assembled from {len(bag['parts'])} parts" in shown
    assert "counted once, by taking it away again" in re.sub(r"\s+", " ", shown)
    assert "on M(name, gen, dir): O(1)\n    nothing but the row itself" in shown
    [table] = report["tables"]
    assert table["entries"] == 4
    assert {tuple(index) for index in table["indexes"]} == {tuple(s["by"]) for s in found}


def test_a_group_by():
    shown, report = text("spend"), data("spend")
    assert "\n  efficient under stated index assumptions\n" in shown
    assert {"CNT", "LIFT-EQ"} <= {c["code"] for c in report["constructs"]}
    assert report["degree"] == "⊤"
    assert report["degree_because"].startswith("CNT: distinct(")
    assert "degree ⊤, because of CNT: distinct(" in shown
    by_customer = [m for m in report["maps"] if m["keys"] == ["orders.customer"]]
    assert any("sum of qty" in m["measures"] for m in by_customer)
    assert [m["entries"] for m in by_customer if "count" in m["measures"]] == [2]
    on_items = next(t for t in report["triggers"] if t["table"] == "orders.items")
    assert [(s["access"], s["by"]) for s in steps(on_items)] == [("slice", ["items"])]
    assert "by items|)" in on_items["cost"]


def test_a_join():
    shown, report = text("bill"), data("bill")
    assert report["verdict"] == "efficiently incrementalizable"
    assert report["degree"] == "3"
    assert report["reads"] == ["orders", "prices"]
    [rows] = [m for m in report["maps"] if m["role"] == "rows"]
    assert sorted(rows["keys"]) == ["orders.id", "orders.items.qty", "prices.price"]
    assert (rows["entries"], rows["measures"], rows["shared_with"]) == (4, ["count"], [])
    assert "orders ⋈ orders.items ⋈ prices" in rows["why"]
    assert {t["table"] for t in report["triggers"]} == {"orders", "orders.items", "prices"}
    assert {s["access"] for t in report["triggers"] for s in steps(t)} <= {"probe", "slice"}
    assert "when a row comes or goes" in shown
    assert f"stored: {rows['name']} holds them" in shown
    assert report["warnings"] == []


def test_an_extreme():
    report = data("dearest")
    assert "ORD" in {c["code"] for c in report["constructs"]}
    assert report["degree"] == "⊤"
    [ordered] = [m for m in report["maps"] if m["role"] == "lift"]
    assert ordered["keys"] == ["prices.pid", "prices.price"]
    assert ordered["entries"] == 3
    [trigger] = report["triggers"]
    assert f"log |{ordered['name']}|" in trigger["cost"]
    assert "in order" not in report["reason"]


def test_an_obstacle_is_named():
    shown, report = text("large"), data("large")
    assert report["verdict"] == "not efficiently incrementalizable"
    [obstacle] = [c for c in report["constructs"] if c["obstacle"]]
    assert obstacle["code"] == "LIFT-X"
    assert report["warnings"][0].startswith("LIFT-X: ")
    assert "\n! LIFT-X " in shown


def test_a_view_that_is_not_maintained():
    shown, report = text("baskets"), data("baskets")
    assert not report["maintained"]
    assert report["reason"].startswith("nested values are compared by content: distinct(for ")
    assert report["code_of_reason"] == "NO FLAT FORM"
    assert "on every read, because nested values are compared by content" in shown
    assert "CAN" in {c["code"] for c in report["constructs"]}
    assert report["maps"] == report["triggers"] == report["readings"] == report["code"] == []
    assert "stored for this view" not in shown
    assert database().views["baskets"].rows()


def test_a_view_over_a_view_is_a_view_over_its_tables():
    report = data("over")
    assert report["reads"] == ["M"]
    assert report["maintained"]
    assert [t["table"] for t in report["triggers"]] == ["M"]
    bag = report["readings"][-1]
    assert bag["path"] == "_1"
    assert "slice" in {s["access"] for work in bag["parts"] for s in work["steps"]}


def test_a_bag_of_a_table_is_read_as_it_is():
    assert [(r["path"], r["kind"], r["why"]) for r in data("kept")["readings"]][-1] == (
        "items", "input", "it is the bag orders.items itself"
    )  # fmt: skip


def test_what_a_user_wrote_is_escaped():
    page = database().views["genres"].explain(format="html")
    assert "<b>&'" not in page
    assert "&lt;b&gt;&amp;" in page
    assert "<b>&'" in Page(page).text
    assert "<b>&'" in database().views["genres"].explain()
