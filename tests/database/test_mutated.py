"""Law: a database file with changed bits, cut off or crafted opens with what was acknowledged, or as a StoreError."""

import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import nestling as nl
from tests.database.crafted import Parsed, craft, parse
from tests.database.test_crafted import opened
from tests.database.test_kill import plain
from tests.database.writer import declare, step
from tests.storage.stores import QUICK, image, lay_out

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def images():
    """A database closed, the same killed while it was open, and what it held; and a folder to work in."""
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:
        path = Path(folder, "sound.nest")
        with nl.Database(path) as db:
            declare(db)
            db.insert("customers", [("c0",), ("c1",)])
            for number in range(1, 15):
                step(db, number % 2, (number + 1) // 2)
                if number == 8:
                    db.view("late", "SELECT name FROM customers")  # writes a snapshot
            held, killed = held_by(db), image(path)
        yield [killed, image(path)], held, parse(path), Path(folder)


def held_by(db: nl.Database) -> Any:
    tables = {name: plain(table) for name, table in db.tables.items()}
    return tables, {name: plain(view) for name, view in db.views.items()}, db.version, set(db._constraints)


def damaged(files: Files, draw: random.Random) -> Files:
    """One of the files with some bits changed, a piece overwritten, or its end cut off."""
    suffix = draw.choice([suffix for suffix in ("", "-wal") if suffix in files])
    bad = bytearray(files[suffix])
    match draw.randrange(5):
        case 0:
            del bad[draw.randrange(len(bad)) :]
        case 1:
            at, size = draw.randrange(len(bad)), draw.choice([8, 512, 4096])
            bad[at : at + size] = bytes(len(bad[at : at + size]))
        case kind:
            for _ in range(kind):
                bad[draw.randrange(len(bad))] ^= 1 << draw.randrange(8)
    return {**files, suffix: bytes(bad)}


def end_of(files: Files, held: Any, path: Path) -> str:
    """How opening ends: with what was acknowledged, or with a StoreError and every byte as it was."""
    lay_out(files, path)
    try:
        with nl.Database(path) as db:
            assert held_by(db) == held
            db.verify()
    except nl.StoreError as error:
        assert error.hint
        left = {suffix: data for suffix, data in files.items() if suffix != "-lock"}
        assert image(path).items() >= left.items()
        return "refused"
    return "right"


def soak(images: Any, seed: int, number: int) -> Counter[str]:
    (killed, closed), held, parsed, folder = images
    draw, ends = random.Random(seed), Counter[str]()
    template = folder / "template.nest"
    template.write_bytes(closed[""])
    for _ in range(number):
        if draw.random() < 0.3:
            ends[f"crafted {crafted(parsed, template, folder, draw)}"] += 1
        else:
            ends[end_of(damaged(draw.choice((killed, closed)), draw), held, folder / "bad.nest")] += 1
    return ends


def crafted(parsed: Parsed, template: Path, folder: Path, draw: random.Random) -> str:
    craft(parsed, template, folder / "crafted.nest", draw)
    return opened(folder / "crafted.nest")


def test_the_files_are_sound(images):
    files, held, _, folder = images
    for each in files:
        assert end_of(each, held, folder / "sound.nest") == "right"


def test_mutated_files(images):
    assert soak(images, seed=0, number=40)["refused"] > 5


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 11))
def test_a_thousand_mutated_files(images, seed):
    ends = soak(images, seed, number=100)
    assert ends["refused"] > 20
    assert sum(ends.values()) == 100
