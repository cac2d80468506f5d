"""The front page: what its table says of views holds, its commands exist, and its links lead somewhere."""

import json
import re
from pathlib import Path

import pytest

import nestling as nl
from nestling.cli.main import app
from tests.database.habits import shop
from tests.habit_table import LINES, verdict

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

ROW = re.compile(r"^\| `(?P<view>[^`]+)` \| (?P<kept>[^|]+) \| (?P<change>[^|]*)\|$", re.MULTILINE)
ROWS = [(row["view"], row["kept"].strip(), row["change"].strip()) for row in ROW.finditer(README)]


def database() -> nl.Database:
    db = nl.Database()
    db.table("products", {"pid": int, "name": str, "price": int}, key="pid")
    db.table("orders", "id INT, customer STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>", key="id")
    db.table("quotes", "at INT, price INT, volume INT")
    return db


def test_the_table_shows_each_kind_of_view():
    assert {kept for _, kept, _ in ROWS} == {"maintained", "computed by every read", "rejected"}
    assert {change for _, _, change in ROWS} == {"O(1)", "O(log n)", "O(matches)", ""}


@pytest.mark.parametrize(("view", "kept", "change"), ROWS)
def test_the_table_of_views_is_true(view, kept, change):
    db, language = database(), "sql" if view.startswith("SELECT") else "python"
    if kept == "rejected":
        with pytest.raises(nl.QueryError) as error:
            db.view("v", view, language=language)
        assert "\nhint: " in str(error.value)
        return

    defined = db.view("v", view, language=language, strict=False)

    assert bool(db.stats()["v"]["evaluated_on_read"]) == (kept == "computed by every read")
    costs = [trigger["cost"] for trigger in json.loads(defined.explain(format="json"))["triggers"]]
    assert max(map(kind, costs), key=len, default="") == change


def kind(cost: str) -> str:
    """The class of a cost: a slice of a table or map are the rows that match."""
    if "log" in cost:
        return "O(log n)"
    return "O(matches)" if " by " in cost else cost


@pytest.mark.parametrize(
    ("view", "kept", "change"), [row for row in ROWS if row[1] == "computed by every read"]
)
def test_a_view_that_every_read_computes_warns_or_is_rejected(view, kept, change):
    db, language = database(), "sql" if view.startswith("SELECT") else "python"

    with pytest.warns(nl.EvaluatedOnRead, match="\nhint: "):
        db.view("v", view, language=language)
    with pytest.raises(nl.QueryError, match="not efficiently incrementalizable"):
        db.view("w", view, language=language, strict=True)


def test_names_for_annotations_are_exported():
    """every class that a public method of the database, a table or a view returns"""
    db = database()
    found = [db, db.tables["orders"], db.view("v", "SELECT id FROM orders"), db.insert("orders", [])]
    found += [db.views["v"].subscribe(lambda change: None), *db.views["v"].changes()]
    with db.transaction() as transaction:
        found.append(transaction)

    assert {type(value).__name__ for value in found} <= set(nl.__all__)
    assert all(getattr(nl, name) for name in nl.__all__)


def test_what_is_not_in_the_interface_has_an_underscore():
    db = database()
    public = {name for name in dir(db) if not name.startswith("_")}

    assert public == {
        "apply", "backup", "close", "constraint", "delete", "document", "documents", "drop", "export", "insert",
        "load", "merge", "rename", "sql", "stats", "sync", "table", "tables", "transaction", "update", "upsert",
        "verify", "version", "view", "views", "xquery",
    }  # fmt: skip


def test_commands_exist():
    blocks = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    words = [line.split("#")[0].split() for block in blocks for line in block.splitlines()]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = {command.name for command in app.registered_commands}

    for program, *rest in words:
        if program == "make":
            assert re.search(rf"^{rest[0]}:", makefile, re.MULTILINE), f"make {rest[0]}"
        elif program == "nestling":
            assert rest[0] in commands, f"nestling {rest[0]}"
        else:
            assert [program, *rest[:3]] == ["python", "-m", "pip", "install"]
    assert {"make", "nestling", "python"} == {program for program, *_ in words}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_the_table_of_habits_has_lines():
    assert len(LINES) >= 17
    assert {line["embedded"] for line in LINES} == {line["spark"] for line in LINES} == {"works", "not"}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["habit"])
def test_the_table_of_habits_is_true(line, tmp_path):
    with nl.Database(tmp_path / "shop.nest") as db:
        shop(db)
        assert verdict(line["code"], db, tmp_path) == line["embedded"]
