"""One verdict: what ``strict`` refuses, what ``explain`` says, what warns, and what the engine does are the same."""

import json
import warnings
from functools import cache
from random import Random
from typing import Any

import pytest

import nestling as nl
from nestling.transform.classify import Verdict
from tests.frontends.sql.test_random import Writer
from tests.frontends.sql.worlds import World
from tests.soak.plan import one_view
from tests.soak.schema import tables

SEEDS = range(30)


def is_refused(db: nl.Database, text: Any, language: str) -> bool:
    """Whether ``strict=True`` refuses a view; it is not defined then."""
    try:
        db.view("v", text, language=language, strict=True)
    except nl.QueryError as error:
        assert "is not efficiently incrementalizable" in str(error)
        assert error.hint
        assert "v" not in db.views
        return True
    db.drop("v")
    return False


def agree(db: nl.Database, text: Any, language: str) -> dict[str, Any]:
    """strict refuses ⟺ explain says so ⟸ the engine evaluates on read ⟺ it warns; what it says"""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        view = db.view("v", text, language=language)
    on_read = db.stats()["v"]["evaluated_on_read"]
    report = json.loads(view.explain(format="json"))
    db.drop("v")

    assert [warning.category for warning in told] == ([nl.EvaluatedOnRead] if on_read else [])
    assert bool(on_read) == (not report["maintained"])
    assert is_refused(db, text, language) == (report["verdict"] == Verdict.NOT.value)
    assert report["verdict"] == Verdict.NOT.value or not on_read
    # What is accepted names no construct that stands in the way; what is refused names one, or the reason.
    obstacles = [construct for construct in report["constructs"] if construct["obstacle"]]
    assert (report["verdict"] == Verdict.NOT.value) == bool(obstacles or on_read)
    db.view("v", text, language=language, strict=False)  # a warning would be an error here
    db.drop("v")
    return {"refused": report["verdict"] == Verdict.NOT.value, "on_read": bool(on_read)}


@cache
def soaked(seed: int) -> dict[str, Any]:
    """A view of the soak's generators over its tables."""
    rng = Random(f"verdict {seed}")
    made, db = tables(rng), nl.Database()
    for table in made:
        db.table(table.name, table.ddl, key=table.key or None, references=dict(table.references) or None)
    view = one_view(rng, "v", {table.name: table.columns for table in made})
    try:
        db.view("v", view.text, language=view.language, strict=False)
    except nl.QueryError:
        return {}  # no query of the language
    db.drop("v")
    return agree(db, view.text, view.language)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_views_of_both_front_ends(seed):
    soaked(seed)


@pytest.mark.parametrize("seed", range(10))
def test_random_sql(seed):
    query = Writer(seed).query().replace("SEMI JOIN", "LEFT SEMI JOIN").replace("ANTI JOIN", "LEFT ANTI JOIN")
    agree(World(("r", "s", "t"), f"verdict {seed}").db, query, "sql")


#: A view, and whether it is maintained within its stated cost; the same in either language.
VERDICTS = {
    "[r.a for r in R if sum([q.a for q in R if q.b % 2 == r.b % 2]) > 3]": True,
    "[r.a for r in R if min([q.a for q in R if q.b == r.b + 1], default=0) > 1]": True,
    "[(sum(t.a for t in T), len(T))]": True,
    "[r.a for r in R if any(s.b == r.b and s.a != r.a for s in T)]": True,
    "[r.a for r in R if all(s.b != r.b or s.a == r.a for s in T)]": True,
    "[(r.a, len([s for s in T if s.b == r.b and s.a != r.a])) for r in R]": True,
    "SELECT r.a FROM R r WHERE EXISTS (SELECT * FROM T s WHERE s.b = r.b AND s.a <> r.a)": True,
    "SELECT r.a, (SELECT count(*) FROM T s WHERE s.b = r.b AND s.a <> r.a) AS n FROM R r": True,
    "SELECT r.a FROM R r WHERE (SELECT sum(q.a) FROM R q WHERE q.b % 2 = r.b % 2) > 3": True,
    "SELECT r.k FROM N r WHERE EXISTS (SELECT * FROM N s WHERE s.k = r.k AND s.x <> r.x)": True,
    "[r.a for r in R if min([q.a for q in R if q.b != r.b], default=0) > 1]": False,
    "SELECT r.a, (SELECT min(s.a) FROM T s WHERE s.b <> r.b) AS n FROM R r": False,
    "[o.id for o in O if all(t in [i.p for i in o.items] for t in o.tags)]": False,
    "[r.a for r in R if r.a > sum(t.a for t in T)]": False,
    "[(r.a, t.a) for r in R for t in T if r.a < t.a]": False,
    "[sum(t.a for t in T if t.a > sum(u.b for u in T))]": False,
}


@pytest.fixture
def db():
    with nl.Database() as database:
        database.table("R", {"a": int, "b": int})
        database.table("T", {"a": int, "b": int})
        database.table("N", "k INT, x INT NULL")
        database.table("O", {"id": int, "items": [{"p": int}], "tags": [int]}, key="id")
        yield database


@pytest.mark.parametrize("text", VERDICTS)
def test_verdict(db, text):
    language = "sql" if text.startswith("SELECT") else "python"

    assert agree(db, text, language)["refused"] != VERDICTS[text]


ON_READ = "[r.a for r in R if min([q.a for q in R if q.b != r.b], default=0) > 1]"


def test_a_warning_names_the_construct_and_what_to_write(db):
    with pytest.warns(nl.EvaluatedOnRead) as told:
        db.view("v", ON_READ, language="python")

    text = str(told[0].message)
    assert text.startswith(f"v is evaluated on every read\n  line 1\n    {ON_READ}\n")
    assert f"\n    {' ' * ON_READ.index('min(')}^^^^" in text
    assert "\nhint: relate the inner rows to the outer row by ==" in text
    assert "strict=False" in text
    assert told[0].filename == __file__


def test_a_warning_that_is_an_error_defines_nothing(db):
    with pytest.raises(nl.EvaluatedOnRead):
        db.view("v", ON_READ, language="python")

    assert "v" not in db.views


def test_who_asks_for_it_is_not_warned(db):
    db.view("asked", ON_READ, language="python", store="none")
    db.view("accepted", ON_READ, language="python", strict=False)

    assert db.stats()["asked"]["evaluated_on_read"]
    assert db.stats()["accepted"]["evaluated_on_read"]


def test_a_script_warns(db):
    with pytest.warns(nl.EvaluatedOnRead):
        db.sql("CREATE VIEW v AS SELECT r.a, (SELECT min(s.a) FROM T s WHERE s.b <> r.b) AS n FROM R r")


def test_what_keeps_nothing_is_not_strict(db):
    with pytest.raises(nl.QueryError, match="leave store out"):
        db.view("v", "SELECT a FROM R", store="none", strict=True)


def test_the_law_is_about_all_cases():
    """among random views some are accepted, some are refused for their cost, and some are evaluated on read"""
    found = [verdict for seed in SEEDS if (verdict := soaked(seed))]

    assert sum(not verdict["refused"] for verdict in found) > 5
    assert sum(verdict["refused"] and not verdict["on_read"] for verdict in found) > 2
    assert any(verdict["on_read"] for verdict in found)


@pytest.mark.parametrize("tables", [20, 21])
def test_more_loops_than_python_takes_are_refused_and_answered(tables):
    """Twenty tables in a chain are joined by twenty loops; with one more it says so, and every read computes it."""
    db = nl.Database()
    for i in range(tables):
        db.table(f"t{i}", {"a": int, "b": int})
    joined = " AND ".join(f"t{i}.b = t{i + 1}.a" for i in range(tables - 1))
    text = f"SELECT t0.a, t{tables - 1}.b FROM {', '.join(f't{i}' for i in range(tables))} WHERE {joined}"
    if tables > 20:
        with pytest.raises(nl.QueryError, match="more than 20 nested loops; split it into views"):
            db.view("v", text, strict=True)
    db.view("v", text, strict=tables <= 20)
    for i in range(tables):
        db.insert(f"t{i}", [(1, 1)])
    assert [tuple(row) for row in db.views["v"]] == [(1, 1)]
