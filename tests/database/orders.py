"""A shop with two tables and a view of every kind, and what may happen to it."""

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

from nestling.database.database import Database
from nestling.database.subscribers import Watched
from nestling.database.trail import Trail
from nestling.database.transaction import Transaction
from nestling.engine.local.engine import LocalEngine
from nestling.frontend.schema import record_type, row_value
from nestling.values.bag import ZBag

CUSTOMERS = "id INT, city STRING, orders ARRAY<STRUCT<day: INT, items: ARRAY<STRUCT<pid: INT, qty: INT>>>>"
PARTS = {"pid": int, "price": int, "tags": list[str]}

#: A change that a view cannot follow divides by a price of zero; one that a constraint forbids has this quantity.
FREE, TOO_MANY = 0, 4


def near(customers):
    return [(c.id, c.city) for c in customers if c.city == "a"]


def bought(customers, parts):
    return [
        (c.id, i.qty * p.price)
        for c in customers
        for o in c.orders
        for i in o.items
        for p in parts
        if p.pid == i.pid
    ]


def spent(customers):
    return [
        (city, sum(i.qty for c in customers if c.city == city for o in c.orders for i in o.items))
        for city in {c.city for c in customers}
    ]


def history(customers, parts):
    return [
        (
            c.id,
            [
                (o.day, [(i.pid, [p.price for p in parts if p.pid == i.pid]) for i in o.items])
                for o in c.orders
            ],
        )
        for c in customers
    ]


def tags(parts):
    return {tag for p in parts for tag in p.tags}


def rich(spent):
    return [s.city for s in spent if s[1] > 2]


def extremes(parts):
    return [
        (pid, min(p.price for p in parts if p.pid == pid), max(p.price for p in parts if p.pid == pid))
        for pid in {p.pid for p in parts}
    ]


def cheapest(parts):
    return [max([12 // p.price for p in parts], default=0)]


def unsold(customers, parts):
    return [
        p.pid for p in parts if p.pid not in [i.pid for c in customers for o in c.orders for i in o.items]
    ]


def later(customers):
    """Passed on whole, inner bags and all."""
    return [(c.id, c.orders) for c in customers]


VIEWS = (near, bought, spent, history, tags, rich, extremes, cheapest, unsold)


def modest(customers):
    return [(c.id, i.pid) for c in customers for o in c.orders for i in o.items if i.qty >= 4]


#: The views whose changes are listened to.
HEARD = ("history", "spent")


def shop() -> Database:
    """The tables, the views, one more that is lazy, and a constraint; nothing in it."""
    made, db = _defined(), Database()
    db._state = copy(made._state)
    for name, part in vars(made._state).items():
        if type(part) is dict:
            setattr(db._state, name, dict(part))
    db._state.engine = LocalEngine(made._state.engine.program)
    for name in HEARD:
        db._subscribers._watched[name] = Watched(Trail(db._access, db._logging, name, 0), 0)
    return db


@cache
def _defined() -> Database:
    """Defined once: to compile ten views takes longer than to try them."""
    db = Database()
    db.table("customers", CUSTOMERS, key="id")
    db.table("parts", PARTS)
    for view in VIEWS:
        db.view(view)
    db.view("later", later, refresh="lazy")
    db.constraint("modest", modest)
    for name in HEARD:
        db.views[name].changes()
    return db


# what may happen

ids, pids, cities = st.integers(0, 3), st.integers(0, 2), st.sampled_from("ab")


def _bags_of_orders(quantities: list[int]) -> st.SearchStrategy[list[Any]]:
    items = st.tuples(pids, st.sampled_from(quantities))
    orders = st.tuples(st.integers(0, 1), st.lists(items, max_size=2))
    # Equal elements share what is inside them.
    return st.lists(orders, max_size=2) | orders.map(lambda order: [order, order])


def _parts(prices: list[int]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(pids, st.sampled_from(prices), st.lists(st.sampled_from("xy"), max_size=2))


days, items = st.integers(0, 1), st.tuples(pids, st.sampled_from([1, 2, 3, TOO_MANY]))
bags_of_orders = _bags_of_orders([1, 2, 3, 1, 2, 3, TOO_MANY])
ROWS: dict[str, st.SearchStrategy[tuple[Any, ...]]] = {
    "customers": st.tuples(ids, cities, bags_of_orders),
    "parts": _parts([1, 2, 3, 1, 2, 3, FREE]),
}
#: Rows to start with, which can all be accepted.
START = {
    "customers": st.lists(
        st.tuples(ids, cities, _bags_of_orders([1, 2, 3])), max_size=3, unique_by=lambda row: row[0]
    ),
    "parts": st.lists(_parts([1, 2, 3]), max_size=4),
}

Model = dict[str, ZBag]


class Refused(Exception):
    """The change cannot be accepted."""


@dataclass(frozen=True)
class Step:
    """A change as a user makes it, and as it should be."""

    name: str
    run: Callable[[Transaction], None]
    expected: Callable[[Model], Model]


RECORDS = {"customers": record_type(CUSTOMERS), "parts": record_type(PARTS)}


def value(table: str, row: Any) -> Any:
    """A row as the calculus has it."""
    return row_value(RECORDS[table], row)


def added(model: Model, table: str, change: ZBag) -> Model:
    """The model after a change of one table, if it can be accepted."""
    total = model[table] + change
    keys = [row[0] for row in total] if table == "customers" else []
    if not total.is_nonnegative() or len(set(keys)) != len(keys):
        raise Refused
    if table == "customers" and any(times > 1 for _, times in total.items()):
        raise Refused
    return model | {table: total}


def has_no_value(model: Model) -> bool:
    """Whether ``cheapest`` divides by zero."""
    return any(row[1] == FREE for row in model["parts"])


def breaks_a_constraint(model: Model) -> bool:
    return any(qty == TOO_MANY for _, _, bag in model["customers"] for _, items in bag for _, qty in items)


def one_by_one(model: Model, table: str, rows: Iterable[tuple[Any, int]]) -> Model:
    for row, times in rows:
        model = added(model, table, ZBag([(value(table, row), times)]))
    return model


def insert(table: str, rows: list[Any]) -> Step:
    return Step(
        f"insert {rows} into {table}",
        lambda change: change.insert(table, rows),
        lambda model: one_by_one(model, table, [(row, 1) for row in rows]),
    )


def delete(table: str, rows: list[Any]) -> Step:
    return Step(
        f"delete {rows} from {table}",
        lambda change: change.delete(table, rows),
        lambda model: one_by_one(model, table, [(row, -1) for row in rows]),
    )


def delete_where(table: str, first: int) -> Step:
    return Step(
        f"delete from {table} where its first column is {first}",
        lambda change: change.delete(table, where=lambda row: row[0] == first),
        lambda model: added(model, table, ZBag((r, -n) for r, n in model[table].items() if r[0] == first)),
    )


def delete_key(key: int) -> Step:
    return Step(
        f"delete the customer {key}",
        lambda change: change.delete("customers", key=key),
        lambda model: added(model, "customers", -ZBag.of(customer(model, key))),
    )


def customer(model: Model, key: int) -> Any:
    found = [row for row in model["customers"] if row[0] == key]
    if not found:
        raise Refused
    return found[0]


def update(key: int, new: dict[str, Any]) -> Step:
    def expected(model: Model) -> Model:
        old = customer(model, key)
        row = value("customers", dict(zip(RECORDS["customers"].names, old, strict=True)) | new)
        return added(model, "customers", ZBag.of(row) - ZBag.of(old))

    return Step(f"set {new} of {key}", lambda change: change.update("customers", key=key, set=new), expected)


def deep(key: int, elements: list[Any], sign: int) -> Step:
    """Orders that come to or go from one customer."""

    def run(change: Transaction) -> None:
        (change.insert_into if sign > 0 else change.delete_from)("customers", key, ("orders",), elements)

    def expected(model: Model) -> Model:
        old = customer(model, key)
        # The elements of one bag, read as those of a row that has nothing else.
        bag = value("customers", (key, "", elements))[2]
        total = old[2] + sign * bag
        if not total.is_nonnegative():
            raise Refused
        return added(model, "customers", ZBag.of((old[0], old[1], total)) - ZBag.of(old))

    return Step(f"orders of {key}: {'+' if sign > 0 else '-'}{elements}", run, expected)


def one_of(bag: ZBag, position: int, wanted: int) -> Any:
    """The one element with this column."""
    found = [(element, times) for element, times in bag.items() if element[position] == wanted]
    if sum(times for _, times in found) != 1:
        raise Refused
    return found[0][0]


def replaced(bag: ZBag, old: Any, new: Any) -> ZBag:
    return bag - ZBag.of(old) + ZBag.of(new)


def inside(key: int, day: int, change: Callable[[Any], Any]) -> Callable[[Model], Model]:
    """The model with the one order of that day changed."""

    def expected(model: Model) -> Model:
        old = customer(model, key)
        order = one_of(old[2], 0, day)
        orders = replaced(old[2], order, change(order))
        return added(model, "customers", replaced(ZBag(), old, (old[0], old[1], orders)))

    return expected


def deeper(key: int, day: int, items: list[Any], sign: int) -> Step:
    """Items that come to or go from one order."""

    def run(change: Transaction) -> None:
        place = ("orders", {"day": day}, "items")
        (change.insert_into if sign > 0 else change.delete_from)("customers", key, place, items)

    def grown(order: Any) -> Any:
        total = order[1] + sign * ZBag.of(*items)
        if not total.is_nonnegative():
            raise Refused
        return (order[0], total)

    return Step(f"items of {key} on {day}: {'+' if sign > 0 else '-'}{items}", run, inside(key, day, grown))


def redated(key: int, day: int, new: int) -> Step:
    """One order on another day; its items stay."""
    return Step(
        f"order of {key} from {day} to {new}",
        lambda change: change.update_in("customers", key, ("orders", {"day": day}), {"day": new}),
        inside(key, day, lambda order: (new, order[1])),
    )


def recounted(key: int, day: int, pid: int, qty: int) -> Step:
    """Another quantity of one item of one order."""

    def counted(order: Any) -> Any:
        item = one_of(order[1], 0, pid)
        return (order[0], replaced(order[1], item, (pid, qty)))

    place = ("orders", {"day": day}, "items", {"pid": pid})
    return Step(
        f"{qty} of {pid} for {key} on {day}",
        lambda change: change.update_in("customers", key, place, {"qty": qty}),
        inside(key, day, counted),
    )


def apply(table: str, pairs: list[tuple[Any, int]]) -> Step:
    change = ZBag((value(table, row), times) for row, times in pairs)

    def expected(model: Model) -> Model:
        return added(added(model, table, -change.negative()), table, change.positive())

    return Step(f"apply {change} to {table}", lambda t: t.apply({table: change}), expected)


def wrong() -> Step:
    def refuse(model: Model) -> Model:
        raise Refused

    return Step("insert what is no row", lambda t: t.insert("parts", [(1, 1, []), (1, "two", [])]), refuse)


tables = st.sampled_from(sorted(ROWS))


def rows_of(table: str) -> st.SearchStrategy[list[Any]]:
    return st.lists(ROWS[table], min_size=1, max_size=2)


steps = st.one_of(
    tables.flatmap(lambda table: st.builds(insert, st.just(table), rows_of(table))),
    tables.flatmap(lambda table: st.builds(insert, st.just(table), rows_of(table))),
    tables.flatmap(lambda table: st.builds(delete, st.just(table), rows_of(table))),
    st.builds(delete_where, tables, ids),
    st.builds(delete_key, ids),
    st.builds(
        update,
        ids,
        st.fixed_dictionaries({}, optional={"city": cities, "orders": bags_of_orders}),
    ),
    st.builds(deep, ids, bags_of_orders, st.sampled_from([1, 1, -1])),
    st.builds(deeper, ids, days, st.lists(items, max_size=2), st.sampled_from([1, 1, -1])),
    st.builds(redated, ids, days, days),
    st.builds(recounted, ids, days, pids, st.sampled_from([1, 2, 3, TOO_MANY])),
    tables.flatmap(
        lambda table: st.builds(
            apply, st.just(table), st.lists(st.tuples(ROWS[table], st.sampled_from([-1, 1, 2])), max_size=2)
        )
    ),
    st.builds(wrong),
)
