"""The state of a closed database: every access raises an error."""

from __future__ import annotations

from typing import Any

from nestling.errors import StoreError


class Closed:
    """The state of a closed database. It costs an open one nothing."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__"):
            return object.__getattribute__(self, name)
        raise StoreError("the database is closed", hint="open it again: nl.Database(path)")

    def __setattr__(self, name: str, value: Any) -> None:
        getattr(self, name)
