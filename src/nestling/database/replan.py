"""Plans that follow the data: how a view is stored is decided again when its tables have moved.

A table has moved when it has rows where rows were assumed, and when it has ``MOVED`` times as many as were counted, or
as few. Views that are stored as somebody asked for stay so.

Law: after a load, in one commit, of tables that were empty, a view is stored as it would be if it were declared then,
if the load is ``worth`` it.

What it costs: to compile what may be stored takes time in proportion to its maps. A commit that brings ``PER_MAP`` rows
for each of them pays for it at once: the law above. Where rows come a few at a time that time is spent beside the
commits (``planning``), and after ``SPREAD`` times as many rows, so that a stream pays a fraction of what its rows take.
To count and to fill take time in proportion to the rows that the view reads. That is spent where at least one in
``MOVED`` of them has come or gone since the last time, or where the estimate says that it pays. In between a commit
pays for a subtraction. A commit decides for one view, and for one more per ``EACH`` of its rows; the next go on.
"""

from __future__ import annotations

from contextlib import suppress

from nestling.database.backing import Backing
from nestling.database.log import LOG
from nestling.database.memory import tell_of_unkept
from nestling.database.planning import MOVED, Answer, Planning, Question
from nestling.database.row_logs import RowLogging
from nestling.database.row_state import RowState
from nestling.database.storing import Decision, counted
from nestling.errors import UNDEFINED
from nestling.transform.cost.statistics import ENOUGH, Statistics
from nestling.transform.viewlet.choose import MEMORY, tables_of

#: How many rows in one commit are worth a map that has to be compiled to decide again. Estimated: a map takes 2 to 5 ms
#: of one core, a row 5 to 15 µs.
PER_MAP = 500
#: For one map that is compiled where nothing was counted, so many are where something was.
WAYS = 2
#: How many times as many rows are worth it where they come a few at a time.
SPREAD = 4
#: After how many rows a plan that is being found is asked for again.
WAIT = 10
#: For how many rows of a commit one more view is looked at.
EACH = 1_000


def follow_data(logging: RowLogging, file: Backing | None, rows: int) -> None:
    """Decide again for views whose tables have moved, after a commit of so many ``rows``."""
    state, changed, looks = logging.state, list[str](), 1 + rows // EACH
    planning, logging.planning = logging.planning, None
    if planning is not None and planning.is_under_way:
        logging.planning, state.patience = planning, WAIT
        return
    if planning is not None:
        changed += _taken_up(logging, planning)
        looks -= 1
    # Views that were left over are as due as they were.
    largest, logging.left_over = max(rows, logging.left_over), 0
    for name in [name for name in state.views.decisions if _has_moved(state, name, largest)]:
        if not looks:
            state.patience, logging.left_over = 0, largest
            break
        looks -= 1
        question = _question(state, name)
        if rows < worth(question.old):
            logging.planning, state.patience = Planning(state, question), WAIT
            break
        changed += _changed(logging, name, Answer(*question.answer()))
    else:
        state.patience = _until_moved(state)
    if file is not None and changed:
        file.define_again(changed, state)
    tell_of_unkept(state, changed)


def _has_moved(state: RowState, name: str, rows: int = 0) -> bool:
    """Whether a view is due after a commit of so many ``rows``."""
    decision = state.views.decisions[name]
    if decision.knob != "auto" and decision.code != MEMORY:
        return False
    now, price = counted(state.engine, decision.statistics.rows, state.version), worth(decision)
    is_paid = _came(decision.statistics, now) >= (price if rows >= price else SPREAD * price)
    return is_paid and any(has_moved(decision.statistics, now, table) for table in now.rows)


def worth(decision: Decision) -> int:
    """How many rows must come in one commit for it to be worth while to decide again."""
    then = decision.statistics
    ways = 1 if all(map(then.is_counted, then.rows)) else WAYS
    return max(ENOUGH, ways * PER_MAP * sum(way.maps for way in decision.ways))


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
        price = worth(decision)
        # A commit of that many rows is noticed; fewer at a time are counted together.
        left = min(left, max(moved, min(price, SPREAD * price - _came(then, now))))
    return max(left, float(ENOUGH))


def _question(state: RowState, name: str) -> Question:
    """What is to be decided of a view."""
    old = state.views.decisions[name]
    now = counted(state.engine, tables_of(old.view), state.version)
    return Question(
        state.definitions[name],
        old,
        state.declarations(),
        _what_moved(old.statistics, now),
        sum(now.rows.values()),
        _came(old.statistics, now),
        state.left_for(name),
    )


def _taken_up(logging: RowLogging, planning: Planning) -> list[str]:
    """Do as a plan says that was found in the background; where all has changed meanwhile, as one that is found now."""
    state, name = logging.state, planning.question.view.name
    if name not in state.views.decisions or not _has_moved(state, name):
        return []
    answer = planning.answer_for(state) or Answer(*_question(state, name).answer())
    if answer.compiled is not None:
        state.compiled = answer.compiled
    return _changed(logging, name, answer)


def _changed(logging: RowLogging, name: str, answer: Answer) -> list[str]:
    """Store a view as was decided: its name, if that is otherwise than before."""
    state = logging.state
    if not answer.is_otherwise:
        state.views = state.views.changed(name, decision=answer.decision)
        return []
    with suppress(*UNDEFINED):  # a view without a value stays as it is until it has one
        logging.store_otherwise(name, answer.decision)
        LOG.info("view %s is stored otherwise from version %d on: its tables have moved", name, state.version)
        return [name]
    return []


def _what_moved(then: Statistics, now: Statistics) -> Statistics:
    """What is there ``now``; tables that have not moved are as they were counted ``then``."""
    stay = {name for name in now.rows if name in then.rows and not has_moved(then, now, name)}
    rows = {name: then.rows[name] if name in stay else n for name, n in now.rows.items()}
    values = {place: n for place, n in then.values.items() if place[0] in stay}
    versions = {name: (then if name in stay else now).versions.get(name, 0) for name in now.rows}
    return Statistics(rows, values, now.count, versions)
