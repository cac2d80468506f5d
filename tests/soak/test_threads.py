"""A database is used from any thread: writers queue, readers see what is committed, and nothing is ever torn.

Every answer is one that some sequence of whole changes gives: a count equals the length of its own list, money that
is moved from one account to another is never seen twice or not at all, and versions only grow.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any

import pytest

import nestling as nl
from nestling.errors import ChangeError

ACCOUNTS = 12
READERS, WRITERS = 4, 2


class Crowd:
    """A small bank, its views, and what went wrong in any thread."""

    def __init__(self, path: Any = None) -> None:
        self.db = nl.Database(path)
        self.db.table("accounts", "id BIGINT, owner BIGINT, amount BIGINT, notes ARRAY<BIGINT>", key="id")
        self.db.table("moves", "a BIGINT, b BIGINT, amount BIGINT")
        self.db.view("owners", OWNERS, language="python")
        self.db.view("total", "SELECT sum(amount) AS s, count(*) AS n FROM accounts")
        self.db.view("later", OWNERS, language="python", refresh="lazy")
        self.db.view("again", OWNERS, language="python", refresh="hybrid", store="full")
        self.db.view("moved", "SELECT a, count(*) AS n, sum(amount) AS s FROM moves GROUP BY a")
        self.db.insert("accounts", [(i, i % 3, 0, []) for i in range(ACCOUNTS)])
        self.wrong: list[str] = []
        self.reads, self.writes, self.refused = 0, 0, 0
        self.versions: list[int] = []
        self.db.views["owners"].subscribe(self.hear)
        self.over = threading.Event()

    def hear(self, change: Any) -> None:
        self.versions.append(change.version)

    # -- what writers do

    def write(self, rng: Random) -> None:
        """One change: money moves, notes come and go; sometimes it is refused, or thought better of."""
        kind = rng.randint(0, 5)
        one, two = rng.sample(range(ACCOUNTS), 2)
        if kind <= 2:
            self.transfer(one, two, rng.randint(1, 9), fails=kind == 2)
        elif kind == 3:
            self.db.table("accounts").at(one).notes.insert([rng.randint(0, 9), rng.randint(0, 9)])
        elif kind == 4:
            self.db.update("accounts", key=one, set={"notes": []})
        else:
            self.refuse(one)
        self.writes += 1

    def transfer(self, one: int, two: int, amount: int, fails: bool) -> None:
        try:
            with self.db.transaction() as change:
                rows = {row.id: row for row in self.db.table("accounts")}
                for key, by in ((one, -amount), (two, amount)):
                    change.update("accounts", key=key, set={"amount": rows[key].amount + by})
                    time.sleep(0)  # let others look at what is half done
                change.insert("moves", [(one, two, amount)])
                if fails:
                    raise InterruptedError
        except InterruptedError:
            pass

    def refuse(self, key: int) -> None:
        try:
            self.db.insert("accounts", [(99, 9, 1000, []), (key, 0, 0, [])])
        except ChangeError:
            self.refused += 1
        else:
            self.wrong.append("a key was accepted twice")

    # -- what readers see

    def read(self, rng: Random) -> None:
        """One look: all of an answer belongs together."""
        name = rng.choice(["owners", "later", "again", "total", "moved", "table", "slowly", "find"])
        match name:
            case "total":
                self.expect([tuple(row) for row in self.db.views["total"]] == [(0, ACCOUNTS)], name)
            case "moved":
                self.expect(all(row.n > 0 and row.s >= row.n for row in self.db.views["moved"]), name)
            case "table":
                rows = self.db.table("accounts").rows()
                self.expect(sum(row.amount for row in rows) == 0 and len(rows) == ACCOUNTS, name)
            case "slowly":
                self.whole(list(slowly(self.db.views["owners"])), name)
            case "find":
                row = self.db.views["owners"][1]
                self.expect(row.n == len(row.notes) and row.count == len(row.amounts), name)
            case _:
                self.whole(self.db.views[name].rows(), name)
        self.reads += 1

    def whole(self, rows: list[Any], name: str) -> None:
        """Rows of one state: lists as long as their counts, and money that adds up to nothing."""
        self.expect(len(rows) == 3, f"{name}: {len(rows)} owners")
        for row in rows:
            self.expect(row.n == len(row.notes), f"{name}: {row}")
            self.expect(row.s == sum(row.amounts) and row.count == len(row.amounts), f"{name}: {row}")
        self.expect(sum(row.s for row in rows) == 0, f"{name}: {[row.s for row in rows]}")

    def expect(self, holds: bool, what: str) -> None:
        if not holds:
            self.wrong.append(what)

    # -- all at once

    def work(self, job: Callable[[Random], None], seed: str) -> None:
        rng = Random(seed)
        while not self.over.is_set() and len(self.wrong) < 20:
            try:
                job(rng)
            except Exception as error:  # noqa: BLE001 - any error in any thread is what this looks for
                self.wrong.append(f"{type(error).__name__}: {error}")

    def go(self, seconds: float) -> None:
        threads = [threading.Thread(target=self.work, args=(self.read, f"r{i}")) for i in range(READERS)]
        threads += [threading.Thread(target=self.work, args=(self.write, f"w{i}")) for i in range(WRITERS)]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self.over.set()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads), "a thread waits for ever"


OWNERS = (
    "[{'owner': k, 'n': sum(len(a.notes) for a in accounts if a.owner == k),"
    " 'notes': [m for a in accounts if a.owner == k for m in a.notes],"
    " 's': sum(a.amount for a in accounts if a.owner == k),"
    " 'count': len([1 for a in accounts if a.owner == k]),"
    " 'amounts': [a.amount for a in accounts if a.owner == k]} for k in {a.owner for a in accounts}]"
)


def slowly(rows: Iterable[Any]) -> Iterator[Any]:
    """Rows, with a pause after each."""
    for row in rows:
        yield row
        time.sleep(0)


def check(seconds: float, path: Any = None) -> None:
    crowd = Crowd(path)
    before = crowd.db.version
    crowd.go(seconds)
    assert crowd.wrong == []
    assert crowd.reads > 50
    assert crowd.writes > 20
    assert crowd.refused
    assert crowd.versions == sorted(set(crowd.versions)), "versions are told in order, each once"
    assert crowd.db.version > before
    crowd.db.verify(maps=True)
    crowd.db.close()


@pytest.mark.parametrize("durable", [False, True], ids=["memory", "file"])
def test_readers_and_writers(durable, tmp_path):
    check(1, tmp_path / "bank.nest" if durable else None)


@pytest.mark.soak
@pytest.mark.parametrize("durable", [False, True], ids=["memory", "file"])
def test_four_readers_and_two_writers_for_a_minute(durable, tmp_path):
    check(60, tmp_path / "bank.nest" if durable else None)


def test_iterating_goes_on_over_the_state_it_began_with():
    crowd = Crowd()
    rows = iter(crowd.db.views["owners"])
    first = next(rows)
    crowd.db.delete("accounts", where=lambda row: row.owner != first.owner)

    rest = list(rows)

    assert len(rest) == 2
    assert len(crowd.db.views["owners"].rows()) == 1


def test_an_uncommitted_change_is_seen_by_its_own_thread_alone():
    crowd = Crowd()
    seen: list[Any] = []
    with crowd.db.transaction() as change:
        change.update("accounts", key=0, set={"amount": 7})
        mine = crowd.db.views["total"].rows()
        other = threading.Thread(target=lambda: seen.append(crowd.db.views["total"].rows()))
        other.start()
        other.join(10)

    assert [tuple(row) for row in mine] == [(7, ACCOUNTS)]
    assert [[tuple(row) for row in rows] for rows in seen] == [[(0, ACCOUNTS)]]
