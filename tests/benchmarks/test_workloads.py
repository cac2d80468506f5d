"""The workloads that the engine is measured against: streams, views and hand-written baselines agree."""

import gc
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from datetime import date
from functools import partial
from math import isclose
from types import ModuleType
from typing import Any

import pytest

from benchmarks.workloads import baselines, deep, harness, nakamura, orderbook, related, tpch
from benchmarks.workloads.workload import Event, Tables, as_bag, feed, relevant, run

SMALL: list[tuple[ModuleType, Any]] = [
    (nakamura, nakamura.Size(primary=60, customers=5, products=6)),
    (nakamura, nakamura.Size(primary=90, withdrawn=0.4, customers=5, products=6, seed=2)),
    (related, related.Size(n=50, changes=300)),
    (related, related.Size(n=2, changes=100, seed=2)),
    (orderbook, orderbook.Size(book=40, changes=300)),
    (orderbook, orderbook.Size(book=1, changes=100, seed=2)),
    (tpch, tpch.Size(scale=0.0001)),
    (tpch, tpch.Size(scale=0.00005, deleted=0.9, seed=2)),
    (deep, deep.Size(n=4, orders=12, customers=4, products=10, changes=300)),
    (deep, deep.Size(n=3, orders=6, customers=4, products=10, changes=300, shallow=0.4, seed=2)),
]
CHECKS = 6  # points of a stream at which everything is compared

NAMES = [f"{module.__name__.rpartition('.')[2]}-{size.seed}" for module, size in SMALL]
each_workload = pytest.mark.parametrize(("module", "size"), SMALL, ids=NAMES)


def stream(module: ModuleType, size: Any) -> list[Event]:
    return [*module.load(size), *module.events(size)]


def tables_after(module: ModuleType, events: list[Event]) -> Tables:
    tables = Tables(module.SCHEMA, module.KEYS)
    for event in events:
        tables.apply(*event)
    return tables


def baselines_of(module: ModuleType) -> tuple[list[tuple[str, Any]], Callable[..., None]]:
    """The baselines, variants too, each with the view it keeps; and how to feed an event to all of them."""
    together = module.HandWritten()
    variants = [
        (view, make()) for view, ways in getattr(module, "VARIANTS", {}).items() for make in ways.values()
    ]

    def apply(*event: Any) -> None:
        together.apply(*event)
        for _, variant in variants:
            feed(variant.on, relevant([event], variant.on))

    return [*together.parts.items(), *variants], apply


def agree(module: ModuleType, parts: list[tuple[str, Any]], tables: Tables) -> None:
    """Baselines, recomputation and the comprehension as plain Python give the same bag."""
    recomputed = module.recompute(tables)
    for view, part in parts:
        expected = as_bag(run(module.VIEWS[view], tables))
        assert as_bag(recomputed[view]) == expected
        assert as_bag(part.result()) == expected


@each_workload
def test_baselines_agree_with_the_views_along_the_stream(module, size):
    events, tables = stream(module, size), Tables(module.SCHEMA, module.KEYS)
    parts, apply = baselines_of(module)
    checks = {len(events) * nth // CHECKS for nth in range(CHECKS + 1)}

    for done, event in enumerate(events):
        if done in checks:
            agree(module, parts, tables)
        tables.apply(*event)
        apply(*event)

    agree(module, parts, tables)
    if size.seed == 1:  # the others are too small to promise anything
        assert not [view for view, part in parts if part.result() in ([], [(0,)])]


@each_workload
def test_every_table_has_a_key_and_every_view_a_baseline_and_a_recomputation(module, size):
    assert module.KEYS.keys() == module.SCHEMA.keys()
    assert module.VIEWS.keys() == module.RECOMPUTE.keys() == module.HandWritten.PARTS.keys()
    if hasattr(module, "SQL"):
        assert module.SQL.keys() == module.VIEWS.keys() | module.LATER.keys()


def test_handwritten_keeps_the_views_asked_for():
    one = tpch.HandWritten("q17")

    assert one.on.keys() == {"part", "lineitem"}
    assert one.result() == [(0,)]
    with pytest.raises(ValueError, match="too many values"):
        tpch.HandWritten().result()


@each_workload
def test_nothing_is_left_when_all_is_deleted(module, size):
    parts, apply = baselines_of(module)
    events = stream(module, size)
    tables = tables_after(module, events)

    for event in events + [(table, row, -1) for table in reversed(module.SCHEMA) for row in tables[table]]:
        apply(*event)

    agree(module, parts, tables_after(module, []))
    for _, part in parts:
        assert all(is_empty(getattr(part, slot)) for slot in part.__slots__ if slot != "on")


def is_empty(state: Any) -> bool:
    if isinstance(state, dict):
        return all(map(is_empty, state.values()))
    return not state


@each_workload
def test_the_stream_is_determined_by_the_size(module, size):
    first, second = stream(module, size), stream(module, size)
    other = stream(module, type(size)(**{**vars(size), "seed": size.seed + 1}))

    assert first == second
    assert first != other


@each_workload
def test_the_stream_fits_the_schema_and_deletes_only_what_is_there(module, size):
    tables = Tables(module.SCHEMA, module.KEYS)
    for table, row, sign in stream(module, size):
        tables.apply(table, row, sign)  # refuses what is not there, as the next test shows
        assert sign in {+1, -1}
        if table != "orders.items":
            types = [getattr(type_, "__origin__", type_) for type_ in module.SCHEMA[table].values()]
            assert all(map(isinstance, row, types))
            assert len(row) == len(types)


@pytest.mark.parametrize(
    ("event", "complaint"),
    [
        (("customers", (1, "b"), +1), "already"),
        (("customers", (1, "b"), -1), "does not contain"),
        (("customers", (2, "a"), -1), "does not contain"),
        (("orders", (7, 1, [(1, 1)]), -1), "does not contain"),
        (("orders.items", (7, (1, 1)), -1), "not in list"),
    ],
)
def test_tables_refuse_what_does_not_fit(event, complaint):
    tables = tables_after(deep, [("customers", (1, "a"), +1), ("orders", (7, 1, [(1, 2), (2, 2)]), +1)])

    with pytest.raises(ValueError, match=complaint):
        tables.apply(*event)

    tables.apply("orders", (7, 1, [(2, 2), (1, 2)]), -1)  # the order inside a bag carries no meaning
    assert tables["orders"] == []


def test_nakamura_enters_transactions_as_the_paper_says_and_takes_back_all_kinds():
    size = nakamura.Size(primary=900)
    events = Counter(event[::2] for event in nakamura.events(size))
    unpaid = nakamura.recompute(tables_after(nakamura, stream(nakamura, size)))["unpaid_sales"]

    assert events == {
        **{(table, +1): 300 for table in ("orders", "sales", "cashReceipts")},
        **{(table, +1): 1_500 for table in ("orderLineItems", "saleLineItems", "payments")},
    }
    assert 30 < len(unpaid) < 150

    withdrawing = nakamura.events(nakamura.Size(primary=300, withdrawn=0.3))
    gone = {table for table, _, sign in withdrawing if sign < 0}
    assert gone == nakamura.SCHEMA.keys() - {"customers", "products"}


def test_related_has_large_and_small_genres_and_five_films_a_director():
    movies = [row for _, row, _ in related.load(related.Size(n=2_000))]
    genres = Counter(genre for _, genre, _ in movies)

    assert len(genres) == 12
    assert 0.25 < genres["Drama"] / 2_000 < 0.4
    assert 4.5 < 2_000 / len({director for _, _, director in movies}) < 5.5


def test_orderbook_keeps_its_size_and_spreads_over_prices():
    size = orderbook.Size(book=2_000, changes=10_000)
    tables = tables_after(orderbook, stream(orderbook, size))

    for side in ("bids", "asks"):
        orders = tables[side]
        assert 1_700 < len(orders) < 2_300
        assert len({order.price for order in orders}) > 300
        assert {order.broker_id for order in orders} == set(range(10))


def test_tpch_has_the_sizes_and_the_deletions_it_says():
    size = tpch.Size(scale=0.001)
    events = Counter(event[::2] for event in stream(tpch, size))

    assert events["orders", +1] == 1_500
    assert 5_500 < events["lineitem", +1] < 6_500
    assert (events["customer", +1], events["part", +1], events["partsupp", +1]) == (150, 200, 800)
    assert (events["supplier", +1], events["nation", +1]) == (10, 25)
    assert 0.17 < events["orders", -1] / events["orders", +1] < 0.23
    assert 0.17 < events["lineitem", -1] / events["lineitem", +1] < 0.23
    customers = {row[1] for table, row, _ in tpch.events(size) if table == "orders"}
    assert customers == {custkey for custkey in range(1, 151) if custkey % 3}


def crowded_row(rng: random.Random) -> tuple[str, Any]:
    """A row of Q3, Q17 or Q18 with so few different keys and days that all conditions meet."""
    day = date(1995, 3, rng.randint(14, 16))
    order, customer, part = rng.randint(1, 6), rng.randint(1, 4), rng.randint(1, 3)
    quantity = rng.choice([1, 2, 39, 40, 60, 99, 100])
    rows: dict[str, Any] = {
        "customer": (customer, 0, 0, rng.choice(["BUILDING", "BUILDING", "MACHINERY"])),
        "orders": (order, customer, day, 0),
        "part": (part, "PROMO"),
        "lineitem": (order, rng.randint(1, 4), part, 1, quantity, rng.randint(1, 9), rng.randint(0, 10), day),
    }
    return rng.choices([*rows.items()], weights=[2, 3, 1, 9])[0]


@pytest.mark.parametrize("seed", range(5))
def test_tpch_baselines_take_rows_in_any_order(seed):
    """A row comes if its key is free and goes otherwise."""
    rng, tables = random.Random(seed), Tables(tpch.SCHEMA, tpch.KEYS)
    parts, apply = baselines_of(tpch)
    live: dict[tuple[str, Any], Any] = {}
    for step in range(400):
        table, row = crowded_row(rng)
        key = table, row[: 2 if table == "lineitem" else 1]
        event = (table, live.pop(key), -1) if key in live else (table, live.setdefault(key, row), +1)
        tables.apply(*event)
        apply(*event)
        if step % 5 == 0:
            agree(tpch, parts, tables)


def test_related_as_bag_takes_duplicates():
    rows = [tuple(letters) for letters in ("axd", "axd", "ayd", "bxd", "cye", "bxd")]
    movie, bag = Tables(related.SCHEMA, related.KEYS).row["M"], related.RelatedAsBag()

    feed(bag.on, [*(("M", row, +1) for row in rows), ("M", ("b", "x", "e"), +1), ("M", ("b", "x", "e"), -1)])

    assert as_bag(bag.result()) == as_bag(related.related([movie(*row) for row in rows]))


def test_deep_changes_are_deep_and_what_is_gone_takes_no_room():
    size = deep.Size(n=20, orders=10, changes=500)
    signs = Counter(event[::2] for event in deep.events(size))
    shop = deep.Shop()
    feed(shop.on, [("customers", (1, "a"), +1), ("orders", (7, 1, [(1, 2), (1, 2)]), +1)])
    feed(shop.on, [("orders.items", (7, (1, 2)), -1)] * 2)

    assert signs.keys() == {("orders.items", +1), ("orders.items", -1)}
    assert abs(signs["orders.items", +1] - 250) < 50
    assert shop.items == {7: {}}


def sql_database(module: ModuleType, tables: Tables) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    for table, columns in module.SCHEMA.items():
        connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        places = ", ".join("?" * len(columns))
        rows = [[v.isoformat() if isinstance(v, date) else v for v in row] for row in tables[table]]
        connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
    return connection


@pytest.mark.parametrize(
    ("module", "size", "view"),
    [(orderbook, orderbook.Size(book=40, changes=100), view) for view in orderbook.SQL]
    + [(tpch, tpch.Size(scale=0.0001), view) for view in tpch.SQL],
)
def test_views_mean_what_their_sql_says(module, size, view):
    """Here a number may be a float in SQL where it is an integer in Python; no result has any NULL."""
    tables = tables_after(module, stream(module, size))
    expected = sql_database(module, tables).execute(module.SQL[view]).fetchall()

    rows = run((module.VIEWS | module.LATER)[view], tables)

    assert len(rows) == len(expected) > 0
    for row, other in zip(sorted(rows), sorted(expected), strict=True):
        assert all(map(same, row, other))


def same(value: Any, other: Any) -> bool:
    if isinstance(value, date):
        return value.isoformat() == other
    return value == other if isinstance(value, str) else isclose(value, other)


def test_jobs_take_turns_beside_the_reference_loop(monkeypatch):
    monkeypatch.setattr(harness, "REFERENCE_STEPS", 10)
    order: list[str] = []
    jobs = {name: harness.Job(5, partial(list, name), order.extend) for name in "ab"}

    timings = harness.measure(jobs, runs=3)

    assert order == ["a", "b"] * 3
    assert [*timings] == [harness.REFERENCE, "a", "b"]
    assert all(len(timing.seconds) == 3 for timing in timings.values())


def test_the_median_run_counts_and_ratios_are_to_the_base():
    timings = {harness.REFERENCE: harness.Timing(100, (1.0, 9.0, 2.0)), "a": harness.Timing(500, (20.0,))}

    assert harness.ratios(timings) == [
        [harness.REFERENCE, "100", "50", "1.000", "400%"],
        ["a", "500", "25", "0.500", "0%"],
    ]


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_put_back(enabled):
    before = gc.isenabled(), gc.get_threshold()

    with pytest.raises(KeyError), harness.collector(enabled, (10_000, 50, 100), freeze=True):
        assert (gc.isenabled(), gc.get_threshold()) == (enabled, (10_000, 50, 100))
        raise KeyError

    assert (gc.isenabled(), gc.get_threshold()) == before


def test_tables_are_shown_with_rich_or_aligned(capsys):
    table = ("speeds", ["job", "per s"], [["first", "1,000"], ["b", "9"]])

    harness.show(*table)
    assert "1,000" in capsys.readouterr().out

    harness.show(*table, plain=True)
    assert capsys.readouterr().out.splitlines() == ["speeds", "job    per s", "first  1,000", "b          9"]


@each_workload
def test_every_baseline_can_be_timed(module, size, monkeypatch):
    monkeypatch.setattr(baselines, "LEAST", 1)

    for job in dict(baselines.jobs(module, size)).values():
        state = job.prepare()
        job.body(state)
        assert job.steps > 0
