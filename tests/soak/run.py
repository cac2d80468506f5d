"""Running a plan: after every change, every view is compared with its oracle, and every refusal with the model."""

import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import nestling as nl
from nestling.calculus.terms import Relation
from nestling.calculus.traverse import walk
from nestling.errors import ChangeError, NestlingError, QueryError
from tests.soak.fold import Watcher
from tests.soak.interrupts import OUTSIDE, interrupted
from tests.soak.model import Model, Refused, after, applied
from tests.soak.oracle import Oracle, Unjudged, expected, flat, rounding
from tests.soak.plan import Plan, View
from tests.soak.steps import Abandoned, Step, run
from tests.soak.values import Frozen, counted, difference

#: How often a view that is refreshed later is read: after so many changes.
LATER = 3
#: How often all that is stored is compared with the reference.
VERIFIED = 12
#: A view that is computed at every reading reads no more than so many relations.
MOST_ON_READ = 5


class Wrong(AssertionError):
    """A database that does not do what it should."""


@dataclass
class Tally:
    """What was done."""

    comparisons: int = 0
    empty: int = 0
    #: What the oracle could say nothing of.
    unjudged: int = 0
    refused_views: Counter[str] = field(default_factory=Counter)
    accepted_views: int = 0
    refused_changes: int = 0
    accepted_changes: int = 0
    reopened: int = 0
    folded: int = 0
    interrupted: int = 0

    def add(self, other: "Tally") -> None:
        for name, value in vars(other).items():
            if isinstance(value, Counter):
                getattr(self, name).update(value)
            else:
                setattr(self, name, getattr(self, name) + value)


class Run:
    """A database, what it should hold, and who should say so."""

    def __init__(self, plan: Plan, folder: str) -> None:
        self.plan, self.tally = plan, Tally()
        self.path = Path(folder) / "soak.nest" if plan.durable else None
        self.model: Model = {table.name: [] for table in plan.tables}
        self.oracle = Oracle()
        self.db = self.opened()
        self.views = self.defined(plan.views)
        self.constraints = self.constrained()
        self.tell(self.model)
        self.look(0)
        self.watchers = self.watched()

    # -- definitions

    def opened(self) -> Any:
        return nl.Database(self.path, memory=self.plan.memory)

    def defined(self, views: tuple[View, ...]) -> list[View]:
        """The views that are accepted, once the tables are there."""
        for table in self.plan.tables:
            refers = dict(table.references) or None
            self.db.table(table.name, table.ddl, key=table.key or None, references=refers)
        found: list[View] = []
        for view in views:
            missing = {other.name for other in views} - {other.name for other in found}
            if not missing & set(re.findall(r"\w+", view.text)) and self.define(view):
                found.append(view)
        return found

    def define(self, view: View) -> bool:
        try:
            knobs = {"language": view.language, "store": view.store, "refresh": view.refresh}
            self.db.view(view.name, view.text, strict=False, **knobs)
        except QueryError as error:
            self.tally.refused_views[str(error).split("\n", 1)[0]] += 1
            return False
        if self.is_slow(view):
            self.db.drop(view.name)
            return False
        self.tally.accepted_views += 1
        return True

    def is_slow(self, view: View) -> bool:
        """Whether a view is computed anew at every reading by the reference; few of these are enough."""
        if not self.db.stats()[view.name]["evaluated_on_read"]:
            return False
        read = [
            node for node in walk(self.db._state.definitions[view.name].query) if isinstance(node, Relation)
        ]
        return len(read) > MOST_ON_READ or bool(crc32(view.text.encode()) % 3)

    def constrained(self) -> list[View]:
        for one in self.plan.constraints:
            self.db.constraint(one.name, one.text, language=one.language)
        return list(self.plan.constraints)

    # -- changes

    def go(self) -> Tally:
        """All steps; what is wrong is raised."""
        for number, step in enumerate(self.plan.steps, 1):
            self.do(step)
            self.look(number)
            self.heard()
            if number % VERIFIED == 0:
                self.verify()
        self.look(0)
        self.verify()
        return self.tally

    def do(self, step: Step) -> None:
        match step:
            case ("reopen",):
                self.reopen()
            case ("interrupt", inner, how, when):
                self.interrupt(inner, how, when)
            case _:
                self.change(step)
        self.same_tables()

    def change(self, step: Step) -> None:
        new = self.outcome(step)
        try:
            run(step, self.db, self.db, self.plan.named, self.peek)
        except Abandoned:
            assert new is None
        except ChangeError as error:
            if new is not None:
                raise Wrong(f"refused, and should not be: {error}") from error
            self.tally.refused_changes += 1
        else:
            if new is None:
                raise Wrong("accepted, and should be refused")
            self.tally.accepted_changes += 1
            self.model = new
            self.tell(new)

    def interrupt(self, step: Step, how: str, when: int) -> None:
        """A change that is interrupted has happened, or it has not."""
        new = self.outcome(step)
        try:
            with interrupted(how, when):
                run(step, self.db, self.db, self.plan.named)
        except OUTSIDE:
            self.tally.interrupted += 1
        except (Abandoned, NestlingError):
            pass
        if new is not None and self.holds(new):
            self.model = new
            self.tell(new)
        self.same_tables()
        for watcher in self.watchers:  # one that was being told may have been interrupted itself
            watcher.subscription.cancel()
        self.watchers = self.watched()
        self.look(0)
        self.verify()

    def holds(self, model: Model) -> bool:
        return all(counted(self.db.table(name).rows()) == counted(rows) for name, rows in model.items())

    def outcome(self, step: Step) -> Model | None:
        """The tables after ``step``, or nothing if it should be refused."""
        try:
            new = after(self.model, self.plan.named, step)
        except (Refused, Abandoned):
            return None
        if self.constraints:
            self.tell(new)
            broken = any(self.oracle.python(one.text) for one in self.constraints)
            self.tell(self.model)
            return None if broken else new
        return new

    def reopen(self) -> None:
        if self.path is None:
            return
        self.db.close()
        self.db = self.opened()
        self.tally.reopened += 1
        self.same_tables()
        self.look(0)
        self.watchers = self.watched()

    # -- what should come of it

    def tell(self, model: Model) -> None:
        for table in self.plan.tables:
            self.oracle.tell(table.name, table.columns, model[table.name])

    def same_tables(self) -> None:
        for name, rows in self.model.items():
            found, wanted = counted(self.db.table(name).rows()), counted(rows)
            if found != wanted:
                raise Wrong(f"table {name}: {difference(found, wanted)}")

    def look(self, number: int) -> None:
        """Every view that is due against its oracle."""
        for view in self.views:
            wanted = self.asked(view)
            if view.refresh == "eager" or number % LATER == 0:
                self.compare(view, wanted)

    def peek(self, name: str, steps: list[Step]) -> None:
        """A view read inside a transaction, by the thread that it belongs to: what is done so far is in it."""
        model = self.model
        for step in steps:
            model = applied(model, self.plan.named, step)
        self.tell(model)
        for view in self.views:
            wanted = self.asked(view)
            if view.name == name:
                self.compare(view, wanted)
        self.tell(self.model)

    def asked(self, view: View) -> Counter[Frozen] | None:
        """What the oracle says of a view, if it can; it then knows it, for those that read it."""
        try:
            rows, wanted = expected(self.oracle, view.language, view.asked)
        except Unjudged:
            self.tally.unjudged += 1
            self.oracle.forget(view.name)
            return None
        if view.is_flat:
            self.oracle.tell(view.name, view.columns, flat(rows))
        return wanted

    def compare(self, view: View, wanted: Counter[Frozen] | None) -> None:
        if wanted is None:
            return
        found = counted(self.db.views[view.name].rows())
        if view.language == "sql":
            found = rounding(found)
        self.tally.comparisons += 1
        self.tally.empty += not wanted
        if found != wanted:
            raise Wrong(f"view {view.name}: {difference(found, wanted)}")

    def watched(self) -> list[Watcher]:
        return [
            Watcher(self.db, view.name, number % 2 == 0)
            for number, view in enumerate(self.views)
            if view.watched
        ]

    def heard(self) -> None:
        """What subscribers were told, against what the views say."""
        for watcher in self.watchers:
            self.tally.folded += 1
            if wrong := watcher.wrong():
                raise Wrong(wrong)

    def verify(self) -> None:
        """All that is stored against the reference."""
        try:
            self.db.verify(maps=True)
        except NestlingError as error:
            raise Wrong(f"verify: {error}") from error


def played(plan: Plan) -> Tally:
    """Run ``plan``; what is wrong is raised."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(plan, folder)
        try:
            return run.go()
        finally:
            close(run)


def close(run: Run) -> None:
    """Let go of the file, unless it is lost already."""
    failing = sys.exc_info()[0] is not None
    try:
        run.db.close()
    except NestlingError:
        if not failing:
            raise
