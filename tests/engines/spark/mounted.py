"""A folder behind a scheme of Hadoop's: ``viewfs:`` is no path that the driver could open."""

from pathlib import Path
from typing import Any
from uuid import uuid4

#: What a path begins with that is to be reached by ``viewfs:`` only.
BEHIND = "viewfs of "


def mounted(spark: Any, folder: Path) -> str:
    """The address of a folder in a table of mounts of its own."""
    table = f"lake{uuid4().hex[:8]}"
    folder.mkdir(parents=True, exist_ok=True)
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    settings.set(f"fs.viewfs.mounttable.{table}.link./data", folder.as_uri())
    return f"viewfs://{table}/data"


def place(spark: Any, path: object) -> str:
    """A path as it is, or the address by which the folder that it names is mounted in this process."""
    text = str(path)
    return f"{mounted(spark, Path(text[len(BEHIND) :]))}/lake" if text.startswith(BEHIND) else text
