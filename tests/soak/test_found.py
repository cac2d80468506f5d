"""What the random plans have found, as short as it could be made."""

from decimal import Decimal
from typing import Any

import pytest

import nestling as nl

Case = tuple[str, str | list[str] | None, str, dict[str, Any], list[tuple[Any, ...]], list[Any]]

FOUND: dict[str, Case] = {
    "a null among alternatives": (
        "k INT, j INT, b INT, d INT",
        ["k", "j"],
        "SELECT q.k, (SELECT sum(k) FROM t WHERE b IN (d, k, NULL)) AS s FROM t q",
        {},
        [(1, 1, 1, 2), (2, 1, 0, 5)],
        [(1, 1), (2, 1)],
    ),
    "a test that moved to a nullable column": (
        "a STRING, b INT NULL, d BIGINT, items ARRAY<STRUCT<p: BIGINT, q: BIGINT NULL>>",
        None,
        "[(sum(3 for i in x.items if i.q == x.d) if x.b is None else x.d) for x in t if not (x.d < 1)]",
        {"language": "python"},
        [("ab", 1, 3, [(1, -2), (-1, None)])],
        [3],
    ),
    "a count that equals a column": (
        "k BIGINT, j STRING, a DECIMAL(12, 2), b BIGINT",
        ["k", "j"],
        "SELECT max(CASE WHEN 3 = x.k THEN abs(x.a) END) FILTER (WHERE x.b < 2) AS m FROM t x LEFT ANTI JOIN t y"
        " ON x.k = y.k AND x.k < x.b WHERE x.k = (SELECT count(*) FROM t z WHERE x.b >= z.b) HAVING count(x.k) > 1",
        {"store": "full"},
        [(1, "a", Decimal("9.99"), 1)],
        [],
    ),
}


@pytest.mark.parametrize("watched", [False, True], ids=["", "watched"])
@pytest.mark.parametrize("refresh", ["eager", "lazy"])
@pytest.mark.parametrize("name", FOUND)
def test_found(name, refresh, watched):
    ddl, key, text, knobs, rows, wanted = FOUND[name]
    db = nl.Database()
    db.table("t", ddl, key=key)
    view: Any = db.view("v", text, refresh=refresh, strict=False, **knobs)
    told: list[Any] = []
    if watched:
        view.subscribe(told.append)

    db.insert("t", rows)

    assert sorted(view.rows()) == wanted
    assert [change.inserted for change in told] == [view.rows()] * (watched and wanted != [])
    db.verify(maps=True)
