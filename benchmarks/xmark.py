"""XMark, the paper's table: Q1, Q5a, Q5b and Q8 by size of document, an edit against update + parse + query.

Run: ``python benchmarks/xmark.py [--quick] [--sizes 0.1,1,10,33,100] [--siblings 1000,100000]``, sizes in MB. For each
size: the load (CPU s, beside lxml's own parse and the bound of three times that and 0.15 s/MB; resident bytes per byte
of text), then for each experiment the median CPU time of an edit by a handle (40 edits, the least of eight rounds),
without a view and with one that follows it, and what recomputation costs: Saxon's parse and its query on the tree
(``pip install saxonche``; without it these columns are empty). ``× whole`` is edit + parse + query, ``× hot`` the
query alone, each over the edit with its view. The experiments are those of Foster et al. (2008): Q1 with a bid, which
is irrelevant to it; Q5 (the prices from 40 on) with the first sale deleted (a) and a sale inserted as first (b); and
Q8, a join, with such a sale, up to 33 MB: there Saxon takes the square. Then one insertion among many siblings, and
what ``explain`` says of all twenty questions.
"""

from __future__ import annotations

import argparse
import gc
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time, sleep
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from nestling import Database
from tests.documents.xmark import QUERIES, Auctions

Q5 = "<r>{for $i in /site/closed_auctions/closed_auction where $i/price/text() >= 40 return $i/price}</r>"
#: How many MB a generator of factor 1 makes.
MB_PER_FACTOR = 32.0
RUNS, ROUNDS = 40, 8
#: Seconds between two rounds: what else the machine does comes and goes.
PAUSE = 0.4
#: A query of Saxon that takes longer, in seconds, is run once.
SLOW = 5.0
#: MB up to which the join is measured.
LARGEST_JOIN = 40.0
EXPERIMENTS = {"Q1": QUERIES["Q1"], "Q5a": Q5, "Q5b": Q5, "Q8": QUERIES["Q8"]}


def resident() -> int:
    """Bytes that this process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def timed(action: Callable[[], object]) -> float:
    """CPU seconds."""
    start = process_time()
    action()
    return process_time() - start


class Saxon:
    """A document as Saxon has it: what its parse takes, and a query on the tree."""

    def __init__(self, path: Path) -> None:
        from saxonche import PySaxonProcessor

        self.processor: Any = PySaxonProcessor(license=False)
        self.trees: list[Any] = []
        self.parse = timed(lambda: self.trees.append(self.processor.parse_xml(xml_file_name=str(path))))

    def hot(self, query: str) -> float:
        """The median time of a query that has been run before."""
        run = self.processor.new_xquery_processor()
        run.set_context(xdm_item=self.trees[0])
        run.set_query_content(query)
        first = timed(run.run_query_to_string)
        return median(timed(run.run_query_to_string) for _ in range(5)) if first < SLOW else first


def saxon(path: Path) -> Saxon | None:
    try:
        return Saxon(path)
    except ModuleNotFoundError:
        return None


def lxml_parse(path: Path) -> float | None:
    """CPU seconds of lxml's parse."""
    try:
        from lxml import etree
    except ModuleNotFoundError:
        return None
    return timed(lambda: etree.parse(str(path)))


def edits(db: Database, made: Auctions, experiment: str, first: int) -> float:
    """The median time of an edit, by a handle: the least of some rounds, for what else the machine does only adds.

    The rounds draw alike in documents of all sizes, so that what is inserted is as large. Bids go to an auction of
    their own in each round, from the one of number ``first`` on: hundreds at one spot would give it other keys.
    """
    made.random.seed(experiment)
    return min(one_round(db, made, experiment, first + number) for number in range(ROUNDS))


def one_round(db: Database, made: Auctions, experiment: str, number: int) -> float:
    """The median time of an edit in one round."""
    sleep(PAUSE)
    document = db.document("auction.xml")
    sales, bid = (
        document.at("/site/closed_auctions"),
        document.at(f"/site/open_auctions/open_auction[{number}]/current"),
    )
    times = []
    for _ in range(RUNS):
        if experiment == "Q1":
            times.append(timed(partial(bid.insert, made.bidder(), "before")))
        elif experiment == "Q5a":
            sales.insert(made.closed_auction().strip(), "first")
            first = sales.at("closed_auction[1]")
            times.append(timed(first.delete))
        else:
            times.append(timed(partial(sales.insert, made.closed_auction().strip(), "first")))
    return median(times)


def loaded(path: Path) -> None:
    """Print what loading a document takes: CPU seconds, and resident bytes per byte of text."""
    gc.collect()
    before, db = resident(), Database()
    load = timed(partial(db.document, "auction.xml", path))
    gc.collect()
    print(load, (resident() - before) / path.stat().st_size)


def in_a_fresh_process(path: Path) -> tuple[float, float]:
    """What ``loaded`` prints where nothing was loaded before: freed memory stays resident."""
    command = [sys.executable, __file__, "--load", str(path)]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(found[0]), float(found[1])


def measure(size: float, folder: Path) -> dict[str, float]:
    """The load, and one line per experiment; the time of each edit with its view."""
    times: dict[str, float] = {}
    made = Auctions(size / MB_PER_FACTOR)
    path = folder / f"{size}.xml"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(made.parts())
    mega = path.stat().st_size / 1e6
    load, taken = in_a_fresh_process(path)
    parse = lxml_parse(path)
    bound = "" if parse is None else f" (bound {3 * parse + 0.15 * mega:.2f}, lxml {parse:.2f})"
    print(f"{mega:.2f} MB: load {load:.2f} s{bound}, {taken:.2f} × the text resident", flush=True)
    db = Database()
    db.document("auction.xml", path)
    peer = saxon(path)
    for experiment, query in EXPERIMENTS.items():
        if experiment == "Q8" and mega > LARGEST_JOIN:
            continue
        alone = edits(db, made, experiment, 1)
        view = db.view("v", query, language="xquery")
        times[experiment] = followed = edits(db, made, experiment, 1 + ROUNDS)
        stats = db.stats()["v"]
        rows = sum(table["rows"] for table in stats["navigation"].values())
        taken_by_tables = sum(table["bytes"] for table in stats["navigation"].values())
        line = f"{mega:8.2f} {experiment:4} {alone * 1e6:9.0f} {followed * 1e6:9.0f}"
        if peer is None:
            line += f" {'':>9} {'':>9} {'':>9} {'':>9}"
        else:
            hot = peer.hot(query)
            whole = (alone + peer.parse + hot) / followed
            line += f" {peer.parse:9.3f} {hot * 1e3:9.2f} {whole:9.0f} {hot / followed:9.1f}"
        print(f"{line} {stats['bytes'] / 1e3:8.1f} {rows:9} {taken_by_tables / 1e3:9.1f}", flush=True)
        assert view.xml() is not None
        db.drop("v")
    db.close()
    path.unlink()
    return times


def classes() -> None:
    """What ``explain`` says of the twenty questions."""
    db = Database()
    db.document("auction.xml", Auctions(0.0004).text())
    for name, query in QUERIES.items():
        text = db.view(name, query, language="xquery").explain()
        codes = dict.fromkeys(re.findall(r"^[! ] ([A-Z][A-Z-]+) ", text, re.MULTILINE))
        kept = "maintained" if "computed from its tables on every read" not in text else "on read"
        print(f"{name:4} {kept:11} {' '.join(codes)}")


def siblings(number: int) -> float:
    """The median time of an insertion in the middle of so many siblings."""
    db = Database()
    document = db.document("list", (b"<s>" + b"<a>1</a>" * number + b"</s>"))
    middle = document.at(f"/s/a[{number // 2}]")
    return median(timed(partial(middle.insert, "<a>2</a>", "after")) for _ in range(RUNS))


def numbers(text: str) -> list[float]:
    return [float(each) for each in text.split(",") if each]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="0.1,1,10,33,100")
    parser.add_argument("--siblings", default="1000,100000,1000000")
    parser.add_argument("--quick", action="store_true", help="the smallest sizes alone")
    parser.add_argument("--against", default="saxon", help="the peer is always Saxon, where it is installed")
    parser.add_argument("--load", type=Path, help="only load this document, and say what it takes")
    options = parser.parse_args()
    if options.load is not None:
        loaded(options.load)
        return
    sizes, siblings_ = ("0.1,0.5", "1000,10000") if options.quick else (options.sizes, options.siblings)
    print(
        "      MB        edit µs   view µs   parse s    hot ms   × whole     × hot  maps kB  nav rows    nav kB"
    )
    taken: dict[str, list[float]] = {}
    with TemporaryDirectory() as folder:
        for size in numbers(sizes):
            for experiment, time in measure(size, Path(folder)).items():
                taken.setdefault(experiment, []).append(time)
    print("\nlargest over smallest time of an edit with its view, among all sizes")
    for experiment, times in taken.items():
        print(f"{experiment:4} {max(times) / min(times):.2f}")
    print(f"\nan insertion in the middle of a sibling list, µs (median of {RUNS})")
    for number in map(int, numbers(siblings_)):
        print(f"{number:10} {siblings(number) * 1e6:9.0f}", flush=True)
    print("\nwhat the questions cost, by the classes of their constructs")
    classes()


if __name__ == "__main__":
    main()
