"""Where a path leads: a folder of this machine, or what Spark's JVM reaches."""

from __future__ import annotations

import os
from typing import Any

from nestling.engine.spark.hadoop import HadoopStore
from nestling.engine.spark.remote import is_connect
from nestling.errors import StoreError
from nestling.storage.lake.folder import place_of, scheme_of
from nestling.storage.lake.fsspec_store import FsspecStore
from nestling.storage.lake.local import LocalStore
from nestling.storage.lake.store import BlobStore


def store_of(path: str | os.PathLike[str], spark: Any) -> BlobStore:
    """The store at a path or an address."""
    found = place_of(path)
    if not isinstance(found, str):
        return LocalStore(found)
    if is_connect(spark):
        return FsspecStore(found)
    try:
        return HadoopStore(found, spark)
    except OSError as error:
        raise StoreError(
            f"Spark cannot reach {found}: {error.strerror or error}",
            hint=f"see that Spark has a file system for {scheme_of(found)}:, and may use it;"
            f" a local folder of that name is ./{found}",
        ) from error
