"""Views that end with an order, read as DataFrames: the rows, and the arrays inside them."""

from math import isnan, nan
from typing import Any

import pytest

import nestling as nl

pytestmark = pytest.mark.xdist_group("spark")
SCHEMA = {"id": int, "name": str | None, "x": float, "i`t.s": [{"a b": int | None, "tags": list[str]}]}
ROWS = [
    (1, "b", nan, [(None, ["x", "y"]), (2, []), (1, ["z"])]),
    (2, None, 1.0, []),
    (3, "a", nan, [(1, ["b", "c", "a"]), (3, ["d"])]),
]


def plain(value: Any) -> Any:
    """Rows, named tuples and lists as tuples and lists; NaN as a word, which equals itself."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, list):
        return [plain(each) for each in value]
    return "nan" if isinstance(value, float) and isnan(value) else value


def test_frames_come_in_the_order_that_rows_have(spark: Any, tmp_path: Any) -> None:
    db: Any
    with nl.Database(spark=spark, path=tmp_path / "lake") as db:
        table = db.table("t", SCHEMA, key="id")
        db.insert("t", ROWS)
        db.view("down", "SELECT id, name, x FROM t ORDER BY x DESC, name DESC NULLS FIRST")
        inner = "[(e['a b'], sorted(e.tags, reverse=True)) for e in r['i`t.s']]"
        nested = f"[(r.id, sorted({inner}, key=lambda p: -p[0])) for r in t]"
        db.view("nested", f"sorted({nested}, key=lambda r: -r.id)", language="python")
        frame = table.df()
        db.view("frame", frame.select("x", "id").orderBy(frame["x"].desc(), "id"))
        for changes in (0, 1):
            if changes:
                db.insert("t", [(4, None, -1.0, [(5, ["q", "r"]), (7, [])])])
                db.delete("t", key=1)
            for name, view in db.views.items():
                assert [plain(tuple(row)) for row in db.view_df(name).collect()] == plain(view.rows()), name
        assert [row.id for row in db.views["down"]] == [3, 2, 4]
        assert [row.id for row in db.views["frame"]] == [3, 2, 4]
        assert plain(db.views["nested"].rows()) == [
            (4, [(7, []), (5, ["r", "q"])]),
            (3, [(3, ["d"]), (1, ["c", "b", "a"])]),
            (2, []),
        ]
        over = db.view("over", db.view_df("down").filter("id > 2").select("id"))
        assert sorted(row.id for row in over) == [3, 4]
