"""Views as people write them. Each is run by Python and read by Nestling; the answers must agree."""
# ruff: noqa: C408, C416, C419, E711 - the longer way is tested as well

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import lru_cache, wraps
from typing import Any, NamedTuple

VIEWS: dict[str, Callable[..., Any]] = {}
LIMIT = 1
WANTED = ("a", "b")
CODES = {0, 2, 3}
START = dt.date(2024, 1, 1)


class Level(Enum):
    LOW = 1
    HIGH = 2


@dataclass
class Line:
    """A record with a bag inside."""

    name: str
    totals: list[float]
    rank: int = 7


class Pair(NamedTuple):
    left: int
    right: int = 0


def view(function: Callable[..., Any]) -> Callable[..., Any]:
    """Put a view on the list."""
    VIEWS[function.__name__] = function
    return function


def is_related(m: Any, m2: Any) -> Any:
    """Whether two films have something in common."""
    return m.name != m2.name and (m.gen == m2.gen or m.dir == m2.dir)


@view
def related(M):
    return [(m.name, [m2.name for m2 in M if is_related(m, m2)]) for m in M]


@view
def projection(orders):
    return [(o.id, o.total) for o in orders]


@view
def whole_rows(numbers):
    return [n for n in numbers if n.a < n.b]


@view
def whole_table(orders):
    return orders


@view
def scalars(numbers):
    return [n.a for n in numbers]


@view
def join(customers, orders):
    return [(c.name, o.id) for c in customers for o in orders if o.cust == c.id]


@view
def three_loops(customers, orders):
    return [
        (c.id, i.pid)
        for c in customers
        if c.vip
        for o in orders
        if o.cust == c.id
        for i in o.items
        if i.qty > 1
    ]


@view
def unnest(orders):
    return [(o.id, i.pid, i.qty * i.price) for o in orders for i in o.items]


@view
def inner_bag_kept(orders):
    return [(o.id, o.items, o.tags) for o in orders]


@view
def inner_bag_filtered(orders):
    return [(o.id, [i.pid for i in o.items if i.qty > LIMIT]) for o in orders]


@view
def deep(customers, orders):
    return [
        (c.name, [(o.day, [(i.pid, i.qty) for i in o.items]) for o in orders if o.cust == c.id])
        for c in customers
    ]


@view
def bags_of_bags(lists):
    return [(r.k, [[x + 1 for x in row] for row in r.rows]) for r in lists]


@view
def flattened(lists):
    return [x for r in lists for row in r.rows for x in row]


@view
def group_by(orders):
    return [(k, sum(o.total for o in orders if o.cust == k)) for k in {o.cust for o in orders}]


@view
def group_by_two(orders):
    return [
        (cust, day, len([o for o in orders if o.cust == cust and o.day == day]))
        for cust, day in {(o.cust, o.day) for o in orders}
    ]


@view
def having(customers, orders):
    return [
        (c.name, sum(o.total for o in orders if o.cust == c.id))
        for c in customers
        if len([o for o in orders if o.cust == c.id]) > 1
    ]


@view
def correlated(orders):
    return [(o.id, sum(i.qty * i.price for i in o.items), len(o.items)) for o in orders]


@view
def extremes(orders):
    return [
        (o.id, min((i.qty for i in o.items), default=-1), max([i.price for i in o.items], default=None))
        for o in orders
    ]


@view
def guarded_extreme(orders):
    return [(o.id, max(i.qty for i in o.items)) for o in orders if o.items]


@view
def extreme_of_scalars(numbers):
    return [(min(n.a, n.b), max(n.a, n.b, 1)) for n in numbers]


@view
def count_of_truths(orders):
    return [(o.id, sum(i.qty > 1 for i in o.items)) for o in orders]


@view
def any_guard(orders):
    return [o.id for o in orders if any(i.qty > 1 for i in o.items)]


@view
def not_any(orders):
    return [o.id for o in orders if not any(i.qty > 1 for i in o.items)]


@view
def all_guard(orders):
    return [o.id for o in orders if all(i.qty > 0 for i in o.items)]


@view
def quantifiers_as_values(orders):
    return [
        (o.id, any(i.qty == 2 for i in o.items), all([i.qty == 2 for i in o.items]), not o.items)
        for o in orders
    ]


@view
def quantifier_in_or(customers, orders):
    return [c.id for c in customers if c.vip or any(o.cust == c.id and o.tags for o in orders)]


@view
def nested_quantifiers(customers, orders):
    return [c.id for c in customers if all(any(i.qty for i in o.items) for o in orders if o.cust == c.id)]


@view
def any_of_bag(orders, numbers):
    return [o.id for o in orders if any(o.tags) and not all([n.a for n in numbers])]


@view
def member_of_inner_bag(orders):
    return [o.id for o in orders if "a" in o.tags]


@view
def member_of_comprehension(customers, orders):
    return [c.name for c in customers if c.id in [o.cust for o in orders]]


@view
def not_member(customers, orders):
    return [c.name for c in customers if c.id not in {o.cust for o in orders}]


@view
def member_of_constants(numbers, customers):
    return [
        (n.a, c.name in WANTED, n.m in (1, None))
        for n in numbers
        for c in customers
        if n.b in CODES or n.a not in [1, 2]
    ]


@view
def member_of_records(numbers, orders):
    return [n.a for n in numbers if (n.a, n.b) in [(o.id, o.cust) for o in orders]]


@view
def set_of_records(orders):
    return {(o.cust, o.ship.city) for o in orders}


@view
def set_then_count(orders):
    return [(o.id, len({i.pid for i in o.items}), len(set(o.tags))) for o in orders]


@view
def set_operators(orders, numbers):
    return [
        (
            o.id,
            len({i.pid for i in o.items} | {n.a for n in numbers}),
            len({i.pid for i in o.items} - {n.a for n in numbers}),
        )
        for o in orders
        if {i.pid for i in o.items} & {n.b for n in numbers}
    ]


@view
def set_comparisons(orders, numbers):
    return [
        (
            o.id,
            {i.pid for i in o.items} == {i.qty for i in o.items},
            {i.pid for i in o.items} <= {n.a for n in numbers},
        )
        for o in orders
        if set(o.tags) != {"a"}
    ]


@view
def dict_by_value(orders):
    return {o.cust: sum(p.total for p in orders if p.cust == o.cust) for o in orders}


@view
def dict_by_pair(orders):
    return {
        (o.cust, o.day): [p.id for p in orders if p.cust == o.cust and p.day == o.day]
        for o in orders
        if o.total
    }


@view
def dict_of_dicts(orders):
    return {
        o.cust: {
            p.day: (len([q for q in orders if q.day == p.day and q.cust == o.cust]))
            for p in orders
            if p.cust == o.cust
        }
        for o in orders
    }


@view
def dict_by_declared_key(customers):
    return {c.id: (c.name, c.note) for c in customers}


@view
def dict_of_set(orders):
    return {k: len([o for o in orders if o.cust == k]) for k in {o.cust for o in orders}}


@view
def dict_methods(orders):
    totals = {o.cust: sum(p.total for p in orders if p.cust == o.cust) for o in orders}
    return [(k, v, len(totals.values()), k in totals) for k, v in totals.items() if v > 0] + [
        (k, 0.0, 1, True) for k in totals
    ]


@view
def records_by_name(orders):
    return [
        {"order": o.id, "where": {"city": o.ship.city}, "items": [i.pid for i in o.items]} for o in orders
    ]


@view
def records_by_call(orders):
    return [dict(order=o.id, city=o.ship.city) for o in orders]


@view
def dataclass_rows(customers, orders):
    return [Line(c.name, totals=[o.total for o in orders if o.cust == c.id]) for c in customers]


@view
def named_tuples(numbers):
    return [p.left + p.right for p in [Pair(n.a) for n in numbers] + [Pair(n.b, right=2) for n in numbers]]


@view
def records_in_records(orders):
    return [(o.ship, (o.id, o.ship.city)) for o in orders]


@view
def spread(numbers):
    return [(*n, n.a + n.b) for n in numbers]


@view
def positions(orders):
    return [(o[0], o.ship[0], o[-1].city) for o in orders]


@view
def unpacked(orders):
    return [(a, b) for a, (b, _) in [(o.id, o.ship) for o in orders]]


@view
def arithmetic(numbers):
    return [
        (n.a + n.b, n.a - n.b * 2, -n.a, +n.b, n.a // 2, n.b % 2, n.a / 4, abs(n.a - n.b)) for n in numbers
    ]


@view
def division_behind_a_test(numbers):
    return [(n.a / n.b, n.a % n.b) for n in numbers if n.b and n.a / n.b >= 1]


@view
def division_in_an_aggregate(numbers, orders):
    return [(n.a, n.b == 0 or sum(o.id // n.b for o in orders) > 1) for n in numbers]


@view
def division_in_a_branch(numbers, orders):
    return [sum(o.id // n.b for o in orders) if n.b else -1 for n in numbers]


@view
def comparisons(numbers):
    return [(n.a == n.b, n.a != 1, 0 < n.a <= n.b, n.a < 2 < n.b + 1) for n in numbers if 0 <= n.a < 3]


@view
def chained_aggregates(orders, numbers):
    return [n.a for n in numbers if 0 < sum(i.qty for o in orders for i in o.items) < n.a * 3 + 1]


@view
def rows_compared(numbers, orders):
    return [(n.a, n.b) for n in numbers for o in numbers if n == o and (n.a, 1) != (o.b, n.b)]


@view
def connectives(customers):
    return [
        (c.id, c.vip and c.id > 1, not c.vip or c.name == "a", c.note or "none") for c in customers if c.name
    ]


@view
def truthiness(numbers, orders):
    return [n.a for n in numbers if n.a and not n.m] + [
        o.id for o in orders if o.total and o.tags and o.ship.city
    ]


@view
def conditional_scalars(numbers):
    return [
        ("small" if n.a < 2 else "big", n.m if n.m is not None else -1, n.a if n.b else None) for n in numbers
    ]


@view
def conditional_bags(orders):
    return [(o.id, o.tags if o.total > 0 else ["x" if i.pid > 1 else "y" for i in o.items]) for o in orders]


@view
def conditional_records(numbers):
    return [(n.a, 1) if n.a > n.b else (n.b, 0.5) for n in numbers]


@view
def empty_branch(orders):
    return [(o.id, [t for t in o.tags] if o.total > 0 else []) for o in orders]


@view
def nulls(numbers):
    return [
        (n.a, n.m, n.m == 1, n.m is None, n.m == None, n.m != n.a) for n in numbers if n.m is not None or n.a
    ]


@view
def nulls_left_out(numbers, orders):
    fees = sum(o.ship.fee for o in orders if o.ship.fee is not None)
    return [(n.a, fees, max((k.m for k in numbers if k.m is not None), default=0)) for n in numbers]


@view
def nulls_tested_first(numbers):
    return [n.m + 1 for n in numbers if n.m is not None and n.m > 0] + [n.m * 2 for n in numbers if n.m]


@view
def strings(customers):
    return [
        (
            c.name.lower(),
            c.name.upper(),
            c.name.strip(),
            len(c.name),
            c.name + "!",
            f"{c.id}: {c.name}",
            str(c.id),
            f"{c.note}",
        )
        for c in customers
        if c.name.startswith("A") or c.name.endswith(("a", " ")) or "b" in c.name
    ]


@view
def dates(orders, visits):
    return [
        (o.day.year, o.day.month, o.day.day, o.day + dt.timedelta(days=1)) for o in orders if o.day >= START
    ] + [
        (v.at.year, v.at.month, v.at.day, dt.date(2024, 2, 3))
        for v in visits
        if v.at < dt.datetime(2024, 1, 1)
    ]


@view
def times(visits, customers):
    return [(v.at.hour, v.at.minute, v.at.second, v.at.date(), v.at.weekday()) for v in visits] + [
        (0, 0, len(c.name.replace("A", "aa")), START, START.weekday()) for c in customers
    ]


@view
def conversions(numbers, orders):
    return [(int(o.total), float(n.a), bool(n.b), int(n.a > 1)) for n in numbers for o in orders]


@view
def union_of_bags(orders, numbers):
    return [(o.id, 0.5) for o in orders] + [(n.a, n.b) for n in numbers] + [(7, 1.5)]


@view
def written_out(numbers):
    return [(n.a, [n.a, n.b, 9], [*[k.a for k in numbers], n.b]) for n in numbers if n.a in [n.b, 2]]


@view
def constant_loop(numbers):
    return [(k, label, n.a) for k, label in [(0, "none"), (1, "one")] for n in numbers if n.b == k]


@view
def local_binding(numbers):
    return [(s, s * s) for n in numbers for s in [n.a + n.b] if s > 1]


@view
def enumerations(numbers):
    return [n.a for n in numbers if n.a == Level.HIGH.value]


@view
def locals_and_lets(orders):
    """Local names for bags and scalars."""
    big = [o for o in orders if o.total > 0]
    count = len(big)
    first, second = (count, count + 1)
    return [(b.id, count, first + second, len([c for c in big if c.cust == b.cust])) for b in big]


def average(bag: Any, missing: float = -1.0) -> Any:
    """The mean, or ``missing``."""
    total = sum(bag)
    count: int = len(bag)
    return total / count if count else missing


@view
def helpers(orders):
    def price(item: Any, factor: float = 2.0) -> Any:
        return item.price * factor

    double = lambda x: x * 2  # noqa: E731
    return [(o.id, average([price(i) for i in o.items]), double(o.id)) for o in orders]


@lru_cache
def cached(x: Any) -> Any:
    return x + 1


def traced(function: Any) -> Any:
    @wraps(function)
    def wrapper(*args: Any) -> Any:
        return function(*args)

    return wrapper


@traced
def bonus(x: Any, y: Any) -> Any:
    return x * y


@view
def decorated_helpers(numbers):
    return [(cached(n.a), bonus(n.a, y=n.b) if False else bonus(n.a, n.b)) for n in numbers]


@view
def shadowing(numbers):
    return [(n.a, [n.b for n in numbers if n.a > 0], sum(n for n in [n.a, n.b])) for n in numbers]


@view
def generator(numbers):
    return (n.a for n in numbers if n.b)


@view
def decimals(numbers):
    return [(n.a * Decimal("1.5"), Decimal(2) + n.b) for n in numbers]


@view
def underscore(numbers):
    return [1 for _ in numbers] + [_.a for _ in numbers]


@view
def three_sides(customers, numbers):
    return [c.note or c.name or "none" for c in customers if not (c.vip and c.id)] + [
        "some" for n in numbers if n.a and n.b and n.m
    ]


@view
def bags_of_two_types(orders, numbers):
    return [(o.id, [i.qty for i in o.items]) for o in orders] + [(n.a, [0.5, n.b]) for n in numbers]


@view
def nested_lists(numbers):
    return [[[n.a], [n.a, n.b]] for n in numbers]


@view
def locals_of_all_kinds(orders):
    some = any(o.total > 0 for o in orders)
    pair = ([o.id for o in orders], len(orders))
    rows = [(1, [o.cust for o in orders]), (2, [0])]
    ids, count = pair
    return [(k, some, not some, sum(ids) + len(pair[0]), count, inner, len(rows)) for k, inner in rows]


@view
def first_of_sorted(numbers):
    return sorted([(n.a, n.b) for n in numbers])[:LIMIT]


@view
def last_of_sorted_for_each(numbers):
    return [(n.a, sorted((m.b for m in numbers if m.a == n.a), reverse=True)[:2]) for n in numbers]


@view
def sum_of_the_greatest(orders):
    return [sum(total for total in sorted({o.total for o in orders}, reverse=True)[:3])]


@view
def dict_keys(numbers):
    known = {n.a: n.a + 1 for n in numbers}
    return [(k, k in known, 9 not in known) for k in known if known and len(known) > 0]
