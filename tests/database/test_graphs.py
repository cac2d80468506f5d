"""After any accepted sequence of changes no kept reference dangles, and every refusal changes nothing (P6)."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from tests.database.graphs import Rows, Statement, declare, start, step, views, words

SEEDS = st.integers(0, 10**9)


def run(
    db: nl.Database, rng: random.Random, rows: Rows, said: dict[tuple[str, str], str], times: int
) -> Rows:
    for _ in range(times):
        several = [Statement(rng, rows) for _ in range(rng.choice((1, 1, 1, 2, 4)))]
        rows = step(db, rows, said, several)
    return rows


@given(SEEDS)
def test_references_stay_good(seed):
    rng = random.Random(seed)
    said = words(rng)
    db = nl.Database()
    declare(db, said)
    views(db)
    run(db, rng, start(db, rng), said, 16)
    db.verify(maps=True)


@given(SEEDS)
def test_references_stay_good_in_a_file(seed):
    rng = random.Random(seed)
    said = words(rng)
    rows: Rows | None = None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "graph.nest"
        for _ in range(3):
            with nl.Database(path) as db:
                declare(db, said)
                views(db)
                rows = start(db, rng) if rows is None else rows
                rows = run(db, rng, rows, said, 6)
                db.verify(maps=True)
