"""Stores to test with, and what is on disk of them."""

import os
import subprocess
import sys
from pathlib import Path

from nestling.storage.file import FileStore

QUICK = "/dev/shm" if Path("/dev/shm").is_dir() else None  # a model test needs no disk that waits for syncs
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def contents(store):
    """All that a store gives back."""
    at, rows = store.read_snapshot()
    return store.definitions(), at, list(rows), list(store.read_log(at))


def filled(path, durability="full"):
    """A store with definitions, a snapshot and a log, all of them longer than a page."""
    store = FileStore.open(path, durability=durability)
    for number in range(8):
        store.put_definition("view", f"v{number}", f"x{number} " * 40 * number)
    store.drop_definition("view", "v3")
    for number in range(40):
        store.append(f"entry {number} " * number)
    rows = ((f"key {number}", f"payload {number} " * 3) for number in range(100))
    store.write_snapshot(30, [("m", rows), ("none", []), ("n", [("k" * 500, "p" * 9000)])])
    for number in range(20):
        store.append(f"more {number} " * 30)
    store.put_definition("view", "late", "text")
    return store


def image(path):
    """The files of a store at this moment: what a kill would leave."""
    files = {suffix: Path(f"{path}{suffix}") for suffix in ("", "-wal", "-lock")}
    return {suffix: file.read_bytes() for suffix, file in files.items() if file.exists()}


def lay_out(files, path):
    for suffix in "", "-wal", "-shm", "-lock":
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    for suffix, data in files.items():
        Path(f"{path}{suffix}").write_bytes(data)


def run(script, **options):
    command = [sys.executable, "-c", script]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False, **options)
