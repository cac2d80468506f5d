"""Updates of an object that many refer to: an attribute that a view reads, one that none reads, and the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

from benchmarks.parts.goals import Goal
from benchmarks.parts.objects import BESIDE
from benchmarks.parts.turns import TURN, Prepared, Spent, in_fresh_processes, ratio, turns
from benchmarks.workloads.harness import collector, show
from nestling import Database

FAN_OUTS, AFFECTED = (1, 10, 1_000), 20_000
#: How often everything is done in each process, and done by calls of a user.
ROUNDS, CALLS = 15, 5
#: Rows that calls of a user change: these take longer by far.
CALLED = 1_000
#: Of rows in a turn, where an update affects many.
ROWS = 2_000
#: How far time per affected row may move with the fan-out.
FLAT = 1.5

Moves = Sequence[tuple[Any, Any]]


def path_database(fan_out: int, customers: int, store: str, refresh: str = "eager") -> Database:
    """Customers with ``fan_out`` orders each, all of one region, and views of every order with the two names.

    Without ``store`` there are no views.
    """
    db = Database()
    db.table("regions", {"id": int, "name": str}, key="id")
    db.table(
        "customers",
        {"id": int, "name": str, "notes": str, "region": int},
        key="id",
        references={"region": "regions"},
    )
    db.table("orders", {"no": int, "customer": int}, key="no", references={"customer": "customers"})
    db.insert("regions", [(0, "north"), (1, "south")])
    for table, rows in path_rows(fan_out, customers).items():
        db.insert(table, rows)
    if store:
        text = "select struct(no: o.no, name: o.customer.name) from o in orders"
        db.view("names", text, language="oql", store=store, refresh=refresh)
    return db


def path_rows(fan_out: int, customers: int) -> dict[str, list[Any]]:
    """Customers, and ``fan_out`` orders of each."""
    return {
        "customers": [(i, f"name {i}", "", i % 2) for i in range(customers)],
        "orders": [(i * fan_out + j, i) for i in range(customers) for j in range(fan_out)],
    }


class Names:
    """The same by hand: a row per order, or the orders alone where names are looked up by who reads.

    Orders may come, go and pass to another customer too, so those of a customer are a set.
    """

    def __init__(self, rows: Mapping[str, Sequence[Any]]) -> None:
        self.rows: dict[int, tuple[int, str]] = {}
        self.names: dict[int, Any] = {row[0]: row for row in rows["customers"]}
        self.orders: dict[int, set[int]] = {}
        for row in rows["orders"]:
            self.order(row, 1)

    def order(self, row: Any, sign: int) -> None:
        no, customer = row
        if sign > 0:
            self.orders.setdefault(customer, set()).add(no)
            self.rows[no] = no, self.names[customer][1]
        else:
            self.orders[customer].remove(no)
            del self.rows[no]

    def stored(self, old: Any, row: Any) -> None:
        id_, name, _, _ = row
        self.names[id_] = row
        if name != old[1]:
            rows = self.rows
            for no in self.orders[id_]:
                rows[no] = no, name

    def looked_up(self, old: Any, row: Any) -> None:
        self.names[row[0]] = row


def path_updates(quick: bool) -> list[Goal]:
    """A used and an unused attribute, at three fan-outs; stored, and as the database chooses."""
    fan_outs, affected = ((1, 10), 200) if quick else (FAN_OUTS, AFFECTED)
    rows: list[list[str]] = []
    goals: list[Goal] = []
    per_row: list[float] = []
    by_hand: list[float] = []
    for fan_out in fan_outs:
        found = in_fresh_processes(spent, fan_out, max(affected // fan_out, 2), ROUNDS, CALLS)
        per_row.append(median(each["stored"].each for each in found) * 1e9 / fan_out)
        by_hand.append(median(each["stored by hand"].each for each in found) * 1e9 / fan_out)
        ratios = {
            "stored: trigger / hand-written": ("stored", "stored by hand"),
            "by default: trigger / hand-written": ("default", "looked up by hand"),
            "an unread attribute: trigger / hand-written": ("unread trigger", "unread by hand"),
            "an unread attribute: a user's call / bare write": ("unread", "bare"),
        }
        measured = {what: ratio(found, one, other) for what, (one, other) in ratios.items()}
        shown = (ratio(found, "stored by hand again", "stored by hand"), *measured.values())
        rows.append(
            [f"{fan_out:,}", f"{per_row[-1]:,.0f}", f"{by_hand[-1]:,.0f}", *(f"{each:.2f}" for each in shown)]
        )
        goals += [
            Goal(f"fan-out {fan_out:,}, {what}", each, BESIDE, unit="×") for what, each in measured.items()
        ]
    goals += [
        Goal("time per affected row: growth with the fan-out", _growth(per_row), FLAT, unit="×"),
        Goal(
            "time per affected row from fan-out 10 on: slowest / quickest",
            _spread(per_row[1:]), FLAT, unit="×", remark=f"{_spread(by_hand[1:]):.2f} by hand",
        ),
    ]  # fmt: skip
    header = [
        "fan-out", "stored: ns per affected row", "the same by hand", "by hand / itself", "stored / hand",
        "default / hand", "unread / hand", "unread call / bare call",
    ]  # fmt: skip
    show("An attribute of an object that many refer to", header, rows, plain=True)
    return goals


def _growth(times: Sequence[float]) -> float:
    """The most that a time is, as a multiple of one before it."""
    return max(time / min(times[: place + 1]) for place, time in enumerate(times))


def _spread(times: Sequence[float]) -> float:
    return max(times) / min(times)


def spent(number: int, fan_out: int, customers: int, rounds: int, calls: int) -> dict[str, Spent]:
    """Every customer is renamed, or given a note, and back again."""
    rows = path_rows(fan_out, customers)
    made: dict[str, Any] = {}

    def by_hand() -> None:
        made.update({name: Names(rows) for name in ("hand", "again")})

    def databases() -> None:
        made.update({store: path_database(fan_out, customers, store) for store in ("full", "auto", "")})

    # Who is built first has the memory in a row; so each is, in turn.
    for build in (by_hand, databases) if number % 2 else (databases, by_hand):
        build()
    hand, again, stored, default, bare = (made[name] for name in ("hand", "again", "full", "auto", ""))
    with collector(enabled=False):
        return _renamed(rows["customers"], fan_out, rounds, calls, (hand, again), (stored, default, bare))


def _renamed(
    there: Sequence[Any],
    fan_out: int,
    rounds: int,
    calls: int,
    names: tuple[Names, Names],
    databases: tuple[Database, Database, Database],
) -> dict[str, Spent]:
    (hand, again), (stored, default, bare) = names, databases
    pairs = [(row, (row[0], f"{row[1]}!", *row[2:])) for row in there]
    noted = [(row, (*row[:2], f"{row[2]}!", row[3])) for row in there]

    few = noted[:CALLED]

    def update(db: Database) -> Callable[..., object]:
        return db._state.engine.updates["customers"]

    def note(db: Database) -> Callable[..., object]:
        return lambda _, new: db.update("customers", key=new[0], set={"notes": new[2]})

    return {
        **turns(
            {
                "stored by hand": partial(_moved, hand.stored, pairs),
                "stored by hand again": partial(_moved, again.stored, pairs),
                "stored": partial(_moved, update(stored), pairs),
            },
            rounds,
            max(ROWS // fan_out, 2),
        ),
        **turns(
            {
                "looked up by hand": partial(_moved, hand.looked_up, pairs),
                "default": partial(_moved, update(default), pairs),
                "unread by hand": partial(_moved, hand.stored, noted),
                "unread trigger": partial(_moved, update(stored), noted),
            },
            rounds,
        ),
        **turns(
            {"bare": partial(_moved, note(bare), few), "unread": partial(_moved, note(stored), few)},
            calls,
        ),
    }


def _moved(change: Callable[..., object], moves: Moves) -> Prepared:
    """There and back again, until it is a turn."""
    both = [*moves, *((new, old) for old, new in moves)]
    times = -(-TURN // len(both))
    return Prepared([(change, args) for _ in range(times) for args in both])
