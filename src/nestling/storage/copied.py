"""A copy of a store that is open, as a file of its own.

Law: the copy is complete when its name appears, and holds what the store held at one moment.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from nestling.errors import StoreError
from nestling.storage.connect import Translated, sync


def copy_store(db: sqlite3.Connection, path: Path) -> None:
    """Write what ``db`` holds to ``path``, where nothing is yet."""
    where = path.resolve()
    if where.exists():
        raise StoreError(f"{where} is there already", hint="choose another name, or remove it first")
    if not where.parent.is_dir():
        raise StoreError(f"there is no folder {where.parent}", hint="make it first")
    new = where.with_name(f"{where.name}-new")
    try:
        with Translated(where), closing(sqlite3.connect(new, isolation_level=None)) as copy:
            db.backup(copy)
        sync(new)
        new.replace(where)
        sync(where.parent)
    except OSError as error:
        raise StoreError(
            f"{where} cannot be written ({error.strerror})", hint="check the path and the disk"
        ) from error
    finally:
        for suffix in "", "-wal", "-shm":
            new.with_name(f"{new.name}{suffix}").unlink(missing_ok=True)
