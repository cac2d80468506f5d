"""The triggers that Nestling is measured beside end with the answer that Nestling has."""

import pytest

from benchmarks import peers
from benchmarks.parts.streams import BATCH


@pytest.mark.parametrize("query", peers.queries(0.001, 4_000), ids=lambda query: query.name)
def test_sqlite_has_the_same_answer(query, monkeypatch):
    monkeypatch.setenv("NESTLING_NATIVE", "0")  # it is set by what is tested, and has to be as it was
    for size in (1, BATCH):
        ours, theirs = peers.in_nestling(query, size, "0"), peers.in_sqlite(query, size)
        assert ours[1]
        assert ours[1] == theirs[1]
