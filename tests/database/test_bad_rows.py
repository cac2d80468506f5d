"""Law: the rows that are set aside are those each of which is refused over all others that were applied."""

import json
from random import Random
from typing import Any

import pytest

import nestling as nl
from nestling.database.feed import Pairs
from nestling.database.spark.bad_rows import COLUMNS, apply_good


def opened() -> Any:
    db = nl.Database()
    db.table("M", {"name": str, "gen": str}, key="name")
    db.table("orders", {"id": int, "movie": str, "n": int}, key="id", references={"movie": "M"})
    db.table("bad", COLUMNS)
    db.view(
        "seats", "[(m.name, sum(o.n for o in orders if o.movie == m.name)) for m in M]", language="python"
    )
    return db


def drawn(random: Random, is_feed: bool) -> dict[str, Pairs]:
    """Few names, so that rows meet; some have no value where there must be one."""
    times = (1, -1) if is_feed else (1,)
    movies: list[tuple[Any, int]] = [
        ({"name": random.choice("abc"), "gen": random.choice(["x", "y", None])}, random.choice(times))
        for _ in range(random.randrange(6))
    ]
    orders: list[tuple[Any, int]] = [
        ({"id": random.randrange(4), "movie": random.choice("abc"), "n": random.choice([1, 2, "many"])},
         random.choice(times))
        for _ in range(random.randrange(6))
    ]  # fmt: skip
    return {"M": Pairs(movies), "orders": Pairs(orders)}


@pytest.mark.parametrize("is_feed", [False, True])
def test_what_is_set_aside_is_refused_over_the_rest(is_feed):
    random, aside = Random(int(is_feed)), 0
    for _ in range(60):
        db = opened()
        db.insert("M", [("a", "x")])
        for number in range(4):
            before, few = len(db.table("bad")), drawn(random, is_feed)
            try:
                with db.transaction() as change:
                    apply_good(change, few, {"M": is_feed, "orders": is_feed}, ("s", number), "bad")
            except nl.ChangeError as error:
                assert "refer" in str(error) or "no row of" in str(error), error
                assert len(db.table("bad")) == before
                continue
            units: dict[tuple[str, Any], list[Any]] = {}
            for n, row in enumerate(r for r in db.table("bad") if r.batch == number):
                given = json.loads(row.row)
                key = given[next(iter(given))] if is_feed else n
                units.setdefault((row.source, key), []).append((given, row.times))
            aside += len(units)
            for (table, _), rows in units.items():
                with pytest.raises(nl.ChangeError):
                    db.apply({table: Pairs(rows)})
        db.verify()
    assert aside > 50
