"""Parquet files of rows."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from nestling.errors import StoreError
from nestling.storage.lake.store import BlobStore


def parquet_bytes(table: Any, group_rows: int | None) -> bytes:
    """A table of rows as a file, in row groups of so many."""
    import pyarrow.parquet as pq

    sink = BytesIO()
    pq.write_table(table, sink, row_group_size=group_rows, compression="zstd")
    return sink.getvalue()


def footer(store: BlobStore, name: str) -> Any:
    """What a file says of its rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_metadata(store.open(name))
    except (pa.ArrowException, OSError) as error:
        what = str(error).partition("\n")[0]
        raise StoreError(
            f"{name.rpartition('/')[2]} is damaged: {what}", hint="restore it from a copy"
        ) from error
