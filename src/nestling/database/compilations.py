"""The program of all views: compiled when a definition asks for it, and not again to install what was asked about.

Law (9): a definition that was tried, and then is made, has the program that was tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nestling.database.policies import guarded_by
from nestling.database.state import guard_of
from nestling.database.view_state import Views
from nestling.program.statements import Program, TableDecl
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.drafts import Drafts, drafts_over
from nestling.transform.viewlet.patient import patient
from nestling.transform.viewlet.storing import Storing


@dataclass
class Compilations:
    """What was compiled for the definitions so far: the last program, and until rows come what it was made from."""

    drafts: Drafts | None = None
    _last: tuple[Any, Program] | None = field(default=None, repr=False)

    def begin(self, tables: Mapping[str, TableDecl]) -> Drafts:
        """Drafts for all that is compiled until rows come: one definition often follows another."""
        if self.drafts is None or self.drafts.tables != tables:
            self.drafts = drafts_over(tables)
        return self.drafts

    def forget(self) -> None:
        """Rows come: what is installed has all it needs."""
        self.drafts = None

    def of(self, tables: Mapping[str, TableDecl], views: Views) -> Program:
        """The program of all views that share an engine, with their guards and logs."""
        watched = [levels for name, levels in views.watched.items() if name not in views.lazy]
        logs = {level.name: level.query for levels in watched for level in levels}
        guards = {
            guard_of(name): guard for name, guard in views.guards.items() if not views[name].may_lack_value
        }
        asked = (tables, views.shared | guards, logs, stored(views), views.hybrid)
        if self._last is None or self._last[0] != asked:
            drafts = self.drafts if self.drafts and self.drafts.tables == tables else None
            program = compile_views(*asked[:4], drafts=drafts)
            self._last = asked, patient(program, views.hybrid)
        return self._last[1]


def stored(views: Views) -> dict[str, Storing]:
    """How each view is stored."""
    found = {name: decision.storing for name, decision in views.decisions.items()}
    guards = {guard_of(name): guarded_by(views[name].decision) for name in views.guards}
    return {name: storing for name, storing in found.items() if storing is not None} | guards
