"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Put ``data`` at ``path``; after a crash there is what was there before, or all of it."""
    temporary = path.with_name(f"{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make what was created, renamed or removed in a folder last."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_all(folder: Path) -> None:
    """Make a folder that another program wrote last, with all that is in it."""
    for path in (*folder.rglob("*"), folder, folder.parent):
        sync_folder(path)  # a file is synced through its handle like a folder
