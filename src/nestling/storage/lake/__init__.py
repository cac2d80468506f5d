"""Log-structured tables in a folder: Parquet files, a log of recent changes, and one manifest over all of them."""

from nestling.storage.lake.lake import Lake, Manifest, Relation

__all__ = ["Lake", "Manifest", "Relation"]
