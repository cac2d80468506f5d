"""What an XQuery view takes: its maps, and beside them its navigation tables."""

from __future__ import annotations

from collections import Counter
from typing import Any

from nestling.database.inspect import stats
from nestling.database.state import State


def xquery_stats(state: State, name: str) -> dict[str, Any]:
    """What ``stats`` has of its hidden views, added up; rows and bytes of its navigation tables, which are shared."""
    definition = state.xqueries[name]
    hidden = [stats(state, view.name) for view in (*definition.views, *definition.checks)]
    statements = Counter[str]()
    for each in hidden:
        statements.update(each["statements"])
    described = state.engine.described()
    tables = {
        str(table): {"rows": described.entries(table.name), "bytes": described.bytes(table.name, ())}
        for table in definition.translated.tables
    }
    return {
        "rows": sum(each["rows"] or 0 for each in hidden),
        "maps": {map_: entries for each in hidden for map_, entries in each["maps"].items()},
        "bytes": sum(each["bytes"] for each in hidden),
        "statements": dict(statements),
        "waiting": sum(each["waiting"] for each in hidden),
        "evaluated_on_read": next(
            (each["evaluated_on_read"] for each in hidden if each["evaluated_on_read"]), ""
        ),
        "navigation": tables,
    }
