"""Rows in files of other programs: Parquet, and JSON lines. The name says which: ``.parquet``, ``.jsonl``, ``.ndjson``.

Law: what is read of a file of rows is what was written to it. A file is whole when its name appears.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from nestling.calculus.types import Record
from nestling.database.export import to_arrow
from nestling.database.jsonl import from_json, read_lines, write_rows
from nestling.errors import NestlingError, QueryError, StoreError, shown
from nestling.frontend.schema import arrow_rows

FORMATS = {".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
MODES = ("snapshot", "changes")


def mode_argument(mode: object) -> str:
    """What is exported: what there is, or what has changed."""
    if isinstance(mode, str) and mode in MODES:
        return mode
    raise QueryError(f"mode is not {shown(mode)}", hint='mode="snapshot" or mode="changes"')


def format_of(path: Path | str) -> str:
    """The format of a file, by its name; it may be an address."""
    name = PurePosixPath(path)
    found = FORMATS.get(name.suffix.lower())
    if found is None:
        raise StoreError(
            f"{name.name} does not say what it holds",
            hint=f"call it …{', …'.join(FORMATS)}, as what it is to be",
        )
    return found


def write_file(path: Path, record: Record, rows: list[Any]) -> None:
    """Write rows to a file, in the place of the one that is there."""
    with _replacing(path) as new:
        if format_of(path) == "jsonl":
            write_rows(new, record, rows)
        else:
            parquet().write_table(to_arrow(record, rows), new)


def read_file(path: Path, record: Record) -> list[Any]:
    """The rows of a file, as ``record`` has them where a format has no words for a type."""
    try:
        if format_of(path) == "jsonl":
            return [from_json(record, row) for _, row in read_lines(path)]
        return arrow_rows(parquet().read_table(path))
    except OSError as error:
        raise StoreError(
            f"{path} cannot be read ({error})", hint="check its name, and what is in it"
        ) from error
    except ValueError as error:  # Arrow's
        raise StoreError(f"{path} is no Parquet: {error}", hint="check what is in it") from error


def parts_of(folder: Path) -> list[Path]:
    """The files of rows in a folder, in the order of their names; ``folder`` itself where it is a file."""
    if not folder.is_dir():
        return [folder]
    hidden = ("_", ".")  # what Spark and others leave beside them
    return sorted(
        file
        for file in folder.iterdir()
        if file.suffix.lower() in FORMATS and not file.name.startswith(hidden)
    )


def parquet() -> Any:
    """Arrow's reader and writer of Parquet."""
    try:
        import pyarrow.parquet as found
    except ImportError as error:
        raise NestlingError(
            "pyarrow is not installed", hint="pip install pyarrow, or write JSON lines: …/rows.jsonl"
        ) from error
    return found


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Another file, which takes the place of the one at ``path`` when it is whole."""
    new = path.with_name(f".{path.name}-{os.getpid()}-new")
    try:
        yield new
        os.replace(new, path)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written ({error.strerror})", hint="check the path and the disk"
        ) from error
    finally:
        new.unlink(missing_ok=True)
