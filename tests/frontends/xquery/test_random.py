"""Random queries against Saxon and against the plain meaning, before and after random updates."""

import pytest

import nestling as nl
from tests.documents.oracle import PySaxonApiError, saxon
from tests.documents.patches import applied
from tests.frontends.xquery.queries import Queries


def follow(seed: int, updates: int) -> str:
    """What came of the query and the updates of a seed: ``accepted``, or ``refused``."""
    drawn = Queries(seed)
    text, query = drawn.document(), drawn.query()
    saxon(query, text)  # none of them is an error
    db = nl.Database()
    document = db.document("d", text)
    try:
        view = db.view("v", query, language="xquery", strict=False)
    except nl.QueryError as error:
        assert error.at is not None or error.hint, "a refusal says where, or what to write"
        return "refused"
    texts = [view.xml()]
    view.subscribe(lambda change: texts.append(applied(texts[-1], change.to_xml_patch(), change.is_rooted)))
    for number in range(updates + 1):
        if number:
            before = document.xml(), view.xml()
            try:
                db.xquery(drawn.update())
            except nl.NestlingError:
                assert (document.xml(), view.xml()) == before
                continue
        assert view.xml() == saxon(query, document.xml()), query
        assert texts[-1] == view.xml(), query
        view.verify()
    return "accepted"


@pytest.mark.parametrize("seeds", [range(n, n + 8) for n in range(1000, 1040, 8)], ids=str)
def test_a_random_view_is_what_saxon_says(seeds):
    found = [follow(seed, 2) for seed in seeds]
    assert found.count("accepted") > len(found) / 2


@pytest.mark.soak
@pytest.mark.parametrize("seeds", [range(n, n + 50) for n in range(2000, 4000, 50)], ids=str)
def test_many_random_views_are_what_saxon_says(seeds):
    for seed in seeds:
        try:
            follow(seed, 6)
        except PySaxonApiError:
            continue  # an update made the query an error that no view was asked about
