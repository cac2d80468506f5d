"""XMark's twenty questions as views: after every random update they are what Saxon says, and patches lead there."""

from logging import getLogger
from random import Random

import pytest

import nestling as nl
from tests.documents.oracle import PySaxonApiError, saxon
from tests.documents.patches import applied
from tests.documents.workload import update
from tests.documents.xmark import QUERIES, Auctions

LOG = getLogger(__name__)


class Watched:
    """The views of some questions, each with the text that its patches lead to."""

    def __init__(self, seed: int, names: list[str], factor: float = 0.0004) -> None:
        self.made, self.db = Auctions(factor, seed), nl.Database()
        self.compared = 0
        self.document = self.db.document("auction.xml", self.made.text())
        self.names = names
        self.texts: dict[str, str] = {}
        for name in names:
            view = self.db.view(
                name, QUERIES[name], language="xquery", strict=True if name not in ("Q11", "Q12") else None
            )
            self.texts[name] = view.xml()
            view.subscribe(self.follow)

    def follow(self, change) -> None:
        self.texts[change.view] = applied(self.texts[change.view], change.to_xml_patch(), change.is_rooted)

    def errors(self, text: str) -> int:
        """How many questions are errors of XQuery on a document."""
        found = 0
        for name in self.names:
            try:
                saxon(QUERIES[name], text)
            except PySaxonApiError:
                found += 1
        return found

    def run(self, seed: int, updates: int) -> int:
        """Make random updates; how many were accepted."""
        random, accepted = Random(seed), 0
        for _ in range(updates):
            text = update(random, self.document._store(), self.made)
            if not text:
                continue
            before = self.document.xml()
            try:
                self.db.xquery(text)
            except nl.ChangeError:
                assert self.document.xml() == before
                shadow = nl.Database()
                document = shadow.document("d", before)
                shadow.xquery(text)
                assert self.errors(document.xml()), f"refused, and no question is an error: {text}"
                continue
            accepted += 1
            self.check(text)
        return accepted

    def check(self, text: str) -> None:
        now = self.document.xml()
        for name in self.names:
            found = self.db.views[name].xml()
            assert found == saxon(QUERIES[name], now), (name, text)
            assert self.texts[name] == found, (name, text)
            self.compared += 1


@pytest.mark.parametrize(
    "names", [["Q1", "Q2", "Q5", "Q8", "Q13", "Q18", "Q20"], ["Q3", "Q4", "Q9", "Q10", "Q14", "Q19"]], ids=len
)
def test_some_questions_follow_updates(names):
    watched = Watched(1, names)
    watched.check("before all")
    assert watched.run(1, 8) > 4
    watched.db.verify()


def test_every_question_is_maintained():
    """None is evaluated on every read."""
    db = nl.Database()
    text = Auctions(0.0004, 3).text()
    db.document("auction.xml", text)
    for name, query in QUERIES.items():
        assert db.view(name, query, language="xquery").xml() == saxon(query, text), name
    assert not [view for view in db._state.views.values() if view.on_read is not None]


@pytest.mark.soak
@pytest.mark.parametrize(("factor", "updates"), [(0.0004, 2000), (0.004, 100), (0.03, 10)])
def test_all_questions_follow_many_updates_of_one_tree(factor, updates):
    """20, 130 and 970 kB at first, all twenty questions after every update."""
    watched = Watched(14, list(QUERIES), factor)
    accepted = watched.run(14, updates)
    told = accepted, updates, watched.compared, len(watched.document.xml())
    LOG.info("%d of %d updates, %d comparisons, %d characters at the end", *told)
    assert accepted > 0.8 * updates
    if factor < 0.01:  # the plain meaning takes the square of a size
        watched.db.verify(maps=True)
