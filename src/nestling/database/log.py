"""What a database tells ``logging``, under ``nestling``: one line for a slow change, a fallback, a new plan."""

from __future__ import annotations

import logging

from nestling.database.refresh import Refresh

LOG = logging.getLogger("nestling")
#: A change that takes as many seconds is told of.
SLOW = 1.0


def tell_slow(refresh: Refresh) -> None:
    """Tell of a change that took long: of which tables, how many rows, and what it recomputed."""
    if refresh.seconds >= SLOW:
        rows = ", ".join(f"{times:,} of {table}" for table, times in refresh.tables.items()) or "nothing"
        again = f"; recomputed {', '.join(refresh.recomputed)}" if refresh.recomputed else ""
        by = f"; {refresh.queries} queries of Spark, {refresh.bytes:,} bytes" if refresh.queries else ""
        LOG.info("change %d took %.1f s: %s%s%s", refresh.version, refresh.seconds, rows, again, by)
