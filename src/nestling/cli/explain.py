"""``nestling explain``: how a view is kept."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

import typer

from nestling.cli.pipeline import load
from nestling.errors import QueryError


class Format(StrEnum):
    """What an explanation is written as."""

    TEXT = "text"
    HTML = "html"
    JSON = "json"


def explain(pipeline: Path, name: str, format: Format) -> None:
    """Write the explanation of one view to standard output."""
    views = load(pipeline).views
    if name not in views:
        known = ", ".join(views) or "none"
        raise QueryError(f"{pipeline.name} declares no view {name!r}", hint=f"its views: {known}")
    view: Any = views[name]
    typer.echo(view.explain(format=format.value))
