"""Objects that come, go and change: Nakamura's three queries, and updates along paths.

Run: ``python benchmarks/objects.py [--quick] [--spark]``; with ``--spark``, one object with a million referrers there.

All that is compared takes short turns in one process and is timed in CPU seconds with the collector off; ratios are
medians of several fresh processes (``parts/turns``).
The paper times triggers, and so do the ratios: a generated trigger beside a hand-written one that allows the same. With
"inserts" tables only grow; with "withdrawals" nothing changes, and a fifth of all transactions is taken back; with
"attribute updates" costs, prices, quantities and names get new values. Beside them, at the largest amount: what it
costs to read the whole answer at the end, which hand-written code keeps ready and the database computes where that is
cheaper; and the whole call of a user, ``db.insert``, ``db.delete`` or ``db.update`` of one row, as a multiple of the
same hand-written trigger.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.parts.goals import show_goals
from benchmarks.parts.objects import agree, three_queries
from benchmarks.parts.paths import path_updates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--spark", action="store_true", help="one object with a million referrers on Spark")
    args = parser.parse_args()
    quick = args.quick
    if args.spark:
        from benchmarks.parts.referrers import renames

        show_goals(renames(quick))
        return
    agree(60 if quick else 600)
    show_goals([*three_queries(quick), *path_updates(quick)])


if __name__ == "__main__":
    main()
