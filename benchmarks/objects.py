"""Objects that come, go and change: Nakamura's three queries, and updates along paths.

Run: ``python benchmarks/objects.py [--quick]``. All that is compared takes turns in one run and is timed in CPU seconds
with the collector off. The paper times triggers, and so do the ratios: a generated trigger beside a hand-written one
that allows the same. With "inserts" tables only grow; with "withdrawals" nothing changes, and a fifth of all
transactions is taken back; with "attribute updates" costs, prices, quantities and names get new values. The column
beside them is the whole call of a user, ``db.insert``, ``db.delete`` or ``db.update`` of one row, as a multiple of the
same hand-written trigger.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.parts.goals import show_goals
from benchmarks.parts.objects import agree, path_updates, three_queries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    quick = parser.parse_args().quick
    agree(60 if quick else 600)
    show_goals([*three_queries(quick), *path_updates(quick)])


if __name__ == "__main__":
    main()
