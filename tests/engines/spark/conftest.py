"""What tests of databases on Spark share."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nestling as nl


@pytest.fixture
def session(spark: Any) -> Any:
    """The session that a user gives; a test may have one of its own."""
    return spark


@pytest.fixture
def opened(session: Any, tmp_path: Path) -> Iterator[Callable[[], Any]]:
    """Opens one folder again and again; what is open at the end is closed."""
    found: list[Any] = []

    def open_again() -> Any:
        if found:
            found.pop().close()
        found.append(nl.Database(spark=session, path=tmp_path / "lake"))
        return found[0]

    yield open_again
    for db in found:
        db.close()
