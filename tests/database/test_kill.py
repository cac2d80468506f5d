"""A database whose process is killed at any moment: nothing committed is lost, nothing is half applied."""

import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import nestling as nl
from tests.database.writer import WRITERS, audit, orders_of
from tests.storage.stores import ENVIRONMENT, QUICK


def killed(path: Path, draw: random.Random) -> dict[int, int]:
    """Run the writers, kill them after some changes, and return how many each was told are committed."""
    command = [sys.executable, "-m", "tests.database.writer", str(path)]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        told = dict.fromkeys(WRITERS, 0)
        wanted = draw.randrange(60)  # 0: while it is still being opened or defined
        for _ in range(wanted):
            note(child.stdout.readline(), told)
        time.sleep(draw.random() * (0.02 if wanted else 1.0))
        child.kill()
        # The last line may be cut off, and then its number is that of another change.
        for line in child.stdout:
            note(line, told)
    assert child.returncode == -9
    return told


def note(line: str, told: dict[int, int]) -> None:
    if line.endswith("\n") and line != "ready\n":
        writer, number = map(int, line.split())
        told[writer] = number


def check(path: Path, told: dict[int, int]) -> dict[int, int]:
    """What is in the file: all transactions of each writer up to one, whole; none that was told is missing."""
    with nl.Database(path) as db:
        if "positive" not in db._constraints:
            return told  # it was killed while it was defining
        found = Counter(row.writer for row in db.table("audit"))
        done = {writer: found[writer] for writer in WRITERS}
        assert all(done[writer] >= told[writer] for writer in WRITERS), (done, told)
        assert plain(db.table("audit")) == plain(
            audit(writer, number) for writer in WRITERS for number in range(1, done[writer] + 1)
        )
        wanted = {id_: row for writer in WRITERS for id_, row in orders_of(writer, done[writer]).items()}
        assert plain(db.table("orders")) == plain(wanted.values())
        assert db.version == sum(done.values()) + bool(len(db.table("customers")))
        db.verify(maps=True)
        return done


def plain(rows: Any) -> list[str]:
    """Rows in one order, and the elements of their bags too."""
    return sorted(map(shown, rows))


def shown(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(sorted(map(shown, value)))}]"
    return f"({', '.join(map(shown, value))})" if isinstance(value, tuple) else repr(value)


def run(path: Path, kills: int, seed: int) -> int:
    draw, done = random.Random(seed), dict.fromkeys(WRITERS, 0)
    for _ in range(kills):
        told = killed(path, draw)
        done = check(path, {writer: max(done[writer], told[writer]) for writer in WRITERS})
    return sum(done.values())


@pytest.fixture
def path():
    """A kill is no loss of power: no disk is needed that waits for syncs."""
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:
        yield Path(folder, "shop.nest")


def test_a_few_kills(path):
    assert run(path, kills=4, seed=1) > 0


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_two_hundred_kills(path, part):
    # Ten files, so that the verification after each kill does not outgrow the writing before it.
    assert run(path, kills=20, seed=part) > 20
