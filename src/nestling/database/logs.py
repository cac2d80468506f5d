"""Logging what changes in a view, where somebody reads it.

The logs are maps of the program, one per level of the view. Of a view that no program maintains nothing can be logged:
its answers are compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nestling.database.watching import Levels, Logs, Source, Taken
from nestling.engine.local.engine import LocalEngine
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.storing import BY_KEYS
from nestling.transform.viewlet.watch import watches

if TYPE_CHECKING:
    from nestling.database.state import State

NOTHING = Taken({})


def levels(state: State, name: str) -> Levels:
    """The levels of a view that are logged, or would be; none where nothing can be."""
    if name in state.watched:
        return state.watched[name]
    if name not in state.flat:
        return Levels()
    found = Levels(watches(name, state.flat[name], state.declarations()))
    flat, stored = {name: state.flat[name]}, state.decisions[name].storing
    try:
        compile_views(
            state.declarations(),
            flat,
            {level.name: level.query for level in found},
            {name: stored or BY_KEYS},
        )
    except CannotCompile:
        return Levels()
    return found


def start(state: State, name: str) -> None:
    """Log a view from now on."""
    keep(state, name, levels(state, name))
    if not state.watched[name]:
        state.compared[name] = state.read(name)


def keep(state: State, name: str, kept: Levels) -> None:
    """Log these levels of a view."""
    state.watched[name] = kept
    if state.is_apart(name):
        state.later(name).watch({level.name: level.query for level in kept})
    else:
        state._install()


def stop(state: State, name: str) -> None:
    """Log a view no more."""
    state.compared.pop(name, None)
    kept = state.watched.pop(name)
    if kept and state.is_apart(name):
        state.later(name).watch({})
    elif kept:
        state._install()


def taken(state: State, name: str) -> Taken:
    """What changed in a view since it was last taken."""
    if state.views[name].refresh == "lazy" and state.absent(name):
        return NOTHING  # told when it has a value
    kept = state.watched[name]
    if kept:
        engine = state.engine_of(name)
        stored, drain = engine.stored, engine.drain
        logged = [level.name for level in kept if stored[level.name]]  # most commits reach few levels
        return Taken({level: log for level in logged if (log := drain(level))}) if logged else NOTHING
    before = state.compared[name]
    now = state.compared[name] = state.read(name)
    return Taken({}, now - before)


def source(state: State, name: str) -> tuple[Source, Logs]:
    """What answers for a view, and what it has logged since that was taken."""
    engine = engine_of(state, name)
    stored = engine.stored
    return engine, {
        level.name: engine.logged(level.name) for level in state.watched[name] if stored[level.name]
    }


def engine_of(state: State, name: str) -> LocalEngine:
    """The engine of a view; of one that is watched, as far as it has logged."""
    if name in state.watched:
        return state.lazy[name].engine if state.is_apart(name) else state.engine
    return state.engine_of(name)
