"""Files of queries: each is a view, called like the file, in the language that its ending says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from nestling.database import Database
from nestling.errors import NestlingError, QueryError

LANGUAGES = {".oql": "oql", ".sql": "sql", ".xq": "xquery"}


def add_views(database: Database, files: Iterable[Path]) -> None:
    """Define the view of every file."""
    for file in files:
        language = LANGUAGES.get(file.suffix.lower())
        if language is None:
            raise NestlingError(
                f"{file.name} is no query", hint=f"name it {file.stem}.sql, {file.stem}.oql or {file.stem}.xq"
            )
        try:
            database.view(file.stem, file.read_text(encoding="utf-8"), language=language)
        except UnicodeDecodeError as error:
            raise NestlingError(f"{file.name} is no text", hint="write it in UTF-8") from error
        except QueryError as error:
            if error.at is not None:
                error.at = replace(error.at, file=file.name)
            raise
