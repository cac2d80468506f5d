"""The keywords of ``db.view``, for who checks types."""

from __future__ import annotations

from typing import TypedDict


class ViewOptions(TypedDict, total=False):
    """What is said of a view besides its name and its query: see ``Database.view``."""

    language: str
    refresh: str
    store: str
    strict: bool | None
    context: str | None
    replace: bool
    dialect: str | None
