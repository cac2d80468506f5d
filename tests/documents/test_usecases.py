"""The use cases of ``usecases.spec``: what Saxon says, before and after every step; what is refused says why."""

import warnings
from pathlib import Path

import pytest

import nestling as nl
from tests.documents.oracle import saxon_of
from tests.documents.test_table_documents import text_of
from tests.documents.usecases import FAMILIES, STEPS, database


def cases():
    text = (Path(__file__).parent / "usecases.spec").read_text(encoding="utf-8")
    for block in text.strip().split("\n\n")[1:]:
        title, *lines = block.split("\n")
        parts = {line[:8].strip(): line[9:] for line in lines}
        yield pytest.param(
            title.split()[1], parts, id=title.split(":")[0].removeprefix("# ").replace(" ", "-")
        )


def texts(db: nl.Database, family: str) -> dict[str, str]:
    """What the documents and tables of a family are now, as texts."""
    return {n: text_of(db, n) if family == "relations" else db.document(n).xml() for n in FAMILIES[family]}


@pytest.mark.parametrize(("family", "case"), list(cases()))
def test_a_use_case(family, case):
    db = database(family)
    query = case.get("query") or case["on read"]
    if "refused" in case:
        with pytest.raises(nl.QueryError) as raised:
            db.view("v", query, language="xquery")
        assert case["refused"] in str(raised.value)
        assert raised.value.at is not None
        assert raised.value.hint
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        view = db.view("v", query, language="xquery")
    assert [each.category for each in caught] == ([nl.EvaluatedOnRead] if "on read" in case else [])
    found = [view.xml()]
    assert found[0] == saxon_of(query, texts(db, family))
    for step in STEPS[family]:
        step(db)
        found.append(view.xml())
        assert found[-1] == saxon_of(query, texts(db, family))
        view.verify(maps=True)
    assert len(set(found)) > 1, "the steps change it"


def test_there_are_forty_one_and_most_are_maintained():
    kinds = [tuple(case.values[1]) for case in cases()]
    assert len(kinds) == 41
    assert sum(kind == ("query",) for kind in kinds) >= 36
