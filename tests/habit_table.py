"""The table of habits of the front page: its lines, and what running one comes to."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nestling as nl

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
LINE = re.compile(
    r"^\| (?P<habit>[^|]+) \| `(?P<code>[^`]+)` \| (?P<embedded>works|not) \| (?P<spark>works|not) \|$", re.M
)
LINES = [line.groupdict() for line in LINE.finditer(README)]


def verdict(code: str, db: Any, folder: Path) -> str:
    """Whether an example works, or is refused with what to write instead."""
    try:
        exec(code, {"db": db, "nl": nl, "folder": folder, "datetime": datetime, "UTC": UTC})
    except nl.NestlingError as error:
        assert "\nhint: " in str(error), error
        return "not"
    return "works"
