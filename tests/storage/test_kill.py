"""Law: a process killed at whatever moment loses nothing that was acknowledged, and leaves nothing halved."""

import random
import subprocess
import sys
import time

import pytest

from nestling.storage.file import FileStore
from tests.storage.stores import ENVIRONMENT, contents
from tests.storage.writer import definitions, entry, state


@pytest.mark.parametrize("durability", ["full", "process"])
@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.soak)])
def test_a_kill_loses_nothing(tmp_path, durability, kills):
    """The same file, killed again and again, half of the times in a snapshot."""
    path, draw = tmp_path / "shop.nest", random.Random()
    last = 0
    for number in range(kills):
        said = write_and_kill(path, durability, draw, in_snapshot=number % 2 == 1)
        acknowledged = max((int(word) for word in said if word.isdigit()), default=last)
        with FileStore.open(path) as store:
            last = check(store)
        assert acknowledged <= last <= acknowledged + 1


def write_and_kill(path, durability, draw, *, in_snapshot):
    """What the writer said before it was killed, a little after it said what was waited for."""
    command = [sys.executable, "-m", "tests.storage.writer", str(path), durability, str(draw.random())]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        said: list[str] = []
        wanted = draw.randrange(100)
        for line in child.stdout:
            said.append(line.strip())
            if said[-1] == "snapshot" if in_snapshot else len(said) > wanted:
                break
        time.sleep(draw.random() * 0.03)
        child.kill()
        # The last line may be cut off, and then its number is that of another change.
        return said + [line.strip() for line in child.stdout if line.endswith("\n")]


def check(store):
    """The number of the last change, everything being as the changes up to there make it."""
    known, at, rows, log = contents(store)
    last = at + len(log)
    assert known == definitions(last)
    assert rows == ([(name, *row) for name, rows in state(at) for row in rows] if at else [])
    assert log == [(seq, entry(seq)) for seq in range(at + 1, last + 1)]
    return last
