"""A database whose process is killed at any moment: nothing committed is lost, nothing is half applied."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import nestling as nl

WRITER = """
import sys
import nestling as nl

db = nl.Database(sys.argv[1])
db.table("orders", {"id": int, "items": list[int]}, key="id")
db.table("audit", {"order": int, "what": str})
python = {"language": "python"}
db.view("sums", "[(o.id, sum(o.items), [i for i in o.items if i > 2]) for o in orders]", **python)
db.view("kinds", "[(w, len([a for a in audit if a.what == w])) for w in {a.what for a in audit}]", **python)
print("ready", flush=True)
number = db.version
while True:
    number += 1
    with db.transaction() as change:
        if number % 5 == 4 and number > 15:
            change.delete("orders", key=number - 10 - number % 5)
            change.insert("audit", [(number, "delete")])
        else:
            change.insert("orders", [(number - number % 5 if number % 5 == 0 else -number, [1, 2, 3])])
            change.insert("audit", [(number, "insert")])
    print(number, db.version, flush=True)
"""


def killed(path: Path, after: float) -> int:
    """Run the writer, kill it after some seconds, and return the last version that it was told is committed."""
    source = Path(nl.__file__).parent.parent
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source)},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(after)
    child.send_signal(signal.SIGKILL)
    out, _ = child.communicate()
    told = [line.split() for line in out.splitlines() if line.count(" ") == 1]
    return int(told[-1][1]) if told else 0


def check(path: Path, told: int) -> int:
    """What is in the file: every view right, every transaction whole, nothing that was told is missing."""
    with nl.Database(path) as db:
        db.verify()
        assert db.version >= told
        assert len(db.table("audit")) == db.version
        kinds = dict(db.views["kinds"].rows())
        assert len(db.table("orders")) == kinds.get("insert", 0) - kinds.get("delete", 0)
        return db.version


def run(path: Path, kills: int, seed: int) -> int:
    rng = random.Random(seed)
    version = 0
    for _ in range(kills):
        told = killed(path, rng.random() * 0.5)
        now = check(path, told)
        assert now >= version
        version = now
    return version


def test_a_few_kills(tmp_path):
    assert run(tmp_path / "shop.nest", kills=4, seed=1) > 0


@pytest.mark.soak
def test_two_hundred_kills(tmp_path):
    # Ten files, so that the verification after each kill does not outgrow the writing before it.
    assert sum(run(tmp_path / f"{part}.nest", kills=20, seed=part) for part in range(10)) > 200
