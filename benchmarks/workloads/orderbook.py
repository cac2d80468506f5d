"""Statistics over a limit order book: the trading queries of Ahmad et al. (2012), on a stream of our own.

The paper's trace of one day is not public. Ours keeps about ``book`` orders alive on each side; prices count
1/10000 of a dollar in ticks of a cent and lie within some hundred ticks of a middle that drifts; ten brokers
place the orders. ``t`` is the number of the event.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from . import workload
from .workload import Event, Row, Tables, Trigger, grows, run, take

ORDER = {"t": int, "id": int, "broker_id": int, "price": int, "volume": int}
SCHEMA: workload.Schema = {"bids": ORDER, "asks": ORDER}
KEYS: workload.Keys = {"bids": "id", "asks": "id"}

#: The texts of the paper (appendix A).
SQL = {
    "bsv": """
        SELECT x.broker_id, sum(x.volume * x.price * y.volume * y.price * 0.5)
        FROM bids x, bids y WHERE x.broker_id = y.broker_id GROUP BY x.broker_id""",
    "bsp": """
        SELECT x.broker_id, sum(x.volume * x.price - y.volume * y.price)
        FROM bids x, bids y WHERE x.broker_id = y.broker_id AND x.t > y.t GROUP BY x.broker_id""",
    "axf": """
        SELECT b.broker_id, sum(a.volume - b.volume) FROM bids b, asks a
        WHERE b.broker_id = a.broker_id AND (a.price - b.price > 1000 OR b.price - a.price > 1000)
        GROUP BY b.broker_id""",
    "psp": """
        SELECT sum(a.price - b.price) FROM bids b, asks a
        WHERE b.volume > 0.0001 * (SELECT sum(b1.volume) FROM bids b1)
          AND a.volume > 0.0001 * (SELECT sum(a1.volume) FROM asks a1)""",
    "mst": """
        SELECT b.broker_id, sum(a.price * a.volume - b.price * b.volume) FROM bids b, asks a
        WHERE 0.25 * (SELECT sum(a1.volume) FROM asks a1)
              > (SELECT coalesce(sum(a2.volume), 0) FROM asks a2 WHERE a2.price > a.price)
          AND 0.25 * (SELECT sum(b1.volume) FROM bids b1)
              > (SELECT coalesce(sum(b2.volume), 0) FROM bids b2 WHERE b2.price > b.price)
        GROUP BY b.broker_id""",
    "vwap": """
        SELECT sum(b1.price * b1.volume) FROM bids b1
        WHERE 0.25 * (SELECT sum(b3.volume) FROM bids b3)
              > (SELECT coalesce(sum(b2.volume), 0) FROM bids b2 WHERE b2.price > b1.price)""",
}


def bsv(bids):
    """For each broker half the sum over all pairs of bids of the product of their values.

    The factor stands outside the sum, where the paper has it inside, so that integers stay exact.
    """
    return [
        (
            broker,
            0.5
            * sum(
                x.volume * x.price * y.volume * y.price
                for x in bids
                if x.broker_id == broker
                for y in bids
                if y.broker_id == x.broker_id
            ),
        )
        for broker in {x.broker_id for x in bids}
    ]


def bsp(bids):
    """For each broker by how much the value of a later bid exceeds that of an earlier one, over all pairs."""
    return [
        (
            broker,
            sum(
                x.volume * x.price - y.volume * y.price
                for x in bids
                if x.broker_id == broker
                for y in bids
                if y.broker_id == x.broker_id and x.t > y.t
            ),
        )
        for broker in {x.broker_id for x in bids for y in bids if y.broker_id == x.broker_id and x.t > y.t}
    ]


def is_far(a, b):
    """More than ten ticks apart."""
    return a.price - b.price > 1000 or b.price - a.price > 1000


def axf(bids, asks):
    """For each broker the volumes of asks less those of bids, over the pairs with prices far apart."""
    return [
        (
            broker,
            sum(
                a.volume - b.volume
                for b in bids
                if b.broker_id == broker
                for a in asks
                if a.broker_id == b.broker_id and is_far(a, b)
            ),
        )
        for broker in {b.broker_id for b in bids for a in asks if a.broker_id == b.broker_id and is_far(a, b)}
    ]


def psp(bids, asks):
    """The spread, over all pairs of a bid and an ask that are no small part of their side."""
    return [
        (
            sum(
                a.price - b.price
                for b in bids
                if b.volume > 0.0001 * sum(b1.volume for b1 in bids)
                for a in asks
                if a.volume > 0.0001 * sum(a1.volume for a1 in asks)
            ),
        )
    ]


def is_top(order, side):
    """Less than a quarter of the volume of its side has a higher price."""
    return 0.25 * sum(x.volume for x in side) > sum(y.volume for y in side if y.price > order.price)


def mst(bids, asks):
    """For each broker the values of asks less those of bids, over the pairs at the top of both sides."""
    return [
        (
            broker,
            sum(
                a.price * a.volume - b.price * b.volume
                for b in bids
                if b.broker_id == broker and is_top(b, bids)
                for a in asks
                if is_top(a, asks)
            ),
        )
        for broker in {b.broker_id for b in bids if is_top(b, bids) for a in asks if is_top(a, asks)}
    ]


def vwap(bids):
    """The value of the bids at the top of the book."""
    return [(sum(b.price * b.volume for b in bids if is_top(b, bids)),)]


VIEWS: dict[str, workload.View] = {"bsv": bsv}
LATER: dict[str, workload.View] = {"bsp": bsp, "axf": axf, "psp": psp, "mst": mst, "vwap": vwap}


BROKERS = 10
TICK = 100
SPREAD = 100  # ticks that an order is away from the middle, on average
VOLUME = 300  # on average


@dataclass(frozen=True)
class Size:
    """How many orders are live on each side, and how many events follow."""

    book: int = 10_000
    changes: int = 200_000
    seed: int = 1


def load(size: Size) -> Iterator[Event]:
    """The orders that fill both sides of the book."""
    return _Book(size).fill()


def events(size: Size) -> Iterator[Event]:
    """New orders and, as often, the end of a random one."""
    book = _Book(size)
    for _ in book.fill():
        pass
    for t in range(2 * size.book, 2 * size.book + size.changes):
        side = "bids" if book.rng.random() < 0.5 else "asks"
        live = book.live[side]
        if grows(book.rng, len(live), size.book):
            yield side, book.place(side, t), +1
        else:
            yield side, take(book.rng, live), -1


class _Book:
    """The live orders of both sides, and the middle between them."""

    def __init__(self, size: Size) -> None:
        self.size, self.rng = size, Random(size.seed)
        self.live: dict[str, list[Row]] = {"bids": [], "asks": []}
        self.middle = 10_000  # ticks

    def fill(self) -> Iterator[Event]:
        for t in range(2 * self.size.book):
            side = ("bids", "asks")[t % 2]
            yield side, self.place(side, t), +1

    def place(self, side: str, t: int) -> Row:
        """A new order below the middle to buy, above it to sell."""
        rng = self.rng
        self.middle = max(2_000, self.middle + rng.randint(-1, 1))
        away = 1 + min(1_000, int(rng.expovariate(1 / SPREAD)))
        price = TICK * (self.middle - away if side == "bids" else self.middle + away)
        volume = 1 + int(rng.expovariate(1 / VOLUME))
        order = (t, t, rng.randrange(BROKERS), price, volume)
        self.live[side].append(order)
        return order


class Bsv:
    """The sum over pairs is the square of a sum: for each broker [bids, value of its bids]."""

    __slots__ = ("cells", "on")

    def __init__(self) -> None:
        self.cells: dict[int, list[int]] = {}
        self.on: dict[str, Trigger] = {"bids": self.bid}

    def bid(self, row: Row, sign: int) -> None:
        _, _, broker, price, volume = row
        cell = self.cells.get(broker)
        if cell is None:
            self.cells[broker] = [1, price * volume]
        elif sign > 0:
            cell[0] += 1
            cell[1] += price * volume
        else:
            cell[0] -= 1
            cell[1] -= price * volume
            if not cell[0]:
                del self.cells[broker]

    def result(self) -> list[Any]:
        return [(broker, 0.5 * (value * value)) for broker, (_, value) in self.cells.items()]


class HandWritten(workload.HandWritten):
    """The one view that has a baseline so far."""

    PARTS: ClassVar = {"bsv": Bsv}


def recompute_bsv(bids):
    """``bsv`` with one sum for each broker, squared, instead of all pairs."""
    values: dict[int, int] = {}
    for x in bids:
        values[x.broker_id] = values.get(x.broker_id, 0) + x.volume * x.price
    return [(broker, 0.5 * (value * value)) for broker, value in values.items()]


RECOMPUTE: dict[str, workload.View] = {"bsv": recompute_bsv}


def recompute(tables: Tables) -> dict[str, list[Any]]:
    """All views from scratch."""
    return {view: run(compute, tables) for view, compute in RECOMPUTE.items()}
