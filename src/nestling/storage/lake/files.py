"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from nestling.errors import StoreError


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


def write_parquet(path: Path, table: Any, group_rows: int | None) -> None:
    """Put a table of rows at ``path``, in row groups of so many; it does not last yet."""
    import pyarrow.parquet as pq

    pq.write_table(table, path, row_group_size=group_rows, compression="zstd")


def rows_of_file(path: Path) -> int:
    """How many rows a file has, by its footer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError) as error:
        what = str(error).partition("\n")[0]
        raise StoreError(f"{path.name} is damaged: {what}", hint="restore it from a copy") from error
