"""The benchmark of the paper's queries: what it feeds, what it reads of files, and that it notices a wrong answer."""

from datetime import date

import pytest

from benchmarks import dbtoaster
from benchmarks.parts import streams
from benchmarks.workloads import orderbook, tpch, tpch_files

TBL = {
    "region": "0|AFRICA|x|\n",
    "nation": "3|FRANCE|1|x|\n",
    "supplier": "1|S|addr|3|phone|10.50|x|\n",
    "customer": "7|C|addr|3|phone|-2.25|BUILDING|x|\n",
    "part": "5|name|mfgr|brand|PROMO TIN|3|BOX|900.00|x|\n",
    "partsupp": "5|1|10|1.50|x|\n5|1|99|9.99|x|\n",
    "orders": "2|7|O|1.00|1995-03-01|1-URGENT|clerk|0|x|\n",
    "lineitem": "2|5|1|1|4.00|36.00|0.05|0.01|N|O|1995-03-20|1995-03-21|1995-03-22|how|AIR|x|\n",
}


def test_rows_are_read_as_tpchgen_writes_them(tmp_path, monkeypatch):
    lines = [f"printf '%s' '{text}' > \"$place/{table}.tbl\"" for table, text in TBL.items()]
    program = tmp_path / tpch_files.PROGRAM
    program.write_text("\n".join(["#!/bin/sh", 'place="${3#--output-dir=}"', *lines, ""]))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    load, events = tpch_files.stream(tpch.Size(deleted=0.0))

    assert load == [("nation", (3, "FRANCE", 1), 1)]
    assert {table: row for table, row, times in events if times == 1} == {
        "customer": (7, 3, -225, "BUILDING"),
        "supplier": (1, 3),
        "part": (5, "PROMO TIN"),
        "partsupp": (5, 1, 99, 999),
        "orders": (2, 7, date(1995, 3, 1), 0),
        "lineitem": (2, 1, 5, 1, 4, 3600, 5, date(1995, 3, 20)),
    }


@pytest.fixture
def query():
    size = orderbook.Size(book=10, changes=40)
    return streams.Query(
        "vwap", orderbook.SQL["vwap"], orderbook, list(orderbook.load(size)), list(orderbook.events(size))
    )


def test_all_ways_to_feed_a_view_end_where_duckdb_does(query):
    db, other = query.database(), query.database()

    assert query.reads == {"bids"}
    assert streams.adds_up_on_reading(query)
    assert streams.by_triggers(query, 60, reading=True) > 0
    assert streams.by_calls(query, other, 60, reading=True) > 0
    _, done = streams.by_batches(query, db, 60, reading=False)
    _, expected = streams.in_duckdb(query, done)
    for each in (db, other):
        dbtoaster._compare(query, each.views["v"].rows(), expected)


def test_a_wrong_answer_is_noticed(query):
    with pytest.raises(AssertionError, match="vwap"):
        dbtoaster._compare(query, [(1,)], [(2,)])


def test_a_row_that_comes_and_goes_is_not_in_a_batch():
    events = [("bids", (1,), 1), ("bids", (2,), 1), ("bids", (1,), -1)]

    assert streams.changes(events) == {"bids": {(2,): 1}}
