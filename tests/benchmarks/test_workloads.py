"""The workloads that the engine is measured against: streams, views and hand-written baselines agree."""

import gc
import random
import sqlite3
from collections import Counter
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
NAMES = [f"{module.__name__.rpartition('.')[2]}-{size.seed}" for module, size in SMALL]
CHECKS = 6  # points of a stream at which everything is compared

each_workload = pytest.mark.parametrize(("module", "size"), SMALL, ids=NAMES)


def stream(module: ModuleType, size: Any) -> list[Event]:
    return [*module.load(size), *module.events(size)]


def tables_after(module: ModuleType, events: list[Event]) -> Tables:
    tables = Tables(module.SCHEMA, module.KEYS)
    for event in events:
        tables.apply(*event)
    return tables


def baselines_of(module: ModuleType) -> list[tuple[str, Any]]:
    """All baselines with the view each keeps: those of ``HandWritten``, and the variants."""
    parts = [(view, part()) for view, part in module.HandWritten.PARTS.items()]
    variants = getattr(module, "VARIANTS", {})
    return parts + [(view, make()) for view, ways in variants.items() for make in ways.values()]


def agree(module: ModuleType, parts: list[tuple[str, Any]], tables: Tables) -> None:
    """Baselines, recomputation and the comprehension as plain Python give the same bag."""
    recomputed = module.recompute(tables)
    for view, part in parts:
        expected = as_bag(run(module.VIEWS[view], tables))
        assert as_bag(recomputed[view]) == expected
        assert as_bag(part.result()) == expected


@each_workload
def test_baselines_agree_with_the_views_along_the_stream(module, size):
    events, parts = stream(module, size), baselines_of(module)
    tables = Tables(module.SCHEMA, module.KEYS)
    checks = {len(events) * nth // CHECKS for nth in range(CHECKS + 1)}

    for done, event in enumerate(events):
        if done in checks:
            agree(module, parts, tables)
        tables.apply(*event)
        for _, part in parts:
            feed(part.on, relevant([event], part.on))

    agree(module, parts, tables)


@pytest.mark.parametrize(("module", "size"), [(module, size) for module, size in SMALL if size.seed == 1])
def test_there_is_something_to_agree_on(module, size):
    for rows in module.recompute(tables_after(module, stream(module, size))).values():
        assert rows
        assert rows != [(0,)]


@each_workload
def test_every_table_has_a_key_and_every_view_a_baseline_and_a_recomputation(module, size):
    assert module.KEYS.keys() == module.SCHEMA.keys()
    assert module.VIEWS.keys() == module.RECOMPUTE.keys() == module.HandWritten.PARTS.keys()
    assert not module.VIEWS.keys() & getattr(module, "LATER", {}).keys()


@each_workload
def test_handwritten_keeps_all_views_at_once(module, size):
    events, together = stream(module, size), module.HandWritten()

    for event in events:
        together.apply(*event)

    recomputed = module.recompute(tables_after(module, events))
    for view in module.VIEWS:
        assert as_bag(together.result(view)) == as_bag(recomputed[view])


def test_handwritten_keeps_the_views_asked_for():
    one = tpch.HandWritten("q17")

    assert one.on.keys() == {"part", "lineitem"}
    assert one.result() == [(0,)]
    with pytest.raises(ValueError, match="too many values"):
        tpch.HandWritten().result()


@each_workload
def test_nothing_is_left_when_all_is_deleted(module, size):
    parts = baselines_of(module)
    events = stream(module, size)
    tables = tables_after(module, events)
    leaving = [(table, row, -1) for table in reversed(module.SCHEMA) for row in tables[table]]

    for _, part in parts:
        feed(part.on, relevant(events + leaving, part.on))

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
def test_the_stream_fits_the_schema(module, size):
    for table, row, sign in stream(module, size):
        assert sign in {+1, -1}
        if table in module.SCHEMA:
            types = [getattr(type_, "__origin__", type_) for type_ in module.SCHEMA[table].values()]
            assert all(map(isinstance, row, types))
            assert len(row) == len(types)
        else:
            assert table == "orders.items"


@each_workload
def test_the_stream_deletes_only_what_is_there(module, size):
    tables_after(module, stream(module, size))  # refuses the rest, as the next test shows


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


def test_inner_bags_have_no_order():
    tables = tables_after(deep, [("orders", (7, 1, [(1, 2), (2, 2), (1, 2)]), +1)])

    tables.apply("orders", (7, 1, [(1, 2), (1, 2), (2, 2)]), -1)

    assert tables["orders"] == []


def test_nakamura_enters_transactions_as_the_paper_says():
    events = Counter(event[::2] for event in nakamura.events(nakamura.Size(primary=900)))

    assert events == {
        **{(table, +1): 300 for table in ("orders", "sales", "cashReceipts")},
        **{(table, +1): 1_500 for table in ("orderLineItems", "saleLineItems", "payments")},
    }


def test_nakamura_leaves_some_sales_unpaid():
    size = nakamura.Size(primary=900)
    tables = tables_after(nakamura, stream(nakamura, size))

    unpaid = len(nakamura.recompute(tables)["unpaid_sales"])

    assert 30 < unpaid < 150


def test_nakamura_takes_back_transactions_of_every_kind():
    events = nakamura.events(nakamura.Size(primary=300, withdrawn=0.3))
    gone = {table for table, _, sign in events if sign < 0}

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


def test_a_third_of_the_customers_never_orders():
    orders = [row for table, row, _ in tpch.events(tpch.Size(scale=0.001)) if table == "orders"]

    assert len({custkey for _, custkey, _, _ in orders}) == 100
    assert all(custkey % 3 for _, custkey, _, _ in orders)


def crowded_row(rng: random.Random) -> tuple[str, Any]:
    """A row of Q3, Q17 or Q18 with so few different keys and days that all conditions meet."""
    day = date(1995, 3, rng.randint(14, 16))
    order, customer, part = rng.randint(1, 6), rng.randint(1, 4), rng.randint(1, 3)
    quantity = rng.choice([1, 2, 3, 4, 5, 40, 60])
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
    rng, tables, parts = random.Random(seed), Tables(tpch.SCHEMA, tpch.KEYS), baselines_of(tpch)
    live: dict[tuple[str, Any], Any] = {}
    for step in range(400):
        table, row = crowded_row(rng)
        key = table, row[: 2 if table == "lineitem" else 1]
        event = (table, live.pop(key), -1) if key in live else (table, live.setdefault(key, row), +1)
        tables.apply(*event)
        for _, part in parts:
            feed(part.on, relevant([event], part.on))
        if step % 5 == 0:
            agree(tpch, parts, tables)


def test_related_as_bag_takes_duplicates():
    rows = [
        ("a", "x", "d"),
        ("a", "x", "d"),
        ("a", "y", "d"),
        ("b", "x", "d"),
        ("b", "x", "e"),
        ("c", "y", "e"),
    ]
    movies = [*rows, rows[3]]
    bag = related.RelatedAsBag()

    feed(bag.on, [("M", row, +1) for row in movies] + [("M", rows[4], -1)])

    movies.remove(rows[4])
    named = Tables({"M": {**related.SCHEMA["M"], "id": int}}, {"M": "id"})
    for id_, row in enumerate(movies):
        named.apply("M", (*row, id_), +1)
    assert as_bag(bag.result()) == as_bag(run(related.related, named))


def test_deep_changes_are_deep():
    size = deep.Size(n=20, orders=10, changes=500)
    events = list(deep.events(size))
    tables = tables_after(deep, stream(deep, size))

    assert {table for table, _, _ in events} == {"orders.items"}
    assert {sign for _, _, sign in events} == {+1, -1}
    assert 15 < sum(len(order.items) for order in tables["orders"]) / 10 < 25


def test_an_element_that_is_gone_takes_no_room():
    shop = deep.Shop()
    feed(shop.on, [("customers", (1, "a"), +1), ("orders", (7, 1, [(1, 2), (1, 2)]), +1)])

    feed(shop.on, [("orders.items", (7, (1, 2)), -1)] * 2)

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


def test_every_sql_text_has_a_view():
    for module in (orderbook, tpch):
        assert module.SQL.keys() == (module.VIEWS | module.LATER).keys()
    assert nakamura.OQL.keys() == nakamura.VIEWS.keys()


def test_jobs_take_turns_beside_the_reference_loop(monkeypatch):
    monkeypatch.setattr(harness, "REFERENCE_STEPS", 10)
    order: list[str] = []
    jobs = {name: harness.Job(5, partial(list, name), order.extend) for name in "ab"}

    timings = harness.measure(jobs, runs=3)

    assert order == ["a", "b"] * 3
    assert [*timings] == [harness.REFERENCE, "a", "b"]
    assert all(len(timing.seconds) == 3 for timing in timings.values())


def test_the_median_run_counts():
    timing = harness.Timing(100, (1.0, 9.0, 2.0))

    assert timing.per_second == 50
    assert timing.spread == 4


def test_ratios_are_to_the_base():
    timings = {harness.REFERENCE: harness.Timing(1_000, (1.0,)), "a": harness.Timing(500, (2.0,))}

    assert harness.ratios(timings) == [
        [harness.REFERENCE, "1,000", "1,000", "1.000", "0%"],
        ["a", "500", "250", "0.250", "0%"],
    ]


@pytest.mark.parametrize("was_enabled", [True, False])
@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_put_back(was_enabled, enabled, request):
    request.addfinalizer(gc.enable)
    (gc.enable if was_enabled else gc.disable)()
    before = gc.get_threshold()

    with pytest.raises(KeyError), harness.collector(enabled, (10_000, 50, 100), freeze=True):
        assert gc.isenabled() == enabled
        assert gc.get_threshold() == (10_000, 50, 100)
        raise KeyError

    assert gc.isenabled() == was_enabled
    assert gc.get_threshold() == before


@pytest.mark.parametrize("plain", [True, False])
def test_tables_are_shown(plain, capsys):
    harness.show("speeds", ["job", "per s"], [["first", "1,000"], ["b", "9"]], plain=plain)

    shown = capsys.readouterr().out
    assert all(word in shown for word in ("speeds", "job", "per s", "first", "1,000", "b", "9"))


def test_a_plain_table_is_aligned():
    table = harness.plain_table("speeds", ["job", "per s"], [["first", "1,000"], ["b", "9"]])

    assert table.splitlines() == ["speeds", "job    per s", "first  1,000", "b          9"]


@each_workload
def test_every_baseline_can_be_timed(module, size, monkeypatch):
    monkeypatch.setattr(baselines, "LEAST", 1)

    for job in dict(baselines.jobs(module, size)).values():
        state = job.prepare()
        job.body(state)
        assert job.steps > 0
