"""What an XQuery view takes: its maps, and beside them its navigation tables."""

from __future__ import annotations

from typing import Any

from nestling.database.inspect import stats
from nestling.database.state import State


def xquery_stats(state: State, name: str) -> dict[str, Any]:
    """Of each hidden view what ``stats`` has, added up; of each navigation table its rows. They are never added up."""
    definition = state.xqueries[name]
    hidden = [stats(state, view.name) for view in (*definition.views, *definition.checks)]
    tables = {
        str(table): {"rows": state.engine.entries(table.name)} for table in definition.translated.tables
    }
    return {"views": hidden, "bytes": sum(each.get("bytes") or 0 for each in hidden), "navigation": tables}
