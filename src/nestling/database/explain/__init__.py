"""What Nestling knows of a view, for its user: is it fast and why, what is stored, what does a change do."""

from __future__ import annotations

import json

from nestling.database.explain.collect import collect
from nestling.database.explain.html import as_html
from nestling.database.explain.report import Report
from nestling.database.explain.text import as_text
from nestling.database.markup import tag
from nestling.database.state import State
from nestling.errors import QueryError, brief

__all__ = ["Report", "collect", "explain"]


def as_json(report: Report) -> str:
    """The report as JSON."""
    return json.dumps(report.data(), indent=2, ensure_ascii=False)


FORMATS = {"text": as_text, "json": as_json, "html": as_html}


def explain(state: State, view: str, format: str = "text", code: bool = False) -> str:
    """The report on ``view`` in one of ``FORMATS``; with ``code``, the generated functions that serve it."""
    if not isinstance(format, str) or format not in FORMATS:
        raise QueryError(f"format={brief(format)} is unknown", hint=f"one of {', '.join(map(repr, FORMATS))}")
    text = FORMATS[format](collect(state, view, code))
    return Page(text) if format == "html" else text


class Page(str):
    """A page that a notebook shows in a frame of its own: neither styles the other."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        style = "width: 100%; height: 40em; border: 0"
        return tag("iframe", srcdoc=str(self), sandbox="", style=style)
