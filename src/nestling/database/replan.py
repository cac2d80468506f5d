"""Plans that follow the data: how a view is stored is decided again when its tables have moved.

A table has moved when it has rows where rows were assumed, and when it has ``MOVED`` times as many as were counted, or
as few. Views that are stored as somebody asked for stay so.

Law: after a load, in one commit, of tables that were empty, a view is stored as it would be if it were declared then,
if the load is ``worth`` it.

What it costs: to compile what may be stored takes time in proportion to its maps. That is spent where ``PER_MAP`` rows
have come or gone for each map that was compiled the last time, so that a stream of single rows costs, by estimate,
two to three times what it would without until then. To count and to fill take time in proportion to the rows that
the view reads. That is spent where at least one in ``MOVED`` of them has come or gone since the last time, or where the
estimate says that it pays. In between a commit pays for a subtraction. A commit decides for one view, and for one more
per ``EACH`` of its rows; the next commits go on.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from nestling.database.backing import Backing
from nestling.database.log import LOG
from nestling.database.memory import tell_of_unkept
from nestling.database.row_logs import RowLogging
from nestling.database.row_state import RowState
from nestling.database.storing import Decision, chosen_from, counted, memory_for
from nestling.errors import UNDEFINED
from nestling.transform.cost.statistics import ENOUGH, Statistics
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.choose import MEMORY, cost_of, tables_of
from nestling.transform.viewlet.drafts import drafts_over

#: By what factor the rows of a table change before what was planned for them is planned again.
MOVED = 8
#: How many rows come or go for each map that has to be compiled to decide again. Estimated, not fitted: a map takes
#: about 10 to 15 ms of one core, a row that comes by itself 12 to 25 µs.
PER_MAP = 500
#: For how many rows of a commit one more view is looked at.
EACH = 1_000
UNPAID = "another way is cheaper now, but it would not make up yet for what it takes to change over"


def follow_data(logging: RowLogging, file: Backing | None, rows: int) -> None:
    """Decide again for views whose tables have moved, after a commit of so many ``rows``."""
    state, changed, looks = logging.state, [], 1 + rows // EACH
    for name in [name for name in state.views.decisions if _has_moved(state, name)]:
        if not looks:
            state.patience = 0
            break
        looks -= 1
        if _planned_again(logging, name):
            changed.append(name)
            LOG.info(
                "view %s is stored otherwise from version %d on: its tables have moved", name, state.version
            )
    else:
        state.patience = _until_moved(state)
    if file is not None and changed:
        file.define_again(changed, state)
    tell_of_unkept(state, changed)


def _has_moved(state: RowState, name: str) -> bool:
    decision = state.views.decisions[name]
    if decision.knob != "auto" and decision.code != MEMORY:
        return False
    now = counted(state.engine, decision.statistics.rows, state.version)
    is_paid = _came(decision.statistics, now) >= worth(decision)
    return is_paid and any(has_moved(decision.statistics, now, table) for table in now.rows)


def worth(decision: Decision) -> int:
    """How many rows must have come or gone before it is worth while to decide again."""
    return max(ENOUGH, PER_MAP * sum(way.maps for way in decision.ways))


def _came(then: Statistics, now: Statistics) -> int:
    """How many rows have come or gone, at the least."""
    return sum(abs(n - then.rows.get(table, 0)) for table, n in now.rows.items())


def has_moved(then: Statistics, now: Statistics, table: str) -> bool:
    """Whether what was planned for the rows of ``table`` ``then`` is to be looked at ``now``.

    >>> then = Statistics({"R": 1000, "S": 0})
    >>> [has_moved(then, Statistics({"R": n, "S": 0}), "R") for n in (125, 126, 7999, 8000)]
    [True, False, False, True]
    >>> has_moved(then, Statistics({"R": 1000, "S": 5}), "S")
    True
    """
    if not then.is_counted(table):
        return now.is_counted(table)
    few, many = sorted((then.rows[table], now.rows[table]))
    return many >= MOVED * few and many - few >= ENOUGH


def _until_moved(state: RowState) -> float:
    """How many rows come and go before a view can be due; one that changes little is not looked at every time."""
    left = float("inf")
    for decision in state.views.decisions.values():
        if decision.knob != "auto" and decision.code != MEMORY:
            continue
        then = decision.statistics
        now = counted(state.engine, then.rows, state.version)
        moved = min(
            (
                min(MOVED * then.rows[table] - n, n - then.rows[table] / MOVED)
                for table, n in now.rows.items()
            ),
            default=left,
        )
        left = min(left, max(moved, worth(decision) - _came(then, now)))
    return max(left, float(ENOUGH))


def _planned_again(logging: RowLogging, name: str) -> bool:
    """Decide again how to store a view; whether it is stored otherwise now."""
    state = logging.state
    old, tables = state.views.decisions[name], state.declarations()
    now = counted(state.engine, tables_of(old.view), state.version)
    statistics = _what_moved(old.statistics, now)
    memory = memory_for(statistics, state.left_for(name))
    found = chosen_from(old.view, drafts_over(tables), statistics, old.knob, memory)
    new = replace(found, program=None)
    if old.storing is not None:
        before = compile_views(tables, {"v": old.view}, store={"v": old.storing})
        why = "" if new.storing is None or _pays(state, old, new, now) else UNPAID
        if found.program == before or why:
            kept = replace(new, storing=old.storing, why=why or new.why)
            state.views = state.views.changed(name, decision=kept)
            return False
    elif new.storing is None:
        state.views = state.views.changed(name, decision=new)
        return False
    with suppress(*UNDEFINED):  # a view without a value stays as it is until it has one
        logging.store_otherwise(name, new)
        return True
    return False


def _what_moved(then: Statistics, now: Statistics) -> Statistics:
    """What is there ``now``; tables that have not moved are as they were counted ``then``."""
    stay = {name for name in now.rows if name in then.rows and not has_moved(then, now, name)}
    rows = {name: then.rows[name] if name in stay else n for name, n in now.rows.items()}
    values = {place: n for place, n in then.values.items() if place[0] in stay}
    versions = {name: (then if name in stay else now).versions.get(name, 0) for name in now.rows}
    return Statistics(rows, values, now.count, versions)


def _pays(state: RowState, old: Decision, new: Decision, now: Statistics) -> bool:
    """Whether storing a view otherwise is paid for: by the rows that came and went, or if as many do again."""
    came = _came(old.statistics, now)
    total = sum(now.rows.values())
    if MOVED * came >= total:
        return True
    assert old.storing is not None
    assert new.storing is not None
    before, after = (
        cost_of(old.view, state.declarations(), new.statistics, way) for way in (old.storing, new.storing)
    )
    return (before.change + before.read - after.change - after.read) * came >= after.change * total
