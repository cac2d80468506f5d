"""A trigger program as Python source.

Per table two functions, ``on_…(row, times)`` for one row and ``on_…_batch(changes)`` for many, and of one with a key
``on_…_update(old, row)`` and ``on_…_updates(changes)`` for rows that take the place of others; per view one generator
of its rows and one per site for the inner bags. Each statement is a loop nest under a comment that says what it does.
The source uses nothing but dictionaries and the names of ``python.namespace``; words made from names, literals and
comments are written by ``quoting``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from nestling.engine.local.writer import FunctionWriter
from nestling.program.flat import Shape
from nestling.program.statements import (
    Plan,
    Program,
)
from nestling.program.steps import waiting
from nestling.program.waiting import first
from nestling.quoting import identifier


class FunctionDraft(NamedTuple):
    """A function to be written: all it is written from beside the stores that it touches, and how."""

    origin: object
    write: Callable[[FunctionWriter], None]


def drafts(program: Program) -> dict[str, FunctionDraft]:
    """The functions of a program that was ``ranged``, by name."""
    found: dict[str, FunctionDraft] = {}
    for name, trigger in program.triggers.items():
        waits = first(program, trigger)
        function, origin = f"on_{identifier(name)}", (trigger, program.deferred, waits)
        found[function] = FunctionDraft(
            origin, partial(FunctionWriter.trigger, function=function, trigger=trigger)
        )
        found[f"{function}_batch"] = FunctionDraft(
            origin, partial(FunctionWriter.batch, function=function, trigger=trigger)
        )
        if (update := program.updates.get(name)) is not None:
            changed = update, program.deferred, name in program.patient, first(program, update)
            for suffix, write_it in (("update", FunctionWriter.update), ("updates", FunctionWriter.updates)):
                draft = partial(write_it, function=function, update=update)
                found[f"{function}_{suffix}"] = FunctionDraft(changed, draft)
            if name in program.patient:
                settle = partial(FunctionWriter.settle_updates, update=update)
                found[f"settle_T_{identifier(name)}"] = FunctionDraft(changed, settle)
    if program.deferred or program.patient:
        found["settle"] = FunctionDraft((waiting(program), program.patient), FunctionWriter.settle)
    for name, view in program.views.items():
        found |= _reader(f"rows_of_{identifier(name)}", view.rows, f"rows of {name}")
        if view.lookup is not None:
            found |= _reader(f"rows_with_{identifier(name)}", view.lookup, f"rows of {name} by first column")
        for shape, plan in view.definitions.items():
            found |= _reader(bag_function(name, shape), plan, f"inner bag {shape[0]} of {name}")
    for name, plan in program.totals.items():
        found |= _reader(f"total_of_{identifier(name)}", plan, f"rows that {name} logs")
    return found


def _reader(function: str, plan: Plan, title: str) -> dict[str, FunctionDraft]:
    return {
        function: FunctionDraft(
            plan, partial(FunctionWriter.reader, function=function, plan=plan, title=title)
        )
    }


def write(writer: FunctionWriter, draft: FunctionDraft) -> str:
    """The source of one function; new constants that it uses are the writer's then."""
    writer.begin()
    draft.write(writer)
    return writer.out.text()


def bag_function(view: str, shape: Shape) -> str:
    """The name of the function that reads the inner bags of labels of one shape."""
    return f"bag_of_{identifier(view)}·{_spelled(shape)}"


def _spelled(shape: Shape | None) -> str:
    if shape is None:
        return "in"
    site, inner = shape
    return "_".join((str(site), *map(_spelled, inner)))
