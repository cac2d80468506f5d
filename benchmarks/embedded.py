"""The embedded engine: generated triggers beside hand-written ones, and how cost grows with the data.

Run: ``python benchmarks/embedded.py [--quick]``. All that is compared takes turns in one run and is timed in CPU
seconds with the collector off; absolute figures depend on the machine, ratios less so. The last table sets every goal
beside what was measured.

"generated" is the trigger program without the tables that no trigger reads, which is what the hand-written code keeps;
"with tables" keeps those as a database does. "hybrid" leaves conditions on aggregates to a reading: what waited
is passed on at the end of a run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.parts.goals import show_goals
from benchmarks.parts.growing import deep_updates, growth_of_related
from benchmarks.parts.triggers import beside_hand_written, single_events

PARTS = (beside_hand_written, single_events, growth_of_related, deep_updates)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    quick = parser.parse_args().quick
    show_goals([goal for part in PARTS for goal in part(quick)])


if __name__ == "__main__":
    main()
