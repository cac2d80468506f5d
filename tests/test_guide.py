"""The guide: its table of costs is that of the compiler, and the site has every page."""

import re
from pathlib import Path

import pytest

import nestling as nl
from nestling.transform.classify import INDEXED, Class

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "guide"
COSTS = (GUIDE / "costs.md").read_text(encoding="utf-8").replace("\\|", "|")
ROW = re.compile(
    r"^\| `(?P<code>[A-Z-]+)` \| (?P<reason>.+?) \| (?P<cost>.+?) \| (?P<strict>accepts|refuses) \|",
    re.MULTILINE,
)


def test_the_table_of_costs_is_that_of_the_compiler():
    said = {row["code"]: (row["reason"], row["cost"], row["strict"]) for row in ROW.finditer(COSTS)}

    assert said == {c.code: (c.reason, c.cost, "accepts" if c in INDEXED else "refuses") for c in Class}


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("[r.a for r in R if r.b > 1]", "LIN"),
        ("[(r.a, s.b) for r in R for s in S if s.a == r.a]", "BIL"),
        ("[(r.a, [s.b for s in S if s.a == r.a]) for r in R]", "SHR"),
        ("[r.a for r in R if not any(s.a == r.a for s in S)]", "LIFT-EQ"),
        ("{r.a for r in R}", "CNT"),
        ("SELECT a FROM R r WHERE EXISTS (SELECT 1 FROM S s WHERE s.a = r.a)", "CNT"),
        ("[(r.a, sum(s.b for s in S if s.a == r.a)) for r in R]", "LIFT-EQ"),
        ("[max(r.a for r in R)]", "ORD"),
        ("[(r.a, s.b) for r in R for s in S if s.a < r.a]", "INEQ"),
        ("[r.a for r in R if r.a > sum(s.b for s in S)]", "LIFT-X"),
        ("SELECT r.a, s.b FROM R r JOIN S s ON s.a = r.a", "BIL"),
        ("SELECT DISTINCT a FROM R", "CNT"),
        ("SELECT a, sum(b) AS b FROM R GROUP BY a", "LIFT-EQ"),
        ("SELECT r.a FROM R r WHERE r.a > (SELECT avg(a) FROM R)", "LIFT-X"),
    ],
)
def test_which_construct_has_which_class(query, code):
    db = nl.Database()
    for name in "RS":
        db.table(name, "a INT NOT NULL, b INT NOT NULL")
    view = db.view("v", query, language="sql" if query.startswith("SELECT") else "python", strict=False)

    assert re.search(rf"^[! ] {code} ", view.explain(), re.MULTILINE)


def test_the_site_has_every_page_of_the_guide():
    named = set(re.findall(r"guide/(\w+)\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))

    assert named == {page.stem for page in GUIDE.glob("*.md")}
