"""Views as people bring them: how many are accepted, how many of these maintained, and none wrong."""

import re
from collections import Counter
from random import Random
from typing import Any

import pytest

import nestling as nl
from tests.frontends.sql import star
from tests.frontends.sql.duck import connection, refill
from tests.frontends.sql.views import TABLES, VIEWS
from tests.frontends.sql.worlds import answer, plain

#: What is refused, and why. It may only shrink.
REFUSED = {
    "query_16": "a string is not ordered against the first key",
    "more_order_limit": "a string is not ordered against the first key",
    "more_corr_group_by": "neither a key of GROUP BY nor inside an aggregate",
}
#: What is evaluated on every read: an extreme within a bound, rows within bounds of two columns, and rows that a query
#: inside a query looks for by what is known around both. It may only shrink.
ON_READ = {
    "more_w_max_run", "more_corr_max_less", "more_corr_max_other",
    "more_corr_two_bounds", "more_anti_two_less", "more_exists_in_exists",
}  # fmt: skip
STATES = 4
WORDS = ("a", "b", "ab", "or", "ca", "")


def nullable(columns: str) -> str:
    return ", ".join(f"{column} NULL" for column in columns.replace("VARCHAR", "STRING").split(", "))


class Twin:
    """The same rows in Nestling and in DuckDB, some of which come and go."""

    def __init__(self, query: str, seed: str) -> None:
        self.names = [name for name in TABLES if re.search(rf"\b{name}\b", query)]
        self.rng, self.query = Random(seed), query
        self.db, self.duck = (
            nl.Database(),
            connection("default_null_order = 'nulls_first_on_asc_last_on_desc'"),
        )
        self.rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in self.names}
        for name in self.names:
            self.db.table(name, nullable(TABLES[name]))
            self.duck.execute(f"CREATE TABLE {name} ({TABLES[name]})")
        self.view = self.db.view("v", query, strict=False)

    def row(self, name: str) -> tuple[Any, ...]:
        words = TABLES[name].split(", ")
        values = (self.rng.choice(WORDS) if "VARCHAR" in word else self.rng.randint(0, 4) for word in words)
        return tuple(None if self.rng.random() < 0.15 else value for value in values)

    def change(self) -> None:
        with self.db.transaction() as change:
            for name, rows in self.rows.items():
                gone = [rows.pop(self.rng.randrange(len(rows))) for _ in range(min(2, len(rows) // 2))]
                new = [self.row(name) for _ in range(self.rng.randint(2, 6))]
                change.delete(name, gone)
                change.insert(name, new)
                rows += new

    def expected(self) -> Counter[Any]:
        for name, rows in self.rows.items():
            refill(self.duck, name, rows)
        return Counter(plain(row) for row in self.duck.execute(self.query).fetchall())


@pytest.mark.parametrize("name", [name for name in VIEWS if name not in REFUSED])
def test_a_view_is_maintained_and_right(name):
    twin = Twin(VIEWS[name], name)

    assert bool(twin.db._state.views.on_read) == (name in ON_READ)
    for _ in range(STATES):
        assert answer(twin.view) == twin.expected()
        twin.change()
    twin.view.verify()


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_why(name):
    with pytest.raises(nl.QueryError) as caught:
        Twin(VIEWS[name], name)
    assert REFUSED[name] in str(caught.value)


def test_nearly_all_are_accepted_and_maintained():
    assert len(VIEWS) >= 400
    assert len(star.QUERIES) >= 30
    assert len(REFUSED) <= 0.05 * len(VIEWS)
    assert len(ON_READ) <= 0.02 * (len(VIEWS) - len(REFUSED))
    assert {*REFUSED, *ON_READ} <= VIEWS.keys()
