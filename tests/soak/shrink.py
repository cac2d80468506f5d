"""A failing plan made small: parts are left out one by one for as long as it still fails in the same way."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.soak.plan import Plan
from tests.soak.run import Wrong, played
from tests.soak.show import program


def failure(plan: Plan) -> str:
    """How ``plan`` fails; nothing if it does not."""
    try:
        played(plan)
    except Wrong as error:
        return f"Wrong: {error}"
    except Exception as error:  # noqa: BLE001 - whatever is raised is what is looked for
        return f"{type(error).__name__}: {error}"
    return ""


def kind(message: str) -> str:
    """What two runs of the same fault have in common."""
    words = message.split(": ")
    name = words[1].split()[0] if words[0] == "Wrong" and len(words) > 1 else ""
    return f"{words[0]} {name}"


def shrunk(plan: Plan, message: str, seconds: float = 90) -> Plan:
    """A smaller plan that fails in the same way, if time allows."""
    shrinker = Shrinker(plan, kind(message), time.monotonic() + seconds)
    for _ in range(3):
        shrinker.views()
        shrinker.steps()
        shrinker.knobs()
    shrinker.tables()
    return shrinker.plan


class Shrinker:
    """The smallest plan so far; each pass leaves out what can be left out, from the end."""

    def __init__(self, plan: Plan, wanted: str, until: float) -> None:
        self.plan, self.wanted, self.until = plan, wanted, until

    def works(self, smaller: Plan) -> bool:
        """Take ``smaller`` if it fails too."""
        if time.monotonic() > self.until or kind(failure(smaller)) != self.wanted:
            return False
        self.plan = smaller
        return True

    def views(self) -> None:
        for place in reversed(range(len(self.plan.views))):
            self.works(self.plan.but(views=self.plan.views[:place] + self.plan.views[place + 1 :]))
        if self.plan.constraints:
            self.works(self.plan.but(constraints=()))

    def steps(self) -> None:
        """Without some changes, in large pieces first; then with smaller ones."""
        size = (len(self.plan.steps) + 1) // 2
        while size:
            for start in reversed(range(0, len(self.plan.steps), size)):
                self.works(self.plan.but(steps=self.plan.steps[:start] + self.plan.steps[start + size :]))
            size = size // 2
        for place in reversed(range(len(self.plan.steps))):
            for less in smaller_steps(self.plan.steps[place]):
                if self.works(
                    self.plan.but(steps=(*self.plan.steps[:place], *less, *self.plan.steps[place + 1 :]))
                ):
                    break

    def knobs(self) -> None:
        if self.plan.durable:
            self.works(self.plan.but(durable=False))
        if self.plan.memory:
            self.works(self.plan.but(memory=None))
        for place, view in enumerate(self.plan.views):
            for change in plainer(view):
                self.works(
                    self.plan.but(views=(*self.plan.views[:place], change, *self.plan.views[place + 1 :]))
                )

    def tables(self) -> None:
        """Without tables that nothing reads, changes or refers to."""
        used = " ".join(view.text for view in self.plan.views + self.plan.constraints) + repr(self.plan.steps)
        parents = {parent for table in self.plan.tables for _, parent in table.references}
        for table in self.plan.tables:
            if table.name not in used and table.name not in parents:
                self.works(self.plan.but(tables=tuple(t for t in self.plan.tables if t is not table)))


def plainer(view: Any) -> Iterator[Any]:
    """A view with a knob less."""
    if view.watched:
        yield replace(view, watched=False)
    if view.refresh != "eager":
        yield replace(view, refresh="eager")
    if view.store != "auto":
        yield replace(view, store="auto")


def smaller_steps(step: Any) -> Iterator[tuple[Any, ...]]:
    """Steps that do a part of ``step``."""
    match step:
        case ("transaction", steps, _):
            yield tuple(steps)
            for less in left_out(steps):
                yield (("transaction", less, step[2]),)
        case ("insert" | "insert_dicts" | "delete" | "sync" | "feed" as what, table, rows) if len(rows) > 1:
            for less in left_out(rows):
                yield ((what, table, less),)
        case ("apply", [(table, pairs)]) if len(pairs) > 1:
            for less in left_out(pairs):
                yield (("apply", [(table, less)]),)
        case ("interrupt", inner, *_):
            yield (inner,)


def left_out(things: list[Any]) -> Iterator[list[Any]]:
    for place in range(len(things)):
        yield things[:place] + things[place + 1 :]


def report(plan: Plan, message: str) -> str:
    """A failure as a program that shows it."""
    small = shrunk(plan, message)
    return f"seed {plan.seed}: {message}\n\n{program(small)}\n# {failure(small)}\n# {small!r}"
