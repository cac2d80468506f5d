"""XMark, the paper's table: Q1, Q5a and Q5b by size of document, an edit against update + parse + query.

Run: ``python benchmarks/xmark.py [--quick] [--sizes 0.1,1,10]``, sizes in MB. For each size: the load (CPU s/MB, and
resident bytes per byte of text), then for each experiment the median CPU time of an edit by a handle, without a view
and with one that follows it, and what recomputation costs: Saxon's parse and its query on the tree (``pip install
saxonche``; without it these columns are empty). ``× whole`` is edit + parse + query, ``× hot`` the query alone, each
over the edit with its view. The experiments are those of Foster et al. (2008): Q1 with a bid, which is irrelevant to
it; Q5 (the prices from 40 on) with the first sale deleted (a) and a sale inserted as first (b).
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from nestling import Database
from tests.documents.xmark import QUERIES, Auctions

Q5 = "<r>{for $i in /site/closed_auctions/closed_auction where $i/price/text() >= 40 return $i/price}</r>"
#: How many MB a generator of factor 1 makes.
MB_PER_FACTOR = 32.0
RUNS = 40


def resident() -> int:
    """Bytes that this process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def timed(action: Callable[[], object]) -> float:
    """CPU seconds."""
    start = process_time()
    action()
    return process_time() - start


def saxon(path: Path, query: str) -> tuple[float, float] | None:
    """What Saxon takes to parse a document, and to answer a query on the tree."""
    try:
        from saxonche import PySaxonProcessor
    except ModuleNotFoundError:
        return None
    processor: Any = PySaxonProcessor(license=False)
    trees: list[Any] = []
    parse = timed(lambda: trees.append(processor.parse_xml(xml_file_name=str(path))))
    run = processor.new_xquery_processor()
    run.set_context(xdm_item=trees[0])
    run.set_query_content(query)
    run.run_query_to_string()
    return parse, median(timed(run.run_query_to_string) for _ in range(5))


def edits(db: Database, made: Auctions, experiment: str) -> float:
    """The median time of an edit, by a handle."""
    document = db.document("auction.xml")
    sales, bid = (
        document.at("/site/closed_auctions"),
        document.at("/site/open_auctions/open_auction[1]/current"),
    )
    times = []
    for _ in range(RUNS):
        if experiment == "Q1":
            times.append(timed(partial(bid.insert, made.bidder(), "before")))
        elif experiment == "Q5b":
            times.append(timed(partial(sales.insert, made.closed_auction().strip(), "first")))
        else:
            sales.insert(made.closed_auction().strip(), "first")
            first = sales.at("closed_auction[1]")
            times.append(timed(first.delete))
    return median(times)


def measure(size: float, folder: Path) -> None:
    """One line per experiment."""
    made = Auctions(size / MB_PER_FACTOR)
    path = folder / f"{size}.xml"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(made.parts())
    mega = path.stat().st_size / 1e6
    for experiment, query in (("Q1", QUERIES["Q1"]), ("Q5a", Q5), ("Q5b", Q5)):
        gc.collect()
        before = resident()
        db = Database()
        load = timed(partial(db.document, "auction.xml", path))
        gc.collect()
        taken = (resident() - before) / mega / 1e6
        alone = edits(db, made, experiment)
        view = db.view("v", query, language="xquery")
        followed = edits(db, made, experiment)
        found = saxon(path, query)
        stats = db.stats()["v"]
        rows = sum(table["rows"] for table in stats["navigation"].values())
        taken_by_tables = sum(table["bytes"] for table in stats["navigation"].values())
        line = f"{mega:8.2f} {experiment:4} {load / mega:9.3f} {taken:8.2f} {alone * 1e6:9.0f} {followed * 1e6:9.0f}"
        if found is None:
            line += f" {'':>9} {'':>9} {'':>9} {'':>9}"
        else:
            parse, hot = found
            line += f" {parse:9.3f} {hot * 1e3:9.2f} {(alone + parse + hot) / followed:9.0f} {hot / followed:9.1f}"
        print(f"{line} {stats['bytes'] / 1e3:8.1f} {rows:9} {taken_by_tables / 1e3:9.1f}", flush=True)
        assert view.xml() is not None
        db.close()


def siblings(number: int) -> float:
    """The median time of an insertion in the middle of so many siblings."""
    db = Database()
    document = db.document("list", (b"<s>" + b"<a>1</a>" * number + b"</s>"))
    middle = document.at(f"/s/a[{number // 2}]")
    return median(timed(partial(middle.insert, "<a>2</a>", "after")) for _ in range(RUNS))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="0.1,1,10,33")
    parser.add_argument("--quick", action="store_true", help="the smallest sizes alone")
    parser.add_argument("--against", default="saxon", help="the peer is always Saxon, where it is installed")
    options = parser.parse_args()
    sizes = [0.1, 0.5] if options.quick else [float(size) for size in options.sizes.split(",")]
    print(
        "      MB      load s/MB × text  edit µs   view µs   parse s    hot ms   × whole    × hot    maps kB  nav rows"
        "    nav kB"
    )
    with TemporaryDirectory() as folder:
        for size in sizes:
            measure(size, Path(folder))
    print("\nan insertion in the middle of a sibling list, µs (median of 40)")
    for number in (1_000, 10_000) if options.quick else (1_000, 100_000, 1_000_000):
        print(f"{number:10} {siblings(number) * 1e6:9.0f}", flush=True)


if __name__ == "__main__":
    main()
