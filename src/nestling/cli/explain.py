"""``nestling explain``: how a view is kept."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import typer

from nestling.cli.engines import EngineName, opened
from nestling.errors import QueryError


class Format(StrEnum):
    """What an explanation is written as."""

    TEXT = "text"
    HTML = "html"
    JSON = "json"


def explain(pipeline: Path, name: str, format: Format, code: bool, engine: EngineName) -> None:
    """Write the explanation of one view to standard output, with ``code`` also the generated functions."""
    with opened(pipeline, engine) as database:
        if name not in database.views:
            known = ", ".join(database.views) or "none"
            raise QueryError(f"{pipeline.name} declares no view {name!r}", hint=f"its views: {known}")
        typer.echo(database.views[name].explain(format=format.value, code=code))
