"""A document whose process is killed or interrupted in the middle of an update: all of it is there, or nothing."""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import nestling as nl
from tests.documents.writer import QUERIES, expected, update
from tests.soak.interrupts import at_place
from tests.storage.stores import ENVIRONMENT, QUICK


def killed(path: Path, draw: random.Random) -> int:
    """Run the writer, kill it after some updates, and return how many it was told are committed."""
    command = [sys.executable, "-m", "tests.documents.writer", str(path)]
    told = 0
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        wanted = draw.randrange(25)  # 0: while it is still being opened, loaded or defined
        lines = [child.stdout.readline() for _ in range(wanted)]
        time.sleep(draw.random() * (0.05 if wanted else 1.5))
        child.kill()
        lines += list(child.stdout)
        for line in lines:
            if line.endswith("\n") and line != "ready\n":
                told = int(line)
    assert child.returncode == -9
    return told


def check(path: Path, told: int) -> int:
    """All updates up to one are in the file, whole; none that was told is missing."""
    with nl.Database(path) as db:
        if "d" not in db.documents:
            return told
        document = db.document("d")
        done = document.xml().count("<e n=")
        assert done >= told
        assert document.xml() == expected(done)
        db.verify(maps=True)
        for name in db.views:
            if name == "number":
                assert db.views[name].xml() == str(done)
        return done


def run(path: Path, kills: int, seed: int) -> int:
    draw, done = random.Random(seed), 0
    for _ in range(kills):
        done = check(path, max(done, killed(path, draw)))
    return done


@pytest.fixture
def path():
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:
        yield Path(folder, "d.nest")


def test_a_few_kills(path):
    assert run(path, kills=2, seed=1) > 0


@pytest.mark.soak
@pytest.mark.parametrize("part", range(5))
def test_a_hundred_kills(path, part):
    assert run(path, kills=20, seed=part) > 20


SMALL = "<s><log/><items>" + "".join(f'<i id="{n}"><v>{n}</v></i>' for n in range(60)) + "</items></s>"
CHANGES = {
    "update": lambda db: db.xquery(update(4)),
    "sync": lambda db: db.document("d").sync(
        SMALL.replace("<v>7</v>", "<w/>").replace('<i id="9">', "<n/><i>")
    ),
    "paper": lambda db: db.document("d").apply("UNode(None, USeq[(2, UNode(k, UDel)), (3, UIns(<z/>))])"),
    "define": lambda db: db.view("more", "<r>{//v[. = 3]}</r>", language="xquery"),
    "load": lambda db: db.document("e", SMALL),
}


def defined(db: nl.Database) -> nl.Database:
    db.document("d", SMALL)
    db.view("copies", QUERIES["copies"], language="xquery")
    return db


def state(db: nl.Database) -> dict[str, str]:
    found = {name: document.xml() for name, document in db.documents.items()}
    return found | {f"view {name}": view.xml() for name, view in db.views.items()}


@pytest.mark.parametrize("kind", CHANGES)
def test_what_is_interrupted_is_done_or_not_begun(path, kind):
    """At places spread over the whole change: afterwards everything is as before, or as after it, and works."""
    act = CHANGES[kind]
    done = defined(nl.Database())
    before = state(done)
    act(done)
    after = state(done)
    place, hits = 1, 0
    while True:
        path.unlink(missing_ok=True)
        db = defined(nl.Database(path))
        try:
            with at_place(place, KeyboardInterrupt):
                act(db)
            break
        except KeyboardInterrupt:
            hits += 1
        found = state(db)
        assert found in (before, after), place
        db.verify(maps=True)
        if found == before:
            act(db)
        assert state(db) == after
        db.close()
        with nl.Database(path) as db:
            assert state(db) == after
            db.verify(maps=True)
        place = 4 * place + 1
    db.close()
    assert hits > 3
