"""Log-structured tables in a folder: Parquet files, a log of recent changes, and one manifest over all of them."""

from nestling.storage.lake.lake import Lake
from nestling.storage.lake.manifest import DataFile, Manifest, RelationFiles

__all__ = ["DataFile", "Lake", "Manifest", "RelationFiles"]
