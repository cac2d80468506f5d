"""The forty cases of ``cases.spec``: the view before and after an update, and the patch between them."""

from pathlib import Path

import pytest

import nestling as nl
from tests.documents.oracle import saxon
from tests.documents.patches import applied, updated


def cases():
    text = (Path(__file__).parent / "cases.spec").read_text(encoding="utf-8")
    for block in text.split("\n\n")[1:]:
        title, *lines = block.strip().split("\n")
        parts = {line[:8].strip(): line[9:] for line in lines}
        yield pytest.param(parts, id=title.removeprefix("# ").replace(" ", "-"))


@pytest.mark.parametrize("case", list(cases()))
def test_a_case(case):
    db, told = nl.Database(), []
    document = db.document("d", case["document"])
    assert document.xml() == case["document"]
    view = db.view("v", case["query"], language="xquery")
    assert view.xml() == case["before"]
    view.subscribe(lambda change: told.append((change.to_xml_patch(), change.to_updates())))

    db.xquery(case["update"])

    assert view.xml() == case["after"] == saxon(case["query"], document.xml())
    view.verify(maps=True)
    assert bool(told) == bool(case["patch"])
    for patch, updates in told:
        assert applied(case["before"], patch) == case["after"]
        assert updated(case["before"], updates) == case["after"], updates
        assert len(patch) <= 1.5 * len(case["patch"]) + 80
        assert '<replace sel="/*"' not in patch


def test_there_are_forty():
    assert len(list(cases())) == 40
