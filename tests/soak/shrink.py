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
    """A smaller plan that fails in the same way."""
    wanted, until = kind(message), time.monotonic() + seconds
    smaller = True
    while smaller:
        smaller = False
        for one in smaller_plans(plan):
            if time.monotonic() > until:
                return plan
            if kind(failure(one)) == wanted:
                plan, smaller = one, True
                break
    return plan


def smaller_plans(plan: Plan) -> Iterator[Plan]:
    """Plans with less: views first, which cost most; then changes; then knobs, rows and tables."""
    for place in range(len(plan.views)):
        yield plan.but(views=plan.views[:place] + plan.views[place + 1 :])
    if plan.constraints:
        yield plan.but(constraints=())
    yield from fewer_steps(plan)
    if plan.durable:
        yield plan.but(durable=False)
    if plan.memory:
        yield plan.but(memory=None)
    for place, view in enumerate(plan.views):
        for change in plainer(view):
            yield plan.but(views=(*plan.views[:place], change, *plan.views[place + 1 :]))
    yield from fewer_tables(plan)


def fewer_steps(plan: Plan) -> Iterator[Plan]:
    """Without some changes, in large pieces first; then with smaller ones."""
    size = (len(plan.steps) + 1) // 2
    while size:
        for start in range(0, len(plan.steps), size):
            yield plan.but(steps=plan.steps[:start] + plan.steps[start + size :])
        size = size // 2
    for place, step in enumerate(plan.steps):
        for less in smaller_steps(step):
            yield plan.but(steps=(*plan.steps[:place], *less, *plan.steps[place + 1 :]))


def fewer_tables(plan: Plan) -> Iterator[Plan]:
    used = " ".join(view.text for view in plan.views + plan.constraints) + repr(plan.steps)
    parents = {parent for table in plan.tables for _, parent in table.references}
    for table in plan.tables:
        if table.name not in used and table.name not in parents:
            yield plan.but(tables=tuple(other for other in plan.tables if other is not table))


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
