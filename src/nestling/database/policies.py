"""From what was decided to store of a view: when it follows its tables, and how its guard is stored."""

from __future__ import annotations

from dataclasses import replace

from nestling.database.definitions import ViewDef
from nestling.database.storing import Decision
from nestling.database.view_state import OnRead, Policy, maintained_by
from nestling.transform.viewlet.storing import BY_KEYS, Storing


def policy(view: ViewDef, decision: Decision) -> Policy:
    """When a view follows its tables, and by what."""
    if decision.storing is None:
        return OnRead(decision.why, decision.code)
    return maintained_by(view.refresh, decision.view)


def guarded_by(decision: Decision | None) -> Storing:
    """How the guard of a view is stored: by the same rule, so that the two share their maps."""
    chosen = decision.storing if decision else None
    return replace(chosen, rows=False, bags=frozenset()) if chosen else BY_KEYS
