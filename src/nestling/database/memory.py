"""What views may take, in bytes: those that have outgrown it store less."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable

from nestling.database.backing import Backing
from nestling.database.row_logs import RowLogging
from nestling.database.row_state import RowState
from nestling.database.storing import Decision, chosen_from, counted
from nestling.errors import OverBudget, QueryError
from nestling.transform.viewlet.choose import Memory, cost_of, tables_of
from nestling.transform.viewlet.drafts import drafts_over

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30}
#: Where a budget is kept: looked at again when the tables have grown by so much.
GROWN = 1.25


def bytes_of(memory: int | str | None) -> int | None:
    """A budget in bytes.

    >>> bytes_of("512MB"), bytes_of("1.5 GiB"), bytes_of(4096), bytes_of(None)
    (512000000, 1610612736, 4096, None)
    """
    if memory is None or (type(memory) is int and memory >= 0):
        return memory
    text = memory.lower() if isinstance(memory, str) else ""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([kmgt]?i?)b?", text)
    if found is None or found[2] not in UNITS:
        raise QueryError(
            f"memory={memory!r} is not a size", hint='bytes, or a text such as "512MB" or "2 GiB"'
        )
    return int(float(found[1]) * UNITS[found[2]])


def keep_within_memory(logging: RowLogging, file: Backing | None) -> None:
    """Store less of the views that have outgrown the memory there is, remember it, and say which do not fit at all."""
    changed = outgrown(logging)
    if file is not None and changed:
        file.define_again(changed, logging.state)
    tell_of_unkept(logging.state, changed)


def tell_of_unkept(state: RowState, changed: Iterable[str]) -> None:
    """Warn of views that were stored so far, and do not fit into the memory there is in any way."""
    for name in changed:
        on_read = state.views[name].on_read
        if on_read is not None:
            what = f"{name} is evaluated on every read from now on: {on_read.reason}"
            hint = f"memory={state.memory} is too little: give more, drop a view, or leave the budget out"
            warnings.warn(OverBudget(f"{what}\nhint: {hint}"), stacklevel=2)


def outgrown(logging: RowLogging) -> list[str]:
    """The views that are stored in another way from now on, because together they take more than there is."""
    state = logging.state
    if state.memory is None or _total(state) < max(1, GROWN * state.looked_at):
        return []
    state.looked_at = _total(state)
    changed = []
    sizes = {name: state.bytes_of(name) for name in state.views.maintained}
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if sum(sizes.values()) <= state.memory:
            break
        left = state.memory - (sum(sizes.values()) - sizes[name])
        before = state.views.decisions[name]
        decision = _smaller(state, before, left, sizes[name])
        if decision.storing != before.storing:
            logging.store_otherwise(name, decision)
            changed.append(name)
            sizes[name] = state.bytes_of(name) if name in state.views.maintained else 0
    return changed


def _total(state: RowState) -> int:
    return sum(state.engine.entries(name) for name in state.engine.program.tables)


def _smaller(state: RowState, old: Decision, left: int, size: int) -> Decision:
    """What to store of a view that takes ``size`` bytes and may take what is ``left``."""
    statistics = counted(state.engine, tables_of(old.view), state.version)
    assert old.storing is not None
    estimated = cost_of(old.view, state.declarations(), statistics, old.storing).bytes
    # By how much an estimate is wrong, it is wrong for the other ways too.
    memory = Memory(max(0, left), size / max(estimated, 1))
    return chosen_from(old.view, drafts_over(state.declarations()), statistics, old.knob, memory)
