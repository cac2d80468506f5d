"""TPC-H's own rows, as ``tpchgen-cli`` writes them, in the columns and the order of ``tpch.events``.

Without that program on the path, or beside the interpreter, there are none, and ``tpch`` makes rows of its own.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from random import Random
from shutil import which
from tempfile import TemporaryDirectory

from .tpch import Entry, Size, interleaved
from .workload import Event, Row

PROGRAM = "tpchgen-cli"


def found() -> str | None:
    """The program, if it is there."""
    return which(PROGRAM) or which(PROGRAM, path=str(Path(sys.executable).parent))


def is_there() -> bool:
    """Whether the program can be run."""
    return found() is not None


def stream(size: Size) -> tuple[list[Event], list[Event]]:
    """The nations, which never change, and all other events: what ``tpch.load`` and ``tpch.events`` give."""
    with TemporaryDirectory() as place:
        subprocess.run(
            [found() or PROGRAM, "-s", str(size.scale), f"--output-dir={place}"],
            check=True,
            capture_output=True,
        )
        files = {
            path.stem: [line.removesuffix("|").split("|") for line in path.read_text().splitlines()]
            for path in Path(place).glob("*.tbl")
        }
    # Below scale 0.01 there are too few suppliers for four different ones to each part.
    files["partsupp"] = list({tuple(row[:2]): row for row in files["partsupp"]}.values())
    nations = [("nation", (int(key), name, int(region)), +1) for key, name, region, *_ in files["nation"]]
    others: list[tuple[str, int, Iterator[Row]]] = [
        (table, len(files[table]), map(read, files[table])) for table, read in _READ.items()
    ]
    orders = _orders(files["orders"], files["lineitem"])
    rng = Random(size.seed)
    return nations, list(interleaved(orders, len(files["orders"]), others, size.deleted, rng))


def _cents(text: str) -> int:
    return round(float(text) * 100)


def _customer(row: list[str]) -> Row:
    return int(row[0]), int(row[3]), _cents(row[5]), row[6]


def _supplier(row: list[str]) -> Row:
    return int(row[0]), int(row[3])


def _part(row: list[str]) -> Row:
    return int(row[0]), row[4]


def _partsupp(row: list[str]) -> Row:
    return int(row[0]), int(row[1]), int(row[2]), _cents(row[3])


_READ = {"customer": _customer, "supplier": _supplier, "part": _part, "partsupp": _partsupp}


def _orders(orders: list[list[str]], lines: list[list[str]]) -> Iterator[Entry]:
    by_order: dict[str, list[Row]] = {}
    for line in lines:
        by_order.setdefault(line[0], []).append(_line(line))
    for row in orders:
        order = (int(row[0]), int(row[1]), date.fromisoformat(row[4]), int(row[7]))
        yield [("orders", order), *(("lineitem", line) for line in by_order.get(row[0], ()))]


def _line(row: list[str]) -> Row:
    return (
        int(row[0]), int(row[3]), int(row[1]), int(row[2]), round(float(row[4])), _cents(row[5]), _cents(row[6]),
        date.fromisoformat(row[10]),
    )  # fmt: skip
