"""What is said of a view when it is made: whether it is maintained within its stated cost, and what to write if not.

Law: ``strict=True`` refuses a view exactly if the database would evaluate it on every read, or a construct of it costs
more than a change is worth; ``explain`` has the same verdict, and what is evaluated on every read warns.
"""

from __future__ import annotations

import sys
import warnings
from types import FrameType

from nestling.database.log import LOG
from nestling.database.view_state import OnRead, ViewState
from nestling.database.xml.definition import view_of
from nestling.errors import EvaluatedOnRead, QueryError, Span
from nestling.transform.classify import Construct, Verdict
from nestling.transform.pipeline import classified, verdict_of
from nestling.transform.viewlet.choose import KNOB, MEMORY
from nestling.transform.viewlet.compile import CannotCompile

#: What to write instead, by the code of the reason.
INSTEAD = {
    KNOB: "leave store out",
    MEMORY: "give the database more memory, or leave the budget out",
    CannotCompile.UNBOUND: "relate the inner rows to the outer row by == of columns or of expressions of columns",
    CannotCompile.NEGATIVE: "take min, max or the first of rows that are added, not of a difference of bags",
    CannotCompile.TWICE: "take each min and max in a view of its own, and join these",
    CannotCompile.CAP: "split it into views that read each other",
}
#: Where a call stands that is not the user's: here, or in a decorator.
OURS = ("nestling", "contextlib")
COMPARE_COLUMNS = "compare columns of the inner rows, not inner collections as a whole"


def verdict(view: ViewState) -> Verdict:
    """What may be said of ``view``: by what it is made of, and by how it is kept."""
    on_read = view.on_read
    return verdict_of(classified(view.definition.query, view.plain), on_read.reason if on_read else "")


def judge(view: ViewState, strict: bool | None) -> None:
    """Refuse what is not maintained within its stated cost, or warn of what is not maintained at all, or accept it."""
    if (on_read := view.on_read) is not None:
        LOG.info("view %s is evaluated by every read: %s", view.definition.name, on_read.reason)
    if strict:
        _refuse(view)
    elif strict is None:
        _warn(view)


def _refuse(view: ViewState) -> None:
    """``strict=True``: every change is worth its stated cost, and is passed on."""
    if verdict(view) is not Verdict.NOT:
        return
    found, name, on_read = _obstacle(view), view_of(view.definition.name), view.on_read
    text = (_words(found.at) if found.at else found.text) if found else "the query as a whole"
    hints = [f"{found.class_.code}: {found.class_.reason}, {found.class_.cost}"] if found else []
    if on_read is not None:
        hints.append(f"{on_read.code}: it would be evaluated on every read, because {on_read.reason}")
        hints.append(_instead(on_read))
    at = found.at if found else None
    raise QueryError(f"{name} is not efficiently incrementalizable: {text}", at=at, hint="; ".join(hints))


def _words(at: Span) -> str:
    """What the user wrote at a place, on its first line, with the parentheses that close it."""
    end = at.column + at.length
    while (
        at.text[at.column : end].count("(") > at.text[at.column : end].count(")")
        and at.text[end : end + 1] == ")"
    ):
        end += 1
    return at.text[at.column : end]


def _warn(view: ViewState) -> None:
    """Warn of a view that every read evaluates anew, where nobody asked for that."""
    on_read = view.on_read
    if on_read is None or on_read.code == KNOB:
        return
    found = _obstacle(view)
    place = f"\n{found.at.show()}" if found and found.at else f": {found.text}" if found else ""
    what = (
        f"{view_of(view.definition.name)} is evaluated on every read{place}\n{on_read.code}: {on_read.reason}"
    )
    told = f"{what}\nhint: {_instead(on_read)}; or accept it: strict=False"
    warnings.warn(EvaluatedOnRead(told), stacklevel=_callers())


def _instead(on_read: OnRead) -> str:
    return INSTEAD.get(on_read.code, COMPARE_COLUMNS)


def _obstacle(view: ViewState) -> Construct | None:
    """The construct that stands in the way: the first that costs too much, else the first that is not linear."""
    found = classified(view.definition.query, view.plain)
    return next(iter((*found.obstacles, *found.beyond_theorem)), None)


def _callers() -> int:
    """How many calls up the user's code is: the warning is about a line there."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        frame, level = frame.f_back, level + 1
    return level
