"""What Nestling knows of a view, for its user: is it fast and why, what is stored, what does a change do."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import escape

from nestling.database.definitions import HIDDEN
from nestling.database.explain.collect import collect
from nestling.database.explain.html import as_html, as_page, sections
from nestling.database.explain.report import Report
from nestling.database.explain.text import as_text
from nestling.database.markup import join, tag
from nestling.database.state import State
from nestling.errors import QueryError, brief

__all__ = ["Report", "collect", "explain", "explain_hidden"]


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


def explain_hidden(
    state: State, views: Sequence[str], names: Mapping[str, str], page: bool, code: bool = False
) -> str:
    """The reports on views that keep another, as one page or as what stands in one, with ``names`` that people know."""
    parts = [sections(collect(state, view, code)) for view in views]
    text = str(as_page(names.get(views[0], views[0]), parts) if page else join(parts))
    for hidden in sorted(names, key=len, reverse=True):
        text = text.replace(escape(hidden), escape(names[hidden]))
    text = re.sub(f"{HIDDEN}[a-z]? ?", "", text)  # where a name was cut off, or is a part of another
    return Page(text) if page else text


class Page(str):
    """A page that a notebook shows in a frame of its own: neither styles the other."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        style = "width: 100%; height: 40em; border: 0"
        return tag("iframe", srcdoc=str(self), sandbox="", style=style)
